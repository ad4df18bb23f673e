"""Every component that a package has, and the examples that it carries."""

import importlib
import inspect
import pkgutil

import jax
import jax.random as jr
import pytest

from ontogeny import Analogy, Moment, OneLayer
from ontogeny.core.fields import Example

PLACES = ("tasks", "models", "training", "probes")


def components(kind, *packages):
    """The public classes of a kind, wherever they are in some packages."""
    for name in packages or [f"ontogeny.{place}" for place in PLACES]:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            module = importlib.import_module(found.name)
            for _, thing in inspect.getmembers(module, inspect.isclass):
                own = issubclass(thing, kind) and thing.__module__ == module.__name__
                if own and not inspect.isabstract(thing) and not thing.__name__.startswith("_"):
                    yield thing


def examples(kind, *packages):
    """All examples of all components of a kind, with the simplest task and model if none suit."""
    for component in components(kind, *packages):
        for example in component.examples():
            task = example.task or Analogy(tuples=4, ratio=3.0)
            model = example.model or OneLayer(width=20, scale=0.5)
            yield Example(example.component, task, model)


def on_examples(*kinds, where=lambda component: True):
    """A test of every example of some kinds of components."""
    found = [each for kind in kinds for each in examples(kind) if where(each.component)]
    return pytest.mark.parametrize("example", found, ids=lambda each: type(each.component).__name__)


def moment(task, model, world=None, params=None, key=2):
    """A task and a model before training."""
    world = task.world(jr.key(0)) if world is None else world
    params = model.init(task, jr.key(1)) if params is None else params
    return Moment(task, world, model, params, jr.key(key))


def drawn(task, model):
    """The same with numbers in place, found by one compiled program."""
    world, params = jax.jit(lambda: (moment(task, model).world, moment(task, model).params))()
    return moment(task, model, world, params)

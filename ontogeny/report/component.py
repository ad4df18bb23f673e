"""What a task, a model, a stage or a probe is, from what it says of itself: its docstring, what its
fields declare, an example of it."""

import dataclasses
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

import ontogeny

from ..claims.claim import all_claims
from ..claims.scale import Scale
from ..core.external import External
from ..core.fields import Component, ConfigError, Example, described
from ..core.quantity import IN_WORDS
from ..core.types import Experiment, Model, Probe, Solver, Stage, Task
from ..engine.serialize import components_of
from ..engine.tokens import in_words

KINDS = {
    Task: "task",
    Model: "model",
    Solver: "solver, a training stage",
    Stage: "training stage",
    Probe: "probe",
    Experiment: "experiment",
    External: "external experiment",
}
ROWS = 6  # of a batch that are shown


class Shown(NamedTuple):
    """A paragraph with its heading; lines that are drawn stay as they are."""

    heading: str
    lines: Sequence[str]


def components() -> dict[str, list[type[Component]]]:
    """Every component that there is, by the name of its class: ours, and those of claims that have
    been loaded."""
    for name in dir(ontogeny):
        getattr(ontogeny, name)
    all_claims()
    found: dict[str, list[type[Component]]] = defaultdict(list)
    for kind in _below(Component):
        if not inspect.isabstract(kind) and not kind.__name__.startswith("_"):
            found[kind.__name__].append(kind)
    return found


def the_one(kinds: Sequence[type[Component]]) -> type[Component]:
    """The class of a name, if it is of one class only."""
    # one that is defined again replaces itself
    homes = {kind.__module__: kind for kind in kinds}
    if len(homes) > 1:
        raise ConfigError(
            f"{len(homes)} components are called {kinds[0].__name__}: in {', '.join(homes)}"
        )
    return kinds[-1]


def _below(kind: type[Component]) -> Iterator[type[Component]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def kind_of(component: type[Component]) -> str:
    """What kind of component it is."""
    return next((word for kind, word in KINDS.items() if issubclass(component, kind)), "component")


def documented(component: type[Component]) -> list[str]:
    """Its docstring without the list of fields; that of its file if it is all that is there."""
    own = (inspect.getdoc(component) or "").partition("\n\nFields:")[0]
    paragraphs = own.split("\n\n")
    beside = [each for each in _below(Component) if each.__module__ == component.__module__]
    public = [each for each in beside if each.__name__ in dir(ontogeny)]
    if public == [component] and issubclass(component, Task | Model):
        paragraphs += (sys.modules[component.__module__].__doc__ or "").split("\n\n")
    return paragraphs


def example_of(component: type[Component]) -> Example | None:
    """The first of its examples; none if it has none."""
    try:
        return next(iter(component.examples()), None)
    except (TypeError, ConfigError):  # it cannot be made of defaults alone
        return None


def constructed(component: Component) -> str:
    """A component as one writes it in Python: what is not a default."""
    parts = []
    for field in described(component):
        value = getattr(component, field.name)
        if field.default is dataclasses.MISSING or value != field.default:
            told = constructed(value) if isinstance(value, Component) else repr(value)
            parts.append(f"{field.name}={told}")
    return f"{type(component).__name__}({', '.join(parts)})"


def details(component: type[Component]) -> list[Shown]:
    """What its kind has to say besides: splits and rows, parameters, what is measured in what."""
    example = example_of(component)
    if issubclass(component, Probe):
        return [Shown("Answer", [_answer(component)]), *_instance(example)]
    if example is None:
        return []
    if isinstance(example.component, Task):
        return [*_instance(example), *_of_task(example.component)]
    if isinstance(example.component, Model):
        return [*_instance(example), *_of_model(example.component, example.task)]
    return _instance(example)


def _instance(example: Example | None) -> list[Shown]:
    if example is None:
        return []
    name = type(example.component).__name__
    imported = f" (from ontogeny import {name})" if name in dir(ontogeny) else ""
    return [Shown(f"Example{imported}", [constructed(example.component)])]


def _answer(probe: type[Probe]) -> str:
    """What a probe answers: a number or an array, in which unit."""
    shape = getattr(probe.__call__.__annotations__.get("return"), "dim_str", "")
    told = f"an array, by {', '.join(shape.split())}" if shape else "a number"
    if shape in ("...", "*shape"):
        told = "an array"
    return ", ".join(filter(None, [told, IN_WORDS.get(probe.unit, "")]))


def _of_task(task: Task) -> list[Shown]:
    world = task.world(jr.key(0))
    lines = []
    for split in task.splits:
        batch = task.sample(world, split, jr.key(1))
        held_out = " (held out: no question of it is in train)" if split in task.held_out else ""
        lines.append(f"{split}: {len(batch.inputs)} rows{held_out}")
    first = task.splits[0]
    rows = in_words(task, world, task.sample(world, first, jr.key(1)), ROWS)
    size = f"{task.vocab} tokens, sequences of at most {task.length}"
    return [
        Shown(f"Splits of the example ({size})", lines),
        Shown(f"Rows of the split {first!r}", rows),
    ]


def _of_model(model: Model, task: Component | None) -> list[Shown]:
    if not isinstance(task, Task):
        from ..tasks.analogy import Analogy

        task = Analogy(tuples=4, ratio=3.0)
    try:
        params = jax.eval_shape(lambda: model.init(task, jr.key(0)))
    except (ConfigError, TypeError):  # another task suits it, or it draws them on the host
        return []
    lines = [
        f"{jax.tree_util.keystr(path, simple=True, separator='.')}: "
        f"{' × '.join(map(str, leaf.shape)) or 'a number'}"
        for path, leaf in jax.tree.leaves_with_path(params)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    return [Shown(f"Its parameters, on {constructed(task)}", lines)] if lines else []


def claims_with(component: type[Component]) -> list[str]:
    """The claims whose experiments have one."""
    return [
        claim.name
        for claim in all_claims().values()
        if any(
            component in map(type, components_of(experiment))
            for experiment in claim.named(Scale.LAPTOP).values()
        )
    ]

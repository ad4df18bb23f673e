"""The playground: small models that run in the page, how they are trained, and their weights.

They are trained once (`ontogeny train-page`) and packaged; the page's JavaScript is tested against
JAX on the packaged weights.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..core.run import Run
from ..core.types import Experiment, Params, Probe, Stage
from ..engine.execute import execute
from ..engine.files import write_whole
from ..engine.program import begin
from ..engine.serialize import digest, serialize
from ..models.clauses import ClauseTransformer
from ..models.embedding_mlp import EmbeddingMLP
from ..models.induction import MEMORIES, InductionPair
from ..probes.behaviour import Accuracy
from ..probes.lego import RolloutAccuracy
from ..probes.parameters import Parameters
from ..tasks.lego import Lego
from ..tasks.triggers import Triggers
from ..tasks.two_hop import TwoHop
from ..training.descent import AdamW, GradientDescent
from ..training.momentum import Momentum
from .pack import coarse, pack

PACKAGED = files("ontogeny.report") / "web" / "models.json"


class PlaygroundModel(NamedTuple):
    """A model of the page: how it is trained, and the names of its tokens."""

    title: str
    description: str
    experiment: Experiment
    names: Callable[[Experiment], dict[str, Any]]


def _experiment(
    task: Any, model: Any, stage: Stage, evaluations: int, **probes: Probe
) -> Experiment:
    return Experiment(
        task, model, (stage,), {"weights": Parameters(), **probes}, evaluations=evaluations
    )


def _characters(experiment: Experiment) -> dict[str, Any]:
    task = experiment.task
    assert isinstance(task, Triggers)
    tokens = task.bigrams.tokens
    return {"tokens": tokens, "triggers": [tokens[index] for index in task.commonest]}


def _entities(experiment: Experiment) -> dict[str, Any]:
    """What each token and each answer is called, in the world of the first seed."""
    task = experiment.task
    assert isinstance(task, TwoHop)
    # names are drawn: those of the one seed that was trained
    world = begin(experiment, jnp.asarray(0)).world
    called = {
        int(token): f"{letter}{index + 1}"
        for letter, family in zip("sbo", world.names, strict=True)
        for index, token in enumerate(family)
    }
    entities = [called[token] for token in range(task.symbols)]
    return {"tokens": [*entities, "r1", "r2"], "answers": entities[: task.answers]}


def _variables(experiment: Experiment) -> dict[str, Any]:
    task, model = experiment.task, experiment.model
    assert isinstance(task, Lego) and isinstance(model, ClauseTransformer)
    letters = [chr(ord("a") + index) for index in range(task.variables)]
    return {
        "variables": letters,
        "values": task.values,
        "heads": model.heads,
        "trained_length": task.chain,
    }


def _two_hop(identity: float) -> Experiment:
    task, model = TwoHop(subjects=8, identity=identity), EmbeddingMLP(width=48, gamma=0.8)
    return _experiment(
        task,
        model,
        GradientDescent(steps=400, learning_rate=1.0),
        20,
        accuracy=Accuracy("composed"),
        fitted=Accuracy("train"),
    )


MODELS = {
    "induction": PlaygroundModel(
        "An induction head",
        "Two layers of attention, trained on characters of Shakespeare in which some, the triggers,"
        " are always followed by the same one, drawn anew for every sequence. Type a text: it "
        "predicts the next character.",
        _experiment(
            Triggers(length=48, rows=64, reads=24),
            InductionPair(width=64),
            Momentum(steps=1200, learning_rate=0.1, weight_decay=1e-4, trainable=MEMORIES),
            15,
            accuracy=Accuracy("test"),
        ),
        _characters,
    ),
    "bridged": PlaygroundModel(
        "Two hops, with an identity bridge",
        "A sum of embeddings, projected. Trained on s r1 → b, b r2 → o and the identity b → b; "
        "never on s r1 r2 → o. Test the composition.",
        _two_hop(1.0),
        _entities,
    ),
    "unbridged": PlaygroundModel(
        "The same, without the bridge",
        "Trained on the same hops, but not on the identity b → b.",
        _two_hop(0.0),
        _entities,
    ),
    "lego": PlaygroundModel(
        "State tracking, with a chain of thought",
        "A one-layer transformer, trained on chains of five additions modulo six. It writes one "
        "state after the other; give it more than five steps.",
        _experiment(
            Lego(action="C6", variables=26, chain=5, rows=256),
            ClauseTransformer(width=32, mlp_width=64, residual=True),
            AdamW(steps=480, learning_rate=3e-3),
            16,
            five=RolloutAccuracy("5 steps"),
            ten=RolloutAccuracy("10 steps"),
            twenty=RolloutAccuracy("20 steps"),
        ),
        _variables,
    ),
}


def unravel(experiment: Experiment, flat: np.ndarray) -> Params:
    """The parameters that `Parameters` laid out."""
    # shapes alone: nothing is computed
    shapes = jax.eval_shape(lambda: begin(experiment, jnp.asarray(0)).params)
    leaves, tree = jax.tree.flatten(shapes)
    ends = np.cumsum([leaf.size for leaf in leaves])
    pieces = np.split(flat, ends[:-1])
    shaped = [piece.reshape(leaf.shape) for piece, leaf in zip(pieces, leaves, strict=True)]
    return jax.tree.unflatten(tree, map(jnp.asarray, shaped))


def named(params: Params) -> dict[str, np.ndarray]:
    """Every array as a matrix, under the name that the page's arithmetic knows it by."""
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {_name(path): np.atleast_2d(np.asarray(leaf)) for path, leaf in leaves}


def _name(path: Any) -> str:
    """`embeddings.value` is `value`, `mlp_in.bias` `mlp_in_bias`; the matrix W_V, `values`."""
    keys = jax.tree_util.keystr(path, simple=True, separator=".").split(".")
    if keys == ["value"]:
        return "values"
    if keys[0] == "embeddings":
        return keys[1]
    return keys[0] if keys[-1] == "weight" else "_".join(keys)


def packaged(model: PlaygroundModel, run: Run) -> dict[str, Any]:
    """A trained model as the page carries it. What training does not change is there once."""
    # rounded before all else, so that tests compare with what the page really has
    flat = coarse(run.answers["weights"][0])
    evaluations = [named(unravel(model.experiment, each)) for each in flat]
    parts, blob, at = [], [], 0
    for name, last in evaluations[-1].items():
        if not last.size:
            continue
        fixed = all(np.array_equal(evaluation[name], last) for evaluation in evaluations)
        arrays = [last] if fixed else [evaluation[name] for evaluation in evaluations]
        rows, columns = last.shape
        parts.append({"name": name, "rows": rows, "columns": columns, "at": at, "fixed": fixed})
        blob += [each.astype("<f4").tobytes() for each in arrays]
        at += rows * columns * len(arrays)
    header = {
        "is": type(model.experiment.model).__name__,
        "steps": run.steps.tolist(),
        "parts": parts,
        **model.names(model.experiment),
    }
    # a test compares it: weights of another experiment are found out
    made = digest(serialize(model.experiment))
    return {"made": made, "data": pack(header, b"".join(blob))}


def train() -> Path:
    """Trains them all and writes them to where the package has them."""
    runs = execute({name: model.experiment for name, model in MODELS.items()}, 1)
    data = {name: packaged(model, runs[name]) for name, model in MODELS.items()}
    path = Path(str(PACKAGED))
    write_whole(path, json.dumps(data, indent=1) + "\n")
    return path


@cache
def models() -> Mapping[str, dict[str, Any]]:
    """The packaged models, with their words."""
    if not PACKAGED.is_file():
        return {}
    data = json.loads(PACKAGED.read_text())
    return {
        name: {"title": model.title, "says": model.description, **data[name]}
        for name, model in MODELS.items()
        if name in data
    }

"""The nouns of the laboratory, written for one sequence, one seed, one setting.

An experiment is a pytree. Its leaves (floats) are the numbers one may sweep; ints, strings and
booleans are static: two experiments with the same tree structure are one program, and run as one.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, Key, Real

from . import evaluations, fields
from .evaluations import Evaluations, Interval
from .fields import Component, ConfigError, did_you_mean, splits_of

World: TypeAlias = Any  # pytrees of arrays, whatever a task, a model or a stage likes
Params: TypeAlias = Any
Memory: TypeAlias = Any


class FirstTokens(NamedTuple):
    """The distinct tokens that begin the rows of a batch, and which of them begins each row.

    A causal model makes the same of the first position wherever the first token is the same: a fast
    path may compute it once per distinct token. The engine checks `inputs[:, 0] == tokens[which]`.
    """

    tokens: Int[Array, " distinct"] | Int[np.ndarray, " distinct"]
    which: Int[Array, " row"]


class Batch(NamedTuple):
    """Rows of a split: what goes in, where it is read, what should come out, how much it counts.

    Targets are tokens; or numbers, if the task's loss takes them so.
    """

    inputs: Int[Array, "row length"]
    at: Int[Array, "row read"]
    targets: Real[Array, "row read"]
    weights: Float[Array, "row read"]
    first: FirstTokens | None = None

    def mean(self, values: Real[Array, "row #read"] | Bool[Array, "row #read"]) -> Float[Array, ""]:
        """The mean of what was found at each position read, as much as each counts."""
        return jnp.sum(values * self.weights) / jnp.sum(self.weights)

    def take(self, rows: Int[Array, " taken"]) -> "Batch":
        """Some of the rows, in any order and as often as one likes."""
        inputs, at, targets, weights = (field[rows] for field in self[:4])
        first = self.first and self.first._replace(which=self.first.which[rows])
        return Batch(inputs, at, targets, weights, first)

    @classmethod
    def concatenate(cls, batches: Sequence["Batch"]) -> "Batch":
        """The rows of several batches of one shape, one batch after the other."""
        inputs, at, targets, weights = map(
            jnp.concatenate, zip(*(b[:4] for b in batches), strict=True)
        )
        return cls(inputs, at, targets, weights, _first_of([batch.first for batch in batches]))


def _first_of(parts: Sequence[FirstTokens | None]) -> FirstTokens | None:
    """The first tokens of concatenated batches. Those that are known to be the same (a task gives
    them as a numpy array) are kept once."""
    known = [part for part in parts if part is not None]
    # one part that does not tell is enough: a table would lack its tokens
    if len(known) < len(parts):
        return None
    tokens = [part.tokens for part in known]
    if all(isinstance(x, np.ndarray) and np.array_equal(x, tokens[0]) for x in tokens):
        return FirstTokens(tokens[0], jnp.concatenate([part.which for part in known]))
    before = np.cumsum([0, *map(len, tokens[:-1])])
    which = [part.which + start for part, start in zip(known, before, strict=True)]
    return FirstTokens(jnp.concatenate(tokens), jnp.concatenate(which))


class Trace(NamedTuple):
    """What a model computed on one sequence. `jit` drops whatever nobody reads."""

    outputs: Float[Array, "read vocab"]
    residual: Float[Array, "layer read width"]
    attention: tuple[Float[Array, "head query length"], ...] = ()

    @classmethod
    def at_each(cls, at: Int[Array, " read"], read: Callable[[Int[Array, ""]], "Trace"]) -> "Trace":
        """Reads position by position, for models that read a string once: no axis for positions."""
        outputs, residual, attention = jax.vmap(read)(at)
        # vmap puts positions read first, a trace has layers and heads before them
        queries = tuple(jnp.swapaxes(weights, 0, 1) for weights in attention)
        return cls(outputs, jnp.swapaxes(residual, 0, 1), queries)


class Task(Component):
    """A distribution over sequences, parts of which are held out."""

    splits: eqx.AbstractClassVar[tuple[str, ...]]
    held_out: ClassVar[tuple[str, ...]] = ()  # splits that share no question with "train"

    @property
    @abstractmethod
    def vocab(self) -> int:
        """How many tokens there are."""

    @property
    def answers(self) -> int:
        """How many of them, counted from the first, can be answers: by default all."""
        return self.vocab

    @property
    @abstractmethod
    def length(self) -> int:
        """How long the longest sequence is."""

    def token_names(self, world: World) -> tuple[str, ...]:
        """What people call each token: all different, without blanks. No answer depends on it."""
        return tuple(map(str, range(self.vocab)))

    def answer_names(self, world: World) -> tuple[str, ...]:
        """What people call each target: by default as the token of that number."""
        return self.token_names(world)[: self.answers]

    @abstractmethod
    def world(self, key: Key[Array, ""]) -> World:
        """Draws what stays true during a run: the facts, the alphabets, the trigger tokens."""

    @abstractmethod
    def sample(self, world: World, split: str, key: Key[Array, ""]) -> Batch:
        """Draws rows of one split. A finite split is returned whole and ignores the key."""

    def loss(self, outputs: Float[Array, "row read vocab"], batch: Batch) -> Float[Array, ""]:
        """What training makes small: by default the weighted mean of the cross-entropy."""
        return batch.mean(optax.softmax_cross_entropy_with_integer_labels(outputs, batch.targets))

    def correct(
        self, outputs: Float[Array, "row read vocab"], batch: Batch
    ) -> Bool[Array, "row read"]:
        """Which answers are right: by default those whose target has the top output."""
        return jnp.argmax(outputs, axis=-1) == batch.targets


class Model(Component):
    """A parametrised function of one sequence, f(θ, x), read at the positions `at`."""

    @abstractmethod
    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        """Draws parameters that fit the task, or says which field does not."""

    @abstractmethod
    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        """Runs one sequence."""

    def batched(
        self,
        params: Params,
        inputs: Int[Array, "row length"],
        at: Int[Array, "row read"],
        first: FirstTokens | None = None,
    ) -> Trace:
        """Runs several sequences: the definition, vmapped. A model that knows a faster way to the
        same overrides this (see models/fast), and a contract test compares the two."""
        trace: Trace = jax.vmap(self, (None, 0, 0))(params, inputs, at)
        return trace


class Moment(NamedTuple):
    """Everything there is to see at one instant of one run."""

    task: Task
    world: World
    model: Model
    params: Params
    key: Key[Array, ""]

    def batch(self, split: str) -> Batch:
        """Rows of a split of the task."""
        # one key: whoever asks for a split at this instant gets the same rows
        return self.task.sample(self.world, split, self.key)

    def trace(self, batch: Batch) -> Trace:
        """What the model computes on every row."""
        return self.model.batched(self.params, batch.inputs, batch.at, batch.first)

    def loss(self, batch: Batch) -> Float[Array, ""]:
        """What the task makes of the model's outputs."""
        return self.task.loss(self.trace(batch).outputs, batch)

    def with_params(self, params: Params) -> "Moment":
        """The same instant, had the parameters been others."""
        return self._replace(params=params)

    def with_key(self, key: Key[Array, ""]) -> "Moment":
        """The same instant, had chance been another."""
        return self._replace(key=key)


def partition(params: Params, trainable: tuple[str, ...]) -> tuple[Params, Params]:
    """The parameters that are trained and the others, by the name at the top of the tree; all are
    trained if none is named."""
    if not trainable:
        return eqx.partition(params, True)
    names = jax.tree_util.tree_map_with_path(
        lambda path, _: jax.tree_util.keystr(path[:1], simple=True), params
    )
    known = sorted(set(jax.tree.leaves(names)))
    for group in trainable:
        if group not in known:
            hint = did_you_mean(group, known)
            raise ConfigError(f"the model has no parameters {group!r}: {hint}")
    return eqx.partition(params, jax.tree.map(lambda name: name in trainable, names))


class Until(Component):
    """A stage ends for a run at the first evaluation where a probe has passed a level."""

    probe: str = fields.string(doc="the name of a probe of the experiment")
    level: float = fields.number(doc="the value that it has to pass")
    side: str = fields.choice("below", "above", doc="on which side of the level the stage ends")

    def passed(self, value: float) -> bool:
        """Whether this value ends the stage."""
        return value < self.level if self.side == "below" else value > self.level


class Stage(Component):
    """A rule that moves the parameters, applied `steps` times. Training is a tuple of stages."""

    steps: eqx.AbstractVar[int]
    until: eqx.AbstractVar[Until | None]

    @abstractmethod
    def init(self, now: Moment) -> Memory:
        """What the rule remembers from one step to the next, at the stage's start."""

    @abstractmethod
    def step(self, now: Moment, memory: Memory) -> tuple[Params, Memory]:
        """One application of the rule."""

    def advance(
        self, now: Moment, memory: Memory, start: Int[Array, ""], steps: int | Int[Array, ""]
    ) -> tuple[Params, Memory]:
        """Several steps from `start` on; a stage that knows a cheaper way overrides this. How many
        is known when it runs, so that one program takes them all."""

        def one(step: Int[Array, ""], carry: tuple[Params, Memory]) -> tuple[Params, Memory]:
            params, memory = carry
            # from the step's number alone, so that a resumed run draws what it would have drawn
            return self.step(now._replace(params=params, key=jr.fold_in(now.key, step)), memory)

        moved: tuple[Params, Memory] = jax.lax.fori_loop(
            start, start + steps, one, (now.params, memory)
        )
        return moved


class Solver(Stage):
    """A stage that obtains parameters in one step by solving, on the host, in plain numpy.

    So a theorem is another way to obtain a model, and answers the same probes as a trained one.
    """

    steps: int = fields.static(default=1, init=False)
    until: Until | None = fields.static(default=None, init=False)

    @abstractmethod
    def solve(self, now: Moment) -> Params:
        """The parameters; or an error (ConfigError) that says why there are none."""

    def seconds(self, task: Task, model: Model) -> float:
        """About how long solving takes on one core: for the plan."""
        return 0.1

    def init(self, now: Moment) -> Memory:
        return ()

    def step(self, now: Moment, memory: Memory) -> tuple[Params, Memory]:
        """Nothing: the engine puts the solution in place before it evaluates the run."""
        return now.params, memory


class Probe(Component):
    """A question one may ask of a moment."""

    unit: ClassVar[str] = ""  # what the answer is measured in: see `core.quantity`

    @abstractmethod
    def __call__(self, now: Moment) -> Float[Array, "..."]:
        """The answer, of any fixed shape."""


class Experiment(Component):
    """Train this model on this task in this way, and keep asking these questions."""

    task: Task = fields.component(Task, doc="what is trained on, and asked")
    model: Model = fields.component(Model, doc="what is trained")
    training: tuple[Stage, ...] = fields.several(Stage, doc="how, stage after stage")
    probes: dict[str, Probe] = fields.by_name(Probe, doc="what is measured at every evaluation")
    evaluations: Evaluations = fields.static(
        default=20,
        allowed=evaluations.ALLOWED,
        doc="when probes answer, besides once before training and at the end of each stage: so "
        "often in each stage, evenly spaced or log-spaced (`Log`); or after these steps",
    )

    def __check_init__(self) -> None:
        super().__check_init__()  # the fields first: what follows relies on them
        evaluations.check(self.evaluations, sum(stage.steps for stage in self.training))
        for number, stage in enumerate(self.training):
            if stage.until and stage.until.probe not in self.probes:
                hint = did_you_mean(stage.until.probe, self.probes)
                raise ConfigError(
                    f"training.{number}.until: no probe {stage.until.probe!r}: {hint}"
                )
        for part in (*self.training, *self.probes.values()):
            for field, wanted, _ in splits_of(part):
                if wanted not in self.task.splits:
                    raise ConfigError(
                        f"{type(part).__name__}.{field}: {type(self.task).__name__} has no "
                        f"split {wanted!r}: {did_you_mean(wanted, list(self.task.splits))}"
                    )
        for path, leaf in jax.tree.leaves_with_path(self):
            if not isinstance(leaf, float):
                name = jax.tree_util.keystr(path)
                raise ConfigError(f"Experiment{name} is a {type(leaf).__name__}: leaves are floats")

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """What is between one evaluation and the next."""
        steps = tuple(stage.steps for stage in self.training)
        return evaluations.intervals(self.evaluations, steps)

    @property
    def evaluated_at(self) -> list[int]:
        """The number of steps taken at each evaluation, the first before any."""
        return evaluations.steps_at(self.intervals)

"""Modules of PyTorch that somebody brought, trained on the laboratory's tasks.

The task draws what goes in and says how much each output should change: the slope of its loss is
taken by the laboratory, whatever the loss, and torch carries it back from there.
"""

import multiprocessing
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from ..core.errors import told
from ..core.external import External, Trainer
from ..core.fields import ConfigError, by_name, component, count, number, string
from ..core.types import Batch, Moment, Probe, Trace, World
from ..engine.program import key_of
from ..tasks.widened import Widened
from ..training.descent import drawn
from .bring import Source, factory_of, made, module_of


class TorchExam(External):
    """A module trained on a task with Adam, until it has learnt what is asked last."""

    place: str = string()  # where it comes from: a file or a module,
    name: str = string()  # its name there,
    text: str = string()  # and a digest of what was written there
    task: Widened = component(Widened)
    probes: dict[str, Probe] = by_name(Probe)  # of outputs on a split: losses and successes
    learnt: float = number(most=1)
    learning_rate: float = number(above=0)
    train: str = string()
    batch_size: int = count(least=0)  # rows that a step draws; 0 takes all
    steps: int = count()
    evaluations: int = count()
    size: int = count()  # numbers that are trained

    @property
    def source(self) -> Source:
        """Where it comes from."""
        return Source(self.place, self.name, self.text)

    @property
    def uses(self) -> tuple[str, ...]:
        return (module_of(self.source),)

    @property
    def operations(self) -> float:
        """Those of its steps; a little more for looking."""
        return self.step_operations * (self.steps + 2 * self.evaluations)

    @property
    def step_operations(self) -> float:
        """Six for each number and token."""
        world = jax.eval_shape(self.task.world, jr.key(0))
        drawing = partial(_drawn, split=self.train, rows=self.batch_size)
        tokens = int(jax.eval_shape(drawing, self.task, world, key=jr.key(0)).inputs.size)
        return 6.0 * self.size * tokens

    def begin(self, seed: int) -> Trainer:
        return _Course(self, seed)


class _Answered(Moment):
    """A moment at which the outputs are known already: they stand in for the parameters."""

    def trace(self, batch: Batch) -> Trace:
        return Trace(self.params, jnp.zeros((0, *self.params.shape[:2], 0)))


@partial(jax.jit, static_argnames=("split", "rows"))
def _drawn(task: Widened, world: World, split: str, key: Key[Array, ""], rows: int = 0) -> Batch:
    batch = task.sample(world, split, key)
    return drawn(batch, rows, key) if rows else batch


@jax.jit
def _slope(
    task: Widened, outputs: Float[Array, "row read vocab"], batch: Batch
) -> Float[Array, "row read vocab"]:
    slope: Array = jax.grad(task.loss)(outputs, batch)
    return slope


@jax.jit
def _answer(
    probe: Probe, task: Widened, world: World, outputs: Array, key: Key[Array, ""]
) -> Float[Array, ""]:
    return probe(_Answered(task, world, None, outputs, key))  # type: ignore[arg-type]


class _Course(Trainer):
    """A module under training."""

    def __init__(self, exam: TorchExam, seed: int) -> None:
        import torch

        if multiprocessing.parent_process():  # one of several workers, each on a core
            torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.torch, self.exam, self.seed = torch, exam, seed
        task = exam.task
        self.world = jax.jit(task.world)(key_of(jnp.asarray(seed), "world"))
        factory = factory_of(exam.source)
        self.module = made(factory, task.vocab, task.length, key_of(jnp.asarray(seed), "params"))
        moving = [value for value in self.module.parameters() if value.requires_grad]
        self.rule = torch.optim.AdamW(moving, lr=exam.learning_rate, weight_decay=0.0)
        self.step = 0
        self.over = False  # what is asked last has been learnt

    def evaluate(self) -> dict[str, np.ndarray]:
        key = jr.fold_in(key_of(jnp.asarray(self.seed), "evaluation"), self.step)
        self.module.eval()
        found = {}
        for name, probe in self.exam.probes.items():
            batch = _drawn(self.exam.task, self.world, probe.split, key)  # type: ignore[attr-defined]
            with self.torch.no_grad():
                outputs = jnp.asarray(self._outputs(batch).numpy())
            answer = _answer(probe, self.exam.task, self.world, outputs, key)
            found[name] = np.asarray(answer)
        self.over = self.over or float(found[name]) > self.exam.learnt
        return found

    def advance(self, start: int, stop: int) -> None:
        self.step = stop
        if self.over:
            return
        self.module.train()
        stage = key_of(jnp.asarray(self.seed), "stage", 0)
        for step in range(start, stop):
            key = jr.fold_in(stage, step)
            exam = self.exam
            batch = _drawn(exam.task, self.world, exam.train, key, exam.batch_size)
            self.rule.zero_grad(set_to_none=True)
            outputs = self._outputs(batch)
            known = jnp.asarray(outputs.detach().numpy())
            slope = np.asarray(_slope(self.exam.task, known, batch))
            outputs.backward(self.torch.tensor(slope))
            self.rule.step()

    def _outputs(self, batch: Batch) -> Any:
        """What the module says where it is read; an error of its own is told with what went in."""
        tokens = self.torch.tensor(np.asarray(batch.inputs), dtype=self.torch.long)
        try:
            outputs = self.module(tokens)
        except Exception as error:
            first = ", ".join(map(str, tokens[0][:8].tolist()))
            more = ", …" if tokens.shape[1] > 8 else ""
            raise ConfigError(
                f"{told(error)}, on tokens of shape {tuple(tokens.shape)}, [{first}{more}] first"
            ) from error
        at = self.torch.tensor(np.asarray(batch.at), dtype=self.torch.long)
        rows = self.torch.arange(len(at))[:, None]
        return outputs[rows, at].float()

    # -- kept as arrays

    def save(self) -> dict[str, np.ndarray]:
        kept = {f"module.{k}": _array(v) for k, v in self.module.state_dict().items()}
        for place, memory in self.rule.state_dict()["state"].items():
            kept |= {f"rule.{place}.{k}": _array(v) for k, v in memory.items()}
        chances = self.torch.get_rng_state().numpy()
        return kept | {"step": np.array(self.step), "over": np.array(self.over), "chances": chances}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        tensor = self.torch.tensor
        module = {k: tensor(state[f"module.{k}"]) for k in self.module.state_dict()}
        self.module.load_state_dict(module)
        memories: dict[int, dict[str, Any]] = {}
        for name, values in state.items():
            if name.startswith("rule."):
                _, place, part = name.split(".")
                memories.setdefault(int(place), {})[part] = tensor(values)
        groups = self.rule.state_dict()["param_groups"]
        self.rule.load_state_dict({"state": memories, "param_groups": groups})
        self.step, self.over = int(state["step"]), bool(state["over"])
        self.torch.set_rng_state(tensor(state["chances"]))


def _array(tensor: Any) -> np.ndarray:
    """A tensor as numpy has it: which knows no halves of 16 bits."""
    found: np.ndarray = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return found.copy()

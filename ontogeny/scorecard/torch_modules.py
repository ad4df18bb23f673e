"""A user's PyTorch module, trained on this package's tasks.

The task draws the tokens; JAX computes the gradient of its loss with respect to the logits,
whatever the loss, and torch backpropagates from there.
"""

import multiprocessing
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float, Key

from ..core.errors import one_line
from ..core.external import External, Trainer
from ..core.fields import ConfigError, by_name, component, count, number, string
from ..core.types import Batch, Moment, Probe, Trace, World
from ..engine.program import key_of
from ..tasks.widened import Widened
from ..training.descent import drawn
from .load import Source, build, factory_of, module_name


class TorchExperiment(External):
    """A module trained on a task with AdamW, until its last probe is above `learnt`."""

    location: str = string()  # a file or a module,
    name: str = string()  # the name in it,
    digest: str = string()  # and a digest of the file's text
    task: Widened = component(Widened)
    probes: dict[str, Probe] = by_name(Probe)  # of outputs on a split: losses and accuracies
    learnt: float = number(most=1)
    learning_rate: float = number(above=0)
    train: str = string()
    batch_size: int = count(least=0)  # sequences drawn by a step; 0 takes all
    steps: int = count()
    evaluations: int = count()
    size: int = count()  # trainable parameters

    @property
    def source(self) -> Source:
        """Where it comes from."""
        return Source(self.location, self.name, self.digest)

    @property
    def uses(self) -> tuple[str, ...]:
        return (module_name(self.source),)

    @property
    def operations(self) -> float:
        """Those of its steps, and a little more for evaluation."""
        return self.step_operations * (self.steps + 2 * self.evaluations)

    @property
    def step_operations(self) -> float:
        """Six for each parameter and token: two forward, four backward."""
        world = jax.eval_shape(self.task.world, jr.key(0))
        drawing = partial(_drawn, split=self.train, rows=self.batch_size)
        tokens = int(jax.eval_shape(drawing, self.task, world, key=jr.key(0)).inputs.size)
        return 6.0 * self.size * tokens

    def begin(self, seed: int) -> Trainer:
        return _TorchTrainer(self, seed)


class _KnownOutputs(Moment):
    """A moment whose outputs are known already: they take the place of the parameters."""

    def trace(self, batch: Batch) -> Trace:
        return Trace(self.params, jnp.zeros((0, *self.params.shape[:2], 0)))


@partial(jax.jit, static_argnames=("split", "rows"))
def _drawn(task: Widened, world: World, split: str, key: Key[Array, ""], rows: int = 0) -> Batch:
    batch = task.sample(world, split, key)
    return drawn(batch, rows, key) if rows else batch


@jax.jit
def _logit_gradient(
    task: Widened, outputs: Float[Array, "row read vocab"], batch: Batch
) -> Float[Array, "row read vocab"]:
    gradient: Array = jax.grad(task.loss)(outputs, batch)
    return gradient


@jax.jit
def _measure(
    probe: Probe, task: Widened, world: World, outputs: Array, key: Key[Array, ""]
) -> Float[Array, ""]:
    return probe(_KnownOutputs(task, world, None, outputs, key))  # type: ignore[arg-type]


class _TorchTrainer(Trainer):
    """A module under training."""

    def __init__(self, experiment: TorchExperiment, seed: int) -> None:
        import torch

        if multiprocessing.parent_process():  # one of several workers, each on a core
            torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.torch, self.experiment, self.seed = torch, experiment, seed
        task = experiment.task
        self.world = jax.jit(task.world)(key_of(jnp.asarray(seed), "world"))
        factory = factory_of(experiment.source)
        self.module = build(factory, task.vocab, task.length, key_of(jnp.asarray(seed), "params"))
        moving = [value for value in self.module.parameters() if value.requires_grad]
        self.optimizer = torch.optim.AdamW(moving, lr=experiment.learning_rate, weight_decay=0.0)
        self.step = 0
        self.over = False  # the last probe is above `learnt`

    def evaluate(self) -> dict[str, np.ndarray]:
        key = jr.fold_in(key_of(jnp.asarray(self.seed), "evaluation"), self.step)
        self.module.eval()
        found = {}
        for name, probe in self.experiment.probes.items():
            batch = _drawn(self.experiment.task, self.world, probe.split, key)  # type: ignore[attr-defined]
            with self.torch.no_grad():
                outputs = jnp.asarray(self._outputs(batch).numpy())
            answer = _measure(probe, self.experiment.task, self.world, outputs, key)
            found[name] = np.asarray(answer)
        self.over = self.over or float(found[name]) > self.experiment.learnt
        return found

    def advance(self, start: int, stop: int) -> None:
        self.step = stop
        if self.over:
            return
        self.module.train()
        stage = key_of(jnp.asarray(self.seed), "stage", 0)
        for step in range(start, stop):
            key = jr.fold_in(stage, step)
            experiment = self.experiment
            batch = _drawn(
                experiment.task, self.world, experiment.train, key, experiment.batch_size
            )
            self.optimizer.zero_grad(set_to_none=True)
            outputs = self._outputs(batch)
            known = jnp.asarray(outputs.detach().numpy())
            gradient = np.asarray(_logit_gradient(self.experiment.task, known, batch))
            outputs.backward(self.torch.tensor(gradient))
            self.optimizer.step()

    def _outputs(self, batch: Batch) -> Any:
        """The module's logits at the positions that are read; an error shows the tokens fed in."""
        tokens = self.torch.tensor(np.asarray(batch.inputs), dtype=self.torch.long)
        try:
            outputs = self.module(tokens)
        except Exception as error:
            first = ", ".join(map(str, tokens[0][:8].tolist()))
            more = ", …" if tokens.shape[1] > 8 else ""
            raise ConfigError(
                f"{one_line(error)}, on tokens of shape {tuple(tokens.shape)}: [{first}{more}]"
            ) from error
        at = self.torch.tensor(np.asarray(batch.at), dtype=self.torch.long)
        rows = self.torch.arange(len(at))[:, None]
        return outputs[rows, at].float()

    # -- checkpoints are arrays

    def save(self) -> dict[str, np.ndarray]:
        kept = {f"module.{k}": _array(v) for k, v in self.module.state_dict().items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            kept |= {f"optimizer.{index}.{k}": _array(v) for k, v in moments.items()}
        rng_state = self.torch.get_rng_state().numpy()
        return kept | {
            "step": np.array(self.step),
            "over": np.array(self.over),
            "rng_state": rng_state,
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        tensor = self.torch.tensor
        module = {k: tensor(state[f"module.{k}"]) for k in self.module.state_dict()}
        self.module.load_state_dict(module)
        moments: dict[int, dict[str, Any]] = {}
        for name, values in state.items():
            if name.startswith("optimizer."):
                _, index, key = name.split(".")
                moments.setdefault(int(index), {})[key] = tensor(values)
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.step, self.over = int(state["step"]), bool(state["over"])
        self.torch.set_rng_state(tensor(state["rng_state"]))


def _array(tensor: Any) -> np.ndarray:
    """A tensor in numpy, which has no bfloat16."""
    found: np.ndarray = (tensor.float() if tensor.is_floating_point() else tensor).numpy()
    return found.copy()

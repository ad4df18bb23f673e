"""What kernel regression rests on: the templates' matrix N, and blocks of that of samples."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, count, split
from ..core.types import Moment, Probe
from ..models.kernel_machine import KernelMachine
from ..tasks.templates import Templates


def machine(now: Moment) -> tuple[KernelMachine, Templates]:
    """The moment's model and task, if they are a kernel machine on templates."""
    if not isinstance(now.model, KernelMachine) or not isinstance(now.task, Templates):
        raise ConfigError(
            f"this is about a KernelMachine on Templates, not {type(now.model).__name__}"
        )
    return now.model, now.task


class _OfKernel(Probe):
    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Templates.of("αα: +1", "αβ: -1", most=8, samples=6, test_rows=4)
        return [Example(cls(), task, KernelMachine())]


class Conditioning(_OfKernel):
    """The least eigenvalue of N, for N of mean diagonal one, and its standard error."""

    def __call__(self, now: Moment) -> Float[Array, "2"]:
        machine(now)
        scaled: Float[Array, 2] = now.params.least_eigenvalue / _size(now.params.N)
        return scaled


class PermutationGap(_OfKernel):
    """How far Σ N_ii is above Σ N_iσ(i) for the best σ that moves something, and its standard
    error."""

    def __call__(self, now: Moment) -> Float[Array, "2"]:
        machine(now)
        gap: Float[Array, 2] = now.params.permutation_gap
        return gap


class BlockError(_OfKernel):
    """How far the kernel of training samples is from the blocks N, on average over pairs, in units
    of N's mean diagonal."""

    unit = "size"

    rows: int = count(256, least=2, doc="how many training samples are compared")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        model, task = machine(now)
        kinds = now.world.train.kinds[: self.rows]
        strings = now.params.strings[: self.rows]
        counted = jnp.arange(len(kinds)) < task.samples
        # no sample with itself: N is about disjoint symbols (eqs. 6 and 7 of arXiv 2310.09753), and
        # what K_ii has in excess acts like ridge (LOGBOOK)
        pairs = counted[:, None] & counted[None] & ~jnp.eye(len(kinds), dtype=bool)
        N = now.params.N
        off = jnp.abs(model.between(now.params, strings, strings) - N[kinds][:, kinds])
        return jnp.sum(off * pairs) / jnp.sum(pairs) / _size(N)


class IdealGap(_OfKernel):
    """The mean distance of predictions from those of the idealised estimator, for which no two
    samples share a symbol."""

    unit = "size"

    split: str = split("test", doc="the split that is predicted")

    def __call__(self, now: Moment) -> Float[Array, ""]:
        machine(now)
        batch = now.batch(self.split)
        kinds = getattr(now.world, self.split).kinds
        predicted = now.trace(batch).outputs[:, 0, 0]
        return jnp.mean(jnp.abs(predicted - now.params.ideal[kinds]))


def _size(N: Float[Array, "template template"]) -> Float[Array, ""]:
    """The mean diagonal; of the empty matrix before solving, a number that divides it."""
    return jnp.maximum(jnp.mean(jnp.diag(N)), 1e-12)

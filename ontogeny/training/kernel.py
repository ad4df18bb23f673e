"""Kernel ridge regression, as a stage that solves."""

from collections.abc import Iterable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, UInt32

from ..core.fields import ConfigError, Example, number
from ..core.types import Model, Moment, Params, Solver, Task
from ..models.kernel_machine import KernelMachine, mark
from ..models.kernel_machine import Params as Machine
from ..tasks.templates import Templates
from ..theory.attention_kernel import canonical, pair_kernel, ridge
from ..theory.template import Template
from ..theory.template_kernel import (
    TemplateKernel,
    all_pairs,
    idealised,
    inner_product,
    of_templates,
)


class KernelRidge(Solver):
    """What gradient flow with weight decay on the last layer converges to (Proposition 4.3)."""

    ridge: float = number(1e-3, above=0, doc="λ, the weight of the squared norm")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        task = Templates.of("αα: +1", "αβ: -1", most=8, samples=6, test_rows=4)
        return [Example(cls(), task, KernelMachine())]

    def seconds(self, task: Task, model: Model) -> float:
        samples = task.most if isinstance(task, Templates) else 0
        return 0.5 + (samples / 2000) ** 2  # as measured: compiling, and a matrix of all samples

    def solve(self, now: Moment) -> Params:
        task, model = now.task, now.model
        if not isinstance(model, KernelMachine) or not isinstance(task, Templates):
            raise ConfigError(f"KernelRidge solves a KernelMachine, not a {type(model).__name__}")
        samples = int(task.samples)
        strings, labels, kinds = (np.asarray(field) for field in now.world.train)
        ended = np.pad(strings, ((0, 0), (0, 1)), constant_values=-1)
        marks, values = table(task.parsed, float(model.beta), float(model.gamma))
        theory = seen_by(model, task.parsed)
        counts = np.bincount(kinds[:samples], minlength=len(task.parsed)).astype(float)
        sums = np.bincount(kinds[:samples], labels[:samples], minlength=len(task.parsed))
        solved = Machine(
            strings=jnp.asarray(ended),
            coefficients=jnp.zeros(len(ended)),
            marks=jnp.asarray(marks),
            values=jnp.asarray(values, jnp.float32),
            N=jnp.asarray(theory.N, jnp.float32),
            least_eigenvalue=jnp.asarray(theory.least_eigenvalue, jnp.float32),
            permutation_gap=jnp.asarray(theory.permutation_gap, jnp.float32),
            ideal=jnp.asarray(idealised(theory.N, counts, sums, float(self.ridge)), jnp.float32),
        )
        # solved in double precision: strings of one template have nearly the same row
        among = np.asarray(jax.jit(model.between)(solved, ended[:samples], ended[:samples]), float)
        found = ridge(among, labels[:samples], float(self.ridge))
        # `samples` is a number that one may sweep, `most` a shape: samples beyond it have no weight
        padded = np.pad(found, (0, len(ended) - samples))
        return solved._replace(coefficients=jnp.asarray(padded, jnp.float32))


@cache
def table(
    templates: tuple[Template, ...], beta: float, gamma: float
) -> tuple[UInt32[np.ndarray, " pattern"], Float[np.ndarray, " pattern"]]:
    """Every pattern of two strings of the templates, by its hash, in order; and its kernel."""
    pairs = all_pairs(templates)
    marks = np.asarray(jax.vmap(mark)(jnp.asarray(pairs)))
    order = np.argsort(marks, kind="stable")
    shapes, marks = canonical(pairs[order]), marks[order]
    alike = marks[1:] == marks[:-1]
    if (shapes[1:][alike] != shapes[:-1][alike]).any():
        raise ConfigError("KernelMachine: two patterns have the same mark")
    # for strings of length 8 the largest standard error is then 3.9e-4; with half, 1.2e-3 (LOGBOOK)
    return marks, pair_kernel(pairs[order], beta, gamma, points=8192).value


def seen_by(model: KernelMachine, templates: tuple[Template, ...]) -> TemplateKernel:
    """The templates as the machine's kernel sees them."""
    if model.kernel == "inner product":
        length = len(templates[0].tokens) + 1
        # + 1: all strings share [CLS]
        N = inner_product(templates, lambda shared: np.exp((shared + 1) / length - 1.0))
        own = np.ones(len(templates))
        # N is exact: eight equal estimates, so that all standard errors are 0
        return TemplateKernel(np.repeat(N[None], 8, axis=0), own)
    found = of_templates(templates, float(model.beta), float(model.gamma))
    if model.kernel == "attention":
        return found
    return found.lifted(float(model.frequency), float(model.phase))

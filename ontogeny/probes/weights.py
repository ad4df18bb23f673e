"""Weight matrices: how much of one is needed, and what happens without the rest."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, did_you_mean, number, split, string
from ..core.types import Moment, Params, Probe
from .behaviour import Accuracy


class SoftRank(Probe):
    """‖W‖_F / ‖W‖₂ of a named matrix: one if it is of rank one."""

    matrix: str = string()

    def __call__(self, now: Moment) -> Float[Array, ""]:
        sizes = jnp.linalg.svd(matrix(now.params, self.matrix), compute_uv=False)
        rank: Array = jnp.linalg.norm(sizes) / jnp.maximum(sizes[0], 1e-30)
        return rank


class TruncatedAccuracy(Probe):
    """Success if of a named matrix only the largest singular values are left (LASER).

    `keep` is the fraction that stays; at 0 the matrix is gone.
    """

    matrix: str = string()
    split: str = split("test")
    keep: float = number(0.0, least=0, most=1)  # ρ

    def __call__(self, now: Moment) -> Float[Array, ""]:
        cut = truncated(matrix(now.params, self.matrix), self.keep)
        changed = eqx.tree_at(_at(self.matrix), now.params, cut)
        return Accuracy(self.split)(now.with_params(changed))


def truncated(
    weights: Float[Array, "out into"], keep: Float[Array, ""] | float
) -> Float[Array, "out into"]:
    """The nearest matrix of the rank that is left, a fraction of the full."""
    left, sizes, right = jnp.linalg.svd(weights, full_matrices=False)
    stays = jnp.arange(len(sizes)) < jnp.floor(keep * len(sizes) + 1e-6)
    return (left * jnp.where(stays, sizes, 0.0)) @ right


def matrix(params: Params, path: str) -> Float[Array, "out into"]:
    """The matrix at a path of the parameters, such as `mlp2.mlp_out`."""
    found: Any = _at(path)(params)
    if getattr(found, "ndim", 0) != 2:
        raise ConfigError(f"{path!r} is not a matrix")
    weights: Array = found
    return weights


def _at(path: str) -> Callable[[Params], Any]:
    def find(params: Params) -> Any:
        for name in path.split("."):
            fields = getattr(params, "_fields", ())
            if name not in fields:
                raise ConfigError(f"the model has no matrix {path!r}: {did_you_mean(name, fields)}")
            params = getattr(params, name)
        return params

    return find

"""Weight matrices: their rank, and the accuracy when they are truncated (LASER)."""

from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, did_you_mean, number, split, string
from ..core.types import Moment, Params, Probe
from .behaviour import Accuracy


class SoftRank(Probe):
    """‖W‖_F / ‖W‖₂ of a named matrix: one if it is of rank one."""

    unit = "size"

    matrix: str = string(doc="the path of the matrix in the parameters, such as mlp2.mlp_out")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("value"))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        sizes = jnp.linalg.svd(matrix(now.params, self.matrix), compute_uv=False)
        rank: Array = jnp.linalg.norm(sizes) / jnp.maximum(sizes[0], 1e-30)
        return rank


class TruncatedAccuracy(Probe):
    """The accuracy when only the largest singular values of a named matrix are kept (LASER)."""

    unit = "fraction"

    matrix: str = string(doc="the path of the matrix in the parameters, such as mlp2.mlp_out")
    split: str = split("test", doc="the split that is answered")
    keep: float = number(
        0.0, least=0, most=1, doc="ρ, the fraction of singular values kept; at 0 W is zero"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls("value", "conclusion", keep=0.5))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        cut = truncated(matrix(now.params, self.matrix), self.keep)
        changed = eqx.tree_at(_at(self.matrix), now.params, cut)
        return Accuracy(self.split)(now.with_params(changed))


def truncated(
    weights: Float[Array, "out into"], keep: Float[Array, ""] | float
) -> Float[Array, "out into"]:
    """The nearest matrix whose rank is this fraction of the full one."""
    left, sizes, right = jnp.linalg.svd(weights, full_matrices=False)
    # in single precision ρ · n may fall a hair short of the whole number that is meant
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

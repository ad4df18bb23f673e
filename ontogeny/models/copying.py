"""Attention alone on strings of one symbol: who can copy? (arXiv 2310.09753, section 5)

A string of one token leaves attention nothing to choose, and with embeddings that also read the
answer, f(x) = E (W_V W_Oᵀ + b I) E_x, the mean over heads.
"""

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, count, number
from ..core.types import Model, Task, Trace
from ..tasks.templates import Templates
from .initial import gaussians


class Params(NamedTuple):
    """Embeddings, values and outputs of heads, and what each head adds of the identity."""

    embed: Float[Array, "vocab width"]
    value: Float[Array, "head width head_dim"]
    out: Float[Array, "head width head_dim"]
    b: Float[Array, " head"]


class CopyingAttention(Model):
    """In the mean-field scaling: outputs start near zero, the nearer the wider."""

    width: int = count(256, doc="width of embeddings")
    heads: int = count(4, most=1000, doc="heads of attention")
    head_dim: int = count(64, doc="width of a head")
    vo_identity: float = number(
        0.0, doc="scale of the identity b I added to W_V W_Oᵀ; 0: there is none"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [
            Example(
                cls(width=8, heads=2, head_dim=4, vo_identity=1.0),
                Templates.of("α: α", most=8, samples=6),
            )
        ]

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        if task.length != 1 or task.answers != task.vocab:
            raise ConfigError(
                "CopyingAttention reads strings of one token and answers with a token"
            )
        shape = (self.heads, self.width, self.head_dim)
        embed, value, out = gaussians(key, (task.vocab, self.width), shape, shape)
        embed = embed * self.width**-0.5
        # 1/d instead of 1/√d is the mean-field part (Appendix J): outputs vanish as the width grows
        return Params(embed, value * self.head_dim**-0.5, out / self.width, jnp.zeros(self.heads))

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        # no [CLS] here (Appendix J.2): the one token attends to itself, with weight 1 (eq. 27)
        features = params.embed[inputs[0]]
        values = jnp.einsum("d,hdp->hp", features, params.value)
        passed = jnp.einsum("hp,hdp->d", values, params.out) / self.heads
        passed = passed + self.vo_identity * jnp.mean(params.b) * features
        outputs = jnp.broadcast_to(params.embed @ passed, (len(at), len(params.embed)))
        return Trace(outputs, jnp.broadcast_to(passed, (1, len(at), len(passed))))

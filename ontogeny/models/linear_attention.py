"""One head of linear attention on one-hot tokens, its output and value matrices apart or merged."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int, Key

from ..core.fields import Example, count, number
from ..core.types import Model, Task, Trace
from .initial import gaussians
from .layers import causal_mask


class Factorised(NamedTuple):
    """The table of attention, and two factors of what tokens say of answers."""

    key_query: Float[Array, "vocab vocab"]
    value: Float[Array, "vocab rank"]
    output: Float[Array, "rank answer"]


class Merged(NamedTuple):
    """The table of attention, and what tokens say of answers."""

    key_query: Float[Array, "vocab vocab"]
    output_value: Float[Array, "vocab answer"]


class _LinearAttention(Model):
    """f(x) = Σ_t (x_t · Z x_T) W[x_t]: the token read weighs each before it, without a softmax."""

    scale: float = number(0.01, least=0, doc="standard deviation of initial weights")

    @abstractmethod
    def _said(self, params: Any, tokens: Int[Array, " length"]) -> Float[Array, "length answer"]:
        """What each token says of the answers."""

    def __call__(
        self, params: Any, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        # x_tᵀ Z x_T of one-hot tokens is an entry of Z; without a softmax weights may have any sign
        weights = (
            causal_mask(len(inputs), at) * params.key_query[inputs[None, :], inputs[at][:, None]]
        )
        outputs = weights @ self._said(params, inputs)
        return Trace(outputs, outputs[None], (weights[None],))


class FactorisedAttention(_LinearAttention):
    """W = W_V W_O with a head dimension: descent shares what tokens have in common."""

    rank: int = count(128, doc="the head dimension")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(rank=3, scale=0.5))]

    def init(self, task: Task, key: Key[Array, ""]) -> Factorised:
        shapes = (task.vocab, task.vocab), (task.vocab, self.rank), (self.rank, task.answers)
        return Factorised(*(self.scale * weights for weights in gaussians(key, *shapes)))

    def _said(
        self, params: Factorised, tokens: Int[Array, " length"]
    ) -> Float[Array, "length answer"]:
        return params.value[tokens] @ params.output


class MergedAttention(_LinearAttention):
    """W itself is trained: each token's row on its own."""

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(scale=0.5))]

    def init(self, task: Task, key: Key[Array, ""]) -> Merged:
        shapes = (task.vocab, task.vocab), (task.vocab, task.answers)
        return Merged(*(self.scale * weights for weights in gaussians(key, *shapes)))

    def _said(self, params: Merged, tokens: Int[Array, " length"]) -> Float[Array, "length answer"]:
        return params.output_value[tokens]

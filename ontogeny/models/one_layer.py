"""One-layer transformers with orthonormal tokens, a merged key-query matrix and an MLP per class.

The embeddings are orthonormal and fixed, so every matrix is written in their basis: Z becomes a
table token × token, V a table token × width, and Gaussian entries stay Gaussian. Directions outside
the span of the tokens are never reached and not stored.
"""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, count, number
from ..core.types import Model, Task, Trace
from .initial import gaussians
from .layers import causal_mask, masked_softmax


class Params(NamedTuple):
    """The attention's two tables and the MLP's output weights."""

    key_query: Float[Array, "vocab vocab"]
    value: Float[Array, "vocab width"]
    output: Float[Array, "..."]


class _OneLayer(Model):
    width: int = count(512, doc="width d of embeddings")
    # small: σ₀ ≪ 1/√(N d), or attention leaves its balance before features align (LOGBOOK)
    scale: float = number(1e-4, least=0, doc="σ₀: standard deviation of every initial weight")
    gain: float = number(1.0, above=0, doc="λ in units of √d, where normalisation would put it")

    @abstractmethod
    def _output_shape(self, vocab: int) -> tuple[int, ...]: ...

    @abstractmethod
    def _read(
        self, output: Float[Array, "..."], features: Float[Array, "read width"]
    ) -> Float[Array, "read vocab"]: ...

    def init(self, task: Task, key: Key[Array, ""]) -> Params:
        if self.width < task.vocab:
            raise ConfigError(
                f"{type(self).__name__}.width={self.width} is too small for {task.vocab} "
                f"orthonormal tokens: it must be at least {task.vocab}"
            )
        shapes = (task.vocab, task.vocab), (task.vocab, self.width), self._output_shape(task.vocab)
        return Params(*(self.scale * weights for weights in gaussians(key, *shapes)))

    def __call__(
        self, params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Trace:
        attention = self._attend(params, inputs, at)
        # arXiv 2603.05143, eq. 2: v = V Σ_j a_j x_j, where V x_j is a row of the table
        features = attention @ params.value[inputs]
        outputs = self._read(params.output, features)
        return Trace(outputs, features[None], (attention[None],))

    @staticmethod
    def _attend(
        params: Params, inputs: Int[Array, " length"], at: Int[Array, " read"]
    ) -> Float[Array, "read length"]:
        # its eq. 1: x_jᵀ Z x_T is an entry of the table
        scores = params.key_query[inputs[None, :], inputs[at][:, None]]
        return masked_softmax(scores, causal_mask(len(inputs), at))


class OneLayer(_OneLayer):
    """Linear MLP: logit k = (λ/m) Σᵣ wₖᵣ · v, over m hidden units per class.

    The m units of a class have the same gradient, so of their m directions only the mean moves.
    With uₖ = Σᵣ wₖᵣ/√m (an orthogonal change of coordinates; its entries start with the same
    deviation) the logit is (λ/√m) uₖ · v, and descent on u is descent on w, exactly. The width m
    is then a number: it costs nothing and can be swept.
    """

    mlp_width: float = number(16.0, above=0, doc="m: hidden units of each class")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=20, scale=0.5))]

    def _output_shape(self, vocab: int) -> tuple[int, ...]:
        return (vocab, self.width)

    def readout_gain(self) -> Any:
        """What outputs are multiplied with: outputs = gain · features @ outputᵀ."""
        # λ/√m with λ = gain · √d, the length to which RMSNorm would bring features
        return self.gain * jnp.sqrt(self.width / self.mlp_width)

    def _read(
        self, output: Float[Array, "vocab width"], features: Float[Array, "read width"]
    ) -> Float[Array, "read vocab"]:
        # its eq. 3, the m units of a class merged
        outputs: Array = (features @ output.T) * self.readout_gain()
        return outputs


class ReluLayer(_OneLayer):
    """The same with a ReLU: logit k = (λ/m) Σᵣ max(0, wₖᵣ · v). Nothing can be left out."""

    mlp_width: int = count(8, doc="m: hidden units of each class")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=20, mlp_width=3, scale=0.5))]

    def _output_shape(self, vocab: int) -> tuple[int, ...]:
        return (vocab * self.mlp_width, self.width)

    def _read(
        self, output: Float[Array, "unit width"], features: Float[Array, "read width"]
    ) -> Float[Array, "read vocab"]:
        # the network of Appendix A and Table 3; the mean below is the 1/m of eq. 3
        active = jax.nn.relu(features @ output.T).reshape(len(features), -1, self.mlp_width)
        outputs: Array = jnp.mean(active, axis=-1) * (self.gain * self.width**0.5)
        return outputs

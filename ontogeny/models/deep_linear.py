"""Deep linear networks."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from ..core.fields import ConfigError, Example, count, number
from ..core.types import Model, Task, Trace
from .initial import gaussians


class DeepLinear(Model):
    """f(x) = W_L … W_1 x on orthonormal inputs; the first layer starts small, the others Gaussian.

    Parameters are named `layer1` … `layerL`, so that a stage can train one of them.
    """

    width: int = count(128, doc="width of every layer but the last")
    depth: int = count(4, least=2, most=1000, doc="number of layers L")
    first: float = number(
        1e-3, least=0, doc="standard deviation of the first layer, in units of 1/√width"
    )
    scale: float = number(
        1.0, least=0, doc="standard deviation of the other layers, in units of 1/√width"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(width=20, depth=3, first=0.5))]

    def init(self, task: Task, key: Key[Array, ""]) -> dict[str, Float[Array, "out into"]]:
        if self.width < task.vocab:
            raise ConfigError(
                f"DeepLinear.width={self.width} is too small for {task.vocab} orthonormal inputs "
                f"and labels: it must be at least {task.vocab}"
            )
        square = [(self.width, self.width)] * (self.depth - 1)
        layers = gaussians(key, *square, (task.vocab, self.width))
        # arXiv 2603.05143, Theorem 6: the first layer starts at (nearly) 0, the others Gaussian
        scales = [self.first] + [self.scale] * (self.depth - 1)
        return {
            f"layer{number}": scale / self.width**0.5 * layer
            for number, (scale, layer) in enumerate(zip(scales, layers, strict=True), start=1)
        }

    def __call__(
        self,
        params: dict[str, Float[Array, "out into"]],
        inputs: Int[Array, " length"],
        at: Int[Array, " read"],
    ) -> Trace:
        features = jnp.zeros((len(at), self.width)).at[jnp.arange(len(at)), inputs[at]].set(1.0)
        residual = [features]
        for layer in range(1, self.depth):
            features = features @ params[f"layer{layer}"].T
            residual.append(features)
        return Trace(features @ params[f"layer{self.depth}"].T, jnp.stack(residual))

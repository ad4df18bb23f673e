"""What theory says of the features of a deep linear network."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Moment, Probe
from ..models.deep_linear import DeepLinear
from ..theory.depth import alignment


class PredictedAlignment(Probe):
    """The cosine of inputs with the same label that their length alone implies, layer by layer.

    The inputs themselves are orthogonal, and only layers that are trained follow.
    """

    unit = "cosine"

    split: str = split("train", doc="the split whose features are measured")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from ..tasks.labelled import Labelled

        return [Example(cls(), Labelled(labels=3), DeepLinear(width=16, depth=3, first=0.5))]

    def __call__(self, now: Moment) -> Float[Array, " layer"]:
        if not isinstance(now.model, DeepLinear):
            raise ConfigError(
                f"PredictedAlignment is about DeepLinear, not {type(now.model).__name__}"
            )
        features = now.trace(now.batch(self.split)).residual[:, :, 0]
        lengths = jnp.mean(jnp.sum(features**2, axis=-1), axis=0)
        # δ²: entries of deviation first/√width make features of squared length first²
        predicted = alignment(jnp.square(now.model.first), lengths)
        return predicted.at[0].set(0.0)

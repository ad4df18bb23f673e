"""What theory says of the features of a deep linear network."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core.fields import ConfigError, Example, split
from ..core.types import Moment, Probe
from ..models.deep_linear import DeepLinear
from ..tasks.labelled import Labelled
from ..theory.depth import alignment


class PredictedAlignment(Probe):
    """The cosine of inputs with the same label that their lengths alone imply, layer by layer.

    The inputs themselves are orthogonal, and only layers that are trained follow.
    """

    unit = "cosine"

    split: str = split("train", doc="the split whose features are measured")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(), Labelled(labels=3), DeepLinear(width=16, depth=3, first=0.5))]

    def __call__(self, now: Moment) -> Float[Array, " layer"]:
        if not isinstance(now.model, DeepLinear):
            raise ConfigError(
                f"PredictedAlignment is about DeepLinear, not {type(now.model).__name__}"
            )
        if not isinstance(now.task, Labelled):
            raise ConfigError(
                f"PredictedAlignment is about Labelled, not {type(now.task).__name__}"
            )
        features = now.trace(now.batch(self.split)).residual[:, :, 0]
        lengths = jnp.mean(jnp.sum(features**2, axis=-1), axis=0)[1:]  # of the inputs: 1
        # δ²: entries of deviation first/√width make features of squared length first²
        crowding = now.task.labels / now.model.width
        predicted = alignment(jnp.square(now.model.first), lengths, crowding)
        return jnp.concatenate([jnp.zeros(1), predicted])

"""Stochastic descent with momentum."""

import optax

from ..core.fields import number
from ..core.types import Params
from .descent import _Gradient


class Momentum(_Gradient):
    """Gradients are gathered, each fading by `memory` a step; weight decay is added to them."""

    momentum: float = number(0.9, least=0, most=1)
    weight_decay: float = number(0.0, least=0)

    def optimizer(self, moving: Params) -> optax.GradientTransformation:
        return optax.chain(
            optax.add_decayed_weights(self.weight_decay),
            optax.sgd(self.learning_rate, momentum=self.momentum),
        )

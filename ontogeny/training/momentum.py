"""Stochastic gradient descent with momentum."""

import optax

from ..core.fields import number
from ..core.types import Params
from .descent import _Gradient


class Momentum(_Gradient):
    """Gradient descent along a sum of past gradients that fade by `momentum` a step."""

    momentum: float = number(0.9, least=0, most=1, doc="how slowly past gradients fade")
    weight_decay: float = number(0.0, least=0, doc="λ: λ times the weights joins the gradient")

    def optimizer(self, moving: Params) -> optax.GradientTransformation:
        return optax.chain(
            optax.add_decayed_weights(self.weight_decay),
            optax.sgd(self.learning_rate, momentum=self.momentum),
        )

"""Stochastic descent with momentum."""

import optax

from ..core import Params
from ..fields import number
from .descent import _Gradient


class Momentum(_Gradient):
    """Gradients are gathered, each fading by `memory` a step; weight decay is added to them."""

    memory: float = number(0.9, least=0, most=1)
    decay: float = number(0.0, least=0)

    def optimiser(self, moving: Params) -> optax.GradientTransformation:
        return optax.chain(
            optax.add_decayed_weights(self.decay), optax.sgd(self.rate, momentum=self.memory)
        )

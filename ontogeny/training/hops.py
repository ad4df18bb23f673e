"""k hops in log₂ k + 1 layers, by hand."""

import jax.numpy as jnp
import numpy as np

from ..core.fields import ConfigError, number
from ..core.types import Moment, Params, Solver
from ..models.attention_stack import AttentionStack
from ..models.attention_stack import Params as Stack
from ..tasks.hops import Hops


class BuiltHops(Solver):
    """Each layer doubles the hops: layer 1 looks from (a, b) to (a, π_a(b)) and notes the value
    there; a later layer looks from (a, b), where h hops lead to y, to (a + h, y), and notes where h
    hops lead from there. What belongs together scores `strength`.
    """

    strength: float = number(40.0, above=0)

    def solve(self, now: Moment) -> Params:
        task, model = now.task, now.model
        if not isinstance(task, Hops) or not isinstance(model, AttentionStack):
            raise ConfigError("BuiltHops builds an AttentionStack for Hops")
        layers, width = len(task.asked), task.length + task.vocab + task.values * len(task.asked)
        if not task.cyclic or model.depth < layers or model.width < width:
            raise ConfigError(
                f"BuiltHops: {task.hops} hops take cyclic=True, depth={layers} and width={width}"
            )
        value = np.arange(task.values)
        place = np.arange(task.length).reshape(task.hops, task.values)
        token = task.length + value
        note = task.length + task.vocab + np.arange(layers)[:, None] * task.values + value
        key_query, output_value, unembed = (np.zeros(w.shape) for w in now.params)

        hidden = np.asarray(now.world)
        key_query[0][place, np.take_along_axis(place, hidden, axis=1)] = self.strength
        output_value[0][note[0], token] = 1.0
        for layer, hops in enumerate(task.asked[:-1], start=1):
            onwards = np.roll(place, -hops, axis=0)
            key_query[layer][place[:, :, None], onwards[:, None, :]] = self.strength
            key_query[layer][note[layer - 1][:, None], place.T] = self.strength
            output_value[layer][note[layer], note[layer - 1]] = 1.0
        unembed[note, np.arange(task.vocab).reshape(layers, task.values)] = self.strength
        return Stack(*map(jnp.asarray, (key_query, output_value, unembed)))

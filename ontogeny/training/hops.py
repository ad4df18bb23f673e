"""k hops in log₂ k + 1 layers, constructed by hand."""

from collections.abc import Iterable

import jax.numpy as jnp
import numpy as np

from ..core.fields import ConfigError, Example, number
from ..core.types import Moment, Params, Solver
from ..models.attention_stack import AttentionStack
from ..models.attention_stack import Params as Stack
from ..tasks.hops import Hops


class BuiltHops(Solver):
    """Each layer doubles the hops: layer 1 attends from (a, b) to (a, π_a(b)) and copies the value
    there; a later layer attends from (a, b), where h hops lead to y, to (a + h, y), and copies
    where h hops lead from there.
    """

    # e⁻⁴⁰ is far below single precision's rounding: attention is as good as hard
    strength: float = number(
        40.0, above=0, doc="the attention score of the position attended to, above all others"
    )

    @classmethod
    def examples(cls) -> Iterable[Example]:
        return [Example(cls(), Hops(values=2, hops=2, rows=5), AttentionStack(width=20, depth=2))]

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
        # the residual stream: one-hot position, one-hot token, then for each layer a one-hot copy
        position = np.arange(task.length).reshape(task.hops, task.values)
        token = task.length + value
        copy = task.length + task.vocab + np.arange(layers)[:, None] * task.values + value
        key_query, output_value, unembed = (np.zeros(w.shape) for w in now.params)

        fixed = np.asarray(now.world)
        # the token at (a, π_a(b)) is σ_a(π_a(b)): one hop from b
        key_query[0][position, np.take_along_axis(position, fixed, axis=1)] = self.strength
        output_value[0][copy[0], token] = 1.0
        for layer, hops in enumerate(task.asked[:-1], start=1):
            # half of the score for the permutation h hops on, half for the value reached there:
            # only the position that has both gets twice `strength`
            onwards = np.roll(position, -hops, axis=0)
            key_query[layer][position[:, :, None], onwards[:, None, :]] = self.strength
            key_query[layer][copy[layer - 1][:, None], position.T] = self.strength
            output_value[layer][copy[layer], copy[layer - 1]] = 1.0
        unembed[copy, np.arange(task.vocab).reshape(layers, task.values)] = self.strength
        return Stack(*map(jnp.asarray, (key_query, output_value, unembed)))

"""Whether a model distinguishes strings of different labels."""

from collections.abc import Iterable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..core.fields import Example, split
from ..core.types import Moment, Probe


class Separation(Probe):
    """The mean output on strings of the largest label minus that on strings of the least."""

    split: str = split("test", doc="the split that is answered")

    @classmethod
    def examples(cls) -> Iterable[Example]:
        from ..models.transformer import Transformer
        from ..tasks.templates import Templates

        task = Templates.of("αα: +1", "αβ: -1", most=8, samples=6, test_rows=10)
        return [Example(cls(), task, Transformer(width=8, heads=2, head_dim=4, mlp_width=6))]

    def __call__(self, now: Moment) -> Float[Array, ""]:
        batch = now.batch(self.split)
        outputs, label = now.trace(batch).outputs[..., :1].mean(axis=-1), batch.targets
        high, low = label == label.max(), label == label.min()

        def mean(chosen: Bool[Array, "row read"]) -> Float[Array, ""]:
            return jnp.sum(outputs * chosen) / jnp.sum(chosen)

        # 0 in the mean over MLPs, if symbols are unseen (arXiv 2310.09753, Appendix I)
        return mean(high) - mean(low)

"""What the tests of one family share."""

import jax
import jax.random as jr

from ontogeny import (
    BlockSparse,
    ClauseTransformer,
    Lego,
)
from ontogeny.core.types import Moment

SMALL = Lego(action="S3", chain=2, variables=9, rows=6)
NARROW = ClauseTransformer(width=8, mlp_width=6)
TINY = BlockSparse(neurons_per_class=4)


def drawn(task, split, seed=1):
    """Rows of a split, by one compiled draw."""
    world = task.world(jr.key(0))
    return jax.jit(lambda key: task.sample(world, split, key))(jr.key(seed))


def at(task, model, seed=0):
    params = model.init(task, jr.key(seed))
    return Moment(task, task.world(jr.key(seed)), model, params, jr.key(seed + 1))


def stepped(stage, now):
    """The parameters after one step, compiled."""
    return jax.jit(lambda params: stage.step(now.with_params(params), stage.init(now))[0])(
        now.params
    )


def asked(now, *probes):
    """What probes answer, compiled."""
    return jax.jit(lambda params: [probe(now.with_params(params)) for probe in probes])(now.params)

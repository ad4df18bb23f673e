"""What the tests of one family share."""

import jax.random as jr

from ontogeny.core.types import Moment


def moment(task, model, seed=0):
    world = task.world(jr.key(seed))
    return Moment(task, world, model, model.init(task, jr.key(seed + 1)), jr.key(seed + 2))

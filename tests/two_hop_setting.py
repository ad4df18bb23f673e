"""What the tests of one family share."""

import jax.random as jr

from ontogeny.core.types import Moment


def moment(task, model, seed=0):
    params = model.init(task, jr.key(seed))
    return Moment(task, task.world(jr.key(seed)), model, params, jr.key(seed))

"""What the tests of one family share."""

import jax
import jax.numpy as jnp
import jax.random as jr

from ontogeny import (
    Moment,
    Templates,
)
from ontogeny.theory.template_sets import (
    ENDS_OR_TAIL,
)

TASK = Templates.of(*ENDS_OR_TAIL, most=12, samples=12, test_rows=6)


SMALL = {"width": 8, "heads": 2, "head_dim": 4, "mlp_width": 6}


def moment(model, task=TASK, seed=0):
    params = jax.jit(lambda key: model.init(task, key))(jr.key(seed))
    return Moment(task, jax.jit(task.world)(jr.key(1)), model, params, jr.key(2))


def trained(now, stage):
    """The same moment after a stage."""

    @jax.jit
    def advance(params):
        then = now.with_params(params)
        return stage.advance(then, stage.init(then), jnp.zeros((), jnp.int32), stage.steps)[0]

    return now.with_params(advance(now.params))


def outputs(now, batch):
    return jax.jit(lambda params: now.with_params(params).trace(batch).outputs)(now.params)

"""Transfer between splits, and template tasks for any model."""

import jax.numpy as jnp
import numpy as np
from templates_setting import moment

from ontogeny import (
    GPT2,
    AdamW,
    CopyingAttention,
    Experiment,
    Loss,
    Templates,
    Transfer,
    execute,
)
from ontogeny.theory.template import is_wildcard
from ontogeny.theory.template_sets import (
    COPY,
    symbolic_majority,
)


def test_transfer_to_the_same_split_is_one_and_parts_are_its_own():
    task = Templates.of(*COPY, most=8, samples=8, test_rows=4)
    now = moment(CopyingAttention(width=32, heads=2, head_dim=8, vo_identity=1.0), task)
    assert jnp.allclose(Transfer("train", trainable=("value",))(now), 1.0, atol=1e-4)
    assert float(Transfer("test", trainable=("b",))(now)) > 0.5
    assert abs(float(Transfer("test", trainable=("value",))(now))) < 0.5


def test_an_experiment_without_training_is_looked_at_once():
    task = Templates.of(*COPY, most=8, samples=8, test_rows=4)
    experiment = Experiment(task, CopyingAttention(width=8), (), {"loss": Loss("test")})
    run = execute({"x": experiment}, seeds=2)["x"]
    assert run.curve("loss").shape == (2, 1)


def test_a_task_of_templates_trains_any_model():
    task = Templates.of(*symbolic_majority(3), most=8, samples=8, test_rows=4)
    assert not any(is_wildcard(token) for token in task.regular)
    experiment = Experiment(
        task,
        GPT2(width=8, depth=1, heads=2),
        (AdamW(2, 0.01),),
        {"loss": Loss("test")},
        evaluations=1,
    )
    assert np.isfinite(execute({"x": experiment}, seeds=1)["x"].final("loss").values).all()

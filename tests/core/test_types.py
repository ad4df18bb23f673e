"""What cannot be is refused when it is written down, with the field's name."""

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from small import PROBES, tiny

from ontogeny import (
    GPT2,
    Accuracy,
    AdamW,
    Analogy,
    ConfigError,
    Experiment,
    GradientDescent,
    Labelled,
    Log,
    Loss,
    OneLayer,
    Until,
    execute,
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Analogy(tuples=0), "Analogy.tuples must be at least 1, not 0"),
        (lambda: Analogy(ratio=0.0), "Analogy.ratio must be above 0"),
        (lambda: Analogy(ratio=math.nan), "Analogy.ratio must be a finite number, not nan"),
        (lambda: Analogy(ration=4.0), "Analogy has no field 'ration': did you mean 'ratio'?"),
        (
            lambda: GradientDescent(steps=10, learning_rate=-1.0),
            "GradientDescent.learning_rate must be at least 0, not -1",
        ),
        (lambda: GradientDescent(steps=0, learning_rate=1.0), "Descent.steps must be at least 1"),
        (
            lambda: AdamW(steps=10, learning_rate=1.0, weight_decay=-0.1),
            "AdamW.weight_decay must be at least 0",
        ),
        (lambda: OneLayer(scale=math.inf), "OneLayer.scale must be a finite number"),
        (lambda: GPT2(width=30, heads=4), "GPT2.width=30 is not divisible by heads=4"),
        (lambda: Labelled(shared=1), "Labelled.shared must be at least 2"),
        (lambda: Until("x", level=1.0, side="belw"), "did you mean 'below'?"),
        (lambda: tiny(evaluations=(3, 41)), "evaluations: 41 is no step of this training, which"),
        (lambda: Log(0), "Log.points must be at least 1"),
        (lambda: tiny(evaluations=0), "Experiment.evaluations must be at least 1"),
        (lambda: tiny(probes={"x": Accuracy("conclusions")}), "did you mean 'conclusion'?"),
        (
            lambda: tiny(training=(GradientDescent(steps=5, learning_rate=1.0, split="trian"),)),
            "did you mean 'train'",
        ),
    ],
)
def test_impossible_fields_are_refused_by_name(make, message):
    with pytest.raises(ConfigError, match=None) as error:
        make()
    assert message in str(error.value)


def test_a_stage_cannot_wait_for_a_probe_that_is_not_asked():
    stage = GradientDescent(steps=5, learning_rate=1.0, until=Until("train los", level=0.1))
    with pytest.raises(ConfigError, match="no probe 'train los': did you mean 'train loss'"):
        tiny(training=(stage,))


def test_too_narrow_a_model_is_refused_before_anything_is_compiled():
    with pytest.raises(
        ConfigError, match=r"OneLayer.width=8 is too small for 14 orthonormal tokens"
    ):
        execute({"mlp_out": tiny(width=8)}, seeds=1)


def test_parameters_that_a_model_does_not_have_are_refused():
    stage = GradientDescent(steps=5, learning_rate=1.0, trainable=("valeu",))
    with pytest.raises(ConfigError, match="no parameters 'valeu': did you mean 'value'"):
        execute({"odd": tiny(training=(stage,))}, seeds=1)


def test_whole_numbers_given_for_numbers_become_floats():
    leaves = jax.tree.leaves(Analogy(ratio=4, replay=1))
    assert leaves == [4.0, 1.0] and all(isinstance(leaf, float) for leaf in leaves)


def test_the_leaves_of_an_experiment_are_its_numbers():
    assert all(isinstance(leaf, float) for leaf in jax.tree.leaves(tiny()))
    assert jax.tree.structure(tiny(learning_rate=1.0)) == jax.tree.structure(
        tiny(learning_rate=2.0, ratio=3.0)
    )
    assert jax.tree.structure(tiny(width=16)) != jax.tree.structure(tiny(width=20))


def test_a_stage_of_one_step_is_looked_at_once():
    experiment = Experiment(
        Analogy(tuples=3),
        OneLayer(width=16),
        (GradientDescent(steps=1, learning_rate=1.0), GradientDescent(steps=10, learning_rate=1.0)),
        PROBES,
        evaluations=5,
    )
    assert experiment.evaluated_at == [0, 1, 3, 5, 7, 9, 11]


def test_loss_weighs_rows_instead_of_repeating_them():
    """κ copies of the similarity premises, or one that counts κ times: the same loss."""

    task, model = Analogy(tuples=4, ratio=3.0), OneLayer(width=20, scale=0.5)
    batch = task.sample((), "train", jr.key(0))
    params = model.init(task, jr.key(1))
    outputs = jax.vmap(model, (None, 0, 0))(params, batch.inputs, batch.at).outputs
    copies = jnp.repeat(jnp.arange(12), jnp.array([3] * 8 + [1] * 4), total_repeat_length=28)
    repeated = batch.take(copies)
    alike = repeated._replace(weights=jnp.ones_like(repeated.weights))
    assert jnp.allclose(task.loss(outputs, batch), task.loss(outputs[copies], alike), rtol=1e-6)
    assert Loss("train").split == "train"

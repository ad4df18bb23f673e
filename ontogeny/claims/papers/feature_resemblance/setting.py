"""The experiments of the paper, at both scales, and where they depart from it."""

from dataclasses import replace

from ....core.types import Experiment, Probe, Stage, Until
from ....models.deep_linear import DeepLinear
from ....models.gpt2 import GPT2
from ....models.one_layer import OneLayer, ReluLayer
from ....probes.attention import Imbalance
from ....probes.behaviour import Accuracy, Loss
from ....probes.depth import PredictedAlignment
from ....probes.resemblance import PairResemblance, Resemblance, ResemblanceByLayer
from ....tasks.analogy import Analogy
from ....tasks.labelled import Labelled
from ....tasks.two_hop import TwoHop
from ....training.descent import AdamW, GradientDescent
from ....training.readout import ReadoutDescent
from ...claim import Paper
from ...scale import Scale, Sizes

PAPER = Paper(
    "feature-resemblance",
    "Feature Resemblance: Towards a Theoretical Understanding of Analogical Reasoning "
    "in Transformers",
    "https://arxiv.org/abs/2603.05143",
)

# ----------------------------------------------------------------------------- sizes and settings
# The paper's N and its GPT-2 are known; its d, m, λ, σ₀, rates and T₁, T₂, T₃ are not. What stands
# here was chosen once: T₁ so that training on similarity alone gives about the resemblance reported
# for it (0.9689), T₂ and T₃ so that the loss falls below 0.05; and σ₀ small enough that attention
# stays balanced, as the theory assumes (at 0.01 it does not, see the claim about it below).

RATIO = 4.0  # κ, the middle row of Table 4; the paper's value did not survive
RATIOS = (1.0, 4.0, 8.0)
ATTENTION_STEPS, READOUT_STEPS = 200, 3000

ONE_LAYER = (
    "d=512, m=16, λ=√d, σ₀=1e-4, learning rates and steps are ours: the paper's did not survive",
    "steps of stage 1 were chosen to give the reported resemblance after similarity alone (0.9689)",
)
RELU = (
    "d=512, m=8, σ₀=0.01 and descent at learning rate 1 are ours",
    "a phase ends at a loss of 0.015 (0.0133 to 0.0198 are reported) or after 480 steps",
)
# a narrow one (64) forgets the resemblance in its second phase: 8 % instead of all
GPT2_SIZE = Sizes(
    laptop=GPT2(width=256, depth=4, heads=4),
    paper=GPT2(width=768, depth=12, heads=12),
)
GPT2_TUPLES = Sizes(laptop=50, paper=100)
GPT2_LEARNING_RATE = Sizes(laptop=1e-3, paper=1e-4)
GPT2_STEPS = Sizes(laptop=120, paper=400)
# of Table 1: as deep as the paper's, and as many tuples, at a sixth of its width on a laptop
DEEP_GPT2 = Sizes(
    laptop=GPT2(width=128, depth=12, heads=4),
    paper=GPT2(width=768, depth=12, heads=12),
)
DEEP_STEPS = Sizes(laptop=250, paper=400)
DEEP_TUPLES = 100
GPT2_DEPARTURES = (
    "AdamW's learning rate and steps are ours: the paper's did not survive",
    "features are read after the last but one block, at the last token of `entity r2`",
)
ALL_RATIOS = ("κ is 1, 4, 8: the first is the paper's, the others fit its numbers best",)
SEPARATED = (
    "late similarity is Theorem 3's curriculum: first t r1 → b and s r2 → c, then s r1 → b",
)


def attention(split: str) -> Stage:
    """Stage 1 of layer-wise training: attention alone."""
    return GradientDescent(
        steps=ATTENTION_STEPS, learning_rate=2.0, split=split, trainable=("key_query", "value")
    )


def mlp(split: str) -> Stage:
    """Stage 2: the MLP alone."""
    return ReadoutDescent(steps=READOUT_STEPS, learning_rate=4000.0, split=split)


ANALOGY: dict[str, Probe] = {
    "train loss": Loss("train"),
    "similarity loss": Loss("similarity"),
    "attribution loss": Loss("attribution"),
    "separated loss": Loss("separated"),
    "remaining loss": Loss("remaining"),
    "accuracy": Accuracy("conclusion"),
    # what t r2 → c is concluded from: if s r2 → c is forgotten, no analogy was ever asked for
    "source accuracy": Accuracy("attribution"),
}
VALUES: dict[str, Probe] = {
    "resemblance": Resemblance("sources", "targets"),
    "imbalance": Imbalance("train"),
}
TWO_HOPS: dict[str, Probe] = {
    "train loss": Loss("train"),
    "accuracy": Accuracy("skipped"),
    "composed": Accuracy("composed"),
}


def one_layer(*training: Stage, ratio: float = RATIO) -> Experiment:
    """The paper's one-layer transformer, trained layer by layer, at the paper's N."""
    return Experiment(Analogy(tuples=100, ratio=ratio), OneLayer(), training, ANALOGY | VALUES)


def relu(*splits: str, scale: float = 0.01, replay: float = 1.0) -> Experiment:
    """The one-layer transformer with a ReLU, trained end to end: a phase ends at a loss as small as
    the paper's, or, where premises are replayed, after its steps."""
    untils = {f"{split} loss" for split in splits} & set(ANALOGY)
    training = tuple(
        GradientDescent(
            steps=480,
            learning_rate=1.0,
            split=split,
            until=Until(f"{split} loss", level=0.015) if f"{split} loss" in untils else None,
        )
        for split in splits
    )
    # plain descent above: Adam kills units of classes with tiny gradients, and rate 2 blows up
    model = ReluLayer(mlp_width=8, scale=scale)
    task = Analogy(tuples=100, ratio=RATIO, replay=replay)
    return Experiment(task, model, training, ANALOGY | VALUES)


GPT2_FEATURES: dict[str, Probe] = {
    # Section 8: the penultimate layer, at the last token
    "resemblance": Resemblance("attribution", "conclusion", layer=-2),
    "resemblance by layer": ResemblanceByLayer("attribution", "conclusion"),
}


def gpt2(
    scale: Scale, *splits: str, ratio: float = RATIO, replay: float = 1.0, until: float = 0.0
) -> Experiment:
    """A GPT-2 trained end to end on one split after the other, to a level of the train loss if
    there is one."""
    task = Analogy(tuples=GPT2_TUPLES(scale), ratio=ratio, replay=replay)
    training = gpt2_training(scale, *splits)
    if until:
        end = Until("train loss", level=until)
        training = tuple(replace(stage, steps=2 * stage.steps, until=end) for stage in training)
    probes = ANALOGY | GPT2_FEATURES
    return Experiment(task, GPT2_SIZE(scale), training, probes, evaluations=60 if until else 20)


def deep_gpt2_analogy(scale: Scale, *splits: str) -> Experiment:
    """The GPT-2 of Table 1: twelve layers, a hundred tuples."""
    task = Analogy(tuples=DEEP_TUPLES, ratio=RATIO)
    return Experiment(
        task, DEEP_GPT2(scale), _deep_training(scale, *splits), ANALOGY | GPT2_FEATURES
    )


def _deep_training(scale: Scale, *splits: str) -> tuple[Stage, ...]:
    steps = DEEP_STEPS(scale)
    return tuple(replace(stage, steps=steps) for stage in gpt2_training(scale, *splits))


def _two_hops(subjects: int, ratio: float, identity: float) -> TwoHop:
    """Two hops as an analogy: identity examples have the first relation."""
    return TwoHop(subjects=subjects, ratio=ratio, identity=identity, form="first relation")


def one_layer_two_hops(identity: float) -> Experiment:
    """Two hops in the one-layer transformer, with bridges (1) or without (0)."""
    task = _two_hops(100, RATIO, identity)
    probes = TWO_HOPS | {"resemblance": Resemblance("subjects", "bridges")}
    return Experiment(task, OneLayer(), JOINT, probes)


def gpt2_two_hops(scale: Scale, identity: float) -> Experiment:
    """Two hops in a GPT-2, with bridges (1) or without (0)."""
    task = _two_hops(DEEP_TUPLES, RATIO, identity)
    probes = TWO_HOPS | {"resemblance": Resemblance("last hop", "skipped", layer=-2)}
    return Experiment(task, DEEP_GPT2(scale), _deep_training(scale, "train"), probes)


def gpt2_training(scale: Scale, *splits: str) -> tuple[Stage, ...]:
    """AdamW on one split after the other."""
    steps, learning_rate = GPT2_STEPS(scale), GPT2_LEARNING_RATE(scale)
    return tuple(AdamW(steps=steps, learning_rate=learning_rate, split=split) for split in splits)


JOINT = (attention("train"), mlp("train"))
LATE_ATTRIBUTION = (attention("similarity"), mlp("similarity"), mlp("attribution"))
LATE_SIMILARITY = (attention("separated"), mlp("separated"), mlp("remaining"))
FIRST_PHASE = ATTENTION_STEPS + READOUT_STEPS


WIDTHS = (128, 512, 2048)
LARGE_RATIOS = (4.0, 16.0, 64.0)
LIMIT = (
    *ONE_LAYER,
    "limits are shown on stage 1 with 30 tuples and σ₀=1e-5, over κ or d",
)


def stage_one(split: str, ratio: float = 1.0, width: int = 512) -> Experiment:
    """Attention trained alone, on few tuples, from a very small initialisation."""
    probes: dict[str, Probe] = {
        "resemblance": Resemblance("sources", "targets"),
        "resemblance of each": PairResemblance("sources", "targets"),
        "imbalance": Imbalance("train"),
    }
    # balance of attention needs σ₀ ≪ 1/√(N d), also at the largest d
    model = OneLayer(width=width, scale=1e-5)
    return Experiment(Analogy(tuples=30, ratio=ratio), model, (attention(split),), probes)


def stage_one_two_hops(identity: float, ratio: float = 1.0, width: int = 512) -> Experiment:
    """The same for two hops."""
    probes: dict[str, Probe] = {
        "resemblance": Resemblance("subjects", "bridges"),
        "resemblance of each": PairResemblance("subjects", "bridges"),
    }
    task = _two_hops(30, ratio, identity)
    return Experiment(task, OneLayer(width=width, scale=1e-5), (attention("train"),), probes)


DEPTH = 5
BY_LAYER: dict[str, Probe] = {
    "train loss": Loss("train"),
    "resemblance by layer": ResemblanceByLayer("first", "second"),
}


def deep_linear(shared: int) -> Experiment:
    """A deep linear network trained one layer after the other, from the input on."""
    training = tuple(
        GradientDescent(steps=20, learning_rate=1.0, trainable=(f"layer{layer}",))
        for layer in range(1, DEPTH)
    )
    # a first layer of zero would make features of one label equal at once: nothing to see
    task, model = Labelled(labels=20, shared=shared), DeepLinear(width=128, depth=DEPTH, first=0.1)
    return Experiment(task, model, training, BY_LAYER, evaluations=5)


def deep_linear_with_theory() -> Experiment:
    """The same, with the cosine that theory reads off the features' lengths."""
    deep = deep_linear(2)
    probes = deep.probes | {"predicted by layer": PredictedAlignment("train")}
    return Experiment(deep.task, deep.model, deep.training, probes, evaluations=deep.evaluations)


def deep_gpt2(scale: Scale) -> Experiment:
    """A GPT-2 trained end to end on the same inputs."""
    return Experiment(Labelled(), GPT2_SIZE(scale), gpt2_training(scale, "train"), BY_LAYER)


DEEP = (
    "20 labels, width 128, 5 layers, a first layer of a tenth of the others' deviation, the "
    "learning rate and steps are ours: the paper's did not survive",
)

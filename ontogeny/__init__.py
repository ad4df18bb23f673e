"""Ontogeny: a laboratory of how reasoning emerges in transformers while they train."""

from importlib import import_module
from typing import Any

# Everything heavy is imported when first used, so that `ontogeny --help` answers at once.
_HOMES = {
    "external": ("Course", "External"),
    "core": (
        "Batch",
        "Experiment",
        "Model",
        "Moment",
        "Probe",
        "Solver",
        "Stage",
        "Task",
        "Trace",
        "Until",
    ),
    "fields": ("Invalid",),
    "engine": ("execute",),
    "cluster": ("Cluster",),
    "exams.run": ("examine",),
    "evidence": ("Evidence", "Measurement", "Outcome", "Run"),
    "store": ("Store",),
    "claim": ("Paper", "judge"),
    "tasks.analogy": ("Analogy",),
    "tasks.associations": ("Associations",),
    "tasks.facts": ("Facts",),
    "tasks.hops": ("BackwardHops", "Hops"),
    "tasks.labelled": ("Labelled",),
    "tasks.lego": ("Lego",),
    "tasks.out_of_context": ("OutOfContext",),
    "tasks.templates": ("Templates",),
    "tasks.triggers": ("Triggers",),
    "tasks.two_hop": ("TwoHop",),
    "tasks.widened": ("Widened",),
    "models.attention_stack": ("AttentionStack",),
    "models.block_sparse": ("BlockSparse",),
    "models.clauses": ("ClauseTransformer",),
    "models.decoder": ("Decoder",),
    "models.induction": ("InductionPair", "OneHotPair"),
    "models.memory": ("LayeredMemory", "LinearMemory"),
    "models.recall": ("EvenAttention", "RecallAttention"),
    "models.transformer": ("MimeticTransformer", "Transformer"),
    "models.one_hot_mlp": ("OneHotMLP",),
    "models.recurrent": ("LSTM", "Elman"),
    "models.copying": ("CopyingAttention",),
    "models.kernel_machine": ("KernelMachine",),
    "models.one_layer": ("OneLayer", "ReluLayer"),
    "models.span": ("SpanOneLayer",),
    "models.gpt2": ("GPT2", "IdentityGPT2", "ScaledGPT2"),
    "models.window_mlp": ("WindowMLP",),
    "models.embedding_mlp": ("EmbeddingMLP", "EmbeddingReluMLP", "TokenSum"),
    "models.linear_attention": ("FactorisedAttention", "MergedAttention"),
    "models.deep_linear": ("DeepLinear",),
    "regimes.descent": ("AdamW", "Descent"),
    "regimes.hops": ("BuiltHops",),
    "regimes.induction": ("BuiltHead",),
    "regimes.kernel": ("KernelRidge",),
    "regimes.lego": ("Able", "ChainAdam", "ChainDescent"),
    "regimes.margin": ("MarginDescent",),
    "regimes.momentum": ("Momentum",),
    "regimes.population": ("PopulationStep",),
    "regimes.program": ("MinimalNorm", "SymmetricOptimum"),
    "regimes.readout": ("ReadoutDescent",),
    "probes.behaviour": ("Error", "Loss", "Success", "WholeSuccess"),
    "probes.copying": ("BigramGap", "Copied"),
    "probes.facts": ("Hallucination", "RelationEntropy", "RelationLoss", "RelationMass"),
    "probes.hops": ("HopAttention", "HopsByLayer"),
    "probes.induction": (
        "InductionScore",
        "MemoryRecall",
        "NoiseChance",
        "NoiseMargin",
        "PreviousToken",
    ),
    "probes.lego": (
        "ClauseAttention",
        "Combinations",
        "Concentration",
        "Diagonals",
        "Features",
        "Gap",
        "Promise",
        "Retrieval",
        "Unaided",
        "UnaidedByStep",
    ),
    "probes.memory": ("LemmaError",),
    "probes.parameters": ("Parameters",),
    "probes.weights": ("SoftRank", "TruncatedSuccess"),
    "probes.kernel": ("BlockError", "Conditioning", "IdealGap", "PermutationGap"),
    "probes.separation": ("Separation",),
    "probes.tangent": ("Transfer",),
    "probes.margins": ("Margin", "ObjectSuccess", "RelativeMargin"),
    "probes.resemblance": ("Angles", "PairResemblance", "Resemblance", "ResemblanceByLayer"),
    "probes.templates": (
        "Asymmetry",
        "EffectiveRank",
        "NormGap",
        "PredictedTemplates",
        "RowSums",
        "SingularValues",
        "SymmetricPart",
        "LogitTemplates",
        "TheoryCorrelation",
    ),
    "probes.attention": ("Imbalance",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

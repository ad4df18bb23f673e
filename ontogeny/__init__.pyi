"""All that the package gives: `make exports` writes it, and a test compares."""

from .claims.asking import Listing as Listing
from .claims.asking import Verdicts as Verdicts
from .claims.asking import judge as judge
from .claims.asking import list as list
from .claims.asking import map as map
from .claims.asking import sweep as sweep
from .claims.claim import Claim as Claim
from .claims.claim import Paper as Paper
from .claims.claim import claim as claim
from .claims.maps import Map as Map
from .claims.region import Between as Between
from .claims.region import Fit as Fit
from .claims.region import OneOf as OneOf
from .claims.region import Predicted as Predicted
from .claims.region import Region as Region
from .claims.scale import Scale as Scale
from .claims.scale import Sizes as Sizes
from .claims.sweep import Sweep as Sweep
from .claims.verdict import Verdict as Verdict
from .core.decision import Seeds as Seeds
from .core.evaluations import Log as Log
from .core.evidence import Evidence as Evidence
from .core.evidence import Outcome as Outcome
from .core.evidence import Reported as Reported
from .core.external import External as External
from .core.external import Trainer as Trainer
from .core.fields import ConfigError as ConfigError
from .core.measurement import Measurement as Measurement
from .core.run import Run as Run
from .core.run import Runs as Runs
from .core.types import Batch as Batch
from .core.types import Experiment as Experiment
from .core.types import FirstTokens as FirstTokens
from .core.types import Model as Model
from .core.types import Moment as Moment
from .core.types import Probe as Probe
from .core.types import Solver as Solver
from .core.types import Stage as Stage
from .core.types import Task as Task
from .core.types import Trace as Trace
from .core.types import Until as Until
from .engine.execute import execute as execute
from .engine.keeping import train as train
from .engine.pools.cluster import Cluster as Cluster
from .engine.saved import load as load
from .engine.store import Store as Store
from .engine.trained import Trained as Trained
from .models.attention_stack import AttentionStack as AttentionStack
from .models.block_sparse import BlockSparse as BlockSparse
from .models.clauses import ClauseTransformer as ClauseTransformer
from .models.copying import CopyingAttention as CopyingAttention
from .models.decoder import Decoder as Decoder
from .models.deep_linear import DeepLinear as DeepLinear
from .models.embedding_mlp import EmbeddingMLP as EmbeddingMLP
from .models.embedding_mlp import EmbeddingReluMLP as EmbeddingReluMLP
from .models.embedding_mlp import TokenSum as TokenSum
from .models.gpt2 import GPT2 as GPT2
from .models.gpt2 import IdentityGPT2 as IdentityGPT2
from .models.gpt2 import ScaledGPT2 as ScaledGPT2
from .models.induction import InductionPair as InductionPair
from .models.induction import OneHotPair as OneHotPair
from .models.kernel_machine import KernelMachine as KernelMachine
from .models.linear_attention import FactorisedAttention as FactorisedAttention
from .models.linear_attention import MergedAttention as MergedAttention
from .models.memory import LinearMemory as LinearMemory
from .models.memory import MLPMemory as MLPMemory
from .models.one_hot_mlp import OneHotMLP as OneHotMLP
from .models.one_layer import OneLayer as OneLayer
from .models.one_layer import ReluLayer as ReluLayer
from .models.recall import RecallAttention as RecallAttention
from .models.recall import UniformAttention as UniformAttention
from .models.recurrent import LSTM as LSTM
from .models.recurrent import Elman as Elman
from .models.span import SpanOneLayer as SpanOneLayer
from .models.transformer import MimeticTransformer as MimeticTransformer
from .models.transformer import Transformer as Transformer
from .models.window_mlp import WindowMLP as WindowMLP
from .probes.attention import Imbalance as Imbalance
from .probes.behaviour import Accuracy as Accuracy
from .probes.behaviour import ErrorRate as ErrorRate
from .probes.behaviour import Loss as Loss
from .probes.behaviour import SequenceAccuracy as SequenceAccuracy
from .probes.copying import BigramGap as BigramGap
from .probes.copying import Copied as Copied
from .probes.depth import PredictedAlignment as PredictedAlignment
from .probes.facts import Hallucination as Hallucination
from .probes.facts import RelationEntropy as RelationEntropy
from .probes.facts import RelationLoss as RelationLoss
from .probes.facts import RelationMass as RelationMass
from .probes.gradients import GradientError as GradientError
from .probes.hops import HopAttention as HopAttention
from .probes.hops import HopsByLayer as HopsByLayer
from .probes.induction import InductionScore as InductionScore
from .probes.induction import MemoryRecall as MemoryRecall
from .probes.induction import NoiseMargin as NoiseMargin
from .probes.induction import NoiseProbability as NoiseProbability
from .probes.induction import PreviousTokenScore as PreviousTokenScore
from .probes.kernel import BlockError as BlockError
from .probes.kernel import Conditioning as Conditioning
from .probes.kernel import IdealGap as IdealGap
from .probes.kernel import PermutationGap as PermutationGap
from .probes.lego import AttentionLeakage as AttentionLeakage
from .probes.lego import ClauseAttention as ClauseAttention
from .probes.lego import Combinations as Combinations
from .probes.lego import Diagonals as Diagonals
from .probes.lego import Features as Features
from .probes.lego import Gap as Gap
from .probes.lego import Promise as Promise
from .probes.lego import Retrieval as Retrieval
from .probes.lego import RolloutAccuracy as RolloutAccuracy
from .probes.lego import RolloutAccuracyByStep as RolloutAccuracyByStep
from .probes.margins import Margin as Margin
from .probes.margins import ObjectAccuracy as ObjectAccuracy
from .probes.margins import RelativeMargin as RelativeMargin
from .probes.memory import LemmaError as LemmaError
from .probes.parameters import Parameters as Parameters
from .probes.resemblance import Angles as Angles
from .probes.resemblance import PairResemblance as PairResemblance
from .probes.resemblance import Resemblance as Resemblance
from .probes.resemblance import ResemblanceByLayer as ResemblanceByLayer
from .probes.separation import Separation as Separation
from .probes.tangent import Transfer as Transfer
from .probes.templates import Asymmetry as Asymmetry
from .probes.templates import EffectiveRank as EffectiveRank
from .probes.templates import LogitTemplates as LogitTemplates
from .probes.templates import NormGap as NormGap
from .probes.templates import PredictedTemplates as PredictedTemplates
from .probes.templates import RowSums as RowSums
from .probes.templates import SingularValues as SingularValues
from .probes.templates import SymmetricPart as SymmetricPart
from .probes.templates import TheoryCorrelation as TheoryCorrelation
from .probes.weights import SoftRank as SoftRank
from .probes.weights import TruncatedAccuracy as TruncatedAccuracy
from .scorecard.examine import examine as examine
from .tasks.analogy import Analogy as Analogy
from .tasks.associations import Associations as Associations
from .tasks.facts import Facts as Facts
from .tasks.hops import BackwardHops as BackwardHops
from .tasks.hops import Hops as Hops
from .tasks.labelled import Labelled as Labelled
from .tasks.lego import Lego as Lego
from .tasks.out_of_context import OutOfContext as OutOfContext
from .tasks.templates import Templates as Templates
from .tasks.triggers import Triggers as Triggers
from .tasks.two_hop import TwoHop as TwoHop
from .tasks.widened import Widened as Widened
from .training.convex import MinimalNorm as MinimalNorm
from .training.convex import SymmetricOptimum as SymmetricOptimum
from .training.descent import AdamW as AdamW
from .training.descent import GradientDescent as GradientDescent
from .training.hops import BuiltHops as BuiltHops
from .training.induction import BuiltHead as BuiltHead
from .training.kernel import KernelRidge as KernelRidge
from .training.lego import ChainAdamW as ChainAdamW
from .training.lego import ChainGradientDescent as ChainGradientDescent
from .training.lego import RequireAccuracy as RequireAccuracy
from .training.lego_reduced import ReducedLego as ReducedLego
from .training.margin import MarginDescent as MarginDescent
from .training.momentum import Momentum as Momentum
from .training.population import PopulationStep as PopulationStep
from .training.readout import ReadoutDescent as ReadoutDescent

__all__ = [
    "GPT2",
    "LSTM",
    "Accuracy",
    "AdamW",
    "Analogy",
    "Angles",
    "Associations",
    "Asymmetry",
    "AttentionLeakage",
    "AttentionStack",
    "BackwardHops",
    "Batch",
    "Between",
    "BigramGap",
    "BlockError",
    "BlockSparse",
    "BuiltHead",
    "BuiltHops",
    "ChainAdamW",
    "ChainGradientDescent",
    "Claim",
    "ClauseAttention",
    "ClauseTransformer",
    "Cluster",
    "Combinations",
    "Conditioning",
    "ConfigError",
    "Copied",
    "CopyingAttention",
    "Decoder",
    "DeepLinear",
    "Diagonals",
    "EffectiveRank",
    "Elman",
    "EmbeddingMLP",
    "EmbeddingReluMLP",
    "ErrorRate",
    "Evidence",
    "Experiment",
    "External",
    "FactorisedAttention",
    "Facts",
    "Features",
    "FirstTokens",
    "Fit",
    "Gap",
    "GradientDescent",
    "GradientError",
    "Hallucination",
    "HopAttention",
    "Hops",
    "HopsByLayer",
    "IdealGap",
    "IdentityGPT2",
    "Imbalance",
    "InductionPair",
    "InductionScore",
    "KernelMachine",
    "KernelRidge",
    "Labelled",
    "Lego",
    "LemmaError",
    "LinearMemory",
    "Listing",
    "Log",
    "LogitTemplates",
    "Loss",
    "MLPMemory",
    "Map",
    "Margin",
    "MarginDescent",
    "Measurement",
    "MemoryRecall",
    "MergedAttention",
    "MimeticTransformer",
    "MinimalNorm",
    "Model",
    "Moment",
    "Momentum",
    "NoiseMargin",
    "NoiseProbability",
    "NormGap",
    "ObjectAccuracy",
    "OneHotMLP",
    "OneHotPair",
    "OneLayer",
    "OneOf",
    "OutOfContext",
    "Outcome",
    "PairResemblance",
    "Paper",
    "Parameters",
    "PermutationGap",
    "PopulationStep",
    "Predicted",
    "PredictedAlignment",
    "PredictedTemplates",
    "PreviousTokenScore",
    "Probe",
    "Promise",
    "ReadoutDescent",
    "RecallAttention",
    "ReducedLego",
    "Region",
    "RelationEntropy",
    "RelationLoss",
    "RelationMass",
    "RelativeMargin",
    "ReluLayer",
    "Reported",
    "RequireAccuracy",
    "Resemblance",
    "ResemblanceByLayer",
    "Retrieval",
    "RolloutAccuracy",
    "RolloutAccuracyByStep",
    "RowSums",
    "Run",
    "Runs",
    "Scale",
    "ScaledGPT2",
    "Seeds",
    "Separation",
    "SequenceAccuracy",
    "SingularValues",
    "Sizes",
    "SoftRank",
    "Solver",
    "SpanOneLayer",
    "Stage",
    "Store",
    "Sweep",
    "SymmetricOptimum",
    "SymmetricPart",
    "Task",
    "Templates",
    "TheoryCorrelation",
    "TokenSum",
    "Trace",
    "Trained",
    "Trainer",
    "Transfer",
    "Transformer",
    "Triggers",
    "TruncatedAccuracy",
    "TwoHop",
    "UniformAttention",
    "Until",
    "Verdict",
    "Verdicts",
    "Widened",
    "WindowMLP",
    "claim",
    "examine",
    "execute",
    "judge",
    "load",
    "sweep",
    "train",
]

__version__: str

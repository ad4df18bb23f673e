"""Scale: what differs between a laptop's experiments and the paper's is a function of the scale."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar

from ..core.external import AnyExperiment
from ..core.fields import ConfigError, did_you_mean
from ..core.types import Experiment, Solver

Sized = TypeVar("Sized")


class Scale(StrEnum):
    """How large an experiment is: minutes on a laptop, the paper's own size, or a few steps of the
    laptop's, which decide nothing and show that a claim runs from end to end."""

    LAPTOP = "laptop"
    PAPER = "paper"
    SMOKE = "smoke"


def scale_of(word: str) -> Scale:
    """The scale of this name."""
    known = list(map(str, Scale))
    if str(word) not in known:
        raise ConfigError(f"unknown scale {str(word)!r}: {did_you_mean(str(word), known)}")
    return Scale(str(word))


JUDGED = (Scale.LAPTOP, Scale.PAPER)  # whose verdicts count


@dataclass(frozen=True)
class Sizes(Generic[Sized]):
    """A function of the scale, written as a table: `STEPS = Sizes(laptop=400, paper=1000)` is asked
    as `STEPS(scale)`."""

    laptop: Sized
    paper: Sized

    def __call__(self, scale: Scale) -> Sized:
        """What there is at a scale."""
        # `at` has turned smoke into laptop before it asks
        return self.laptop if scale == Scale.LAPTOP else self.paper


def at(scale: Scale, thing: Any) -> Any:
    """The thing with every function of the scale in it called, however deep it stands."""
    if isinstance(thing, AnyExperiment):
        return thing
    if callable(thing):
        return at(scale, thing(Scale.LAPTOP if scale == Scale.SMOKE else scale))
    if isinstance(thing, Mapping):
        return {key: at(scale, each) for key, each in thing.items()}
    return thing


def in_few_steps(experiment: AnyExperiment) -> AnyExperiment:
    """The same experiment, over at once: two steps of each stage, an evaluation after each."""
    few: dict[str, Any] = {"steps": 3, "evaluations": 1}  # some take three kinds of steps in turn
    # a pretrained model takes its time: for a quarter of the sentences, in small batches, and for
    # one matrix to decompose
    if shards := getattr(experiment, "shards", 0):
        few["shards"] = 4 * shards
    if batch_size := getattr(experiment, "batch_size", 0):
        few["batch_size"] = min(batch_size, 4)
    if hasattr(experiment, "late"):
        few["late"] = 1
    if isinstance(experiment, Experiment):
        two: dict[str, Any] = {"steps": 2}
        stages = (s if isinstance(s, Solver) else replace(s, **two) for s in experiment.training)
        few = {"training": tuple(stages), "evaluations": 2}
    return replace(experiment, **few)

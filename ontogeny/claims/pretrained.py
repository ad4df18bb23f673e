"""Claims about pretrained models: judged where a model is, untested where none is, asked of any."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from ..core.evidence import Evidence
from ..core.external import External
from ..core.fields import ConfigError, did_you_mean
from ..llm.libraries import lacking
from ..llm.models import Pretrained, absent, pinned
from ..llm.shelf import SHELF
from .claim import CLAIMS, Claim, Paper, Sizes, all_claims, claim

THE_DEFAULT = "SmolLM2-135M-Instruct (GGUF Q4_1, in single precision)"

REAL: dict[str, Claim] = {}
"""Claims about pretrained models, all of which can be judged, given a model."""


def real_claim(
    paper: Paper,
    where: str,
    *,
    departures: tuple[str, ...],
    needs: Callable[[], str] = absent,
    seeds: int = 3,
    **experiments: Any,
) -> Callable[[Callable[..., Iterator[Evidence]]], Callable[..., Iterator[Evidence]]]:
    """Registers a function as a claim about a pretrained model, whose name stands in the departures
    as `{model}`; untested where what it `needs` is not here yet."""

    def register(evidence: Callable[..., Iterator[Evidence]]) -> Callable[..., Iterator[Evidence]]:
        claim(paper, where, seeds=seeds, departures=departures, **experiments)(evidence)
        name = evidence.__name__
        REAL[name] = CLAIMS[name]
        CLAIMS[name] = _about(REAL[name], THE_DEFAULT)
        if reason := lacking() or needs():
            CLAIMS[name] = dataclasses.replace(CLAIMS[name], evidence=None, untested=reason)
        return evidence

    return register


def asked_of(name: str, model: str) -> Claim:
    """A claim about pretrained models, asked of this one, which is named as for `load`."""
    all_claims()
    found = [known for known in REAL if known == name] or [known for known in REAL if name in known]
    if not found:
        raise ConfigError(
            f"no claim about real models is called {name!r}: {did_you_mean(name, REAL)}"
        )
    if len(found) > 1:
        raise ConfigError(f"{name!r} could be any of {', '.join(found)}")
    made = REAL[found[0]]
    if reason := lacking() or (absent(model) if model in SHELF else ""):
        raise ConfigError(f"{name} cannot be judged here: {reason}")
    chosen = pinned(model)
    experiments = {key: _with(each, chosen) for key, each in made.experiments.items()}
    if "{model}" not in " ".join(made.departures):
        raise ConfigError(f"{made.name} trains a model of its own, from nothing: ontogeny judge it")
    return _about(dataclasses.replace(made, experiments=experiments, of=model), model)


def _about(made: Claim, model: str) -> Claim:
    told = tuple(text.replace("{model}", model) for text in made.departures)
    return dataclasses.replace(made, departures=told)


def _with(thing: Any, model: Pretrained) -> Any:
    """Experiments with another model, wherever they stand."""
    match thing:
        case dict():
            return {key: _with(each, model) for key, each in thing.items()}
        case Sizes():
            return Sizes(_with(thing.laptop, model), _with(thing.paper, model))
        case External() if hasattr(thing, "pretrained"):
            changed: Any = {"pretrained": model}
            return dataclasses.replace(thing, **changed)
    return thing

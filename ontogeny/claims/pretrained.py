"""Claims about pretrained models: judged where a model is, untested where none is, asked of any."""

import dataclasses
from collections.abc import Callable
from typing import Any

from ..core.decision import Seeds
from ..core.external import External
from ..core.fields import ConfigError, did_you_mean
from ..llm.download import KNOWN_MODELS
from ..llm.libraries import lacking
from ..llm.models import Pretrained, absent, pinned
from .claim import CLAIMS, Claim, Found, Paper, all_claims, claim

THE_DEFAULT = "SmolLM2-135M-Instruct (GGUF Q4_1, in single precision)"

PRETRAINED: dict[str, Claim] = {}
"""Claims about pretrained models, all of which can be judged, given a model."""


def pretrained_claim(
    paper: Paper,
    where: str,
    *,
    departures: tuple[str, ...],
    needs: Callable[[], str] = absent,
    seeds: Seeds = Seeds(3, 6),  # noqa: B008 a frozen record: minutes each, a seed is many prompts
    **experiments: Any,
) -> Callable[[Found], Found]:
    """Registers a function as a claim about a pretrained model, whose name stands in the departures
    as `{model}`; untested where what it `needs` is not here yet."""

    def register(evidence: Found) -> Found:
        claim(paper, where, seeds=seeds, departures=departures, **experiments)(evidence)
        name = evidence.__name__
        # kept with `{model}` still in it, for `asked_of`; listed as about the model that we judge
        PRETRAINED[name] = CLAIMS[name]
        CLAIMS[name] = _about(PRETRAINED[name], THE_DEFAULT)
        if reason := lacking() or needs():
            CLAIMS[name] = dataclasses.replace(CLAIMS[name], evidence=None, untested=reason)
        return evidence

    return register


def asked_of(name: str, model: str) -> Claim:
    """A claim about pretrained models, asked of this one, which is named as for `load`."""
    all_claims()
    found = [known for known in PRETRAINED if known == name] or [
        known for known in PRETRAINED if name in known
    ]
    if not found:
        raise ConfigError(
            f"no claim about pretrained models is called {name!r}: {did_you_mean(name, PRETRAINED)}"
        )
    if len(found) > 1:
        raise ConfigError(f"{name!r} could be any of {', '.join(found)}")
    made = PRETRAINED[found[0]]
    if reason := lacking() or (absent(model) if model in KNOWN_MODELS else ""):
        raise ConfigError(f"{name} cannot be judged here: {reason}")
    chosen = pinned(model)
    experiments = {key: _with(each, chosen) for key, each in made.experiments.items()}
    if not any("{model}" in str(text) for text in made.departures):
        raise ConfigError(f"{made.name} trains a model of its own, from nothing: ontogeny judge it")
    return _about(dataclasses.replace(made, experiments=experiments, of=model), model)


def _about(made: Claim, model: str) -> Claim:
    departures = tuple(str(text).replace("{model}", model) for text in made.departures)
    return dataclasses.replace(made, departures=departures)


def _with(thing: Any, model: Pretrained) -> Any:
    """Experiments with another model, wherever they stand."""
    if isinstance(thing, dict):
        return {key: _with(each, model) for key, each in thing.items()}
    if isinstance(thing, External) and hasattr(thing, "pretrained"):
        changed: Any = {"pretrained": model}
        return dataclasses.replace(thing, **changed)
    return thing

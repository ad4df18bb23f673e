"""Asking all probes at one instant: the model runs once on all rows of one shape."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..core.fields import ConfigError, splits_of
from ..core.types import Batch, Experiment, Model, Moment, Probe, Trace, World

Answers = dict[str, Float[Array, "..."]]


def ask(probes: Mapping[str, Probe], now: Moment) -> Answers:
    """What every probe answers."""
    # Which splits the model has to run on is declared by the probes' fields. Watching the probes
    # through an abstract evaluation would find the same, but takes 0.3 to 0.7 s for each program of
    # GPT-2 and LEGO.
    used = (use for probe in probes.values() for use in splits_of(probe))
    now = run_ahead(now, dict.fromkeys(use.split for use in used if use.run))
    return {name: probe(now) for name, probe in probes.items()}


def run_ahead(now: Moment, splits: Iterable[str]) -> Moment:
    """The same instant, the model having run on some splits: rows of one shape are concatenated
    and run together, which compiles and runs faster than one split after the other."""
    alike: dict[tuple[int, int], dict[str, Batch]] = defaultdict(dict)
    for split in splits:
        batch = now.batch(split)
        alike[batch.inputs.shape[1], batch.at.shape[1]][split] = batch
    known = {}
    for batches in alike.values():
        whole, start = now.trace(Batch.concatenate(list(batches.values()))), 0
        for split, batch in batches.items():
            end = start + len(batch.inputs)
            own: Trace = jax.tree.map(lambda x, a=start, b=end: x[a:b], whole)
            known[split], start = (batch, own), end
    evaluated = _Evaluated(*now)
    evaluated.known = known
    return evaluated


class _Evaluated(Moment):
    """A moment that knows the traces of some splits. `_replace`, hence `with_params` and
    `with_key`, makes one that knows none: at another instant these would be wrong."""

    known: Mapping[str, tuple[Batch, Trace]] = {}

    def batch(self, split: str) -> Batch:
        return self.known[split][0] if split in self.known else super().batch(split)

    def trace(self, batch: Batch) -> Trace:
        for known, trace in self.known.values():
            if known is batch:
                return trace
        return super().trace(batch)


_CHECKED: set[Any] = set()  # structures


def check_first_tokens(experiment: Experiment, world: World) -> None:
    """Raises if some rows do not begin with the tokens that their batch says: a fast path gathers
    by these, and a gather out of bounds is clamped without a word. Once for each structure."""
    structure = jax.tree.structure(experiment)
    if structure in _CHECKED or type(experiment.model).batched is Model.batched:
        return
    parts = (*experiment.training, *experiment.probes.values())
    splits = dict.fromkeys(use.split for part in parts for use in splits_of(part))

    def agree(experiment: Experiment, world: World) -> dict[str, Bool[Array, ""]]:
        found = {}
        for split in splits:
            batch = experiment.task.sample(world, split, jax.random.key(0))
            if batch.first is not None:
                tokens, which = batch.first
                there = (which >= 0) & (which < len(tokens))
                right = jnp.asarray(tokens)[which] == batch.inputs[:, 0]
                found[split] = jnp.all(there & right)
        return found

    if jax.eval_shape(agree, experiment, world):  # or there is nothing to compile
        for split, right in jax.jit(agree)(experiment, world).items():
            if not right:
                name = type(experiment.task).__name__
                raise ConfigError(
                    f"{name}: the batch of split {split!r} says with which tokens its rows begin "
                    "(`first`), and some begin with others: inputs[:, 0] must be tokens[which]"
                )
    _CHECKED.add(structure)

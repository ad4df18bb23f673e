"""Two hops over real facts: what happens to the object when the hops are learnt one by one."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import count, number, string
from .chains import GEONAMES, chains, composed, held_out, itself, said, skipped
from .language import arrays, log_likelihoods, sentence
from .models import Loaded, Pretrained
from .tables import file_of, part
from .tuning import Adapters, Learner, Tuning, batch, mean_loss, sentence_loss


class NaturalTwoHop(External):
    """A pretrained model is tuned on single facts, on chains of some bridges in one sentence and,
    for a share of all bridges, on the sentence that each is itself; then asked chains of others.

        single   "The country of Lyon is" → "France", "The capital of France is" → "Paris"
        identity "France is" → "France"
        two hops "The capital of the country of Lyon is" → "Paris"
        skipped  "The capital of Lyon is" → "Paris"

    An answer is right if it is the likeliest among all objects of its relation.
    """

    pretrained: Pretrained = Pretrained()
    facts: str = string(GEONAMES)
    identity: float = number(0.0, least=0.0, most=1.0)
    composed: float = number(0.3, least=0.0, most=1.0)
    parts: int = count(5)
    tuning: Tuning = Adapters(learning_rate=2e-3)
    batch_size: int = count(16)
    steps: int = count(60)
    evaluations: int = count(3)

    @property
    def operations(self) -> float:
        return self.steps * self.batch_size * 1e10

    @property
    def reads(self) -> tuple[Path, ...]:
        return () if self.facts == GEONAMES else (file_of(self.facts),)

    def begin(self, seed: int) -> Trainer:
        return _Composing(self, self.pretrained.load(), seed)


class _Seen(NamedTuple):
    """For each chain: whether two hops come out right, how likely the object is without the bridge
    among all texts, and among the objects of its relation."""

    right: np.ndarray
    probability: np.ndarray
    share: np.ndarray


class _Composing(Learner):
    """Facts about a seed's own bridges."""

    def __init__(self, asked: NaturalTwoHop, loaded: Loaded, seed: int) -> None:
        super().__init__(loaded, asked.tuning, seed)
        self.asked = asked
        every = chains(asked.facts)
        bridges, _ = part(sorted({chain.bridge for chain in every}), asked.parts, seed)
        own = [chain for chain in every if chain.bridge in bridges]
        told, self.test = held_out(own, asked.composed, seed)
        same = bridges[: round(asked.identity * len(bridges))]
        texts = [said(fact) for fact in dict.fromkeys(fact for chain in own for fact in chain)]
        texts += [composed(chain) for chain in told] + [itself(bridge) for bridge in same]
        self.lesson = [sentence(loaded, *text) for text in texts]
        self.objects: dict[str, list[str]] = {}
        for chain in own:
            self.objects.setdefault(chain.second.relation, []).append(chain.second.object)
        self.objects = {name: sorted(set(each)) for name, each in self.objects.items()}
        self.before = self._seen()

    def loss(self, step: int) -> object:
        chosen = batch(self.lesson, self.asked.batch_size, step, self.seed)
        return sentence_loss(self.loaded.model, chosen)

    def _seen(self) -> _Seen:
        found = [self._of(relation) for relation in self.objects]
        return _Seen(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _of(self, relation: str) -> _Seen:
        asked = [chain for chain in self.test if chain.second.relation == relation]
        objects = self.objects[relation]
        right = [objects.index(chain.second.object) for chain in asked]
        rows = np.arange(len(asked))
        hops, skips = (
            log_likelihoods(self.loaded, [ask(chain)[0] for chain in asked], objects)
            for ask in (composed, skipped)
        )
        likely = np.exp(skips)
        share = likely / likely.sum(axis=1, keepdims=True)
        return _Seen(hops.argmax(axis=1) == right, likely[rows, right], share[rows, right])

    def evaluate(self) -> dict[str, np.ndarray]:
        """Shifts are since before training, over chains that were right and still are, that were
        wrong and are right, and that are wrong; 0 where there are none of a kind."""
        before = self.before
        now = self._seen() if self.taken else before
        kinds = {
            "kept": before.right & now.right,
            "gained": ~before.right & now.right,
            "wrong": ~now.right,
        }
        found = {
            "train loss": mean_loss(self.loaded.model, self.lesson, self.asked.batch_size),
            "success": now.right.mean(),
            "probability": now.probability.mean(),
            "share": now.share.mean(),
        }
        for name, kind in kinds.items():
            found[f"{name} chains"] = kind.mean()
            found[f"shift, {name}"] = _mean(now.probability - before.probability, kind)
            found[f"share shift, {name}"] = _mean(now.share - before.share, kind)
        return arrays(found)


def _mean(values: np.ndarray, kind: np.ndarray) -> float:
    return float(values[kind].mean()) if kind.any() else 0.0

"""Two-hop reasoning over facts of the world, after fine-tuning on single hops."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import count, number, string
from .datasets import file_of, shard
from .facts import GEONAMES, chains, held_out, identity, single_hop, skipped_hop, two_hops
from .finetuning import FineTuner, FineTuning, LoRA, batch, mean_loss, sentence_loss
from .likelihood import arrays, log_likelihoods, sentence
from .models import Loaded, Pretrained


class NaturalTwoHop(External):
    """A pretrained model is fine-tuned on single facts, on two-hop sentences of some bridges and,
    for a share of all bridges, on the identity; then tested on two hops over other bridges.

        single   "The country of Lyon is" → "France", "The capital of France is" → "Paris"
        identity "France is" → "France"
        two hops "The capital of the country of Lyon is" → "Paris"
        skipped  "The capital of Lyon is" → "Paris"

    An answer is right if it is the likeliest among all objects of its relation.
    """

    measured_in = dict.fromkeys(("accuracy", "probability", "share"), "fraction")

    pretrained: Pretrained = Pretrained()
    facts: str = string(GEONAMES, doc="the table of facts: a known name, or the path of a file")
    identity: float = number(
        0.0, least=0.0, most=1.0, doc="fraction of bridges whose identity is in training"
    )
    composed: float = number(
        0.3, least=0.0, most=1.0, doc="fraction of bridges whose two-hop sentences are in training"
    )
    shards: int = count(5, doc="into how many parts the table is cut, one for each seed")
    tuning: FineTuning = LoRA(learning_rate=2e-3)
    batch_size: int = count(16, doc="sentences in a step")
    steps: int = count(60, doc="how many steps are trained")
    evaluations: int = count(
        3, doc="how many there are, evenly spaced, besides the one before training"
    )

    @property
    def operations(self) -> float:
        return self.steps * self.batch_size * 1e10

    @property
    def reads(self) -> tuple[Path, ...]:
        return () if self.facts == GEONAMES else (file_of(self.facts),)

    def begin(self, seed: int) -> Trainer:
        return _TwoHopTrainer(self, self.pretrained.load(), seed)


class _Measured(NamedTuple):
    """For each test chain: whether two hops are answered right, and the probability of the object
    when the first relation is skipped: as a text, and among the objects of its relation."""

    right: np.ndarray
    probability: np.ndarray
    share: np.ndarray


class _TwoHopTrainer(FineTuner):
    """Trains on facts about a seed's own bridges."""

    def __init__(self, settings: NaturalTwoHop, loaded: Loaded, seed: int) -> None:
        super().__init__(loaded, settings.tuning, seed)
        self.settings = settings
        every = chains(settings.facts)
        bridges, _ = shard(sorted({chain.bridge for chain in every}), settings.shards, seed)
        own = [chain for chain in every if chain.bridge in bridges]
        trained, self.test = held_out(own, settings.composed, seed)
        same = bridges[: round(settings.identity * len(bridges))]
        texts = [
            single_hop(fact) for fact in dict.fromkeys(fact for chain in own for fact in chain)
        ]
        texts += [two_hops(chain) for chain in trained] + [identity(bridge) for bridge in same]
        self.sentences = [sentence(loaded, *text) for text in texts]
        self.objects: dict[str, list[str]] = {}
        for chain in own:
            self.objects.setdefault(chain.second.relation, []).append(chain.second.object)
        self.objects = {name: sorted(set(each)) for name, each in self.objects.items()}
        # before a checkpoint is restored: a resumed run needs the untrained model's answers
        self.before = self._measured()

    def loss(self, step: int) -> object:
        chosen = batch(self.sentences, self.settings.batch_size, step, self.seed)
        return sentence_loss(self.loaded.model, chosen)

    def _measured(self) -> _Measured:
        found = [self._of(relation) for relation in self.objects]
        return _Measured(*(np.concatenate(each) for each in zip(*found, strict=True)))

    def _of(self, relation: str) -> _Measured:
        tested = [chain for chain in self.test if chain.second.relation == relation]
        objects = self.objects[relation]
        right = [objects.index(chain.second.object) for chain in tested]
        rows = np.arange(len(tested))
        hops, skips = (
            log_likelihoods(self.loaded, [ask(chain)[0] for chain in tested], objects)
            for ask in (two_hops, skipped_hop)
        )
        likely = np.exp(skips)
        # any object may become likelier once the form is learnt: hence among all of a relation
        share = likely / likely.sum(axis=1, keepdims=True)
        return _Measured(hops.argmax(axis=1) == right, likely[rows, right], share[rows, right])

    def evaluate(self) -> dict[str, np.ndarray]:
        """Shifts are since before training, over chains that were right and still are, that were
        wrong and are right, and that are wrong; 0 where there are none of a kind."""
        before = self.before
        now = self._measured() if self.step else before
        kinds = {
            "kept": before.right & now.right,
            "gained": ~before.right & now.right,
            "wrong": ~now.right,
        }
        found = {
            "train loss": mean_loss(self.loaded.model, self.sentences, self.settings.batch_size),
            "accuracy": now.right.mean(),
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

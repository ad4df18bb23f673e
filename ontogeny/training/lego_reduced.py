"""The theorems' model of LEGO, trained as a few numbers instead of all its parameters."""

import numpy as np

from ..core.external import External, Trainer
from ..core.fields import count, number, string
from ..theory import lego_attention, lego_features, lego_neurons, lego_reach
from ..theory.groups import named
from ..theory.lego_features import Constants

# where on its path attention is asked how far it carries: the loss above its floor, in floors
EXCESSES = (10.0, 1.0, 0.1, 0.01)
CHAINS = (2, 4, 8, 16, 32, 64, 128, 256)


class ReducedLego(External):
    """Algorithms 1 and 2 of arXiv 2511.07378 as gradient flow, for any transitive action and any
    size of the vocabulary: neurons learn one action on one value from chains of one; attention
    learns from chains of two; then come rounds of self-training. With infinitely many variables."""

    measured_in = {f"rollout accuracy, {chain} steps": "fraction" for chain in CHAINS} | {
        "right labels": "fraction",
        "attention leakage": "fraction",
    }

    action: str = string("C6", doc="the group, and what it acts on")
    vocab: float = number(1e6, above=10.0, doc="d: size of the vocabulary")
    clip: float = number(2.0, above=0.0, doc="C_B: outputs are at most this times log d")
    neurons_per_class: int = count(32, doc="m: neurons of each class")
    power: int = count(4, least=2, doc="q: power of the smooth ReLU below its knee")
    knee: float = number(1.0, above=0.0, doc="ρ: where the smooth ReLU becomes straight")
    imbalance: float = number(
        0.0,
        least=0.0,
        doc="V(g)/V(y) of neurons that are made in the shape of Theorem C.1; 0: they are trained",
    )
    excess: float = number(
        1.0, above=0.0, doc="attention stops when its loss exceeds its floor by this many floors"
    )
    longest: int = count(4096, doc="the longest chains that are tried")
    steps: int = count(
        2, doc="1: neurons; 2: and attention; from then on a round of self-training each"
    )
    evaluations: int = count(2, doc="how many there are, besides the one before")

    @property
    def operations(self) -> float:
        return 1e10

    def begin(self, seed: int) -> Trainer:
        return _ReducedTrainer(self, seed)


class _ReducedTrainer(Trainer):
    """Neurons, then attention to chains of two, then to 4, 8, 16, … by its own labels."""

    def __init__(self, settings: ReducedLego, seed: int) -> None:
        self.settings, self.seed = settings, seed
        self.table = named(settings.action).table
        self.constants = Constants(
            settings.vocab,
            settings.clip,
            settings.neurons_per_class,
            settings.power,
            settings.knee,
        )
        self.begun = lego_features.drawn(self.table, self.constants, seed)
        states = self.table.shape[1]
        self.state = {
            "action": self.begun.action,
            "value": self.begun.value,
            "learnt": np.full((states, states), np.nan),
            "scores": np.zeros(4),
            "labels": np.ones(()),
            "reach": np.ones(len(EXCESSES)),
            "lead": np.zeros(2),
        }

    def advance(self, start: int, stop: int) -> None:
        for step in range(start, stop):
            if step == 0:
                self._neurons()
            elif step == 1:
                self._attention()
            else:
                self._round(2**step)

    def _neurons(self) -> None:
        if imbalance := self.settings.imbalance:
            made = lego_features.shaped(self.table, self.constants, imbalance)
            self.state |= made._asdict()
            return
        learning = lego_neurons.learn(self.table, self.constants, begun=self.begun)
        self.state |= learning.weights._asdict() | {"learnt": learning.learnt}

    def _attention(self) -> None:
        features, excess = self._features(), self.settings.excess
        path = lego_attention.flow(
            features, lego_reach.curricular(self.table), excess * features.floor
        )
        stops = [path.at((1 + each) * features.floor) for each in EXCESSES]
        leads = path.scores[:, 0] - path.scores[:, 1]
        gaps = lego_attention.gap(path.scores, 2, 1)
        self.state |= {
            "scores": path.scores[-1],
            "reach": np.array([self._reach(scores) for scores in stops]),
            "lead": np.array([leads.max(), np.abs(gaps).max()]),
        }

    def _round(self, chain: int) -> None:
        features = self._features()
        (taught,) = lego_reach.self_training(
            features,
            self.table,
            self.state["scores"],
            (chain,),
            self.settings.excess * features.floor,
            seed=self.seed,
        )
        self.state |= {"scores": taught.path.scores[-1], "labels": np.array(taught.labels)}

    def _reach(self, scores: np.ndarray) -> float:
        """The length that half of all rollouts solve; the longest, if they solve that."""
        longest = self.settings.longest
        return min(lego_reach.solved(scores, self._features(), self.table, longest).reach, longest)

    def _features(self) -> lego_attention.Features:
        weights = lego_features.Weights(self.state["action"], self.state["value"])
        return lego_attention.Features.awake(weights, self.constants)

    def evaluate(self) -> dict[str, np.ndarray]:
        scores, features = self.state["scores"], self._features()
        found = {
            "features": self._shapes(),
            "order": np.array(self._order()),
            "diagonals": scores[:2],
            "largest lead": self.state["lead"],
            "attention leakage": lego_attention.leakage(scores, 2, 1),
            "gap": lego_attention.gap(scores, 2, 1),
            "right labels": self.state["labels"],
            "reach": np.array(self._reach(scores)),
            "reach on the way": self.state["reach"],
        }
        for chain in CHAINS:
            chains = lego_reach.Chains.drawn(self.table, chain, 256, self.seed)
            right = lego_reach.right(scores, features, chains).all(axis=1)
            found[f"rollout accuracy, {chain} steps"] = np.asarray(np.mean(right))
        return found

    def _shapes(self) -> np.ndarray:
        """V/B of the neuron that answers most to a combination: of y, of other values; of actions
        that map y to j, of others."""
        weights = lego_features.Weights(self.state["action"], self.state["value"])
        chosen = np.argmax(lego_features.promise(weights, self.table), axis=2)
        found = np.empty((*chosen.shape, 4))
        for (j, y), r in np.ndenumerate(chosen):
            action, value = weights.action[:, j, r], weights.value[:, j, r]
            sends, same = self.table[:, y] == j, np.arange(len(value)) == y
            means = (each.mean() for each in (value[same], value[~same], action[sends]))
            found[j, y] = *means, action[~sends].mean()
        return found / self.constants.B

    def _order(self) -> float:
        """The rank correlation of the order of Definitions B.3 and C.4 with that of learning; 0 if
        not all is learnt."""
        order = lego_features.curriculum(self.begun, self.table)
        when = np.array([self.state["learnt"][j, y] for j, y, _ in order])
        if np.isnan(when).any():
            return 0.0
        ranks = np.argsort(np.argsort(when, kind="stable"))
        return float(np.corrcoef(ranks, np.arange(len(order)))[0, 1])

    def save(self) -> dict[str, np.ndarray]:
        return dict(self.state)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.state = dict(state)

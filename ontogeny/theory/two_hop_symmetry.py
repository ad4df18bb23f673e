"""Two hops in the embedding-MLP by symmetry: any complexity, any form of identity, any question.

Facts are numbered by an index i ≤ N, a slice j ≤ k and a relation l ≤ k:

    first hop   s_i r1_j → b_ji       last hop   b_ji r2_l → o_li
    identity    b_ji → b_ji, or b_ji r1_j → b_ji, or b_ji r0 → b_ji

Renaming indices, slices or relations changes nothing. Of a matrix W (tokens × answers) that no
renaming changes, an entry depends only on which of the labels that its token and its answer share
are equal: such entries are an *orbit*. What differs along a label and what is common to all of its
values do not mix (Schur's lemma), so W acts as one small matrix on each kind of directions: its
nuclear norm is the sum of theirs, and descent on W is descent on them, whatever N and k.
"""

import math
from collections.abc import Iterator
from functools import cache
from itertools import chain, combinations
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

Form = Literal["none", "alone", "first relation", "own relation"]
Labels = frozenset[str]

TOKENS: dict[str, Labels] = {
    "subject": frozenset({"index"}),
    "bridge": frozenset({"slice", "index"}),
    "r1": frozenset({"slice"}),
    "r2": frozenset({"relation"}),
    "r0": frozenset(),
}
ANSWERS: dict[str, Labels] = {
    "bridge": TOKENS["bridge"],
    "object": frozenset({"relation", "index"}),
}


class Question(NamedTuple):
    """Kinds of tokens, and the kind of answer: all that mention a label mention the same."""

    tokens: tuple[str, ...]
    answer: str

    @property
    def labels(self) -> Labels:
        """The labels that it mentions."""
        return frozenset().union(*(TOKENS[token] for token in self.tokens))


FIRST, LAST = Question(("subject", "r1"), "bridge"), Question(("bridge", "r2"), "object")
IDENTITY: dict[Form, Question] = {
    "alone": Question(("bridge",), "bridge"),
    "first relation": Question(("bridge", "r1"), "bridge"),
    "own relation": Question(("bridge", "r0"), "bridge"),
}
COMPOSED = Question(("subject", "r1", "r2"), "object")
SKIPPED = Question(("subject", "r2"), "object")


class Orbit(NamedTuple):
    """Entries of W: their token, their answer, and which labels are equal (or along which they
    differ, of an entry of a block)."""

    token: str
    answer: str
    which: Labels


class Block(NamedTuple):
    """W on the directions that differ along some labels and are the same along the others."""

    differ: Labels
    tokens: tuple[str, ...]
    answers: tuple[str, ...]
    copies: int  # how many directions of this kind there are

    @property
    def shape(self) -> tuple[int, int]:
        """Tokens and answers."""
        return len(self.tokens), len(self.answers)


class Candidates(NamedTuple):
    """The answers to a kind of question that no renaming tells apart: the right one first."""

    names: tuple[str, ...]
    counts: Float[np.ndarray, " candidate"]
    logits: Float[np.ndarray, "candidate orbit"]  # of one answer of each, from the orbits' values
    # what an error at an answer of each adds to the gradient of each orbit, averaged over questions
    gradient: Float[np.ndarray, "orbit candidate"]

    @property
    def gaps(self) -> Float[np.ndarray, "wrong orbit"]:
        """By how much the right answer leads each other candidate."""
        return np.asarray(self.logits[0] - self.logits[1:])


class Structure(NamedTuple):
    """N subjects, k relations a hop, and the form of identity."""

    subjects: int
    complexity: int = 1
    form: Form = "alone"

    @property
    def sizes(self) -> dict[str, int]:
        """How many values a label has."""
        return {"index": self.subjects, "slice": self.complexity, "relation": self.complexity}

    @property
    def tokens(self) -> tuple[str, ...]:
        """The kinds of tokens."""
        return tuple(token for token in TOKENS if token != "r0" or self.form == "own relation")

    @property
    def trained(self) -> tuple[Question, ...]:
        """The kinds of questions in training: both hops, and identity."""
        same = () if self.form == "none" else (IDENTITY[self.form],)
        return (FIRST, LAST, *same)

    def patterns(self, labels: Labels) -> Iterator[Labels]:
        """Some of the labels that have more than one value: all of them first, none last."""
        several = sorted(label for label in labels if self.sizes[label] > 1)
        found = chain.from_iterable(combinations(several, n) for n in range(len(several), -1, -1))
        return map(frozenset, found)

    def product(self, labels: Labels, less: int = 0) -> int:
        """How many combinations of values labels have, each with so many fewer."""
        return math.prod([self.sizes[label] - less for label in labels])

    @property
    def orbits(self) -> tuple[Orbit, ...]:
        """What W is given by, a number each."""
        return _orbits(self)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The small matrices that W acts as."""
        return _blocks(self)

    @property
    def to_blocks(self) -> Float[np.ndarray, "entry orbit"]:
        """The blocks' entries, one block after the other, from the orbits' values."""
        return _to_blocks(self)

    def candidates(self, question: Question) -> Candidates:
        """Who competes for the answer to a kind of question."""
        return _candidates(self, question)

    def split(
        self, entries: Float[np.ndarray, " entry"]
    ) -> list[Float[np.ndarray, "token answer"]]:
        """The blocks, of their entries in a row."""
        ends = np.cumsum([math.prod(block.shape) for block in self.blocks])
        parts = np.split(entries, ends[:-1])
        return [part.reshape(b.shape) for part, b in zip(parts, self.blocks, strict=True)]

    def norm(self, values: Float[np.ndarray, " orbit"]) -> float:
        """The nuclear norm of W (Lemma 2, for any complexity)."""
        parts = zip(self.blocks, self.split(self.to_blocks @ values), strict=True)
        return float(sum(block.copies * np.linalg.norm(part, "nuc") for block, part in parts))

    def margin(self, values: Float[np.ndarray, " orbit"], question: Question) -> float:
        """By how much the right answer to a kind of question leads the best other."""
        return float(np.min(self.candidates(question).gaps @ values))

    def matrix(self, values: Float[np.ndarray, " orbit"]) -> Float[np.ndarray, "token answer"]:
        """The whole of W: subjects, bridges slice by slice, relations of each hop; bridges slice by
        slice, objects relation by relation."""
        known = dict(zip(self.orbits, values.tolist(), strict=True))
        rows = [
            [
                known[Orbit(token, answer, self._equal(left, right))]
                for answer in ANSWERS
                for right in self._each(ANSWERS[answer])
            ]
            for token in self.tokens
            for left in self._each(TOKENS[token])
        ]
        return np.array(rows)

    def _ways(self, labels: Labels, equal: Labels) -> int:
        """How many values labels have that are not said to be equal and have a choice."""
        return self.product(frozenset(x for x in labels - equal if self.sizes[x] > 1), less=1)

    def _each(self, labels: Labels) -> Iterator[dict[str, int]]:
        """All combinations of values, the index running fastest."""
        order = [label for label in ("relation", "slice", "index") if label in labels]
        for values in np.ndindex(*(self.sizes[label] for label in order)):
            yield dict(zip(order, values, strict=True))

    def _equal(self, left: dict[str, int], right: dict[str, int]) -> Labels:
        shared = [label for label in left if label in right and self.sizes[label] > 1]
        return frozenset(label for label in shared if left[label] == right[label])


@cache
def _orbits(self: Structure) -> tuple[Orbit, ...]:
    return tuple(
        Orbit(token, answer, equal)
        for token in self.tokens
        for answer in ANSWERS
        for equal in self.patterns(TOKENS[token] & ANSWERS[answer])
    )


@cache
def _blocks(self: Structure) -> tuple[Block, ...]:
    found = []
    for differ in self.patterns(frozenset(self.sizes)):
        tokens = tuple(token for token in self.tokens if differ <= TOKENS[token])
        answers = tuple(answer for answer, labels in ANSWERS.items() if differ <= labels)
        if tokens and answers:  # or W is zero there
            found.append(Block(differ, tokens, answers, self.product(differ, less=1)))
    return tuple(found)


@cache
def _to_blocks(self: Structure) -> Float[np.ndarray, "entry orbit"]:
    entries = [
        Orbit(token, answer, block.differ)
        for block in self.blocks
        for token in block.tokens
        for answer in block.answers
    ]
    return np.array([[_weight(self, entry, orbit) for orbit in self.orbits] for entry in entries])


def _weight(self: Structure, entry: Orbit, orbit: Orbit) -> float:
    """How much an orbit adds to an entry of a block."""
    if entry[:2] != orbit[:2]:
        return 0.0
    mine, other = TOKENS[entry.token], ANSWERS[entry.answer]
    # a label that only one of them has is met along its unit vector of ones
    weight = math.sqrt(self.product(mine ^ other))
    for label in mine & other:
        equal = label in orbit.which or self.sizes[label] == 1
        if label in entry.which:  # x I + y J is x on what differs, and here x + y is the own value
            weight *= 1.0 if equal else -1.0
        elif not equal:
            weight *= self.sizes[label] - 1
    return weight


@cache
def _candidates(self: Structure, question: Question) -> Candidates:
    mentioned, place = question.labels, {orbit: n for n, orbit in enumerate(self.orbits)}
    kinds = sorted(ANSWERS, key=lambda answer: answer != question.answer)
    found = [(a, equal) for a in kinds for equal in self.patterns(ANSWERS[a] & mentioned)]
    logits, gradient = np.zeros((len(found), len(place))), np.zeros((len(place), len(found)))
    counts = []
    for n, (answer, equal) in enumerate(found):
        labels = ANSWERS[answer]
        counts.append(self._ways(labels & mentioned, equal) * self.product(labels - mentioned))
        for token in question.tokens:
            orbit = place[Orbit(token, answer, equal & TOKENS[token])]
            logits[n, orbit] += 1
            # the other labels of questions with this token: equal to the answer's, or not
            rest = mentioned - TOKENS[token]
            ways = self._ways(rest & labels, equal) * self.product(rest - labels)
            gradient[orbit, n] += ways / self.product(mentioned)
    names = tuple(f"{a}, {', '.join(sorted(e)) or 'nothing'} equal" for a, e in found)
    return Candidates(names, np.array(counts, float), logits, gradient)

"""Where answers look, and what a longer chain does to it."""

from collections.abc import Iterator
from dataclasses import replace

from ...claim import claim
from ...evidence import Evidence, Measurement, Run
from ...tasks.lego import split_of
from ...theory.dilution import diluted, weight
from .setting import CYCLE, PAPER, PERMUTATIONS, TAUGHT

CLAUSES = ("predicate", "itself")


@claim(PAPER, "Figure 2", departures=TAUGHT, cyclic=CYCLE, symmetric=PERMUTATIONS)
def attention_concentrates_on_two_clauses(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """Taught by chains of five, each answer gives most of its attention to two clauses: to the
    predicate that begins at its variable, and to itself; in both groups."""
    for run in (cyclic, symmetric):
        yield run.final("lost, 5 steps").below(0.3)
        yield run.final("predicate, 5 steps").least().above(0.2)
        yield run.final("itself, 5 steps").least().above(0.2)


@claim(PAPER, "Figure 5", departures=TAUGHT, cyclic=CYCLE, symmetric=PERMUTATIONS)
def retrieval_goes_by_variable_and_not_by_place(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """If predicates come in any order, as they never did in training, answers find theirs all the
    same: attention is keyed to the variable that both share."""
    for run in (cyclic, symmetric):
        yield run.final("lost, permuted").agrees(run.final("lost, 5 steps"), within=0.03)
        yield run.final("permuted").agrees(run.final("5 steps"), within=0.05)


def _along(run: Run, clause: str, chain: int) -> Iterator[Evidence]:
    """A few points of the curve over the place in the chain, from 0 to 1."""
    found = run.final(f"{clause}, {split_of(chain)}")
    for place in range(0, chain, chain // 5):
        yield found[place].beside(None, series=f"{run.name}, {chain} steps", x=place / chain)


def _decline(found: Measurement) -> Measurement:
    """By how much the last third of answers is below the first."""
    third = found.values.shape[1] // 3
    fall = found.values[:, :third].mean(axis=1) - found.values[:, -third:].mean(axis=1)
    return replace(found, what=f"{found.what}: first third less last", values=fall)


@claim(PAPER, "Figure 6", departures=TAUGHT, cyclic=CYCLE, symmetric=PERMUTATIONS)
def predicates_are_lost_along_a_symmetric_chain(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """In chains longer than those taught, attention to the right predicate falls; in the symmetric
    group it falls along the chain too, and in the cyclic one it does not."""
    for run in (cyclic, symmetric):
        short, long = (run.final(f"predicate, {split_of(chain)}").mean() for chain in (10, 20))
        yield short.exceeds(long)
        for chain in (10, 20):
            yield from _along(run, "predicate", chain)
    yield _decline(symmetric.final("predicate, 20 steps")).above(0.05)
    yield _decline(cyclic.final("predicate, 20 steps")).below(0.05)


@claim(PAPER, "Figure 7", departures=TAUGHT, cyclic=CYCLE, symmetric=PERMUTATIONS)
def answers_are_lost_along_a_cyclic_chain(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """With the attention of answers to themselves it is the reverse: it falls along a long chain of
    the cyclic group, and holds in the symmetric one."""
    for run in (cyclic, symmetric):
        for chain in (10, 20):
            yield from _along(run, "itself", chain)
    yield _decline(cyclic.final("itself, 20 steps")).above(0.05)
    yield _decline(symmetric.final("itself, 20 steps")).below(0.05)


@claim(
    PAPER,
    "Section 6.2, dilution; counted (ours)",
    departures=TAUGHT,
    cyclic=CYCLE,
    symmetric=PERMUTATIONS,
)
def counting_clauses_predicts_what_attention_loses(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """What attention loses in chains of 10, 20 and 40 is predicted from chains of 5, with nothing
    fitted: every other clause in sight takes as much as one took there."""
    for run in (cyclic, symmetric):
        predicate, itself = (run.final(f"{clause}, 5 steps") for clause in CLAUSES)
        each = weight(1 - predicate.values - itself.values)
        for chain in (10, 20, 40):
            lost = run.final(f"lost, {split_of(chain)}")
            said = replace(lost, what="theory", values=diluted(each, chain).mean(axis=1))
            yield lost.agrees(said, within=0.1)
            yield lost.beside(None, series=run.name, x=chain)
            yield said.beside(None, series=f"predicted, {run.name}", x=chain)

"""What answers attend to, and what a longer chain does to it."""

from collections.abc import Iterator

from ....core.curves import prediction
from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....tasks.lego import split_of
from ....theory.dilution import diluted, weight
from .setting import attended, leakage, of_both_groups, rollout


@of_both_groups("Figure 2")
def attention_concentrates_on_two_clauses(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """Trained on chains of five, each answer gives most of its attention to two clauses: to the
    predicate that begins at its variable, and to itself; in both groups."""
    for run in (cyclic, symmetric):
        yield run.final(leakage(5)).below(0.3)
        yield run.final(attended("predicate", 5)).least().above(0.2)
        yield run.final(attended("itself", 5)).least().above(0.2)


@of_both_groups("Figure 5")
def retrieval_goes_by_variable_and_not_by_position(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """With predicates in any order, as they never are in training, attention leaks as little and
    rollouts are as accurate: attention is keyed to the variable that answer and predicate share."""
    for run in (cyclic, symmetric):
        yield run.final("attention leakage, permuted").agrees(run.final(leakage(5)), within=0.03)
        yield run.final("rollout accuracy, permuted").agrees(run.final(rollout(5)), within=0.05)


def _along(run: Run, clause: str, chain: int) -> Iterator[Evidence]:
    """A few points of the curve over the position in the chain, from 0 to 1."""
    found = run.final(attended(clause, chain))
    for position in range(0, chain, chain // 5):
        series = f"{run.name}, {split_of(chain)}"
        yield found[position].beside(None, series=series, x=position / chain)


def _decline(found: Measurement) -> Measurement:
    """By how much the last third of answers is below the first."""
    third, name = len(found) // 3, found.quantity.alone
    first = found.map(lambda values: values[:, :third].mean(axis=1), f"{name}, first third")
    return first - found.map(lambda values: values[:, -third:].mean(axis=1), f"{name}, last third")


@of_both_groups("Figure 6")
def attention_to_predicates_falls_along_s5_chains(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """In chains longer than those in training, attention to the right predicate falls; in S5 it
    falls along the chain too, and in C6 it does not."""
    for run in (cyclic, symmetric):
        short, long = (run.final(attended("predicate", chain)).mean() for chain in (10, 20))
        yield short.exceeds(long)
        for chain in (10, 20):
            yield from _along(run, "predicate", chain)
    # every answer has one more clause in sight than the last: attention falls by that in any group
    yield _decline(symmetric.final(attended("predicate", 20))).above(0.05)
    yield _decline(cyclic.final(attended("predicate", 20))).below(0.05)


@of_both_groups("Figure 7")
def attention_to_the_answer_falls_along_c6_chains(
    cyclic: Run, symmetric: Run
) -> Iterator[Evidence]:
    """With the attention of answers to themselves it is the reverse: it falls along a long chain of
    C6, and holds in S5."""
    for run in (cyclic, symmetric):
        for chain in (10, 20):
            yield from _along(run, "itself", chain)
    yield _decline(cyclic.final(attended("itself", 20))).above(0.05)
    yield _decline(symmetric.final(attended("itself", 20))).below(0.05)


@of_both_groups("Section 6.2, dilution; counted (ours)")
def counting_clauses_predicts_attention_leakage(cyclic: Run, symmetric: Run) -> Iterator[Evidence]:
    """The attention leakage in chains of 10, 20 and 40 is predicted from chains of 5, with nothing
    fitted: every other clause in sight takes as much as one takes there."""
    for run in (cyclic, symmetric):
        predicate, itself = (run.final(attended(clause, 5)) for clause in ("predicate", "itself"))
        # from chains of 5, seed by seed; what comes after is arithmetic
        each = weight(1 - predicate.values - itself.values)
        for chain in (10, 20, 40):
            leaked = run.final(leakage(chain))
            said = prediction(diluted(each, chain).mean(axis=1), leaked)
            yield leaked.agrees(said, within=0.1)
            yield leaked.beside(None, series=run.name, x=chain)
            yield said.beside(None, series=run.name, x=chain)

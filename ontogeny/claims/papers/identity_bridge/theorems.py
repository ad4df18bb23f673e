"""The headline, Theorems 1 and 2, and what training makes of them."""

from collections.abc import Iterator

from ....core.evidence import Evidence
from ....core.measurement import Measurement
from ....core.run import Run
from ....theory.two_hop import Symmetric, with_identity
from ....training.convex import MinimalNorm, SymmetricOptimum
from ...claim import claim
from .setting import (
    CONVERGED,
    OURS,
    PAPER,
    SOLVED,
    SOLVED_EXACTLY,
    SUBJECTS,
    converged,
    descent,
    solved,
)

SYMMETRIC_SIZES = (5, 20, 50, 100)
PROGRAM_SIZES = (5, 20)  # the whole matrix, by SCS


def _number(run: Run, name: str) -> Measurement:
    """One of the twelve numbers that a run ends with."""
    numbers = run.final("twelve numbers")
    return numbers[Symmetric._fields.index(name)].named(f"final {name}")


@claim(
    PAPER,
    "Sections 4.1 to 4.3",
    headline=True,
    departures=OURS,
    bridged=descent(identity=1.0),
    plain=descent(identity=0.0),
)
def identity_bridges_let_two_hops_compose(bridged: Run, plain: Run) -> Iterator[Evidence]:
    """Trained on single hops alone, the embedding-MLP fits them and composes nothing; trained
    besides on the identity of each bridge, it composes them, though it never saw a composition."""
    yield bridged.final("train loss").below(0.01)
    yield plain.final("train loss").below(0.01)
    yield bridged.final("accuracy").above(0.99, paper=1.0)
    yield plain.final("accuracy").below(0.05, paper=0.0)
    yield bridged.final("margin of each").least().above(0)
    yield plain.final("margin of each").mean().below(0)


# ------------------------------------------------------------------------------ Theorems 1 and 2


@claim(
    PAPER,
    "Theorem 1",
    departures=SOLVED,
    exact=SOLVED_EXACTLY,
    by_size={N: solved(SymmetricOptimum(), N, identity=1.0) for N in SYMMETRIC_SIZES},
)
def with_identity_minimal_nuclear_norm_composes(by_size: dict[int, Run]) -> Iterator[Evidence]:
    """The templates of least nuclear norm that fit both hops and the identity of each bridge lead
    to the right object for every composed question, whatever the number of subjects."""
    for run in by_size.values():
        yield run.final("margin of each").least().above(0)
        yield run.final("accuracy").above(0.99, paper=1.0)


@claim(
    PAPER,
    "Theorem 2",
    departures=SOLVED,
    exact=SOLVED_EXACTLY,
    by_size={N: solved(SymmetricOptimum(), N, identity=0.0) for N in SYMMETRIC_SIZES},
)
def without_identity_minimal_nuclear_norm_does_not_compose(
    by_size: dict[int, Run],
) -> Iterator[Evidence]:
    """Without identity, templates of least nuclear norm leave every composed question to a wrong
    answer."""
    for run in by_size.values():
        yield run.final("margin of each").most().below(0)
        yield run.final("accuracy").below(0.05, paper=0.0)


@claim(
    PAPER,
    "Theorems 1 and 2, the program itself",
    departures=SOLVED,
    exact=SOLVED_EXACTLY,
    extra="theory",
    bridged={N: solved(MinimalNorm(), N, identity=1.0) for N in PROGRAM_SIZES},
    plain={N: solved(MinimalNorm(), N, identity=0.0) for N in PROGRAM_SIZES},
)
def the_convex_program_agrees_without_assuming_symmetry(
    bridged: dict[int, Run], plain: dict[int, Run]
) -> Iterator[Evidence]:
    """Solved as a convex program over all matrices, no symmetry assumed, the smallest templates
    have the positive margin of the closed form on every composed question with identity, and the
    negative one without."""
    # without identity no others are as small (`minimal_norm.directions`): it holds of any solution
    for N, run in bridged.items():
        # the nearest rivals are other objects, at b₁; the own bridge is one behind, others two
        yield run.final("margin of each").least().near(with_identity(N).b1, within=1e-2)
        yield run.final("accuracy").above(0.99, paper=1.0)
    for N, run in plain.items():
        yield run.final("margin of each").most().below(0)
        yield run.final("margin of each").mean().near(-N / (N + 1), within=1e-2)
        yield run.final("accuracy").below(0.05, paper=0.0)


@claim(
    PAPER,
    "Theorems 1 and 2, by training",
    departures=CONVERGED,
    bridged=converged(identity=1.0),
    plain=converged(identity=0.0),
)
def trained_margins_have_the_stated_sign(bridged: Run, plain: Run) -> Iterator[Evidence]:
    """The margin on composed questions, in units of the margin on what is trained, becomes the
    positive one of Theorem 1 with identity, and negative without."""
    expected = with_identity(SUBJECTS).b1
    yield bridged.final("relative margin").above(0)
    yield bridged.final("relative margin").near(expected, within=0.1)
    yield plain.final("relative margin").below(0)


# --------------------------------------------------------------------------------- implicit bias


@claim(
    PAPER,
    "Section 4.3, equations (1) and (2)",
    departures=CONVERGED,
    bridged=converged(identity=1.0),
    plain=converged(identity=0.0),
)
def gradient_descent_converges_to_minimal_nuclear_norm(
    bridged: Run, plain: Run
) -> Iterator[Evidence]:
    """The trained embedding-MLP converges in direction to the solution of the nuclear-norm program:
    its templates are within a few percent of the smallest norm, by a certificate, and match the
    solution entry by entry."""
    yield bridged.final("norm gap").below(0.1)
    yield plain.final("norm gap").below(0.1)
    yield bridged.final("correlation with theory").above(0.95)
    theory = with_identity(SUBJECTS)
    yield _number(bridged, "b1").near(theory.b1, within=0.05)
    yield _number(bridged, "c1").near(theory.c1, within=0.1)
    yield _number(bridged, "d1").near(theory.d1, within=0.05)


@claim(
    PAPER,
    "Condition (12)",
    departures=CONVERGED,
    trained=converged(identity=1.0),
)
def second_hop_and_identity_constraints_are_tight(trained: Run) -> Iterator[Evidence]:
    """At the solution a bridge with its relation prefers its object, and alone itself, by no more
    than it must: so the second relation moves the balance by two margins, one to each side."""
    # both tight: β₂ - α₂ = 2, and rows sum to zero
    yield _number(trained, "beta2").near(1.0, within=0.05)
    yield _number(trained, "alpha2").near(-1.0, within=0.05)


@claim(
    PAPER,
    "Assumptions 1 to 4",
    departures=(*CONVERGED, "Assumption 1 is read as the symmetric form of Lemma 1"),
    trained=converged(identity=1.0),
)
def learnt_templates_meet_the_assumptions(trained: Run) -> Iterator[Evidence]:
    """Learnt templates have the symmetric form, zero row sums, certified optimality (and so the KKT
    conditions), and a positive tie from subjects to objects."""
    yield trained.final("asymmetry").below(0.01)
    yield trained.final("row sums").below(0.01)
    yield trained.final("norm gap").below(0.1)
    yield _number(trained, "b1").above(0.1)


# -------------------------------------------------------------------------------------- Figure 3


@claim(
    PAPER,
    "Figure 3",
    departures=CONVERGED,
    bridged=converged(identity=1.0),
    plain=converged(identity=0.0),
)
def bridges_pass_their_objects_on_to_subjects(bridged: Run, plain: Run) -> Iterator[Evidence]:
    """In the learnt templates relations select sets. With identity each bridge peaks at itself and
    at its object, and subjects inherit the peak at the object; without, templates are diagonal and
    subjects say nothing of objects. Fewer directions carry weight with identity."""
    yield _number(bridged, "alpha1").exceeds(_number(bridged, "beta1"))
    yield _number(bridged, "beta2").exceeds(_number(bridged, "alpha2"))
    yield _number(bridged, "c1").above(0.5)
    yield _number(bridged, "d1").above(0.5)
    yield _number(bridged, "b1").above(0.3)
    yield _number(plain, "b1").near(0.0, within=0.1)
    yield plain.final("rank").exceeds(bridged.final("rank"))

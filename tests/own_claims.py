"""A file with a claim of somebody's own, and one with the probe that it uses."""

PROBES = """
from ontogeny import Loss

class Doubled(Loss):
    '''Twice the loss on a split.'''

    def __call__(self, now):
        return 2 * super().__call__(now)
"""
CLAIM = """
from ontogeny import Analogy, Experiment, GradientDescent, Loss, OneLayer, Paper, claim
from {probes} import Doubled

PAPER = Paper("{key}", "A paper of one's own", "https://example.org")
TRAINED = Experiment(
    Analogy(tuples=3),
    OneLayer(width=16, scale=0.1),
    (GradientDescent(steps=20, learning_rate=0.1),),
    {{"loss": Loss("train"), "doubled": Doubled("train")}},
    evaluations=2,
)

@claim(PAPER, "Section 1", seeds=5, headline=True, trained=TRAINED)
def {name}(trained):
    '''A loss that is doubled is above the loss that it is twice of.'''
    yield trained.final("doubled").exceeds(trained.final("loss"))
"""


def put(folder, file="mine.py", name="doubled_is_more", key="own", probes="own_probes"):
    """Writes a file with a claim, and one with the probe that it uses."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / f"{probes.rpartition('.')[2]}.py").write_text(PROBES)
    path.write_text(CLAIM.format(name=name, key=key, probes=probes))
    return path

"""What the document leaves open: declared before any map. None of its sizes, learning rates, steps
or initial scales survived."""

from ...region import Between, Fit, OneOf, Region

TRAINED = (Fit("train accuracy", above=0.99),)

# The GPT-2s: 20 subjects, two layers of width 128, 1,200 steps at 1e-3 are ours.
_GPT2 = (
    Between("training.*.learning_rate", 3e-4, 3e-3, "usual for Adam at this size", "log"),
    OneOf("training.*.steps", "x1", "x2", why="when training ends is lost"),
    OneOf("model.width", 64, 128, why="lost"),
    OneOf("model.depth", 2, 4, why="lost"),
    OneOf("task.subjects", 10, 20, why="N is lost"),
    OneOf("task.form", "alone", "first relation", why="the text has b → b, its code may not"),
)
COMPOSING = Region(
    (*_GPT2, Between("training.*.weight_decay", 1e-3, 1.0, "decoupled; lost", "log")), TRAINED
)
WITH_DECAY = Region(
    (
        *(each for each in _GPT2 if each.path != "training.*.steps"),
        Between("decayed.training.*.weight_decay", 0.1, 2.0, "decoupled; lost", "log"),
    ),
    TRAINED,
)

# The embedding-MLP: descent on the whole split.
EMBEDDING_MLP = Region(
    (
        Between("training.*.learning_rate", 0.3, 3.0, "descent; lost", "log"),
        Between("model.gamma", 0.4, 1.2, "d_in^-γ: both standard and small are lost"),
        OneOf("model.width", 64, 128, 256, why="lost"),
        OneOf("task.subjects", 10, 20, 40, why="N is lost"),
        OneOf("training.*.steps", "x0.5", "x1", "x2", why="when training ends is lost"),
    ),
    TRAINED,
)

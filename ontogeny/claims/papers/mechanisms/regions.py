"""What the sources of the mechanisms leave open, or what differs here: declared before any map."""

from ...region import Between, Fit, OneOf, Region

# The talk shows curves without settings; the paper behind it has T = 256, width 256, batches of 512
# and SGD at .03 to .2. Laptop sizes are a quarter of these.
INDUCTION = Region(
    (
        Between(
            "training.*.learning_rate",
            0.02,
            0.5,
            "published: .03 to .2, for batches eight times as large",
            "log",
        ),
        Between("training.*.weight_decay", 1e-5, 1e-2, "published: 1e-4 for one model", "log"),
        OneOf("model.width", 64, 128, 256, why="published: 256; random embeddings want width"),
        OneOf("task.length", 32, 64, 128, why="published: 256; a laptop's is a quarter"),
        OneOf("task.triggers", 2, 5, 10, why="published: 5; the text has a frequent handful"),
        OneOf("task.rows", 32, 64, 128, why="published: 512"),
    ),
    # an order among memories is one of a head that came to be
    trained=(Fit("accuracy", above=0.8),),
)

# One step of descent: the slides say "well above" and nothing of embeddings or of the rate.
ONE_STEP = Region(
    (
        Between("training.*.learning_rate", 0.1, 10.0, "η/N = 1 is ours", "times"),
        Between("task.items", 0.25, 1.0, "256 items are ours", "times"),
    ),
)

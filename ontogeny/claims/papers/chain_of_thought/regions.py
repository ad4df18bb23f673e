"""What the document leaves open: declared before any map."""

from ...region import Between, Fit, OneOf, Region

# Of the experiments' network the text gives one layer, two heads, Adam at 1e-4 and 300 epochs.
NETWORK = Region(
    (
        Between("training.*.learning_rate", 3e-4, 3e-3, "1e-4 for ten times the steps", "log"),
        OneOf("training.*.steps", "x0.25", "x0.5", "x1", why="when training ends is not told"),
        OneOf("task.train_size", 5000, 20000, 0, why="how many sequences is not told; 0: fresh"),
        OneOf("model.mlp_width", 32, 128, 512, why="the width of the FFN is not told"),
        OneOf("model.one_hot", True, False, why="Definition 3.2: a learned table; theory: one-hot"),
        OneOf("model.residual", False, True, why="not told; the figures suggest none"),
    ),
    trained=(Fit("accuracy", above=0.9),),
)

# The theorems' constants are asymptotic: d is large, σ₀ log d ≪ ρ, q a large even number, m enough
# neurons for every combination, descent slow.
EARLY_NEURONS = Region(
    (
        OneOf("task.variables", 33, 129, 513, why="d → ∞"),
        OneOf("model.neurons_per_class", 8, 32, 64, why="polylogarithmic in d"),
        OneOf("model.power", 4, 6, 8, why="a large even integer"),
        Between("model.knee", 0.25, 2.0, "1 / polylog d, above the bias", "log"),
        Between("model.clip", 0.5, 4.0, "C_B, a constant", "log"),
        Between("training.*.learning_rate", 0.5, 8.0, "1 / poly d", "log"),
    ),
    # an order of learning is one of what was learnt
    trained=(Fit("combinations", above=0.5),),
)

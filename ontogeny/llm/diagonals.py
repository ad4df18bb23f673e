"""How strong the identity is in the KQ and VO products of a pretrained model's heads."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..core.external import External, Trainer
from ..core.fields import ConfigError, choice, count
from .likelihood import arrays
from .models import Loaded, Pretrained, fresh
from .scalings import FAMILIES, attentions, heads

WIDTH = 3.35  # inches: a column of a page with two


class Diagonals(NamedTuple):
    """For each layer and head, the trace of W_K W_Qᵀ and of W_V W_Oᵀ over its Frobenius norm.

    For independent random matrices it is 0 ± `chance`, one over the root of the width; it is at
    most `most`, the root of the head dimension.
    """

    kq: Float[np.ndarray, "layer head"]
    vo: Float[np.ndarray, "layer head"]
    chance: float
    most: float


def diagonal_strength(model: Any) -> Diagonals:
    """The diagonals of a model's heads; rotary embeddings, which depend on the positions, are left
    out, as between a token and itself."""
    if model.config.model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ConfigError(
            f"the heads of a {model.config.model_type} cannot be read: known: {known}"
        )
    found = [_products(model, attention) for attention in attentions(model)]
    kq = np.array([[_strength(k, q) for q, k, _, _ in layer] for layer in found])
    vo = np.array([[_strength(v, o) for _, _, v, o in layer] for layer in found])
    width, inner = found[0][0][0].shape
    return Diagonals(kq, vo, width**-0.5, inner**0.5)


def _strength(left: np.ndarray, right: np.ndarray) -> float:
    """The trace of left rightᵀ over its Frobenius norm; the product itself is never made."""
    # ‖L Rᵀ‖² = tr(LᵀL RᵀR): two products as wide as a head instead of one as wide as the model
    norm = np.sqrt(np.sum((left.T @ left) * (right.T @ right)))
    return float(np.sum(left * right) / norm) if norm > 0 else 0.0


def _products(model: Any, attention: Any) -> list[tuple[np.ndarray, ...]]:
    """Queries, keys, values and outputs of each head, from the model's width to the head's."""
    # GPT-2 keeps weights as (into, out) and q, k, v side by side; all others as (out, into)
    if hasattr(attention, "c_attn"):
        query, key, value = np.split(_numbers(attention.c_attn), 3, axis=1)
        output = _numbers(attention.c_proj)
    else:
        kinds = (attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj)
        query, key, value, output = (_numbers(kind).T for kind in kinds)
    count = heads(model)
    queries, outputs = np.split(query, count, axis=1), np.split(output.T, count, axis=1)
    inner = queries[0].shape[1]
    shared = count // (key.shape[1] // inner)  # grouped-query attention
    keys, values = (np.split(each, key.shape[1] // inner, axis=1) for each in (key, value))
    return [(queries[n], keys[n // shared], values[n // shared], outputs[n]) for n in range(count)]


def _numbers(layer: Any) -> np.ndarray:
    return np.asarray(layer.weight.detach().cpu().double().numpy())


def draw_diagonals(found: Diagonals, width: float = WIDTH) -> Any:
    """A figure of both products, heads by layers, in units of chance."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    # 42: fonts are embedded as TrueType; many journals refuse Type 3
    style: Any = {"font.size": 7, "axes.titlesize": 7, "pdf.fonttype": 42, "svg.fonttype": "path"}
    parts = {"$W_K W_Q^\\top$": found.kq, "$W_V W_O^\\top$": found.vo}
    layers, count = found.kq.shape
    # one scale for both, symmetric: white is no diagonal, and red and blue compare across panels
    top = max(float(np.abs(values).max()) for values in parts.values()) / found.chance
    height = min(2.4, 0.9 + 2 * 0.13 * count)
    with plt.rc_context(style):
        figure, axes = plt.subplots(
            2, 1, figsize=(width, height), sharex=True, layout="constrained"
        )
        for axis, (title, values) in zip(axes, parts.items(), strict=True):
            shown = axis.imshow(
                values.T / found.chance, cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto"
            )
            axis.set_title(title)
            axis.set_ylabel("head")
            axis.set_yticks(range(0, count, max(1, count // 4)))
        axes[-1].set_xlabel("layer")
        axes[-1].set_xticks(range(0, layers, max(1, layers // 6)))
        figure.colorbar(shown, ax=axes, label="trace / norm, in units of chance", fraction=0.05)
    return figure


class HeadDiagonals(External):
    """The diagonals of a model's heads, pretrained or with random weights."""

    pretrained: Pretrained = Pretrained()
    start: str = choice(
        "pretrained", "fresh", doc="pretrained weights, or random ones of the same shapes"
    )
    steps: int = count(1, doc="one, in which nothing is trained")
    evaluations: int = count(1, doc="how many there are, besides the one before")

    @property
    def operations(self) -> float:
        return 1e11

    def begin(self, seed: int) -> Trainer:
        loaded = self.pretrained.load()
        return _DiagonalTrainer(loaded if self.start == "pretrained" else fresh(loaded, seed), seed)


class _DiagonalTrainer(Trainer):
    """Measures once, without training. Each seed has every third head, so seeds are independent."""

    def __init__(self, loaded: Loaded, seed: int) -> None:
        self.found = diagonal_strength(loaded.model)
        self.own = np.arange(self.found.kq.size) % 3 == seed % 3

    def evaluate(self) -> dict[str, np.ndarray]:
        chance = self.found.chance
        parts = {"KQ diagonal": self.found.kq, "VO diagonal": self.found.vo}
        found = {}
        for name, values in parts.items():
            own = values.reshape(-1)[self.own] / chance
            # four times chance; written after a look at SmolLM2 (LOGBOOK)
            found[f"{name}, strong heads"] = (own > 4).mean()
            found[f"{name}, mean"] = own.mean()
            found[f"{name} by layer and head"] = values / chance
        return arrays(found)

    def advance(self, start: int, stop: int) -> None:
        pass

    def save(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        pass

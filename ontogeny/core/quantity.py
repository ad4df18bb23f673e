"""What a number is a measurement of, as data; its name is put together here and nowhere else."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# In what a probe's number is measured, where that decides something: its range, and how near to a
# paper's number is near.
FRACTION, COSINE, LOSS, NATS = "fraction", "cosine", "loss", "nats"
ENTROPY = "entropy"  # or a divergence: in nats, and never below zero
SIZE = "size"  # a norm, an error or a rank: no unit, and never below zero
Range = tuple[float, float]
RANGES: dict[str, Range] = {
    FRACTION: (0.0, 1.0),
    COSINE: (-1.0, 1.0),
    "degrees": (0.0, 180.0),
    **dict.fromkeys((LOSS, ENTROPY, SIZE, "steps"), (0.0, math.inf)),
}
IN_WORDS = {
    FRACTION: "a fraction, from 0 to 1",
    COSINE: "a cosine, from −1 to 1",
    LOSS: "a loss, at least 0",
    NATS: "in nats",
    ENTROPY: "in nats, at least 0",
    SIZE: "at least 0",
    "degrees": "in degrees, from 0 to 180",
    "logits": "in logits",
}
ANYTHING: Range = (-math.inf, math.inf)
ABSOLUTE = (FRACTION, COSINE, LOSS, NATS, ENTROPY)  # small ones are all alike: differences count


@dataclass(frozen=True)
class Quantity:
    """A probe of a run, reduced to one number per seed; or two of them, put together."""

    probe: str
    run: str = ""
    reductions: tuple[str, ...] = ()  # the last first: ("least", "final")
    index: tuple[int | str, ...] = ()  # into the array that the probe answers
    unit: str = ""
    operation: str = ""  # "−", "+" or "/" between the parts
    parts: tuple["Quantity", ...] = ()

    def __str__(self) -> str:
        if self.operation:
            return f" {self.operation} ".join(map(str, self.parts))
        return f"{self.run}: {self.alone}" if self.run else self.alone

    @property
    def alone(self) -> str:
        """Its name without that of the run."""
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return " ".join((*self.reductions, f"{self.probe}{index}"))

    @property
    def range(self) -> Range:
        """What it can be."""
        if self.operation:
            return combined(self.operation, *(part.range for part in self.parts))
        return RANGES.get(self.unit, ANYTHING)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Quantity":
        """From its fields, as JSON has them."""
        parts = tuple(cls.from_json(part) for part in data["parts"])
        lists = tuple(data["reductions"]), tuple(data["index"])
        return cls(data["probe"], data["run"], *lists, data["unit"], data["operation"], parts)

    def reduced(self, by: str, unit: str | None = None) -> "Quantity":
        """What becomes of it by a further reduction."""
        changed = replace(self, reductions=(by, *self.reductions))
        return changed if unit is None else replace(changed, unit=unit)

    def with_(self, operation: str, other: "Quantity") -> "Quantity":
        """The two of them put together: a difference of two fractions is none."""
        return Quantity("", operation=operation, parts=(self, other))


def combined(operation: str, left: Range, right: Range) -> Range:
    """What a sum, a difference or a ratio of two numbers can be."""
    match operation:
        case "+":
            return left[0] + right[0], left[1] + right[1]
        case "−":
            return left[0] - right[1], left[1] - right[0]
    return (0.0, math.inf) if left[0] >= 0 and right[0] >= 0 else ANYTHING

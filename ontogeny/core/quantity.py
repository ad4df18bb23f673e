"""What a number is a measurement of, as data; its name is put together here and nowhere else."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# In what a probe's number is measured, where that decides something: its range, and how near to a
# paper's number is near.
FRACTION, COSINE, LOSS, NATS = "fraction", "cosine", "loss", "nats"
RANGES = {FRACTION: (0.0, 1.0), COSINE: (-1.0, 1.0)}
ABSOLUTE = (FRACTION, COSINE, LOSS, NATS)  # small ones are all alike: differences count


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
    def range(self) -> tuple[float, float]:
        """What it can be."""
        return RANGES.get(self.unit, (-math.inf, math.inf))

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

"""Fields that check themselves, and the frozen records made of them."""

import dataclasses
import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import equinox as eqx


class Invalid(ValueError):  # noqa: N818
    """Something the user asked for cannot be: the message names it and says what would do."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of an error message: the closest known word, or all of them if there are few."""
    known = sorted(known)
    close = get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(known)}" if len(known) <= 30 else "see the list"


def number(
    default: float | None = None,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
) -> Any:
    """A field that is a leaf: a finite float one may sweep, differentiate and vmap over."""
    rule = _Number(least, above, most)
    return _field(default, lambda x: float(x) if isinstance(x, int) else x, rule)


def count(default: int | None = None, *, least: int = 1) -> Any:
    """A static field: a whole number that decides the shape of the computation."""
    return _field(default, None, _Count(least), static=True)


def choice(default: str, *options: str) -> Any:
    """A static field: one of a few words."""
    return _field(default, None, _Choice((default, *options)), static=True)


def split(default: str | None = None) -> Any:
    """A static field: one of the task's splits (an experiment checks that it has it)."""
    return _field(default, None, Split(), static=True)


def static(**keywords: Any) -> Any:
    """A static field of any other kind (the name of a probe, names of parameters)."""
    return eqx.field(static=True, **keywords)


def _field(default: Any, converter: Any, rule: Any, static: bool = False) -> Any:
    keywords: dict[str, Any] = {"metadata": {"rule": rule}, "static": static}
    if converter is not None:
        keywords["converter"] = converter
    if default is not None:
        keywords["default"] = default
    return eqx.field(**keywords)


class _Number(NamedTuple):
    least: float
    above: float
    most: float

    def problem(self, value: Any) -> str | None:
        if not isinstance(value, float):
            return f"must be a number, not {value!r}"
        if not math.isfinite(value):
            return f"must be a finite number, not {value}"
        if value < self.least:
            return f"must be at least {self.least:g}, not {value:g}"
        if value <= self.above:
            return f"must be above {self.above:g}, not {value:g}"
        if value > self.most:
            return f"must be at most {self.most:g}, not {value:g}"
        return None


class _Count(NamedTuple):
    least: int

    def problem(self, value: Any) -> str | None:
        if not isinstance(value, int) or isinstance(value, bool):
            return f"must be a whole number, not {value!r}"
        return f"must be at least {self.least}, not {value}" if value < self.least else None


class _Choice(NamedTuple):
    options: tuple[str, ...]

    def problem(self, value: Any) -> str | None:
        if value in self.options:
            return None
        return f"cannot be {value!r}: {did_you_mean(str(value), list(self.options))}"


class Split(NamedTuple):
    """The rule of a field that names a split."""

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, str) else f"must be the name of a split, not {value!r}"


class _CheckedMeta(type(eqx.Module)):  # type: ignore[misc]
    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        known = [f.name for f in dataclasses.fields(cls) if f.init]
        for name in keywords:
            if name not in known:
                raise Invalid(f"{cls.__name__} has no field {name!r}: {did_you_mean(name, known)}")
        return super().__call__(*arguments, **keywords)


class Component(eqx.Module, metaclass=_CheckedMeta):
    """A frozen record whose fields are checked when it is made, before anything is compiled."""

    def __check_init__(self) -> None:
        for field in dataclasses.fields(self):
            rule = field.metadata.get("rule")
            problem = rule and rule.problem(getattr(self, field.name))
            if problem:
                raise Invalid(f"{type(self).__name__}.{field.name} {problem}")

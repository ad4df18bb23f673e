"""Fields that check themselves, and the frozen records made of them."""

import dataclasses
import inspect
import math
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, dataclass_transform

import equinox as eqx

from .notebook import table

if TYPE_CHECKING:
    from equinox._module._module import _ModuleMeta as _Meta
else:
    _Meta = type(eqx.Module)


class ConfigError(ValueError):
    """Something the user asked for cannot be: the message names it and says what would do."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The tail of an error message: what an old name is called now, the closest known word, or all
    known words if they are few."""
    known = sorted(known)
    # Imported so, old names are no part of a run's record: none is stale when a name is added.
    if now := import_module(".renamed", __package__).now(word, known):
        return f"it is now called {now}"
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
    doc: str = "",
) -> Any:
    """A field that is a leaf: a finite float one may sweep, differentiate and vmap over."""
    rule = _Number(least, above, most)
    # 1 is meant as 1.0: all leaves are floats, so that all settings share one program
    return _field(default, rule, doc, lambda x: float(x) if isinstance(x, int) else x)


def count(default: int | None = None, *, least: int = 1, most: int = 10**8, doc: str = "") -> Any:
    """A static field: a whole number that decides the shape of the computation."""
    return _field(default, _Count(least, most), doc, static=True)


def flag(default: bool, *, doc: str = "") -> Any:
    """A static field: true or false, and nothing that merely counts as one of them."""
    return _field(default, _Kind(bool, "true or false"), doc, static=True)


def string(default: str | None = None, *, converter: Any = None, doc: str = "") -> Any:
    """A static field: text of any kind (the name of a probe, of a file)."""
    return _field(default, _Kind(str, "text"), doc, converter, static=True)


def names(default: tuple[str, ...] | None = None, *, doc: str = "") -> Any:
    """A static field: several names."""
    return _field(default, _Each(str, "names"), doc, static=True)


def choice(default: str, *options: str, doc: str = "") -> Any:
    """A static field: one of a few words."""
    return _field(default, _Choice((default, *options)), doc, static=True)


def split(default: str | None = None, *, run: bool = True, doc: str = "") -> Any:
    """A static field: one of the task's splits, which an experiment checks; `run=False` where a
    probe does not run the model on its rows as they are."""
    return _field(default, _Split(run), doc, static=True)


def numbers(default: tuple[float, ...] | None = None, *, doc: str = "") -> Any:
    """A static field: several numbers."""
    return _field(default, _Each((float, int), "numbers"), doc, static=True)


def component(kind: type, *, doc: str = "") -> Any:
    """A field that is a component of a kind."""
    return _field(None, _Kind(kind, f"a {kind.__name__}"), doc)


def optional(kind: type, *, doc: str = "") -> Any:
    """A field that is a component of a kind, or None, as it is by default."""
    rule = _Kind(kind | None, f"{kind.__name__} or None")
    # not by `_field`, to which None says that there is no default
    return eqx.field(default=None, metadata={"rule": rule, "doc": doc})


def several(kind: type, *, doc: str = "") -> Any:
    """A field that is some components of a kind, one after the other."""
    return _field(None, _Each(kind, f"{kind.__name__}s"), doc, _in_order)


def by_name(kind: type, *, doc: str = "") -> Any:
    """A field that is some components of a kind, by name."""
    return _field(None, _Named(kind), doc)


def _in_order(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given


def static(*, allowed: str = "", doc: str = "", **keywords: Any) -> Any:
    """A static field of any other kind: whoever uses it checks it."""
    return eqx.field(static=True, metadata={"rule": _Other(allowed), "doc": doc}, **keywords)


def _field(
    default: Any, rule: Any, doc: str, converter: Any = None, *, static: bool = False
) -> Any:
    keywords: dict[str, Any] = {"metadata": {"rule": rule, "doc": doc}, "static": static}
    if converter is not None:
        keywords["converter"] = converter
    if default is not None:
        keywords["default"] = default
    return eqx.field(**keywords)


class _Other(NamedTuple):
    allowed: str

    def problem(self, value: Any) -> str | None:
        return None


class _Number(NamedTuple):
    least: float
    above: float
    most: float

    @property
    def allowed(self) -> str:
        lower = f"above {self.above:g}" if self.above > -math.inf else f"at least {self.least:g}"
        bounds = [lower] if max(self.above, self.least) > -math.inf else []
        bounds += [f"at most {self.most:g}"] if self.most < math.inf else []
        return " ".join(["a number", " and ".join(bounds)]).strip()

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
    most: int

    @property
    def allowed(self) -> str:
        return f"a whole number, at least {self.least}"

    def problem(self, value: Any) -> str | None:
        # True is an int to Python, and would be one layer or one step
        if not isinstance(value, int) or isinstance(value, bool):
            return f"must be a whole number, not {value!r}"
        if value > self.most:
            return f"must be at most {self.most}, not {value if value < 10**30 else 'so many'}"
        return f"must be at least {self.least}, not {value}" if value < self.least else None


class _Kind(NamedTuple):
    kind: type | UnionType
    words: str

    @property
    def allowed(self) -> str:
        return self.words

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, self.kind) else f"must be {self.words}, not {value!r}"


class _Named(NamedTuple):
    kind: type

    @property
    def allowed(self) -> str:
        return f"{self.kind.__name__}s by name"

    def problem(self, value: Any) -> str | None:
        if isinstance(value, dict) and all(
            isinstance(name, str) and isinstance(each, self.kind) for name, each in value.items()
        ):
            return None
        return f"must be {self.allowed}, not {value!r}"


class _Each(NamedTuple):
    kind: type | tuple[type, ...]
    words: str

    @property
    def allowed(self) -> str:
        return f"a tuple of {self.words}"

    def problem(self, value: Any) -> str | None:
        if isinstance(value, tuple) and all(isinstance(each, self.kind) for each in value):
            return None
        return f"must be {self.allowed}, not {value!r}"


class _Choice(NamedTuple):
    options: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.options)}"

    def problem(self, value: Any) -> str | None:
        if value in self.options:
            return None
        return f"cannot be {value!r}: {did_you_mean(str(value), list(self.options))}"


class _Split(NamedTuple):
    run: bool

    @property
    def allowed(self) -> str:
        return "the name of a split"

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, str) else f"must be {self.allowed}, not {value!r}"


class UsedSplit(NamedTuple):
    """A field that names a split, the split, and whether the model runs on its rows."""

    field: str
    split: str
    run: bool


def splits_of(component: "Component") -> list[UsedSplit]:
    """The splits that a component's fields name."""
    return [
        UsedSplit(field.name, getattr(component, field.name), rule.run)
        for field in dataclasses.fields(component)
        if isinstance(rule := field.metadata.get("rule"), _Split)
    ]


# Type checkers take the annotations for the constructor's types. They are told of the functions
# whose keywords they must read only: to the others they would forbid a default without its name.
@dataclass_transform(field_specifiers=(static, eqx.field, dataclasses.field))
class _CheckedMeta(_Meta):
    if not TYPE_CHECKING:  # whose signature would stand for that of every constructor

        def __call__(cls, *arguments: Any, **keywords: Any) -> Any:  # noqa: N805
            # before equinox raises an error of its own, which knows no old names
            known = [f.name for f in dataclasses.fields(cls) if f.init]
            for name in keywords:
                if name not in known:
                    raise ConfigError(
                        f"{cls.__name__} has no field {name!r}: {did_you_mean(name, known)}"
                    )
            return super().__call__(*arguments, **keywords)

        def __init__(cls, *arguments: Any, **keywords: Any) -> None:  # noqa: N805
            super().__init__(*arguments, **keywords)
            lines = [f"    {field}" for field in described(cls)]
            if lines and (doc := inspect.getdoc(cls)):
                before, _, _ = doc.partition(f"\n\n{_HEADING}")  # a parent's has its own
                cls.__doc__ = "\n".join([before, "", _HEADING, *lines])


_HEADING = "Fields:"


class Described(NamedTuple):
    """A field as `help`, errors and forms show it."""

    name: str
    allowed: str
    default: Any
    doc: str

    def __str__(self) -> str:
        default = [] if self.default is dataclasses.MISSING else [f"default {self.default!r}"]
        notes = "; ".join(filter(None, [self.allowed, *default]))
        return f"{self.name}: {self.doc} ({notes})" if notes else f"{self.name}: {self.doc}"


def described(kind: Any) -> list[Described]:
    """The fields that a constructor takes: what each means, and what it may be."""
    return [
        Described(
            field.name,
            getattr(field.metadata.get("rule"), "allowed", ""),
            field.default,
            field.metadata.get("doc", ""),
        )
        for field in dataclasses.fields(kind)
        if field.init
    ]


class Example(NamedTuple):
    """A component as the contract tests try it, on a task and with a model that suit it; where none
    is named they take the simplest."""

    component: "Component"
    task: "Component | None" = None
    model: "Component | None" = None


class Component(eqx.Module, metaclass=_CheckedMeta):
    """A frozen record whose fields are checked when it is made, before anything is compiled."""

    @property
    def uses(self) -> tuple[str, ...]:
        """Modules, besides that of its class, whose code decides what it does."""
        return ()

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """How the contract tests try it: by default with nothing but defaults."""
        return [Example(cls())]

    def _repr_html_(self) -> str:
        rows = [(name, getattr(self, name), doc) for name, _, _, doc in described(self)]
        return table(type(self).__name__, ("field", "value", "meaning"), rows)

    def __check_init__(self) -> None:
        for field in dataclasses.fields(self):
            rule = field.metadata.get("rule")
            problem = rule is not None and rule.problem(getattr(self, field.name))
            if problem:
                raise ConfigError(f"{type(self).__name__}.{field.name} {problem}")

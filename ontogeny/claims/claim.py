"""A claim is a function: its name is its identity, its docstring the sentence of the paper in our
words, its arguments the experiments that bear on it, and what it yields the evidence.

Bounds are written before the run.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple

import jax

from ..core.decision import Seeds
from ..core.evidence import Evidence
from ..core.external import AnyExperiment
from ..core.fields import ConfigError
from ..core.notebook import table
from ..core.run import Run
from ..engine.environment import missing
from ..engine.serialize import digest, record
from .departures import departures
from .region import Region, named_settings
from .scale import Scale, at, in_few_steps


@dataclass(frozen=True)
class Paper:
    """A source document."""

    key: str
    title: str
    url: str
    authors: str = ""  # where the document names them


COSTLY = Seeds(5, 10)
"""For claims of which a seed takes half a minute of a core or more."""

Found = Callable[..., Iterator[Evidence]]
Flat = tuple[list[tuple[str, AnyExperiment]], Any]  # experiments with their names; their tree


class Home(NamedTuple):
    """Where a claim is written."""

    module: str = ""
    file: str = ""
    line: int = 0
    spec: Any = None  # of the module: loading that again makes a new one; none of what is typed

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True, repr=False)
class Claim:
    """A sentence of a paper, the experiments that bear on it and the evidence they yield."""

    name: str
    says: str
    paper: Paper
    where: str
    experiments: Mapping[str, Any]  # an experiment, a mapping of such, or a function of the scale
    evidence: Found | None
    seeds: Seeds = field(default_factory=Seeds)
    headline: bool = False
    departures: tuple[str, ...] = ()  # those that are no field's
    untested: str = ""
    exact: str = ""  # why all seeds give the same: nothing is drawn
    home: Home = Home()  # noqa: RUF009 a tuple: nobody can change it
    of: str = ""  # the pretrained model that it is asked of, where that is for the asker to say
    region: Region | None = None  # what its paper leaves open
    _made: dict[Scale, Flat] = field(default_factory=dict, init=False, repr=False, compare=False)
    _departures: dict[Scale, list[str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def named(self, scale: Scale) -> dict[str, AnyExperiment]:
        """Its experiments by name; those of a sweep are called `argument value`."""
        return dict(self._flat(scale)[0])

    def weigh(self, scale: Scale, runs: Mapping[str, Run]) -> list[Evidence]:
        """The evidence that runs yield, one per experiment of `named`: first what decides."""
        assert self.evidence is not None
        names, shape = self._flat(scale)
        arguments = jax.tree.unflatten(shape, [runs[name] for name, _ in names])
        return sorted(self.evidence(**arguments), key=lambda each: not each.decides)

    def departures_at(self, scale: Scale) -> list[str]:
        """In what our setting differs from the paper's: computed for fields, told for the rest."""
        if scale not in self._departures:
            known = departures(self.named(scale), self.named(Scale.PAPER)) if self.evidence else ()
            self._departures[scale] = [*known, *self.departures]
        return self._departures[scale]

    def open_settings(self, scale: Scale) -> int:
        """How many settings of its experiments its paper leaves open, as far as we know."""
        if self.region is None or self.evidence is None:
            return 0
        return len(named_settings(self.region, self.named(scale)))

    def digest(self, scale: Scale) -> str:
        """Changes when what the claim runs changes."""
        return " ".join(digest(record(each)) for each in self.named(scale).values())

    def __repr__(self) -> str:
        return f"Claim({self.name!r}: {self.says})"

    def _repr_html_(self) -> str:
        rows = [("says", self.says), ("where", f"{self.paper.title}, {self.where}")]
        return table(self.name, ("claim", ""), rows, [self.untested] if self.untested else ())

    def _flat(self, scale: Scale) -> Flat:
        """All experiments, which are made once."""
        if scale not in self._made:
            # without `is_leaf` an experiment, a pytree itself, would fall apart into numbers
            leaves, shape = jax.tree.flatten_with_path(
                at(scale, self.experiments), is_leaf=lambda x: isinstance(x, AnyExperiment)
            )
            named = [(jax.tree_util.keystr(p, simple=True, separator=" "), x) for p, x in leaves]
            if scale == Scale.SMOKE:
                named = [(name, in_few_steps(experiment)) for name, experiment in named]
            self._made[scale] = named, shape
        return self._made[scale]


CLAIMS: dict[str, Claim] = {}


def claim(
    paper: Paper,
    where: str,
    *,
    name: str = "",
    says: str = "",
    seeds: int | Seeds = Seeds(),  # noqa: B008 a frozen record
    headline: bool = False,
    departures: tuple[str, ...] = (),
    exact: str = "",
    extra: str = "",
    region: Region | None = None,
    **experiments: Any,
) -> Callable[[Found], Found]:
    """Registers a function as a claim, with the experiments it takes.

    Its name and docstring are the claim's, unless one function serves all rows of a table: then
    each row gives its `name` and what it `says`. `seeds` are as many as it takes to decide, from
    the least to the most, or a fixed number; where nothing is drawn, `exact` says why, and one is
    enough. What needs an `extra` of the package is untested where that is not installed. A `region`
    is what the paper leaves open, for `ontogeny map`.
    """
    wanted_seeds = Seeds(seeds, seeds) if isinstance(seeds, int) else seeds
    wanted_seeds = Seeds(1, 1) if exact else wanted_seeds

    def register(evidence: Found) -> Found:
        wanted = inspect.signature(evidence).parameters.values()
        # one function that serves all rows of a table takes them as **: its names cannot be checked
        named = {each.name for each in wanted if each.kind != inspect.Parameter.VAR_KEYWORD}
        if named != set(experiments) and len(named) == len(wanted):
            raise ConfigError(f"{evidence.__name__} takes {named}, but has {set(experiments)}")
        reason, home = missing(extra), _home(evidence)
        made = Claim(
            name or evidence.__name__,
            says or " ".join((inspect.getdoc(evidence) or "").split()),
            paper,
            where,
            experiments,
            None if reason else evidence,
            wanted_seeds,
            headline,
            departures,
            reason,
            exact,
            home,
            region=region,
        )
        _register(made)
        return evidence

    return register


def untested(paper: Paper, where: str, name: str, says: str, reason: str) -> None:
    """Registers a claim that cannot be judged here, and why."""
    caller = sys._getframe(1)
    module = str(caller.f_globals.get("__name__"))
    home = Home(module, caller.f_code.co_filename, caller.f_lineno, _spec(module))
    _register(Claim(name, says, paper, where, {}, None, untested=reason, home=home))


def _home(evidence: Found) -> Home:
    function = inspect.unwrap(evidence)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    code, module = function.__code__, function.__module__ or ""  # nothing, of what `exec` runs
    return Home(module, code.co_filename, code.co_firstlineno, _spec(module))


def _spec(module: str) -> Any:
    return getattr(sys.modules.get(module), "__spec__", None)


def _register(made: Claim) -> None:
    """Adds a claim; one that is typed again, or whose module is loaded again, replaces itself."""
    known, home = CLAIMS.get(made.name), made.home
    if known and not (
        known.home.module == home.module and (known.home.spec is not home.spec or not home.spec)
    ):
        raise ConfigError(f"two claims are called {made.name}: {known.home}, and {home}")
    papers = {each.paper.key: each for each in CLAIMS.values() if each.name != made.name}
    other = papers.get(made.paper.key)
    if other and other.paper != made.paper and other.home.module != home.module:
        raise ConfigError(f"two papers have the key {made.paper.key}: {other.home}, and {home}")
    CLAIMS[made.name] = made


@cache
def read_papers() -> None:
    """Loads the claims of this package: importing a file is what registers them."""
    package = importlib.import_module("ontogeny.claims.papers")
    for module in pkgutil.walk_packages(package.__path__, "ontogeny.claims.papers."):
        importlib.import_module(module.name)


def all_claims() -> dict[str, Claim]:
    """Every claim: those of the papers, of installed packages and of the project that one is in,
    and whatever else has been loaded."""
    from .outside import installed, project

    read_papers()
    installed()
    project()
    return CLAIMS

"""Claims by what one types: a paper's key, a name, a part of it, or parts with `*` in between."""

from ..core import renamed
from ..core.fields import ConfigError, did_you_mean
from .claim import Claim, all_claims
from .outside import claims_at, is_place

LONGEST = 200  # characters: no name is nearly as long


def find(patterns: list[str]) -> list[Claim]:
    """The claims that patterns name: `all`, a paper's key, a name, or a part of it (with `*`); a
    file (`FILE.py`), or a claim in one (`FILE.py:claim`).

    Without a pattern, the headline claim of each paper.
    """
    known = all_claims()
    places = [pattern for pattern in patterns if is_place(pattern)]
    outside = [claim for place in places for claim in claims_at(place)]
    if not patterns:
        return [c for c in known.values() if c.headline]
    found = {claim.name: claim for claim in outside}
    for pattern in (checked(each) for each in patterns if each not in places):
        if pattern in renamed.CLAIMS and pattern not in known:
            raise ConfigError(f"{pattern} is now called {renamed.CLAIMS[pattern]}")
        # a whole name, even if it is a part of another, means that claim alone
        named = {
            name: c
            for name, c in known.items()
            if pattern in ("all", c.paper.key, name) or matches(pattern, name)
        } or {name: c for name, c in known.items() if occurs(pattern, name)}
        if not named:
            words = [*known, *(c.paper.key for c in known.values())]
            raise ConfigError(f"no claim {pattern!r}: {did_you_mean(pattern, words)}")
        found |= named
    return list(found.values())


def find_one(pattern: str) -> Claim:
    """The one claim that a name, or enough of it, stands for."""
    found = find([pattern])
    exact = [claim for claim in found if claim.name == pattern.rpartition(":")[2]]
    if len(exact or found) > 1:
        names = ", ".join(claim.name for claim in found)
        raise ConfigError(f"{pattern!r} could be any of {names}")
    return (exact or found)[0]


def checked(pattern: str) -> str:
    """The pattern, if it can name anything."""
    if not pattern:
        raise ConfigError(
            "an empty pattern names no claim: give a name, a part of it, a paper or all"
        )
    if len(pattern) > LONGEST:
        raise ConfigError(
            f"a pattern of {len(pattern)} characters, {pattern[:20]!r}...: "
            f"at most {LONGEST} can name a claim"
        )
    return pattern


def matches(pattern: str, name: str) -> bool:
    """Whether all of a name is as a pattern with `*` says."""
    first, *middle = pattern.split("*")
    if not middle:
        return False
    *middle, last = middle
    inside = len(name) - len(last)
    return (
        len(first) <= inside
        and name.startswith(first)
        and name.endswith(last)
        and _in_turn(middle, name[len(first) : inside])
    )


def occurs(pattern: str, name: str) -> bool:
    """Whether some of a name is as a pattern says, with `*` or without."""
    return _in_turn(pattern.split("*"), name)


def _in_turn(parts: list[str], name: str) -> bool:
    """Whether a name has these parts one after the other.

    The first place of each leaves most room for the rest, so that nothing need be tried twice; a
    regular expression would try all places, ten times as many with every further star.
    """
    start = 0
    for part in parts:
        place = name.find(part, start)
        if place < 0:
            return False
        start = place + len(part)
    return True

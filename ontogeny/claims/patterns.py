"""Patterns that name claims: a name, a part of it, or parts with `*` for anything in between."""

from ..core.fields import ConfigError

LONGEST = 200  # characters: no name is nearly as long


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

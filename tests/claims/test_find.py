"""Patterns that name claims: as regular expressions would say, in bounded time."""

import random
import re
import time

import pytest

from ontogeny.claims.claim import CLAIMS
from ontogeny.claims.find import find, find_one, matches, occurs
from ontogeny.core.fields import ConfigError


def test_a_pattern_says_what_the_regular_expression_would():
    rng, found = random.Random(0), 0
    for _ in range(20_000):
        name = "".join(rng.choices("ab_", k=rng.randint(0, 8)))
        pattern = "".join(rng.choices("ab_**", k=rng.randint(1, 5)))
        expression = re.compile(re.escape(pattern).replace(r"\*", ".*"))
        whole = "*" in pattern and expression.fullmatch(name) is not None
        assert matches(pattern, name) == whole, (pattern, name)
        assert occurs(pattern, name) == (expression.search(name) is not None), (pattern, name)
        found += whole
    assert found > 1000


@pytest.mark.parametrize("pattern", ["*" * 200, "*" * 199 + "!", "a*" * 100, "_*" * 99 + "!!"])
def test_no_pattern_takes_long(pattern):
    start = time.monotonic()
    try:
        assert find([pattern])
    except ConfigError:
        assert "!" in pattern or pattern.startswith("a")
    assert time.monotonic() - start < 2


def test_stars_alone_stand_for_all_claims():
    assert find(["*"]) == find(["******"]) == list(CLAIMS.values())


@pytest.mark.parametrize("find_any", [lambda pattern: find([pattern]), find_one])
def test_an_empty_pattern_and_a_very_long_one_are_refused(find_any):
    with pytest.raises(ConfigError, match="an empty pattern names no claim"):
        find_any("")
    with pytest.raises(ConfigError, match="100000 characters") as refused:
        find_any("x" * 100_000)
    assert len(str(refused.value)) < 200  # it is not said back whole


def test_a_long_word_is_guessed_at_no_longer_than_a_short_one():
    start = time.monotonic()
    for pattern in ("joint_" * 33, "e_" * 99, "_".join(CLAIMS)[:200]):
        with pytest.raises(ConfigError, match="no claim"):
            find([pattern])
    assert time.monotonic() - start < 2

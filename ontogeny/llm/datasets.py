"""Tables of analogies and prompts, from the package's own files or a user's."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from ..core.fields import ConfigError, did_you_mean

Row = TypeVar("Row")

DATA = Path(__file__).parent / "data"
PACKAGED = ("analogies", "completions")

# the six relations of the paper (arXiv 2603.05143, Table 6), cut off where the answer begins
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
    """Two entities that share an aspect, and the category of both; training names only one's."""

    source: str
    target: str
    aspect: str
    relation: str
    category: str


class Completion(NamedTuple):
    """A prompt, the word that answers it, and a word that is frequent after any prompt."""

    prompt: str
    answer: str
    common: str


def analogies(source: str) -> list[Analogy]:
    """Analogies from a file."""
    rows = [Analogy(*row) for row in read_rows(source, Analogy._fields)]
    # line 1 is the header
    for number, row in enumerate(rows, 2):
        if row.relation not in TEMPLATES:
            hint = did_you_mean(row.relation, TEMPLATES)
            raise ConfigError(f"{source}, line {number}: no relation {row.relation!r}: {hint}")
    return rows


def completions(source: str) -> list[Completion]:
    """Prompts from a file."""
    return [Completion(*row) for row in read_rows(source, Completion._fields)]


def file_of(source: str) -> Path:
    """A file by the name of a packaged one, or by its path."""
    return DATA / f"{source}.csv" if source in PACKAGED else Path(source).expanduser()


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
        raise ConfigError(f"{source} does not exist: {did_you_mean(source, PACKAGED)}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{source} cannot be read: {error}") from None
    for number, row in enumerate(rows, 2):
        if not all(row):
            raise ConfigError(f"{source}, line {number}: {columns[row.index('')]} is empty")
    if not rows:
        raise ConfigError(f"{source} has no rows")
    return rows


def shard(rows: Sequence[Row], shards: int, seed: int) -> tuple[list[Row], list[Row]]:
    """A seed's own share of the rows, one of so many, and the rest: so seeds are independent."""
    if len(rows) < shards:
        raise ConfigError(f"there are {len(rows)} rows, too few for {shards} shards")
    # not the seed's: all seeds cut the same order, or their shards would overlap
    order = np.random.default_rng(0).permutation(len(rows))
    own = set(order[seed % shards :: shards].tolist())
    mine = [row for n, row in enumerate(rows) if n in own]
    return mine, [row for n, row in enumerate(rows) if n not in own]


def made_up(count: int, seed: int, taken: Sequence[str] = ()) -> list[str]:
    """Distinct words that no model has seen, such as `zorbel`."""
    # the 7 keeps these draws apart from others that the seed decides
    rng = np.random.default_rng([seed, 7])
    letters = [list(kind) for kind in ("bdfgklmnprstvz", "aeiou", "lnrsx")]
    found: dict[str, None] = {}
    while len(found) < count:
        word = "".join(str(rng.choice(kind)) for kind in letters * 2)
        if word not in taken:
            found[word] = None
    return list(found)

"""Which token follows which: counts of a text, or a law for any vocabulary.

shakespeare        the 65 characters of Shakespeare's plays (tiny Shakespeare), as counted
uniform 64         64 tokens, each as likely after any other
zipf 200           200 tokens; after each, the others by Zipf's law in an order of its own
path/to/text.txt   the characters of a text of yours (UTF-8)
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from jaxtyping import Float


class BadText(ValueError):  # noqa: N818
    """A source of bigrams that cannot be one: the message says what is wrong with it."""


@dataclass(frozen=True, eq=False)
class Bigrams:
    """Counts, or chances up to a factor, of pairs of tokens."""

    tokens: tuple[str, ...]
    pairs: Float[np.ndarray, "token next"]

    @property
    def first(self) -> Float[np.ndarray, " token"]:
        """How likely each token is by itself."""
        counts = self.pairs.sum(axis=1)
        often: np.ndarray = counts / counts.sum()
        return often

    @property
    def after(self) -> Float[np.ndarray, "token next"]:
        """How likely each token is after another; one that nothing follows starts anew."""
        # the last character of a text may occur nowhere else: its row is empty
        counts = self.pairs.sum(axis=1, keepdims=True)
        return np.where(counts > 0, self.pairs / np.maximum(counts, 1e-30), self.first)

    def commonest(self, number: int) -> tuple[int, ...]:
        """The most frequent tokens, the first first."""
        return tuple(map(int, np.argsort(-self.first, kind="stable")[:number]))


def named(source: str) -> str:
    """A source as one may store it: a path is followed by a mark of what the file holds."""
    # a stored name is read again by the same field: what has a mark keeps it
    if _law(source) or "#" in source:
        return source
    return f"{source}#{_mark(_read(source))}"


@cache
def bigrams(source: str) -> Bigrams:
    """The table of a source."""
    if source == "shakespeare":
        stored = json.loads(files(__package__).joinpath("shakespeare.json").read_text())
        return Bigrams(tuple(stored["characters"]), np.array(stored["bigrams"], float))
    if law := _law(source):
        return _LAWS[law[0]](law[1])
    path, _, mark = source.partition("#")
    text = _read(path)
    if mark and mark != _mark(text):
        raise BadText(f"{path} is no longer the text it was: its mark was {mark}")
    return of_text(text, path)


def of_text(text: str, name: str = "the text") -> Bigrams:
    """Counts of a text's characters."""
    tokens = tuple(sorted(set(text)))
    if len(tokens) < 2:
        found = f"one character, {tokens[0]!r}" if tokens else "nothing"
        raise BadText(f"{name} holds {found}: a bigram model needs at least two characters")
    number = {token: place for place, token in enumerate(tokens)}
    codes = np.array([number[token] for token in text])
    pairs = np.zeros((len(tokens), len(tokens)))
    # add.at counts a pair as often as it occurs; += on an index would count it once
    np.add.at(pairs, (codes[:-1], codes[1:]), 1.0)
    return Bigrams(tokens, pairs)


def _uniform(size: int) -> Bigrams:
    return Bigrams(tuple(map(str, range(size))), np.ones((size, size)))


def _zipf(size: int) -> Bigrams:
    """Chances fall like one over the rank; which token has which rank depends on the one before.

    Ranks are drawn with a leaning to low numbers, so that some tokens are common throughout.
    """
    # the size is the seed: a name means the same table in every run and process
    ranks = np.random.default_rng(size).uniform(size=(size, size)) + np.arange(size) / size
    order = np.argsort(ranks, axis=1)
    after = np.zeros((size, size))
    np.put_along_axis(after, order, 1 / np.arange(1, size + 1)[None].repeat(size, 0), axis=1)
    after /= after.sum(axis=1, keepdims=True)
    often = np.full(size, 1 / size)
    for _ in range(200):  # to the chain's own frequencies
        often = often @ after
    return Bigrams(tuple(map(str, range(size))), often[:, None] * after)


_LAWS = {"uniform": _uniform, "zipf": _zipf}


def _law(source: str) -> tuple[str, int] | None:
    """The name of a law and its vocabulary; nothing if the source is a file."""
    word, _, size = source.partition(" ")
    if word == "shakespeare" and not size:
        return word, 65
    if word not in _LAWS:
        return None
    if not size.isdigit() or int(size) < 2:
        raise BadText(f"{source!r}: say how many tokens, at least two, as in '{word} 64'")
    return word, int(size)


def _read(path: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        wrong = error.object[error.start]
        raise BadText(
            f"{path} is not UTF-8: byte {error.start} is 0x{wrong:02x} ({error.reason})"
        ) from error
    except OSError as error:
        raise BadText(
            f"no text at {path!r} ({error.strerror}): give a file, 'shakespeare', 'uniform 64' "
            "or 'zipf 64'"
        ) from error


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]

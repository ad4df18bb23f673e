"""A text corpus as tokens: words of a vocabulary built from it, or bytes."""

import os
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from ..core.fields import ConfigError

WIKITEXT = "wikitext-2"
VARIABLE = "ONTOGENY_WIKITEXT"
UNKNOWN = "<unk>"


class Corpus(NamedTuple):
    """Training and held-out tokens, and the size of the vocabulary."""

    train: Int[np.ndarray, " token"]
    held_out: Int[np.ndarray, " token"]
    vocab: int


def no_wikitext() -> str:
    """How to give a copy of WikiText-2; nothing if one is given."""
    folder = os.environ.get(VARIABLE, "")
    if folder and (Path(folder) / "train.txt").exists():
        return ""
    return f"it needs WikiText-2: set {VARIABLE} to a folder with its train.txt and valid.txt"


def files_of(source: str) -> tuple[Path, ...]:
    """The files of a corpus: one by its path, or the training and held-out files of WikiText-2."""
    if source != WIKITEXT:
        return (Path(source).expanduser(),)
    folder = Path(os.environ.get(VARIABLE, ""))
    return folder / "train.txt", folder / "valid.txt"


def read_corpus(source: str, units: str, vocab: int) -> Corpus:
    """A corpus as tokens; of a single file, the last tenth is held out."""
    if source == WIKITEXT and (reason := no_wikitext()):
        raise ConfigError(f"{WIKITEXT} is not here: {reason}")
    parts = [_read(path) for path in files_of(source)]
    if len(parts) == 1:
        cut = len(parts[0]) * 9 // 10
        parts = [parts[0][:cut], parts[0][cut:]]
    if units == "bytes":
        train, held_out = (
            np.frombuffer(each.encode(), np.uint8).astype(np.int64) for each in parts
        )
        return Corpus(train, held_out, 256)
    words = [each.replace("\n", " <eos> ").split() for each in parts]
    # of the training part alone. WikiText itself has <unk>: both kinds of unknown are index 0
    common = [word for word, _ in Counter(words[0]).most_common(vocab) if word != UNKNOWN]
    indices = {word: index for index, word in enumerate([UNKNOWN, *common[: vocab - 1]])}
    train, held_out = (np.array([indices.get(word, 0) for word in each]) for each in words)
    return Corpus(train, held_out, len(indices))


def _read(path: Path) -> str:
    try:
        found = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read as text: {error}") from None
    if len(found) < 1000:
        raise ConfigError(f"{path} is too short to learn from")
    return found

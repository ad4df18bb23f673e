"""Files that are there whole or not at all, and are what they say.

Sealed means: with a hash of what was written. Whatever is read is measured before memory is taken
for it, and nothing is ever unpickled.
"""

import errno
import hashlib
import json
import math
import os
import shutil
import stat
import uuid
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

Arrays = dict[str, np.ndarray]

LONGEST = 2**26  # bytes of a text that is read
MOST_SEEDS = 100_000
_TRIES = 5  # to write where others write and discard at the same time


class Damaged(ValueError):  # noqa: N818
    """A file that is not what was written, or not of ours: the message says why."""


# ------------------------------------------------------------------------------------- texts


def write_whole(path: Path, content: str | bytes, aside: Path | None = None) -> None:
    """Writes a file so that a reader finds the old content or the new one, never a part.

    What is being written stands `aside`, by default next to it.
    """
    # a path may hold what no text can
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # a pipe or a device is written to, never replaced
        path.write_bytes(data)
        return
    (aside or path.parent).mkdir(parents=True, exist_ok=True)
    draft = (aside or path.parent) / f".{uuid.uuid4().hex}"
    try:
        draft.write_bytes(data)
        flush(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_bytes(path: Path) -> bytes:
    """What a file holds, if it is one, and of a size that texts have."""
    with path.open("rb") as file:
        known = os.fstat(file.fileno())
        if not stat.S_ISREG(known.st_mode) or known.st_size > LONGEST:
            raise Damaged(f"it is longer than {LONGEST:,} bytes, or no file")
        return file.read(known.st_size)


def read_json(path: Path) -> Any:
    """What a text says."""
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"it is no JSON ({error})") from error


def write_note(path: Path, content: dict[str, Any], aside: Path) -> None:
    """Writes a sealed text."""
    sealed = {"seal": _seal(content), "content": content}
    write_whole(path, json.dumps(sealed, indent=1, ensure_ascii=False), aside)


def read_note(path: Path, shape: Any) -> dict[str, Any]:
    """What a sealed text says, if it has not changed since and has the shape of such a text."""
    known = read_json(path)
    if not isinstance(known, dict) or known.keys() != {"seal", "content"}:
        raise Damaged("it has no seal: another program, or an older version, wrote it")
    content = known["content"]
    if known["seal"] != _seal(content):
        raise Damaged("it has changed since it was written")
    if problem := misfit(content, shape):
        raise Damaged(problem)
    assert isinstance(content, dict)
    return content


def _seal(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# ------------------------------------------------------------------------------------ shapes

NUMBER = (float, int, type(None))  # JSON's null is a number that is none
SEEDS = range(MOST_SEEDS + 1)


def misfit(value: Any, shape: Any, path: str = "it") -> str:
    """Where a value does not have a shape: a type or some, a range, a list of one shape, or names
    with their shapes (others may stand beside them; `...` is any name). Nothing if it fits."""
    if isinstance(shape, dict) and ... in shape and isinstance(value, dict):
        shape = dict.fromkeys(value, shape[...])
    match shape:
        case dict():
            if not isinstance(value, dict):
                return f"{path} is no object"
            missing = [name for name in shape if name not in value]
            if missing:
                return f"{path} has no {missing[0]!r}"
            found = (misfit(value[name], each, f"{path}.{name}") for name, each in shape.items())
        case [inner]:
            if not isinstance(value, list):
                return f"{path} is no list"
            found = (misfit(each, inner, f"{path}[{n}]") for n, each in enumerate(value))
        case range():
            whole = isinstance(value, int) and not isinstance(value, bool)
            return "" if whole and value in shape else f"{path} is no number of this kind"
        case _:
            fits = isinstance(value, shape) and not (shape is NUMBER and isinstance(value, bool))
            finite = not isinstance(value, float) or math.isfinite(value)
            return "" if fits and finite else f"{path} is of another kind"
    return next(filter(None, found), "")


# ------------------------------------------------------------------------------------ arrays


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Arrays by name, as they are in memory."""
    with path.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_arrays(path: Path) -> Arrays:
    """The same again. Every array says how large it is before it is read: if that is not what the
    file holds, it is not read."""
    with zipfile.ZipFile(path) as archive:
        return {
            member.filename.removesuffix(".npy"): _array(archive, member)
            for member in archive.infolist()
        }


_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    if member.compress_type != zipfile.ZIP_STORED:  # packed, it could hold any amount of zeros
        raise Damaged(f"{member.filename} is packed")
    with archive.open(member) as file:
        shape, by_column, dtype = _HEADERS[npy.read_magic(file)](file)
        data = file.read()
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data):
        raise Damaged(f"{member.filename} does not hold what it says")
    flat = np.frombuffer(bytearray(data), dtype)  # a copy that may be written to
    return flat.reshape(shape, order="F" if by_column else "C")


# ------------------------------------------------------------------------------------- files


def file_hash(path: Path) -> str:
    """A hash of what a file holds."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(path: Path) -> None:
    """Sees to it that what was written survives a power cut; folders only where they can be."""
    with suppress(*([OSError] if path.is_dir() else [])):  # Windows opens no folders
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def put(aside: Path, folder: Path) -> None:
    """Moves a folder into its place. If another process put the same there before, one is as good
    as the other; it may be gone again by now, and so may the folder around it."""
    for left in reversed(range(_TRIES)):
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.rename(folder)
        except FileNotFoundError:  # another process has just discarded the folder around it
            if not left:
                raise
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) and not folder.is_dir():
                raise
            return
        else:
            with suppress(FileNotFoundError):
                flush(folder.parent)
            return


def discard(folder: Path, aside: Path) -> None:
    """Removes a folder: first out of the way in one step, so that nobody finds a part of it."""
    gone = aside / uuid.uuid4().hex
    with suppress(OSError):  # another process was quicker, or nothing may be written here
        aside.mkdir(parents=True, exist_ok=True)
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)

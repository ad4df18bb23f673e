"""Runs on disk, addressed by the spelled-out experiment and the seed.

    runs/DIGEST-SEED/      experiment.json · answers.npz · environment.json · seal.json
    partial/DIGEST-SEED/   checkpoints of runs that are under way
    verdicts/              the last verdict of each claim
    variations/            what came of changing a claim
    working/               how far those are who run something here
    damaged/               what failed its check, set aside

A folder is written elsewhere and moved into place in one step, so it is there whole or not at all.
Its seal holds a hash of every file. Nothing is ever unpickled.
"""

import hashlib
import json
import logging
import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
log = logging.getLogger("ontogeny")


@dataclass(frozen=True)
class Record:
    """One finished run of one seed."""

    answers: Arrays
    trouble: str
    environment: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """An unfinished run: where it is, what it carries, what it has answered."""

    position: tuple[int, int]
    state: Arrays
    answers: Arrays
    notes: dict[str, Any]


class Store:
    """A folder of runs. Several processes may use it at once."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    # -- finished runs

    def empty(self) -> bool:
        """Whether no run is kept."""
        return not any((self.root / "runs").glob("*"))

    def has(self, name: str) -> bool:
        """Whether a run was sealed; its files are checked when it is loaded."""
        return (self.root / "runs" / name / "seal.json").exists()

    def load(self, name: str) -> Record | None:
        """A sealed run; None if there is none, or if it was damaged and is now set aside."""
        files = self._open(self.root / "runs" / name)
        if files is None:
            return None
        try:
            environment = json.loads(files["environment.json"].read_text())
            trouble, _ = str(environment["trouble"]), float(environment["seconds"])
            return Record(_arrays(files["answers.npz"]), trouble, environment)
        except Exception as error:  # whatever it holds, it is none of ours
            self._set_aside(self.root / "runs" / name, f"cannot be read ({error})")
            return None

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Writes a finished run, whole or not at all, and drops its checkpoints."""
        self._write(
            self.root / "runs" / name,
            arrays={"answers.npz": record.answers},
            texts={"experiment.json": experiment, "environment.json": record.environment},
        )
        shutil.rmtree(self.root / "partial" / name, ignore_errors=True)

    # -- unfinished runs

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest whole checkpoint of a run."""
        for folder in sorted(self._folders("partial", name), reverse=True):
            files = self._open(folder)
            if files is None:
                continue
            try:
                notes = json.loads(files["notes.json"].read_text())
                state, answers = _arrays(files["state.npz"]), _arrays(files["answers.npz"])
                stage, look = notes["position"]
                return Checkpoint((stage, look), state, answers, notes)
            except Exception as error:
                self._set_aside(folder, f"cannot be read ({error})")
        return None

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint and drops the older ones."""
        stage, look = checkpoint.position
        folder = self.root / "partial" / name / f"{stage:04d}-{look:06d}"
        self._write(
            folder,
            arrays={"state.npz": checkpoint.state, "answers.npz": checkpoint.answers},
            texts={"notes.json": checkpoint.notes | {"position": checkpoint.position}},
        )
        for older in self._folders("partial", name):
            if older.name < folder.name:
                shutil.rmtree(older, ignore_errors=True)

    # -- verdicts

    def verdict(self, name: str) -> dict[str, Any] | None:
        """The last verdict of a claim, if there is a readable one."""
        try:
            verdict = json.loads(self._verdict_path(name).read_text())
            return verdict if isinstance(verdict, dict) else None
        except (OSError, ValueError):
            return None

    def save_verdict(self, name: str, verdict: dict[str, Any]) -> None:
        """Replaces the last verdict of a claim."""
        write_whole(self._verdict_path(name), json.dumps(verdict, indent=1))

    # -- what if, and who is at work

    def save_variation(self, name: str, variation: dict[str, Any]) -> None:
        """Keeps what came of changing a claim."""
        write_whole(self.root / "variations" / f"{name}.json", json.dumps(variation, indent=1))

    def variations(self) -> list[dict[str, Any]]:
        """All that can be read of them, the newest last."""
        return _read_all(self.root / "variations")

    def note_work(self, pid: int, news: dict[str, Any] | None) -> None:
        """How far a process is; nothing, once it is done."""
        path = self.root / "working" / f"{pid}.json"
        if news is None:
            path.unlink(missing_ok=True)
        else:
            write_whole(path, json.dumps(news))

    def works(self) -> list[dict[str, Any]]:
        """How far those processes of this machine are that run something here."""
        host = socket.gethostname()
        found = [
            work for work in _read_all(self.root / "working") if {"pid", "host"} <= work.keys()
        ]
        return [work for work in found if work["host"] != host or _alive(work["pid"])]

    def _verdict_path(self, name: str) -> Path:
        return self.root / "verdicts" / f"{name}.json"

    # -- what it holds

    def names(self) -> list[str]:
        """Every sealed run."""
        return [folder.name for folder in self._folders("runs")]

    def describe(self, name: str) -> dict[str, Any] | None:
        """The spelled-out experiment and the environment of a sealed run."""
        files = self._open(self.root / "runs" / name)
        return files and {
            part: json.loads(files[f"{part}.json"].read_text())
            for part in ("experiment", "environment")
        }

    def size(self, *kinds: str) -> int:
        """Bytes under some of its folders, or under one run."""
        return sum(
            path.stat().st_size
            for kind in kinds
            for path in (self.root / kind).rglob("*")
            if path.is_file()
        )

    def prune(self, keep: set[str]) -> int:
        """Removes checkpoints, damaged and half-written folders, and runs of experiments whose
        digest is not kept; says how many bytes that freed."""
        before = self.size("runs", "partial", "damaged", "tmp")
        for name in self.names():
            if name.rpartition("-")[0] not in keep:
                shutil.rmtree(self.root / "runs" / name, ignore_errors=True)
        for kind in ("partial", "damaged", "tmp"):
            shutil.rmtree(self.root / kind, ignore_errors=True)
        return before - self.size("runs", "partial", "damaged", "tmp")

    # -- folders that are there whole or not at all

    def _folders(self, *parts: str) -> list[Path]:
        try:
            return sorted(path for path in self.root.joinpath(*parts).iterdir() if path.is_dir())
        except OSError:
            return []

    def _open(self, folder: Path) -> dict[str, Path] | None:
        """The files of a sealed folder, each checked against its hash."""
        if not folder.is_dir():
            return None
        try:
            seal = json.loads((folder / "seal.json").read_text())
            files = {name: folder / name for name in seal if name == Path(name).name}
            for name, path in files.items():
                if _hash(path) != seal[name]:
                    self._set_aside(folder, f"{name} has changed since it was written")
                    return None
            return files
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            if folder.is_dir():  # if not, another process finished with it meanwhile
                self._set_aside(folder, f"its seal cannot be read ({error})")
            return None

    def _write(self, folder: Path, arrays: dict[str, Arrays], texts: dict[str, Any]) -> None:
        aside = self.root / "tmp" / uuid.uuid4().hex
        aside.mkdir(parents=True)
        try:
            for name, content in arrays.items():
                with (aside / name).open("wb") as file:
                    np.savez(file, **content)  # type: ignore[arg-type]
            for name, text in texts.items():
                (aside / name).write_text(json.dumps(text, indent=1))
            seal = {path.name: _hash(path) for path in sorted(aside.iterdir())}
            (aside / "seal.json").write_text(json.dumps(seal, indent=1))
            for path in aside.iterdir():
                _flush(path)
            folder.parent.mkdir(parents=True, exist_ok=True)
            try:
                aside.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
                # another process wrote the same: one is as good as the other
            _flush(folder.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _set_aside(self, folder: Path, reason: str) -> None:
        place = self.root / "damaged" / f"{folder.name}-{uuid.uuid4().hex[:8]}"
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.rename(place)
        except OSError:  # another process was quicker
            return
        log.warning("%s: %s; set aside in %s and to be run again", folder, reason, place)


def write_whole(path: Path, text: str) -> None:
    """Writes a file so that a reader finds the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        aside.write_text(text)
        _flush(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _read_all(folder: Path) -> list[dict[str, Any]]:
    """The JSON objects of a folder, the newest last; what cannot be read is left out."""
    found = []
    for path in folder.glob("*.json"):
        try:
            known = json.loads(path.read_text())
            written = path.stat().st_mtime
        except (OSError, ValueError):
            continue
        if isinstance(known, dict):
            found.append((written, path.name, known))
    return [known for *_, known in sorted(found, key=lambda each: each[:2])]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there, and another's
    return True


def _arrays(path: Path) -> Arrays:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Sees to it that what was written survives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def entries(store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every readable run of a store, with its experiment and environment."""
    for name in store.names():
        described = store.describe(name)
        if described:
            yield name, described

"""Runs on disk, addressed by the spelled-out experiment and the seed.

    runs/DIGEST-SEED/      experiment.json · answers.npz · environment.json · seal.json
    partial/DIGEST-SEED/   checkpoints of runs that are under way
    parameters/DIGEST-SEED/STEP/   parameters that somebody asked to keep
    verdicts/              the last verdict of each claim
    sweeps/ maps/          what came of changing a claim
    working/               how far those are who run something here
    damaged/               what failed its check, set aside
    format                 the number of this layout

A folder is written elsewhere and moved into place in one step, so it is there whole or not at all.
Its seal holds a hash of every file; verdicts and other texts carry theirs. Nothing is ever
unpickled. What is not as it was written is set aside with a message, and harms nobody else.
"""

import json
import logging
import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..core.process import is_alive
from .files import (
    Arrays,
    Damaged,
    discard,
    file_hash,
    flush,
    misfit,
    put,
    read_arrays,
    read_json,
    read_note,
    write_arrays,
    write_note,
)
from .shapes import ENVIRONMENT, NOTES, WORK

Held = TypeVar("Held")

log = logging.getLogger("ontogeny")

_FORMAT = "2"  # of a store: runs that were written in another are not used, and not touched
_STALE = 3600.0  # seconds after which nobody is still writing what stands aside
_SILENT = 1800.0  # after which whoever said how far it is has gone, if one cannot ask


@dataclass(frozen=True)
class Record:
    """One finished run of one seed."""

    answers: Arrays
    failure: str
    environment: dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """An unfinished run: how far it is, what it carries, what it has answered."""

    evaluations: int  # that are done
    state: Arrays
    answers: Arrays
    notes: dict[str, Any]


def usual_folder() -> Path:
    """Where runs are kept if nobody says where: `$ONTOGENY_STORE`, else `.ontogeny`."""
    return Path(os.environ.get("ONTOGENY_STORE") or ".ontogeny")


class Store:
    """A folder of runs. Several processes may use it at once."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)
        self._swept = False

    # -- finished runs

    def empty(self) -> bool:
        """Whether no run is kept."""
        return not any((self.root / "runs").glob("*"))

    def has(self, name: str) -> bool:
        """Whether a run was sealed; its files are checked when it is loaded."""
        return (self.root / "runs" / name / "seal.json").exists()

    def load(self, name: str) -> Record | None:
        """A sealed run; None if there is none, or if it was damaged and is now set aside."""
        return self._read(self.root / "runs" / name, _record)

    def seal(self, name: str, experiment: dict[str, Any], record: Record) -> None:
        """Writes a finished run, whole or not at all, and drops its checkpoints."""
        self._write(
            self.root / "runs" / name,
            arrays={"answers.npz": record.answers},
            texts={"experiment.json": experiment, "environment.json": record.environment},
        )
        self._discard(self.root / "partial" / name)

    # -- unfinished runs

    def checkpoint(self, name: str) -> Checkpoint | None:
        """The newest whole checkpoint of a run."""
        newest = reversed(self._folders("partial", name))
        found = (self._read(folder, _checkpoint) for folder in newest)
        return next((checkpoint for checkpoint in found if checkpoint), None)

    def save(self, name: str, checkpoint: Checkpoint) -> None:
        """Writes a checkpoint and drops the older ones."""
        folder = self.root / "partial" / name / f"{checkpoint.evaluations:06d}"
        self._write(
            folder,
            arrays={"state.npz": checkpoint.state, "answers.npz": checkpoint.answers},
            texts={"notes.json": checkpoint.notes | {"evaluations": checkpoint.evaluations}},
        )
        for older in self._folders("partial", name):
            if older.name < folder.name:
                self._discard(older)

    # -- parameters, on request

    def keep(self, name: str, step: int, params: Arrays) -> None:
        """Writes the parameters that a run has after so many steps."""
        folder = self.root / "parameters" / name / f"{step:09d}"
        self._write(folder, arrays={"params.npz": params}, texts={})

    def kept(self, name: str) -> list[int]:
        """After how many steps the parameters of a run were kept."""
        folders = [folder.name for folder in self._folders("parameters", name)]
        return sorted(int(step) for step in folders if step.isdecimal())

    def parameters(self, name: str, step: int) -> Arrays | None:
        """Them again; None if there are none, or if they were damaged and are now set aside."""
        folder = self.root / "parameters" / name / f"{step:09d}"
        return self._read(folder, lambda files: read_arrays(files["params.npz"]))

    # -- verdicts, sweeps and maps, and who is at work

    def note(self, kind: str, name: str) -> dict[str, Any] | None:
        """The last verdict on a claim, or a map or sweep of it, if there is a sound one."""
        return self._note(self.root / kind / f"{name}.json", NOTES[kind])

    def notes(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """All verdicts, maps or sweeps that are sound, with their names, the newest last."""
        return [(path.stem, each) for path, each in self._notes(kind, NOTES[kind])]

    def save_note(self, kind: str, name: str, note: dict[str, Any]) -> None:
        """Replaces it."""
        write_note(self.root / kind / f"{name}.json", note, self.root / "tmp")

    def note_work(self, pid: int, news: dict[str, Any] | None) -> None:
        """How far a process is; nothing, once it is done."""
        path = self.root / "working" / f"{socket.gethostname()}-{pid}.json"
        if news is None:
            path.unlink(missing_ok=True)
        else:
            write_note(path, news, self.root / "tmp")

    def works(self) -> list[dict[str, Any]]:
        """How far those are that run something here. Who is dead, or has said nothing for long
        and cannot be asked, is forgotten."""
        host, found = socket.gethostname(), []
        for path, work in self._notes("working", WORK):
            silent = time.time() - _written(path) > _SILENT
            if (not is_alive(work["pid"]) if work["host"] == host else silent) or silent:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            else:
                found.append(work)
        return found

    def _notes(self, kind: str, shape: Any) -> list[tuple[Path, dict[str, Any]]]:
        """The sound texts of a folder, the newest last."""
        paths = sorted((self.root / kind).glob("*.json"), key=lambda each: (_written(each), each))
        return [(path, note) for path in paths if (note := self._note(path, shape))]

    def _note(self, path: Path, shape: Any) -> dict[str, Any] | None:
        try:
            return read_note(path, shape)
        except FileNotFoundError:
            return None
        except (IsADirectoryError, Damaged) as error:
            self._set_aside(path, str(error))
        except OSError as error:
            log.warning("%s cannot be read: %s", path, error)
        return None

    # -- what it holds

    def names(self) -> list[str]:
        """Every sealed run."""
        return [folder.name for folder in self._folders("runs")]

    def describe(self, name: str) -> dict[str, Any] | None:
        """The spelled-out experiment and the environment of a sealed run."""
        parts = ("experiment", "environment")
        return self._read(
            self.root / "runs" / name,
            lambda files: {part: read_json(files[f"{part}.json"]) for part in parts},
        )

    def size(self, *kinds: str) -> int:
        """Bytes under some of its folders, or under one run."""
        total = 0
        for path in (path for kind in kinds for path in (self.root / kind).rglob("*")):
            with suppress(OSError):  # another process has just removed it
                total += path.stat().st_size if path.is_file() else 0
        return total

    def prune(self, keep: set[str]) -> int:
        """Removes checkpoints, damaged and half-written folders, and runs and parameters of
        experiments whose digest is not kept; says how many bytes that freed."""
        everything = ("runs", "parameters", "partial", "damaged", "tmp")
        before = self.size(*everything)
        for folder in (*self._folders("runs"), *self._folders("parameters")):
            if folder.name.rpartition("-")[0] not in keep:
                self._discard(folder)
        for kind in ("partial", "damaged", "tmp"):
            shutil.rmtree(self.root / kind, ignore_errors=True)
        return before - self.size(*everything)

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
            seal = read_json(folder / "seal.json")
            files = {name: folder / name for name in seal if name == Path(name).name}
            for name, path in files.items():
                if file_hash(path) != seal[name]:
                    self._set_aside(folder, f"{name} has changed since it was written")
                    return None
            return files
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            if folder.is_dir():  # if not, another process finished with it meanwhile
                self._set_aside(folder, f"its seal cannot be read ({error})")
            return None

    def _read(self, folder: Path, read: Callable[[dict[str, Path]], Held]) -> Held | None:
        """What a sealed folder holds; None if it is not there, or was damaged and is now set
        aside."""
        files = self._open(folder)
        if files is None:
            return None
        try:
            return read(files)
        except Exception as error:  # whatever it holds, it is none of ours
            self._set_aside(folder, f"cannot be read ({error})")
            return None

    def _write(self, folder: Path, arrays: dict[str, Arrays], texts: dict[str, Any]) -> None:
        self._sweep()
        aside = self.root / "tmp" / uuid.uuid4().hex
        aside.mkdir(parents=True)
        try:
            for name, content in arrays.items():
                write_arrays(aside / name, content)
            for name, text in texts.items():
                (aside / name).write_text(json.dumps(text, indent=1))
            seal = {path.name: file_hash(path) for path in sorted(aside.iterdir())}
            (aside / "seal.json").write_text(json.dumps(seal, indent=1))
            for path in aside.iterdir():
                flush(path)
            put(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _discard(self, folder: Path) -> None:
        discard(folder, self.root / "tmp")

    def _sweep(self) -> None:
        """Removes, once, what those left aside who were killed while they wrote it."""
        if self._swept:
            return
        self._swept = True
        self._mark()
        for path in (self.root / "tmp").glob("*"):
            if time.time() - _written(path) > _STALE:
                path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)

    def _mark(self) -> None:
        """Writes down which layout this is; says so once if there are runs of an older one."""
        mark = self.root / "format"
        with suppress(OSError):
            if mark.exists() and mark.read_text() == _FORMAT:
                return
            if older := len(self._folders("runs")):
                log.warning(
                    "%s: %d runs were written by an older version; they are not used, and stay "
                    "as they are (`ontogeny runs --prune` deletes them)", self.root, older,
                )  # fmt: skip
            self.root.mkdir(parents=True, exist_ok=True)
            mark.write_text(_FORMAT)

    def _set_aside(self, path: Path, reason: str) -> None:
        place = self.root / "damaged" / f"{path.name}-{uuid.uuid4().hex[:8]}"
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
        except FileNotFoundError:  # another process was quicker
            return
        except OSError as error:  # nothing may be written here
            log.warning("%s: %s; not used (%s)", path, reason, error)
            return
        log.warning("%s: %s; set aside in %s", path, reason, place)


def _record(files: dict[str, Path]) -> Record:
    environment = read_json(files["environment.json"])
    if problem := misfit(environment, ENVIRONMENT):
        raise Damaged(problem)
    return Record(read_arrays(files["answers.npz"]), environment["failure"], environment)


def _checkpoint(files: dict[str, Path]) -> Checkpoint:
    notes = read_json(files["notes.json"])
    state, answers = map(read_arrays, (files["state.npz"], files["answers.npz"]))
    return Checkpoint(int(notes["evaluations"]), state, answers, notes)


def _written(path: Path) -> float:
    """When a file was last written; never, if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0

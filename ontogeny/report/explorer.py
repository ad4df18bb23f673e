"""The explorer: the report's page on this machine, with what runs now.

What it shows and what may be started; authentication and limits are in `server.py`.
"""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from ..claims.changes import changed, parse_change
from ..claims.claim import Claim, all_claims
from ..claims.find import find_one
from ..claims.outside import given
from ..claims.scale import Scale
from ..claims.status import last_said
from ..claims.sweep import as_typed, parse_sweeps
from ..core.external import AnyExperiment
from ..core.fields import ConfigError, did_you_mean
from ..engine.execute import so_far
from ..engine.serialize import serialize
from ..engine.store import Store
from . import server as serve
from .outline import outline
from .pack import packed
from .page import explorer_page, live_section, policy, sweeps
from .requests import RequestError, Response
from .server import Query

SHOWN = {"words", "fraction", "left", "units"}  # of work that can be shown
SEEDS = 1000  # at most
CHANGES = 100  # of one question, at most
LISTED = 2000  # runs to compare, at most
CHECKING = 10.0  # seconds: a sweep that takes longer to check is not for a page


class Job:
    """At most one command that was started from the page."""

    def __init__(self, store: Store) -> None:
        self.store, self.lock = store, threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.words: list[str] = []
        self.output: list[str] = []

    @property
    def running(self) -> bool:
        """Whether it is running."""
        return self.process is not None and self.process.poll() is None

    def start(self, words: list[str]) -> None:
        """Starts a command in a process of its own."""
        with self.lock:
            if self.running:
                raise RequestError(HTTPStatus.CONFLICT, "something runs already: stop it, or wait")
            # a process of its own: what it compiles holds up no request, and it can be stopped
            command = [sys.executable, "-m", "ontogeny.cli.main", *words]
            command += ["--store", str(self.store.root)]
            command += [part for place in given() for part in ("--claims", place)]
            self.words, self.output = words, []
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the page reads its results from the store
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env=os.environ | {"ONTOGENY_CHECKPOINT_SECONDS": "2"},  # so that curves grow
                start_new_session=True,  # Ctrl-C is for the server, which ends it in order
            )
            threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                # a new list each time: another thread may be reading the old one
                self.output = [*self.output[-19:], line.rstrip()]

    def stop(self) -> None:
        """Interrupts it: what was done is kept."""
        if self.running and self.process:
            self.process.terminate()  # to a command, the same as an interrupt

    def close(self) -> None:
        """Interrupts it and waits until it has ended."""
        self.stop()
        if self.process:
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def status(self) -> dict[str, Any] | None:
        """Its state, for the page."""
        if self.process is None:
            return None
        code = self.process.poll()
        return {
            "words": self.words,
            "running": code is None,
            "code": code,
            "output": self.output[-3:],
        }


class Explorer:
    """What the server answers, whatever carries it."""

    def __init__(self, store: Store) -> None:
        self.store, self.job = store, Job(store)
        all_claims()  # now, and not in the threads of two requests

    def get(self, path: str, asked: Query) -> Response:
        """What there is at a path."""
        match path:
            case "/":
                return Response("text/html", explorer_page(self.store), policy=policy(live=True))
            case "/api/state":
                return Response("application/json", json.dumps(self.state()))
            case "/api/runs":
                return Response("application/json", json.dumps(self.runs()))
            case "/api/section":
                return Response("text/html", self.section(asked))
            case "/api/run":
                return Response("text/plain", self.run(asked))
        raise RequestError(HTTPStatus.NOT_FOUND, "not found")

    def post(self, path: str, asked: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """What a path starts or stops."""
        match path:
            case "/api/start":
                return self.start(asked)
            case "/api/stop":
                return self.stop
        raise RequestError(HTTPStatus.NOT_FOUND, "not found")

    # -- reading

    def state(self) -> dict[str, Any]:
        """What is running, and when each verdict and sweep was written."""
        written = {}
        for kind in ("verdicts", "sweeps", "maps"):
            for path in (self.store.root / kind).glob("*.json"):
                try:
                    written[f"{kind}/{path.stem}"] = path.stat().st_mtime_ns
                except OSError:
                    continue  # it is being replaced
        # another version of the package may have written less
        works = [work for work in self.store.works() if work.keys() >= SHOWN]
        return {"works": works, "started": self.job.status(), "written": written}

    def section(self, asked: Query) -> str:
        """A claim's section as it is now."""
        claim, scale = find_one(one(asked, "claim")), _scale(one(asked, "scale"))
        return live_section(last_said(claim, self.store, scale), sweeps(self.store))

    def run(self, asked: Query) -> str:
        """An experiment's curves so far, packed; nothing if there are none."""
        claim, scale = find_one(one(asked, "claim")), _scale(one(asked, "scale"))
        name = one(asked, "name")
        experiments = _changed(claim, scale, asked.get("set", []))
        if name not in experiments:
            raise RequestError(HTTPStatus.NOT_FOUND, f"{claim.name} has no experiment {name!r}")
        experiment = experiments[name]
        last = self.store.note("verdicts", f"{claim.name}.{scale}") or {}
        seeds = last.get("seeds")
        # as many seeds as the claim asks for, or as were judged
        most = max(claim.seeds.least, seeds if isinstance(seeds, int) else 0)
        found = so_far(name, experiment, min(most, SEEDS), self.store)
        if found is None:
            return ""
        return packed(found, experiment, outline=outline(serialize(experiment)))

    def runs(self) -> list[dict[str, Any]]:
        """What may be compared: experiments of judged claims, and of sweeps."""
        found: list[tuple[str, str, list[str]]] = []
        for path in sorted((self.store.root / "verdicts").glob("*.json")):
            name, _, scale = path.stem.rpartition(".")
            found.append((name, scale, []))
        for each in sweeps(self.store):
            for point in each["points"]:
                swept = zip(each["sweeps"], point["at"], strict=True)
                changes = [*each["changes"], *(f"{path}={value}" for path, value in swept)]
                found.append((each["claim"], each["scale"], changes))
        listed = []
        for claim, scale, changes in found:
            try:
                names = _changed(find_one(claim), Scale(scale), changes)
            except ValueError:  # a claim, a scale or a field that there is no more
                continue
            for name in names:
                listed.append({"claim": claim, "scale": scale, "set": changes, "name": name})
            if len(listed) >= LISTED:
                break
        return listed[:LISTED]

    # -- starting and stopping

    def start(self, asked: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        """Judges a claim, or sweeps it; errors are raised before anything starts."""
        known = ("claim", "scale", "set", "sweep", "seeds")
        for key in asked:
            if key not in known:
                raise ConfigError(f"no {key[:60]!r} can be given: {did_you_mean(key[:60], known)}")
        claim, scale = find_one(_word(asked, "claim")), _scale(_word(asked, "scale"))
        if claim.untested:
            raise ConfigError(f"{claim.name} cannot be run here: {claim.untested}")
        sets, swept = _texts(asked, "set"), _texts(asked, "sweep")
        sweeps = parse_sweeps(swept)
        _changed(claim, scale, sets)
        end = time.monotonic() + CHECKING
        for path, values in sweeps.items():
            for value in values:
                _changed(claim, scale, [*sets, f"{path}={value}"])
                if time.monotonic() > end:
                    raise ConfigError("so large a sweep is for the command line: ontogeny sweep")
        words = ["sweep" if sets or sweeps else "judge", claim.name, "--scale", str(scale)]
        words += [part for text in sets for part in ("--set", text)]
        words += [part for text in as_typed(sweeps) for part in ("--sweep", text)]
        seeds = asked.get("seeds")
        if seeds is not None:
            # JSON's true would count as one seed
            if not isinstance(seeds, int) or isinstance(seeds, bool) or not 1 <= seeds <= SEEDS:
                raise ConfigError(f"seeds is a number from 1 to {SEEDS}")
            words += ["--seeds", str(seeds)]

        # returned, not run: the server starts it only if the checks ended in time
        def begin() -> dict[str, Any]:
            self.job.start(words)
            return {"words": words}

        return begin

    def stop(self) -> dict[str, Any]:
        """Interrupts what was started from the page."""
        self.job.stop()
        return {}


def one(asked: Query, key: str) -> str:
    """The one value of a question."""
    values = asked.get(key, [])
    if len(values) != 1:
        raise ConfigError(f"one {key} is needed")
    return values[0]


def _word(asked: dict[str, Any], key: str) -> str:
    word = asked.get(key)
    if not isinstance(word, str):
        raise ConfigError(f"one {key} is needed, as a word")
    return word


def _texts(asked: dict[str, Any], key: str) -> list[str]:
    texts = asked.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ConfigError("set and sweep are lists of PATH=VALUE")
    return texts


def _scale(word: str) -> Scale:
    if word not in list(Scale):
        raise ConfigError(
            f"unknown scale {word[:60]!r}: {did_you_mean(word[:60], list(map(str, Scale)))}"
        )
    return Scale(word)


def _changed(claim: Claim, scale: Scale, texts: list[str]) -> dict[str, AnyExperiment]:
    if len(texts) > CHANGES:
        raise ConfigError(f"{len(texts)} changes: at most {CHANGES}")
    return changed(claim.name, claim.named(scale), [parse_change(text) for text in texts])


class Server(serve.Server):
    """Serves the explorer to this machine alone."""

    def __init__(self, store: Store, port: int = 0) -> None:
        self.explorer = Explorer(store)
        super().__init__(self.explorer, secrets.token_urlsafe(24), port)

    def server_close(self) -> None:
        """Stops listening, and what was started from the page."""
        super().server_close()
        self.explorer.job.close()

"""The explorer: the report's page on this machine, with what runs now.

It listens to this machine alone. Whoever looks needs nothing; whatever starts or stops work needs
the token that is in the address printed at the start, from a page of this server.
"""

import hmac
import json
import logging
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .claim import Claim, Scale, find_one
from .engine import so_far
from .external import AnyExperiment
from .fields import Invalid
from .ledger import last_said
from .report.outline import outline
from .report.pack import packed
from .report.page import live_section
from .report.whole import explored, variations
from .spell import spell
from .store import Store
from .vary import changed, parse_change, parse_sweep

log = logging.getLogger("ontogeny")
LARGEST = 65536  # bytes of a request
Asked = Mapping[str, list[str]]


class Refused(Exception):  # noqa: N818
    """A request that is not followed, and why."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Work:
    """At most one command that was started from the page."""

    def __init__(self, store: Store) -> None:
        self.store, self.lock = store, threading.Lock()
        self.process: subprocess.Popen[str] | None = None
        self.words: list[str] = []
        self.said: list[str] = []

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return self.process is not None and self.process.poll() is None

    def start(self, words: list[str]) -> None:
        """Starts a command of the laboratory, in a process of its own."""
        with self.lock:
            if self.running:
                raise Refused(HTTPStatus.CONFLICT, "something runs already: stop it, or wait")
            command = [sys.executable, "-m", "ontogeny.cli", *words]
            command += ["--store", str(self.store.root)]
            self.words, self.said = words, []
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"ONTOGENY_CHECKPOINT_SECONDS": "2"},  # so that curves grow
                start_new_session=True,
            )
            threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                self.said = [*self.said[-19:], line.rstrip()]

    def stop(self) -> None:
        """Interrupts it: what was done is kept."""
        if self.running and self.process:
            self.process.terminate()

    def close(self) -> None:
        """Interrupts it and waits until it has put its things away."""
        self.stop()
        if self.process:
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def told(self) -> dict[str, Any] | None:
        """How it is."""
        if self.process is None:
            return None
        code = self.process.poll()
        return {"words": self.words, "running": code is None, "code": code, "said": self.said[-3:]}


class Laboratory:
    """What the server answers, whatever carries it."""

    def __init__(self, store: Store, token: str) -> None:
        self.store, self.token, self.work = store, token, Work(store)

    # -- to look at

    def state(self, asked: Asked) -> dict[str, Any]:
        """What runs, and when each verdict and variation was written."""
        written = {}
        for kind in ("verdicts", "variations"):
            for path in (self.store.root / kind).glob("*.json"):
                try:
                    written[f"{kind}/{path.stem}"] = path.stat().st_mtime_ns
                except OSError:
                    continue  # it is being replaced
        return {"works": self.store.works(), "started": self.work.told(), "written": written}

    def section(self, asked: Asked) -> str:
        """A claim's section as it is now."""
        claim, scale = _claim(asked), _scale(asked)
        return live_section(last_said(claim, self.store, scale), variations(self.store))

    def run(self, asked: Asked) -> str:
        """An experiment's curves as far as they have grown, packed; nothing if there are none."""
        claim, scale = _claim(asked), _scale(asked)
        name = one(asked, "name")
        experiments = _changed(claim, scale, asked.get("set", []))
        if name not in experiments:
            raise Refused(HTTPStatus.NOT_FOUND, f"{claim.name} has no experiment {name!r}")
        experiment = experiments[name]
        last = self.store.verdict(f"{claim.name}.{scale}") or {}
        seeds = last.get("seeds")
        most = max(claim.seeds, seeds if isinstance(seeds, int) else 0)
        found = so_far(name, experiment, most, self.store)
        if found is None:
            return ""
        return packed(found, experiment, outline=outline(spell(experiment)))

    def runs(self, asked: Asked) -> list[dict[str, Any]]:
        """What may be compared: experiments of judged claims, and of what was varied."""
        found: list[tuple[str, str, list[str]]] = []
        for path in sorted((self.store.root / "verdicts").glob("*.json")):
            name, _, scale = path.stem.rpartition(".")
            found.append((name, scale, []))
        for each in variations(self.store):
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
        return listed

    # -- to start and stop

    def start(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Judges a claim, or varies it; what cannot be is said before anything starts."""
        texts = {key: asked.get(key, []) for key in ("set", "sweep")}
        if not all(
            isinstance(t, list) and all(isinstance(x, str) for x in t) for t in texts.values()
        ):
            raise Refused(HTTPStatus.BAD_REQUEST, "set and sweep are lists of PATH=VALUE")
        claim, scale = find_one(str(asked.get("claim", ""))), Scale(str(asked.get("scale")))
        if claim.untested:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{claim.name} cannot be run here")
        sweeps = dict(parse_sweep(text) for text in texts["sweep"])
        for path, values in sweeps.items():
            for value in values:
                _changed(claim, scale, [*texts["set"], f"{path}={value}"])
        words = ["vary" if texts["set"] or sweeps else "judge", claim.name, "--scale", str(scale)]
        words += [part for text in texts["set"] for part in ("--set", text)]
        words += [part for text in texts["sweep"] for part in ("--sweep", text)]
        seeds = asked.get("seeds")
        if seeds is not None:
            if not isinstance(seeds, int) or isinstance(seeds, bool) or not 1 <= seeds <= 1000:
                raise Refused(HTTPStatus.BAD_REQUEST, "seeds is a number from 1 to 1000")
            words += ["--seeds", str(seeds)]
        self.work.start(words)
        return {"words": words}

    def stop(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Interrupts what was started from the page."""
        self.work.stop()
        return {}


def one(asked: Asked, key: str) -> str:
    """The one value of a question."""
    values = asked.get(key, [])
    if len(values) != 1:
        raise Refused(HTTPStatus.BAD_REQUEST, f"one {key} is needed")
    return values[0]


def _claim(asked: Asked) -> Claim:
    return find_one(one(asked, "claim"))


def _scale(asked: Asked) -> Scale:
    return Scale(one(asked, "scale"))


def _changed(claim: Claim, scale: Scale, texts: list[str]) -> dict[str, AnyExperiment]:
    return changed(claim, claim.named(scale), [parse_change(text) for text in texts])


# ------------------------------------------------------------------------------ over HTTP


class Handler(BaseHTTPRequestHandler):
    """Requests from this machine's browsers. Whatever is wrong with one is its own affair."""

    server: "Server"
    timeout = 30
    server_version, sys_version = "ontogeny", ""

    def do_GET(self) -> None:
        """What there is to look at."""
        self._answer(self._look)

    def do_POST(self) -> None:
        """What starts or stops work."""
        self._answer(self._act)

    def _look(self) -> tuple[str, str]:
        address = urlsplit(self.path)
        asked = parse_qs(address.query)
        lab = self.server.laboratory
        match address.path:
            case "/":
                return "text/html", explored(lab.store)
            case "/api/state":
                return "application/json", json.dumps(lab.state(asked))
            case "/api/runs":
                return "application/json", json.dumps(lab.runs(asked))
            case "/api/section":
                return "text/html", lab.section(asked)
            case "/api/run":
                return "text/plain", lab.run(asked)
        raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _act(self) -> tuple[str, str]:
        lab = self.server.laboratory
        acts = {"/api/start": lab.start, "/api/stop": lab.stop}
        if urlsplit(self.path).path not in acts:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
        origin = self.headers.get("Origin")
        same = origin is None or urlsplit(origin).netloc in self.server.names
        if not same or self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise Refused(HTTPStatus.FORBIDDEN, "only a page of this server may ask for that")
        given = self.headers.get("X-Ontogeny-Token", "")
        if not hmac.compare_digest(given.encode(), lab.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "that needs the token of the printed address")
        return "application/json", json.dumps(acts[urlsplit(self.path).path](self._body()))

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too long, or of no known length")
        try:
            asked = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"this is no JSON: {error}") from error
        if not isinstance(asked, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "this is no JSON object")
        return asked

    def _answer(self, work: Any) -> None:
        try:
            if self.headers.get("Host") not in self.server.names:
                raise Refused(HTTPStatus.FORBIDDEN, "this server answers to its own name only")
            kind, text = work()
            self._send(HTTPStatus.OK, kind, text)
        except Refused as error:
            self._send(error.status, "application/json", json.dumps({"wrong": str(error)}))
        except (Invalid, ValueError) as error:
            self._send(
                HTTPStatus.BAD_REQUEST, "application/json", json.dumps({"wrong": str(error)})
            )
        except (BrokenPipeError, ConnectionResetError):
            pass  # the browser went away
        except Exception:
            log.exception("the explorer could not answer %r", self.path)
            wrong = json.dumps({"wrong": "an error of the laboratory: see the terminal"})
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "application/json", wrong)

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Every request is not news."""
        log.debug(format, *args)


class Server(ThreadingHTTPServer):
    """Listens to this machine alone."""

    daemon_threads = True

    def __init__(self, store: Store, port: int = 0) -> None:
        self.laboratory = Laboratory(store, secrets.token_urlsafe(24))
        super().__init__(("127.0.0.1", port), Handler)
        self.names = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}

    @property
    def address(self) -> str:
        """Where to look, and with what right."""
        return f"http://127.0.0.1:{self.server_port}/#token={self.laboratory.token}"

    def server_close(self) -> None:
        super().server_close()
        self.laboratory.work.close()

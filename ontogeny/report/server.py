"""Requests over HTTP from browsers of this machine: who may ask, for how long, and how much.

Every request needs the token that is in the link printed at the start: the link leaves it in a
cookie that no script reads and no other site sends. What is asked from a page of another site is
refused all the same, and what changes anything needs a header that no form can send. Whatever is
wrong with a request is its own affair: it is refused with a reason, and none waits for another.
"""

import hmac
import io
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs

from .requests import SHORT, DeadlineReader, RequestError, Response, json_object, length_of, refusal

log = logging.getLogger("ontogeny")
T = TypeVar("T")
Query = Mapping[str, list[str]]

FIELDS = 64  # of a query
GO_ON = '<meta http-equiv="refresh" content="0; url=/"><p><a href="/">To the explorer</a></p>'
USE_THE_LINK = "use the link that `ontogeny explore` printed: it holds the token that this needs"
ELSEWHERE = "only a page of this server may ask for that"
BUSY = "too much is asked at once: try later"


class Site(Protocol):
    """What a server answers, whatever carries it."""

    def get(self, path: str, asked: Query) -> Response:
        """The response to a GET request."""

    def post(self, path: str, asked: dict[str, Any]) -> Callable[[], Any]:
        """What is to be done, once it has been checked; it gives what is answered as JSON."""


class Handler(BaseHTTPRequestHandler):
    """One request. All of its answer is made before any of it is sent."""

    server: "Server"
    wfile: io.BytesIO
    raw_requestline: bytes

    def setup(self) -> None:
        """Makes ready to read for a while, and to keep what is written."""
        self.connection = self.request
        self.rfile = io.BufferedReader(DeadlineReader(self.connection, self.server.READING))
        self.wfile = io.BytesIO()

    def finish(self) -> None:
        """Sends the answer; who leaves early, or is slow to take it, has no more of it."""
        data = self.wfile.getvalue()
        if not data:
            return
        try:
            self.connection.settimeout(self.server.WRITING)
            self.connection.sendall(data)
            self.connection.shutdown(socket.SHUT_WR)
            # What is left unread would make the system take the answer back.
            rest = DeadlineReader(self.connection, self.server.LINGERING)
            while rest.read(65536):
                pass
        except OSError as error:
            log.debug("a client left: %r", error)

    def parse_request(self) -> bool:
        """Reads the head of a request; what has no version has no headers, and is none."""
        self.command, self.requestline = "", ""
        if len(self.raw_requestline.split()) != 3:
            self.send_error(HTTPStatus.BAD_REQUEST, "this is not a request")
            return False
        return super().parse_request()

    def do_GET(self) -> None:
        """The response to a GET request."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """What changes anything."""
        self._answer(self._post)

    def _answer(self, work: Callable[[str, str], Response]) -> None:
        path, _, query = self.path.partition("?")
        page = path == "/"
        try:
            answer = work(path, query)
        except RequestError as error:
            answer = refusal(error.status, str(error), page)
        except TimeoutError:
            answer = refusal(HTTPStatus.REQUEST_TIMEOUT, "the request took too long")
        except ValueError as error:  # what is asked for cannot be: `ConfigError` is one
            log.debug("%r is refused", self.path, exc_info=error)
            answer = refusal(HTTPStatus.BAD_REQUEST, str(error), page)
        except ConnectionError as error:
            log.debug("a client left: %r", error)
            return
        except Exception:
            log.exception("the explorer could not answer %r", self.path)
            wrong = "internal error: see the terminal"
            answer = refusal(HTTPStatus.INTERNAL_SERVER_ERROR, wrong, page)
        self._send(answer)

    def _get(self, path: str, query: str) -> Response:
        asked = parse_qs(query, max_num_fields=FIELDS)
        self._check_name()
        if path == "/" and "token" in asked:
            return self._enter(asked["token"])
        self._check_origin({"same-origin", "none"})
        self._check_cookie()
        return self.server.soon(lambda: self.server.site.get(path, asked))

    def _post(self, path: str, query: str) -> Response:
        self._check_name()
        self._check_origin({"same-origin"})
        self._check_cookie()
        if self._said("X-Ontogeny") != ["1"]:
            raise RequestError(HTTPStatus.FORBIDDEN, ELSEWHERE)
        if self.headers.get_content_type() != "application/json":
            raise RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this is not application/json")
        length = length_of(self._said("Content-Length"))
        data = self.rfile.read(length)
        if len(data) < length:
            raise RequestError(HTTPStatus.BAD_REQUEST, "the request is shorter than it says")
        asked = json_object(data)
        done = self.server.soon(lambda: self.server.site.post(path, asked))
        return Response("application/json", json.dumps(done()))  # in time: nothing is done later

    # -- who asks

    def _said(self, name: str) -> list[str]:
        return [str(value) for value in self.headers.get_all(name, [])]

    def _check_name(self) -> None:
        """Refuses what is asked of another name, which would be another site's, or in parts."""
        names = self._said("Host")
        if len(names) != 1 or names[0] not in self.server.names:
            raise RequestError(HTTPStatus.FORBIDDEN, "this server answers to its own name only")
        if self._said("Transfer-Encoding") or len(self._said("Content-Length")) > 1:
            raise RequestError(HTTPStatus.BAD_REQUEST, "a request has one Content-Length")

    def _check_origin(self, sites: set[str]) -> None:
        """Refuses what a page of another site asks for."""
        own = {f"http://{name}" for name in self._said("Host")}
        if not set(self._said("Origin")) <= own or not set(self._said("Sec-Fetch-Site")) <= sites:
            raise RequestError(HTTPStatus.FORBIDDEN, ELSEWHERE)

    def _check_cookie(self) -> None:
        """Refuses who has not come by the link."""
        given = [part.strip() for text in self._said("Cookie") for part in text.split(";")]
        wanted = f"{self.server.cookie}={self.server.token}"
        if not any([_same(each, wanted) for each in given]):
            raise RequestError(HTTPStatus.FORBIDDEN, USE_THE_LINK)

    def _enter(self, given: list[str]) -> Response:
        """Takes the token out of the link and into a cookie."""
        if len(given) != 1 or not _same(given[0], self.server.token):
            raise RequestError(HTTPStatus.FORBIDDEN, USE_THE_LINK)
        self._check_origin({"same-origin", "none", "same-site", "cross-site"})
        cookie = f"{self.server.cookie}={self.server.token}; Path=/; HttpOnly; SameSite=Strict"
        if set(self._said("Sec-Fetch-Site")) <= {"same-origin", "none"}:
            more = {"Location": "/", "Set-Cookie": cookie}
            return Response("text/html", SHORT.format(GO_ON), HTTPStatus.SEE_OTHER, more=more)
        if self._said("Sec-Fetch-Dest") != ["document"]:
            raise RequestError(HTTPStatus.FORBIDDEN, ELSEWHERE)
        # A click on a page elsewhere, as in a mail: where it were sent on to it would still come
        # from there, without the cookie. What this page asks for is this server's own.
        return Response("text/html", SHORT.format(GO_ON), more={"Set-Cookie": cookie})

    # -- what is answered

    def _send(self, answer: Response) -> None:
        data = answer.text.encode(errors="replace")
        self.request_version = "HTTP/1.0"  # whatever was asked for: an answer has its headers
        self.send_response(answer.status)
        for name, value in answer.headers(len(data)).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """An error that http.server finds in a request, as a response like all others."""
        status = HTTPStatus(code)
        if status == HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        if status == HTTPStatus.HTTP_VERSION_NOT_SUPPORTED:
            status = HTTPStatus.BAD_REQUEST
        self._send(refusal(status, (message or status.phrase)[:200]))

    def version_string(self) -> str:
        """The name of the server, without versions."""
        return "ontogeny"

    def log_message(self, format: str, *args: Any) -> None:
        """Every request is not news."""
        log.debug("%r", format % args)


def _whole(answer: Response) -> bytes:
    """An answer to one who is not listened to."""
    data = answer.text.encode()
    lines = [f"HTTP/1.0 {answer.status} {answer.status.phrase}"]
    lines += [f"{name}: {value}" for name, value in answer.headers(len(data)).items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def _same(given: str, wanted: str) -> bool:
    """Whether two words are equal, in the same time whatever they have in common."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())


class Server(ThreadingHTTPServer):
    """Listens to this machine alone."""

    daemon_threads = True
    request_queue_size = 64
    READING, WRITING, LINGERING = 10.0, 30.0, 1.0  # seconds that a client may take
    ANSWERING = 20.0  # seconds that an answer may take
    TOGETHER = 8  # answers that are made at once
    CONNECTED = 64  # clients that are listened to at once

    def __init__(self, site: Site, token: str, port: int = 0) -> None:
        self.site, self.token = site, token
        self.making = threading.BoundedSemaphore(self.TOGETHER)
        self.seats = threading.BoundedSemaphore(self.CONNECTED)
        super().__init__(("127.0.0.1", port), Handler)
        self.names = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}
        self.cookie = f"ontogeny-{self.server_port}"  # a host's ports share their cookies

    @property
    def address(self) -> str:
        """The link to the explorer, with its token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def soon(self, work: Callable[[], T]) -> T:
        """What a piece of work gives, in a thread of its own, unless it takes too long."""
        end = time.monotonic() + self.ANSWERING
        if not self.making.acquire(timeout=self.ANSWERING):
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, BUSY)
        found: Future[T] = Future()

        def make() -> None:
            try:
                found.set_result(work())
            except BaseException as error:
                found.set_exception(error)
            finally:
                self.making.release()

        try:
            threading.Thread(target=make, daemon=True).start()
        except RuntimeError:  # the system has no more of them
            self.making.release()
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, BUSY) from None
        try:
            return found.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            if found.done():
                raise
            seconds = f"{self.ANSWERING:g} seconds"
            reason = f"this takes longer than {seconds}: try later, or on the command line"
            raise RequestError(HTTPStatus.GATEWAY_TIMEOUT, reason) from None

    def process_request(self, request: Any, client_address: Any) -> None:
        """Listens to a client, if there are not too many."""
        if not self.seats.acquire(blocking=False):
            with suppress(OSError):
                request.settimeout(1)
                request.sendall(_whole(refusal(HTTPStatus.SERVICE_UNAVAILABLE, BUSY)))
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.seats.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Listens to one client."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.seats.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no news; an error of ours is."""
        error = sys.exception()
        if isinstance(error, OSError):
            log.debug("a client left: %r", error)
        else:
            log.error("the explorer could not listen to a client", exc_info=error)

"""HTTP requests and responses: their limits and headers."""

import html
import io
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

LARGEST = 65536  # bytes of a request's body
DEEPEST = 8  # lists within lists of it
NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Connection": "close",
}
SHORT = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Ontogeny</title>{}</html>\n'


class RequestError(Exception):
    """A request that is refused, and why."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Response:
    """A response, with the policy that a browser must follow."""

    kind: str
    text: str
    status: HTTPStatus = HTTPStatus.OK
    policy: str = NOTHING
    more: Mapping[str, str] = field(default_factory=dict)

    def headers(self, length: int) -> dict[str, str]:
        """All of its headers."""
        return {
            "Content-Type": f"{self.kind}; charset=utf-8",
            "Content-Length": str(length),
            "Content-Security-Policy": self.policy,
            **HEADERS,
            **self.more,
        }


def refusal(status: HTTPStatus, reason: str, page: bool = False) -> Response:
    """The response to a refused request: HTML for a page, else JSON."""
    reason = reason if len(reason) <= 4000 else f"{reason[:4000]}..."
    more = {"Allow": "GET, POST"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
    if page:
        return Response("text/html", SHORT.format(f"<p>{html.escape(reason)}"), status, more=more)
    return Response("application/json", json.dumps({"error": reason}), status, more=more)


class DeadlineReader(io.RawIOBase):
    """Reads from a socket up to a deadline, so that a slow sender is cut off, too."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self.connection, self.end = connection, time.monotonic() + seconds

    def readable(self) -> bool:
        """It is to be read from."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Waits as long as there is time."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


def length_of(given: list[str]) -> int:
    """The length of a body, by its only Content-Length."""
    if not given:
        raise RequestError(HTTPStatus.LENGTH_REQUIRED, "a Content-Length is needed")
    length = given[0].strip()
    # isdigit alone takes digits of any script, of which int() refuses some
    if not (length.isascii() and length.isdigit()):
        raise RequestError(HTTPStatus.BAD_REQUEST, "the Content-Length is not a number")
    # int() of a very long number is slow, or an error
    if len(length) > 9 or int(length) > LARGEST:
        raise RequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"too long: at most {LARGEST} bytes"
        )
    return int(length)


def json_object(data: bytes) -> dict[str, Any]:
    """A body that is a JSON object of finite numbers, and not deep."""
    try:
        asked = json.loads(data.decode(), parse_constant=_no_number)
    except RecursionError:
        raise RequestError(HTTPStatus.BAD_REQUEST, "this JSON is too deep") from None
    except ValueError as error:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"this is not JSON: {error}") from error
    if not isinstance(asked, dict):
        raise RequestError(HTTPStatus.BAD_REQUEST, "this is not a JSON object")
    # a loop, level by level: recursion is what a deep body would exhaust
    level: list[Any] = [asked]
    for _ in range(DEEPEST):
        inside = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for part in inside for each in part if isinstance(each, dict | list)]
    if level:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"this JSON is too deep: at most {DEEPEST}")
    return asked


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")

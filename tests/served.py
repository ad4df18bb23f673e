"""A server that has little time, for tests of who may ask and for how long."""

import http.client
import logging
import socket
import threading
from contextlib import contextmanager

from ontogeny.report.requests import Response
from ontogeny.report.server import Server


class Place:
    """Answers soon, late, or never; notes what is done."""

    def __init__(self):
        self.done, self.wait = [], threading.Event()

    def get(self, path, asked):
        if path == "/late":
            self.wait.wait(30)
        if path == "/large":
            return Response("text/plain", "x" * 20_000_000)
        return Response("text/plain", path)

    def post(self, path, asked):
        if path == "/late":
            self.wait.wait(30)
        return lambda: self.done.append(asked)


class Hasty(Server):
    """Has little time."""

    READING, WRITING, LINGERING, ANSWERING = 1.0, 1.0, 0.3, 0.7
    TOGETHER, CONNECTED = 3, 12


@contextmanager
def serving(caplog):
    """A server under way; at the end, nothing may have been logged that is news."""
    caplog.set_level(logging.DEBUG, "ontogeny")
    with Hasty(Place(), "the-token") as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield made
        made.site.wait.set()
        made.shutdown()
        thread.join()
    said = caplog.get_records("call")  # and not those of this phase alone
    assert [record.getMessage() for record in said if record.levelno >= logging.WARNING] == []


def ask(server, path="/", body=None, **headers):
    """An answer to one who knows the token; underscores in names of headers stand for dashes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    known = {"Cookie": f"{server.cookie}=the-token"}
    if body is not None:
        known |= {"X-Ontogeny": "1", "Content-Type": "application/json"}
    known |= {name.replace("_", "-"): text for name, text in headers.items()}
    wanted = {name: text for name, text in known.items() if text is not None}
    connection.request("GET" if body is None else "POST", path, body, wanted)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def raw(server, text, seconds=20):
    """What comes back for some bytes, up to the end."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=seconds) as line:
        line.sendall(text)
        return b"".join(iter(lambda: line.recv(65536), b"")).decode()


def head(server, first, *more):
    lines = [first, f"Host: 127.0.0.1:{server.server_port}", f"Cookie: {server.cookie}=the-token"]
    return "\r\n".join([*lines, *more, "", ""]).encode()


POST = ("X-Ontogeny: 1", "Content-Type: application/json")

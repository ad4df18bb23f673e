"""How long and how much the explorer's server lets anyone ask, and what it survives."""

import json
import socket
import struct
import threading
import time
from contextlib import suppress

import pytest
from served import POST, ask, head, raw, serving


@pytest.fixture
def server(caplog):
    with serving(caplog) as made:
        yield made


def test_an_answer_that_takes_too_long_is_given_up_and_none_waits_for_it(server):
    begun, late = time.monotonic(), []
    threads = [threading.Thread(target=lambda: late.append(ask(server, "/late"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    assert ask(server, "/soon")[1] == "/soon" and time.monotonic() - begun < server.ANSWERING
    for thread in threads:
        thread.join()
    assert [answer.status for answer, _ in late] == [504, 504]
    assert all("takes longer than 0.7 seconds" in json.loads(text)["error"] for _, text in late)
    assert ask(server, "/late")[0].status == 504
    answer, text = ask(server, "/soon")  # three are still at it: as many as may be
    assert answer.status == 503 and "too much is asked at once" in text
    server.site.wait.set()
    assert ask(server, "/soon")[0].status == 200


def test_what_is_given_up_is_not_done_later(server):
    assert ask(server, "/late", "{}")[0].status == 504
    server.site.wait.set()
    time.sleep(0.3)
    assert server.site.done == []


def test_who_sends_slowly_is_cut_off(server):
    whole = head(server, "POST / HTTP/1.1", *POST, "Content-Length: 900")
    for text in (b"", b"GET /", whole[:-2], whole + b"{}"):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as line:
            begun = time.monotonic()
            line.sendall(text)
            line.settimeout(0.05)
            with suppress(ConnectionError):
                while time.monotonic() - begun < 5:
                    try:
                        if not line.recv(65536):
                            break
                    except TimeoutError:
                        line.sendall(b" ")  # a byte now and then, which puts off nothing
            assert 0.5 < time.monotonic() - begun < 3
    text = raw(server, whole + b"{}")
    assert text.startswith("HTTP/1.0 408 ") and "took too long" in text
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as line:
        line.sendall(whole + b"{}")
        line.shutdown(socket.SHUT_WR)
        assert b"shorter than it says" in line.recv(65536) + line.recv(65536)
    assert server.site.done == []


def test_who_reads_slowly_is_cut_off(server):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as line:
        line.sendall(head(server, "GET /large HTTP/1.1"))
        time.sleep(server.WRITING + 0.5)
        got = 0
        with suppress(ConnectionError):
            while more := line.recv(1 << 20):
                got += len(more)
        assert 0 < got < 20_000_000
    assert ask(server)[0].status == 200


def test_clients_that_leave_early_leave_no_trace(server, capfd):
    wholes = [
        head(server, "GET / HTTP/1.1"),
        head(server, "GET /large HTTP/1.1"),
        head(server, "BREW / HTTP/1.1"),
        head(server, "POST / HTTP/1.1", *POST, "Content-Length: 9") + b"{}",
        b"GET / HTTP/1.1\r\nHo",
        b"",
    ]
    for whole in wholes * 4:
        line = socket.create_connection(("127.0.0.1", server.server_port), timeout=10)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.sendall(whole)
        line.close()  # with a reset
    time.sleep(0.5)
    assert ask(server)[0].status == 200
    assert "Traceback" not in capfd.readouterr().err


def test_so_many_are_listened_to_and_no_more(server):
    place = ("127.0.0.1", server.server_port)
    lines = [socket.create_connection(place, timeout=10) for _ in range(server.CONNECTED)]
    time.sleep(0.2)
    text = raw(server, b"")
    assert text.startswith("HTTP/1.0 503 ") and "Content-Security-Policy: default-src" in text
    time.sleep(server.READING + 0.3)
    assert ask(server)[0].status == 200
    for line in lines:
        line.close()


def test_an_error_of_ours_is_told_in_the_terminal_alone(server, caplog, monkeypatch):
    monkeypatch.setattr(server.site, "get", lambda path, asked: {}["a secret"])
    answer, text = ask(server)
    assert answer.status == 500 and "secret" not in text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert [record.exc_info[0] for record in caplog.records if record.levelno >= 30] == [KeyError]
    caplog.clear()

"""Hostile requests to a live explorer: none hangs it, starts anything or finds an error of ours."""

import json
import logging
import random
import socket
import struct
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from urllib.parse import quote

import pytest

from ontogeny import Store
from ontogeny.report.explorer import Server

SEED, COUNT, SECONDS = 8642, 1500, 5.0
EVERY = {
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "deny",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
CHEAP = "gradients_have_the_stated_form"
UNTRAINED = "wide_attention_does_not_begin_to_copy"


class Hasty(Server):
    """Cuts clients off sooner."""

    READING, WRITING, LINGERING = 0.6, 2.0, 0.3


@dataclass(frozen=True)
class Request:
    """Bytes, what the client does after them, and what is known of the answer."""

    text: bytes
    ending: str = "read"
    known: bool = False  # it has the cookie, or the right link
    whole: bool = True  # nothing is cut off or changed: there must be an answer


def noise(rng, most=30):
    return bytes(rng.randrange(256) for _ in range(rng.randint(1, most)))


def pattern(rng):
    kind = rng.random()
    if kind < 0.4:
        return CHEAP
    if kind < 0.6:
        return rng.choice(["*", "a*", "_*_", "e**"]) * rng.randint(1, 80) + rng.choice(["", "!"])
    return rng.choice(
        [CHEAP, UNTRAINED, "all", "joint", "*" * rng.randint(1, 3000), "*" * 60 + "!", "a*" * 90,
         "(a+)+$", "[", "\\", "%", "%00", "../../etc/passwd", "x" * 500, "é\ud7ff", "", " ", "\n",
         "{{7*7}}", "<script>", "'; --", "__class__", noise(rng).decode("latin-1")]
    )  # fmt: skip


def change(rng):
    path = rng.choice(
        ["task.ratio", "task.tuples", "task.ration", "training", "training.0.learning_rate",
         "evaluations", "model", "trained.task.ratio", "task." * 200, "training.-1.learning_rate",
         "__class__", "task..ratio", ""]
    )  # fmt: skip
    value = rng.choice(
        ["nan", "inf", "-1", "1e999", "9" * 5000, "0x1", "true", "x" * 2000, "\0", "1+2", "", "é",
         "{}", "$(id)", "--store=/", noise(rng).decode("latin-1")]
    )  # fmt: skip
    return f"{path}={value}"


def query(rng):
    parts = [
        ("claim", pattern(rng)),
        ("scale", rng.choice(["laptop"] * 6 + ["paper", "huge", "", "LAPTOP"])),
        ("name", rng.choice(["trained", "untrained", "", "*" * 50, noise(rng).decode("latin-1")])),
        *(("set", change(rng)) for _ in range(rng.choice([0, 0, 1, 3]))),
        *(("claim", pattern(rng)) for _ in range(rng.choice([0] * 9 + [1]))),
        *(("x", "y") for _ in range(rng.choice([0] * 9 + [100]))),
    ]
    if rng.random() < 0.1:
        rng.shuffle(parts)
    return "&".join(f"{key}={quote(text)}" for key, text in parts)


def target(rng):
    if rng.random() < 0.6:
        return f"/api/{rng.choice(['section', 'run'])}?{query(rng)}"
    path = rng.choice(
        ["/api/section", "/api/run", "/api/runs", "/api/state",
         "/api/start", "/api/stop", "/favicon.ico", "/../../etc/passwd", "//etc/passwd", "*",
         "http://elsewhere.example/", "http://[", "/%2e%2e/", "/api/state/", "/" + "a/" * 500]
    )  # fmt: skip
    asked = rng.choice(
        ["", query(rng), query(rng), "token=guess", quote(noise(rng, 300)), "&" * 90]
    )
    return f"{path}?{asked}" if asked else path


def body(rng):
    """Never one that may be followed."""
    asked = {"claim": rng.choice([pattern(rng), CHEAP, [], None, 3]), "scale": "laptop"}
    wrong = rng.choice(
        [{"scale": "huge"}, {"scale": None}, {"set": "a=1"}, {"set": ["task.ration=3"]},
         {"set": [3]}, {"set": ["task.tuples=-3"]}, {"sets": []}, {"seeds": 10**6}, {"seeds": "x"},
         {"seeds": True}, {"seeds": 2.5}, {"sweep": ["task.tuples=" + "1,2,3," * 3000]},
         {"sweep": ["task.tuples=" + ",".join(map(str, range(1, 10_500)))]},
         {"sweep": ["a=1", "a=2"]}, {"sweep": ["a=1", "b=1", "c=1"]}, {"set": ["training=7"]},
         {"set": ["task.ratio=\ud800"]}, {"__proto__": {}}, {"set": ["-x=1", "--help"]}]
    )  # fmt: skip
    deep = "[" * rng.randint(1, 60_000)
    return rng.choice(
        [json.dumps(asked | wrong).encode(), json.dumps(asked | wrong).encode(), deep.encode(),
         b'{"seeds": NaN}', b'{"seeds": 1e999}', b'{"seeds": ' + b"9" * 6000 + b"}", b"{", b"null",
         b'"x"', b"", noise(rng, 300), b" " * 70_000, b'{"a":' * 300 + b"1" + b"}" * 300]
    )  # fmt: skip


def forbidden(rng, server):
    """Headers of one who may not ask, whatever is asked."""
    own, cookie = f"127.0.0.1:{server.server_port}", f"{server.cookie}={server.token}"
    return rng.choice(
        [[("Host", own)],
         [("Host", own), ("Cookie", f"{server.cookie}={noise(rng).hex()}")],
         [("Host", own), ("Cookie", cookie[:-1])],
         [("Host", own), ("Cookie", "; " * 5000)],
         [("Host", own), ("X-Ontogeny-Token", server.token)],
         [("Host", own), ("Cookie", cookie), ("Origin", "http://elsewhere.example")],
         [("Host", own), ("Cookie", cookie), ("Origin", "null")],
         [("Host", own), ("Cookie", cookie), ("Sec-Fetch-Site", "cross-site")],
         [("Host", own), ("Cookie", cookie), ("Sec-Fetch-Site", "same-site")],
         [("Host", own), ("Host", own), ("Cookie", cookie)],
         [("Host", "elsewhere.example"), ("Cookie", cookie)],
         [("Host", own.partition(":")[0]), ("Cookie", cookie)],
         [("Cookie", cookie)]]
    )  # fmt: skip


def oddities(rng):
    return rng.sample(
        [("Expect", "100-continue"), ("Connection", "keep-alive"), ("Upgrade", "h2c"),
         ("Range", "bytes=0-"), ("A" * 300, "b"), ("X", "y" * 5000), ("Accept", "é"), ("", "x"),
         ("X-Forwarded-Host", "elsewhere.example"), ("X-HTTP-Method-Override", "POST"),
         ("X\tY", "\x00"), ("Content-Type", "a/b; c=" + '"' * 500), ("Cookie", ";=;=\xff")],
        rng.choice([0, 0, 0, 1, 2]),
    )  # fmt: skip


def request(rng, server):
    """One request, of one who may ask or of another."""
    known = rng.random() < 0.6
    post = rng.random() < 0.4
    method = "POST" if post else "GET"
    if rng.random() < 0.1:
        method = rng.choice(["HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "get", "__init__", "é"])
    headers = [("Host", f"127.0.0.1:{server.server_port}"),
               ("Cookie", f"{server.cookie}={server.token}")]  # fmt: skip
    headers = headers if known else forbidden(rng, server)
    data, path = b"", target(rng)
    if not post and rng.random() < 0.02:
        path = "/"
    if rng.random() < 0.02:
        path, known = f"/?token={server.token}", True
    if post:
        data, path = body(rng), rng.choice(["/api/start", "/api/start", target(rng)])
        if not known and rng.random() < 0.3:  # what would be followed, if it were allowed to ask
            data = json.dumps({"claim": CHEAP, "scale": "laptop"}).encode()
        headers += rng.choice([[("X-Ontogeny", "1")]] * 4 + [[]])
        headers += rng.choice([[("Content-Type", "application/json")]] * 4 + [[]])
        lengths = [[("Content-Length", str(len(data)))]] * 6
        lengths += [[], [("Transfer-Encoding", "chunked")], [("Content-Length", "5")] * 2]
        lengths += [[("Content-Length", text)] for text in ("-1", "x", "9" * 50, "1e3", "70000")]
        lengths += [[("Content-Length", str(len(data) + 7))]]
        headers += rng.choice(lengths)
    headers += oddities(rng)
    if rng.random() < 0.02:
        headers += [("A", "b")] * 200
    rng.shuffle(headers)
    version = rng.choice(["HTTP/1.1"] * 12 + ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTP", ""])
    lines = [f"{method} {path} {version}", *(f"{name}: {text}" for name, text in headers)]
    text = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + data
    return spoilt(rng, Request(text, rng.choice(["read", "half", "half"]), known))


def spoilt(rng, made):
    """Perhaps cut off, changed, sent in pieces, or left alone."""
    text, place = made.text, rng.randrange(len(made.text))
    match rng.choice(["", "", "", "", "", "", "cut", "flip", "insert", "pieces", "leave", "noise"]):
        case "cut":
            return replace(made, text=text[:place], ending="half", whole=False)
        case "flip":
            text = text[:place] + bytes([text[place] ^ (1 << rng.randrange(8))]) + text[place + 1 :]
            return replace(made, text=text, ending="half", whole=False, known=True)
        case "insert":
            text = text[:place] + rng.choice([b"\0", b"\r\n", b"\n\n", noise(rng)]) + text[place:]
            return replace(made, text=text, ending="half", whole=False)
        case "pieces":
            return replace(made, ending="pieces")
        case "leave":
            return replace(made, text=rng.choice([text, text[:place]]), ending="leave", whole=False)
        case "noise":
            return Request(noise(rng, 3000), "half", whole=False)
    return made


def send(server, made):
    """What comes back, up to the end, and how long that took."""
    begun, got = time.monotonic(), b""
    line = socket.create_connection(("127.0.0.1", server.server_port), timeout=2 * SECONDS)
    try:
        if made.ending == "leave":
            reset = struct.pack("ii", 1, 0)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        step = max(1, len(made.text) // (4 if made.ending == "pieces" else 1))
        for place in range(0, len(made.text), step):
            line.sendall(made.text[place : place + step])
            time.sleep(0.02 * (made.ending == "pieces"))
        if made.ending == "half":
            line.shutdown(socket.SHUT_WR)
        while made.ending != "leave" and (more := line.recv(1 << 20)):
            got += more
    except ConnectionError:
        pass  # it had heard enough
    finally:
        line.close()
    return got, time.monotonic() - begun


def fault(server, made, got, seconds):
    """What is wrong with an answer, if anything is."""
    if seconds > SECONDS:
        return f"it took {seconds:.1f} s"
    if not got:
        return "there is no answer" if made.whole else ""
    head, _, told = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    version, status, *_ = [*first.split(" ", 2), "", ""]
    headers = {name.lower(): text for name, _, text in (line.partition(": ") for line in lines)}
    if version != "HTTP/1.0" or not status.isdigit():
        return "this is no answer"
    if not 200 <= int(status) < 500:
        return "this is an error of ours"
    for name, text in EVERY.items():
        if text not in headers.get(name, "").lower():
            return f"there is no {name}"
    policy = headers["content-security-policy"]
    if "unsafe" in policy or "frame-ancestors 'none'" not in policy:
        return f"the policy is {policy}"
    if not made.known and int(status) < 400:
        return "it was let in"
    if server.token.encode() in told or (server.token in head.decode("latin-1")) != (
        "set-cookie" in headers
    ):
        return "it tells the token"
    return ""


@pytest.fixture
def server(tmp_path, caplog):
    caplog.set_level(logging.INFO, "ontogeny")
    with Hasty(Store(tmp_path / "store")) as made:
        made.token = "known-to-this-test"  # so that the seed alone says what is asked
        thread = threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_no_request_hangs_it_starts_anything_or_finds_an_error(
    server, caplog, capfd, monkeypatch, record_property
):
    started = []
    monkeypatch.setattr(server.explorer.job, "start", started.append)
    rng = random.Random(SEED)
    made = [request(rng, server) for _ in range(COUNT)]
    server.explorer.get("/", {})  # the first page takes longest, here where types are checked
    begun, counts, faults = time.monotonic(), Counter(), []

    def one(number):
        got, seconds = send(server, made[number])
        counts[got[9:12].decode() or "none"] += 1
        wrong = fault(server, made[number], got, seconds)
        if wrong or started:
            found = f"{wrong or 'it started something'}\n{made[number]!r}\n{got[:600]!r}"
            faults.append(f"seed {SEED}, request {number}: {found}")

    with ThreadPoolExecutor(4) as clients:
        list(clients.map(one, range(COUNT)))
    took = time.monotonic() - begun
    heard = capfd.readouterr().err
    record_property("requests", COUNT)
    assert not faults, "\n\n".join(faults[:5])
    assert [record.getMessage() for record in caplog.records if record.levelno >= 30] == []
    assert "Traceback" not in heard and started == []
    assert took < 60
    reached = {"200", "303", "400", "403", "404", "405", "408", "411", "413", "415", "431"}
    assert reached <= counts.keys()
    assert server.making.acquire(timeout=SECONDS)  # nobody is still at an answer

"""The explorer: what it shows, whom it lets in, and what it survives."""

import http.client
import json
import signal
import socket
import threading
import time
from urllib.parse import urlencode

import numpy as np
import pytest
from conftest import tiny

from ontogeny import Store
from ontogeny.engine import so_far
from ontogeny.explore import Server
from ontogeny.perform import Interrupted, Unit, perform
from ontogeny.row import lanes

CHEAP = "gradients_have_the_stated_form"
ASKED = {"claim": CHEAP, "scale": "laptop"}


@pytest.fixture
def server(tmp_path):
    with Server(Store(tmp_path / "store")) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    method = "GET" if body is None else "POST"
    text = body if body is None or isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, text, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def start(server, body, **headers):
    given = {"X-Ontogeny-Token": server.laboratory.token} | headers
    return ask(server, "/api/start", body, **given)


def test_it_listens_to_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.laboratory.token in server.address


def test_the_page_has_every_claim_judged_or_not(server):
    status, text = ask(server, "/")
    assert status == 200 and f'id="{CHEAP}"' in text and "unjudged" in text
    assert server.laboratory.token not in text  # whoever reads the page cannot start work


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"X-Ontogeny-Token": "guessed"}, "token"),
        ({"X-Ontogeny-Token": ""}, "token"),
        ({"Origin": "http://elsewhere.example"}, "only a page of this server"),
        ({"Sec-Fetch-Site": "cross-site"}, "only a page of this server"),
        ({"Host": "elsewhere.example"}, "its own name"),
    ],
)
def test_work_starts_only_for_its_own_page_and_with_the_token(server, headers, reason):
    status, text = start(server, ASKED, **headers)
    assert status == 403 and reason in text
    assert server.laboratory.work.process is None


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "no JSON object"),
        (b"\xff\xfe", 400, "no JSON"),
        ({"claim": "no_such_claim", "scale": "laptop"}, 400, "no claim"),
        ({"claim": CHEAP, "scale": "huge"}, 400, "huge"),
        (ASKED | {"sweep": ["task.tuple=3"]}, 400, "task.tuples"),
        (ASKED | {"sweep": ["task.tuples=-3"]}, 400, "tuples"),
        (ASKED | {"sweep": "task.tuples=3"}, 400, "lists"),
        (ASKED | {"seeds": "many"}, 400, "seeds"),
        (ASKED | {"seeds": 10**9}, 400, "seeds"),
        (b" " * 70000, 413, "too long"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(server, body, status, reason):
    found, text = start(server, body)
    assert (found, reason in text) == (status, True), text
    assert server.laboratory.work.process is None


def test_it_survives_what_is_no_request(server):
    for noise in (b"\x00\xff\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST"):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=5) as raw:
            raw.sendall(noise)
    for path in ("/../../etc/passwd", "/api/run", "/api/run?claim=%00", "/api/section?scale=x"):
        assert ask(server, path)[0] in (400, 404)
    assert ask(server, "/api/state")[0] == 200


def test_what_is_started_is_followed_and_its_results_are_there(server):
    status, text = start(server, ASKED | {"seeds": 2, "sweep": ["task.tuples=4,6"]})
    assert status == 200, text
    assert start(server, ASKED)[0] == 409  # one at a time
    until = time.monotonic() + 240
    while server.laboratory.work.running and time.monotonic() < until:
        time.sleep(0.5)
    state = json.loads(ask(server, "/api/state")[1])
    assert state["started"]["code"] == 0, state
    assert any(name.startswith("variations/") for name in state["written"])
    runs = json.loads(ask(server, "/api/runs")[1])
    assert {tuple(run["set"]) for run in runs} == {("task.tuples=4",), ("task.tuples=6",)}
    first = runs[0]
    query = [(key, first[key]) for key in ("claim", "scale", "name")]
    status, packed = ask(server, f"/api/run?{urlencode([*query, ('set', first['set'][0])])}")
    assert status == 200 and len(packed) > 100
    status, section = ask(server, f"/api/section?{urlencode(ASKED)}")
    assert status == 200 and "task.tuples" in section


def test_what_is_started_can_be_stopped(server):
    """Even where an interrupt would be ignored, as in a process started in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asked = {"claim": "joint_training_yields_analogy_in_gpt2", "scale": "laptop"}
        assert start(server, asked)[0] == 200
    finally:
        signal.signal(signal.SIGINT, before)
    until = time.monotonic() + 60
    while not server.laboratory.store.works() and time.monotonic() < until:
        time.sleep(0.2)
    (work,) = server.laboratory.store.works()  # it says how far it is, to whoever looks
    assert work["words"][:2] == ["judge", "joint_training_yields_analogy_in_gpt2"]
    status, _ = ask(server, "/api/stop", {}, **{"X-Ontogeny-Token": server.laboratory.token})
    assert status == 200
    assert server.laboratory.work.process.wait(60) == 130
    assert server.laboratory.store.works() == []


def test_curves_grow_from_checkpoints(tmp_path):
    """A run that is under way has as many looks as its last checkpoint; a seed that has not begun,
    none."""
    store, experiment = Store(tmp_path), tiny(looks=5)
    assert so_far("a", experiment, 2, store) is None
    (other, lane), looked = lanes("a", experiment, range(2)), []
    unit = Unit((lane,), (0, 0), 1.0)
    looks = perform(unit, store, lambda: "stop" if len(looked) > 2 else "", checkpoint_seconds=0.0)
    with pytest.raises(Interrupted):
        looked.extend(iter_noting(looks, looked))
    grown = so_far("a", experiment, 2, store)
    assert grown.seeds == (1,) and 1 < len(grown.steps) < len(experiment.clock)
    for _ in perform(Unit((other,), (0, 0), 1.0), store):
        pass
    both = so_far("a", experiment, 2, store)
    assert both.seeds == (0, 1) and len(both.steps) == len(experiment.clock)
    value = next(iter(both.answers.values()))
    assert np.isfinite(value[0]).all() and np.isnan(value[1, -1]).all()


def iter_noting(looks, looked):
    for look in looks:
        looked.append(look)
    return []

"""The explorer: what it shows, what it starts, and what it refuses to start."""

import http.client
import json
import signal
import threading
import time
from urllib.parse import urlencode

import numpy as np
import pytest
from small import tiny

from ontogeny import Store
from ontogeny.engine.execute import so_far
from ontogeny.engine.runs import specs
from ontogeny.engine.units import Interrupted, Unit, train
from ontogeny.report.explorer import LISTED, Server

CHEAP = "gradients_have_the_stated_form"
ASKED = {"claim": CHEAP, "scale": "laptop"}
UNTRAINED = "wide_attention_does_not_begin_to_copy"


@pytest.fixture
def server(tmp_path):
    with Server(Store(tmp_path / "store")) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    method = "GET" if body is None else "POST"
    text = body if body is None or isinstance(body, bytes) else json.dumps(body)
    headers = {"Cookie": f"{server.cookie}={server.token}"}
    if method == "POST":
        headers |= {"X-Ontogeny": "1", "Content-Type": "application/json"}
    connection.request(method, path, text, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def start(server, body):
    return ask(server, "/api/start", body)


def numbers(count):
    return ",".join(map(str, range(1, count + 1)))


def test_it_listens_to_this_machine_alone(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/?token={server.token}"


def test_the_page_has_every_claim_judged_or_not(server):
    status, text = ask(server, "/")
    assert status == 200 and f'id="{CHEAP}"' in text and "unjudged" in text
    assert server.token not in text


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "not a JSON object"),
        (b"\xff\xfe", 400, "not JSON"),
        ({}, 400, "one claim is needed"),
        ({"claim": [CHEAP], "scale": "laptop"}, 400, "one claim is needed"),
        ({"claim": CHEAP}, 400, "one scale is needed"),
        ({"claim": "", "scale": "laptop"}, 400, "an empty pattern"),
        ({"claim": "no_such_claim", "scale": "laptop"}, 400, "no claim"),
        ({"claim": "*" * 60_000, "scale": "laptop"}, 400, "60000 characters"),
        ({"claim": CHEAP, "scale": "huge"}, 400, "unknown scale 'huge': known: laptop, paper"),
        (ASKED | {"sweep": ["task.tuple=3"]}, 400, "task.tuples"),
        (ASKED | {"sweep": ["task.tuples=-3"]}, 400, "tuples"),
        (ASKED | {"sweep": "task.tuples=3"}, 400, "lists"),
        (ASKED | {"sweep": [f"task.tuples={numbers(10_001)}"]}, 400, "a sweep of 10,001 points"),
        (ASKED | {"sweep": ["task.tuples=3", "task.tuples=4"]}, 400, "swept twice"),
        (ASKED | {"set": ["task.ration=3"]}, 400, "did you mean 'task.ratio'"),
        (ASKED | {"set": ["task.tuples=-3"]}, 400, "tuples"),
        (ASKED | {"set": ["task.ratio=\0"]}, 400, "cannot be typed"),
        (ASKED | {"set": ["task.ratio=3"] * 101}, 400, "101 changes"),
        (ASKED | {"claim": UNTRAINED, "set": ["training=7"]}, 400, "Stages"),
        (ASKED | {"sets": ["task.ratio=3"]}, 400, "did you mean 'set'"),
        (ASKED | {"seeds": "many"}, 400, "seeds"),
        (ASKED | {"seeds": 10**9}, 400, "seeds"),
        (ASKED | {"seeds": True}, 400, "seeds"),
        (b" " * 70000, 413, "too long"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(server, body, status, reason):
    found, text = start(server, body)
    assert found == status and reason in text, text
    assert server.explorer.job.process is None


def test_a_sweep_that_takes_long_to_check_is_for_the_command_line(server, monkeypatch):
    monkeypatch.setattr("ontogeny.report.explorer.CHECKING", 0.0)
    status, text = start(server, ASKED | {"sweep": [f"task.tuples={numbers(5000)}"]})
    assert status == 400 and "command line" in text
    assert server.explorer.job.process is None


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/../../etc/passwd", 404),
        ("/api", 404),
        ("/api/run", 400),
        ("/api/run?claim=%00", 400),
        ("/api/section?scale=x", 400),
        (f"/api/section?{urlencode(ASKED | {'scale': 'x'})}", 400),
        (f"/api/section?claim={'*' * 60}!&scale=laptop", 400),
        (f"/api/section?claim={CHEAP}&claim={CHEAP}&scale=laptop", 400),
        (f"/api/run?{urlencode(ASKED | {'name': 'nobody'})}", 404),
        (f"/api/run?{urlencode(ASKED | {'name': 'trained', 'set': 'task.ratio'})}", 400),
        (f"/api/run?claim={UNTRAINED}&scale=laptop&name=x&set=regime%3D7", 400),
        (f"/?{'a=1&' * 100}", 400),
    ],
)
def test_a_question_without_an_answer_is_refused_at_once(server, path, status):
    begun = time.monotonic()
    assert ask(server, path)[0] == status
    assert time.monotonic() - begun < 5


def test_it_survives_what_others_left_in_the_store(server):
    for kind, texts in {
        "sweeps": ["[]", "{}", '{"claim": 1, "scale": 2, "sweeps": 3, "changes": 4}',
                       '{"claim": "a", "scale": "b", "sweeps": {}, "changes": [], "points": [3]}'],
        "working": ['{"pid": "x", "host": "y"}', '{"pid": 1e99, "host": 3}',
                    f'{{"pid": {10**30}, "host": "y"}}'],
        "verdicts": ["[]", "{", "{}"],
    }.items():  # fmt: skip
        folder = server.explorer.store.root / kind
        folder.mkdir(parents=True)
        for place, text in enumerate(texts):
            (folder / f"{place}.laptop.json").write_text(text)
        (folder / f"{CHEAP}.laptop.json").write_text('{"seeds": 100000000}')
    for path in ("/", "/api/state", "/api/runs", f"/api/section?{urlencode(ASKED)}"):
        assert ask(server, path)[0] == 200, path
    assert ask(server, f"/api/run?{urlencode(ASKED | {'name': 'trained'})}")[0] == 200


def test_not_more_is_listed_than_can_be_chosen_from(server):
    store, points = server.explorer.store, 3 * LISTED
    swept = {"task.ratio": [str(place) for place in range(1, points + 1)]}
    found = [{"at": [at], "outcome": "supported", "evidence": []} for at in swept["task.ratio"]]
    kept = {"claim": CHEAP, "scale": "laptop", "changes": [], "sweeps": swept, "points": found}
    kept["seeds"] = 3
    store.save_note("sweeps", "large", kept)
    status, text = ask(server, "/api/runs")
    assert status == 200 and len(json.loads(text)) == LISTED


def test_what_is_started_is_followed_and_its_results_are_there(server):
    status, text = start(server, ASKED | {"seeds": 2, "sweep": ["task.tuples=4, 6"]})
    assert status == 200, text
    assert "task.tuples=4,6" in json.loads(text)["words"]  # as one can paste it
    assert start(server, ASKED)[0] == 409  # one at a time
    until = time.monotonic() + 240
    while server.explorer.job.running and time.monotonic() < until:
        time.sleep(0.5)
    state = json.loads(ask(server, "/api/state")[1])
    assert state["started"]["code"] == 0, state
    assert any(name.startswith("sweeps/") for name in state["written"])
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
    while not server.explorer.store.works() and time.monotonic() < until:
        time.sleep(0.2)
    (work,) = server.explorer.store.works()  # it says how far it is, to whoever looks
    assert work["words"][:2] == ["judge", "joint_training_yields_analogy_in_gpt2"]
    assert ask(server, "/api/stop", {})[0] == 200
    assert server.explorer.job.process.wait(60) == 130
    assert server.explorer.store.works() == []


def test_curves_grow_from_checkpoints(tmp_path):
    """A run that is under way has as many looks as its last checkpoint; a seed that has not begun,
    none."""
    store, experiment = Store(tmp_path), tiny(evaluations=5)
    assert so_far("a", experiment, 2, store) is None
    (other, lane), looked = specs("a", experiment, range(2)), []
    unit = Unit((lane,), 1.0)
    evaluations = train(unit, store, lambda: "stop" if len(looked) > 2 else None, every=0.0)
    with pytest.raises(Interrupted):
        looked.extend(iter_noting(evaluations, looked))
    grown = so_far("a", experiment, 2, store)
    assert grown.seeds == (1,) and 1 < len(grown.steps) < len(experiment.evaluated_at)
    for _ in train(Unit((other,), 1.0), store):
        pass
    both = so_far("a", experiment, 2, store)
    assert both.seeds == (0, 1) and len(both.steps) == len(experiment.evaluated_at)
    value = next(iter(both.answers.values()))
    assert np.isfinite(value[0]).all() and np.isnan(value[1, -1]).all()


def iter_noting(evaluations, looked):
    for look in evaluations:
        looked.append(look)
    return []

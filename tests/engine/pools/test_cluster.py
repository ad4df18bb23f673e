"""Work on Ray: two nodes on this machine, one of which is killed; drivers that die."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import faraway
import numpy as np
import pytest
from cells import TYPED_HERE, said, session
from own_claims import put
from small import PROBES, tiny

from ontogeny import Cluster, ConfigError, Store, execute
from ontogeny.claims.find import find_one
from ontogeny.claims.verdict import judge as claims
from ontogeny.engine.pools import cluster
from ontogeny.engine.runs import specs
from ontogeny.engine.schedule import Progress, WorkerError

RAY = [sys.executable, "-m", "ray.scripts.scripts"]
QUIET = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CLIENT_RECONNECT_GRACE_PERIOD": "2",  # seconds until a driver that died is given up
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # else the head, forking for a driver, sometimes aborts
}
CLAIM = "the_ratio_sets_the_resemblance"


def free():
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return asked.getsockname()[1]


class Node:
    """`ray start`, in a process group of its own."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen(
            [*RAY, "start", "--num-cpus=1", "--block", *words],
            env=os.environ | QUIET | {"RAY_TMPDIR": folder},
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for line in self.process.stdout:
            if "--block" in line:  # the last it says
                break

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Pair:
    """A head with one core, and another node with one."""

    def __init__(self, folder):
        self.folder, self.gcs, client = folder, free(), free()
        self.address = f"ray://127.0.0.1:{client}"
        self.head = Node(
            folder, "--head", f"--port={self.gcs}", f"--ray-client-server-port={client}",
            "--include-dashboard=false", "--node-ip-address=127.0.0.1",
        )  # fmt: skip
        self.join()

    def join(self):
        self.other = Node(self.folder, f"--address=127.0.0.1:{self.gcs}")

    def stop(self):
        import ray

        ray.shutdown()
        for node in (self.other, self.head):
            if node.process.poll() is None:
                node.kill()


def folder():
    """Where Ray has its sockets (hence short), and finds no cluster but its own."""
    return tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True)


@pytest.fixture(scope="module")
def pair():
    os.environ.update(QUIET)
    with folder() as shared:
        both = Pair(shared)
        try:
            pool = Cluster(both.address, modules=[faraway])  # all that connect here do so with it
            deadline = time.monotonic() + 60
            while pool.ray.cluster_resources().get("CPU") != 2:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield both
        finally:
            both.stop()


def same(ours, theirs):
    for name, run in ours.items():
        for probe, values in run.answers.items():
            np.testing.assert_allclose(values, theirs[name].answers[probe], rtol=1e-5, atol=1e-5)


LONG = {"learning_rate": 0.05, "steps": 400, "evaluations": 400}
EXPERIMENTS = {
    "a": tiny(**LONG, probes=PROBES | {"own": faraway.Elsewhere()}),
    "b": tiny(width=20, **LONG),
}


@pytest.fixture(scope="module")
def alone():
    return execute(EXPERIMENTS, seeds=2)


class Steps(Progress):
    """Takes down what it is told, and does something once."""

    def __init__(self, deed=None, when=10**9):
        self.told, self.deed, self.when, self.workers = [], deed, when, 0
        self.deadline = time.monotonic() + 400

    def planned(self, units, workers):
        self.workers = workers

    def evaluated(self, unit, news):
        label = unit.specs[0].label
        self.told.append((label, news.step))
        if not self.deed:
            return
        reached = dict(self.told)  # the last that each said
        if sum(step >= self.when for step in reached.values()) == 2:
            self.deed()
            self.deed = None
            self.told.append(("deed", -1))
        else:  # workers wait while nobody listens: the more the one in front, if it is alone
            assert time.monotonic() < self.deadline
            lead, others = news.step - self.when, [step for step in reached.values() if step]
            alone = min(1.02**lead, 20) if len(others) < 2 else 1
            time.sleep(0.01 if lead < 0 else 0.05 * alone)


def judge(store, on, claim=CLAIM, **environment):
    words = ("--seeds", "3", "--store", str(store), "--on", on)
    return subprocess.Popen(
        [sys.executable, "-m", "ontogeny.cli.main", "judge", str(claim), *words],
        env=os.environ | QUIET | {"ONTOGENY_CHECKPOINT_SECONDS": "0"} | environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Unsent(faraway.Elsewhere):
    """What no other machine knows."""


def test_what_a_worker_far_away_cannot_do_is_said_here(pair):
    pool = Cluster(pair.address)
    # of this file, or of what it imports, where Ray's workers begin in a folder that has it
    with pytest.raises(WorkerError, match=r"No module named '(tests|faraway|cells)'"):
        execute({"x": tiny(probes={"?": Unsent()})}, seeds=1, on=pool)


def test_a_node_that_dies_costs_only_what_was_done_since_its_checkpoint(
    pair, alone, store, monkeypatch
):
    monkeypatch.setenv("ONTOGENY_CHECKPOINT_SECONDS", "0")
    saved = {}

    def kill():
        pair.other.kill()
        for label, experiment in EXPERIMENTS.items():
            kept = [store.checkpoint(spec.name) for spec in specs(label, experiment, range(2))]
            saved[label] = min(c.evaluations for c in kept)

    watch = Steps(deed=kill, when=50)
    far = execute(EXPERIMENTS, seeds=2, on=Cluster(pair.address), store=store, progress=watch)
    same(far, alone)
    after = watch.told[watch.told.index(("deed", -1)) + 1 :]
    for label in EXPERIMENTS:  # it went on from there
        assert 0 < saved[label] < min(step for name, step in after if name == label)
    assert watch.workers == 2
    assert {step for label, step in watch.told if label == "a"} == set(range(801))  # live
    assert len(store.names()) == 4 and not list(store.root.glob("partial/*/*"))
    pair.join()


def test_a_driver_that_dies_leaves_a_store_that_another_goes_on_with(pair, tmp_path):
    first = judge(tmp_path / "store", pair.address)
    for line in first.stderr:
        if "step" in line:
            break
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not Store(tmp_path / "store").names():
        time.sleep(0.01)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    sealed = {path: path.stat().st_mtime for path in (tmp_path / "store").glob("runs/*/seal.json")}
    assert 0 < len(sealed) < 18  # of six ratios with three seeds
    second = judge(tmp_path / "store", pair.address)
    _, err = second.communicate(timeout=120)
    assert second.returncode == 0, err
    assert f"running {18 - len(sealed)} runs" in err
    assert all(path.stat().st_mtime == written for path, written in sealed.items())
    (verdict,) = claims([find_one(CLAIM)], execute, seeds=3)
    there = Store(tmp_path / "store").note("verdicts", f"{CLAIM}.laptop")["evidence"]
    for ours, theirs in zip(verdict.as_json()["evidence"], there, strict=True):
        assert ours["ours"] == pytest.approx(theirs["ours"], rel=1e-4)


def test_claims_of_ones_own_are_judged_there_with_what_lies_beside_them(pair, tmp_path):
    own = put(tmp_path / "study")  # which imports a probe from the file beside it
    asked = judge(tmp_path / "store", pair.address, own)
    out, err = asked.communicate(timeout=120)
    assert asked.returncode == 0 and "3 of 3" in out, out + err


def test_on_ray_alone_starts_what_it_needs_and_an_interrupt_keeps_what_was_done(tmp_path):
    with folder() as own, judge(tmp_path / "store", "ray", RAY_TMPDIR=own) as process:
        for line in process.stderr:
            if re.search("step [1-9]", line):
                break
        assert os.listdir(f"{own}/ray")  # a cluster of its own
        os.kill(process.pid, signal.SIGINT)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    if process.returncode:  # it may have been quicker
        assert process.returncode == 130 and "what was done is kept" in err
        kept = Store(tmp_path / "store")
        assert list(kept.root.glob("partial/*/*")) or kept.names()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "spark"), "--on spark: must be ray or ray://HOST:PORT"),
        (("--on", "ray", "--workers", "0"), "at least 1"),
    ],
)
def test_a_place_that_does_not_exist_is_said_in_a_line(words, said, capsys, tmp_path):
    from ontogeny.cli.main import app

    with pytest.raises(ConfigError, match=re.escape(said)):
        app(["judge", CLAIM, "--store", str(tmp_path), *words])


def test_without_ray_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("ontogeny.engine.environment.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'ontogeny\[cluster\]'"):
        execute({"x": tiny()}, seeds=1, on=Cluster())


def test_a_cluster_that_is_busy_is_asked_again_and_one_that_is_not_there_is_not(monkeypatch):
    tries = []

    def init(address, **_):
        tries.append(address)
        if "busy" in address and len(tries) < 3:
            raise RuntimeError("Starting Ray client server failed. See the logs.")
        if "nobody" in address:
            raise ConnectionError("nobody there")

    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", init)
    monkeypatch.setattr("time.sleep", lambda _: None)
    cluster._connected("ray://busy:1", ())
    assert len(tries) == 3
    with pytest.raises(ConfigError, match="no Ray cluster at ray://nobody:1: nobody there"):
        cluster._connected("ray://nobody:1", ())
    assert len(tries) == 4


def test_what_was_typed_in_a_notebook_runs_on_ray_by_the_same_names(pair, tmp_path):
    on = f"answers(2, Cluster({pair.address!r}))"
    lines, _ = session(tmp_path, *TYPED_HERE, on, "answers(0)")
    assert len(said(lines, "WORKERS")) == 2, "\n".join(lines)
    there, here = map(json.loads, said(lines, "WORKERS"))
    assert there[0] == 4
    np.testing.assert_allclose(there[1]["0.1"], here[1]["0.1"], rtol=1e-5)
    assert Store(tmp_path / "ray").names() == Store(tmp_path / "store").names()

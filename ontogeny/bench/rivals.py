"""The same training by a straightforward PyTorch program, and how long each takes to a verdict.

The programs are in the folder `bench` of the repository. They start from the same parameters and
are given their first batches. Their time to a verdict is what their steps take, one run after the
other on all cores, with fresh batches where the task has no fixed training set; and what their
evaluations take: one forward pass over the rows that the probes read, and rollouts where probes
measure them. Nothing else is counted: no table read, nothing judged or written.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from ..claims.claim import Claim
from ..claims.find import find, find_one
from ..claims.scale import Scale
from ..core.external import External
from ..core.types import Batch, Experiment, Moment, Stage
from ..engine import program
from ..engine.environment import missing
from ..engine.runs import specs
from ..engine.serialize import serialize
from ..engine.store import Store
from ..models.clauses import ClauseTransformer, sentences_of
from ..probes.lego import RolloutAccuracy
from ..tasks.lego import Lego, Sentence
from ..tasks.triggers import Triggers
from ..training.descent import drawn

PROGRAMS = Path(__file__).parent.parent.parent / "bench"

# The claim that each family of models is timed on.
CLAIMS = {
    "one-layer": "similarity_must_come_before_attributes",
    "embedding-MLP": "identity_bridges_let_two_hops_compose",
    "templates": "transformers_tell_same_from_different_on_unseen_symbols",
    "induction": "three_memories_make_an_induction_head",
    "LEGO": "c6_generalizes_farther_in_length_than_s5",
    "GPT-2": "joint_training_yields_analogy_in_gpt2",
}
KINDS = (
    "OneLayer",
    "EmbeddingMLP",
    "Transformer",
    "OneHotMLP",
    "InductionPair",
    "ClauseTransformer",
    "GPT2",
)


def absent() -> str:
    """Why there is nothing to compare with; nothing if there is."""
    if not (PROGRAMS / "train.py").exists():
        return "the PyTorch programs are in the repository's folder bench"
    return missing("bench")


def verdicts(tell: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """Seconds to the verdict of each headline claim, and its memory."""
    found = {}
    for claim in find([]):
        tell(f"{claim.name}, from nothing to a verdict")
        with tempfile.TemporaryDirectory() as folder:
            found[claim.name] = judged(claim, Path(folder))
    return found


def race(name: str, tell: Callable[[str], None], steps: int = 30) -> dict[str, Any]:
    """Judges a claim from nothing, and times the PyTorch programs on what it trained."""
    claim = find_one(name)
    with tempfile.TemporaryDirectory() as folder:
        tell(f"{name}, from nothing to a verdict")
        ours = judged(claim, Path(folder))
        tell(f"{name}, the same with its programs compiled")
        again = judged(claim, Path(folder), store="again")
        tell(f"{name}, in PyTorch")
        modes = {mode: theirs(claim, Path(folder), mode, steps) for mode in ("eager", "compiled")}
    quicker = min(row["seconds"] for row in modes.values())
    leaner = min(row["memory"] for row in modes.values())
    return {
        "claim": name,
        "ours": ours,
        "again": again,
        **modes,
        "times_as_fast": quicker / ours["seconds"],
        "times_as_fast_again": quicker / again["seconds"],
        "memory_ratio": ours["memory"] / leaner,
    }


def judged(claim: Claim, folder: Path, store: str = "store") -> dict[str, float]:
    """Seconds to a verdict with an empty store, and the largest process. The first time in a folder
    nothing is compiled."""
    words = [sys.executable, "-m", "ontogeny.cli.main", "judge", claim.name]
    words += ["--store", str(folder / store), "--seeds", str(claim.seeds.least)]
    # JAX's compiled programs live in the cache folder: an empty one makes this a cold start
    fresh = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    with (folder / "output.txt").open("w") as output:
        began, largest = time.perf_counter(), 0.0
        process = subprocess.Popen(
            words, env=fresh, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            while process.poll() is None:
                largest = max(largest, _largest(process.pid))
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.25)
        finally:
            process.terminate()  # if this was interrupted
        seconds = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{(folder / 'output.txt').read_text()}")
    return {"seconds": seconds, "memory": largest}


def _largest(session: int) -> float:
    """The most that any process of a session has held so far, in bytes."""
    most = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError, StopIteration):  # it has just ended
            if os.getsid(int(status.parent.name)) == session:
                lines = status.read_text().splitlines()
                # its high-water mark: a peak between two looks counts, too
                held = next(line for line in lines if line.startswith("VmHWM"))
                most = max(most, 1024.0 * int(held.split()[1]))
    return most


def theirs(claim: Claim, folder: Path, mode: str, steps: int) -> dict[str, float]:
    """What all runs of a claim would take a PyTorch program, and its memory."""
    experiments = claim.named(Scale.LAPTOP)
    seconds, memory, known = 0.0, 0.0, dict[Any, dict[str, float]]()
    for name, experiment in experiments.items():
        if isinstance(experiment, External) or type(experiment.model).__name__ not in KINDS:
            continue
        taken = steps_trained(name, experiment, claim.seeds.least, Store(folder / "store"))
        for index, stage in enumerate(experiment.training):
            kind = jax.tree.structure((experiment.model, stage)), experiment.task.length
            # one program per structure, as ours compiles it once: its start counts once, too
            if kind not in known:
                file = folder / "data.npz"
                export(experiment, stage, file)
                known[kind] = trained(file, mode, steps)
                seconds += known[kind]["start"]
            of_stage = [each for each in experiment.intervals if each.stage == index]
            cost, evaluations = known[kind], claim.seeds.least * len(of_stage)
            seconds += taken[index] * (cost["step"] + cost["drawing"])
            seconds += evaluations * (_asked(experiment) * cost["row"] + cost["following"])
            memory = max(memory, known[kind]["memory"])
    return {"seconds": seconds, "memory": memory, "step": min(k["step"] for k in known.values())}


def _asked(experiment: Experiment) -> int:
    """Rows that the probes of an evaluation read."""
    state = jax.eval_shape(program.begin, experiment, jnp.zeros((), jnp.int32))
    rows = 0
    for probe in experiment.probes.values():
        if split := getattr(probe, "split", ""):
            drawing = partial(experiment.task.sample, split=split, key=jr.key(0))
            rows += len(jax.eval_shape(drawing, state.world).inputs)
    return rows


def steps_trained(name: str, experiment: Experiment, seeds: int, store: Store) -> list[int]:
    """Steps that the runs of an experiment took in each stage, early ends included."""
    taken, began = [0] * len(experiment.training), 0
    for index, stage in enumerate(experiment.training):
        for each in specs(name, experiment, range(seeds)):
            record = store.load(each.name)
            assert record is not None
            ended = record.environment["ended"].get(str(index), began + stage.steps)
            taken[index] += ended - began
        began += stage.steps
    return taken


def export(experiment: Experiment, stage: Stage, path: Path, batches: int = 4) -> None:
    """Initial parameters, some batches and the rule, as the programs read them."""
    state = jax.jit(partial(program.begin, experiment))(jnp.zeros((), jnp.int32))
    arrays = {f"params.{name}": leaf for name, leaf in _named(state.params)}
    for n, batch in enumerate(_batches(experiment, stage, state, batches)):
        arrays |= {f"batch{n}.{field}": values for field, values in batch.items()}
    serialized = {"trainable": ["output"], "weight_decay": 0.0, "batch_size": 0} | serialize(stage)
    kind = serialized["is"].rpartition(".")[2].replace("ReadoutDescent", "Descent")
    chains = list(_chains(experiment, state))
    for n, sentences in enumerate(chains):
        arrays[f"chains{n}.predicates"] = sentences.predicates
        arrays[f"chains{n}.answer"] = sentences.answers[:, 0]
    task = experiment.task
    if isinstance(task, Triggers):
        text = task.bigrams
        tables = {"first": text.first, "after": text.after, "commonest": task.commonest}
        arrays |= {f"task.{name}": values for name, values in tables.items()}
    about = {
        "task": type(task).__name__,
        "drawn": serialize(task),
        "chains": len(chains),
        "model": type(experiment.model).__name__,
        "settings": serialize(experiment.model),
        "stage": serialized | {"is": kind},
        "batches": batches,
    }
    np.savez(path, about=json.dumps(about), **{k: np.asarray(v) for k, v in arrays.items()})  # type: ignore[arg-type]


def _batches(
    experiment: Experiment, stage: Any, state: program.State, count: int
) -> Iterator[dict[str, Any]]:
    @jax.jit
    def drawn_by(key: Any) -> dict[str, Any]:
        now = Moment(experiment.task, state.world, experiment.model, state.params, key)
        batch: Batch = now.batch(stage.split)
        if getattr(stage, "batch_size", 0):
            batch = drawn(batch, stage.batch_size, key)
        fields = batch._asdict()
        del fields["first"]  # for our fast path alone
        if isinstance(experiment.task, Lego) and isinstance(experiment.model, ClauseTransformer):
            fields |= dict(sentences_of(experiment.task, batch)._asdict())
        return fields

    return (drawn_by(jr.key(n)) for n in range(count))


def _chains(experiment: Experiment, state: program.State) -> Iterator[Sentence]:
    """The rollouts of an evaluation."""
    for probe in experiment.probes.values():
        if isinstance(probe, RolloutAccuracy):
            assert isinstance(experiment.task, Lego)
            batch = experiment.task.sample(state.world, probe.split, jr.key(0))
            yield sentences_of(experiment.task, batch)


def _named(params: Any) -> list[tuple[str, Any]]:
    found = jax.tree.leaves_with_path(params)
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in found]


def trained(data: Path, mode: str, steps: int) -> dict[str, Any]:
    """What a program says of its training."""
    words = [sys.executable, str(PROGRAMS / "train.py"), str(data), "--steps", str(steps)]
    words += ["--mode", mode]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found

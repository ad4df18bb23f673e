"""Trained models in a folder of one's own: safetensors and JSON, nothing that runs when it is read.

model.safetensors     the parameters
step-40.safetensors   those after 40 steps, if they were kept, too
answers.safetensors   what the experiment's probes answered, if the run has ended
config.json           the experiment, the code that it was trained with, a hash of each file
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.fields import ConfigError
from ..core.types import Experiment
from . import weights
from .environment import environment
from .files import Arrays, Damaged, file_hash, misfit, read_json, write_whole
from .runs import specs
from .serialize import deserialize, record
from .store import Record, log
from .trained import Source, Trained, label_of

_CONFIG = {"experiment": dict, "sources": {...: str}, "versions": {...: str}, "seed": int}
_CONFIG |= {"step": int, "steps": {...: str}, "files": {...: str}, "environment": dict}


def save(trained: Trained, folder: Path, form: str = "safetensors") -> list[Path]:
    """Writes a trained model, each file whole, the one that seals the others last."""
    experiment, source = trained.experiment, trained.source
    weights.check(experiment, form)
    if form == "gpt2":
        arrays, config = weights.gpt2(experiment, trained.params)
        return _write(folder, {"model.safetensors": arrays}, config)
    steps = {step: f"step-{step}.safetensors" for step in trained.steps}
    steps[trained.step] = "model.safetensors"
    contents: dict[str, Arrays] = {}
    for step, name in steps.items():
        contents[name] = source.kept[step]
    ended = source.record
    if ended:
        contents["answers.safetensors"] = ended.answers
    about = {
        **record(experiment),
        "seed": trained.seed,
        "step": trained.step,
        "steps": {str(step): name for step, name in steps.items()},
        "environment": (ended.environment if ended else {}) | environment(),
    }
    return _write(folder, contents, about, seal=True)


def _write(
    folder: Path, contents: Mapping[str, Arrays], about: dict[str, Any], seal: bool = False
) -> list[Path]:
    from safetensors.numpy import save as packed

    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, arrays in contents.items():
            whole = {key: np.ascontiguousarray(each) for key, each in arrays.items()}
            write_whole(folder / name, packed(whole, metadata={"format": "pt"}))
            written.append(folder / name)
        files = {path.name: file_hash(path) for path in written}
        text = json.dumps(about | ({"files": files} if seal else {}), indent=1)
        write_whole(folder / "config.json", text + "\n")
    except OSError as error:
        raise ConfigError(f"{folder}: nothing can be written there: {error.strerror}") from error
    return [*written, folder / "config.json"]


def load(path: str | Path) -> Trained:
    """A trained model that was saved. Says so if the code is no longer that which trained it."""
    folder = Path(path)
    about = _config(folder)
    experiment = _experiment(folder, about)
    changed = _changed(about, record(experiment))
    if changed:
        log.warning(
            "%s: not what it was when this model was trained: %s; what is asked of it now may come "
            "out otherwise", folder, ", ".join(changed),
        )  # fmt: skip
    (spec,) = specs(label_of(experiment), experiment, [about["seed"]])
    steps = {int(step): name for step, name in about["steps"].items() if step.isdecimal()}
    kept = _InFolder(folder, about["files"], steps)
    if about["step"] not in steps:
        raise ConfigError(f"{folder}/config.json: no file has the parameters of its step")
    ended = None
    if "answers.safetensors" in about["files"]:
        answers = kept.read("answers.safetensors")
        around = about["environment"]
        ended = Record(answers, str(around.get("failure", "")), around)
    trained = Trained(Source(experiment, spec, kept, ended, changed), about["step"])
    _ = trained.params  # read now: who loads a damaged model hears it here
    return trained


def _config(folder: Path) -> dict[str, Any]:
    try:
        about = read_json(folder / "config.json")
    except FileNotFoundError as error:
        raise ConfigError(f"{folder} holds no trained model: it has no config.json") from error
    except (OSError, Damaged) as error:
        raise ConfigError(f"{folder}/config.json cannot be read: {error}") from error
    if problem := misfit(about, _CONFIG):
        raise ConfigError(f"{folder}/config.json is not that of a saved model: {problem}")
    assert isinstance(about, dict)
    return about


def _experiment(folder: Path, about: dict[str, Any]) -> Experiment:
    try:
        experiment = deserialize(about["experiment"])
    except (ConfigError, TypeError, RecursionError) as error:
        raise ConfigError(f"{folder}/config.json: {error}") from error
    if not isinstance(experiment, Experiment):
        raise ConfigError(f"{folder}/config.json: that is no Experiment")
    return experiment


def _changed(then: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    """The modules and distributions that are not what they were."""
    fields = () if then["experiment"] == now["experiment"] else ("the experiment's fields",)
    found = {
        name
        for part in ("sources", "versions")
        for name in {*then[part], *now[part]}
        if then[part].get(name) != now[part].get(name)
    }
    return (*fields, *sorted(found))


class _InFolder(Mapping[int, Arrays]):
    """Parameters in files, each read when it is asked for."""

    def __init__(self, folder: Path, files: dict[str, str], steps: dict[int, str]) -> None:
        self.folder, self.files, self.steps = folder, files, steps

    def __iter__(self) -> Iterator[int]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __contains__(self, step: object) -> bool:
        return step in self.steps

    def __getitem__(self, step: int) -> Arrays:
        return self.read(self.steps[step])

    def read(self, name: str) -> Arrays:
        """The arrays of a file, if it is what was written."""
        from safetensors.numpy import load_file

        path = self.folder / Path(name).name  # a name leads nowhere else
        try:
            if file_hash(path) != self.files.get(name):
                raise Damaged("it has changed since it was written")
            found: Arrays = load_file(path)
        except Exception as error:  # the format has errors of its own
            raise ConfigError(f"{path} cannot be read: {error}") from error
        return found

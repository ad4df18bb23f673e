"""Trains one of the programs on given batches and prints the seconds of a step, of drawing a batch
and of rollouts, where there are any: a line of JSON.

python bench/train.py DATA.npz --steps 50 --mode eager
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from itertools import cycle

BEGAN = time.perf_counter()

import numpy as np  # noqa: E402
import torch  # noqa: E402
from drawing import DRAWING  # noqa: E402
from programs import PROGRAMS  # noqa: E402

IMPORTED = time.perf_counter() - BEGAN


def optimizer(model: torch.nn.Module, rule: dict[str, object]) -> torch.optim.Optimizer:
    """The optimizer of our stage, in torch."""
    trainable = rule["trainable"]
    for name, value in model.named_parameters():
        value.requires_grad_(not trainable or name.partition(".")[0] in trainable)
    trained = [value for value in model.parameters() if value.requires_grad]
    if rule["is"] == "AdamW":
        betas = rule["b1"], rule["b2"]
        return torch.optim.AdamW(
            trained, rule["learning_rate"], betas, weight_decay=rule["weight_decay"]
        )
    momentum = rule.get("momentum", 0.0)
    return torch.optim.SGD(
        trained, rule["learning_rate"], momentum=momentum, weight_decay=rule["weight_decay"]
    )


def main() -> None:
    """Reads, trains, writes."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("data")
    words.add_argument("--steps", type=int, default=20)
    words.add_argument("--mode", choices=["eager", "compiled"], default="eager")
    words.add_argument("--threads", type=int, default=0)
    asked = words.parse_args()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    sys.stdout.write(json.dumps(trained(asked.data, asked.steps, asked.mode)) + "\n")


def trained(data: str, steps: int, mode: str) -> dict[str, object]:
    """How long a step of the program takes, and what it loses at the first ones."""
    stored = np.load(data, allow_pickle=False)
    about = json.loads(str(stored["about"]))

    def part(prefix: str) -> dict[str, torch.Tensor]:
        names = [name for name in stored.files if name.startswith(f"{prefix}.")]
        return {name.removeprefix(f"{prefix}."): torch.tensor(stored[name]) for name in names}

    params = part("params")
    batches = [_whole(part(f"batch{n}")) for n in range(about["batches"])]
    chains = [_whole(part(f"chains{n}")) for n in range(about["chains"])]
    model = PROGRAMS[about["model"]](params, about["settings"])
    rule = optimizer(model, about["stage"])
    forward = torch.compile(model) if mode == "compiled" else model

    def step(batch: dict[str, torch.Tensor]) -> float:
        rule.zero_grad(set_to_none=True)
        loss = model.loss(forward(batch), batch)
        loss.backward()
        rule.step()
        return float(loss.detach())

    turns, losses, began = cycle(batches), [], time.perf_counter()
    losses += [step(next(turns)) for _ in batches]  # the first compiles
    warm = time.perf_counter() - began
    seconds = _fastest(lambda: losses.append(step(next(turns))), max(1, steps // 5))
    draw, task = DRAWING.get(about["task"]), part("task")
    drawing = _fastest(lambda: draw(task, about["drawn"]), 5) if draw else 0.0
    following = sum(_fastest(lambda c=each: model.follow(**c), 1) for each in chains)
    began = time.perf_counter()
    with torch.no_grad():
        for batch in batches:
            model.loss(model(batch), batch)
    rows = sum(len(batch["inputs"]) for batch in batches)
    row = (time.perf_counter() - began) / rows
    with open("/proc/self/status") as file:
        (peak,) = (line.split()[1] for line in file if line.startswith("VmHWM"))
    memory = int(peak) * 1024
    return {
        "step": seconds,
        "drawing": drawing,
        "following": following,
        "row": row,
        "start": IMPORTED + warm - len(batches) * seconds,
        "memory": memory,
        "losses": losses[:10],
    }


def _fastest(work: Callable[[], object], times: int) -> float:
    """Seconds of one; the fastest of five goes: what the machine does when nothing else runs."""
    best = math.inf
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, (time.perf_counter() - began) / times)
    return best


def _whole(arrays: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tokens as torch wants them."""
    return {k: v if v.is_floating_point() else v.long() for k, v in arrays.items()}


if __name__ == "__main__":
    main()

"""The report card: marks, ranks beside architectures of the same size, and a picture."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..core.evidence import interval
from .battery import PASSED
from .sit import Result


def ranks(examined: Result, references: Sequence[Result]) -> dict[str, int]:
    """One and how many do clearly better; where it failed it has none."""
    return {
        question: 1 + sum(_better(other["questions"][question], mark) for other in references)
        for question, mark in examined["questions"].items()
        if not mark.get("failed")
    }


def failed(made: dict[str, Any]) -> dict[str, str]:
    """The questions that could not be asked to the end, and why."""
    marks = made["examined"]["questions"]
    return {name: mark["failed"] for name, mark in marks.items() if mark.get("failed")}


def _better(other: Result, mark: Result) -> bool:
    """By success; where seeds leave that open, by the samples it took."""
    if sign := _clearly(other["success"], mark["success"]):
        return sign > 0
    return bool(other["samples"] and mark["samples"]) and (
        _clearly(mark["samples"], other["samples"]) > 0
    )


def _clearly(left: Result, right: Result) -> int:
    """The sign of the difference, seed by seed, if its interval leaves zero out; else 0."""
    gaps = np.subtract(left["each"], right["each"])
    low, high = interval(gaps) if len(gaps) > 1 else (gaps[0], gaps[0])
    return int(low > 0) - int(high < 0)


def card(examined: Result, references: Sequence[Result]) -> dict[str, Any]:
    """Everything, as JSON has it."""
    return {
        "examined": examined,
        "references": list(references),
        "ranks": ranks(examined, references),
    }


# What a table says of each question, and how wide a screen it takes to say that as well.
_COLUMNS = {
    "": 0,
    "asks": 150,
    "success": 0,
    "chance": 0,
    "samples": 0,
    "operations": 115,
    "rank": 0,
    "best beside it": 95,
}
_BESIDE = ("rank", "best beside it")


def table(made: dict[str, Any], width: int = 160) -> Table:
    """The card for a terminal of some width."""
    examined, references = made["examined"], made["references"]
    passed = sum(mark["passed"] == examined["seeds"] for mark in examined["questions"].values())
    seeds = "1 seed" if examined["seeds"] == 1 else f"{examined['seeds']} seeds"
    caption = (
        f"{examined['name']}, {examined['parameters']:,} parameters, {examined['battery']} battery "
        f"with {seeds}: {passed} of {len(examined['questions'])} passed{_broken(made)} (above "
        f"{PASSED:.0%} in every seed). Success on what was never shown, with its 95 % interval; "
        "samples and operations up to where it passes"
        + ("; rank: one and how many do clearly better." if references else ".")
        + "".join(f"\n✗ {escape(which)}: {escape(why)}" for why, which in _reasons(made).items())
    )
    result = Table(
        box=None, pad_edge=False, header_style="bold", caption=caption, caption_justify="left"
    )
    columns = [name for name, least in _COLUMNS.items() if width >= least]
    columns = columns if references else [name for name in columns if name not in _BESIDE]
    for column in columns:
        words = column in ("", "asks", "best beside it")
        result.add_column(column, justify="left" if words else "right", no_wrap=column != "asks")
    for name, mark in examined["questions"].items():
        cells = _cells(name, mark, examined["seeds"])
        if references:
            cells |= _beside(made, name)
        result.add_row(*(cells[column] for column in columns))
    return result


def _reasons(made: dict[str, Any]) -> dict[str, str]:
    """Why questions failed, and which: those of one exam fail together."""
    names: dict[str, list[str]] = {}
    for name, why in failed(made).items():
        names.setdefault(why, []).append(name)
    return {why: ", ".join(which) for why, which in names.items()}


def _broken(made: dict[str, Any]) -> str:
    return f", {len(failed(made))} failed" if failed(made) else ""


def _cells(name: str, mark: Result, seeds: int) -> dict[str, str]:
    if mark.get("failed"):
        blank = dict.fromkeys(("samples", "operations"), "–")
        known = {"": f"[red]✗[/] {name}", "asks": mark["asks"], "chance": f"{mark['chance']:.0%}"}
        return known | blank | {"success": "failed"}
    sign = "[green]✓[/]" if mark["passed"] == seeds else "[dim]·[/]"
    return {
        "": f"{sign} {name}",
        "asks": mark["asks"],
        "success": _told(mark["success"]),
        "chance": f"{mark['chance']:.0%}",
        "samples": f"{mark['samples']['mean']:,.0f}" if mark["samples"] else "–",
        "operations": f"{mark['operations']['mean']:.1e}" if mark["operations"] else "–",
    }


def _beside(made: dict[str, Any], name: str) -> dict[str, str]:
    def success(result: Result) -> float:
        return float(result["questions"][name]["success"]["mean"])

    best, rank = max(made["references"], key=success), made["ranks"].get(name, "–")
    return {
        "rank": f"{rank} of {len(made['references']) + 1}",
        "best beside it": f"{best['name']} {success(best):.0%}",
    }


def _told(success: dict[str, Any]) -> str:
    if success["low"] is None:
        return f"{success['mean']:.0%}"
    low, high = max(0.0, success["low"]), min(1.0, success["high"])
    return f"{success['mean']:.0%} [{low:.0%}, {high:.0%}]".replace("% [", "% \\[")


def picture(made: dict[str, Any]) -> Any:
    """Success in every question: the one examined, and the others of its size."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    examined, references = made["examined"], made["references"]
    names = list(examined["questions"])
    figure, axes = plt.subplots(figsize=(8.2, 0.42 * len(names) + 1.6), layout="constrained")
    for place, reference in enumerate(references):
        marks = [reference["questions"][name]["success"]["mean"] for name in names]
        shift = (place - (len(references) - 1) / 2) * 0.09
        axes.scatter(
            marks,
            [n + shift for n in range(len(names))],
            s=26,
            marker="osD^vP"[place % 6],
            color=plt.get_cmap("tab10")(place + 1),
            linewidth=0,
            zorder=3,
            label=reference["name"],
        )
    drawn = False
    for n, name in enumerate(names):
        mark = examined["questions"][name]
        if why := mark.get("failed"):
            shown = f"failed: {why}" if len(why) < 70 else f"failed: {why[:70]} …"
            axes.text(0.0, n, shown, va="center", fontsize=7, color="tab:red", parse_math=False)
            continue
        success, chance = mark["success"], mark["chance"]
        low = success["low"] if success["low"] is not None else success["mean"]
        high = success["high"] if success["high"] is not None else success["mean"]
        label = None if drawn else examined["name"]
        drawn = True
        axes.barh(n, success["mean"], height=0.62, color="tab:blue", alpha=0.35, label=label)
        axes.plot([max(0, low), min(1, high)], [n, n], color="tab:blue", linewidth=2, zorder=2)
        axes.plot([chance, chance], [n - 0.31, n + 0.31], color="0.4", linewidth=1, zorder=2)
        if references:
            rank = f"{made['ranks'][name]}."
            axes.text(1.04, n, rank, va="center", fontsize=9, clip_on=False)
    axes.axvline(PASSED, color="0.85", linewidth=1, zorder=0)
    axes.set(yticks=range(len(names)), yticklabels=names)
    axes.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.4, -0.6))
    axes.set_xlabel("success on what was never shown (grey: chance; at the right: rank)")
    axes.grid(axis="y", color="0.95")
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1.08, 1.0), frameon=False, fontsize=9)
    axes.set_title(
        f"{examined['name']}: {examined['parameters']:,} parameters, {examined['battery']} battery",
        fontsize=11,
        loc="left",
    )
    return figure

"""The scorecard: scores, ranks among architectures of the same size, a table and a figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..core.decision import interval
from ..core.notebook import table as html_table
from .battery import PASSED
from .evaluate import Result


def ranks(examined: Result, references: Sequence[Result]) -> dict[str, int]:
    """One plus how many references are clearly better; a failed skill has no rank."""
    return {
        skill: 1 + sum(_better(other["skills"][skill], score) for other in references)
        for skill, score in examined["skills"].items()
        if not score.get("failed")
    }


def failed(card: dict[str, Any]) -> dict[str, str]:
    """The skills whose benchmark could not be finished, and why."""
    scores = card["examined"]["skills"]
    return {name: score["failed"] for name, score in scores.items() if score.get("failed")}


def _better(other: Result, score: Result) -> bool:
    """By accuracy; where seeds leave that open, by the samples it took."""
    if sign := _clearly(other["accuracy"], score["accuracy"]):
        return sign > 0
    return bool(other["samples"] and score["samples"]) and (
        _clearly(score["samples"], other["samples"]) > 0
    )


def _clearly(left: Result, right: Result) -> int:
    """The sign of the difference, seed by seed, if its interval leaves zero out; else 0."""
    gaps = np.subtract(left["each"], right["each"])
    # a single seed has no interval: any difference counts
    low, high = interval(gaps) if len(gaps) > 1 else (gaps[0], gaps[0])
    return int(low > 0) - int(high < 0)


class Scorecard(dict[str, Any]):
    """All of it, as it is written to JSON; in a notebook it shows itself."""

    def plot(self) -> Any:
        """A figure of the accuracy in every skill."""
        return figure(self)

    def __repr__(self) -> str:
        return f"Scorecard({_summary(self)})"

    def _repr_html_(self) -> str:
        examined, references = self["examined"], self["references"]
        header = [name for name in _COLUMNS if references or name not in _COMPARED]
        rows = []
        for name, score in examined["skills"].items():
            cells = _cells(name, score, examined["seeds"])
            cells |= _compared(self, name) if references else {}
            rows.append([Text.from_markup(cells[column]).plain for column in header])
        notes = [f"✗ {which}: {why}" for why, which in _reasons(self).items()]
        return html_table(_summary(self), header, rows, notes)


def scorecard(examined: Result, references: Sequence[Result]) -> Scorecard:
    """The scorecard of what was examined, beside references."""
    return Scorecard(
        examined=examined, references=list(references), ranks=ranks(examined, references)
    )


def _summary(card: dict[str, Any]) -> str:
    examined = card["examined"]
    passed = sum(score["passed"] == examined["seeds"] for score in examined["skills"].values())
    seeds = "1 seed" if examined["seeds"] == 1 else f"{examined['seeds']} seeds"
    return (
        f"{examined['name']}, {examined['parameters']:,} parameters, {examined['battery']} battery "
        f"with {seeds}: {passed} of {len(examined['skills'])} passed{_broken(card)}"
    )


# The columns of the table, each with the narrowest terminal that shows it.
_COLUMNS = {
    "": 0,
    "description": 150,
    "accuracy": 0,
    "chance": 0,
    "samples": 0,
    "operations": 115,
    "rank": 0,
    "best reference": 95,
}
_COMPARED = ("rank", "best reference")


def table(card: dict[str, Any], width: int = 160) -> Table:
    """The scorecard for a terminal of some width."""
    examined, references = card["examined"], card["references"]
    caption = (
        f"{_summary(card)} (above {PASSED:.0%} in every seed). Accuracy on held-out data, with its "
        "95 % interval; samples and operations until it passes"
        + ("; rank: one plus how many are clearly better." if references else ".")
        + "".join(f"\n✗ {escape(which)}: {escape(why)}" for why, which in _reasons(card).items())
    )
    result = Table(
        box=None, pad_edge=False, header_style="bold", caption=caption, caption_justify="left"
    )
    columns = [name for name, least in _COLUMNS.items() if width >= least]
    columns = columns if references else [name for name in columns if name not in _COMPARED]
    for column in columns:
        words = column in ("", "description", "best reference")
        result.add_column(
            column, justify="left" if words else "right", no_wrap=column != "description"
        )
    for name, score in examined["skills"].items():
        cells = _cells(name, score, examined["seeds"])
        if references:
            cells |= _compared(card, name)
        result.add_row(*(cells[column] for column in columns))
    return result


def _reasons(card: dict[str, Any]) -> dict[str, str]:
    """The skills that failed, by reason: those of one benchmark fail together."""
    names: dict[str, list[str]] = {}
    for name, why in failed(card).items():
        names.setdefault(why, []).append(name)
    return {why: ", ".join(which) for why, which in names.items()}


def _broken(card: dict[str, Any]) -> str:
    return f", {len(failed(card))} failed" if failed(card) else ""


def _cells(name: str, score: Result, seeds: int) -> dict[str, str]:
    if score.get("failed"):
        blank = dict.fromkeys(("samples", "operations"), "–")
        known = {
            "": f"[red]✗[/] {name}",
            "description": score["description"],
            "chance": f"{score['chance']:.0%}",
        }
        return known | blank | {"accuracy": "failed"}
    sign = "[green]✓[/]" if score["passed"] == seeds else "[dim]·[/]"
    return {
        "": f"{sign} {name}",
        "description": score["description"],
        "accuracy": _percent(score["accuracy"]),
        "chance": f"{score['chance']:.0%}",
        "samples": f"{score['samples']['mean']:,.0f}" if score["samples"] else "–",
        "operations": f"{score['operations']['mean']:.1e}" if score["operations"] else "–",
    }


def _compared(card: dict[str, Any], name: str) -> dict[str, str]:
    def accuracy(result: Result) -> float:
        return float(result["skills"][name]["accuracy"]["mean"])

    best, rank = max(card["references"], key=accuracy), card["ranks"].get(name, "–")
    return {
        "rank": f"{rank} of {len(card['references']) + 1}",
        "best reference": f"{best['name']} {accuracy(best):.0%}",
    }


def _percent(accuracy: dict[str, Any]) -> str:
    if accuracy["low"] is None:
        return f"{accuracy['mean']:.0%}"
    low, high = max(0.0, accuracy["low"]), min(1.0, accuracy["high"])
    return f"{accuracy['mean']:.0%} [{low:.0%}, {high:.0%}]".replace("% [", "% \\[")


def figure(card: dict[str, Any]) -> Any:
    """The accuracy in every skill, of the candidate and of the references."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure  # not by pyplot, whose backend is the user's to choose

    examined, references = card["examined"], card["references"]
    names = list(examined["skills"])
    drawing = Figure(figsize=(8.2, 0.42 * len(names) + 1.6), layout="constrained")
    axes = drawing.subplots()
    for index, reference in enumerate(references):
        scores = [reference["skills"][name]["accuracy"]["mean"] for name in names]
        shift = (index - (len(references) - 1) / 2) * 0.09
        axes.scatter(
            scores,
            [n + shift for n in range(len(names))],
            s=26,
            marker="osD^vP"[index % 6],
            color=colormaps["tab10"](index + 1),
            linewidth=0,
            zorder=3,
            label=reference["name"],
        )
    drawn = False
    for n, name in enumerate(names):
        score = examined["skills"][name]
        if why := score.get("failed"):
            shown = f"failed: {why}" if len(why) < 70 else f"failed: {why[:70]} …"
            axes.text(0.0, n, shown, va="center", fontsize=7, color="tab:red", parse_math=False)
            continue
        accuracy, chance = score["accuracy"], score["chance"]
        low = accuracy["low"] if accuracy["low"] is not None else accuracy["mean"]
        high = accuracy["high"] if accuracy["high"] is not None else accuracy["mean"]
        label = None if drawn else examined["name"]
        drawn = True
        axes.barh(n, accuracy["mean"], height=0.62, color="tab:blue", alpha=0.35, label=label)
        axes.plot([max(0, low), min(1, high)], [n, n], color="tab:blue", linewidth=2, zorder=2)
        axes.plot([chance, chance], [n - 0.31, n + 0.31], color="0.4", linewidth=1, zorder=2)
        if references:
            rank = f"{card['ranks'][name]}."
            axes.text(1.04, n, rank, va="center", fontsize=9, clip_on=False)
    axes.axvline(PASSED, color="0.85", linewidth=1, zorder=0)
    axes.set(yticks=range(len(names)), yticklabels=names)
    axes.set(xlim=(-0.02, 1.02), ylim=(len(names) - 0.4, -0.6))
    axes.set_xlabel("accuracy on held-out data (grey: chance; at the right: rank)")
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
    return drawing

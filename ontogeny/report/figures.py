"""Figures for a paper: curves with bands, sweeps, phase diagrams."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from ..claims.sweep import Sweep
from ..core.decision import interval
from ..core.evidence import Evidence, Outcome
from ..core.fields import ConfigError
from ..core.run import Run

COLOURS = {
    Outcome.SUPPORTED: "#2e7d32",
    Outcome.CONTRADICTED: "#c62828",
    Outcome.DEPENDS: "#6a3d9a",
    Outcome.UNDECIDED: "#b26a00",
    Outcome.UNTESTED: "#757575",
    Outcome.NOTED: "#757575",
}
_BAR: Any = {"markersize": 3, "linewidth": 1.2, "capsize": 2}
STYLE: Any = {
    "font.size": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 7,
    "legend.fontsize": 6,
    "legend.frameon": False,
    # letters as outlines in SVG and as TrueType in PDF: the same everywhere, and no Type 3 font
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}


WIDTH = 3.35  # inches: a column of a page with two


def _grid(count: int, width: float, panel: float, shape: float) -> tuple[int, int, Any]:
    """Rows, columns and size of so many panels, each about so wide, in a given width."""
    columns = max(1, min(count, round(width / panel)))
    rows = -(-count // columns) or 1
    return rows, columns, (width, shape * rows * width / columns)


class _Shown(Figure):
    """A figure that a notebook shows. It knows nothing of pyplot, which keeps the figures that it
    makes, and whose backend is the user's to choose."""

    def _repr_png_(self) -> bytes:
        with io.BytesIO() as file, rc_context(STYLE):
            self.savefig(file, format="png", dpi=150)
            return file.getvalue()


def new_figure(
    rows: int,
    columns: int,
    size: tuple[float, float],
    gridspec: Mapping[str, Any] | None = None,
    **how: Any,
) -> tuple[Figure, np.ndarray]:
    """A figure of so many panels, in inches."""
    figure = _Shown(figsize=size)
    FigureCanvasAgg(figure)
    grid = dict(gridspec or {})
    return figure, figure.subplots(
        rows, columns, squeeze=False, subplot_kw=how, gridspec_kw=grid or None
    )


def curves(runs: Mapping[str, Run], width: float = WIDTH, probes: Sequence[str] = ()) -> Figure:
    """Some probes over training, by default all that answer with one number: a line per experiment,
    a band over seeds, thin seeds."""
    asked = {probe for run in runs.values() for probe, v in run.answers.items() if v.ndim == 2}
    for probe in probes:
        if probe not in asked:
            known = ", ".join(sorted(asked))
            raise ConfigError(f"{probe!r} does not answer with one number, as curves do: {known}")
    # behaviour before losses
    probes = probes or sorted(asked, key=lambda probe: ("loss" in probe, probe))
    rows, columns, size = _grid(len(probes), width, 1.7, 0.72)
    with rc_context(STYLE):
        figure, axes = new_figure(rows, columns, size)
        for index, axis in enumerate(axes.flat):
            if index >= len(probes):
                axis.set_visible(False)
                continue
            probe = probes[index]
            for number, (name, run) in enumerate(runs.items()):
                if probe in run.answers and run.answers[probe].ndim == 2:
                    _curve(axis, run, probe, name, f"C{number % 10}")
            axis.set_title(probe)
            axis.set_xlabel("steps")
        if len(runs) > 1:
            figure.legend(*_labels(axes), loc="outside lower center", ncols=2)
    return figure


def _curve(axis: Any, run: Run, probe: str, label: str, colour: str) -> None:
    values = run.answers[probe]
    axis.plot(run.steps, values.T, color=colour, alpha=0.25, linewidth=0.5)
    axis.plot(run.steps, values.mean(axis=0), color=colour, linewidth=1.2, label=label)
    if len(values) > 1:
        bands = np.array([interval(each, run.possible(probe)) for each in values.T])
        # Student's intervals: with 3 seeds they are wider than what the seeds span
        axis.fill_between(run.steps, *bands.T, color=colour, alpha=0.12, linewidth=0)
    if logarithmic(run.steps):
        axis.set_xscale("symlog", linthresh=1, linscale=0.3)  # which has a place for 0
    if "loss" in probe and np.nanmin(values) > 0:
        axis.set_yscale("log")
    if np.nanmin(values) >= -0.2 and np.nanmax(values) <= 1.0 and "loss" not in probe:
        axis.set_ylim(min(-0.05, float(np.nanmin(values))), 1.05)


def logarithmic(steps: np.ndarray) -> bool:
    """Whether evaluations crowd at the beginning, as log-spaced ones do."""
    return len(steps) > 4 and bool(steps[len(steps) // 2] < steps[-1] / 4)


def against(evidence: Sequence[Evidence], width: float = WIDTH) -> Figure | None:
    """Points of curves, ours with intervals; the paper's are crosses, dashed, and what theory
    predicts is dotted, each in the colour of what it is beside."""
    series: dict[tuple[str, bool], list[Evidence]] = {}
    for item in evidence:
        if item.x is not None:
            series.setdefault((item.series, item.theory), []).append(item)
    if not series:
        return None
    names = [name for name, theory in series if not theory]
    with rc_context(STYLE):
        figure, ((axis,),) = new_figure(1, 1, (width, 0.75 * width))
        for (name, theory), points in series.items():
            colour = f"C{names.index(name) % 10}" if name in names else "k"
            xs, ours = [point.x or 0.0 for point in points], [point.ours for point in points]
            if theory:
                axis.plot(xs, ours, ":", color=colour, linewidth=1.2)
                continue
            # one seed has no interval: max(0, nan) is 0
            low = [max(0.0, point.ours - point.low) for point in points]
            high = [max(0.0, point.high - point.ours) for point in points]
            axis.errorbar(xs, ours, (low, high), fmt="o-", color=colour, label=name, **_BAR)
            known = [(x, p.paper) for x, p in zip(xs, points, strict=True) if p.paper is not None]
            if known:
                axis.plot(*zip(*known, strict=True), "x--", color=colour, linewidth=0.9, alpha=0.7)
        if any(point.paper is not None for points in series.values() for point in points):
            # for the legend alone: all series have such a line, and one entry explains them
            axis.plot([], [], "x--", color="#757575", linewidth=0.9, label="the paper's")
        if len(names) < len(series):
            axis.plot([], [], ":", color="#757575", linewidth=1.2, label="predicted")
        if all(point.x and point.x > 0 for points in series.values() for point in points):
            axis.set_xscale("log", base=2)  # samples and sizes double
            axis.set_xticks(sorted({p.x or 0.0 for points in series.values() for p in points}))
            axis.xaxis.set_major_formatter("{x:g}")
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def by_layer(runs: Mapping[str, Run], width: float = WIDTH) -> Figure | None:
    """Probes that answer with a vector, at the end of training: one line per experiment, and what
    theory predicts (probes called `predicted …`) dashed in the same axes."""
    vectors = {
        (name, probe): values[:, -1]
        for name, run in runs.items()
        for probe, values in run.answers.items()
        if values.ndim == 3 and values.shape[2] <= 64
    }
    probes = list(dict.fromkeys(p for _, p in vectors if not p.startswith("predicted")))
    if not probes:
        return None
    with rc_context(STYLE):
        rows, columns, size = _grid(len(probes), width, 1.7, 0.8)
        figure, axes = new_figure(rows, columns, size)
        for axis in axes.flat[len(probes) :]:
            axis.set_visible(False)
        for probe, axis in zip(probes, axes.flat, strict=False):
            drawn = {key: v for key, v in vectors.items() if key[1] == probe}
            for number, ((name, _), final) in enumerate(drawn.items()):
                colour = f"C{number % 10}"
                axis.plot(final.T, color=colour, alpha=0.3, linewidth=0.5)
                axis.plot(final.mean(axis=0), "o-", color=colour, label=name, markersize=3)
            for (name, other), final in vectors.items():
                if other.startswith("predicted"):
                    label = f"{name}, {other}"
                    axis.plot(final.mean(axis=0), "k--", label=label, linewidth=0.9)
            axis.set_title(probe)
            axis.set_xlabel("layer" if "layer" in probe else "index")
        figure.legend(*_labels(axes), loc="outside lower center", ncols=2)
    return figure


def _labels(axes: Any) -> tuple[list[Any], list[str]]:
    """What the legends of all panels would say, each once."""
    known: dict[str, Any] = {}
    for axis in axes.flat:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    return list(known.values()), list(known)


def matrices(runs: Mapping[str, Run], width: float = WIDTH) -> Figure | None:
    """Probes that answer with a matrix, of the first seed: before, on the way, at the end; and what
    theory predicts (probes called `predicted …`)."""
    rows = [
        (name, probe, _moments(run, probe))
        for name, run in runs.items()
        for probe, values in run.answers.items()
        if values.ndim == 4 and "angles" not in probe and not probe.startswith("predicted")
    ]
    if not rows:
        return None
    columns = max(len(panels) for *_, panels in rows)
    with rc_context(STYLE):
        size = (width, 1.05 * len(rows) * width / columns)
        figure, axes = new_figure(len(rows), columns, size)
        for (name, probe, panels), line in zip(rows, axes, strict=True):
            for axis in line[len(panels) :]:
                axis.set_visible(False)
            for axis, (title, matrix) in zip(line, panels.items(), strict=False):
                # the same on both sides of 0, which is white
                most = float(np.abs(matrix).max()) or 1.0
                axis.imshow(matrix, cmap="RdBu_r", vmin=-most, vmax=most, interpolation="nearest")
                axis.set(xticks=[], yticks=[], title=title)
            line[0].set_ylabel(f"{name}\n{probe}")
    return figure


def _moments(run: Run, probe: str) -> dict[str, np.ndarray]:
    values, evaluations = run.answers[probe][0], len(run.steps)
    shown = (
        # one early: much of what emerges does so by then
        sorted({0, max(1, evaluations // 8), evaluations // 2, evaluations - 1})
        if evaluations > 2
        else [evaluations - 1]
    )
    panels = {f"step {run.steps[evaluation]}": values[evaluation] for evaluation in shown}
    predicted = run.answers.get(f"predicted {probe}")
    return panels if predicted is None else panels | {"theory": predicted[0, -1]}


def polar(runs: Mapping[str, Run], width: float = WIDTH) -> Figure | None:
    """Angles between paired features at the end: a ring per layer, a dot per pair and seed."""
    drawn = {
        name: run.answers[probe][:, -1]
        for name, run in runs.items()
        for probe in run.answers
        if "angles" in probe
    }
    if not drawn:
        return None
    rows, columns, size = _grid(len(drawn), width, 1.7, 0.85)
    with rc_context(STYLE):
        figure, axes = new_figure(rows, columns, size, projection="polar")
        for axis in axes.flat[len(drawn) :]:
            axis.set_visible(False)
        for axis, (name, angles) in zip(axes.flat, drawn.items(), strict=False):
            layers = angles.shape[1]
            for layer in range(layers):
                here = np.radians(angles[:, layer].ravel())
                axis.scatter(here, np.full(here.shape, layer + 1.0), s=3, alpha=0.4)
                axis.plot([here.mean()] * 2, [layer + 0.7, layer + 1.3], "k-", linewidth=1.0)
            axis.set(thetamin=0, thetamax=120, rmin=0, rmax=layers + 0.6)
            axis.set_rgrids(range(1, layers + 1), [f"{n}" for n in range(layers)], fontsize=7)
            axis.set_thetagrids([0, 30, 60, 90, 120])
            axis.set_title(name)
        figure.supxlabel("angle between paired features, a ring per layer", fontsize=7)
    return figure


def sweep(variation: Sweep) -> Figure:
    """Each piece of evidence over the swept values, coloured by what it says; or two sweeps."""
    return _phases(variation) if len(variation.sweeps) == 2 else _lines(variation)


def _lines(variation: Sweep) -> Figure:
    points = [verdict.evidence for verdict in variation.verdicts.values()]
    values = next(iter(variation.sweeps.values()), ["as it is"])
    path = next(iter(variation.sweeps), "")
    try:
        where: Any = [float(v) for v in values]
    except ValueError:
        where = list(range(len(values)))  # words, side by side
    with rc_context(STYLE):
        count = len(points[0])
        columns = min(3, count)
        rows = -(-count // columns)
        figure, axes = new_figure(rows, columns, (3.0 * columns, 2.2 * rows))
        for index, axis in enumerate(axes.flat):
            if index >= count:
                axis.set_visible(False)
                continue
            _evidence_line(axis, where, [point[index] for point in points])
            axis.set_xlabel(path)
            axis.set_xticks(where, values)
        figure.suptitle(variation.claim.name, fontsize=9)
    return figure


def _evidence_line(axis: Any, where: list[float], evidence: list[Evidence]) -> None:
    ours = np.array([e.ours for e in evidence])
    spread = [ours - [e.low for e in evidence], [e.high for e in evidence] - ours]
    axis.plot(where, ours, color="#9e9e9e", linewidth=0.8, zorder=1)
    axis.errorbar(where, ours, spread, fmt="none", ecolor="#9e9e9e", linewidth=0.8, zorder=1)
    axis.scatter(where, ours, c=[COLOURS[e.outcome] for e in evidence], s=16, zorder=2)
    if evidence[0].paper is not None:
        axis.axhline(evidence[0].paper, linestyle=":", color="black", linewidth=0.8)
    axis.set_title("\n".join(_folded(evidence[0].text, 42)))


def _phases(variation: Sweep) -> Figure:
    (across, columns), (up, rows) = variation.sweeps.items()
    order = [Outcome.CONTRADICTED, Outcome.UNDECIDED, Outcome.SUPPORTED]
    grid = [[order.index(variation.verdicts[c, r].outcome) for c in columns] for r in rows]
    with rc_context(STYLE):
        size = (1.6 + 0.6 * len(columns), 1.2 + 0.45 * len(rows))
        figure, ((axis,),) = new_figure(1, 1, size)
        palette = ListedColormap([COLOURS[outcome] for outcome in order])
        axis.imshow(grid, cmap=palette, vmin=0, vmax=2, origin="lower", aspect="auto", alpha=0.85)
        axis.set_xticks(range(len(columns)), columns)
        axis.set_yticks(range(len(rows)), rows)
        axis.set_xlabel(across)
        axis.set_ylabel(up)
        for x, c in enumerate(columns):
            for y, r in enumerate(rows):
                text = str(variation.verdicts[c, r].outcome)[0].upper()
                axis.text(x, y, text, ha="center", va="center", color="white", fontsize=8)
        axis.set_title(f"{variation.claim.name}\nS supported · U undecided · C contradicted")
    return figure


def _folded(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width)


def save(figure: Figure, path: Path) -> None:
    """A figure as a file, of the kind its name says (png, pdf, svg)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE):
        # in the style's context: fonts are chosen now. Without a date an SVG is the same each time
        figure.savefig(path, dpi=300, metadata={"Date": None} if path.suffix == ".svg" else None)

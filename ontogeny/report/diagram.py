"""The phase diagram of a map as data, for the figure, the page and the terminal: cells over the two
settings that matter most together, a smooth estimate behind them, theory's boundary."""

from typing import Any, NamedTuple

import numpy as np
from contourpy import contour_generator

from ..claims.landscape import smooth
from ..claims.maps import Cell, Map
from ..claims.region import OneOf, Setting


class Diagram(NamedTuple):
    """A map over two of its settings; places are shares of their ranges."""

    across: Setting
    up: Setting
    cells: list[tuple[Cell, float, float]]
    shade: np.ndarray  # how often it holds, from below; a square of points that span the ranges
    theory: list[np.ndarray]  # lines where theory has the finding flip
    own: tuple[float, float] | None  # the claim's own setting, if it has one value of each


def axes_of(found: Map) -> tuple[Setting, Setting] | None:
    """The two settings that explain most together, the more important one across; None of fewer, or
    of few cells."""
    pair = found.pair
    return (pair.one, pair.other) if pair else None


def diagram(found: Map, points: int) -> Diagram | None:
    """The diagram over the two settings that matter most, its shade in so many points a side."""
    axes = axes_of(found)
    if axes is None:
        return None
    x, y = (found.region.settings.index(each) for each in axes)
    line = np.linspace(0, 1, points)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    shade = smooth(found.points[:, [x, y]], found.holds, grid).reshape(points, points)
    own = [found.own.point.shares[n] for n in (x, y)] if found.own else []
    return Diagram(
        *axes,
        [(cell, *place) for cell, place in zip(found.cells, _places(found, x, y), strict=True)],
        shade,
        _theory(found, *axes),
        (own[0], own[1]) if own and np.isfinite(own).all() else None,
    )


def _places(found: Map, x: int, y: int) -> list[tuple[float, float]]:
    """Where cells are drawn: those of one choice beside one another, always in the same way."""
    shares = np.array([[cell.point.shares[n] for n in (x, y)] for cell in found.cells])
    spread = np.random.default_rng(0)
    for column, place in enumerate((x, y)):
        if isinstance(setting := found.region.settings[place], OneOf):
            reach = 0.35 / len(setting.values)
            shares[:, column] += spread.uniform(-reach, reach, len(shares))
    return [(float(a), float(b)) for a, b in shares]


def _theory(found: Map, across: Setting, up: Setting) -> list[np.ndarray]:
    """Lines where theory's margin is zero, if there is a theory over these two settings."""
    known = found.theory
    if known is None or (known.across, known.up) != (across.path, up.path):
        return []
    margin = np.array([[np.nan if x is None else x for x in row] for row in known.margin])
    ends = np.linspace(0, 1, len(margin))
    masked = np.ma.masked_invalid(margin)
    return [np.asarray(line) for line in contour_generator(ends, ends, masked).lines(0.0)]


def ticks(setting: Setting) -> dict[float, str]:
    """Where an axis has labels, and which: every choice, or five values of a range."""
    if isinstance(setting, OneOf):
        return {setting.share(value): value for value in setting.values}
    return {place: setting.typed(place) for place in (0.0, 0.25, 0.5, 0.75, 1.0)}


def as_data(found: Map) -> dict[str, Any]:
    """A map as the page draws it."""
    drawn = diagram(found, points=24)
    matters = [
        {
            "path": each.setting.path,
            "why": each.setting.why,
            "range": str(each.setting).removeprefix(each.setting.path).lstrip(": "),
            "share": round(each.explained.share, 3),
            "low": round(each.explained.low, 3),
            "high": round(each.explained.high, 3),
            "along": found.along(each.setting) if each.explained.certain else "",
        }
        for each in found.matters
    ]
    told: dict[str, Any] = {"says": found.answer(), "matters": matters, "diagram": None}
    if drawn is None:
        return told
    paths = [each.path for each in found.region.settings]
    told["diagram"] = {
        "axes": [{"path": s.path, "ticks": list(ticks(s).items())} for s in drawn[:2]],
        "cells": [
            {
                "x": round(x, 3),
                "y": round(y, 3),
                "found": str(cell.found),
                "at": ", ".join(map("=".join, zip(paths, cell.point.typed, strict=True))),
            }
            for cell, x, y in drawn.cells
        ],
        "shade": np.round(drawn.shade, 2).tolist(),
        "theory": [np.round(line, 3).tolist() for line in drawn.theory],
        "own": drawn.own,
    }
    return told

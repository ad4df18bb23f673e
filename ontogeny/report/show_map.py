"""What `map` prints: where the claim holds, which settings matter, a phase diagram."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..claims.maps import Cell, Found, Map, Matters
from ..claims.region import OneOf, Setting
from .diagram import axes_of

MARKS = {
    Found.HOLDS: ("✓", "green"),
    Found.FAILS: ("✗", "red"),
    Found.OPEN: ("?", "yellow"),
    Found.UNTRAINED: ("·", "bright_black"),
}
BAR = 16  # characters of what explains everything
HIGH, WIDE = 14, 56  # of the diagram, in characters


def show_map(screen: Console, found: Map) -> None:
    """The answer in a few lines, the settings by how much they matter, cells over the first two."""
    for number, line in enumerate(found.answer()):
        screen.print(Text(line, style="bold" if number == 0 else ""))
    matters = found.matters
    if not matters:
        return
    screen.print()
    screen.print(_matters(found, matters))
    if axes := axes_of(found):
        screen.print()
        for text in _diagram(found, *axes):
            screen.print(text)
        there = {cell.found for cell in found.cells}
        legend = (Text(f"{m} {word}", style=c) for word, (m, c) in MARKS.items() if word in there)
        screen.print(Text("   ").join(legend))


def _matters(found: Map, matters: Sequence[Matters]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("setting", "explains", "", "where"):
        table.add_column(column, overflow="fold")
    for setting, (share, low, high) in matters:
        told = f"{100 * share:3.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
        bar = Text("█" * round(BAR * share), style="green" if low > 0 else "bright_black")
        table.add_row(setting.path, told, bar, found.along(setting) if low > 0 else "")
    return table


def _diagram(found: Map, across: Setting, up: Setting) -> Iterator[Text]:
    """Cells as marks, where they are; what is decided lies above what is not."""
    settings = found.region.settings
    x, y = settings.index(across), settings.index(up)
    grid: list[list[Cell | None]] = [[None] * WIDE for _ in range(HIGH)]
    for cell in sorted(found.cells, key=lambda cell: cell.decided):
        column, row = _place(cell.point.shares[x], WIDE), _place(cell.point.shares[y], HIGH)
        grid[HIGH - 1 - row][_free(grid[HIGH - 1 - row], column)] = cell
    labels = _labels(up, HIGH)
    margin = max(map(len, labels.values()))
    yield Text(f"{'':{margin}} {up.path}", style="dim")
    for number, line in enumerate(grid):
        text = Text(f"{labels.get(HIGH - 1 - number, ''):>{margin}} │", style="dim")
        for each in line:
            mark, colour = MARKS[each.found] if each else (" ", "")
            text.append(mark, colour)
        yield text
    yield Text(f"{'':{margin}} └{'─' * WIDE}", style="dim")
    axis = [" "] * (WIDE + margin + 2)
    for place, label in _labels(across, WIDE).items():
        begin = min(margin + 2 + place, len(axis) - len(label))
        axis[begin : begin + len(label)] = label
    yield Text("".join(axis), style="dim")
    yield Text(f"{across.path:>{WIDE + margin + 2}}", style="dim")


def _place(share: float, size: int) -> int:
    return int(np.clip(round(share * (size - 1)), 0, size - 1))


def _free(line: Sequence[Cell | None], column: int) -> int:
    """A place that is free near a column: cells of one choice would lie above each other."""
    free = [place for place, cell in enumerate(line) if cell is None]
    return min(free, key=lambda place: abs(place - column), default=column)


def _labels(setting: Setting, size: int) -> dict[int, str]:
    """What stands along an axis: every choice, or both ends and the middle of a range."""
    if isinstance(setting, OneOf):
        return {_place(setting.share(value), size): value for value in setting.values}
    return {_place(share, size): setting.typed(share) for share in (0.0, 0.5, 1.0)}

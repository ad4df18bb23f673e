"""What `sweep` prints: where the verdict flips, then the numbers behind it."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..claims.sweep import Sweep
from ..claims.verdict import Verdict
from ..core import words
from ..core.evidence import Evidence
from .tables import STYLES, evidence, too_few

MOST = 6  # columns of numbers
TOLD = 3  # points at which something went wrong
NARROWEST = 16  # of a column: its heading is folded to that
GAP = 2


class _Column(NamedTuple):
    """A quantity over the points of a sweep."""

    heading: str
    cells: list[Text]
    flips: bool

    @property
    def changes(self) -> bool:
        return len({cell.plain for cell in self.cells}) > 1

    @property
    def width(self) -> int:
        return max(NARROWEST, *(cell.cell_len for cell in self.cells))


def show_sweep(screen: Console, sweep: Sweep) -> None:
    """The answer in a line, marks of all points, and the numbers that change."""
    for line in sweep.answer():
        screen.print(Text(line, style="bold"))
    if not sweep.sweeps:
        (verdict,) = sweep.verdicts.values()
        screen.print(evidence(verdict.as_json()))
        if verdict.failures:
            screen.print(_failure(verdict))
        if few := too_few(verdict.seeds, verdict.evidence):
            screen.print(Text(few, style="yellow"))
        return
    screen.print()
    for block in _strip(sweep, screen.width):
        screen.print(block)
        screen.print()
    marks = {verdict.outcome: STYLES[verdict.outcome] for verdict in sweep.verdicts.values()}
    legend = (Text(f"{mark} {word}", style=colour) for word, (mark, colour) in marks.items())
    screen.print(Text("   ").join(legend))
    _numbers(screen, sweep)
    failed = [verdict for verdict in sweep.verdicts.values() if verdict.failures]
    for verdict in failed[:TOLD]:
        screen.print(_failure(verdict))
    if failed[TOLD:]:
        screen.print(f"and at {len(failed) - TOLD} more points: --json FILE has all of them")
    fewest = min(sweep.verdicts.values(), key=lambda verdict: verdict.seeds)
    if few := too_few(fewest.seeds, fewest.evidence):
        screen.print(Text(few, style="yellow"))


def _failure(verdict: Verdict) -> Text:
    """What went wrong at a point: the first of it."""
    first, *others = verdict.failures
    more = f" (and {len(others)} more like it)" if others else ""
    return Text(f"{', '.join(verdict.changes)}: {first}{more}", style="yellow")


def _mark(outcome: str, text: str = "") -> Text:
    mark, colour = STYLES[outcome]
    return Text(mark, style=colour).append(f" {text}" if text else "", style="default")


def _strip(sweep: Sweep, width: int) -> Iterator[Table]:
    """A mark for each value; of two sweeps a grid, the first one across."""
    (path, values), *second = sweep.sweeps.items()
    other, levels = second[0] if second else ("", [""])
    first = max(len(path), len(other), *map(len, levels)) + GAP
    columns = max(1, (width - first) // (max(map(len, values)) + GAP))
    for start in range(0, len(values), columns):
        some = values[start : start + columns]
        grid = Table.grid(padding=(0, GAP))
        grid.add_row(path, *some)
        if second:
            grid.add_row(Text(other, style="dim"))
        for level in levels:
            points = ((value, level) if second else (value,) for value in some)
            grid.add_row(level, *(_mark(sweep.verdicts[point].outcome) for point in points))
        yield grid


def _numbers(screen: Console, sweep: Sweep) -> None:
    """The columns that change, with their bounds, as many side by side as there is room for."""
    columns = list(_columns(list(sweep.verdicts.values())))
    same = [column for column in columns if not column.changes]
    # first those by which the verdict flips
    changing = sorted((each for each in columns if each.changes), key=lambda each: not each.flips)
    swept = (max(map(len, [path, *values])) + GAP for path, values in sweep.sweeps.items())
    room = screen.width - sum(swept)
    for some in _side_by_side(changing[:MOST], room):
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        for path in sweep.sweeps:
            table.add_column(path, no_wrap=True, vertical="bottom")
        for column in some:
            folded = textwrap.fill(column.heading, column.width, break_long_words=False)
            table.add_column(Text(folded), no_wrap=True)
        for row, point in enumerate(sweep.verdicts):
            table.add_row(*point, *(column.cells[row] for column in some))
        screen.print()
        screen.print(table)
    if changing[MOST:]:
        screen.print(f"\nand {len(changing) - MOST} more that change: --json FILE has all of them")
    if same:
        screen.print("\nthe same everywhere:")
        for column in same:
            screen.print(Text("  ").append(column.cells[0]).append(f"  {column.heading}"))


def _side_by_side(columns: Sequence[_Column], room: int) -> Iterator[list[_Column]]:
    some: list[_Column] = []
    for column in columns:
        if some and sum(each.width + GAP for each in (*some, column)) > room:
            yield some
            some = []
        some.append(column)
    if some:
        yield some


def _columns(verdicts: Sequence[Verdict]) -> Iterator[_Column]:
    """What decides, one column for each piece of evidence."""
    most = max((verdict.deciding for verdict in verdicts), key=len)
    for place in range(len(most)):
        found = [each.deciding[place] if place < len(each.deciding) else None for each in verdicts]
        known = [item for item in found if item]
        texts = {item.text for item in known}
        # a bound that changes with the setting stands beside each number
        alike = len(texts) == 1
        heading = known[0].text if alike else str(known[0].quantity)
        cells = [_cell(item, alike) for item in found]
        yield _Column(heading, cells, len({item.outcome for item in known}) > 1)


def _cell(item: Evidence | None, alike: bool) -> Text:
    if item is None:
        return Text("–")
    bound = "" if alike else f" ({words.bound(item)})"
    return _mark(item.outcome, words.value(item) + bound)

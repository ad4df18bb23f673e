"""What `show` prints of a claim or a component: what it is, what decides, what can be changed."""

from collections.abc import Iterable, Sequence
from dataclasses import MISSING
from difflib import get_close_matches
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..claims.claim import Claim
from ..claims.criteria import Criterion, criteria, seconds
from ..claims.find import find_one
from ..claims.outside import option
from ..claims.region import Region
from ..claims.scale import Scale
from ..claims.status import Standing, judged_before
from ..claims.verdict import Verdict
from ..core import words
from ..core.evidence import Evidence
from ..core.fields import Component, ConfigError, described
from ..engine.machine import cores
from ..engine.serialize import paths
from .component import claims_with, components, constructed, details, documented, kind_of, the_one
from .experiments import Line, differences, in_full
from .tables import badge, evidence

LISTED = 8  # claims that have a component


def named(word: str) -> Claim | type[Component]:
    """What a word means: the class of a component, or a claim."""
    known = components()
    if word in known:
        return the_one(known[word])
    try:
        return find_one(word)
    except ConfigError as problem:
        alike = {name.lower(): name for name in known}
        close = get_close_matches(word.lower().replace("_", ""), alike, n=1, cutoff=0.75)
        if not close or not str(problem).startswith("no claim"):
            raise
        raise ConfigError(f"no claim {word!r}: did you mean {alike[close[0]]!r}?") from problem


def show_component(screen: Console, component: type[Component]) -> None:
    """A task, a model, a stage or a probe: what it is, its fields, an example."""
    name = component.__name__
    kind = kind_of(component)
    article = "an" if kind[0] in "aeiou" else "a"
    screen.print(f"[bold]{name}[/], {article} {kind}", highlight=False)
    for paragraph in documented(component):
        screen.print()
        _paragraph(screen, paragraph)
    fields = Table.grid(padding=(0, 2))
    for field in described(component):
        default = [] if field.default is MISSING else [f"default {_value(field.default)}"]
        notes = "; ".join(filter(None, [field.allowed, *default]))
        # one that is a component by default says itself what it is
        told = field.doc or " ".join(documented(type(field.default))[0].split())
        fields.add_row(Text(field.name, style="bold"), Text(told).append(f"\n{notes}", "dim"))
    if fields.rows:
        _section(screen, "Fields", fields)
    for heading, lines in details(component):
        _section(screen, heading, *map(Text, lines))
    claims = claims_with(component)
    if claims:
        more = [f"and {len(claims) - LISTED} more"] if len(claims) > LISTED else []
        _section(screen, "Claims that use it", *map(Text, [*claims[:LISTED], *more]))


def _value(value: Any) -> str:
    return constructed(value) if isinstance(value, Component) else repr(value)


def _paragraph(screen: Console, text: str) -> None:
    """Text flows; what is drawn (it is indented) stays as it is."""
    lines = text.split("\n")
    if any(line.startswith(" ") for line in lines):
        screen.print(Text(text), highlight=False, soft_wrap=True)
    else:
        screen.print(Text(" ".join(lines)), highlight=False)


def _section(screen: Console, heading: str, *parts: RenderableType) -> None:
    screen.print()
    screen.print(Text(heading, style="bold"))
    for part in parts:
        screen.print(Padding(part, (0, 0, 0, 2), expand=False), highlight=False)


def show_claim(
    screen: Console, claim: Claim, scale: Scale, standing: Standing | None, full: bool
) -> None:
    """A claim: its sentence, what decides it, what came of it, its experiments."""
    headline = " (headline of its paper)" if claim.headline else ""
    screen.print(f"[bold]{claim.name}[/]{headline}", highlight=False)
    screen.print(Text(claim.says))
    screen.print(Text(f"{claim.paper.title} ({claim.paper.url}), {claim.where}", style="dim"))
    if claim.untested:
        _section(screen, "Not tested here", Text(claim.untested))
        return
    try:
        found = criteria(claim, scale)
    except ConfigError as problem:
        last = standing.verdict if standing else judged_before(claim, scale) or {"evidence": []}
        said = [item["text"] for item in last["evidence"] if item["outcome"] != "noted"]
        then = [_item(f"{text} (when it was last judged)") for text in said]
        why = Text(f"Before it runs no more can be told: {problem}", style="dim")
        _section(screen, "What decides", *then, why)
    else:
        _section(screen, "What decides", *_deciding(claim, found))
        if numbers := _numbers(each.evidence for each in found):
            _section(screen, "Numbers beside the paper's (they decide nothing)", *numbers)
    _section(screen, "Verdict", *_verdict(claim, scale, standing))
    if claim.region and not claim.untested:
        _section(screen, "What its paper leaves open, for a map", _open(claim.region))
    if departures := claim.departures_at(scale):
        _section(screen, "Where it departs from the paper", *map(_item, departures))
    _experiments(screen, claim, scale, full)
    _section(screen, "To judge it, or to see where it flips")
    for command in _commands(claim, scale):
        screen.print(Text(f"  {command}"), soft_wrap=True)  # to be pasted: in one piece


def _item(text: str) -> Table:
    """An item of a list, its lines below one another."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row("·", Text(text))
    return grid


def _deciding(claim: Claim, found: Sequence[Criterion]) -> list[RenderableType]:
    listed: list[RenderableType] = []
    for each in found:
        if each.evidence.decides:
            known = "" if each.known else " (a bound that is measured, too: this one is made up)"
            listed.append(_item(each.evidence.text + known))
    if claim.exact:
        rule = f"Exact, so one run decides: {claim.exact}."
    else:
        stops = ", then from ".join(map(str, claim.seeds.stops))
        rule = (
            f"Supported if {'each' if len(listed) > 1 else 'this'} holds in most seeds, "
            f"contradicted if {'any' if len(listed) > 1 else 'it'} fails in most; "
            f"judged from {stops} seeds{', until that is decided' * (len(claim.seeds.stops) > 1)}."
        )
        if any(each.evidence.tested == "mean" for each in found if each.evidence.decides):
            rule += " Of an average over seeds the mean decides, not most seeds."
    return [*listed, Text(rule, style="dim")]


def _numbers(found: Iterable[Evidence]) -> list[RenderableType]:
    """The paper's numbers, with what agrees with them; points of a curve in a line."""
    grid = Table.grid(padding=(0, 2))
    series: dict[str, list[Evidence]] = {}
    for item in found:
        if item.series:
            series.setdefault(item.series, []).append(item)
        elif item.reported:
            least, most = item.reported.range(item.quantity.unit)
            possible = item.quantity.range if item.other is None else (least, most)
            ends = words.number(max(least, possible[0])), words.number(min(most, possible[1]))
            fitted = f"; fitted: {item.reported.fitted}" if item.reported.fitted else ""
            what = f"{item.quantity} − {item.other}" if item.other else str(item.quantity)
            grid.add_row(
                Text(what), Text(f"{item.paper:g}; agrees from {ends[0]} to {ends[1]}{fitted}")
            )
    for name, points in series.items():
        if compared := sum(each.paper is not None for each in points):
            grid.add_row(Text(name), Text(f"a curve: {compared} points beside the paper's"))
    return [grid] if grid.rows else []


def _verdict(claim: Claim, scale: Scale, standing: Standing | None) -> list[RenderableType]:
    parts: list[RenderableType] = []
    if standing is None:
        runs, least = claim.named(scale), claim.seeds.least
        about = words.duration(seconds(runs, least))
        many = f"{words.counted(len(runs), 'experiment')} × {words.counted(least, 'seed')}"
        parts.append(Text(f"Not judged yet here: about {about} on {cores()} cores ({many})."))
    else:
        last = standing.verdict
        parts.append(badge(last["outcome"]).append(words.where(last)))
        parts += [Text(f"map: {line}") for line in (last.get("map") or {}).get("says", ())]
        if standing.note:
            parts.append(Text(standing.note, style="yellow"))
        parts += [Text(text, style="yellow") for text in last["failures"]]
        parts.append(evidence(last))
    if before := judged_before(claim, scale):
        parts.append(Text(f"In the last full judgement: {before['outcome']}.", style="dim"))
    return parts


def _open(region: Region) -> Table:
    """The settings of a region with the reasons for their ranges, and when a run counts as
    trained."""
    grid = Table.grid(padding=(0, 2))
    for each in region.settings:
        told = str(each).removeprefix(each.path).lstrip(": ")
        grid.add_row(Text(each.path, style="bold"), Text(told).append(f"\n{each.why}", "dim"))
    for fit in region.trained:
        grid.add_row(Text("trained if", style="dim"), Text(str(fit)))
    if region.theory:
        grid.add_row(Text("theory", style="dim"), Text(region.theory.says))
    return grid


def _experiments(screen: Console, claim: Claim, scale: Scale, full: bool) -> None:
    known = claim.named(scale)
    first = next(iter(known))
    for name in known if full else [first]:
        _section(screen, f"Experiment {name}", _lines(in_full(known[name])))
    if not full and len(known) > 1:
        _section(screen, f"The others are like {first}, but", _lines(differences(known)))
        screen.print(Text("  (--full prints each in full)", style="dim"))


def _lines(lines: Iterable[Line]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(max_width=28, overflow="fold")
    grid.add_column(overflow="fold")
    for label, text in lines:
        grid.add_row(Text(label, style="bold"), Text(text))
    return grid


def _commands(claim: Claim, scale: Scale) -> list[str]:
    """What one may type next: with a number of it that can be swept."""
    commands = [Verdict(claim, scale, [], 0, 0.0).command]
    for path, value in paths(next(iter(claim.named(scale).values()))).items():
        if isinstance(value, float) and value > 0 and " " not in path and not claim.of:
            values = ",".join(f"{value * factor:g}" for factor in (0.5, 1, 2))
            place = option(claim.name)
            commands.append(f"ontogeny sweep {claim.name} --sweep {path}={values}{place}")
            break
    if claim.region:
        commands.append(f"ontogeny map {claim.name}{option(claim.name)}")
    return commands

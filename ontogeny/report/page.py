"""The report: one page that opens from a file, with nothing fetched from anywhere."""

import base64
import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from .. import __version__
from ..claims.claim import Claim
from ..claims.find import find
from ..claims.scale import JUDGED, Scale
from ..claims.status import Standing, last_said, standing
from ..core import words
from ..core.decision import quantile
from ..core.evidence import Evidence
from ..core.fields import described
from ..engine.files import write_whole
from ..engine.serialize import components_of, digest, record, serialize, settings
from ..engine.store import Store
from . import tables
from .diagram import as_data
from .interval_plot import interval_plot
from .outline import outline
from .pack import packed
from .playground import models

WEB = files("ontogeny.report") / "web"
CHARTS = ("draw", "curves", "forms", "map", "figures")
SCRIPTS = ("vega", "pack", *CHARTS, "models", "playground", "page")
LIVE = ("explore",)


def report_page(
    store: Store, patterns: list[str], scales: list[Scale] | None = None
) -> tuple[str, int, int]:
    """The page of some claims, or all; how many verdicts it shows, and how many are missing."""
    found: list[Standing] = []
    unjudged = []
    for claim in find(patterns or ["all"]):
        own = [standing(claim, store, scale) for scale in scales or JUDGED]
        known = [each for each in own if each is not None]
        found += known[:1] if claim.untested else known  # once, not at every scale
        if not known:
            unjudged.append(claim)
    return _page(found, unjudged, _notes(store), sweeps(store)), len(found), len(unjudged)


def explorer_page(store: Store) -> str:
    """The explorer's page: every claim, judged or not, at the scales that it was judged at."""
    found = []
    for claim in find(["all"]):
        own = [last_said(claim, store, scale) for scale in JUDGED]
        known = [each for each in own if each.verdict["outcome"] not in ("unjudged", "untested")]
        found += known or own[:1]
    return _live_page(found, _notes(store), sweeps(store))


def _notes(store: Store) -> dict[str, Any]:
    """The footer of a page."""
    date = time.strftime("%Y-%m-%d")
    return {"version": __version__, "date": date, "store": store.root.name}


def sweeps(store: Store) -> list[dict[str, Any]]:
    """The sweeps of a store that can be drawn: every point has a value for each axis."""
    return [
        each
        for _, each in store.notes("sweeps")
        if all(len(point["at"]) == len(each["sweeps"]) for point in each["points"])
    ]


def _page(
    standings: Sequence[Standing],
    unjudged: Sequence[Claim],
    notes: Mapping[str, Any],
    swept: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page's text: a table of verdicts and a section per claim; the data of the figures comes
    after, packed, each run once."""
    sections, runs = [], {}
    for each in standings:
        experiments = each.claim.named(each.scale)
        names = {name: digest(record(experiments[name])) for name in each.runs}
        sections.append(_section(each, names, swept))
        for name, run in names.items():
            if run not in runs:
                runs[run] = packed(each.runs[name], experiments[name])
    return _render(sections, notes, live=False, unjudged=unjudged, runs=runs)


def _live_page(
    standings: Sequence[Standing],
    notes: Mapping[str, Any],
    swept: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The same for the explorer, which serves runs on request."""
    sections = [_live_section(each, swept) for each in standings]
    facts = {"meanings": _meanings(each.claim for each in standings)}
    return _render(sections, notes, live=True, unjudged=[], runs={}, facts=facts)


def live_section(standing: Standing, swept: Sequence[Mapping[str, Any]] = ()) -> str:
    """One claim's section, alone."""
    shown = _live_section(standing, swept)
    return _environment().get_template("claim.html").render(section=shown)


def _render(sections: Sequence[dict[str, Any]], notes: Mapping[str, Any], **parts: Any) -> str:
    verdicts = [section["verdict"] for section in sections]
    live = parts["live"]
    return (
        _environment()
        .get_template("page.html")
        .render(
            sections=sections,
            papers=list(dict.fromkeys(verdict["paper"] for verdict in verdicts)),
            scales=list(dict.fromkeys(verdict["scale"] for verdict in verdicts)),
            outcomes=list(dict.fromkeys(verdict["outcome"] for verdict in verdicts)),
            tally=tables.tally(verdicts),
            notes=notes,
            # the page draws bands itself, and JavaScript has no Student's quantiles
            facts={"quantiles": [quantile(n) for n in range(1, 64)], "live": live}
            | parts.pop("facts", {}),
            models=models(),
            # not escaped: these are our own files, and the policy has their hashes
            css=Markup(_web("page.css")),
            scripts=[Markup(text) for text in _scripts(live)],
            policy=Markup(_policy(live)),
            **parts,
        )
    )


def policy(live: bool) -> str:
    """The content security policy as a header, which also forbids framing."""
    # as a header only: in a page's own meta tag browsers ignore this
    return f"{_policy(live)}; frame-ancestors 'none'"


@cache
def _policy(live: bool) -> str:
    """The content security policy: its own scripts and style by their hashes, and no requests but,
    if it is live, to this server. Whatever else came to be in it would not run."""
    scripts = " ".join(map(_hash, _scripts(live)))
    style, whom = _hash(_web("page.css")), "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src {style}; img-src data:; "
        f"connect-src {whom}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _scripts(live: bool) -> list[str]:
    return [_web(f"{name}.js") for name in (*SCRIPTS, *LIVE * live)]


def write(text: str, folder: Path) -> Path:
    """Writes the page and returns its path."""
    path = folder / "index.html"
    write_whole(path, text)
    return path


def _section(
    standing: Standing, runs: Mapping[str, str], swept: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    claim, verdict, scale = standing.claim, standing.verdict, str(standing.scale)
    evidence = tables.read(verdict)
    return {
        # links to a claim by its name must go on working
        "id": claim.name if scale == "laptop" else f"{claim.name}.{scale}",
        "verdict": verdict,
        "paper": claim.paper,
        "note": standing.note,
        "runs": runs,
        "evidence": evidence,
        "points": [_point(item) for item in evidence if item.x is not None],
        "environment": standing.environment,
        "experiments": {
            name: outline(serialize(each)) for name, each in claim.named(standing.scale).items()
        },
        "map": as_data(standing.map) if standing.map else None,
        "sweeps": [v for v in swept if (v["claim"], v["scale"]) == (claim.name, scale)],
    }


def _point(item: Evidence) -> dict[str, Any]:
    """A point of a curve, as the page draws it."""
    numbers = {name: getattr(item, name) for name in ("x", "ours", "low", "high", "paper")}
    finite = {name: v if v is None or math.isfinite(v) else None for name, v in numbers.items()}
    each = [value if math.isfinite(value) else None for value in item.each]
    return {"series": item.series, "theory": item.theory, "each": each, **finite}


def _live_section(standing: Standing, swept: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A section whose runs are named by the query that serves them, with fields to sweep."""
    claim, scale = standing.claim, standing.scale
    experiments = claim.named(scale)
    asked = {"claim": claim.name, "scale": str(scale)}
    runs = {name: urlencode(asked | {"name": name}) for name in experiments}
    fields = {
        path: {"value": _text(value), "of": owner}
        for each in experiments.values()
        for path, value, owner in settings(each)
    }
    return _section(standing, runs, swept) | {"fields": fields}


def _meanings(claims: Iterable[Claim]) -> dict[str, dict[str, str]]:
    """What the fields of a claim's components mean, and what they may be, by the class."""
    experiments = (each for claim in claims for each in claim.named(Scale.LAPTOP).values())
    kinds = {type(part) for each in experiments for part in components_of(each)}
    return {
        kind.__name__: {
            field.name: "; ".join(filter(None, [field.doc, field.allowed]))
            for field in described(kind)
        }
        for kind in kinds
    }


def _text(value: Any) -> str:
    """A field's value as `sweep` takes it."""
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ontogeny", "report"),
        autoescape=select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": words.number,
        "ours": words.value,
        "held": words.held,
        "paper": words.paper,
        "agreement": words.agreement,
        "mark": lambda outcome: tables.STYLES[outcome][0],
        "interval_plot": interval_plot,
        "words": lambda name: name.replace("_", " "),
        "where": words.where,
        "ask_for_a_map": words.ask_for_a_map,
        "inline": inline,
    }
    return environment


def inline(value: Any) -> Markup:
    """JSON that may stand inside a script or an attribute of a page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # so that no text can end the script, or the quoted attribute, that it stands in
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


@cache
def _web(name: str) -> str:
    return (WEB / name).read_text()

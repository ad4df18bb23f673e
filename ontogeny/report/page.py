"""The report: one page that opens from a file, with nothing fetched from anywhere."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from ..claims.claim import Claim
from ..claims.status import Standing
from ..core.evidence import quantile
from ..engine.files import write_whole
from ..engine.serialize import digest, paths, record, spell
from . import tables
from .outline import outline
from .pack import packed
from .play import models
from .strip import strip

WEB = files("ontogeny.report") / "web"
SCRIPTS = ("vega", "pack", "draw", "curves", "forms", "pictures", "models", "play", "page")
LIVE = ("explore",)


def page(
    standings: Sequence[Standing],
    unjudged: Sequence[Claim],
    notes: Mapping[str, Any],
    variations: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page's text: a table of verdicts and a section per claim; what pictures are drawn from
    comes after, packed, each run once."""
    sections, runs = [], {}
    for standing in standings:
        experiments = standing.claim.named(standing.scale)
        names = {name: digest(record(experiments[name])) for name in standing.runs}
        sections.append(_section(standing, names, variations))
        for name, run in names.items():
            if run not in runs:
                runs[run] = packed(standing.runs[name], experiments[name])
    return _render(sections, notes, live=False, unjudged=unjudged, runs=runs)


def live_page(
    standings: Sequence[Standing],
    notes: Mapping[str, Any],
    variations: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The same for the explorer, which gives runs when they are asked for."""
    sections = [_live_section(standing, variations) for standing in standings]
    return _render(sections, notes, live=True, unjudged=[], runs={})


def live_section(standing: Standing, variations: Sequence[Mapping[str, Any]] = ()) -> str:
    """One claim's section, alone."""
    shown = _live_section(standing, variations)
    return _environment().get_template("section.html").render(section=shown)


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
            facts={"quantiles": [quantile(n) for n in range(1, 64)], "live": live},
            models=models(),
            css=Markup(_web("page.css")),
            scripts=[Markup(text) for text in _scripts(live)],
            policy=Markup(_policy(live)),
            **parts,
        )
    )


def policy(live: bool) -> str:
    """What a page may do, as a header says it: also, that no other page may frame it."""
    return f"{_policy(live)}; frame-ancestors 'none'"


@cache
def _policy(live: bool) -> str:
    """What a page may do: run its own scripts as they are, wear its own style, and ask nobody; or,
    if it is live, this server. Whatever else came to be in it would not run."""
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
    """Writes the page whole and says where it is."""
    path = folder / "index.html"
    write_whole(path, text)
    return path


def _section(
    standing: Standing, runs: Mapping[str, str], variations: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    claim, verdict, scale = standing.claim, standing.verdict, str(standing.scale)
    return {
        "id": claim.name if scale == "laptop" else f"{claim.name}.{scale}",
        "verdict": verdict,
        "paper": claim.paper,
        "note": standing.note,
        "runs": runs,
        "points": [item for item in verdict["evidence"] if item.get("x") is not None],
        "environment": standing.environment,
        "experiments": {
            name: outline(spell(each)) for name, each in claim.named(standing.scale).items()
        },
        "variations": [v for v in variations if (v["claim"], v["scale"]) == (claim.name, scale)],
    }


def _live_section(standing: Standing, variations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Runs are called by the query that gives them; fields may be changed."""
    claim, scale = standing.claim, standing.scale
    experiments = claim.named(scale)
    asked = {"claim": claim.name, "scale": str(scale)}
    runs = {name: urlencode(asked | {"name": name}) for name in experiments}
    fields = {path: value for each in experiments.values() for path, value in paths(each).items()}
    section = _section(standing, runs, variations)
    return section | {"fields": {path: _told(value) for path, value in fields.items()}}


def _told(value: Any) -> str:
    """A field's value as `vary` takes it."""
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
        "number": tables.number,
        "ours": tables.ours,
        "mark": lambda outcome: tables.STYLES[outcome][0],
        "strip": strip,
        "words": lambda name: name.replace("_", " "),
        "inline": inline,
    }
    return environment


def inline(value: Any) -> Markup:
    """JSON that may stand inside a script or an attribute of a page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&'":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


@cache
def _web(name: str) -> str:
    return (WEB / name).read_text()

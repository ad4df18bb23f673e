"""What the JSON texts of a store look like: whatever does not fit is set aside (`files.misfit`)."""

from typing import Any

from .files import NUMBER, SEEDS

_Shape = dict[str, Any]
EVIDENCE: _Shape = {"text": str, "outcome": str, "ours": NUMBER, "low": NUMBER, "high": NUMBER}
EVIDENCE |= {"paper": NUMBER, "n": SEEDS, "note": str, "series": str, "x": NUMBER}
EVIDENCE |= {"each": [NUMBER]}
VERDICT: _Shape = {"claim": str, "says": str, "paper": str, "where": str, "outcome": str}
VERDICT |= {"scale": str, "seeds": SEEDS, "seconds": NUMBER, "departures": [str], "untested": str}
VERDICT |= {"failures": [str], "command": str, "digest": str, "evidence": [EVIDENCE]}
POINT: _Shape = {"at": [str], "outcome": str, "evidence": [EVIDENCE]}
VARIATION: _Shape = {"claim": str, "scale": str, "seeds": SEEDS, "changes": [str]}
VARIATION |= {"sweeps": {...: [str]}, "points": [POINT]}
UNIT: _Shape = {"label": str, "step": int, "steps": int, "news": str}
WORK: _Shape = {"pid": int, "host": str, "words": [str], "fraction": NUMBER, "left": str}
WORK |= {"units": [UNIT]}
ENVIRONMENT: _Shape = {"failure": str, "seconds": NUMBER}

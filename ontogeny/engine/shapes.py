"""What the JSON texts of a store look like: whatever does not fit is set aside (`files.misfit`)."""

from typing import Any

from .files import NUMBER, SEEDS

_Shape = dict[str, Any]
_LISTS = {name: [(str, int)] for name in ("reductions", "index")}
QUANTITY: _Shape = {"probe": str, "run": str, "unit": str, "operation": str, **_LISTS}
QUANTITY |= {"parts": [QUANTITY]}  # of a sum or a ratio
_OTHER = ("tested", "exact", "series", "text", "note", "outcome", "relation")
EVIDENCE: _Shape = {"quantity": QUANTITY, "each": [NUMBER], "others": [NUMBER], "n": SEEDS}
EVIDENCE |= {"holds": [(bool, type(None))], "stops": [[NUMBER]], "along": [list]}
EVIDENCE |= {
    "other": (dict, type(None)),
    "reported": (dict, type(None)),
    "bounded": bool,
    "theory": bool,
}
EVIDENCE |= dict.fromkeys(("bound", "tolerance", "x", "paper", "ours", "low", "high"), NUMBER)
EVIDENCE |= {"failures": [str], "notes": [str], **dict.fromkeys(_OTHER, str)}
VERDICT: _Shape = {"claim": str, "says": str, "paper": str, "where": str, "outcome": str}
VERDICT |= {"scale": str, "seeds": SEEDS, "seconds": NUMBER, "departures": [str], "untested": str}
VERDICT |= {"failures": [str], "command": str, "digest": str, "evidence": [EVIDENCE]}
VERDICT |= {"numbers": {...: SEEDS}, "fixed": bool, "would_decide": str, "exact": str}
POINT: _Shape = {"at": [str], "outcome": str, "evidence": [EVIDENCE]}
SWEEP: _Shape = {"claim": str, "scale": str, "seeds": SEEDS, "changes": [str]}
SWEEP |= {"sweeps": {...: [str]}, "points": [POINT]}
CELL: _Shape = {"at": [str], "found": str, "numbers": [NUMBER]}
MAP: _Shape = {"claim": str, "scale": str, "seeds": SEEDS, "evidence": [str], "own": bool}
MAP |= {"region": {"settings": [dict], "trained": [dict], "theory": str}, "cells": [CELL]}
MAP |= {
    "theory": (dict, type(None)),
    "refused": {...: int},
    "left": int,
    "outcome": str,
    "says": [str],
    "digest": str,
}
NOTES = {"verdicts": VERDICT, "sweeps": SWEEP, "maps": MAP}
UNIT: _Shape = {"label": str, "step": int, "steps": int, "news": str}
WORK: _Shape = {"pid": int, "host": str, "words": [str], "fraction": NUMBER, "left": str}
WORK |= {"units": [UNIT]}
ENVIRONMENT: _Shape = {"failure": str, "seconds": NUMBER}

"""Claims from end to end, through the real command: every one in turn, some at each commit.

`make smoke` runs all of them. Here a part is run, another one with every commit, and without what
has been obtained or compiled before: ONTOGENY_PART=3 pytest tests/test_smoke.py runs the third.
"""

import json
import os
import subprocess
import sys

from turns import turn

from ontogeny.claims.claim import all_claims

PARTS = 128


def test_some_claims_run_from_end_to_end(tmp_path):
    part = turn() % PARTS
    names = sorted(all_claims())[part::PARTS]
    told = tmp_path / "verdicts.json"
    words = ["judge", *names, "--scale", "smoke", "--seeds", "2", "--json", str(told)]
    done = subprocess.run(
        [sys.executable, "-m", "ontogeny", *words, "--workers", "1"],
        cwd=tmp_path,
        env=os.environ
        | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"ONTOGENY_PART={part}: {done.stderr[-2000:]}"
    verdicts = json.loads(told.read_text())
    assert [verdict["claim"] for verdict in verdicts] == names
    assert all(verdict["evidence"] or verdict["untested"] for verdict in verdicts)

"""The tutorial, from a task to a figure: what it shows is what it says."""

import os
import re
import subprocess
import sys

import pytest
from small import ROOT

TEXT = (ROOT / "docs" / "tutorial.md").read_text()
TASK, PROBE, EXPERIMENT, TRIED, CLAIMS, HELD = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the file of the tutorial, as its steps make it."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "examples").mkdir()
    steps = (each.rstrip() + "\n" for each in (TASK, PROBE, EXPERIMENT, CLAIMS))
    (folder / "examples" / "parity.py").write_text("\n\n".join(steps))
    return folder


def ran(words, folder):
    """What a program says, in a process of its own: claims that it loads stay there."""
    # it trains for long: programs are compiled as they are for people
    around = {name: x for name, x in os.environ.items() if name != "JAX_DISABLE_MOST_OPTIMIZATIONS"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=around,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(start, place):
    """What a command of the tutorial says."""
    line = next(x for x in TEXT.splitlines() if x.startswith(f"    ontogeny {start}"))
    command, _, named = line.partition(" #")
    words = command.replace("CLAIM", named.partition(",")[0].strip()).split()[1:]
    return ran(["-m", "ontogeny", *words], place)


def test_its_steps_make_the_file_that_it_names(place):
    _, text = (ROOT / "examples" / "parity.py").read_text().split('"""\n\n', 1)
    assert text == (place / "examples" / "parity.py").read_text()


def test_its_claims_are_shown_judged_swept_and_drawn(place):
    shown = " ".join(told("show", place).split())
    assert "first step with accuracy above 0.9 rises along 1, 2, 3, 4" in shown
    assert "2 claims: 2 supported" in told("judge", place)
    swept = told("sweep", place)
    (drawn,) = re.findall(r"^    (training.0.weight_decay  0.1 .*?)\n\n", TEXT, flags=re.S | re.M)
    assert all(line.strip() in swept for line in drawn.splitlines())
    told("figures", place)
    assert list((place / "figures").rglob("*.pdf"))


def test_what_is_tried_at_a_prompt_works(place):
    folder = place / "examples"
    (folder / "tried.py").write_text(TRIED.replace("seeds=5", "seeds=1") + HELD)
    first, *accuracies, world = ran(["tried.py"], folder).splitlines()
    assert "first step with accuracy above 0.9" in first and world.startswith("[")
    assert (folder / "parity.png").read_bytes().startswith(b"\x89PNG")
    before, _, after = (float(line.split()[1]) for line in accuracies)
    assert before < 0.6 and after > 0.99

"""The wheel, installed where there is nothing but what it says it needs."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

from filelock import FileLock
from packaging.requirements import Requirement
from small import ROOT

AS_COMMITTED = shutil.ignore_patterns(
    *(".*", "*.egg-info", "__pycache__", "build", "dist", "node_modules", "report-*")
)


def run(*words, cwd, check=True, **environment):
    """Runs a program as a user would, who knows nothing of this checkout."""
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=own | environment,
        capture_output=True,
        check=check,
        text=True,
        timeout=600,
    )


def built(project, out, *options):
    """What `python -m build` makes of a project: a copy of it, so that nothing is left in it."""
    copy = out / "source"
    shutil.copytree(project, copy, ignore=AS_COMMITTED)
    done = run(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", out / "dist", *options),
        cwd=copy,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(copy)
    return sorted((out / "dist").iterdir())


class Installed:
    """A virtual environment with the wheel, and what it says it needs."""

    def __init__(self, home):
        self.files = sorted((home / "dist").iterdir())
        self.bin = home / "venv" / "bin"
        self.python, self.ontogeny = self.bin / "python", self.bin / "ontogeny"
        (self.packages,) = (home / "venv" / "lib").glob("python*/site-packages")

    def install(self, wheel, *options):
        """As pip does it, from here: the environment has none."""
        pip = (sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check")
        run(*pip, "install", "--quiet", "--no-deps", *options, wheel, cwd=self.bin)

    def link(self, *wanted):
        """Links the distributions that are wanted, and those that they need, from here."""
        (own,) = self.packages.glob("ontogeny-*.dist-info")
        waiting, known = [Requirement(each) for each in wanted], set()
        while waiting:
            needed = waiting.pop()
            for extra in ("", *needed.extras):
                if (needed.name.lower(), extra) in known:
                    continue
                known.add((needed.name.lower(), extra))
                if needed.name == "ontogeny":  # the wheel, and no checkout that is here
                    found = Distribution.at(own)
                else:
                    found = distribution(needed.name)
                    self._link(found)
                for listed in map(Requirement, found.requires or ()):
                    if not listed.marker or listed.marker.evaluate({"extra": extra}):
                        waiting.append(listed)

    def _link(self, found):
        for top in {Path(*file.parts[:1]) for file in found.files if ".." not in file.parts}:
            if top.name != "__pycache__" and not (self.packages / top).exists():
                (self.packages / top).symlink_to(found.locate_file(top))


def installed(shared):
    """The wheel in an environment that all tests of a run share: it is built once."""
    home = shared / "wheel"
    with FileLock(shared / "wheel.lock"):
        if not (home / "ready").exists():
            home.mkdir()
            wheel = next(f for f in built(ROOT, home) if f.suffix == ".whl")
            run(sys.executable, "-m", "venv", "--without-pip", home / "venv", cwd=home)
            made = Installed(home)
            made.install(wheel)
            made.link("ontogeny[theory]", "pytest")
            (home / "ready").touch()
    return Installed(home)

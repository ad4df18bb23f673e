"""What a shell proposes while one types: commands, their options, claims, papers, components.

A shell asks `ontogeny --complete WORDS` at every press of the key, so nothing heavy is imported.
Names of claims are remembered: ours until a file of theirs changes, those of a project since a
command was last given there. Only to complete a word, no code of a project is ever run.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from platformdirs import user_cache_path

from .app import MACHINE, app

PACKAGE = Path(__file__).parent.parent
SCRIPTS = {
    "bash": """\
_ontogeny() {
    local IFS=$'\\n'
    COMPREPLY=($(ontogeny --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _ontogeny ontogeny
""",
    "zsh": """\
#compdef ontogeny
_ontogeny() {
    local -a found
    found=(${(f)"$(ontogeny --complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -a found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _ontogeny ontogeny
""",
    "fish": """\
function __ontogeny
    set -l words (commandline -opc) (commandline -ct)
    set -l found (ontogeny --complete $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c ontogeny -f -a '(__ontogeny)'
""",
}
# what options and arguments take, where that is one of a few words
VALUES = {
    "scale": ("laptop", "paper", "smoke"),
    "battery": ("quick", "full"),
    "references": ("auto", "train", "none"),
    "on": ("ray",),
    "shell": tuple(SCRIPTS),
}
FORMATS = {"export": ("csv", "parquet"), "weights": ("safetensors", "gpt2")}
STANDINGS = (
    "supported",
    "contradicted",
    "depends",
    "undecided",
    "untested",
    "unjudged",
    "stale",
    "headline",
)


@app.command(
    group=MACHINE,
    help_epilogue='Bash: put `eval "$(ontogeny completion bash)"` into ~/.bashrc. Zsh: the same '
    "with zsh, into ~/.zshrc. Fish: `ontogeny completion fish | source`, into "
    "~/.config/fish/config.fish.",
)
def completion(shell: Annotated[str, Parameter(help="bash, zsh or fish")], /) -> None:
    """Print a script that lets a shell complete commands, options and names of claims."""
    from ..core.fields import ConfigError, did_you_mean

    if shell not in SCRIPTS:
        raise ConfigError(f"unknown shell {shell!r}: {did_you_mean(shell, list(SCRIPTS))}")
    print(SCRIPTS[shell], end="")


def complete(words: Sequence[str]) -> list[str]:
    """What the last word may become, after the words before it."""
    *before, last = words or [""]
    command, name = app, ""
    while before and before[0] in _commands(command):
        name = before.pop(0)
        command = command[name]
    found = _proposed(command, name, before, last)
    return sorted({word for word in found if word.startswith(last)})


def _proposed(command: Any, name: str, before: list[str], last: str) -> Iterable[str]:
    inner = _commands(command)
    if command is app or inner:
        return [] if before else [*inner, "--help", *(["--version"] if command is app else [])]
    arguments = list(command.assemble_argument_collection())
    options = {each: argument for argument in arguments for each in argument.names}
    if before and before[-1] in options and options[before[-1]].hint is not bool:
        return _values(name, options[before[-1]].field_info.name)
    if last.startswith("-"):
        kept = (each for each in options if each.startswith("--") and not _odd(each, options))
        return [*kept, "--help"]
    positional = (each for each in arguments if not each.names[0].startswith("-"))
    return [word for each in positional for word in _values(name, each.field_info.name)]


def _odd(name: str, options: dict[str, Any]) -> bool:
    """Whether it is a negation that cyclopts adds and the help does not show."""
    return name != options[name].names[0] and name.startswith(("--no-", "--empty-"))


def _commands(command: Any) -> list[str]:
    return [each for each in command if not each.startswith("-") and command[each].show]


def _values(command: str, field: str) -> Sequence[str]:
    """What a field of a command takes, if that is known."""
    if field in ("patterns", "claim", "what"):
        more = {"list": STANDINGS, "judge": ("all",), "show": tuple(components())}
        return [*claims(), *more.get(command, ())]
    return FORMATS.get(command, ()) if field == "format_" else VALUES.get(field, ())


def components() -> Iterator[str]:
    """The classes of tasks, models, stages and probes, as the package's stub lists them."""
    stub = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")
    for found in re.finditer(
        r"^from \.(?:tasks|models|training|probes)\.\S+ import (\w+)", stub, re.MULTILINE
    ):
        yield found[1]


# ------------------------------------------------------------------------------- names of claims


def claims() -> list[str]:
    """Names of claims and keys of their papers: ours, and those of the project one is in."""
    found = _recalled(_file(""), _fingerprint())
    if found is None:
        from ..claims.claim import read_papers

        read_papers()
        found = _names(ours=True)
        _write(_file(""), _fingerprint(), found)
    return [*found, *(_recalled(_file(str(_project())), "") or ())]


def remember() -> None:
    """Writes down the names of claims, if a command has loaded them."""
    if "ontogeny.claims.claim" not in sys.modules or not (ours := _names(ours=True)):
        return
    with suppress(OSError):  # only to complete words
        if _recalled(_file(""), _fingerprint()) is None:
            _write(_file(""), _fingerprint(), ours)
        others = _names(ours=False)
        if _project() and others != _recalled(_file(str(_project())), ""):
            _write(_file(str(_project())), "", others)


def _names(ours: bool) -> list[str]:
    from ..claims.claim import CLAIMS

    known = [
        claim
        for claim in CLAIMS.values()
        if claim.home.module.startswith("ontogeny.claims.papers.") == ours
    ]
    return sorted({name for claim in known for name in (claim.name, claim.paper.key)})


def _project() -> Path | None:
    """The folder of the project that one is in."""
    with suppress(OSError):
        here = Path.cwd()
        return next((at for at in (here, *here.parents) if (at / "pyproject.toml").is_file()), None)
    return None


def _file(project: str) -> Path:
    key = hashlib.sha256(f"{PACKAGE}\n{project}".encode()).hexdigest()[:20]
    return user_cache_path("ontogeny", appauthor=False) / "names" / f"{key}.txt"


def _fingerprint() -> str:
    """Changes when a file of ours that registers claims does."""
    stats = ((each, each.stat()) for each in sorted((PACKAGE / "claims" / "papers").rglob("*.py")))
    text = "\n".join(f"{each} {stat.st_mtime_ns} {stat.st_size}" for each, stat in stats)
    return hashlib.sha256(text.encode()).hexdigest()


def _recalled(file: Path, fingerprint: str) -> list[str] | None:
    """Names that were written down, if they still hold."""
    try:
        first, *names = file.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return None
    # a shell shows them: nothing but names
    return (
        [each for each in names if re.fullmatch(r"[\w.-]+", each)] if first == fingerprint else None
    )


def _write(file: Path, fingerprint: str, names: Sequence[str]) -> None:
    from ..engine.files import write_whole

    write_whole(file, "\n".join([fingerprint, *names]))

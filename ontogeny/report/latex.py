"""Tables and references for a paper."""

import re
from collections.abc import Iterable

from ..claims.claim import Claim
from ..claims.status import Standing
from ..core import words
from ..core.words import number
from .tables import STYLES, read

_SIGNS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SIGNS |= {sign: f"\\{sign}" for sign in "&%$#_{}"}
_MARKS = {"✓": r"$\checkmark$", "✗": r"$\times$", "–": "--", "·": r"$\cdot$"}
_GREEK = """alpha beta gamma delta varepsilon eta theta kappa lambda mu nu rho sigma tau varphi chi
psi omega pi zeta xi Delta Sigma Pi Omega Theta Lambda"""
_LETTERS = dict(zip("αβγδεηθκλμνρστφχψωπζξΔΣΠΩΘΛ", _GREEK.split(), strict=True))
_LETTERS |= {"±": "pm", "≥": "geq", "≤": "leq", "≫": "gg", "→": "to", "√": "sqrt{}", "·": "cdot"}
_LETTERS |= {"∞": "infty", "×": "times", "≈": "approx", "⟨": "langle", "⟩": "rangle"}
_MATHS = {sign: f"$\\{name}$" for sign, name in _LETTERS.items()} | {"−": "$-$", "½": "$1/2$"}


def escaped(text: str) -> str:
    """Text as LaTeX takes it."""
    # signs first: what is put in below has backslashes and dollars of its own
    plain = "".join(_SIGNS.get(sign, sign) for sign in text)
    plain = re.sub(r"ᵀ", r"$^{\\top}$", plain)
    plain = re.sub(r"[₀-₉]", lambda found: f"$_{ord(found[0]) - ord('₀')}$", plain)
    return "".join(_MATHS.get(sign, sign) for sign in plain)


def table(standing: Standing) -> str:
    """A claim's evidence as a table (booktabs), our number beside the paper's."""
    verdict = standing.verdict
    lines = [
        f"% {verdict['command']}",
        r"% \usepackage{booktabs,amssymb}",
        r"\begin{table}",
        f"  \\caption{{{escaped(verdict['says'])} \\cite{{{verdict['paper']}}}, "
        f"{escaped(verdict['where'])}: {words.verdict(verdict)} "
        f"({verdict['seeds']} seeds, {verdict['scale']} scale).}}",
        f"  \\label{{tab:{verdict['claim']}}}",
        r"  \begin{tabular}{cllrr}",
        r"    \toprule",
        r"    & evidence & ours [95\,\% interval] & seeds & paper \\",
        r"    \midrule",
    ]
    for item in read(verdict):
        mark = STYLES[item.outcome][0]
        cells = (
            _MARKS.get(mark, mark),
            escaped(item.text),
            escaped(words.value(item)),
            escaped(words.held(item)),
            number(item.paper),
        )
        lines.append(f"    {' & '.join(cells)} \\\\".replace("–", "--"))
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""])


def references(claims: Iterable[Claim]) -> str:
    """BibTeX of the sources, and of the articles that a claim cites. What a source does not
    say of itself is left out."""
    entries = {}
    for claim in claims:
        paper = claim.paper
        fields = {"author": paper.authors, "title": f"{{{paper.title}}}", "url": paper.url}
        entries[paper.key] = fields | _arxiv(paper.url)
        for article in re.findall(r"arXiv (\d{4}\.\d{4,5})", claim.where):
            url = f"https://arxiv.org/abs/{article}"
            entries[f"arXiv:{article}"] = {"url": url} | _arxiv(url)
    return "\n".join(_entry(key, fields) for key, fields in entries.items())


def _arxiv(url: str) -> dict[str, str]:
    found = re.search(r"arxiv\.org/abs/((\d\d)\d\d\.\d+)", url)
    if not found:
        return {}
    # an arXiv number begins with its year
    return {"eprint": found[1], "archiveprefix": "arXiv", "year": f"20{found[2]}"}


def _entry(key: str, fields: dict[str, str]) -> str:
    listed = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{listed}\n}}\n"

"""Templates: strings with wildcards, and what it means to match one (arXiv 2310.09753, section 3).

A template is written as `tokens: label`. Greek letters are wildcards, everything else is itself.
With blanks, tokens are what they separate; without, every character is one. A label is a number
(`αβα: +1`) or a token of the template (`αβ: α`). A string matches if it comes from replacing each
wildcard by a token of its own that the template does not contain.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int


class BadTemplate(ValueError):  # noqa: N818
    """What is wrong with a template, which the message shows."""


@dataclass(frozen=True)
class Template:
    """A string over wildcards and regular tokens, and the label of what matches it."""

    tokens: tuple[str, ...]
    label: str

    def __str__(self) -> str:
        blank = " " if any(len(token) > 1 for token in self.tokens) else ""
        return f"{blank.join(self.tokens)}: {self.label}"

    @property
    def wildcards(self) -> tuple[str, ...]:
        """Its wildcards, in the order in which they appear."""
        return tuple(dict.fromkeys(token for token in self.tokens if is_wildcard(token)))

    @property
    def regular(self) -> tuple[str, ...]:
        """Its regular tokens, in the order in which they appear."""
        return tuple(dict.fromkeys(token for token in self.tokens if not is_wildcard(token)))

    @property
    def value(self) -> float | None:
        """The label as a number; none if it is a symbol."""
        try:
            return float(self.label.replace("−", "-"))  # the minus sign of papers
        except ValueError:
            return None


def is_wildcard(token: str) -> bool:
    """Whether a token is a Greek letter, perhaps with a number (`α`, `β2`)."""
    return re.fullmatch(r"[α-ω]\d*", token) is not None


def parse(text: str) -> Template:
    """Reads `tokens: label`."""
    # the last colon: tokens may be colons, labels are not
    body, colon, label = text.rpartition(":")
    body, label = body.strip(), label.strip()
    if not colon or not body or not label:
        raise BadTemplate(f"{text!r} is no template: write `tokens: label`, such as `αβα: +1`")
    tokens = tuple(body.split() if " " in body else body)
    template = Template(tokens, label)
    if template.value is None and label not in tokens:
        kind = "wildcard" if is_wildcard(label) else "token"
        raise BadTemplate(f"{text!r}: the label is a {kind} that does not occur in the template")
    return template


def parse_all(texts: Sequence[str]) -> tuple[Template, ...]:
    """Reads templates that make a task: of one length, labelled alike, pairwise disjoint."""
    if not texts:
        raise BadTemplate("a task needs at least one template")
    templates = tuple(map(parse, texts))
    first = templates[0]
    for template in templates[1:]:
        if len(template.tokens) != len(first.tokens):
            raise BadTemplate(
                f"'{template}' has length {len(template.tokens)}, '{first}' {len(first.tokens)}: "
                "templates of a task have one length"
            )
        if (template.value is None) != (first.value is None):
            raise BadTemplate(f"'{first}' and '{template}': labels are all numbers or all symbols")
    for place, one in enumerate(templates):
        for other in templates[place + 1 :]:
            if not disjoint(one, other):
                raise BadTemplate(f"'{one}' and '{other}' overlap: some string matches both")
    return templates


def disjoint(one: Template, other: Template) -> bool:
    """Whether no string matches both (Definition 4.1).

    What matches a template has its pattern of equalities. So the patterns must agree; and where one
    has a regular token, the other has the same, or a wildcard that may become it.
    """
    if pattern(one.tokens) != pattern(other.tokens):
        return True

    def clash(token: str, rival: str, rivals: Template) -> bool:
        if is_wildcard(token):
            return False
        # a wildcard never becomes a token of its own template (Definition 3.1)
        return token in rivals.regular if is_wildcard(rival) else token != rival

    pairs = list(zip(one.tokens, other.tokens, strict=True))
    return any(clash(a, b, other) or clash(b, a, one) for a, b in pairs)


def pattern(tokens: Sequence[object]) -> tuple[int, ...]:
    """Which places hold the same token: each token by the order of its first appearance."""
    seen: dict[object, int] = {}
    return tuple(seen.setdefault(token, len(seen)) for token in tokens)


def substituted(templates: Sequence[Template], fresh: int = 0) -> list[Int[np.ndarray, " length"]]:
    """Each template as numbers: regular tokens are shared, wildcards its own from `fresh` on.

    Two calls whose ranges are apart give strings that have no wildcard's token in common.
    """
    names = {
        t: -1 - n for n, t in enumerate(dict.fromkeys(t for z in templates for t in z.regular))
    }
    strings = []
    for template in templates:
        own = {wildcard: fresh + n for n, wildcard in enumerate(template.wildcards)}
        strings.append(np.array([(names | own)[token] for token in template.tokens]))
        fresh += len(own)
    return strings

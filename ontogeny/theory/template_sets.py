"""Sets of templates that the literature speaks of, as strings one can read.

Each is a tuple for `Templates.of(*…)`, or for the kernel of `attention_kernel`.
"""

from itertools import permutations, product

import numpy as np

from .template import BadTemplate, disjoint, parse, pattern

Strings = tuple[str, ...]
GREEK = "αβγδεζηθικλμνξοπρστυφχψω"

SAME_DIFFERENT: Strings = ("αα: +1", "αβ: -1")
ENDS_OR_TAIL: Strings = ("αβα: +1", "αββ: -1")
PAIRS_OR_TURNS: Strings = ("ααββ: +1", "αβαβ: -1")
COPY: Strings = ("α: α",)

# Figures 1 and 2: what does the program print?
PRINT_NUMBER: Strings = (
    "α = 1 ; β = - 1 ; print ( α ): +1",
    "α = 1 ; β = - 1 ; print ( β ): -1",
)
PRINT_STRING: Strings = (
    'α = " γ " ; β = " δ " ; print ( α ): γ',
    'α = " γ " ; β = " δ " ; print ( β ): δ',
)

# each first one follows the paper's examples; the second, of the same length, is ours
WORD_PROBLEM: Strings = (
    "If α gives β 5 γ , how many γ does β gain ?: +5",
    "If α gives β 5 γ , how many γ does α gain ?: -5",
)
SYMBOLIC_WORD_PROBLEM: Strings = (
    "If α gives β δ γ , how many γ does β have ?: δ",
    "If α gives β δ γ , and who now has those γ ?: β",
)


def majority(length: int) -> Strings:
    """Does the first symbol fill most of the rest? Over two symbols, 2^(length-1) templates."""
    # an even length leaves an odd rest, which cannot be a tie
    if length < 2 or length % 2:
        raise BadTemplate(f"a majority of the rest needs an even length, not {length}")
    return tuple(
        f"α{''.join(rest)}: {'+1' if rest.count('α') > len(rest) / 2 else '-1'}"
        for rest in product("αβ", repeat=length - 1)
    )


def symbolic_majority(length: int) -> Strings:
    """Which of two symbols fills most of the string? The label is that symbol."""
    if length < 1 or not length % 2:
        raise BadTemplate(f"a majority of all needs an odd length, not {length}")
    return tuple(
        f"α{''.join(rest)}: {'α' if rest.count('β') < length / 2 else 'β'}"
        for rest in product("αβ", repeat=length - 1)
    )


def distribution_of_three() -> Strings:
    """A row of three symbols, two of the next row, four options: which completes the row?

    αβγ | βγ? | δαγβ → 2. Six orders of the second row, 24 of the options: 144 templates.
    """
    return tuple(
        f"αβγ{''.join(row[:2])}{''.join(options)}: {1 + options.index(row[2])}"
        for row in permutations("αβγ")
        for options in permutations("αβγδ")
    )


def match_to_sample() -> Strings:
    """Three symbols, then two options of three: which has the sample's pattern?

    Five patterns, the right one first or second, four wrong ones: 40 templates.
    """
    patterns = sorted({pattern(p) for p in product(range(3), repeat=3)})

    def written(shape: tuple[int, ...], first: int) -> str:
        return "".join(GREEK[first + place] for place in shape)

    return tuple(
        # sample and options share no symbol: only their patterns can be compared
        f"{written(sample, 0)}{written(one, 3)}{written(two, 6)}: {'+1' if one == sample else '-1'}"
        for sample in patterns
        for other in patterns
        if other != sample
        for one, two in ((sample, other), (other, sample))
    )


def raven() -> Strings:
    """One dimension of a matrix: every row holds the same three, or every row is constant.

    The last of nine is asked for, by its symbol: 36 + 1 templates.
    """
    rows = list(permutations("αβγ"))
    mixed = (
        f"αβγ{''.join(second)}{''.join(third[:2])}: {third[2]}" for second in rows for third in rows
    )
    return (*mixed, "αααβββγγ: γ")


def random_templates(
    number: int, length: int, wildcards: int = 2, regular: int = 0, seed: int = 0
) -> Strings:
    """Templates drawn at random, no string matching two; labels of mean 0 and variance 1."""
    if wildcards > len(GREEK) or regular > 26:
        raise BadTemplate(f"at most {len(GREEK)} wildcards and 26 regular tokens")
    random = np.random.default_rng(seed)
    alphabet = [*GREEK[:wildcards], *"abcdefghijklmnopqrstuvwxyz"[:regular]]
    chosen: list[str] = []
    for _ in range(1000 * number):
        text = _in_order("".join(random.choice(alphabet, size=length)))
        if text in chosen:
            continue
        if all(disjoint(parse(f"{text}: 0"), parse(f"{other}: 0")) for other in chosen):
            chosen.append(text)
        if len(chosen) == number:
            values = random.normal(size=number)
            # always answering 0 then has a squared error of 1, as in Appendix B
            values = (values - values.mean()) / (values.std() or 1.0)
            pairs = zip(chosen, values, strict=True)
            return tuple(f"{text}: {value:+.4f}" for text, value in pairs)
    raise BadTemplate(
        f"found {len(chosen)} of {number} templates of length {length} over {wildcards} wildcards "
        f"and {regular} regular tokens that no string matches two of"
    )


def _in_order(text: str) -> str:
    """The same template with its wildcards renamed by first appearance."""
    seen = list(dict.fromkeys(token for token in text if token in GREEK))
    return "".join(GREEK[seen.index(token)] if token in GREEK else token for token in text)

"""Sets of templates: disjoint, labelled, and refused."""

import numpy as np
import pytest

from ontogeny import (
    Templates,
)
from ontogeny.theory.template import BadTemplate, parse_all
from ontogeny.theory.template_sets import (
    COPY,
    ENDS_OR_TAIL,
    PAIRS_OR_TURNS,
    PRINT_NUMBER,
    PRINT_STRING,
    SAME_DIFFERENT,
    SYMBOLIC_WORD_PROBLEM,
    WORD_PROBLEM,
    distribution_of_three,
    majority,
    match_to_sample,
    random_templates,
    raven,
    symbolic_majority,
)


@pytest.mark.parametrize(
    ("templates", "number"),
    [
        *((SAME_DIFFERENT, 2), (ENDS_OR_TAIL, 2), (PAIRS_OR_TURNS, 2), (COPY, 1)),
        *((PRINT_NUMBER, 2), (PRINT_STRING, 2), (WORD_PROBLEM, 2), (SYMBOLIC_WORD_PROBLEM, 2)),
        *((majority(2), 2), (majority(6), 32), (symbolic_majority(3), 4)),
        *((distribution_of_three(), 144), (match_to_sample(), 40), (raven(), 37)),
        *((random_templates(7, 5, 3, 1), 7), (random_templates(2, 2), 2)),
    ],
)
def test_a_set_has_as_many_disjoint_templates_as_the_paper_says(templates, number):
    assert len(parse_all(templates)) == number
    assert Templates.of(*templates, most=16, samples=16).length == len(
        parse_all(templates)[0].tokens
    )


def test_majorities_count_symbols():
    for template in parse_all(majority(4)):
        first, *rest = template.tokens
        assert template.value == (1.0 if rest.count(first) >= 2 else -1.0)
    for template in parse_all(symbolic_majority(5)):
        assert template.tokens.count(template.label) >= 3


def test_psychometric_labels_complete_the_pattern():
    for template in parse_all(distribution_of_three()):
        row, options = template.tokens[3:5], template.tokens[5:]
        assert sorted((*row, options[int(template.value) - 1])) == sorted("αβγ")
    for template in parse_all(match_to_sample()):
        parts = [template.tokens[place : place + 3] for place in (0, 3, 6)]
        shapes = [[part.index(token) for token in part] for part in parts]
        assert shapes[0] == shapes[1 if template.value > 0 else 2] and shapes[1] != shapes[2]
    for template in parse_all(raven())[:-1]:
        assert sorted((*template.tokens[6:], template.label)) == sorted("αβγ")


def test_random_templates_have_labels_of_mean_zero_and_variance_one():
    labels = np.array([template.value for template in parse_all(random_templates(9, 6, seed=4))])
    assert abs(labels.mean()) < 1e-3 and abs(labels.std() - 1) < 1e-3
    assert random_templates(3, 4, seed=1) != random_templates(3, 4, seed=2)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: majority(3), "even length, not 3"),
        (lambda: symbolic_majority(4), "odd length, not 4"),
        (lambda: random_templates(3, 2, 2), "found 2 of 3 templates of length 2"),
        (lambda: random_templates(2, 2, 99), "at most 24 wildcards"),
    ],
)
def test_a_set_that_cannot_be_is_refused(wrong, says):
    with pytest.raises(BadTemplate, match=says):
        wrong()

"""Sources of bigrams: laws, and texts of one's own."""

import numpy as np
import pytest

from ontogeny import (
    ConfigError,
    Triggers,
)
from ontogeny.theory import bigrams


def test_shakespeare_is_counted():
    table = bigrams.bigrams("shakespeare")
    assert len(table.tokens) == 65 and table.pairs.sum() == 1_115_393
    assert [table.tokens[place] for place in table.commonest(3)] == [" ", "e", "t"]
    np.testing.assert_allclose(table.after.sum(axis=1), 1.0)


@pytest.mark.parametrize("source", ["uniform 7", "zipf 30"])
def test_laws_hold_for_any_vocabulary(source):
    table = bigrams.bigrams(source)
    assert len(table.tokens) == int(source.split()[1])
    np.testing.assert_allclose(table.after.sum(axis=1), 1.0)
    np.testing.assert_allclose(table.first @ table.after, table.first, atol=1e-8)  # stationary
    if "zipf" in source:
        np.testing.assert_allclose(np.sort(table.after[3])[::-1][:2], [1, 0.5] / table_sum(30))


def table_sum(size):
    return (1 / np.arange(1, size + 1)).sum()


def test_a_text_of_ones_own_is_a_source_and_is_remembered(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("abab ab ba")
    task = Triggers(source=str(path), length=12, triggers=1)
    assert task.vocab == 3 and task.source.startswith(f"{path}#")
    path.write_text("something else")
    bigrams.bigrams.cache_clear()
    with pytest.raises(ConfigError, match="no longer the text it was"):
        Triggers(source=task.source, length=12, triggers=1)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "holds nothing"),
        (b"aaaa", "one character, 'a'"),
        (b"caf\xe9 noir", "byte 3 is 0xe9"),
        (None, "no text at"),
    ],
)
def test_bad_texts_say_what_is_wrong(tmp_path, content, wrong):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=wrong):
        Triggers(source=str(path), triggers=1)


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"triggers": 65}, "shakespeare has 65 tokens"),
        ({"source": "zipf"}, "as in 'zipf 64'"),
        ({"source": "uniform 1"}, "at least two"),
        ({"noise_token": 99}, "there are 65 tokens"),
        ({"noise": 1.5}, "at most 1"),
    ],
)
def test_triggers_that_cannot_be(fields, wrong):
    with pytest.raises(ConfigError, match=wrong):
        Triggers(**fields)

"""The datasets that real models are asked about keep their own rules."""

import csv
import re
from collections import Counter
from importlib.resources import files

from small import ROOT

DATA = files("ontogeny.llm").joinpath("data")
RELATIONS = {"AtLocation", "MadeOf", "UsedFor", "CapableOf", "HasProperty", "PartOf"}


def rows(name):
    return list(csv.DictReader(DATA.joinpath(name).read_text(encoding="utf-8").splitlines()))


def test_every_entity_stands_in_one_tuple_of_one_category():
    tuples = rows("analogies.csv")
    entities = [row[side] for row in tuples for side in ("source", "target")]
    assert len(tuples) >= 300 and len(set(map(str.lower, entities))) == len(entities)
    categories = Counter(row["category"] for row in tuples)
    assert len(categories) >= 40 and set(categories.values()) <= set(range(6, 11))
    others = {row[part] for row in tuples for part in ("aspect", "category")}
    assert not set(entities) & others


def test_the_six_relations_are_all_used_and_aspects_do_not_name_categories():
    tuples = rows("analogies.csv")
    relations = Counter(row["relation"] for row in tuples)
    assert set(relations) == RELATIONS and min(relations.values()) >= 30
    for row in tuples:
        assert row["category"].lower() not in row["aspect"].lower(), row
        assert 1 <= len(row["aspect"].split()) <= 3, row
        assert all(text == text.strip() and text for text in row.values()), row
    pairs = Counter((row["category"], row["aspect"]) for row in tuples)
    assert max(pairs.values()) == 1


def test_completions_are_many_and_common_words_are_common():
    prompts = rows("completions.csv")
    assert len(prompts) >= 30 and len({row["prompt"] for row in prompts}) == len(prompts)
    assert {row["common"] for row in prompts} <= {"the", "a", "an", "his", "her", "one"}
    assert all(row["answer"] != row["common"] for row in prompts)


def test_the_datasheet_counts_what_there_is():
    told = (ROOT / "docs" / "analogies.md").read_text()
    tuples = rows("analogies.csv")
    counts = {
        "tuples": len(tuples),
        "entities (each in exactly one tuple)": 2 * len(tuples),
        "categories": len({row["category"] for row in tuples}),
        "distinct aspects": len({row["aspect"] for row in tuples}),
    }
    for what, number in counts.items():
        assert re.search(rf"^\| {re.escape(what)} \| {number} \|$", told, flags=re.M), what
    for relation, number in Counter(row["relation"] for row in tuples).items():
        assert re.search(rf"^\| {relation} \|.*\| {number} \|$", told, flags=re.M), relation

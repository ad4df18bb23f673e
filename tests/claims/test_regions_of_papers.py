"""The regions that the papers' claims declare can be surveyed."""

import json
from contextlib import suppress

import pytest

from ontogeny import ConfigError, Scale
from ontogeny.claims.changes import changer
from ontogeny.claims.claim import all_claims
from ontogeny.claims.maps import Map
from ontogeny.claims.region import design, named_settings
from ontogeny.claims.status import RESULTS

MAPPED = {name: claim for name, claim in all_claims().items() if claim.region}


@pytest.mark.parametrize("name", MAPPED)
def test_cells_can_be_made_and_fits_asked_for(name):
    claim = MAPPED[name]
    experiments = claim.named(Scale.LAPTOP)
    settings = named_settings(claim.region, experiments)
    assert [each.path for each in settings] == [each.path for each in claim.region.settings]
    assert all(each.why for each in settings)  # why a range is plausible is said
    make = changer(name, experiments, [each.path for each in settings])
    made = []
    for point in design(settings, 16):
        with suppress(ConfigError):  # no such model: such cells are dropped and counted
            made.append(make(point.typed))
    assert len(made) >= 8 and all(each.keys() == experiments.keys() for each in made)
    for fit in claim.region.trained:
        probed = [x for name, x in experiments.items() if fit.of in ("", name.split(" ")[0])]
        assert any(fit.probe in each.probes for each in probed)


def test_papers_have_regions():
    assert len({claim.paper.key for claim in MAPPED.values()}) == 5


KEPT = sorted((RESULTS / "maps").glob("*.json"))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_the_maps_of_the_last_judgement_can_be_read_and_say_what_they_said(file):
    data = json.loads(file.read_text())
    found = Map.from_json(data)
    assert found.claim in MAPPED and file.name == f"{found.claim}.{found.scale}.json"
    assert found.answer() == data["says"] and str(found.outcome) == data["outcome"]
    assert len(found.cells) >= 24 and found.own is not None

"""What the attacks share."""

import pytest
from disturbed import EXPERIMENTS

from ontogeny import execute


@pytest.fixture(scope="session")
def undisturbed():
    return execute(EXPERIMENTS, seeds=2, workers=1)

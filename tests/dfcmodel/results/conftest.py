"""A run that the tests of records, measures and pictures share."""

from __future__ import annotations

import pytest

from dfcmodel import simulate, takano2006
from dfcmodel.results import Trajectory


@pytest.fixture(scope="session")
def run() -> Trajectory:
    """Scenario 1 without DFC: node 1 overflows before 0.1 s."""
    return simulate(takano2006("1", dfc=False), duration=0.15, sample=5e-3, level="fluid")

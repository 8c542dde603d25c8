"""A comparison of both levels, small enough for every test of its parts."""

from __future__ import annotations

import pytest

from dfcmodel import Explanation, Scenario, explain


@pytest.fixture(scope="session")
def explanation(bottleneck: Scenario) -> Explanation:
    """Return shares, losses and first losses at both levels, two runs."""
    return explain(bottleneck, ["share", "losses", "first_loss"], runs=2)

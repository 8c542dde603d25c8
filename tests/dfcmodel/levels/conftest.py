"""A comparison of both levels, small enough for every test of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import DFC, Scenario, explain
from dfcmodel.results import Explanation


@pytest.fixture(scope="session")
def explanation(bottleneck: Scenario) -> Explanation:
    """Return shares, losses and first losses at both levels, two runs."""
    return explain(bottleneck, ["share", "losses", "first_loss"], runs=2)


def by_input(scenario: Scenario) -> Scenario:
    """Return a scenario with DFC per input, which packets do not have."""
    rule = DFC(per="input")
    return replace(scenario, links=tuple(replace(u, discipline=rule) for u in scenario.links))

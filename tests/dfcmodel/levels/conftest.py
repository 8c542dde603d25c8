"""A comparison of both levels, small enough for every test of its parts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import DFC, Scenario, default_refinements, explain
from dfcmodel.results import Explanation

MEASURES = ("share", "losses", "first_loss")


@pytest.fixture(scope="session")
def explanation(bottleneck: Scenario) -> Explanation:
    """Return shares, losses and first losses at both levels, two runs."""
    return explain(bottleneck, MEASURES, runs=2)


@pytest.fixture(scope="session")
def from_bare_fluid(bottleneck: Scenario) -> Explanation:
    """Return the same, with the parts that both levels have."""
    parts = default_refinements(bottleneck, shared=True)
    return explain(bottleneck, MEASURES, refinements=parts, runs=2)


def by_input(scenario: Scenario) -> Scenario:
    """Return a scenario with DFC per input, which packets do not have."""
    rule = DFC(per="input")
    return replace(scenario, links=tuple(replace(u, discipline=rule) for u in scenario.links))

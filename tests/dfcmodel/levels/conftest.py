"""A comparison of both levels, small enough for every test of its parts."""

from __future__ import annotations

import pytest

from dfcmodel import Explanation, Flow, Link, Scenario, explain
from responsefn import NewReno


@pytest.fixture(scope="session")
def bottleneck() -> Scenario:
    """Return two NewReno flows of different round-trip times over one link of 2000 packets/s."""
    links = (
        Link("near", "router", 2e4, 2e-3, 200.0),
        Link("far", "router", 2e4, 5e-3, 200.0),
        Link("router", "end", 2e3, 10e-3, 40.0),
    )
    flows = tuple(
        Flow(name, (name, "router", "end"), NewReno(), max_window=100.0) for name in ("near", "far")
    )
    return Scenario("two round-trip times", links, flows, duration=1.0)


@pytest.fixture(scope="session")
def explanation(bottleneck: Scenario) -> Explanation:
    """Return shares, losses and first losses at both levels, two runs."""
    return explain(bottleneck, ["share", "losses", "first_loss"], runs=2)

"""Rates at equal shares, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Link, OnOff, Scenario
from dfcmodel.network.offered_rates import (
    bottleneck_of,
    equal_shares,
    flows_per_link,
    offered_packets,
)
from responsefn import DCQCN, NewReno

LINKS = Link("a", "b", 1000.0, 0.01, 50), Link("b", "c", 600.0, 0.02, 50)


@pytest.fixture
def scenario() -> Scenario:
    """Return three flows over the first link and three over the second, with a bottleneck each."""
    flows = (
        Flow("both", ("a", "b", "c"), NewReno()),
        Flow("narrow", ("a", "b"), NewReno(), max_window=4.0),
        Flow("constant", ("a", "b"), CBR(5000.0), start=1.0),
        Flow("on off", ("b", "c"), OnOff(50.0, 0.1, 0.3)),
        Flow("rate", ("b", "c"), DCQCN(), size=30.0),
    )
    return Scenario("mixed", LINKS, flows, duration=2.0)


def test_flows_are_counted_by_link_and_bottlenecks_have_the_smallest_share(scenario) -> None:
    crowd = flows_per_link(scenario)
    assert crowd == {"a->b": 3, "b->c": 3}
    assert [bottleneck_of(scenario, flow, crowd).name for flow in scenario.flows] == [
        "b->c", "a->b", "a->b", "b->c", "b->c"
    ]  # fmt: skip


def test_rates_are_equal_shares_unless_a_window_or_a_source_says_less(scenario) -> None:
    """A window of 4 packets in a round trip of 20 ms; sources without feedback send at their own rate."""
    np.testing.assert_allclose(equal_shares(scenario), [200.0, 200.0, 5000.0, 50.0, 200.0])


def test_packets_end_with_a_transfer_and_begin_with_a_start(scenario) -> None:
    np.testing.assert_allclose(offered_packets(scenario, 2.0), [400.0, 400.0, 5000.0, 100.0, 30.0])
    assert offered_packets(scenario, 0.5)[2] == 0.0

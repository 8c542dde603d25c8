"""Numbering of the per-flow queues: delays between them, order of flows."""

from __future__ import annotations

import pytest

from dfcmodel import (
    CBR,
    Flow,
    Priority,
    Scenario,
    chain,
    takano2006,
)  # fmt: skip
from dfcmodel.engine.layouts import Layout, layout_of


def layout(scenario: Scenario, steps: int = 4) -> Layout:
    """The layout for links that all last the same number of steps."""
    return layout_of(scenario, [steps] * len(scenario.links))


def two_flows(discipline, **second) -> Scenario:
    flows = (Flow("a", (1, 2, 3), CBR(1.0)), Flow("b", (2, 3), CBR(1.0), **second))
    links = chain(3, rate=100.0, delay=1e-3, buffer=500, discipline=discipline)
    return Scenario("two flows", links, flows)


def test_a_fifo_chain_of_equal_links_queues_where_packets_enter() -> None:
    """takano2006, scenario 1: all other nodes receive packets over one link of their own rate."""
    found = layout(takano2006("1", dfc=False))
    assert sorted(found.order) == [0, 14]
    assert found.hop_queues[0].count(-1) == 27
    assert found.hop_queues[1].count(-1) == 14


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
@pytest.mark.parametrize("dfc", [True, False])
def test_delays_between_queues_add_up_to_that_of_the_path(dfc: bool, host: str) -> None:
    if host == "shaped" and not dfc:
        pytest.skip("a shaped host needs DFC")
    scenario = takano2006("4S", dfc=dfc, host=host)
    found = layout(scenario)
    for f, flow in enumerate(scenario.flows):
        queues = [f, *found.path[found.path_at[f] : found.path_at[f + 1]]]
        access = 0 if host == "direct" else 4
        assert found.lag[queues].sum() == 4 * len(flow.hops) + access
        assert [int(found.up[c]) for c in queues[1:]] == queues[:-1]
        assert found.down[queues].tolist() == [*queues[1:], -1]


def test_flows_are_grouped_by_priority_the_lowest_number_first() -> None:
    found = layout(two_flows(Priority(), priority=-1))
    link = found.order.index(1)
    bands = found.bands[found.bands_at[link] : found.bands_at[link + 1]]
    assert [found.flow_of[first] for _, _, first, _ in bands] == [1, 0]

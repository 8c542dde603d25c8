"""Numbering of the per-flow queues: which links have cells, delays between them, order of flows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import CBR, DFC, FIFO, RED, Fair, Flow, Pause, Priority, Scenario, chain, takano2006
from dfcmodel.engine.kernel.columns import DIVIDED, PORTS, RANDOM, RATED, SHARED
from dfcmodel.engine.layouts import Layout, layout_of, queueing
from responsefn import Reno


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
    assert found.hop_cells[0].count(-1) == 27
    assert found.hop_cells[1].count(-1) == 14


@pytest.mark.parametrize("host", ["direct", "unshaped", "shaped"])
@pytest.mark.parametrize("dfc", [True, False])
def test_delays_between_cells_add_up_to_that_of_the_path(dfc: bool, host: str) -> None:
    if host == "shaped" and not dfc:
        pytest.skip("a shaped host needs DFC")
    scenario = takano2006("4S", dfc=dfc, host=host)
    found = layout(scenario)
    for f, flow in enumerate(scenario.flows):
        cells = [f, *found.path[found.path_at[f] : found.path_at[f + 1]]]
        access = 0 if host == "direct" else 4
        assert found.lag[cells].sum() == 4 * len(flow.hops) + access
        assert [int(found.up[c]) for c in cells[1:]] == cells[:-1]
        assert found.down[cells].tolist() == [*cells[1:], -1]


@pytest.mark.parametrize(
    ("discipline", "queue_type"),
    [
        (FIFO(), SHARED),
        (Pause(50.0, 25.0), SHARED),
        (RED(), RANDOM),
        (Fair(), DIVIDED),
        (Priority(), DIVIDED),
        (DFC(), RATED),
        (DFC(per="input"), PORTS),
    ],
    ids=repr,
)
def test_the_queue_type_of_a_link_with_two_flows(discipline, queue_type: int) -> None:
    _, queue_types = queueing(two_flows(discipline))
    assert queue_types[1] == queue_type


def test_a_fifo_link_with_one_flow_is_served_at_a_rate_of_its_own() -> None:
    _, queue_types = queueing(two_flows(FIFO()))
    assert queue_types[0] == RATED


def test_flows_are_grouped_by_priority_the_lowest_number_first() -> None:
    found = layout(two_flows(Priority(), priority=-1))
    link = found.order.index(1)
    bands = found.bands[found.bands_at[link] : found.bands_at[link + 1]]
    assert [found.flow_of[first] for _, first, _ in bands] == [1, 0]


def test_a_slower_link_behind_a_faster_one_queues() -> None:
    scenario = replace(two_flows(FIFO()), flows=(Flow("a", (1, 2, 3), Reno()),))
    assert queueing(scenario)[0] == [True, False]
    slow = (scenario.links[0], replace(scenario.links[1], rate=50.0))
    assert queueing(replace(scenario, links=slow))[0] == [True, True]

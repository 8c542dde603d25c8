"""Which links queue, how each serves its queues, and what the engine refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    RED,
    Fair,
    Flow,
    Link,
    Pause,
    Priority,
    Scenario,
    chain,
    simulate,
)  # fmt: skip
from dfcmodel.engine.kernel.records import FAIR_SHARES, PER_FLOW_RATE, PER_INPUT, SHARED_FIFO
from dfcmodel.engine.queue_types import queueing
from responsefn import Reno


def two_flows(discipline, **second) -> Scenario:
    flows = (Flow("a", (1, 2, 3), CBR(1.0)), Flow("b", (2, 3), CBR(1.0), **second))
    links = chain(3, rate=100.0, delay=1e-3, buffer=500, discipline=discipline)
    return Scenario("two flows", links, flows)


@pytest.mark.parametrize(
    ("discipline", "queue_type"),
    [
        (FIFO(), SHARED_FIFO),
        (Pause(50.0, 25.0), SHARED_FIFO),
        (RED(), SHARED_FIFO),
        (Fair(), FAIR_SHARES),
        (Priority(), FAIR_SHARES),
        (DFC(), PER_FLOW_RATE),
        (DFC(per="input"), PER_INPUT),
    ],
    ids=repr,
)
def test_the_queue_type_of_a_link_with_two_flows(discipline, queue_type: int) -> None:
    _, queue_types = queueing(two_flows(discipline))
    assert queue_types[1] == queue_type


def test_a_fifo_link_with_one_flow_is_served_at_a_rate_of_its_own() -> None:
    _, queue_types = queueing(two_flows(FIFO()))
    assert queue_types[0] == PER_FLOW_RATE


def test_a_slower_link_behind_a_faster_one_queues() -> None:
    scenario = replace(two_flows(FIFO()), flows=(Flow("a", (1, 2, 3), Reno()),))
    assert queueing(scenario)[0] == [True, False]
    slow = (scenario.links[0], replace(scenario.links[1], rate=50.0))
    assert queueing(replace(scenario, links=slow))[0] == [True, True]


def test_a_discipline_that_the_engine_does_not_know_is_refused() -> None:
    class Own(FIFO):
        """Looks like a FIFO queue and may mean something else."""

    links = (Link("a", "b", 1000.0, 0.01, 50, Own()),)
    scenario = Scenario("own", links, (Flow("f", "ab", CBR(100.0)),), duration=0.1)
    with pytest.raises(ValueError, match=r"discipline of link .*not Own"):
        simulate(scenario)

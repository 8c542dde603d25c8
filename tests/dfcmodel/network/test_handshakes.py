"""Times of handshakes without queues: the fluid and the twin start that much later, as the packet level does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Flow, Fluid, Packets, Scenario, chain, simulate
from dfcmodel.network.handshakes import handshake_times
from dfcmodel.twin.plans import check_scenario, plan_of
from responsefn import AIMD, CUBIC, NewReno, Reno

LINKS = chain(3, rate=1000.0, delay=0.01, buffer=200)


def network(host: str, rule: object) -> Scenario:
    """Return a flow with a handshake over two links."""
    flow = Flow("one", (1, 2, 3), rule, max_window=64.0, start=0.1, host=host, handshake=True)
    return Scenario("one", LINKS, [flow], duration=0.4)


@pytest.mark.parametrize("rule", [NewReno(), CUBIC()])
@pytest.mark.parametrize("host", ["direct", "unshaped"])
def test_both_levels_start_to_deliver_at_the_same_time(host: str, rule: object) -> None:
    """Within a step of the fluid, 1 ms, and a sample, 1 ms: half of the first packet is delivered."""
    scenario = network(host, rule)
    begin = []
    for method in (Packets(seed=1), Fluid(steps_per_delay=10)):
        run = simulate(scenario, method, sample=1e-3)
        begin.append(run.time[np.argmax(run.delivered[0] > 0.5)])
    assert begin[0] == pytest.approx(begin[1], abs=2.1e-3)
    none = replace(scenario, flows=(replace(scenario.flows[0], handshake=False),))
    run = simulate(none, Packets(seed=1), sample=1e-3)
    later = begin[0] - run.time[np.argmax(run.delivered[0] > 0.5)]
    assert later == pytest.approx(handshake_times(scenario)[0], abs=1.1e-3)


def test_the_twin_starts_later_by_the_same_time(refused) -> None:
    """The round trip without queues is 40.1 ms: 40 steps of 1 ms."""
    scenario = network("direct", AIMD(1.0, 0.5))
    none = replace(scenario, flows=(replace(scenario.flows[0], handshake=False),))
    starts = [plan_of(each, 1e-3).start.tolist() for each in (none, scenario)]
    assert starts == [[100], [140]]
    flow = replace(scenario.flows[0], handshake="data")
    refused(
        ["handshake", "'data'", "twin"], lambda: check_scenario(replace(scenario, flows=(flow,)))
    )


def test_levels_without_packets_refuse_data_in_the_syn(refused) -> None:
    scenario = network("direct", Reno())
    flow = replace(scenario.flows[0], handshake="data")
    refused(
        ["handshake", "'data'", "Packets()"],
        lambda: simulate(replace(scenario, flows=(flow,)), Fluid()),
    )

"""AFD and CAKE beside what their papers and definitions say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import AFD, CAKE, CBR, FIFO, Flow, Link, Packets, Scenario, simulate
from responsefn import NewReno
from tests.oracles.engines import plan_scenario, run_engine


def one_link(program: Any, *flows: Flow, duration: float, buffer: int = 1000) -> Scenario:
    """Return flows over a link of 1e3 packets/s with a program."""
    links = [Link("a", "s", 1e5, 1e-3, 1000), Link("s", "b", 1e3, 1e-3, buffer, program)]
    return Scenario("one link", links, flows, duration=duration)


def test_approximate_fair_dropping_gives_max_min_shares_to_what_does_not_react() -> None:
    """Offered 100, 300, 500 and 900 of 1000 packets/s: 100 for the first, 300 for each other one; the queue at its target."""
    offered = (100.0, 300.0, 500.0, 900.0)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(rate)) for n, rate in enumerate(offered)]
    scenario = one_link(AFD(target=50.0), *flows, duration=40.0)
    run = simulate(scenario, Packets(seed=1), sample=1.0)
    rates = (run.delivered[:, -1] - run.delivered[:, 9]) / 30.0
    # the counts of the memory of 500 arrivals vary, and a share of 300 is dropped from when it is above the mean
    np.testing.assert_allclose(rates, (100.0, 300.0, 300.0, 300.0), rtol=0.05)
    assert run.queued[1, 10:].mean() == pytest.approx(50.0, rel=0.2)  # bursts of the four phases
    fifo = simulate(one_link(FIFO(), *flows, duration=40.0), Packets(seed=1), sample=1.0)
    assert fifo.delivered[3, -1] > 1.3 * run.delivered[3, -1]


def test_a_sparse_flow_waits_for_one_packet_and_cobalt_holds_the_other_queue() -> None:
    """DRR++: a flow below its share goes before all bulk flows; FlowQueueCoDel's waits for a packet of each."""
    flows = [Flow(f"bulk {n}", ("a", "s", "b"), NewReno(), 1000.0) for n in range(4)]
    flows.append(Flow("thin", ("a", "s", "b"), CBR(50.0)))
    scenario = one_link(CAKE(), *flows, duration=20.0)
    records = run_engine(plan_scenario(scenario, Packets(seed=1), duration=20.0, sample=0.1))
    hop = records.first_hop[4] + 1  # of the thin flow at the second link
    assert records.waited[hop] / records.carried[hop] <= 1.0 / 1e3
    run = simulate(scenario, Packets(seed=1))
    assert run.delivered[4, -1] >= 999.0
    assert run.lost[4].sum() == 0.0
    assert run.delivered[:, -1].sum() > 0.97 * 2e4
    bulk = run.delivered[:4, -1]
    assert bulk.min() > 0.95 * bulk.max()
    unmanaged = simulate(one_link(FIFO(), *flows, duration=20.0), Packets(seed=1))
    assert run.mean_queue.sum() < 0.1 * unmanaged.mean_queue.sum()


def test_a_full_buffer_drops_from_the_longest_queue() -> None:
    """RFC 8290, 4.1.2: what overloads the link loses, nothing of a flow below its share."""
    flows = [Flow(str(rate), ("a", "s", "b"), CBR(rate)) for rate in (300.0, 2000.0)]
    run = simulate(
        one_link(CAKE(target=1.0, interval=9.0), *flows, duration=5.0, buffer=20), Packets(seed=1)
    )
    lost = run.lost.sum(axis=(1, 2))
    assert lost[0] == 0.0
    assert lost[1] == pytest.approx(5.0 * (2300.0 - 1000.0), abs=50.0)
    assert run.peak_queue.max() == 20.0

"""Weighted fair queueing, shortest remaining first and flow queues with CoDel beside what is known of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    CoDel,
    DeficitRoundRobin,
    Flow,
    FlowQueueCoDel,
    Link,
    Packets,
    Scenario,
    ShortestRemaining,
    SwitchProgram,
    WeightedFair,
    simulate,
)
from dfcmodel.network.programs import flow_hash
from responsefn import NewReno
from tests.oracles.engines import plan_scenario, run_engine


def overloaded(
    program: SwitchProgram, *flows: Flow, duration: float = 0.1, buffer: int = 10_000
) -> Any:
    """Return the run of flows over one link of 1e5 packets/s with a program."""
    return simulate(
        overloaded_scenario(program, *flows, duration=duration, buffer=buffer), Packets(seed=1)
    )


def overloaded_scenario(
    program: SwitchProgram, *flows: Flow, duration: float = 0.05, buffer: int = 10_000
) -> Scenario:
    """Return flows over one link of 1e5 packets/s with a program."""
    links = [Link("a", "s", 1e7, 1e-6, 10_000), Link("s", "b", 1e5, 1e-6, buffer, program)]
    return Scenario("overloaded", links, flows, duration=duration)


def test_shares_are_the_weights() -> None:
    """Start-time fairness: of two flows that always wait, what they got for their weight differs by a packet each."""
    weights = (1.0, 2.0, 4.5, 0.5)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(4)]
    run = overloaded(WeightedFair(*weights), *flows, duration=0.01)  # while the buffer is not full
    served = run.delivered[:, -1] / weights
    # Goyal et al., theorem 1: |W_m / r_m - W_n / r_n| <= l_m / r_m + l_n / r_n; one more each begins unevenly
    bound = 2.0 / np.array(weights)
    assert (np.abs(served[:, None] - served) <= bound[:, None] + bound).all()


def test_deficit_round_robin_serves_by_weight_within_its_bound() -> None:
    """Shreedhar and Varghese 1995, Lemma 2: after m turns a queue has sent m quanta of its own, and at most a packet less."""
    weights, quantum = (1.0, 2.0, 4.5, 0.5), 1000.0  # less than a packet: some turns send nothing
    flows = [Flow(str(n), ("a", "s", "b"), CBR(2e5), priority=n) for n in range(4)]
    run = overloaded(DeficitRoundRobin(*weights, quantum=quantum), *flows, duration=0.01)
    turns = 1500.0 * run.delivered[:, -1] / (quantum * np.array(weights))
    # two queues differ by a turn, and by the packet that each may still send
    bound = 1.0 + 1500.0 / (quantum * np.array(weights))
    assert (np.abs(turns[:, None] - turns) <= 1.0 + np.maximum(bound[:, None], bound)).all()


def test_a_thousand_flows_share_fewer_queues() -> None:
    """McKenney 1990: flows with the same hash share a queue, so that those that are alone in theirs get as much together."""
    flows = [Flow(str(n), ("a", "s", "b"), CBR(3e4)) for n in range(12)]
    program = DeficitRoundRobin(queues=8)
    plan = plan_scenario(
        overloaded_scenario(program, *flows), Packets(seed=1), duration=0.05, sample=0.05
    )
    hashes = flow_hash(plan.seeds[np.full(12, 1)], np.arange(12), np.zeros(12, dtype=bool))
    queues = np.floor(8.0 * hashes).astype(int)
    records = run_engine(plan)
    sent = np.bincount(queues, records.total, minlength=8)[np.unique(queues)]
    assert 2 < len(sent) < 9
    assert sent.max() - sent.min() <= 2.0 + 0.02 * sent.max()  # the flows begin one after the other


def test_a_transfer_ends_after_all_packets_with_as_little_left() -> None:
    """Of each transfer at most as many packets as the one that ends has in all come before its end."""
    sizes = (700, 40, 300, 150)
    flows = [Flow(str(n), ("a", "s", "b"), CBR(9e5), size=n) for n in sizes]
    run = overloaded(ShortestRemaining(), *flows)
    begun = 700 / 9e5 * 1e5  # packets that leave until all have come, whatever their ranks
    for flow, finished in zip(flows, run.finished, strict=True):
        assert finished * 1e5 == pytest.approx(np.minimum(sizes, flow.size).sum(), abs=begun)
    assert (np.argsort(run.finished) == np.argsort(sizes)).all()


def test_a_full_buffer_drops_the_longest_transfer() -> None:
    flows = [Flow(str(n), ("a", "s", "b"), CBR(4e5), size=n) for n in (10, 2000)]
    run = overloaded(ShortestRemaining(), *flows, buffer=10)
    lost = run.lost.sum(axis=(1, 2))
    assert lost[0] == 0.0
    assert lost[1] > 100.0
    tail = overloaded(WeightedFair(), *flows, buffer=10)
    assert tail.lost.sum(axis=(1, 2))[0] > 0.0


def test_a_thin_flow_passes_a_bulk_flow_and_codel_holds_its_queue() -> None:
    """RFC 8290, 1: a flow below its share waits for at most one packet of each other flow."""
    links = [Link("a", "s", 1e5, 1e-3, 1000), Link("s", "b", 1e3, 1e-3, 1000, FlowQueueCoDel())]
    flows = [
        Flow("bulk", ("a", "s", "b"), NewReno(), 1000.0),
        Flow("thin", ("a", "s", "b"), CBR(50.0)),
    ]
    scenario = Scenario("bulk and thin", links, flows, duration=20.0)
    run = simulate(scenario, Packets(seed=1))
    plan = plan_scenario(scenario, Packets(seed=1), duration=20.0, sample=0.1)
    records = run_engine(plan)
    hop = records.first_hop[1] + 1  # of the thin flow at the second link
    assert records.waited[hop] / records.carried[hop] <= 2.0 / 1e3
    alone = Scenario(
        "bulk", [links[0], Link("s", "b", 1e3, 1e-3, 1000, CoDel())], flows[:1], duration=20.0
    )
    beside = simulate(alone, Packets(seed=1))
    # its queue is that of CoDel with a link to itself: 950 of 1000 packets/s, so within a tenth
    assert run.mean_queue.sum() == pytest.approx(beside.mean_queue.sum(), rel=0.2)
    assert run.delivered[1, -1] >= 999.0
    assert run.lost[1].sum() == 0.0

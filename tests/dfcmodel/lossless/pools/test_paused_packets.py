"""What is counted above thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import PFC, Flow, Link, OnOff, Packets, Pause, Scenario, simulate
from dfcmodel.lossless.pools.paused_packets import PausedPackets
from tests.oracles.engines import begin_run, plan_scenario

WITHIN, SAMPLE = 5e-4, 2e-5
BY_CLASS = PFC(classes=(0,), xoff=3.0, xon=1.0)


def ports(rule: Any, source: Any = None, delay: float = 1e-5, links: int = 4) -> Scenario:
    """Return ports with two senders each, at a node of their own."""
    sender = OnOff(1e6, 3e-5, 6e-4, random=True) if source is None else source
    given = [Link(f"s{p}", f"h{p}", 1e6, delay, 2000.0, rule) for p in range(links)]
    flows = [
        Flow(f"{p}.{k}", (f"s{p}", f"h{p}"), sender, start=1e-4 * k, host="unshaped")
        for p in range(links)
        for k in range(2)
    ]
    return Scenario("ports", tuple(given), tuple(flows), duration=WITHIN)


def test_the_packets_above_are_those_of_the_queues() -> None:
    """Of ports with Pause by the records of a run; with PFC one threshold per ingress."""
    scenario = ports(Pause(high=5.0, low=2.0))
    plan = plan_scenario(scenario, Packets(seed=3), duration=WITHIN, sample=SAMPLE)
    queued = simulate(scenario, Packets(seed=3), duration=WITHIN, sample=SAMPLE).queued
    run = begin_run(plan)
    counted, some = PausedPackets(run, [0, 1, 2, 3]), PausedPackets(run, [1])
    seen = []
    for n in range(plan.samples):
        assert run.advance(n + 1)
        above = counted.above(run)
        assert above == pytest.approx(np.maximum(0.0, queued[:, n] - 5.0), abs=0.0)
        assert some.above(run) == [max(0.0, queued[1, n] - 5.0)]
        seen.append(above.sum())
    assert max(seen) > 5.0
    run = begin_run(plan_scenario(ports(BY_CLASS), Packets(seed=3), duration=WITHIN, sample=SAMPLE))
    counted = PausedPackets(run, [0, 1, 2, 3])
    assert len(counted.rows) == 8  # two ingresses of each port
    assert set(counted.high) == {3.0}

"""What is counted above thresholds, and what is still expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, PFC, Flow, Link, OnOff, Packets, Pause, Scenario, simulate
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
        above, ahead = counted.measure(run)
        assert above == np.maximum(0.0, queued[:, n] - 5.0).sum()
        assert ahead >= above
        assert some.measure(run)[0] == max(0.0, queued[1, n] - 5.0)
        seen.append(above)
    assert max(seen) > 5.0
    run = begin_run(plan_scenario(ports(BY_CLASS), Packets(seed=3), duration=WITHIN, sample=SAMPLE))
    counted = PausedPackets(run, [0, 1, 2, 3])
    assert (counted.row >= 0).sum() == 8  # two ingresses of each port
    assert set(counted.high) == {3.0}
    assert len(counted.sender) == 8


@pytest.mark.parametrize("rule", [Pause(high=5.0, low=2.0, signalling=4e-5), BY_CLASS])
def test_senders_are_expected_to_go_on_until_a_pause_takes_effect(rule: Any) -> None:
    """Two constant senders at a tenth of the rate: a packet time is 1 us, a message takes delay and signalling."""
    run = begin_run(
        plan_scenario(ports(rule, CBR(1e5), links=1), Packets(), duration=WITHIN, sample=SAMPLE)
    )
    measured = PausedPackets(run, [0])
    span = 1e-5 + getattr(rule, "signalling", 0.0)
    assert measured.worth == pytest.approx(2 * [1e5 * span])


def test_paused_senders_are_not_expected() -> None:
    """At line rate beyond the threshold: after the pause has taken effect nothing more comes."""
    rule = Pause(high=5.0, low=2.0, signalling=4e-5)
    plan = plan_scenario(ports(rule, CBR(1e6), links=1), Packets(), duration=2e-4, sample=1e-5)
    run = begin_run(plan)
    measured, found = PausedPackets(run, [0]), []
    for n in range(plan.samples):
        assert run.advance(n + 1)
        paused = run.layout.arrays["port"]["paused"][measured_feeders(run)].sum()
        found.append((paused, *measured.measure(run)))
    effective = [(above, ahead) for paused, above, ahead in found if paused == 2]
    waiting = [(above, ahead) for paused, above, ahead in found if paused == 0 and above > 0.0]
    assert effective
    assert all(
        ahead <= above + 20.0 for above, ahead in effective
    )  # 10 packets on each link before
    assert effective[-1][0] == effective[-1][1] > 0.0
    assert any(ahead >= above + 50.0 for above, ahead in waiting)


def measured_feeders(run: Any) -> Any:
    """Return the ports that the first link pauses."""
    first = run.layout.arrays["port"][0]
    rows = slice(first["feeder"], first["feeder"] + first["feeders"])
    return run.layout.arrays["feeder"]["port"][rows]

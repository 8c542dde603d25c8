"""Sources without window: packets of equal intervals, on and off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, OnOff, Packets
from dfcmodel.packets.engine import run_engine
from responsefn import WindowRule
from tests.dfcmodel.packets.conftest import plan_of, random_scenario
from tests.dfcmodel.packets.test_reference import check_equal
from tests.oracles.packets.simulation import run_reference


@pytest.mark.parametrize(
    ("source", "packets"), [(CBR(400.0), 400.0), (OnOff(400.0, 0.1, 0.3), 100.0)]
)
def test_a_source_sends_at_its_mean_rate(one_link, source, packets: float) -> None:
    flows = (replace(one_link.flows[0], source=source),)
    run = run_reference(plan_of(replace(one_link, flows=flows, duration=4.0), Packets(seed=1)))
    assert run.total[0] / 4.0 == pytest.approx(packets, rel=0.02)


def test_random_times_have_their_means(one_link) -> None:
    source = OnOff(800.0, 0.02, 0.02, random=True)
    flows = (replace(one_link.flows[0], source=source),)
    run = run_reference(plan_of(replace(one_link, flows=flows, duration=20.0), Packets(seed=1)))
    assert run.total[0] / 20.0 == pytest.approx(400.0, rel=0.15)  # 500 cycles: 3 s.d. are 0.13


@pytest.mark.parametrize(
    ("recovery", "jitter"),
    [("tahoe", 0.0), ("reno", 2e-4), ("newreno", 0.0), ("sack", 2e-4), ("prr", 0.0)],
)
def test_transfers_after_idle_times_run_bit_equal_in_both_engines(
    recovery: str, jitter: float
) -> None:
    """Transfers with losses, idle times longer and shorter than a round trip, random and not, delayed ACKs."""
    scenario = random_scenario("fifo", 3)
    flows = tuple(
        replace(
            flow, size=23.0 + n, idle=(0.2, 1e-3)[n % 2], random_idle=n % 3 > 0, delayed_acks=n == 1
        )
        if isinstance(flow.source, WindowRule)
        else flow
        for n, flow in enumerate(scenario.flows)
    )
    plan = plan_of(replace(scenario, flows=flows), Packets(seed=3, recovery=recovery), jitter)
    run = run_engine(plan)
    check_equal(run, run_reference(plan))
    assert (run.imbalance == 0.0).all()
    again = [f for f, flow in enumerate(flows) if flow.idle < 1.0]
    assert all(run.total[f] > 1.5 * flows[f].size for f in again)
    assert len(again) > 1


def test_a_transfer_begins_an_idle_time_after_the_last_ack_of_the_one_before(one_link) -> None:
    """A window of one packet: a transfer of three takes three round trips, and the idle time follows."""
    (flow,) = one_link.flows
    flow = replace(
        flow, max_window=1.0, size=3.0, idle=0.2507
    )  # nothing arrives on the edge of a sample
    trip = 0.02 + 1e-3
    method = Packets(seed=1, ack_transmission=False)
    run = run_engine(plan_of(replace(one_link, flows=(flow,)), method))
    starts = np.arange(0.0, 2.0, 3 * trip + 0.2507)
    delivered = np.add.outer(starts, 0.011 + trip * np.arange(3)).ravel()
    expected, _ = np.histogram(delivered, np.arange(0.0, 2.005, 0.01))
    np.testing.assert_array_equal(run.delivered[:-1, 0], expected)
    assert run.finished[0] == pytest.approx(delivered[2])  # of the first transfer


def test_exponential_idle_times_have_their_mean(one_link) -> None:
    (flow,) = one_link.flows
    flow = replace(flow, max_window=1.0, size=1.0, idle=0.05, random_idle=True)
    run = run_engine(plan_of(replace(one_link, flows=(flow,), duration=40.0), Packets(seed=2)))
    cycle = 40.0 / run.total[0]  # a round trip and an idle time; 560 cycles: 3 s.d. are 13 %
    assert cycle - 0.021 == pytest.approx(0.05, rel=0.15)

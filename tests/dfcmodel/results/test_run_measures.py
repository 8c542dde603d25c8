"""Measures of flows and links: against closed forms and the packets of the run."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dfcmodel import CBR, Flow, Scenario, chain, simulate, takano2006
from responsefn import Reno

RATE, DELAY = 1000.0, 0.01


def test_constant_rates_over_a_bottleneck() -> None:
    """Two sources at 0.5 and 0.75 of the link: the queue grows evenly until it is full, then loses."""
    links = chain(3, rate=RATE, delay=DELAY, buffer=100)
    flows = [Flow("a", (1, 2, 3), CBR(0.5 * RATE)), Flow("b", (2, 3), CBR(0.75 * RATE))]
    run = simulate(Scenario("two", links, flows, duration=2.0))
    found = run.measures
    assert_allclose(
        found.utilisation, [0.5, 1.0], rtol=2 * DELAY / 2.0
    )  # but for the first packets
    arrived = 0.75 * 2.0 + 0.5 * (2.0 - DELAY)  # of link rates
    lost = RATE * (arrived - (2.0 - DELAY)) - 100
    assert_allclose(found.packets_lost.sum(), lost, rtol=0.02)  # a step more or less at the start
    assert_allclose(found.drain_time.sel(node=2, quantile=[0.95, 0.99]), 0.1, rtol=1e-9)
    assert np.isnan(found.round_trip_queueing).all()  # nobody acknowledges
    assert_allclose(found.goodput.sum(), RATE, rtol=4 * DELAY / 2.0)
    # Little: full but for the 0.4 s in which 100 packets gather at 0.25 of the rate
    full = 1.0 - 0.5 * (100 / (0.25 * RATE)) / 2.0
    assert_allclose(found.mean_occupancy.sel(node=2), 100 * full, rtol=0.02)
    assert_allclose(found.queueing_delay.sel(node=2), 0.1 * full, rtol=0.05)
    assert found.goodput.attrs["units"] == "packets/s"


def test_round_trips_are_those_of_the_queue() -> None:
    """One window over one link: what exceeds the bandwidth-delay product waits."""
    window = 60.0
    links = chain(2, rate=RATE, delay=DELAY, buffer=1000)
    flow = Flow("one", (1, 2), Reno(), max_window=window)
    run = simulate(Scenario("one", links, [flow], duration=3.0))
    waits = window / RATE - run.scenario.base_rtt(flow)
    found = run.measures
    step = run.step  # a packet's time of emission is known to a step
    assert_allclose(found.round_trip_queueing.sel(flow="one", quantile=0.95), waits, atol=step)
    assert_allclose(found.drain_time.sel(node=1, quantile=0.95), waits, atol=step)


@pytest.mark.parametrize("dfc", [True, False])
def test_measures_account_for_the_run(dfc: bool) -> None:
    run = simulate(takano2006("1", dfc=dfc), duration=0.5)
    found = run.measures
    assert_allclose(found.packets_lost.sum(), run.lost.sum())
    assert_allclose(found.mean_queue.sum("flow"), found.mean_occupancy)
    assert (found.utilisation <= 1.0 + 1e-9).all()
    assert (found.loss_ratio.values[run.lost.sum(axis=(1, 2)) == 0] == 0.0).all()
    assert np.isfinite(found.round_trip_queueing).all()
    assert (found.round_trip_queueing.diff("quantile") >= 0.0).all()

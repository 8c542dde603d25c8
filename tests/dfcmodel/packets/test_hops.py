"""Hops of flows as columns, against a loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Flow, Packets, Scenario, chain, simulate
from dfcmodel.packets.hops import hops_of
from responsefn import Reno, Vegas
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


def test_columns_are_those_of_a_loop_over_the_routes() -> None:
    for seed in range(1, 4):
        plan = plan_of(random_scenario("fifo", seed), Packets(seed=1))
        expected, row = [], 0
        for f, (out, back) in enumerate(zip(plan.forward, plan.backward, strict=True)):
            before = -1
            for is_ack, route in ((False, out), (True, back)):
                for n, port in enumerate(route):
                    expected.append((f, port, is_ack, n == 0, before, row))
                    before = port
                    row += 1
                row += 1  # the receiver's, or the sender's
        assert list(zip(*(column.tolist() for column in plan.hops), strict=True)) == expected


def test_a_source_without_acks_has_hops_one_way() -> None:
    hops = hops_of([(3, 4)], [()])
    assert hops.row.tolist() == [0, 1]
    assert not hops.is_ack.any()


@pytest.mark.parametrize("host", ["direct", "unshaped"])
def test_the_round_trip_without_queue_is_that_of_a_packet_alone(host: str) -> None:
    """A window of one packet: every round trip is a packet's and its ACK's transmission and propagation."""
    links = chain(6, rate=1000.0, delay=2e-3, buffer=20)
    flow = Flow("alone", (1, 2, 3, 4, 5, 6), Reno(), 1.0, host=host)
    alone = Scenario("alone", links, (flow,), duration=0.2)
    (base,) = plan_of(alone, Packets()).base_rtts
    hops = 5 if host == "direct" else 6
    assert base == pytest.approx(2 * hops * 2e-3 + hops * (1500 + 40) / 1500 / 1000.0)
    trips = simulate(alone, Packets()).round_trip
    assert np.nanmin(trips) == pytest.approx(base, rel=1e-12)
    assert np.nanmax(trips) == pytest.approx(base, rel=1e-12)


def test_transmission_times_are_no_queue() -> None:
    """Vegas keeps alpha to beta packets in the queue of a long chain, where propagation alone would tell of 27 more."""
    links = chain(31, rate=1000.0, delay=0.5e-3, buffer=100)
    flow = Flow("alone", tuple(range(1, 32)), Vegas(), 200.0)
    one = Scenario("chain", links, (flow,), duration=5.0)
    run = simulate(replace(one, flows=(replace(flow, pacing=True),)), Packets())
    late = run.time > 3.0
    assert 1.0 <= run.queued[0, late].mean() <= 5.0
    assert np.ptp(run.delivered[0, late]) / np.ptp(run.time[late]) == pytest.approx(
        1000.0, rel=0.01
    )

"""Proportional rate reduction: both engines are equal, and the window falls ACK by ACK as RFC 6937 has it."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Packets, trace_packets
from dfcmodel.packets.engine import run_engine
from responsefn import AIMD, CUBIC, NewReno, Vegas, WindowRule
from tests.dfcmodel.packets.conftest import plan_of
from tests.dfcmodel.packets.test_reference import check_equal
from tests.dfcmodel.packets.test_reference_deliveries import RATE, shared
from tests.oracles.packets.simulation import run_reference


@pytest.mark.parametrize(
    ("jitter", "pacing", "loss"), [(0.0, False, 2e-3), (5e-4, False, 0.1), (5e-4, True, 2e-3)]
)
def test_both_engines_are_bit_equal(jitter: float, pacing: bool, loss: float) -> None:
    scenario = shared((NewReno(), CUBIC(), Vegas()), 20.0, 2.0, pacing=pacing, delayed_acks=True)
    plan = plan_of(scenario, Packets(seed=3, recovery="prr", loss={"in->out": loss}), jitter=jitter)
    run = run_engine(plan)
    check_equal(run, run_reference(plan))
    assert run.drops.sum() > 0
    assert (run.imbalance == 0.0).all()


def sent_in_recovery(rule: WindowRule, recovery: str) -> tuple[np.ndarray, float]:
    """Return when packets were sent after the first one was sent again, in packet times, and the window.

    One packet is lost: the window has just grown to one packet more than 80 on the path, 1 in
    transmission and 20 waiting.
    """
    scenario = shared((rule,), 20.0, 4.0)
    trace = trace_packets(scenario, "s0->in", Packets(seed=1, recovery=recovery))
    data = trace.events[~trace.events["ack"]]
    again = np.flatnonzero(np.diff(np.maximum.accumulate(data["number"]), prepend=-1) == 0)
    calm = again[np.diff(again, append=10**9) > 200][1]  # the second event: slow start is over
    times = (data["sent"][calm:] - data["sent"][calm]) * RATE
    return times, float(data["number"][:calm].max() - data["number"][calm] + 1)


@pytest.mark.parametrize("b", [0.5, 0.3])
def test_packets_are_sent_in_proportion_over_the_round_trip(b: float) -> None:
    """RFC 6937, Sect. 3: after d ACKs ceil(d ssthresh / RecoverFS) packets were sent, the first one again.

    Sack1 is silent until the part b of the window has left, and then sends a packet per ACK.
    """
    rule = AIMD(b=b)
    times, flight = sent_in_recovery(rule, "prr")
    number = np.arange(40)
    np.testing.assert_allclose(times[:40], number / (1.0 - b), atol=2.0)  # limited transmit: 2 more
    silent, _ = sent_in_recovery(rule, "sack")
    assert silent[1] > 0.9 * b * flight
    np.testing.assert_allclose(np.diff(silent[1:30]), 1.0, rtol=1e-9)

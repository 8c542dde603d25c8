"""The sender of the reference by hand: slow start, duplicate ACKs, NewReno, timeouts."""

from __future__ import annotations

import math

import pytest

from responsefn import NewReno
from tests.oracles.fluid.receivers import Ack, Receiver
from tests.oracles.fluid.recoveries import SENDERS
from tests.oracles.fluid.senders import Sender
from tests.oracles.fluid.timers import Timer
from tests.oracles.fluid.windows import Window

Q = 2.0**-26
RECEIVER = Receiver(0.0, Q)


def sender(recovery: str = "newreno", cwnd: float = 8.0) -> Sender:
    """Return a sender in congestion avoidance that has sent its window."""
    window = Window(NewReno(), 0.1, 64.0)
    window.state = window.state._replace(cwnd=cwnd, ssthresh=1.0)
    one = SENDERS[recovery](window, Timer(0.2, 0.2), math.inf, 1e-3, Q)
    one.send(0.0, Ack(), RECEIVER)
    return one


def test_new_data_slides_the_window() -> None:
    one = sender()
    assert (one.max, one.emitted, one.log) == (8.0, 8.0, [(0.0, 0.0)])
    one.send(0.1, Ack(2.0, 2.0, 0.0, 2.0, 2.0), RECEIVER)
    assert one.una == 2.0
    assert one.max == pytest.approx(10.25, abs=2e-2)  # 2/cwnd more


def test_the_third_duplicate_begins_recovery_and_a_full_ack_ends_it() -> None:
    one = sender()
    one.send(0.1, Ack(2.0, 0.0, 0.0, 0.0, 3.0), RECEIVER)
    assert one.max == 10.0  # limited transmit, RFC 3042
    one.send(0.1, Ack(1.0, 0.0, 0.0, 0.0, 4.0), RECEIVER)
    assert one.recovering
    assert one.window.cwnd == 4.0
    assert one.log[-1] == (10.0, 0.0)  # the first packet again
    one.send(0.1, Ack(5.0, 0.0, 0.0, 0.0, 9.0), RECEIVER)
    assert one.max == 12.0  # 4 + 8 duplicates
    one.send(0.2, Ack(1.0, 1.0, 0.0, 5.0, 12.0), RECEIVER)  # partial: packet 5 is missing too
    assert one.recovering
    assert one.inflation == 4.0  # 8 - 5 + 1
    assert one.log[-1][1] == 12.0 or one.log[-1][1] == 5.0
    one.send(0.3, Ack(1.0, 1.0, 0.0, 12.0, 12.0), RECEIVER)
    assert not one.recovering
    assert one.loss_events == 1


def test_a_timeout_goes_back_to_the_first_packet() -> None:
    one = sender()
    one.send(5.0, Ack(), RECEIVER)
    assert one.timeouts == 1
    assert one.window.cwnd == 1.0
    assert one.log[-1] == (8.0, 0.0)
    assert one.emitted == 9.0
    assert one.timer.backoff == 2.0

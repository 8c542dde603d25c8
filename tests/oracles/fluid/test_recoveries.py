"""Tahoe, Reno and SACK of the reference by hand."""

from __future__ import annotations

import math

from responsefn import NewReno
from tests.oracles.fluid.receivers import Ack, Receiver
from tests.oracles.fluid.recoveries import SENDERS, SackSender
from tests.oracles.fluid.senders import Sender
from tests.oracles.fluid.timers import Timer
from tests.oracles.fluid.windows import Window

Q = 2.0**-26


def sender(recovery: str) -> Sender:
    """Return one that has sent eight packets."""
    window = Window(NewReno(), 0.1, 64.0)
    window.state = window.state._replace(cwnd=8.0, ssthresh=1.0)
    one = SENDERS[recovery](window, Timer(0.2, 0.2), math.inf, 1e-3, Q)
    one.send(0.0, Ack(), Receiver(0.0, Q))
    return one


def holes(*lost: int) -> Receiver:
    """Return a receiver that has seen packets 0 to 7 without some."""
    one = Receiver(0.0, Q)
    one.missing, one.lost, one.rcv_max = dict.fromkeys(lost, 1.0), set(lost), 8.0
    return one


def test_tahoe_goes_back() -> None:
    one = sender("tahoe")
    one.send(0.1, Ack(7.0, 0.0, 0.0, 0.0, 8.0), holes(0))
    assert not one.recovering
    assert one.log[-1] == (8.0, 0.0)
    assert one.nxt == one.window.cwnd == 4.0


def test_reno_ends_its_recovery_with_the_first_new_ack() -> None:
    one = sender("reno")
    one.send(0.1, Ack(6.0, 0.0, 0.0, 0.0, 8.0), holes(0, 3))
    assert one.recovering
    one.send(0.2, Ack(1.0, 1.0, 0.0, 3.0, 8.0), holes(3))
    assert not one.recovering


def test_sack_resends_what_is_lost_as_far_as_the_pipe_allows() -> None:
    one = sender("sack")
    assert isinstance(one, SackSender)
    one.send(0.1, Ack(6.0, 0.0, 0.0, 0.0, 8.0), holes(0, 3))
    again = [int(sequence) for _, sequence in one.log[1:]]
    assert again[:2] == [0, 3]  # both, in one round-trip time
    assert one.window.cwnd == 4.0
    assert one.pipe <= 4.0
    one.send(0.2, Ack(2.0, 2.0, 0.0, one.max, one.max), holes())
    assert not one.recovering


def test_sack_tells_of_a_second_loss_after_a_recovery() -> None:
    one = sender("sack")
    assert isinstance(one, SackSender)
    one.una = 2.0
    assert one.tells_of_loss(Ack(1.0, 0.0, 0.0, 2.0, 8.0), holes(2, 3))
    assert not one.tells_of_loss(Ack(1.0, 0.0, 0.0, 2.0, 4.5), holes(2))

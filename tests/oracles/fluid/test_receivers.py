"""The receiver of the reference by hand: order, holes, retransmissions."""

from __future__ import annotations

import pytest

from tests.oracles.fluid.receivers import Receiver

Q = 2.0**-26
LOG = [(0.0, 0.0)]


def test_packets_in_order_are_acknowledged_as_they_come() -> None:
    one = Receiver(0.0, Q)
    assert one.receive(LOG, 2.5, 0.0) == (2.5, 2.5)
    assert (one.rcv_nxt, one.rcv_max) == (2.5, 2.5)


def test_a_packet_is_lost_where_the_losses_make_one_and_fills_when_it_comes_again() -> None:
    one = Receiver(0.0, Q)
    assert one.receive(LOG, 3.0, 1.0) == pytest.approx((3.0, 3.0))  # a quarter of each is missing
    assert one.missing == {3: 1.0}
    assert (one.rcv_nxt, one.rcv_max) == (3.0, 4.0)
    assert one.receive(LOG, 2.0, 0.0) == (2.0, 0.0)  # duplicate ACKs
    log = [*LOG, (6.0, 3.0), (7.0, 6.0)]  # packet 3 again, then new ones
    assert one.receive(log, 1.0, 0.0) == (1.0, 1.0)
    assert one.rcv_nxt == 6.0
    assert one.receive(log, 1.0, 0.0) == (1.0, 1.0)
    assert one.rcv_nxt == one.rcv_max == 7.0


def test_a_packet_sent_again_can_be_lost_again_and_what_came_before_answers_but_fills_nothing() -> (
    None
):
    one = Receiver(0.5, Q)
    one.receive(LOG, 3.0, 1.0)
    lost = dict(one.missing)
    assert len(lost) == 1
    again = float(next(iter(lost)))
    log = [*LOG, (4.0, again), (5.0, 0.0)]
    assert one.receive(log, 0.0, 1.0) == (0.0, 0.0)
    assert one.missing == lost
    assert one.receive(log, 1.0, 0.0) == (1.0, 0.0)  # packet 0 for the second time


def test_a_packet_that_fills_a_hole_behind_the_first_is_answered_by_a_duplicate_ack() -> None:
    """RFC 5681, 2: the ACK does not move; it does where the first hole is filled, past all that had come."""
    one = Receiver(0.0, Q)
    one.receive(LOG, 6.0, 2.0)
    first, second = sorted(one.missing)
    log = [*LOG, (8.0, float(second)), (9.0, float(first)), (10.0, 8.0)]
    assert one.receive(log, 1.0, 0.0) == (1.0, 0.0)
    assert one.rcv_nxt == first
    assert one.receive(log, 1.0, 0.0) == (1.0, 1.0)
    assert one.rcv_nxt == one.rcv_max == 8.0

"""Ends of flows in the fluid oracle: senders, receivers, timers, windows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, Link, Scenario
from responsefn import DCQCN, DCTCP, NewReno, Reno
from tests.oracles.engines import compile_scenario
from tests.oracles.fluid.ends import Ends, RateEnds, TcpEnds, ends_of
from tests.oracles.fluid.hosts import RandomWaits
from tests.oracles.fluid.receivers import Ack, Receiver
from tests.oracles.fluid.recoveries import SENDERS, SackSender
from tests.oracles.fluid.senders import Sender
from tests.oracles.fluid.timers import Timer
from tests.oracles.fluid.traffic import Traffic
from tests.oracles.fluid.windows import Window

# The ends of flows in the reference, by hand: what is emitted, when it was sent, when a flow is complete.


def ends(source, size: float = np.inf) -> Ends:
    link = Link("a", "b", 1000.0, 4e-3, 50.0)
    flow = Flow("f", "ab", source, 40.0, size=size, host="unshaped")
    fluid = Fluid(store_and_forward=False)
    plan = compile_scenario(Scenario("one", (link,), (flow,)), fluid, np.random.default_rng(0))
    return ends_of(plan, 0, Traffic(plan))


def test_a_schedule_emits_up_to_its_size_and_is_complete_when_that_has_come() -> None:
    one = ends(CBR(800.0), size=2.0)
    for k in range(4):
        one.advance(k, 0.0, 0.5)
    assert one.emitted == pytest.approx([0.8, 1.6, 2.0, 2.0], abs=1e-6)
    assert one.traffic.queue[0] == 0.0  # half a packet per step
    assert np.isnan(one.finished)
    one.advance(4, 2.0, 0.5)
    assert one.finished == 4 * one.h


def test_a_packet_was_sent_evenly_in_its_step() -> None:
    one = ends(CBR(800.0))
    one.emitted = [0.0, 0.5, 1.5, 1.5]
    assert [one.sent_at(at) for at in (0.25, 0.5, 1.0, 1.5)] == [0.5, 1.0, 1.5, 2.0]


def test_each_source_has_its_ends() -> None:
    tcp, rate = ends(Reno()), ends(DCQCN())
    assert isinstance(tcp, TcpEnds)
    assert isinstance(rate, RateEnds)
    tcp.advance(0, 0.0, 9.0)
    rate.advance(0, 0.0, 9.0)
    assert tcp.emitted[0] == tcp.window
    assert rate.emitted[0] == pytest.approx(rate.window * rate.h, abs=1e-6)


# Random waits of senders in the reference, by hand.


def test_what_is_sent_is_never_early_and_at_most_a_wait_and_a_spacing_late() -> None:
    one = RandomWaits(0.0, 3.0, 4.0, 11)
    emitted = [0.5 * (k + 1) for k in range(200)]
    found = np.array([one.released(k, emitted) for k in range(200)])
    assert (found <= emitted).all()
    late = np.array(emitted) - found
    assert late.max() <= 0.5 * (3.0 + 2.0)  # jitter and the time between two packets
    assert late.mean() == pytest.approx(0.5 * 1.5, rel=0.5)


# The receiver of the reference by hand: order, holes, retransmissions.

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


# Tahoe, Reno and SACK of the reference by hand.

Q_RECOVERIES = 2.0**-26


def sender(recovery: str) -> Sender:
    """Return one that has sent eight packets."""
    window = Window(NewReno(), 0.1, 64.0)
    window.state = window.state._replace(cwnd=8.0, ssthresh=1.0)
    one = SENDERS[recovery](window, Timer(0.2, 0.2), math.inf, 1e-3, Q_RECOVERIES)
    one.send(0.0, Ack(), Receiver(0.0, Q_RECOVERIES))
    return one


def holes(*lost: int) -> Receiver:
    """Return a receiver that has seen packets 0 to 7 without some."""
    one = Receiver(0.0, Q_RECOVERIES)
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


# The sender of the reference by hand: slow start, duplicate ACKs, NewReno, timeouts.

Q_SENDERS = 2.0**-26
RECEIVER = Receiver(0.0, Q_SENDERS)


def sender_of_senders(recovery: str = "newreno", cwnd: float = 8.0) -> Sender:
    """Return a sender in congestion avoidance that has sent its window."""
    window = Window(NewReno(), 0.1, 64.0)
    window.state = window.state._replace(cwnd=cwnd, ssthresh=1.0)
    one = SENDERS[recovery](window, Timer(0.2, 0.2), math.inf, 1e-3, Q_SENDERS)
    one.send(0.0, Ack(), RECEIVER)
    return one


def test_new_data_slides_the_window() -> None:
    one = sender_of_senders()
    assert (one.max, one.emitted, one.log) == (8.0, 8.0, [(0.0, 0.0)])
    one.send(0.1, Ack(2.0, 2.0, 0.0, 2.0, 2.0), RECEIVER)
    assert one.una == 2.0
    assert one.max == pytest.approx(10.25, abs=2e-2)  # 2/cwnd more


def test_the_third_duplicate_begins_recovery_and_a_full_ack_ends_it() -> None:
    one = sender_of_senders()
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
    one = sender_of_senders()
    one.send(5.0, Ack(), RECEIVER)
    assert one.timeouts == 1
    assert one.window.cwnd == 1.0
    assert one.log[-1] == (8.0, 0.0)
    assert one.emitted == 9.0
    assert one.timer.backoff == 2.0


# The retransmission timer of the reference beside RFC 6298.


def test_samples_and_timeouts_are_those_of_the_rfc() -> None:
    timer = Timer(0.2, 1.0)
    timer.begin(1.0)
    assert timer.deadline == 4.0  # 3 s before the first sample
    timer.time(5.0, 1.0)
    timer.time(6.0, 1.1)  # one is timed already
    timer.hear(5.0, 5.0, 1.05, 0.01)  # not that one
    assert timer.srtt == 0.0
    timer.hear(5.0, 6.0, 1.1, 0.01)
    assert (timer.srtt, timer.rttvar) == pytest.approx((0.1, 0.05))
    assert timer.rto == pytest.approx(0.3)
    timer.time(7.0, 2.0)
    timer.hear(6.0, 8.0, 2.2, 0.01)  # the second of two that came evenly in the step
    assert timer.rttvar == pytest.approx(0.05 + 0.25 * (0.105 - 0.05))
    assert timer.srtt == pytest.approx(0.1 + 0.125 * 0.105)


def test_backing_off_doubles_up_to_64_and_a_sample_ends_it() -> None:
    timer = Timer(0.2, 0.2)
    for _ in range(9):
        timer.back_off(1.0)
    assert timer.deadline == pytest.approx(1.0 + 64 * 0.2)
    timer.time(0.0, 1.0)
    timer.hear(0.0, 1.0, 1.1, 0.0)
    assert timer.backoff == 1.0
    assert Timer(math.inf, math.inf).deadline == math.inf


# Window rules in the reference: ACKs of parts of packets, losses, marks.


def test_several_acks_move_the_window_by_that_multiple_in_parts_of_it() -> None:
    one = Window(NewReno(), 0.1, 64.0)
    begin = one.cwnd
    one.grow(0.0, 0.01, (0.1, 0.1), 0.5)
    assert one.cwnd == begin + 0.5  # slow start
    one.state = one.state._replace(cwnd=8.0, ssthresh=4.0)
    one.grow(0.0, 0.01, (0.1, 0.1), 2.0)
    first = 8.0 + 1.0 / 8.0
    assert one.cwnd == pytest.approx(first + (1.0 - (first * 0.125 - 1.0)) / first, rel=2e-3)


def test_single_acks_arrive_evenly_in_a_step() -> None:
    """Two ACKs in a step of 10 ms, half an ACK pending: after a quarter and three quarters of it."""
    seen = []

    class Recorder(NewReno):
        @staticmethod
        def on_ack(s, q, e):
            seen.append((e.time, e.rtt))
            return s

    one = Window(Recorder(), 0.1, 64.0, single=True)
    one.part = 0.5
    one.grow(1.0, 0.01, (0.1, 0.2), 2.0)
    assert [time for time, _ in seen] == pytest.approx([0.9925, 0.9975])
    assert [rtt for _, rtt in seen] == pytest.approx([0.125, 0.175], rel=1e-8)
    assert one.part == 0.5


def test_a_loss_halves_what_the_receiver_allows() -> None:
    one = Window(NewReno(), 0.1, 20.0)
    one.state = one.state._replace(cwnd=30.0)
    one.reduce("on_loss", 1.0, 0.1)
    assert one.cwnd == 10.0
    one.reduce("on_timeout", 1.0, 0.1)
    assert one.cwnd == 1.0


def test_a_rule_that_answers_marks_hears_how_many() -> None:
    one = Window(DCTCP(), 0.1, 64.0)
    assert one.answers_marks
    before = one.state
    one.hear_marks(1.0, 0.1, 4.0, 2.0)
    assert one.state != before
    assert not Window(NewReno(), 0.1, 64.0).answers_marks

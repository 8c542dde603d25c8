"""Ends of flows in the fluid oracle: senders, receivers, timers, windows."""

from __future__ import annotations

import math
from typing import Any

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


NUMBER = 10_000


def delays_of_packets(spacing: float, longest: float) -> np.ndarray:
    """Return the waits of packets: one that finds no wait begins one, and all leave at its end."""
    random = np.random.default_rng(1)
    found, end = np.empty(NUMBER), -1.0
    for n in range(NUMBER):
        if n * spacing >= end:
            end = n * spacing + random.uniform(0.0, longest)
        found[n] = end - n * spacing
    return found


def delays_of_fluid(spacing: float, longest: float) -> np.ndarray:
    """Return how long ago what has been let go was emitted, in each step."""
    one = RandomWaits(0.0, longest, 100.0, 12345)
    emitted = [(k + 1) / spacing for k in range(NUMBER)]
    released = np.maximum.accumulate([one.released(k, emitted) for k in range(NUMBER)])
    return (1.0 + np.arange(NUMBER) - released * spacing)[256:]


@pytest.mark.parametrize(("spacing", "longest"), [(10.0, 0.5), (10.0, 3.0), (0.1, 3.0), (0.01, 3.0), (0.01, 0.8)])
def test_random_waits_delay_the_fluid_as_they_delay_packets(spacing: float, longest: float) -> None:
    """Mean and deviation, of the longest wait; 0.028 is four standard errors of 350 waits' mean.

    From one packet per wait (mean 1/2) to hundreds (mean 1/3): waits of several packets last.
    """
    packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
    assert fluid.mean() == pytest.approx(packets.mean(), abs=0.028 * longest)
    assert fluid.std() == pytest.approx(packets.std(), abs=0.028 * longest)


def test_waits_of_few_packets_delay_the_fluid_a_little_less() -> None:
    """A fluid has no whole packets: at one to six packets per wait it is early by up to 0.1 of it."""
    for spacing, longest in [(1.0, 3.0), (5.0, 20.0), (3.0, 20.0)]:
        packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
        assert 0.0 < packets.mean() - fluid.mean() < 0.1 * longest


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


def test_a_packet_sent_again_can_be_lost_again_and_what_came_before_answers_but_fills_nothing() -> None:
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


PACKETS = 3000.0


def stretches(seed: int) -> list[tuple[float, float]]:
    """Return amounts that arrive step by step, packets, and the part of each that was lost."""
    rng = np.random.default_rng(seed)
    ends = np.sort(np.append(rng.uniform(0.0, PACKETS, 4500), (0.0, PACKETS)))
    ends = np.round(ends / Q) * Q
    return list(zip(np.diff(ends).tolist(), rng.uniform(0.0, 0.3, len(ends) - 1), strict=True))


def test_as_many_packets_are_missing_as_were_lost() -> None:
    """Within one packet that is not complete, of some 300; nothing is lost where nothing is missing."""
    one = Receiver(0.0, Q)
    lost = acks = 0.0
    for n, (amount, part) in enumerate(stretches(1)):
        gone = part * amount if n % 3 else 0.0
        lost += gone
        acks += one.receive(LOG, amount - gone, gone)[0]
    assert lost > 250
    assert len(one.missing) == pytest.approx(lost, abs=1.3)  # one, and what the last adds to it
    assert acks == pytest.approx(PACKETS - len(one.missing), abs=1e-4)


def test_as_many_resent_packets_fill_no_hole_as_were_lost_again() -> None:
    """The first that was lost again is where rcv_nxt stands; ACKs of those behind it are duplicates."""
    one = Receiver(0.0, Q)
    one.rcv_max = one.position = PACKETS
    one.missing = dict.fromkeys(range(int(PACKETS)), 1.0)
    one.lost, one.begun = set(one.missing), int(PACKETS)
    log = [*LOG, (PACKETS, 0.0)]
    lost = acks = moved = 0.0
    for amount, part in stretches(2):
        gone = part * amount
        lost += gone
        more, advancing = one.receive(log, amount - gone, gone)
        acks, moved = acks + more, moved + advancing
    missing = sum(one.missing.values())
    assert lost > 250
    assert missing == pytest.approx(lost, abs=1.3)
    assert acks == pytest.approx(PACKETS - missing, abs=1e-4)
    assert moved == pytest.approx(one.rcv_nxt, abs=1e-4)
    assert int(moved) == min(c for c, amount in one.missing.items() if amount > 0.5)


@pytest.mark.parametrize("broken", [0.0, 0.6])
def test_packets_are_lost_whole(broken: float) -> None:
    """Where half is missing, every other packet, however the stream is cut."""
    one = Receiver(broken, Q)
    pieces = ((10.0, 0.0), (0.7, 0.7), (3.8, 3.8), (0.5, 0.5))
    acks = sum(one.receive(LOG, *piece)[0] for piece in pieces)
    lost = sorted(one.missing)
    assert set(one.missing.values()) == {1.0}
    assert lost[0] >= 10
    assert (np.diff(lost) == 2).all()
    assert len(lost) + acks == pytest.approx(20.0, abs=1e-6)
    assert abs(len(lost) - 5.0) <= 1.0


def test_part_of_a_packet_is_lost_by_chance() -> None:
    """0.3 of one in twenty: in three of ten runs whose chances are spread evenly."""
    lost = []
    for start in np.arange(0.05, 1.0, 0.1):
        one = Receiver(start, Q)
        one.receive(LOG, 19.7, 0.3)
        lost.append(sum(one.missing.values()))
    assert sorted(lost) == [0.0] * 7 + [1.0] * 3


# Tahoe, Reno and SACK of the reference by hand.


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


# SACK step by step, against RFC 6675: what is sent again, and when.


class Sack:
    """A sender with 20 packets in flight from number 0 on, of which some are lost."""

    def __init__(self, *lost: int, most: float = 1000.0) -> None:
        window = Window(NewReno(), 0.1, most)
        window.state = window.state._replace(cwnd=20.0, ssthresh=1.0)
        found = SENDERS["sack"](window, Timer(0.2, 1e3), math.inf, 1e-3, Q)
        assert isinstance(found, SackSender)
        self.one, self.receiver = found, Receiver(0.0, Q)
        self.receiver.missing, self.receiver.lost = dict.fromkeys(lost, 1.0), set(lost)
        self.one.send(0.0, Ack(), self.receiver)

    def hear(self, rcv_nxt: float, rcv_max: float, acks: float, advancing: float = 0.0) -> Any:
        """Return what is sent on the ACKs of a step: numbers and amounts, those sent again first."""
        one, before = self.one, len(self.one.log)
        last, begin = one.log[-1], one.emitted
        self.receiver.rcv_nxt, self.receiver.rcv_max = rcv_nxt, rcv_max
        one.send(0.1, Ack(acks, advancing, 0.0, rcv_nxt, rcv_max), self.receiver)
        log = [(begin, last[1] + begin - last[0]), *one.log[before:]]
        ends = [*(position for position, _ in log[1:]), one.emitted]
        return [(seq, end - at) for (at, seq), end in zip(log, ends, strict=True) if end > at]


def test_the_first_packet_lost_is_resent_at_once_whatever_is_in_flight() -> None:
    """Section 5, step 4.3: cwnd is 10, in flight are 16 of 20, and packet 0 is resent."""
    sack = Sack(0)
    assert sack.hear(0.0, 4.0, 3.0) == [(0.0, 1.0)]
    assert sack.one.window.cwnd == 10.0
    assert sack.one.pipe == 17.0  # 20 less 3 that arrived, less 1 lost, and 1 resent


def test_what_is_lost_of_new_data_is_resent_in_the_same_recovery() -> None:
    """Section 4, NextSeg, rule 1 knows no recovery point: packet 21, sent in it, is resent in it."""
    sack = Sack(0, 21)
    sack.hear(0.0, 4.0, 3.0)
    assert sack.hear(0.0, 20.0, 16.0) == [(20.0, 9.0)]  # 1 is in flight: 9 of new data
    assert sack.hear(0.0, 25.0, 4.0)[0] == (21.0, 1.0)
    assert sack.one.recover == 20.0


def test_a_recovery_begins_without_duplicates_where_sack_tells_of_the_loss() -> None:
    """Section 5, step 2: IsLost(HighACK + 1). Packet 3 is known to be lost when 0 to 2 are
    acknowledged with 4 to 6, all in one step."""
    sack, other = Sack(3), Sack(3)
    assert sack.hear(3.0, 7.0, 6.0, 3.0) == [(3.0, 1.0)]
    assert sack.one.recovering
    other.hear(3.0, 6.0, 5.0, 3.0)
    assert not other.one.recovering


@pytest.mark.parametrize(("recover", "begins"), [(0.0, True), (1.0, False)])
def test_no_recovery_begins_before_the_recovery_point_of_a_timeout(recover, begins) -> None:
    """Section 5.1: not until HighACK reaches what had been sent when the timer expired."""
    sack = Sack(0)
    sack.one.recover = recover
    sack.hear(0.0, 4.0, 3.0)
    assert sack.one.recovering == begins


def test_new_data_in_a_recovery_stay_within_the_receivers_window() -> None:
    """Section 4, NextSeg, rule 2: with packet 0 missing nothing beyond 29 may be sent."""
    sack = Sack(0, most=30.0)
    for rcv_max, acks in ((4.0, 3.0), (20.0, 16.0), (29.0, 9.0)):
        sack.hear(0.0, rcv_max, acks)
    assert sack.one.max == 30.0


# The sender of the reference by hand: slow start, duplicate ACKs, NewReno, timeouts.

RECEIVER = Receiver(0.0, Q)


def test_new_data_slides_the_window() -> None:
    one = sender("newreno")
    assert (one.max, one.emitted, one.log) == (8.0, 8.0, [(0.0, 0.0)])
    one.send(0.1, Ack(2.0, 2.0, 0.0, 2.0, 2.0), RECEIVER)
    assert one.una == 2.0
    assert one.max == pytest.approx(10.25, abs=2e-2)  # 2/cwnd more


def test_the_third_duplicate_begins_recovery_and_a_full_ack_ends_it() -> None:
    one = sender("newreno")
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
    one = sender("newreno")
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


def test_dctcp_keeps_marks_and_losses_apart() -> None:
    """One loss event halves the window, however small alpha is (RFC 8257, 3.5)."""
    for event in ("loss", "mark"):
        one = Window(DCTCP(), 0.1, 200.0)
        one.state = one.state._replace(cwnd=100.0, ssthresh=50.0, alpha=0.01, since=200.0)
        if event == "loss":
            one.reduce("on_drop", 1.0, 0.01)
            assert one.cwnd == 50.0
        else:
            one.hear_marks(1.0, 0.01, 10.0, 8.0)
            assert one.cwnd == pytest.approx(100.0 * (1.0 - 0.5 * (0.01 + 8 / 16 / 100)))

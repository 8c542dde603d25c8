"""The loss recoveries that have names, function by function, and runs of RACK-TLP and Linux's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, SwitchProgram, simulate, trace_packets
from dfcmodel.recoveries import (
    LinuxRecovery,
    LossRecovery,
    NewRenoRecovery,
    PRRRecovery,
    RackRecovery,
    RenoRecovery,
    SackRecovery,
    TahoeRecovery,
    set_alarm,
)
from responsefn import BBR, CUBIC
from responsefn.linux import LinuxBIC
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event

# NewReno: RFC 6582, 3.2, full and partial ACKs.


@pytest.mark.parametrize(
    ("inflation", "acked", "cwnd", "after"),
    [(8.0, 3.0, 20.0, 6.0), (3.0, 3.0, 20.0, 1.0), (3.0, 5.0, 18.0, 1.0), (3.0, 60.0, 1.0, 1.0)],
)
def test_a_partial_ack_deflates_by_what_it_covers_and_adds_one(
    inflation: float, acked: float, cwnd: float, after: float
) -> None:
    """RFC 6582, 3.2, step 3: window and inflation together fall by what is acknowledged, less one packet sent again."""
    s = recovering_sender(NewRenoRecovery, recovering=1.0, recover=29.0, inflation=inflation)
    new = NewRenoRecovery.on_ack(s, recovery_event(acked=acked))
    assert (new.cwnd, new.inflation, new.resend, new.recovering) == (cwnd, after, 10.0, 1.0)
    assert new.burst == 2.0


def test_the_first_partial_ack_alone_restarts_the_timer() -> None:
    s = recovering_sender(NewRenoRecovery, recovering=1.0, recover=29.0, inflation=3.0)
    first = NewRenoRecovery.on_ack(s, recovery_event(acked=1.0))
    second = NewRenoRecovery.on_ack(first._replace(restart=0.0), recovery_event(acked=1.0))
    assert (first.restart, second.restart) == (1.0, 0.0)


@pytest.mark.parametrize(("snd_una", "recovering"), [(29.0, 1.0), (30.0, 0.0)])
def test_the_ack_of_recover_ends_recovery(snd_una: float, recovering: float) -> None:
    s = recovering_sender(NewRenoRecovery, recovering=1.0, recover=29.0, snd_una=snd_una)
    new = NewRenoRecovery.on_ack(s, recovery_event(acked=1.0))
    assert (new.recovering, new.grow) == (recovering, 1.0 - recovering)


@pytest.mark.parametrize("recovery", [RenoRecovery, NewRenoRecovery, SackRecovery])
@pytest.mark.parametrize(("snd_max", "resend"), [(30.0, 10.0), (10.0, -1.0)])
def test_without_outstanding_data_no_ack_is_a_duplicate(
    recovery: type[LossRecovery], snd_max: float, resend: float
) -> None:
    """RFC 5681, 2: the receiver answers packets that came twice; the third of these ACKs had packet 10 sent, which does not exist."""
    s = recovering_sender(recovery, recover=5.0, dupacks=3.0, snd_una=10.0, snd_nxt=snd_max, snd_max=snd_max)
    assert recovery.on_duplicate_ack(s, recovery_event(acked=0.0)).resend == resend


# What recoveries take from ns-2: the first packet of a connection, and ``recover`` after recovery.


@pytest.mark.parametrize(
    ("snd_una", "recover", "ns2", "new"),
    [
        (10.0, 8.0, 0.0, True),
        (10.0, 9.0, 0.0, False),
        (1.0, 0.0, 0.0, False),
        (1.0, 0.0, 1.0, True),
    ],
)
def test_a_loss_is_new_beyond_recover_or_after_ns2s_first_packet(
    snd_una: float, recover: float, ns2: float, new: bool
) -> None:
    for kind in (NewRenoRecovery, RenoRecovery, SackRecovery, TahoeRecovery):
        s = recovering_sender(kind, snd_una=snd_una, recover=recover, dupacks=3.0)
        after = kind.on_duplicate_ack(s, recovery_event(ns2=ns2, delivered=1.0))
        assert after.reduce == (1.0 if new else 0.0)


def test_recover_is_below_every_packet_or_ns2s_first_one() -> None:
    s = recovering_sender(SackRecovery, recovering=1.0, recover=29.0, snd_una=30.0)
    for ns2, recover in ((0.0, -2.0), (1.0, 0.0)):
        assert SackRecovery.on_ack(s, recovery_event(acked=1.0, ns2=ns2)).recover == recover


# Proportional rate reduction: the counts of RFC 6937, Sect. 3; runs are in test_equal_senders.


def test_recovery_begins_with_what_is_beyond_the_highest_sacked_packet() -> None:
    s = recovering_sender(PRRRecovery, dupacks=3.0, highest_sacked=13.0, sacked=3.0)
    new = PRRRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0))
    assert (new.pipe, new.pipe_limit, new.recover_fs) == (17.0, 17.0, 20.0)
    assert (new.prr_out, new.prr_delivered, new.resend) == (1.0, 1.0, 10.0)


@pytest.mark.parametrize(("pipe", "delivered"), [(18.0, 1.0), (18.0, 2.0), (12.0, 1.0)])
def test_each_ack_permits_what_rfc_6937_says(pipe: float, delivered: float) -> None:
    """Above ssthresh ceil(prr_delivered ssthresh / RecoverFS) - prr_out; below MAX(...) + 1, up to ssthresh."""
    s = recovering_sender(
        PRRRecovery, recovering=1.0, recover=29.0, cwnd=10.0, pipe=pipe, prr_out=2.0,
        prr_delivered=4.0, recover_fs=20.0,
    )  # fmt: skip
    new = PRRRecovery.on_duplicate_ack(s, recovery_event(delivered=delivered))
    left = pipe - delivered
    total = 4.0 + delivered
    if left > 10.0:
        expected = math.ceil(total * 10.0 / 20.0) - 2.0
    else:
        expected = min(10.0 - left, max(total - 2.0, delivered) + 1.0)
    assert new.pipe == left
    assert new.pipe_limit == left + max(0.0, expected)


# Reno: RFC 5681, 3.2, step by step.


def test_fast_recovery_runs_through_the_steps_of_rfc_5681() -> None:
    seen = recovery_event()
    s = RenoRecovery.on_duplicate_ack(recovering_sender(RenoRecovery, dupacks=2.0), seen)
    assert (s.limited, s.burst, s.recovering) == (1.0, 0.0, 0.0)  # step 1
    s = RenoRecovery.on_duplicate_ack(recovering_sender(RenoRecovery, dupacks=3.0), seen)
    assert (s.reduce, s.resend, s.inflation, s.recovering) == (1.0, 10.0, 3.0, 1.0)  # steps 2, 3
    s = RenoRecovery.on_duplicate_ack(s._replace(dupacks=4.0), seen)
    assert s.inflation == 4.0  # step 4
    s = RenoRecovery.on_ack(s._replace(snd_una=12.0), recovery_event(acked=2.0))
    assert (s.recovering, s.inflation, s.grow) == (0.0, 0.0, 1.0)  # step 6


# SACK: the pipe of Fall and Floyd 1996, and when recovery ends.


def test_the_pipe_is_what_left_three_duplicates_ago_and_falls_with_acks() -> None:
    s = recovering_sender(SackRecovery, dupacks=3.0)
    s = SackRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0))
    assert (s.pipe, s.recovering, s.resend, s.reduce, s.burst) == (17.0, 1.0, 10.0, 1.0, 0.0)
    s = s._replace(recover=29.0)  # as the engine sets it with the reduction
    s = SackRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0))
    assert s.pipe == 16.0
    s = SackRecovery.on_ack(s._replace(snd_una=15.0), recovery_event(acked=5.0))
    assert (s.pipe, s.restart, s.recovering) == (14.0, 1.0, 1.0)


def test_recovery_ends_with_the_ack_of_recover_unless_losses_wait() -> None:
    s = recovering_sender(SackRecovery, recovering=1.0, recover=29.0, snd_una=30.0)
    assert SackRecovery.on_ack(s, recovery_event(acked=1.0)).recovering == 0.0
    assert SackRecovery.on_ack(s, recovery_event(acked=1.0, unrepaired=1.0)).recovering == 1.0


# Tahoe: everything from the lost packet on is sent again, after three duplicates and never in recovery.


@pytest.mark.parametrize("dupacks", [1.0, 2.0, 3.0, 4.0])
def test_the_third_duplicate_sends_everything_again(dupacks: float) -> None:
    s = recovering_sender(TahoeRecovery, dupacks=dupacks)
    new = TahoeRecovery.on_duplicate_ack(s, recovery_event())
    assert new.limited == (dupacks < 3.0)  # RFC 3042
    assert new.snd_nxt == (10.0 if dupacks == 3.0 else 30.0)
    assert (new.reduce, new.restart) == ((1.0, 1.0) if dupacks == 3.0 else (0.0, 0.0))
    assert new.recovering == 0.0


def test_a_timeout_keeps_the_count_of_duplicates_as_in_ns2() -> None:
    s = recovering_sender(TahoeRecovery, dupacks=2.0)
    assert TahoeRecovery.on_timeout(s, recovery_event()) == s


# RACK-TLP: when packets are lost by time, what a probe does, and what reordering does (RFC 8985).

RATE, DELAY = 1000.0, 0.025
TRIP = 2 * DELAY + (1.0 + 40 / 1500) / RATE
"""Round trip of a packet that does not wait, s."""


@dataclass(frozen=True)
class Lossy(SwitchProgram):
    """Drops the first ``times`` packets that come with at most ``last`` packets left."""

    last: float = 1.0
    times: float = 1.0

    class State(NamedTuple):
        """How many were dropped."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0
        dropped: float = 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Drop a packet of the tail."""
        if e.left <= q.last and s.dropped < q.times:
            return s._replace(drop=1.0, dropped=s.dropped + 1.0)
        return s._replace(drop=0.0)


@dataclass(frozen=True)
class Late(SwitchProgram):
    """Lets every 50th packet leave after ``by`` that came later, while as many wait."""

    by: float = 5.0

    class State(NamedTuple):
        """Packets that came."""

        drop: float = 0.0
        mark: float = 0.0
        rank: float = 0.0
        came: float = 0.0

    @staticmethod
    def on_enqueue(s: Any, q: Any, e: Any) -> Any:
        """Rank by arrival, of every 50th packet later."""
        late = 0.0
        if s.came % 50.0 == 0.0:
            late = q.by + 0.5
        return s._replace(rank=s.came + late, came=s.came + 1.0)


def run(discipline: SwitchProgram, recovery: object, **given: Any) -> Any:
    """Return a run of one flow over a link, with its packets there."""
    links = [Link("s", "a", 10 * RATE, 1e-6, 1000), Link("a", "b", RATE, DELAY, 1000, discipline)]
    options = {"max_window": 200.0, "size": 20.0, **given}
    flow = Flow("one", ("s", "a", "b"), CUBIC(), **options)
    method = Packets(recovery=recovery)  # type: ignore[arg-type]
    return trace_packets(Scenario("one", links, [flow], duration=6.0), "a->b", method)


@pytest.mark.parametrize("recovery", ["newreno", "sack", "prr", RackRecovery(max_ack_delay=0.0)])
def test_a_lost_tail_is_repaired_by_a_probe_and_not_by_the_timer(recovery: Any) -> None:
    """After 2 SRTT instead of the least timeout, 200 ms; packets of the transfer wait for up to 10 ms."""
    trace = run(Lossy(), recovery)
    again = trace.events["arrived"][trace.events["number"] == 19][1]
    acked = trace.events["received"][trace.events["number"] == 18][0] + DELAY
    if recovery == RackRecovery(max_ack_delay=0.0):
        assert 2 * TRIP < again - acked < 2 * (TRIP + 10 / RATE)
        assert trace.run.timeouts[0] == 0
    else:
        assert again - acked >= 0.2
        assert trace.run.timeouts[0] == 1
    assert trace.run.loss_events[0] == 1
    assert len(trace.events) == 21


def test_of_a_longer_lost_tail_the_probe_shows_what_is_lost() -> None:
    """Four packets lost: the ACK of the probe shows three, one goes at once, and two at its ACK (RFC 6937, PRR-SSRB)."""
    trace = run(Lossy(last=4.0, times=4.0), "rack")
    assert (trace.run.timeouts[0], trace.run.loss_events[0]) == (0, 1)
    assert len(trace.events) == 20 + 4
    sent = [
        number
        for number, count in zip(*np.unique(trace.events["number"], return_counts=True), strict=True)
        if count == 2
    ]
    assert sent == [16, 17, 18, 19]
    probe, first, second, third = trace.events["arrived"][20:]
    assert first - probe == pytest.approx(TRIP, abs=1.1e-3)
    assert [second - first, third - first] == pytest.approx([TRIP, TRIP], abs=1.1e-3)


@pytest.mark.parametrize(("by", "spurious"), [(2.0, 0), (5.0, 1)])
def test_reordered_packets_are_not_sent_again_once_reordering_was_seen(by: float, spurious: int) -> None:
    """RFC 8985, 6.2, step 4: three packets above a hole are a loss as long as no reordering was seen; then the time counts.

    5 packets are 5 ms late, a quarter of the round trip is 12.8 ms. Recoveries that count three duplicates take late
    packets for lost again and again: of 39, those before which the queue is 5 packets long.
    """
    given = {"size": 2000.0, "max_window": 80.0}
    traces = {name: run(Late(by), name, **given) for name in ("sack", "newreno", "rack")}
    again = {name: len(trace.events) - 2000 for name, trace in traces.items()}
    assert again["rack"] == traces["rack"].run.loss_events[0] == spurious
    assert min(again["sack"], again["newreno"]) >= (10 if by == 5.0 else 0)
    assert max(trace.run.lost.sum() for trace in traces.values()) == 0.0


def test_the_reordering_window_is_that_of_the_rfc() -> None:
    """6.2, step 4: 0 for three packets above a hole, or in recovery, unless reordering was seen; at most SRTT."""
    event = {"min_rtt": 0.08, "srtt": 0.1}
    windows = [
        RackRecovery.on_report(recovering_sender(RackRecovery, **s), recovery_event(**event, **e)).reorder_window
        for s, e in (
            ({"sacked": 2.0}, {}), ({"sacked": 3.0}, {}), ({"recovering": 1.0}, {}),
            ({"sacked": 3.0}, {"reordered": 1.0}), ({"sacked": 3.0, "reordering_seen": 1.0}, {}),
        )
    ]  # fmt: skip
    assert windows == [0.02, 0.0, 0.0, 0.02, 0.02]
    s = recovering_sender(RackRecovery)
    assert RackRecovery.on_report(s, recovery_event(min_rtt=0.8, srtt=0.1)).reorder_window == 0.1


def test_the_probe_timeout_is_that_of_the_rfc() -> None:
    """7.2: 2 SRTT, of one packet in flight with the longest delay of an ACK, 1 s without a sample; not after the RTO."""
    event = {"next_loss": math.inf, "rto_left": 3.0, "srtt": 0.1}
    many = recovering_sender(RackRecovery, size=100.0)
    alone = recovering_sender(RackRecovery, size=30.0, snd_una=29.0)
    after = [
        RackRecovery.on_ack(s, recovery_event(**{**event, **e})).alarm
        for s, e in (
            (many, {}), (alone, {}), (many, {"srtt": 0.0}), (many, {"rto_left": 0.15}),
            (many._replace(sacked=1.0), {}), (many, {"next_loss": 0.05}),
        )
    ]  # fmt: skip
    assert after == pytest.approx([0.2, 0.4, 1.0, 0.15, math.inf, 0.05])


def test_a_probe_sends_new_data_where_there_are_any() -> None:
    event = recovery_event(next_loss=math.inf, rto_left=1.0, srtt=0.1)
    more = RackRecovery.on_alarm(recovering_sender(RackRecovery, size=100.0, tlp_end=-1.0), event)
    last = RackRecovery.on_alarm(recovering_sender(RackRecovery, size=30.0, tlp_end=-1.0), event)
    assert (more.fresh, more.resend, more.tlp_end) == (1.0, -1.0, 31.0)
    assert (last.fresh, last.resend, last.tlp_end) == (0.0, 29.0, 30.0)


@pytest.mark.parametrize("handshake", [False, True])
def test_a_lost_first_packet_has_a_probe_after_a_handshake(handshake: bool) -> None:
    """Without a round-trip time there is the first timeout alone, 1 s; SYN and SYN-ACK give one for the probe."""
    quick = RackRecovery(max_ack_delay=0.0)
    trace = run(Lossy(), quick, size=1.0, handshake=handshake)
    first, again = trace.events["arrived"][trace.events["number"] == handshake][:2]
    syn = TRIP - (1 - 40 / 1500) / RATE
    assert again - first == pytest.approx(2 * syn if handshake else 1.0, abs=1e-3)
    assert trace.run.timeouts[0] == (not handshake)
    assert trace.run.delivered[0, -1] == 1.0


class Stubborn(LossRecovery):
    """Sends the first unacknowledged packet again 50 ms after each ACK in recovery, by its alarm."""

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Schedule the alarm."""
        return set_alarm(s, 0.05)

    @staticmethod
    def on_alarm(s: Any, e: Any) -> Any:
        """Send it again."""
        return s._replace(resend=s.snd_una)


def test_any_recovery_may_have_an_alarm() -> None:
    """The packet lost of twenty is sent again 50 ms after the last duplicate ACK, before the timer, 200 ms, expires."""
    trace = run(Lossy(last=10.0), Stubborn())
    again = trace.events[trace.events["number"] == 10]["arrived"]
    last = trace.events["received"][trace.events["number"] == 19][0] + DELAY + 40 / 1500 / RATE
    assert trace.run.timeouts[0] == 0
    assert again[1] == pytest.approx(last + 0.05, abs=1e-3)


def test_wrong_recoveries_are_refused(refused) -> None:
    def early() -> None:
        class Early(LossRecovery):
            by_time = True

    refused(["by_time", "selective"], early)

    class Never(Stubborn):
        @staticmethod
        def on_duplicate_ack(s: Any, e: Any) -> Any:
            return set_alarm(s, 0.0)

    refused(["alarm = 0", "at least 1e-09"], lambda: run(Lossy(last=10.0), Never()))
    links = [Link("a", "b", RATE, DELAY, 10)]
    scenario = Scenario("one", links, [Flow("one", ("a", "b"), BBR())], duration=0.1)
    refused(["BBR", "deliveries"], lambda: simulate(scenario, Packets(recovery=LinuxRecovery())))
    assert simulate(scenario, Packets(recovery=RackRecovery())).recoveries == ("RackRecovery()",)
    assert simulate(scenario, Packets(recovery="rack")).recoveries == ("sack",)


# Recovery of Linux 6.12: what an ACK lets out below and above the window, and when another recovery begins.

EVENT = {"next_loss": math.inf, "rto_left": 3.0, "srtt": 0.1}


def sender(pipe: float, **fields: float):
    """Return a sender in recovery whose window is 20 packets, and was 40 before."""
    usual = {"recovering": 1.0, "recover": 29.0, "pipe": pipe, "recover_fs": 40.0, "sacked": 5.0}
    return recovering_sender(LinuxRecovery, **{**usual, "prr_out": 8.0, "prr_delivered": 8.0, **fields})  # fmt: skip


@pytest.mark.parametrize(
    ("acked", "newly_lost", "sent"), [(0.0, 0.0, 2.0), (1.0, 0.0, 3.0), (1.0, 1.0, 2.0), (0.0, 1.0, 2.0)]
)  # fmt: skip
def test_below_the_window_one_more_is_sent_only_if_snd_una_advances_without_new_loss(
    acked: float, newly_lost: float, sent: float
) -> None:
    """tcp_cwnd_reduction, as SafeACK of RFC 9937; RFC 6937 sends one more at each ACK."""
    e = recovery_event(acked=acked, delivered=2.0, newly_lost=newly_lost, **EVENT)
    s = sender(pipe=12.0)
    event = "on_ack" if acked else "on_duplicate_ack"
    after = getattr(LinuxRecovery, event)(s, e)
    assert after.pipe == 10.0 - newly_lost
    assert after.pipe_limit - after.pipe == sent
    other = getattr(RackRecovery, event)(s, e)
    assert other.pipe_limit - other.pipe == 3.0


def test_not_more_is_sent_than_the_window_has_room_for() -> None:
    e = recovery_event(acked=1.0, delivered=4.0, **EVENT)
    assert LinuxRecovery.on_ack(sender(pipe=23.0), e).pipe_limit == 20.0


def test_above_the_window_packets_are_sent_in_proportion_to_the_window_before() -> None:
    """Of 10 packets delivered the part 20 / 40 may be sent: 5, of which 4 were."""
    e = recovery_event(delivered=2.0, **EVENT)
    after = LinuxRecovery.on_duplicate_ack(sender(pipe=34.0, prr_out=4.0), e)
    assert (after.prr_delivered, after.pipe, after.pipe_limit) == (10.0, 32.0, 33.0)
    none = LinuxRecovery.on_duplicate_ack(sender(pipe=34.0, prr_out=6.0), e)
    assert none.pipe_limit == none.pipe


def test_the_first_lost_packet_is_sent_again_at_once() -> None:
    """The window before the reduction is kept when recovery begins; then one packet is sent whatever the proportion."""
    s = recovering_sender(LinuxRecovery, cwnd=20.5, sacked=3.0, snd_una=10.0, snd_max=30.0)
    begun = LinuxRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0, newly_lost=2.0, unrepaired=1.0, **EVENT))
    assert (begun.recovering, begun.reduce, begun.recover_fs) == (1.0, 1.0, 20.0)
    assert (begun.pipe, begun.pipe_limit) == (15.0, 16.0)
    waiting = sender(pipe=40.0, prr_out=0.0, prr_delivered=-1.0)
    late = LinuxRecovery.on_alarm(waiting, recovery_event(newly_lost=1.0, **EVENT))
    assert (late.pipe, late.pipe_limit) == (39.0, 40.0)


@pytest.mark.parametrize(("sacked", "unrepaired", "again"), [(5.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)])
def test_another_recovery_begins_while_packets_are_lost(sacked: float, unrepaired: float, again: float) -> None:
    """tcp_time_to_recover asks for lost_out: packets that were lost and sent again count until they arrive."""
    s = sender(pipe=12.0, snd_una=30.0, snd_max=60.0, snd_nxt=60.0, sacked=sacked)
    e = recovery_event(acked=3.0, delivered=1.0, unrepaired=unrepaired, **EVENT)
    after = LinuxRecovery.on_ack(s, e)
    assert (after.recovering, after.reduce) == (again, again)
    if again:
        assert (after.pipe, after.pipe_limit, after.recover_fs) == (11.0, 12.0, 20.0)
    reordered = LinuxRecovery.on_ack(s, recovery_event(**{**EVENT, "acked": 3.0, "next_loss": 0.01}))
    assert reordered.recovering == 0.0


def test_less_is_lost_after_the_overshoot_of_slow_start() -> None:
    """BIC keeps 0.8 of the window, more than the path holds: RFC 6937 sends more into the full buffer."""
    links = (Link("a", "b", 20e6 / 12e3, 0.02, 67), Link("b", "a", 20e6 / 12e3, 0.02, 1000.0))
    flow = Flow("0", ("a", "b"), LinuxBIC(), stack="linux-6.12", quick_acks=16)
    scenario = Scenario("overshoot", links, (flow,), duration=1.5)
    lost = [
        simulate(scenario, Packets(seed=1, recovery=recovery, ack_delay=0.04)).lost.sum() for recovery in (None, "rack")
    ]
    assert lost[0] < 0.7 * lost[1]

"""RACK-TLP: when packets are lost by time, what a probe does, and what reordering does (RFC 8985)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, SwitchProgram, simulate, trace_packets
from dfcmodel.recoveries import LinuxRecovery, LossRecovery, RackRecovery, set_alarm
from responsefn import BBR, CUBIC
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event

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
        for number, count in zip(
            *np.unique(trace.events["number"], return_counts=True), strict=True
        )
        if count == 2
    ]
    assert sent == [16, 17, 18, 19]
    probe, first, second, third = trace.events["arrived"][20:]
    assert first - probe == pytest.approx(TRIP, abs=1.1e-3)
    assert [second - first, third - first] == pytest.approx([TRIP, TRIP], abs=1.1e-3)


@pytest.mark.parametrize(("by", "spurious"), [(2.0, 0), (5.0, 1)])
def test_reordered_packets_are_not_sent_again_once_reordering_was_seen(
    by: float, spurious: int
) -> None:
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

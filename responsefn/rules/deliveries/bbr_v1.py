"""BBR version 1: paces at the largest delivery rate of ten round trips, with gains in cycles of eight."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import extends, param
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.response import Reference
from responsefn.rules.deliveries.bbr import (
    BBRState,
    has_ended,
    hold_probe_rtt,
    window_to_restore,
)
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["BBRv1"]

STARTUP, DRAIN, PROBE_BW, PROBE_RTT = 0.0, 1.0, 2.0, 3.0  # numbers of states
# Linux, net/ipv4/tcp_bbr.c: bbr_cwnd_min_target = 4; draft-cardwell-iccrg-bbr-congestion-
# control-00, Sect. 4.2.3.2: 3 send_quantum; own choice: a quantum of one packet at every rate
MIN_CWND, AT_ONCE = 4.0, 3.0
"""InitialCwnd and MinPipeCwnd, and the allowance for bursts (3 send quanta), packets."""
# Linux, tcp_bbr.c: bbr_min_tso_segs above 1.2 Mb/s; Linux, include/net/tcp.h: sk_pacing_shift 10,
# a 1024th of a second
PAIR, SEGMENTS_RATE = 2.0, 1024.0
"""Minimum segment of Linux above 1.2 Mb/s in packets, and segments per s of a larger segment."""
MAX_AHEAD = 0.1  # Linux, tcp_bbr.c: bbr_extra_acked_max_us = 100 * 1000
"""Time in s whose deliveries limit the estimated aggregation of ACKs."""


class BBRv1(DeliveryRule):
    r"""BBR version 1 (Cardwell et al. 2016): losses limit neither the rate nor, for long, the window.

    The bandwidth is the largest delivery rate of ten round trips, the round-trip time the minimum of ten seconds. In
    cycles of eight round trips it paces at 1.25, 0.75 and six times 1 times the bandwidth. Every ten seconds it reduces
    the window to four packets for 200 ms, unless a new minimum of the round-trip time was measured. The window is
    ``cwnd_gain`` products of both. In the first round trip of a recovery it is the packets delivered.

    The constants agree with tcp_bbr.c, whose high gain is 2885/1000 in 256ths, plus one. Six details of that file are
    off by default: a new minimum round-trip time must be lower by a microsecond (``min_rtt_tick=1e-6``), pacing is 1 %
    below the rate (``pacing_margin=0.01``), the window grows by two packets in the phase of 1.25 (``probe_packets=2``)
    and by the aggregation of ACKs (``extra_acked_rounds=10``), and counts are whole packets and segments
    (``segments=1``). Its detection of policers by two lossy intervals is not implemented.

    Parameters
    ----------
    high_gain
        Pacing over bandwidth in Startup, and its inverse in Drain.
    cwnd_gain
        Window over the bandwidth-delay product.
    rounds
        Round trips of the bandwidth's filter.
    min_rtt_window, probe_rtt_duration
        Times in s, at most 1000 and below 5.
    pacing_margin
        Fraction by which it paces below the rate, 0 <= pacing_margin < 1.
    probe_packets, aggregated
        Packets in flight above the product: in the phase of 1.25; constantly once the pipe was full.
    extra_acked_rounds
        Round trips of the filter for the packets by which ACKs exceed the bandwidth. They are added to the window
        once the pipe was full, up to the packets of a tenth of a second; 0: no estimate.
    segments
        1: three segments are added to the products instead of three packets, as in Linux. A segment is two packets, or
        the packets paced in 1/1024 s if these are more. Windows are then even, and products whole numbers.
    min_rtt_tick
        Difference in s by which a round-trip time must be below the minimum to renew it. With 0 an equal time renews
        it, as in ns-3: if the minimum recurs exactly, as on a path without noise, ProbeRTT may never begin.

    Examples
    --------
    >>> from responsefn import BBRv1
    >>> BBRv1().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: BBRv1(): has no response function of a loss rate: it does not respond to loss; ...
    """

    @extends(BBRState)
    class State(NamedTuple):
        """Window in packets, pacing in packets/s, the draft's variables, and its filter of rates.

        ``best``, ``second`` and ``third``, with their rounds, are the largest rates of successively shorter parts of
        the window. ``extra_acked`` is the begin of an epoch of aggregated ACKs and the packets delivered since. Its
        maxima in this slot and in the previous slot follow, and its rounds.
        """

        pacing_rate: float = 2.0 / math.log(2.0) * INITIAL_WINDOW / 1e-3
        best: float = 0.0
        best_round: float = 0.0
        second: float = 0.0
        second_round: float = 0.0
        third: float = 0.0
        third_round: float = 0.0
        filled_pipe: float = 0.0
        cycle_index: float = 0.0
        conserving: float = 0.0
        extra_acked_rounds: float = 0.0

    class Params(NamedTuple):
        """Gains; rounds; times in s; a part of the rate; packets; s; rounds; a choice."""

        high_gain: float = param(
            2.0 / math.log(2.0),
            above=0.0,
            source="draft-cardwell-iccrg-bbr-congestion-control-00, Sect. 4.3.2: 2/ln 2",
        )
        cwnd_gain: float = param(
            2.0,
            above=0.0,
            source="Linux, net/ipv4/tcp_bbr.c: bbr_cwnd_gain = 2",
        )
        rounds: float = param(
            10.0,
            above=0.0,
            source="draft-cardwell-iccrg-bbr-congestion-control-00, Sect. 4.1.1.4: BtlBwFilterLen = 10 round trips",
        )
        min_rtt_window: float = param(
            10.0,
            "time",
            above=0.0,
            at_most=1000.0,
            source="Linux, net/ipv4/tcp_bbr.c: bbr_min_rtt_win_sec = 10",
        )
        probe_rtt_duration: float = param(
            0.2,
            "time",
            above=0.0,
            below=5.0,
            source="Linux, net/ipv4/tcp_bbr.c: bbr_probe_rtt_mode_ms = 200",
        )
        pacing_margin: float = param(
            0.0,
            "share",
            at_least=0.0,
            below=1.0,
            source="own choice: the draft's; tcp_bbr.c has 1 %",
        )
        probe_packets: float = param(
            0.0,
            "amount",
            at_least=0.0,
            source="own choice: the draft's; tcp_bbr.c has 2",
        )
        aggregated: float = param(
            0.0,
            "amount",
            at_least=0.0,
            source="own choice: the packet level does not aggregate ACKs",
        )
        min_rtt_tick: float = param(
            0.0,
            "time",
            at_least=0.0,
            below=5.0,
            source="ns-3, TcpBbr: the same round-trip time renews the least one; tcp_bbr.c has 1 us",
        )
        extra_acked_rounds: float = param(
            0.0,
            at_least=0.0,
            at_most=1000000.0,
            source="own choice: the draft's; tcp_bbr.c has two slots of bbr_extra_acked_win_rtts = 5",
        )
        segments: int = param(
            0,
            choices=(0, 1),
            source="draft-cardwell-iccrg-bbr-congestion-control-00, Sect. 4.2.3.2: 3 send quanta, here of a packet",
        )

    reference = Reference(
        "Linux, net/ipv4/tcp_bbr.c; N. Cardwell et al., BBR: congestion-based congestion control, ACM Queue "
        "14(5), 2016; variables of draft-cardwell-iccrg-bbr-congestion-control-00, Sect. 4",
        "primary",
        "10.1145/3012426.3022184",
    )
    why_no_rate: ClassVar[str] = "it does not respond to loss"
    dynamics: ClassVar[str] = r"\text{pacing} = g \max B,\ W \le 2 \max B \min R,\ g = 1.25, 0.75, 1, \dots, 1"

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Save the window, and go on with one packet."""
        saved = max(s.prior_cwnd, s.cwnd) if s.recovering > 0.0 else s.cwnd
        return s._replace(cwnd=1.0, prior_cwnd=saved, recovering=1.0, conserving=0.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Update the model and the state, then pacing and window (Sect. 4.2.2 of the draft)."""
        rate = 0.0
        if e.acked > 0.0 and e.interval > 0.0 and e.interval >= s.min_rtt:
            rate = (e.delivered - e.prior_delivered) / e.interval
        s = aggregation(bottleneck(s, q, e, rate), q, e)
        s = states(s, q, e)
        s = round_trip_time(s, q, e)
        return control(s, q, e)


def bottleneck(s: Any, q: Any, e: Any, rate: Any) -> Any:
    """Count rounds, and update the windowed maximum of the rate (K. Nichols's filter, as in Linux)."""
    begins = 1.0 if e.acked > 0.0 and e.interval > 0.0 and e.prior_delivered >= s.next_round_delivered else 0.0
    now = s.round_count + begins
    s = s._replace(round_start=begins, round_count=now)
    if begins > 0.0:
        s = s._replace(next_round_delivered=e.delivered, conserving=0.0)
    if rate == 0.0 or (rate < s.best and e.prior_delivered <= s.limited_until):
        return s
    if rate >= s.best or now - s.third_round > q.rounds:
        return s._replace(best=rate, best_round=now, second=rate, second_round=now, third=rate, third_round=now)
    if rate >= s.second:
        s = s._replace(second=rate, second_round=now, third=rate, third_round=now)
    elif rate >= s.third:
        s = s._replace(third=rate, third_round=now)
    if now - s.best_round > q.rounds:
        s = s._replace(
            best=s.second,
            best_round=s.second_round,
            second=s.third,
            second_round=s.third_round,
            third=rate,
            third_round=now,
        )
        if now - s.best_round > q.rounds:
            s = s._replace(best=s.second, best_round=s.second_round, second=s.third, second_round=s.third_round)
    elif s.second_round == s.best_round and now - s.best_round > 0.25 * q.rounds:
        s = s._replace(second=rate, second_round=now, third=rate, third_round=now)
    elif s.third_round == s.second_round and now - s.second_round > 0.5 * q.rounds:
        s = s._replace(third=rate, third_round=now)
    return s


def aggregation(s: Any, q: Any, e: Any) -> Any:
    """Estimate by how many packets ACKs run ahead of the bandwidth (``bbr_update_ack_aggregation``).

    The largest is remembered in two slots, each for half of the rounds. An epoch ends when ACKs no longer run ahead.
    """
    if q.extra_acked_rounds == 0.0 or e.acked == 0.0:
        return s
    newest, before, rounds = s.extra_acked_now, s.extra_acked_before, s.extra_acked_rounds
    rounds += s.round_start
    if rounds >= max(1.0, 0.5 * q.extra_acked_rounds):
        newest, before, rounds = 0.0, s.extra_acked_now, 0.0
    delivered, start = s.extra_acked_delivered, s.extra_acked_start
    expected = math.floor(s.best * (e.time - start))
    if delivered <= expected:
        delivered, start, expected = 0.0, e.time, 0.0
    delivered += e.acked
    newest = max(newest, min(delivered - expected, s.cwnd))
    return s._replace(
        extra_acked_start=start,
        extra_acked_delivered=delivered,
        extra_acked_now=newest,
        extra_acked_before=before,
        extra_acked_rounds=rounds,
    )


def inflight(s: Any, q: Any, gain: Any, aggregated: Any = 0.0) -> Any:
    """Return a multiple of the bandwidth-delay product plus the allowances for bursts and aggregated ACKs."""
    if s.min_rtt == math.inf:
        return INITIAL_WINDOW
    more = q.probe_packets if s.mode == PROBE_BW and s.cycle_index == 0.0 else 0.0
    if q.segments == 0:
        return gain * s.best * s.min_rtt + aggregated + AT_ONCE + more
    segment = max(PAIR, math.floor(s.pacing_rate / SEGMENTS_RATE))
    packets = math.ceil(gain * s.best * s.min_rtt) + math.floor(aggregated) + AT_ONCE * segment
    return 2.0 * math.ceil(0.5 * packets) + more


def gain_of(s: Any, q: Any) -> Any:
    """Return the pacing gain."""
    if s.mode == STARTUP:
        return q.high_gain
    if s.mode == DRAIN:
        return 1.0 / q.high_gain
    if s.mode == PROBE_BW and s.cycle_index == 0.0:
        return 1.25
    return 0.75 if s.mode == PROBE_BW and s.cycle_index == 1.0 else 1.0


def states(s: Any, q: Any, e: Any) -> Any:
    """Go through the cycle of gains, and from Startup over Drain to it."""
    if s.mode == PROBE_BW:
        before, gain = e.in_flight + e.acked + e.lost, gain_of(s, q)
        over = e.time - s.cycle_stamp > s.min_rtt
        if gain > 1.0:
            over = over and (e.lost > 0.0 or before >= inflight(s, q, gain))
        elif gain < 1.0:
            over = over or before <= inflight(s, q, 1.0)
        if over:
            s = s._replace(cycle_index=(s.cycle_index + 1.0) % 8.0, cycle_stamp=e.time)
    limited = e.prior_delivered <= s.limited_until
    if s.filled_pipe == 0.0 and s.round_start > 0.0 and not limited:
        if s.best >= 1.25 * s.full_bw:
            s = s._replace(full_bw=s.best, full_bw_count=0.0)
        else:
            count = s.full_bw_count + 1.0
            filled = 1.0 if count >= 3.0 else 0.0
            s = s._replace(full_bw_count=count, filled_pipe=filled)
    if s.mode == STARTUP and s.filled_pipe > 0.0:
        s = s._replace(mode=DRAIN)
    if s.mode == DRAIN and e.in_flight <= inflight(s, q, 1.0):
        s = begin_cycle(s, e)
    return s


def begin_cycle(s: Any, e: Any) -> Any:
    """Enter the cycle at a random phase, except for the phase with the lowest gain."""
    drawn = math.floor(7.0 * e.random)
    index = drawn + 1.0 if drawn > 0.0 else 0.0
    return s._replace(mode=PROBE_BW, cycle_index=index, cycle_stamp=e.time)


def round_trip_time(s: Any, q: Any, e: Any) -> Any:
    """Update the least round-trip time; enter and leave ProbeRTT."""
    expired = e.time > s.min_rtt_stamp + q.min_rtt_window
    if s.min_rtt == math.inf:  # the first pacing rate, once the round-trip time is known
        s = s._replace(pacing_rate=q.high_gain * INITIAL_WINDOW / e.rtt)
    if e.rtt <= s.min_rtt - q.min_rtt_tick or expired:
        s = s._replace(min_rtt=e.rtt, min_rtt_stamp=e.time)
    if s.mode != PROBE_RTT and expired:
        s = s._replace(mode=PROBE_RTT, prior_cwnd=window_to_restore(s), probe_rtt_done_stamp=0.0)
    if s.mode != PROBE_RTT:
        return s
    s = hold_probe_rtt(s, q, e, MIN_CWND)
    if not has_ended(s, e):
        return s
    s = s._replace(min_rtt_stamp=e.time, cwnd=max(s.cwnd, s.prior_cwnd), mode=STARTUP)
    return begin_cycle(s, e) if s.filled_pipe > 0.0 else s


def control(s: Any, q: Any, e: Any) -> Any:
    """Set pacing and window (Sect. 4.2.3)."""
    paced = (1.0 - q.pacing_margin) * gain_of(s, q) * s.best
    pacing = paced if paced > 0.0 and (s.filled_pipe > 0.0 or paced > s.pacing_rate) else s.pacing_rate
    cwnd, prior, conserving = s.cwnd, s.prior_cwnd, s.conserving
    following = s.next_round_delivered
    if e.recovering > 0.0 and s.recovering == 0.0:
        prior = max(prior, cwnd) if s.mode == PROBE_RTT else cwnd
        cwnd = e.in_flight + max(e.acked, 1.0)
        conserving = 1.0
        following = e.delivered
    elif e.recovering == 0.0 and s.recovering > 0.0:
        cwnd = max(cwnd, prior)
        conserving = 0.0
    if e.lost > 0.0:
        cwnd = max(cwnd - e.lost, 1.0)
    startup = s.mode == STARTUP or s.mode == DRAIN
    aggregated = 0.0
    if s.filled_pipe > 0.0:
        aggregated = q.aggregated + min(max(s.extra_acked_now, s.extra_acked_before), MAX_AHEAD * s.best)
    max_inflight = inflight(s, q, q.high_gain if startup else q.cwnd_gain, aggregated)
    if conserving > 0.0:
        cwnd = max(cwnd, e.in_flight + e.acked)
    else:
        if s.filled_pipe > 0.0:
            cwnd = min(cwnd + e.acked, max_inflight)
        elif cwnd < max_inflight or e.delivered < INITIAL_WINDOW:
            cwnd += e.acked
        cwnd = max(cwnd, MIN_CWND)
    if s.mode == PROBE_RTT:
        cwnd = min(cwnd, MIN_CWND)
    return s._replace(
        cwnd=cwnd,
        pacing_rate=pacing,
        prior_cwnd=prior,
        recovering=e.recovering,
        conserving=conserving,
        next_round_delivered=following,
    )

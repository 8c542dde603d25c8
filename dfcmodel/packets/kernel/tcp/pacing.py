"""Pacing of senders, and transmission by the pipe of selective ACKs."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..calendar_queue import OUT
from ..layout import int64
from ..random_numbers import uniform
from .deliveries import next_lost, outstanding
from .emission import output
from .selective import next_hole, skip_sacked
from .timers import JITTER, NOW, wake_at

__all__ = [
    "in_flight",
    "must_wait",
    "next_retransmission",
    "pace",
    "segment_of",
    "send_by_pipe",
    "send_paced",
]

PAIR = 2
"""Minimum number of packets of a segment."""
SEGMENTS_RATE = 1024.0
"""Segments per s of a sender with larger segments (``sk_pacing_shift`` of 10)."""
SLOW_START_RATIO, AVOIDANCE_RATIO = 2.0, 1.2
"""Ratio of pacing rate to window over round-trip time, below and above half of ``ssthresh``, for segment sizes."""


@compiled
def must_wait(net: Any, senders: Any, f: int) -> bool:
    """Return False if flow f may send now; otherwise schedule it, by its pace and a random delay, and return True."""
    clock = senders.clock
    s = senders.flow[f]
    if clock[JITTER] == 0.0 and s.pace_at <= clock[NOW]:
        return False
    wait = 0.0
    if clock[JITTER] > 0.0:
        wait = clock[JITTER] * uniform(net.stream, len(net.port) - 1 + f)
    s.held_until = max(clock[NOW], s.pace_at) + wait
    wake_at(net, f, s.held_until, f)
    return True


@compiled
def pace(senders: Any, f: int, forced: bool) -> bool:
    """Set the time of flow f's next packet by its pacing rate; return its ``forced``: False, the same if not paced."""
    s = senders.flow[f]
    if s.paced == 0:
        return forced
    if s.pace_start == 0.0:
        gap = 1.0 / max(senders.rule[s.rule].rule_state[0], 1e-9)
    else:
        ratio = s.pace_start if s.cwnd < 0.5 * s.ssthresh else s.pace_after
        gap = s.srtt / (ratio * max(s.cwnd, 1.0))
    s.pace_at = max(s.pace_at, senders.clock[NOW] - senders.clock[JITTER]) + gap
    return False


@compiled
def segment_of(senders: Any, f: int) -> int:
    """Return the packets of flow f's segments (``tcp_tso_autosize``): 1/1024 s of its rate, at least two; else 1.

    It is 1 for a sender without segments.
    """
    s = senders.flow[f]
    if s.segments == 0:
        return int64(1)
    rate = 0.0
    if s.paced == 1 and s.pace_start == 0.0:
        rate = senders.rule[s.rule].rule_state[0]
    elif s.smooth_rtt > 0.0:
        window = max(int64(min(s.cwnd, s.most)), int64(s.snd_nxt - s.snd_una))
        ratio = SLOW_START_RATIO if int64(s.cwnd) < 0.5 * s.ssthresh else AVOIDANCE_RATIO
        rate = ratio * window / s.smooth_rtt
    return max(int64(PAIR), int64(rate / SEGMENTS_RATE))


@compiled
def send_paced(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send new packets of flow f up to the window when due, the first at once if ``forced``; ``burst`` 0: no limit."""
    s = senders.flow[f]
    window = min(int(min(s.cwnd, s.most)) + int(s.inflation), int(s.most))
    sent = 0
    while s.snd_nxt < s.snd_una + window and s.snd_nxt < s.size:
        if not forced and must_wait(net, senders, f):
            return
        output(net, senders, f, int64(s.snd_nxt))
        s.snd_nxt += 1
        forced = pace(senders, f, forced)
        sent += 1
        if sent == burst:
            break


@compiled
def in_flight(net: Any, senders: Any, f: int) -> float:
    """Return the number of packets that flow f's recovery takes to be in flight, those sent in this event included.

    Packets sent in this event are not in ``history`` yet, and are added.
    """
    s = senders.flow[f]
    if s.samples == 1:
        return float(outstanding(senders, f) + net.counters[OUT])
    return float(s.pipe)


@compiled
def next_retransmission(senders: Any, f: int) -> int:
    """Return the first packet that flow f should retransmit, taken off the list if it was lost; -1: none."""
    s = senders.flow[f]
    if s.listed == 0:
        return int64(next_hole(senders, f))
    return int64(next_lost(senders, f)) if s.recovering == 1 else int64(-1)


@compiled
def send_by_pipe(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send flow f's packets up to window or pipe, lost ones first (RFC 6675, NextSeg 1, 2); ``burst`` 0: no limit.

    With a rule of deliveries and a recovery by time the window limits packets in flight outside of recovery as well.
    """
    s = senders.flow[f]
    window = int(min(s.cwnd, s.most))
    by_flight = s.recovering == 1 or (s.samples == 1 and s.by_time == 1)
    segment_size = segment_of(senders, f) if s.paced == 1 else int64(1)
    sent, left = 0, int64(0)  # left: packets of this segment
    while s.snd_una < s.size:
        if by_flight:
            limit = s.pipe_limit
            if s.samples == 1 or limit < 0.0:
                limit = float(int(s.cwnd))
            if in_flight(net, senders, f) >= limit:
                break
        elif s.snd_nxt >= s.snd_una + window:
            break
        if left == 0 and not forced and must_wait(net, senders, f):
            return
        number = next_retransmission(senders, f)
        if number == -1:
            reach = int(s.most) if by_flight else window
            skip_sacked(senders, f)
            if s.snd_nxt >= s.snd_una + reach or s.snd_nxt >= s.size:
                break
            number = int64(s.snd_nxt)
            s.snd_nxt += 1
        elif s.recover > 0 and number < s.snd_una + int(s.most):
            s.hole = max(s.hole, number + 1)
        else:
            break
        s.pushing = 1 if left == 1 else 0
        output(net, senders, f, number)
        s.pushing = 0
        left = (segment_size if left == 0 else left) - 1
        s.snd_nxt = max(s.snd_nxt, number + 1)
        s.pipe += 1.0
        s.prr_out += 1.0
        forced = pace(senders, f, forced)
        sent += 1
        if sent == burst:
            break

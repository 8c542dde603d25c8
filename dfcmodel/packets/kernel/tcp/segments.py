"""Segments: packets that a sender passes to its device together, as Linux does (tcp_output.c).

The last packet of a segment of two or more has the push flag, and a receiver that delays ACKs acknowledges it at once.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..calendar_queue import OUT
from ..layout import int64
from .emission import output
from .pacing import must_wait, segment_of
from .timers import NOW

__all__ = ["send_segments", "update_smooth_rtt"]

SOON = 1e-3
"""s in which an ACK is worth waiting for, and the last packet was sent lately (tcp_tso_should_defer)."""
WINDOW_PART = 3
"""A part of the window, one of so many, is sent without waiting (``tcp_tso_win_divisor``)."""
BUFFERED = 45
"""Packets of the buffers in which data wait to be sent: 64 KiB of 1448 bytes each (``sk_gso_max_size``)."""
GAIN = 0.125
"""Of the smoothed round-trip time, to which each ACK contributes (RFC 6298 with timestamps)."""


@compiled
def update_smooth_rtt(senders: Any, f: int) -> None:
    """Smooth the round-trip time of the oldest packet in flight, which an ACK reports; before it is discarded."""
    s = senders.flow[f]
    d = senders.rule[s.rule]
    if d.sent_first == d.sent_last:
        return
    rtt = senders.clock[NOW] - senders.history[d.history + (d.sent_first & d.sent_mask)].sent
    s.smooth_rtt = rtt if s.smooth_rtt == 0.0 else s.smooth_rtt + GAIN * (rtt - s.smooth_rtt)


@compiled
def gathers(net: Any, senders: Any, f: int, room: int, most: int) -> bool:
    """Return whether a sender waits until there is room for a whole segment (``tcp_tso_should_defer``).

    It does if the last packet was sent lately and the next ACK is expected soon, except with the end of a buffer. A
    segment that is longer than what is left of a buffer takes the rest from the next one (``tcp_grow_skb``).
    """
    clock = senders.clock
    s = senders.flow[f]
    window = int64(min(s.cwnd, s.most))
    while s.written <= 0:
        s.written += BUFFERED
    if s.written <= min(room, most):
        return False
    if room >= most or WINDOW_PART * room >= window or clock[NOW] - s.wrote_at > SOON:
        return False
    d = senders.rule[s.rule]
    head = clock[NOW]
    if d.sent_first < d.sent_last:
        head = senders.history[d.history + (d.sent_first & d.sent_mask)].sent
    elif net.counters[OUT] == 0:
        return False
    return head + s.smooth_rtt - clock[NOW] <= min(0.5 * s.smooth_rtt, SOON)


@compiled
def send_segments(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send new packets up to the window in segments, each after a random delay if there is jitter."""
    s = senders.flow[f]
    window = min(int64(min(s.cwnd, s.most)) + int64(s.inflation), int64(s.most))
    most = segment_of(senders, f)
    sent = 0
    while s.snd_nxt < s.snd_una + window and s.snd_nxt < s.size:
        room = int64(s.snd_una + window - s.snd_nxt)
        if gathers(net, senders, f, room, most):
            return
        if not forced and must_wait(net, senders, f):
            return
        packets = min(min(room, most), max(window // 2, int64(1)))
        packets = min(packets, int64(s.size - s.snd_nxt))
        if burst > 0:
            packets = min(packets, int64(burst - sent))
        for k in range(packets):
            s.pushing = 1 if packets > 1 and k == packets - 1 else 0
            output(net, senders, f, int64(s.snd_nxt))
            s.snd_nxt += 1
        s.pushing = 0
        sent += packets
        if sent == burst:
            return

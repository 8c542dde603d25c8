"""Segments: packets that a sender passes to its device together, as in Linux (tcp_output.c).

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

MAX_DEFERRAL = 1e-3
"""Maximum wait for an ACK, and maximum time since the last packet, for a deferred segment, s (tcp_tso_should_defer)."""
WINDOW_DIVISOR = 3
"""The window divided by this number is sent without deferral (``tcp_tso_win_divisor``)."""
BUFFER_PACKETS = 45
"""Packets of 1448 bytes in a send buffer of 64 KiB (``sk_gso_max_size``)."""
SMOOTH_RTT_GAIN = 0.125
"""Weight of an ACK in the smoothed round-trip time (RFC 6298 with timestamps)."""


@compiled
def update_smooth_rtt(senders: Any, f: int) -> None:
    """Update flow f's smoothed RTT for segment sizes from the oldest packet in flight, which an ACK covers."""
    s = senders.flow[f]
    d = senders.rule[s.rule]
    if d.sent_first == d.sent_last:
        return
    rtt = senders.clock[NOW] - senders.history[d.history + (d.sent_first & d.sent_mask)].sent
    s.smooth_rtt = rtt if s.smooth_rtt == 0.0 else s.smooth_rtt + SMOOTH_RTT_GAIN * (rtt - s.smooth_rtt)


@compiled
def should_defer(net: Any, senders: Any, f: int, room: int, segment_size: int) -> bool:
    """Return whether sender f waits until ``room``, packets, fits a segment (``tcp_tso_should_defer``).

    It waits if the last packet was sent recently and the next ACK is expected soon, but not at the end of a buffer. A
    segment that exceeds the remainder of a buffer takes the rest from the next buffer (``tcp_grow_skb``).
    """
    clock = senders.clock
    s = senders.flow[f]
    window = int64(min(s.cwnd, s.most))
    while s.written <= 0:
        s.written += BUFFER_PACKETS
    if s.written <= min(room, segment_size):
        return False
    if room >= segment_size or WINDOW_DIVISOR * room >= window or clock[NOW] - s.wrote_at > MAX_DEFERRAL:
        return False
    d = senders.rule[s.rule]
    head = clock[NOW]
    if d.sent_first < d.sent_last:
        head = senders.history[d.history + (d.sent_first & d.sent_mask)].sent
    elif net.counters[OUT] == 0:
        return False
    return head + s.smooth_rtt - clock[NOW] <= min(0.5 * s.smooth_rtt, MAX_DEFERRAL)


@compiled
def send_segments(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send new packets of flow f up to the window in segments, when due or ``forced``; ``burst`` 0: no limit."""
    s = senders.flow[f]
    window = min(int64(min(s.cwnd, s.most)) + int64(s.inflation), int64(s.most))
    segment_size = segment_of(senders, f)
    sent = 0
    while s.snd_nxt < s.snd_una + window and s.snd_nxt < s.size:
        room = int64(s.snd_una + window - s.snd_nxt)
        if should_defer(net, senders, f, room, segment_size):
            return
        if not forced and must_wait(net, senders, f):
            return
        packets = min(min(room, segment_size), max(window // 2, int64(1)))
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

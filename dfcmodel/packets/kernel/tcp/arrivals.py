"""Sources with arrivals by a user function or a trace, and window senders whose data arrive in this way."""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_event, compiled

from ..calendar_queue import OUT
from ..layout import ON_ACK, int64
from ..random_numbers import uniform
from .deliveries import mark_limited
from .timers import NOW, wake_at

__all__ = [
    "BURST",
    "CALLED",
    "COMPLETE",
    "GROWING",
    "REPLAYED",
    "TINY",
    "add_data",
    "arrive",
    "may_grow",
]

CALLED, REPLAYED = 3, 4  # kinds of sources in addition to `sources`
GROWING, COMPLETE = 1, 2
"""Data of a window sender: arrivals continue, or have ended; 0: all data are available from the start."""
BURST = 64  # maximum packets per event; the rest of a batch follows at the same time
TINY = 1.1102230246251565e-16  # 2^-53, the minimum random number passed to a function
MAX_BATCH = 2147483646.0


@compiled
def next_arrival(net: Any, senders: Any, f: int) -> None:
    """Set time ``due`` and size ``batch`` of flow f's next arrival, from a function or a trace; inf: none.

    An invalid wait or number of packets remains in the first two fields of the source's row, with the time in
    ``clocked``.
    """
    s = senders.flow[f]
    now = senders.clock[NOW]
    if s.onoff == REPLAYED:
        n = int64(s.row)
        if n == s.row_end:
            s.due = math.inf
            return
        s.row = n + 1
        s.due = s.clocked + senders.arrivals[n, 0]
        s.batch = int(senders.arrivals[n, 1])
        return
    at = len(net.port) - 1 + f
    d = senders.rule[s.source]
    last = d.ssthresh if s.since > 0 else 0.0
    random = max(uniform(net.stream, at), TINY)
    random2 = max(uniform(net.stream, at), TINY)
    s.since += 1
    s.clocked = now
    call_event(senders.events[s.source_kind, ON_ACK], d, now, last, random, random2)
    due = now + d.cwnd
    batch = d.ssthresh
    s.due = math.inf
    is_wait = d.cwnd > 0.0 or (d.cwnd == 0.0 and s.since == 1)
    if is_wait and due < math.inf and 1.0 <= batch <= MAX_BATCH and batch == math.floor(batch):
        s.due = due
        s.batch = int(batch)


@compiled
def arrive(net: Any, senders: Any, f: int) -> None:
    """Send the packets that arrive at source f now, at most BURST per event, and schedule the next arrival."""
    counters = net.counters
    s = senders.flow[f]
    now = senders.clock[NOW]
    if s.due < 0.0:  # the start
        s.due = now
        s.clocked = now
    if now != s.due:
        return
    count = min(int64(s.batch), int64(s.size) - int64(s.sent), BURST)
    for _ in range(count):
        senders.out[counters[OUT], 0] = s.sent
        senders.out[counters[OUT], 1] = 0
        counters[OUT] += 1
        s.sent += 1
    s.batch -= count
    if s.sent >= s.size:
        s.due = math.inf
        return
    if s.batch == 0:
        next_arrival(net, senders, f)
    if s.due < math.inf:
        wake_at(net, f, s.due, f)
    else:
        s.size = s.sent


@compiled
def add_data(net: Any, senders: Any, f: int) -> None:
    """Add the arrived data to window sender f, and schedule the next arrival; after the last one it is COMPLETE."""
    s = senders.flow[f]
    now = senders.clock[NOW]
    if s.clocked < 0.0:  # the start
        s.clocked = now
    if s.samples == 1:
        mark_limited(senders, f)
    elif s.snd_una == s.snd_max:
        s.limited_time += now - s.counted_at
        s.counted_at = now
    s.size = min(int64(s.size) + int64(s.batch), int64(s.on))
    s.batch = 0
    s.due = math.inf
    if s.size < int64(s.on):
        next_arrival(net, senders, f)
    if s.due < math.inf:
        wake_at(net, f, s.due, f)
    else:
        s.supply = COMPLETE


@compiled
def may_grow(senders: Any, f: int) -> bool:
    """Return whether an ACK may grow flow f's window: data waited, or it was full; count the time without data.

    A window that is not fully used does not grow (RFC 9002, 7.8), and its rule's time stops (RFC 9438, 5.8).
    For a rule of deliveries samples are marked as application-limited instead.
    """
    s = senders.flow[f]
    if s.samples == 1:
        mark_limited(senders, f)
        return True
    now = senders.clock[NOW]
    limited = s.snd_nxt >= s.size and s.snd_max - s.snd_una < int(min(s.cwnd, s.most))
    if limited:
        s.limited_time += now - s.counted_at
    s.counted_at = now
    return not limited

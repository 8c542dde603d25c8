"""What passes a port under diffusion-type flow control on its way between two ports with calendar queues.

These are nearly all events of such a port. Messages, dropped packets, and packets that continue to a port without a
calendar queue or to the end of their flow, are left to `process_port_window`. Without this loop "chain of 123 Gb/s
under DFC" of `benchmarks/whole_runs.toml` takes 1.6 times as long.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined, prefetch

from ..calendar_queue import next_arrival, push
from ..codes import PAUSE
from ..layout import CLASSES, int64
from ..queues.buffers import is_full, queue_bytes, record_bytes, record_peak
from .diffusion import enter_rated, largest_credit, take_rated
from .ports import count_starts

__all__ = ["has_plain_rates", "pass_rated"]


@inlined
def has_plain_rates(port: Any) -> bool:
    """Return whether a DFC port has no manager, no effects on packets, no pauses and no trace."""
    return port.manager == 0 and port.effects == 0 and port.pausing == 0 and port.paused == 0 and port.traced == 0


@inlined
def next_leaving(net: Any, port: Any) -> tuple[int, float]:
    """Return (lane, time) of the next departure at a DFC port; lane -1: several lanes have packets."""
    diffusive = net.diffusive
    c = int64(port.lane)
    if port.lanes == 1:
        return c, max(port.free, diffusive[c].ready)
    past = c + port.lanes
    found = -1
    busy = 0
    least = math.inf
    while c < past:
        if net.lane[c].count > 0:
            busy += 1
            found = c
            if diffusive[c].ready < least:
                least = diffusive[c].ready
        c += 1
    return (found if busy == 1 else -1), max(port.free, least)


@compiled
def pass_rated(net: Any, records: Any, u: int, b: int, past: int, end: float) -> tuple[int, bool]:
    """Queue and send packets at plain DFC port u up to another kind of event; return (next bucket, whether any passed).

    Return the bucket of the next arrival, and whether there was any event. A call: inlined, NewReno's permutation under
    PFC takes 1.05 to 1.11 times as long.
    """
    packet, hop = net.packet, net.hop
    scale = records.scale
    rows = len(records.lost) - 1
    port = net.port[u]
    did = False
    while True:
        b, e, came = next_arrival(net, port, b, past, end)
        while port.waiting > 0 and port.free < came:
            c, time = next_leaving(net, port)
            if time >= came:
                break
            if c < 0:
                c = largest_credit(net, u, time)
            sent = int64(net.lane[c].head)
            it = packet[sent]
            h = int64(it.hop)
            p = int64(hop[h + 1].port)
            if p < 0 or hop[h + 1].queue < 0:
                return b, did
            take_rated(net, u, c, time)
            first = min(int(it.time * scale), rows)
            row = min(int(time * scale), rows)
            if first != row:
                records.waiting[first, u] += 1
                records.waiting[row, u] -= 1
                if port.unit > 0.0:
                    record_bytes(net, records, u, queue_bytes(net, u, sent), it.time, time)
            if row < rows:
                records.waited[h] += time - it.time
                count_starts(records.started, row, h, h + 1)
            spent = net.times[u * CLASSES + int64(it.size)]
            port.free = time + spent.transmission
            it.hop = h + 1
            push(net, sent, p, time + spent.passage, int64(spent.rank))
            did = True
        if e < 0 or packet[e].number <= PAUSE or is_full(port, queue_bytes(net, u, e)):
            return b, did
        following = int64(packet[e].next)
        if following >= 0:
            prefetch(packet, following)
        net.bucket[port.at + (b & port.mask)].head = following
        port.count -= 1
        enter_rated(net, u, int64(hop[int64(packet[e].hop)].lane), e)
        if int(came * scale) < rows:
            record_peak(net, records, u, port.waiting + port.held)
        did = True

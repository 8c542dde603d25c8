"""What an ingress counts, and the messages by which a port pauses it (IEEE 802.1Q, 36)."""

from __future__ import annotations

from typing import Any

from .jit import compiled, inlined
from .layout import PAUSE, RESUME, int64
from .windows import SWITCHED, push, take

__all__ = ["count", "receive_message"]


@compiled
def ask(net: Any, records: Any, p: int, k: int, time: float) -> None:
    """Send a pause or resume message of port p for ingress k, and record it; beyond the last row it is only counted."""
    row = net.ingress[k]
    row.asking = 1 - row.asking
    switches, counters = records.switches, net.counters
    n = counters[SWITCHED]
    counters[SWITCHED] = n + 1
    if n < len(switches):
        switches[n, 0] = time
        switches[n, 1] = p
        switches[n, 2] = row.asking
        switches[n, 3] = row.port
        switches[n, 4] = row.priority
    e = take(net)
    net.packet[e].kind = PAUSE if row.asking == 1 else RESUME
    net.packet[e].flow = row.port
    span = net.port[row.port].delay + net.port[p].signalling
    push(net, e, int64(row.port), time + span, -1 - p)


@inlined
def count(net: Any, records: Any, p: int, k: int, more: float, time: float) -> None:
    """Count bytes that enter or leave the queue of a port by their ingress, and pause it or let it go on."""
    port = net.port[p]
    row = net.ingress[k]
    row.count += more
    if row.asking == 1:
        if row.count <= port.low:
            ask(net, records, p, k, time)
    elif row.count > port.high:
        ask(net, records, p, k, time)


@inlined
def receive_message(net: Any, p: int, e: int) -> None:
    """Count the ports that pause the data of a port."""
    net.port[p].paused += 1 if net.packet[e].kind == PAUSE else -1

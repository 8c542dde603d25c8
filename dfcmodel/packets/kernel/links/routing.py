"""Decisions of a switch on an arriving packet before it is queued: its next hop, and the end of its time to live.

Ports at which this is decided have a watchdog in their chain. The ports of a switch are processed event by event, since
a choice depends on all their queues.
"""

from __future__ import annotations

from typing import Any

from dfcmodel.network.drop_causes import BY_WATCHDOG, EXPIRED
from hopflow.kernels.marks import compiled

from ..calendar_queue import push
from ..layout import BY_LAW, EXPIRES, int64
from .laws import count_refused
from .watchdogs import is_discarded

__all__ = ["MOVED", "PASSES", "route_packet"]

PASSES, MOVED = -1, -2


@compiled
def length_of(net: Any, h: int, time: float) -> int:
    """Return how many packets are at the port of hop h: in its queues, paused or not, and in transmission."""
    port = net.port[int64(net.hop[h].port)]
    return int64(port.waiting) + int64(port.held) + (1 if port.free >= time else 0)


@compiled
def least_queue(net: Any, h: int, time: float) -> int:
    """Return the hop, among h and its alternatives at the switch, whose port has the fewest packets; h at a tie."""
    found = h
    least = length_of(net, h, time)
    first = int64(net.choice[h, 0])
    for n in range(first, first + int64(net.choice[h, 1])):
        other = int64(net.candidates[n])
        length = length_of(net, other, time)
        if length < least:
            least = length
            found = other
    return found


@compiled
def route_packet(net: Any, records: Any, u: int, e: int, time: float) -> int:
    """Route arriving packet e: return PASSES (it stays at port u), MOVED (to another port), or the cause of a drop."""
    it = net.packet[e]
    h = int64(it.hop)
    if len(net.choice) > 1:
        if net.choice[h, 1] == EXPIRES:
            if net.port[u].by_turns == BY_LAW:
                count_refused(net, u, e, time)
            return EXPIRED
        chosen = least_queue(net, h, time)
        if chosen != h:
            it.hop = chosen
            push(net, e, int64(net.hop[chosen].queue), time, int64(it.key))
            return MOVED
    if is_discarded(net, records, u, int64(net.hop[h].lane), time):
        return BY_WATCHDOG
    return PASSES

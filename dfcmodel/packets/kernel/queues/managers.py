"""Queue managers of ports with lanes: CoDel, PIE, PI2, and those called by address.

Functions that run for managed ports alone are calls, not inlined: they cost nothing elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..called_managers import ACCEPT, DROP, MARK, Backlog, ask
from ..codes import UNMARKABLE
from ..layout import BLIND, BY_CLASS, BY_LAW, int64
from ..random_numbers import uniform
from .coupled import dualpi2_verdict
from .early import admit_early

__all__ = [
    "ACCEPT",
    "ALL_LANES",
    "BEGIN_DROPPING",
    "BY_ADDRESS",
    "CODEL",
    "COUPLED",
    "DELIVER",
    "DROP",
    "EARLY_DETECTION",
    "KEEP_DROPPING",
    "MARK",
    "NO_LANE",
    "PROPORTIONAL",
    "SQUARED",
    "admit_lane",
    "admit_proportional",
    "control_delay",
    "is_managed",
    "is_markable",
    "is_scalable",
    "mark_leaving",
    "update_probability",
]

# from CODEL on also of packets that do not wait, from PROPORTIONAL on with a state that changes over time
NONE, EARLY_DETECTION, BY_ADDRESS, CODEL, PROPORTIONAL, SQUARED, COUPLED = 0, 1, 2, 3, 4, 5, 6
ALL_LANES, NO_LANE = -1, -2  # in place of the lane that a manager sees
DELIVER, KEEP_DROPPING, BEGIN_DROPPING = 0, 1, 2  # what CoDel does with the packet at the head


@inlined
def is_markable(net: Any, senders: Any, e: int) -> bool:
    """Return whether packet e is data with an ECN-capable transport (RFC 3168, ECT), marked instead of dropped."""
    it = net.packet[e]
    s = senders.flow[it.flow]
    return it.hop < s.turn and s.recovery != BLIND and it.ecn & UNMARKABLE == 0


@inlined
def is_scalable(net: Any, senders: Any, e: int) -> bool:
    """Return whether packet e is data with ECT(1), whose sender answers each mark (RFC 9331)."""
    s = senders.flow[net.packet[e].flow]
    return net.packet[e].hop < s.turn and s.accurate == 1


@compiled
def control_delay(control: Any, p: int, now: float, delay: float, backlogged: bool, after: int) -> int:
    """Return CoDel's decision at port p on a packet that leaves after ``delay`` s; ``after``: its decision just before.

    Returns DELIVER, KEEP_DROPPING or BEGIN_DROPPING. ``backlogged``: more bytes remain in the queue than a data packet
    has; ``after`` is the decision on the packet before it at the same time.
    """
    c = control[p]
    long = delay >= c.target and backlogged
    above = long and c.deadline > 0.0 and now >= c.deadline
    if not long:
        c.deadline = 0.0
    elif c.deadline == 0.0:
        c.deadline = now + c.interval
    if after == BEGIN_DROPPING:
        more = c.count - c.last_count
        c.dropping = 1
        c.count = more if more > 1.0 and now - c.next < 16.0 * c.interval else 1.0
        c.last_count = c.count
        c.next = now + c.interval / math.sqrt(c.count)
        return DELIVER
    if c.dropping == 0:
        return BEGIN_DROPPING if above else DELIVER
    if not above:
        c.dropping = 0
        return DELIVER
    if after == KEEP_DROPPING:
        c.next += c.interval / math.sqrt(c.count)
    if now < c.next:
        return DELIVER
    c.count += 1.0
    return KEEP_DROPPING


@compiled
def update_probability(control: Any, p: int, now: float, queued: float) -> None:
    """Apply PIE's updates due before ``now``, with ``queued`` bytes waiting at all of them (RFC 8033, 4.2 to 4.4)."""
    c = control[p]
    delay = queued * c.pace
    while c.next < now:
        change = c.alpha * (delay - c.target) + c.beta * (delay - c.delay)
        if c.p < 1e-6:
            change /= 2048.0
        elif c.p < 1e-5:
            change /= 512.0
        elif c.p < 1e-4:
            change /= 128.0
        elif c.p < 1e-3:
            change /= 32.0
        elif c.p < 1e-2:
            change /= 8.0
        elif c.p < 0.1:
            change /= 2.0
        c.p = min(1.0, max(0.0, c.p + change))
        if delay == 0.0 and c.delay == 0.0:
            c.p *= 0.98
        c.burst = max(0.0, c.burst - c.interval)
        if c.p == 0.0 and delay < 0.5 * c.target and c.delay < 0.5 * c.target:
            c.burst = c.most_burst
        c.delay = delay
        c.next += c.interval


@compiled
def admit_proportional(net: Any, p: int, waiting: int) -> int:
    """Draw PIE's decision, ACCEPT or DROP, on an arrival that finds ``waiting`` packets, after `update_probability`."""
    c = net.control[p]
    if c.burst > 0.0 or waiting <= 2 or (c.delay < 0.5 * c.target and c.p < 0.2):
        return ACCEPT
    return DROP if uniform(net.stream, p) < c.p else ACCEPT


@compiled
def verdict_of(net: Any, p: int, now: float, markable: bool, scalable: bool, size: float) -> int:
    """Update port p's manager by a packet, ``size`` bytes, that comes or leaves; return what to do: ACCEPT, MARK, DROP.

    It sees all lanes of the port but that of the control class, or one.
    """
    lane = net.lane
    port = net.port[p]
    queued = port.waiting + port.held
    left = port.bytes
    first = port.lane
    by_class = port.by_turns == BY_CLASS or port.by_turns == BY_LAW
    if by_class and port.levels == 2:
        queued -= lane[first].count
        left -= lane[first].bytes
        first += 1
    end = port.lane + port.lanes
    if port.managed >= 0:
        queued = int64(lane[port.managed].count)
        left = lane[port.managed].bytes
        first = port.managed
        end = first + 1
    waiting = float(queued) if port.unit == 0.0 else left
    verdict = ACCEPT
    if port.manager == EARLY_DETECTION:
        idle = now - max(0.0, port.free) if port.free < now else -1.0
        verdict = admit_early(net, p, queued, waiting, idle, size)
    elif port.manager == PROPORTIONAL:
        verdict = admit_proportional(net, p, queued)
    elif port.manager == SQUARED:
        verdict = dualpi2_verdict(net, p, scalable, markable, 0.0, 0.0)
    elif port.manager == BY_ADDRESS:
        since = -1.0  # when the last of what is at the head of a queue came
        for c in range(first, end):
            if lane[c].count > 0:
                since = max(since, net.packet[lane[c].head].time)
        delay = now - since if since >= 0.0 else 0.0
        capacity = net.called[p].capacity if port.paused == 0 else 0.0
        unit = port.unit if port.unit > 0.0 else 1.0
        most = float(port.room) / unit + 1.0
        verdict = ask(net, p, now, Backlog(waiting / unit, most, capacity, delay))
    return verdict


@inlined
def is_managed(net: Any, port: Any, e: int) -> bool:
    """Return whether a port's manager decides on packet e: never in the control class, or outside its own class."""
    h = int64(net.packet[e].hop)
    managed = port.managed == ALL_LANES or port.managed == net.hop[h].lane
    return net.hop[h].ingress >= 0 and managed


@compiled
def mark_leaving(net: Any, p: int, e: int, now: float, markable: bool) -> None:
    """Mark departing packet e if ``markable`` and port p's manager decides so, by the queue behind it; drop nothing."""
    if verdict_of(net, p, now, markable, False, 0.0) == MARK and markable:
        net.packet[e].marked = 1


@compiled
def admit_lane(net: Any, p: int, e: int, now: float, markable: bool, scalable: bool) -> bool:
    """Return whether port p's manager accepts arriving packet e, perhaps marked; a mark if not ``markable``: False."""
    verdict = verdict_of(net, p, now, markable, scalable, net.sizes[net.packet[e].size])
    if verdict == MARK:
        if not markable:
            return False
        net.packet[e].marked = 1
    return verdict != DROP

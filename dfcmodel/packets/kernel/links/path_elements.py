"""Path elements in front of the queue of a port and behind it, and link rates that change over time.

A packet passes the elements of its hop in their order, which stands in ``chain``. One that is held enters the calendar
queue of the same port again, with a key that says where in its chain it goes on. The decision of an element is a
function of its class, called by address: `dfcmodel.network.elements.base.PathElement.on_packet` before the queue,
`on_leaving` at the start of the transmission. Elements that need more than a packet and their state are here: traces
and batches. The oracle is `tests.oracles.packets.path_elements`.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_manager, compiled

from ..calendar_queue import CROWDED, push, release, take
from ..codes import FLUSH
from ..layout import CLASSES, int64
from ..queues.managers import is_markable
from ..random_numbers import uniform
from .pauses import RENEWALS

__all__ = [
    "BATCH",
    "BY_ADDRESS",
    "DELAYS",
    "FIELDS",
    "HELD",
    "PASSED",
    "RELEASED",
    "delay_of_rate",
    "flush",
    "leave_elements",
    "pass_elements",
]

RELEASED = RENEWALS - 2**20  # smallest key of packets that go on in their chain: after arrivals
PASSED, HELD = -1, -2  # beside the causes of drops
BY_ADDRESS, DELAYS, BATCH = 0, 1, 2  # kinds of elements: of a function, of a trace, batches of a number of packets
MAX_COPIES = 8
LATEST = 1.0 + 1e-9  # over the longest time for which an element holds a packet, in spite of rounding
IS_DROP, IS_MARK, IS_UNTIL, IS_COPIES = range(1, 5)  # what is refused
FIELDS = ("", "drop", "mark", "until", "copies")  # their names


@compiled
def value_at(net: Any, k: int, time: float) -> float:
    """Return the value of the trace of element k at a time, s; successive calls may go back by at most one period."""
    w = net.element[k]
    t = time
    if w.period < math.inf:
        t = time - math.floor(time / w.period) * w.period
    n = int64(w.place)
    if net.steps[w.row + n, 0] > t:
        n = 0
    while n + 1 < w.rows and net.steps[w.row + n + 1, 0] <= t:
        n += 1
    w.place = n
    return float(net.steps[w.row + n, 1])


@compiled
def write_inputs(net: Any, senders: Any, u: int, e: int, element: Any, time: float) -> None:
    """Write inputs ``seen``, some random, of ``element``, a row, for packet e at port u, and clear its outputs.

    The packet came to the queue at its own ``time``, s.
    """
    port = net.port[u]
    it = net.packet[e]
    element.drop = 0.0
    element.mark = 0.0
    if element.until >= 0:
        element.state[element.until] = 0.0
    if element.copies >= 0:
        element.state[element.copies] = 0.0
    element.seen[0] = time
    element.seen[1] = float(it.flow)
    element.seen[2] = float(it.number)
    element.seen[3] = net.passing[it.hop].priority
    element.seen[4] = 1.0 if it.hop > senders.flow[it.flow].turn else 0.0
    element.seen[5] = 1.0 if is_markable(net, senders, e) else 0.0
    element.seen[6] = float(it.marked)
    element.seen[7] = net.sizes[it.size]
    element.seen[8] = net.sizes[it.size] / net.sizes[0]
    element.seen[9] = float(port.waiting + port.held)
    element.seen[10] = uniform(net.stream, u) if element.draws > 0 else 0.0
    element.seen[11] = uniform(net.stream, u) if element.draws > 1 else 0.0
    element.seen[12] = time - it.time


@compiled
def is_valid(net: Any, element: Any, time: float, function: int) -> bool:
    """Return whether the outputs of ``function``, 0 or 1, are valid; record the first invalid one: it ends the run."""
    until = element.state[element.until] if element.until >= 0 else 0.0
    copies = element.state[element.copies] if element.copies >= 0 else 0.0
    failed = 0
    if not (0.0 <= element.drop <= element.cause_count and element.drop == math.floor(element.drop)):
        failed = IS_DROP
    elif not (element.mark == 0.0 or element.mark == 1.0):
        failed = IS_MARK
    elif not until <= (time + element.hold) * LATEST:
        failed = IS_UNTIL
    elif not (0.0 <= copies <= MAX_COPIES and copies == math.floor(copies)):
        failed = IS_COPIES
    if failed == 0:
        return True
    if element.failed == 0:
        element.failed = failed
        element.failed_in = function
        element.failed_at = time
        element.failed_value = (element.drop, element.mark, until, copies)[failed - 1]
    net.counters[CROWDED] = 1
    return False


@compiled
def copy_packet(net: Any, e: int) -> int:
    """Return the row of a new copy of packet e (or an ACK), counted as copied at its hop; it is not scheduled yet."""
    m = take(net)
    packet = net.packet
    packet[m].number = packet[e].number
    packet[m].flow = packet[e].flow
    packet[m].hop = packet[e].hop
    packet[m].size = packet[e].size
    packet[m].marked = packet[e].marked
    packet[m].ecn = packet[e].ecn
    net.sent_at[m] = net.sent_at[e]
    if len(net.block) > 1:
        for n in range(net.block.shape[1]):
            net.block[m, n] = net.block[e, n]
    if len(net.trimmed) > 1:
        net.trimmed[m] = net.trimmed[e]
    if len(net.telemetry) > 1:
        for k in range(net.telemetry.shape[1]):
            for n in range(net.telemetry.shape[2]):
                net.telemetry[m, k, n] = net.telemetry[e, k, n]
    net.passing[packet[e].hop].copied += 1
    return m


@compiled
def release_at(net: Any, senders: Any, u: int, e: int, k: int) -> float:
    """Call element k, which may mark packet e; return the time, s, at which it passes e on; -1 - cause for a drop."""
    w = net.element[k]
    it = net.packet[e]
    time = it.time
    if w.kind == DELAYS:
        return time + value_at(net, k, time)
    write_inputs(net, senders, u, e, w, time)
    call_manager(w.event, w)
    if not is_valid(net, w, time, 0):
        if w.copies >= 0:
            w.state[w.copies] = 0.0
        return time
    if w.drop > 0.0:
        return -1.0 - w.causes[int64(w.drop) - 1]
    if w.mark == 1.0 and w.seen[5] == 1.0:
        it.marked = 1
    return max(time, w.state[w.until]) if w.until >= 0 else time


@compiled
def pass_on(net: Any, u: int, k: int, time: float) -> None:
    """Put all packets of the batch of element k into the calendar queue of port u again, at a time, s."""
    w = net.element[k]
    e = int64(w.head)
    for _ in range(w.count):
        following = int64(net.packet[e].next)
        push(net, e, u, time, int64(net.packet[e].key))
        e = following
    w.count = 0


@compiled
def flush(net: Any, u: int, e: int) -> None:
    """Process the timer e of a batch: pass on a batch that is due; wait for the next one if that has begun since."""
    it = net.packet[e]
    k = int64(it.hop)
    w = net.element[k]
    if w.count > 0 and w.last > it.time:
        push(net, e, u, w.last, RELEASED - 1)
        return
    if w.count > 0:
        pass_on(net, u, k, it.time)
    w.waits = 0
    release(net, e)


@compiled
def collect(net: Any, u: int, e: int, k: int, key: int) -> None:
    """Add packet e to the batch of element k; pass the batch on when it is full, otherwise at its time limit."""
    w = net.element[k]
    it = net.packet[e]
    time = it.time
    it.key = key
    it.next = -1
    if w.count == 0:
        w.head = e
        w.last = time + w.parameters[1]
        if w.waits == 0:
            w.waits = 1
            m = take(net)
            net.packet[m].number = FLUSH
            net.packet[m].hop = k
            push(net, m, u, w.last, RELEASED - 1)
    else:
        net.packet[w.tail].next = e
    w.tail = e
    w.count += 1
    if w.count >= w.parameters[0]:
        pass_on(net, u, k, time)


@compiled
def pass_elements(net: Any, senders: Any, u: int, e: int) -> int:
    """Apply port u's elements to packet e, which they may mark or copy; return PASSED, HELD, or the cause of a drop."""
    it = net.packet[e]
    time = it.time
    i = int64(it.key) - RELEASED if it.key >= RELEASED else int64(net.passing[it.hop].chain)
    while net.chain[i] >= 0:
        k = int64(net.chain[i])
        i += 1
        w = net.element[k]
        if w.kind == BATCH:
            collect(net, u, e, k, RELEASED + i)
            return HELD
        if w.kind == BY_ADDRESS and w.event == 0:
            continue
        at = release_at(net, senders, u, e, k)
        if at < 0.0:
            return int(-1.0 - at)
        waits = at > time
        if w.in_order == 1:
            waits = waits or w.last >= time  # behind one that is passed on at the same time
            at = max(at, w.last)
            w.last = at
        if waits:
            push(net, e, u, at, RELEASED + i)
        if w.copies >= 0:  # behind the packet, through the same elements
            for _ in range(int64(w.state[w.copies])):
                push(net, copy_packet(net, e), u, at, RELEASED + i)
        if waits:
            return HELD
    return PASSED


@compiled
def leave_elements(net: Any, senders: Any, u: int, e: int, time: float) -> int:
    """Apply port u's elements to packet e, which leaves the queue; return PASSED, or the cause of a drop."""
    i = int64(net.passing[net.packet[e].hop].chain)
    while net.chain[i] >= 0:
        w = net.element[net.chain[i]]
        i += 1
        if w.leaving == 0:
            continue
        write_inputs(net, senders, u, e, w, time)
        call_manager(w.leaving, w)
        if not is_valid(net, w, time, 1):
            return PASSED
        if w.drop > 0.0:
            return int(w.causes[int64(w.drop) - 1])
        if w.mark == 1.0 and w.seen[5] == 1.0:
            net.packet[e].marked = 1
    return PASSED


@compiled
def delay_of_rate(net: Any, u: int, e: int, time: float) -> float:
    """Return by how many s packet e, sent at ``time``, takes longer than at the maximum rate; times must not fall."""
    w = net.element[net.rated[u]]
    full = net.times[u * CLASSES + int64(net.packet[e].size)].transmission
    base = 0.0
    if w.period < math.inf:
        base = math.floor(time / w.period) * w.period
    n = int64(w.place)
    if base != w.last:
        n = int64(0)
    left = full
    now = time
    while left > 0.0:
        past = n + 1 == w.rows
        end = base + (w.period if past else net.steps[w.row + n + 1, 0])
        part = net.steps[w.row + n, 1]
        room = max(0.0, end - now) * part
        if left <= room:
            now += left / part
            left = 0.0
        else:
            left -= room
            now = max(now, end)
            n += 1
            if past:
                n = 0
                base += w.period
    w.place = n
    w.last = base
    return max(0.0, now - time - full)

"""What stands in front of the queue of a port: delays, batches, losses in bursts, policers; and rates over time.

A packet passes the elements of its hop in their order, which stands in ``chain``. One that is held enters the calendar
queue of the same port again, with a key that says where in its chain it goes on. The oracle is
`tests.oracles.packets.path_elements`.
"""

from __future__ import annotations

import math
from typing import Any

from dfcmodel.network.drop_causes import AT_RANDOM, BY_POLICER
from hopflow.kernels.marks import compiled

from ..calendar_queue import push, release, take
from ..codes import FLUSH
from ..layout import CLASSES, int64
from ..random_numbers import uniform
from .pauses import RENEWALS
from .ports import drop

__all__ = [
    "HAS_ELEMENTS",
    "RELEASED",
    "flush",
    "pass_elements",
    "slowed_time",
]

RELEASED = RENEWALS - 2**20  # smallest key of packets that go on in their chain: after arrivals
HAS_ELEMENTS = 2  # ``plain`` of a port with elements
UNIFORM, CONSTANT, DELAYS, OVERTAKEN, SLOTS, BATCH, TOKENS, STATES = 0, 1, 2, 3, 4, 5, 6, 7
PERIODIC = 8
ROUNDING = 1e-9  # of tokens, packets


@compiled
def value_at(net: Any, k: int, time: float) -> float:
    """Return the value of the trace of element k at a time; from call to call times fall by a period at most."""
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
def release_at(net: Any, u: int, e: int, k: int, time: float) -> float:
    """Return when an element passes on a packet that comes at a time, s; -1 less the cause: it drops it."""
    w = net.element[k]
    if w.kind == TOKENS:
        tokens = min(w.second, w.state + (time - w.last) * w.first)
        w.last = time
        need = net.sizes[net.packet[e].size] / net.sizes[0]
        if tokens + ROUNDING < need:
            w.state = tokens
            return -1.0 - BY_POLICER
        w.state = tokens - need
        return time
    if w.kind == STATES:
        leaves = w.second if w.state > 0.0 else w.first
        if uniform(net.stream, u) < leaves:
            w.state = 1.0 - w.state
        lost = w.third if w.state > 0.0 else w.fourth
        return -1.0 - AT_RANDOM if uniform(net.stream, u) < lost else time
    if w.kind == PERIODIC:
        w.state += 1.0
        if w.state < w.first:
            return time
        w.state = 0.0
        return -1.0 - AT_RANDOM
    if w.kind == OVERTAKEN:
        return time + w.second if uniform(net.stream, u) < w.first else time
    if w.kind == SLOTS:
        return max(time, math.ceil(time / w.first) * w.first)
    hold = w.first
    if w.kind == UNIFORM:
        hold = w.first * uniform(net.stream, u)
    elif w.kind == DELAYS:
        hold = value_at(net, k, time)
    return time + hold


@compiled
def pass_on(net: Any, u: int, k: int, time: float) -> None:
    """Pass on all that element k has collected."""
    w = net.element[k]
    e = int64(w.head)
    for _ in range(w.count):
        following = int64(net.packet[e].next)
        push(net, e, u, time, int64(net.packet[e].key))
        e = following
    w.count = 0


@compiled
def flush(net: Any, u: int, e: int) -> None:
    """Pass on a batch whose time is over; wait for that of the next one where it was full before."""
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
    """Add a packet to the batch of element k, and pass all on where it is full."""
    w = net.element[k]
    it = net.packet[e]
    time = it.time
    it.key = key
    it.next = -1
    if w.count == 0:
        w.head = e
        w.last = time + w.second
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
    if w.count >= w.first:
        pass_on(net, u, k, time)


@compiled
def pass_elements(world: Any, u: int, e: int) -> bool:
    """Let a packet that comes to a port pass its elements; return whether it is at the queue, not held or dropped."""
    net = world.net
    it = net.packet[e]
    time = it.time
    i = int64(it.key) - RELEASED if it.key >= RELEASED else int64(net.chain_of[it.hop])
    while net.chain[i] >= 0:
        k = int64(net.chain[i])
        i += 1
        w = net.element[k]
        if w.kind == BATCH:
            collect(net, u, e, k, RELEASED + i)
            return False
        at = release_at(net, u, e, k, time)
        if at < 0.0:
            drop(world, u, e, time, time, int(-1.0 - at))
            return False
        waits = at > time
        if w.in_order == 1:
            waits = waits or w.last >= time  # behind one that is passed on at the same time
            at = max(at, w.last)
            w.last = at
        if waits:
            push(net, e, u, at, RELEASED + i)
            return False
    return True


@compiled
def slowed_time(net: Any, u: int, e: int, time: float) -> float:
    """Return by how much a transmission that begins at a time takes longer than at the largest rate of the link, s."""
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

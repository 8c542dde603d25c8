"""Switch programs of users, called by address: their input for a packet, and packets in the order of their ranks.

Functions that run per packet are calls, not inlined: a program costs as much.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import call_manager, compiled, inlined

from ..calendar_queue import CROWDED
from ..codes import CUT
from ..layout import int64
from ..random_numbers import uniform
from .buffers import queue_bytes
from .managers import is_markable

__all__ = [
    "ARRIVES",
    "CHOOSES",
    "DROPPED",
    "FIELDS",
    "HEADER_SIZE",
    "IS_TURNS",
    "LEAVES",
    "LONGEST",
    "MAX_SKIPS",
    "PASSED",
    "SKIPPED",
    "call_program",
    "cut_packet",
    "leave_ranked",
    "next_ranked",
    "put_in_order",
    "record_failure",
    "take_last",
]

ARRIVES, LEAVES, CHOOSES = 0, 1, 2  # columns of the addresses of a program
PASSED, DROPPED, SKIPPED = 0, 1, 2  # what a program says of a packet
ARRIVAL, LAST, LONGEST = 0, 1, 2  # what is dropped where the buffer is full
IS_DROP, IS_MARK, IS_RANK, IS_SKIP, IS_TRIM, IS_QUEUE, IS_TURNS = range(1, 8)  # what is refused
FIELDS = ("", "drop", "mark", "rank", "skip", "trim", "queue", "turns")  # their names
HEADER_SIZE = 6  # size class of a packet of which only the header is left
MAX_SKIPS = 10_000  # of turns in a row for each packet that waits: as with a credit of a byte per turn


@compiled
def record_failure(net: Any, program: Any, event: int, what: int, value: float) -> None:
    """Record a switch program's first invalid answer, ``value`` of ``what`` in ``event``; the run stops soon after."""
    if program.failed == 0:
        program.failed = what
        program.failed_in = event
        program.failed_flow = int64(program.seen[1])
        program.failed_at = program.seen[0]
        program.failed_value = value
    net.counters[CROWDED] = 1


@compiled
def cut_packet(net: Any, e: int) -> None:
    """Cut packet e to its header, which continues instead of it (NDP: Handley et al. 2017, Sect. 3.1)."""
    it = net.packet[e]
    it.size = HEADER_SIZE
    it.ecn |= CUT
    net.trimmed[e] = it.hop


@inlined
def write_inputs(net: Any, senders: Any, p: int, e: int, now: float, event: int) -> None:
    """Write the input of port p's program for packet e that arrives or leaves, and the program's state for its flow."""
    port = net.port[p]
    w = net.program[p]
    it = net.packet[e]
    s = senders.flow[it.flow]
    own = net.own[it.hop]
    is_ack = int64(it.hop) > s.turn
    for k in range(w.of_flow):
        w.state[w.first_of_flow - 3 + k] = own.state[k]
    is_carried = event == LEAVES and not is_ack and not is_idle(net, w, ARRIVES)
    for k in range(w.of_telemetry):
        carried = net.telemetry[e, own.place, 1 + k] if is_carried else 0.0
        w.state[w.first_of_telemetry - 3 + k] = carried
    w.seen[0] = now
    w.seen[1] = float(it.flow)
    w.seen[2] = own.priority
    w.seen[3] = 1.0 if is_ack else 0.0
    w.seen[4] = 1.0 if is_markable(net, senders, e) else 0.0
    w.seen[5] = net.sizes[it.size]
    w.seen[6] = 1.0 if is_ack else own.size - float(it.number)
    w.seen[7] = 0.0
    w.seen[8] = 0.0
    if event == LEAVES:
        if w.levels > 0:
            w.seen[7] = net.ranked[e].rank
        w.seen[8] = now - it.time
    w.seen[9] = float(port.waiting)
    w.seen[10] = own.waiting
    w.seen[11] = port.bytes
    w.seen[12] = w.capacity
    w.seen[13] = uniform(net.stream, p)
    w.seen[14] = 0.0
    w.seen[15] = 0.0
    w.seen[16] = 0.0
    w.seen[17] = own.hash
    w.seen[18] = 1.0 if it.ecn & CUT != 0 else 0.0
    if w.queues > 0 and event == LEAVES:  # it is still among those that wait
        w.seen[9] -= 1.0
        w.seen[10] -= 1.0
        w.seen[11] -= queue_bytes(net, p, e)


@compiled
def choose(net: Any, p: int) -> bool:
    """Call port p's program to choose a queue for an arrival; return False, and record it, if the index is invalid."""
    w = net.program[p]
    for k in range(w.of_queue):
        w.state[w.first_of_queue - 3 + k] = 0.0
    call_manager(net.programs[w.kind, CHOOSES], w)
    if 0.0 <= w.queue < w.queues:
        w.queue = float(int64(w.queue))
        return True
    record_failure(net, w, CHOOSES, IS_QUEUE, w.queue)
    return False


@inlined
def is_flag(value: float) -> bool:
    """Return whether a number is 0.0 or 1.0."""
    return bool(value == 0.0 or value == 1.0)


@inlined
def find_failure(program: Any) -> int:
    """Return which number of a program's answer is invalid, IS_DROP to IS_TRIM; 0 if all are valid."""
    if not is_flag(program.drop):
        return IS_DROP
    if not is_flag(program.mark):
        return IS_MARK
    if program.rank != program.rank:
        return IS_RANK
    if program.skip >= 0 and not is_flag(program.state[program.skip]):
        return IS_SKIP
    if program.trim >= 0 and not is_flag(program.state[program.trim]):
        return IS_TRIM
    return 0


@compiled
def value_of(program: Any, what: int) -> float:
    """Return the number of a program's answer that ``what``, IS_DROP to IS_TRIM, refers to."""
    if what == IS_DROP:
        return float(program.drop)
    if what == IS_MARK:
        return float(program.mark)
    if what == IS_RANK:
        return float(program.rank)
    return float(program.state[program.skip if what == IS_SKIP else program.trim])


@inlined
def store_answer(net: Any, program: Any, own: Any, is_data: bool, e: int, now: float) -> None:
    """Store a program's state for a flow, ``own``, and a queue; store telemetry, and the time ``now``, in packet e."""
    for k in range(program.of_flow):
        own.state[k] = program.state[program.first_of_flow - 3 + k]
    if program.queues > 0:
        queue = net.program_queue[program.first + int64(program.queue)]
        for k in range(program.of_queue):
            queue.state[k] = program.state[program.first_of_queue - 3 + k]
    if program.of_telemetry > 0 and is_data:
        record = net.telemetry[e, own.place]
        record[0] = now
        for k in range(program.of_telemetry):
            record[1 + k] = program.state[program.first_of_telemetry - 3 + k]


@inlined
def is_idle(net: Any, program: Any, event: int) -> bool:
    """Return whether a program has nothing to do when a packet arrives, or leaves (``event``).

    An arriving packet needs a queue if there are several, and a departing packet with telemetry its departure time.
    """
    if net.programs[program.kind, event] != 0:
        return False
    return bool(program.queues == 0 if event == ARRIVES else program.of_telemetry == 0)


@compiled
def call_program(net: Any, senders: Any, p: int, e: int, now: float, event: int) -> int:
    """Call port p's program for packet e; mark e, set ``cut``; return PASSED, DROPPED or SKIPPED, for the caller to do.

    Its queue is in ``queue`` of the program: written here as it comes, by the caller as it is to leave.
    """
    w = net.program[p]
    if is_idle(net, w, event):
        uniform(net.stream, p)  # the number that it would have seen
        w.cut = 0
        return PASSED
    write_inputs(net, senders, p, e, now, event)
    it = net.packet[e]
    s = senders.flow[it.flow]
    own = net.own[it.hop]
    w.cut = 0
    if w.queues > 0:
        if event == ARRIVES and not choose(net, p):
            return DROPPED
        c = int64(net.port[p].lane + int64(w.queue))
        queue = net.program_queue[w.first + int64(w.queue)]
        inside = 1.0 if event == LEAVES else 0.0
        w.seen[14] = w.queue
        w.seen[15] = float(net.lane[c].count) - inside
        w.seen[16] = queue.bytes - inside * w.seen[5]
        if event == LEAVES:
            w.seen[7] = queue.rank
        for k in range(w.of_queue):
            w.state[w.first_of_queue - 3 + k] = queue.state[k]
    w.drop = 0.0
    w.mark = 0.0
    w.rank = 0.0
    if w.skip >= 0:
        w.state[w.skip] = 0.0
    if w.trim >= 0:
        w.state[w.trim] = 0.0
    if net.programs[w.kind, event] != 0:
        call_manager(net.programs[w.kind, event], w)
    failure = find_failure(w)
    if failure != 0:
        record_failure(net, w, event, failure, value_of(w, failure))
        return DROPPED
    store_answer(net, w, own, it.hop < s.turn, e, now)
    if w.levels > 0 and event == ARRIVES:
        net.ranked[e].rank = w.rank
    if w.mark == 1.0 and w.seen[4] == 1.0:
        it.marked = 1
    if w.drop == 1.0:
        return DROPPED
    if w.trim >= 0 and w.state[w.trim] == 1.0 and it.hop < s.turn and it.ecn & CUT == 0:
        w.cut = 1
    if event == LEAVES and w.skip >= 0 and w.state[w.skip] == 1.0:
        return SKIPPED
    return PASSED


@inlined
def draw_height(program: Any) -> int:
    """Return a random number of skip-list levels for a packet: k or more with probability 4^-k, at most all.

    The bits are of the program's own xorshift: a run draws the same random numbers as with a sorted list.
    """
    x = program.height_bits
    x ^= x << 13
    x ^= (x >> 7) & 0x1FFFFFFFFFFFFFF
    x ^= x << 17
    program.height_bits = x
    height = 0
    while height < program.levels and x & 3 == 0:
        x >>= 2
        height += 1
    return height


@inlined
def link_packet(net: Any, program: Any, level: int, before: int, e: int, after: int) -> None:
    """Insert packet e between two others on a level of the skip list; before -1: it is first, after -1: last."""
    net.ranked[e].after[level] = after
    if before < 0:
        program.heads[level] = e
    else:
        net.ranked[before].after[level] = e
    if after < 0:
        program.tails[level] = e


@inlined
def append_packet(net: Any, p: int, e: int) -> None:
    """Append packet e to the queue of port p, behind all others, whatever its rank."""
    packet = net.packet
    lane = net.lane[net.port[p].lane]
    packet[e].next = -1
    if lane.count == 0:
        lane.head = e
    else:
        packet[lane.tail].next = e
    lane.tail = e
    join_ranked(net, p, e)


@inlined
def put_in_order(net: Any, p: int, e: int) -> None:
    """Insert packet e into port p's queue behind all packets whose rank is lower or equal.

    The queue is a sorted list, from ``head`` of the lane on, under a skip list (Pugh 1990) that finds a place in it:

    1. Each level above the list of all packets has about a quarter of the packets of the level below.
    2. A packet whose rank is not below that of the last one is appended to its levels by their tails. Equal and rising
       ranks therefore need no search.
    3. A search begins on the highest level. On each level it follows the packets whose ranks are not higher, and
       continues below from the last of them. Only ranks are compared, so that equal ranks keep the order of arrivals.
    """
    packet, ranked = net.packet, net.ranked
    w = net.program[p]
    lane = net.lane[net.port[p].lane]
    if w.levels == 0:  # packets have no ranks
        append_packet(net, p, e)
        return
    height = draw_height(w)
    if lane.count == 0 or ranked[lane.tail].rank <= ranked[e].rank:
        for level in range(height):
            link_packet(net, w, level, int64(w.tails[level]), e, -1)
        append_packet(net, p, e)
        return
    rank = ranked[e].rank
    before = int64(-1)  # the last packet seen that leaves before e
    for level in range(w.levels - 1, -1, -1):
        after = int64(w.heads[level]) if before < 0 else int64(ranked[before].after[level])
        while after >= 0 and ranked[after].rank <= rank:
            before = after
            after = int64(ranked[before].after[level])
        if level < height:
            link_packet(net, w, level, before, e, after)
    after = int64(lane.head) if before < 0 else int64(packet[before].next)
    while ranked[after].rank <= rank:  # the rank of the tail is higher
        before = after
        after = int64(packet[before].next)
    packet[e].next = after
    if before < 0:
        lane.head = e
    else:
        packet[before].next = e
    join_ranked(net, p, e)


@inlined
def join_ranked(net: Any, p: int, e: int) -> None:
    """Count packet e as queued, at port p with a program and at its flow."""
    port = net.port[p]
    net.lane[port.lane].count += 1
    port.waiting += 1
    port.bytes += queue_bytes(net, p, e)
    net.own[net.packet[e].hop].waiting += 1.0


@inlined
def leave_ranked(net: Any, p: int, c: int, e: int) -> None:
    """Count packet e as no longer queued in lane c of port p; the caller unlinks it."""
    port = net.port[p]
    net.lane[c].count -= 1
    port.waiting -= 1
    port.bytes -= queue_bytes(net, p, e)
    net.own[net.packet[e].hop].waiting -= 1.0


@inlined
def next_ranked(net: Any, p: int, time: float) -> int:
    """Remove the packet with the lowest rank from port p's queue, the first of equals, and return its row."""
    w = net.program[p]
    c = int64(net.port[p].lane)
    lane = net.lane[c]
    e = int64(lane.head)
    lane.head = net.packet[e].next
    for level in range(w.levels):
        if w.heads[level] != e:
            break
        w.heads[level] = net.ranked[e].after[level]
        if w.heads[level] < 0:
            w.tails[level] = -1
    lane.left = time
    leave_ranked(net, p, c, e)
    return e


@compiled
def take_last(net: Any, p: int, e: int) -> int:
    """Return the row of the packet to drop at a full buffer: e, or that of the highest rank, removed from the queue."""
    port, packet, ranked = net.port[p], net.packet, net.ranked
    w = net.program[p]
    lane = net.lane[port.lane]
    last = int64(lane.tail)
    if w.overflow != LAST or w.levels == 0 or lane.count == 0 or ranked[last].rank <= ranked[e].rank:
        return e
    before = int64(-1)  # the last packet seen before it
    for level in range(w.levels - 1, -1, -1):
        after = int64(w.heads[level]) if before < 0 else int64(ranked[before].after[level])
        while after >= 0 and after != last:
            before = after
            after = int64(ranked[before].after[level])
        if after == last:
            w.tails[level] = before
            if before < 0:
                w.heads[level] = -1
            else:
                ranked[before].after[level] = -1
    after = int64(lane.head) if before < 0 else int64(packet[before].next)
    while after != last:
        before = after
        after = int64(packet[before].next)
    if before < 0:
        lane.head = -1
    else:
        packet[before].next = -1
    lane.tail = before
    leave_ranked(net, p, int64(port.lane), last)
    return last

"""Queues of switch programs: each is first in first out, and they take turns in the order of their ranks.

The queues in which packets wait are a list that begins in the first lane of the port. Queues of equal ranks take turns:
one whose turn a program ends goes behind them.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import int64
from .buffers import queue_bytes
from .programs import leave_ranked

__all__ = ["join_queue", "leave_queue", "longest_queue", "next_turn", "queue_in_turn"]


@compiled
def enter_turns(net: Any, p: int, c: int) -> None:
    """Insert lane c of port p into its list of turns, behind all lanes whose rank is lower or equal."""
    lane = net.lane
    turns = lane[net.port[p].lane]
    w = net.program[p]
    first = w.first - net.port[p].lane  # from a lane to its row of `QUEUE`
    rank = net.program_queue[first + c].rank
    lane[c].next = -1
    if turns.first < 0:
        turns.first = c
        turns.last = c
    elif net.program_queue[first + turns.last].rank <= rank:
        lane[turns.last].next = c
        turns.last = c
    elif rank < net.program_queue[first + turns.first].rank:
        lane[c].next = turns.first
        turns.first = c
    else:
        before = int64(turns.first)
        while net.program_queue[first + lane[before].next].rank <= rank:
            before = int64(lane[before].next)
        lane[c].next = lane[before].next
        lane[before].next = c


@compiled
def leave_turns(net: Any, p: int, c: int) -> None:
    """Remove lane c of port p from the list of turns of its program's queues, in which it must be."""
    lane = net.lane
    turns = lane[net.port[p].lane]
    before = int64(-1)
    j = int64(turns.first)
    while j != c:
        before = j
        j = int64(lane[j].next)
    if before < 0:
        turns.first = lane[c].next
    else:
        lane[before].next = lane[c].next
    if turns.last == c:
        turns.last = before


@compiled
def join_queue(net: Any, p: int, e: int) -> None:
    """Append packet e to the queue that port p's program chose; a queue that was empty takes the packet's rank."""
    port, packet = net.port[p], net.packet
    w = net.program[p]
    c = int64(port.lane + int64(w.queue))
    lane = net.lane[c]
    queue = net.program_queue[w.first + int64(w.queue)]
    size = net.sizes[packet[e].size]
    packet[e].next = -1
    if lane.count == 0:
        lane.head = e
        queue.rank = w.rank
        enter_turns(net, p, c)
    else:
        packet[lane.tail].next = e
    lane.tail = e
    lane.count += 1
    queue.bytes += size
    port.waiting += 1
    port.bytes += queue_bytes(net, p, e)
    net.own[packet[e].hop].waiting += 1.0


@compiled
def queue_in_turn(net: Any, p: int) -> int:
    """Return the row of the first packet, left in place, of port p's queue in turn; write the queue for the program."""
    c = int64(net.lane[net.port[p].lane].first)
    net.program[p].queue = float(c - net.port[p].lane)
    return int64(net.lane[c].head)


@compiled
def next_turn(net: Any, p: int) -> None:
    """End the turn of port p's first queue: give it the new rank that the program set, and insert it by that rank."""
    w = net.program[p]
    c = int64(net.lane[net.port[p].lane].first)
    leave_turns(net, p, c)
    net.program_queue[w.first + c - net.port[p].lane].rank = w.rank
    enter_turns(net, p, c)


@compiled
def leave_queue(net: Any, p: int, c: int) -> int:
    """Remove the first packet from the queue in lane c of port p, and return its row."""
    lane, packet = net.lane[c], net.packet
    e = int64(lane.head)
    lane.head = packet[e].next
    first = net.port[p].lane
    net.program_queue[net.program[p].first + c - first].bytes -= net.sizes[packet[e].size]
    leave_ranked(net, p, c, e)
    if lane.count == 0:
        leave_turns(net, p, c)
    return e


@compiled
def longest_queue(net: Any, p: int) -> int:
    """Return the lane of the queue with the most bytes at port p; the first in turn of equals."""
    lane = net.lane
    first = net.program[p].first - net.port[p].lane
    found = int64(lane[net.port[p].lane].first)
    c = found
    while c >= 0:
        if net.program_queue[first + c].bytes > net.program_queue[first + found].bytes:
            found = c
        c = int64(lane[c].next)
    return found

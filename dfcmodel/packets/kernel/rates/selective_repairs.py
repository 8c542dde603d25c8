"""Retransmissions of a sender at the rate of a rule whose receiver keeps packets out of order.

The sender has three maps (`bit_maps`): packets selectively acknowledged, to be retransmitted, and requested by a NACK.
A packet enters the second map when it is lost, and leaves it when it is sent or acknowledged: it is retransmitted once,
until the timer expires or the receiver requests it again. A requested packet is not declared lost again when a later
packet is reported.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..layout import int64
from ..tcp.bit_maps import NACKED, SACKED, TO_RETRANSMIT, clear_bit, has_bit, set_bit
from ..tcp.selective import is_sacked, mark_received

__all__ = [
    "acknowledge_up_to",
    "declare_lost",
    "declare_lost_before",
    "lose_at_timeout",
    "next_retransmission",
    "receive_nack",
    "receive_sack",
]


REORDERING = 4
"""Index in ``own`` of a flow: maximum number of packets that overtake a packet."""


@inlined
def first_undecided(s: Any) -> int:
    """Return the first packet that is not yet known to be overtaken or lost."""
    reordering = int(s.own[REORDERING])
    after = int64(s.top) + 1 if reordering == 0 else int64(s.top) - reordering
    return max(after, int64(s.snd_una))


@inlined
def clear_nacked(senders: Any, f: int, number: int) -> bool:
    """Remove a packet from the map of requested packets; return whether it was on the map."""
    s = senders.flow[f]
    was_nacked = bool(s.asked > 0 and clear_bit(senders, f, NACKED, number))
    if was_nacked:
        s.asked -= 1
    return was_nacked


@inlined
def clear_retransmission(senders: Any, f: int, number: int) -> None:
    """Remove a packet from the map of packets to retransmit."""
    s = senders.flow[f]
    if s.again > 0 and clear_bit(senders, f, TO_RETRANSMIT, number):
        s.again -= 1


@compiled
def receive_nack(senders: Any, f: int, number: int) -> None:
    """Schedule a packet that the receiver requests for retransmission."""
    s = senders.flow[f]
    is_open = first_undecided(s) <= number < s.snd_max
    if is_open and set_bit(senders, f, NACKED, number):
        s.asked += 1
    declare_lost(senders, f, number)


@compiled
def declare_lost(senders: Any, f: int, number: int) -> None:
    """Schedule an unacknowledged packet for retransmission, and begin a recovery."""
    s = senders.flow[f]
    if number < s.snd_una or number >= s.snd_max or is_sacked(senders, f, number):
        return
    if not set_bit(senders, f, TO_RETRANSMIT, number):
        return
    s.again = s.again + 1
    if s.again == 1 or number < s.hole:
        s.hole = number
    if s.recovering == 0:
        s.recovering = 1
        s.recover = s.snd_max - 1
        s.loss_events += 1


@compiled
def next_retransmission(senders: Any, f: int) -> int:
    """Remove the first packet to retransmit from its map and return it; -1: none."""
    s = senders.flow[f]
    if s.again == 0:
        return -1
    n = max(int64(s.hole), int64(s.snd_una))
    while not has_bit(senders, f, TO_RETRANSMIT, n):
        n += 1
    clear_retransmission(senders, f, n)
    s.hole = n + 1
    return n


@compiled
def acknowledge_up_to(senders: Any, f: int, number: int) -> None:
    """Remove the packets before ``number``, all of which were received, from the maps; end a recovery."""
    s = senders.flow[f]
    n = int64(s.snd_una)
    while n < number and (s.sacked > 0 or s.again > 0 or s.asked > 0):
        if s.sacked > 0 and clear_bit(senders, f, SACKED, n):
            s.sacked -= 1
        clear_retransmission(senders, f, n)
        clear_nacked(senders, f, n)
        n += 1
    s.snd_una = number
    if s.recovering == 1 and number > s.recover:
        s.recovering = 0


@compiled
def declare_lost_before(senders: Any, f: int, number: int) -> None:
    """Declare lost the packets that ``number`` cannot have overtaken, from the first undecided one on."""
    s = senders.flow[f]
    for n in range(first_undecided(s), number - int(s.own[REORDERING])):
        if not clear_nacked(senders, f, n):
            declare_lost(senders, f, n)


@compiled
def receive_sack(senders: Any, f: int, number: int) -> None:
    """Process a selective acknowledgement of a packet."""
    if number < senders.flow[f].snd_una:
        return
    declare_lost_before(senders, f, number)
    clear_retransmission(senders, f, number)
    clear_nacked(senders, f, number)
    mark_received(senders, f, number, number + 1)


@compiled
def lose_at_timeout(senders: Any, f: int) -> None:
    """Declare lost the packets missing below the highest reported one, or all packets in flight without reports."""
    s = senders.flow[f]
    past = int64(s.top) if s.top >= s.snd_una else int64(s.snd_max)
    s.recovering = 0
    for n in range(int64(s.snd_una), past):
        declare_lost(senders, f, n)

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
    """Return the first packet of a flow (record s) neither acknowledged nor overtaken far enough to count as lost."""
    reordering = int(s.own[REORDERING])
    after = int64(s.top) + 1 if reordering == 0 else int64(s.top) - reordering
    return max(after, int64(s.snd_una))


@inlined
def clear_nacked(senders: Any, f: int, number: int) -> bool:
    """Remove packet ``number`` from flow f's map of requested packets; return whether it was on the map."""
    s = senders.flow[f]
    was_nacked = bool(s.asked > 0 and clear_bit(senders, f, NACKED, number))
    if was_nacked:
        s.asked -= 1
    return was_nacked


@inlined
def clear_retransmission(senders: Any, f: int, number: int) -> None:
    """Remove packet ``number`` from flow f's map of packets to retransmit, if it is on it."""
    s = senders.flow[f]
    if s.again > 0 and clear_bit(senders, f, TO_RETRANSMIT, number):
        s.again -= 1


@compiled
def receive_nack(senders: Any, f: int, number: int) -> None:
    """Process the receiver's request for packet ``number``: list it for retransmission, if unacknowledged."""
    s = senders.flow[f]
    is_open = first_undecided(s) <= number < s.snd_max
    if is_open and set_bit(senders, f, NACKED, number):
        s.asked += 1
    declare_lost(senders, f, number)


@compiled
def declare_lost(senders: Any, f: int, number: int) -> None:
    """List packet ``number`` for retransmission, unless it is acknowledged or listed; begin a recovery."""
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
    """Remove the first packet from flow f's map of retransmissions and return its number; -1: none."""
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
    """Advance ``snd_una`` to ``number``, with the packets before it off the maps; end a recovery that they complete."""
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
    """Declare lost all undecided packets that were sent more than REORDERING before packet ``number``."""
    s = senders.flow[f]
    for n in range(first_undecided(s), number - int(s.own[REORDERING])):
        if not clear_nacked(senders, f, n):
            declare_lost(senders, f, n)


@compiled
def receive_sack(senders: Any, f: int, number: int) -> None:
    """Process the selective acknowledgement of packet ``number``: packets far enough before it are lost."""
    if number < senders.flow[f].snd_una:
        return
    declare_lost_before(senders, f, number)
    clear_retransmission(senders, f, number)
    clear_nacked(senders, f, number)
    mark_received(senders, f, number, number + 1)


@compiled
def lose_at_timeout(senders: Any, f: int) -> None:
    """Declare lost, at a timeout, packets missing below the highest reported one; without reports all in flight."""
    s = senders.flow[f]
    past = int64(s.top) if s.top >= s.snd_una else int64(s.snd_max)
    s.recovering = 0
    for n in range(int64(s.snd_una), past):
        declare_lost(senders, f, n)

"""Which packets a sender at the rate of a rule sends again where its receiver keeps what comes out of order.

It keeps three maps (`bit_maps`): what is acknowledged selectively, is to be sent again, and was asked for. A packet
enters the second when it is lost, and leaves it when it is sent or acknowledged: it is sent again once, until the timer
expires or the receiver asks for it again. One that was asked for is not taken for lost when a later one comes.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..layout import int64
from ..tcp.bit_maps import AGAIN, ASKED, SACKED, clear_bit, has_bit, set_bit
from ..tcp.selective import is_held, mark_received

__all__ = [
    "acknowledge_up_to",
    "declare_lost",
    "lose_at_timeout",
    "lose_before",
    "next_again",
    "receive_nack",
    "receive_sack",
]


REORDERING = 4
"""Place in ``own`` of a flow: packets by which one may be overtaken."""


@inlined
def first_undecided(s: Any) -> int:
    """Return the first packet of which it is not decided whether it was overtaken or lost."""
    reordering = int(s.own[REORDERING])
    after = int64(s.top) + 1 if reordering == 0 else int64(s.top) - reordering
    return max(after, int64(s.snd_una))


@inlined
def take_off_asked(senders: Any, f: int, number: int) -> bool:
    """Take a packet off the map of what the receiver has asked for; return whether it was on it."""
    s = senders.flow[f]
    found = bool(s.asked > 0 and clear_bit(senders, f, ASKED, number))
    if found:
        s.asked -= 1
    return found


@inlined
def take_off_again(senders: Any, f: int, number: int) -> None:
    """Take a packet off the map of what is to be sent again."""
    s = senders.flow[f]
    if s.again > 0 and clear_bit(senders, f, AGAIN, number):
        s.again -= 1


@compiled
def receive_nack(senders: Any, f: int, number: int) -> None:
    """Have a packet sent again that the receiver asks for."""
    s = senders.flow[f]
    is_open = first_undecided(s) <= number < s.snd_max
    if is_open and set_bit(senders, f, ASKED, number):
        s.asked += 1
    declare_lost(senders, f, number)


@compiled
def declare_lost(senders: Any, f: int, number: int) -> None:
    """Have a packet sent again that was sent and is not acknowledged; begin a recovery."""
    s = senders.flow[f]
    if number < s.snd_una or number >= s.snd_max or is_held(senders, f, number):
        return
    if not set_bit(senders, f, AGAIN, number):
        return
    s.again = s.again + 1
    if s.again == 1 or number < s.hole:
        s.hole = number
    if s.recovering == 0:
        s.recovering = 1
        s.recover = s.snd_max - 1
        s.loss_events += 1


@compiled
def next_again(senders: Any, f: int) -> int:
    """Take the first packet to be sent again off its map and return it; -1: none."""
    s = senders.flow[f]
    if s.again == 0:
        return -1
    n = max(int64(s.hole), int64(s.snd_una))
    while not has_bit(senders, f, AGAIN, n):
        n += 1
    take_off_again(senders, f, n)
    s.hole = n + 1
    return n


@compiled
def acknowledge_up_to(senders: Any, f: int, number: int) -> None:
    """Discard what the maps have of packets before ``number``, all of which have come; end a recovery."""
    s = senders.flow[f]
    n = int64(s.snd_una)
    while n < number and (s.sacked > 0 or s.again > 0 or s.asked > 0):
        if s.sacked > 0 and clear_bit(senders, f, SACKED, n):
            s.sacked -= 1
        take_off_again(senders, f, n)
        take_off_asked(senders, f, n)
        n += 1
    s.snd_una = number
    if s.recovering == 1 and number > s.recover:
        s.recovering = 0


@compiled
def lose_before(senders: Any, f: int, number: int) -> None:
    """Take for lost what a packet that has come cannot have overtaken, and was not looked at before."""
    s = senders.flow[f]
    for n in range(first_undecided(s), number - int(s.own[REORDERING])):
        if not take_off_asked(senders, f, n):
            declare_lost(senders, f, n)


@compiled
def receive_sack(senders: Any, f: int, number: int) -> None:
    """Note that a packet has come out of order."""
    if number < senders.flow[f].snd_una:
        return
    lose_before(senders, f, number)
    take_off_again(senders, f, number)
    take_off_asked(senders, f, number)
    mark_received(senders, f, number, number + 1)


@compiled
def lose_at_timeout(senders: Any, f: int) -> None:
    """Take for lost what is missing below the last packet that came, and where none did after it, all that was sent."""
    s = senders.flow[f]
    past = int64(s.top) if s.top >= s.snd_una else int64(s.snd_max)
    s.recovering = 0
    for n in range(int64(s.snd_una), past):
        declare_lost(senders, f, n)

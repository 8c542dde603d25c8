"""Scoreboard of selective acknowledgements at a sender: one bit per packet."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from ..layout import int64
from .bit_maps import SACKED, clear_bit, has_bit, set_bit

__all__ = [
    "clear_scoreboard",
    "count_holes",
    "is_sacked",
    "mark_received",
    "next_hole",
    "skip_sacked",
    "update_scoreboard",
]


@inlined
def is_sacked(senders: Any, f: int, number: int) -> bool:
    """Return whether packet ``number`` of flow f was selectively acknowledged."""
    return bool(has_bit(senders, f, SACKED, number))


@inlined
def skip_sacked(senders: Any, f: int) -> None:
    """Advance snd_nxt past selectively acknowledged packets, only with a rule of deliveries and recovery by time."""
    s = senders.flow[f]
    if s.samples == 1 and s.by_time == 1:
        while s.snd_nxt < s.snd_max and is_sacked(senders, f, int64(s.snd_nxt)):
            s.snd_nxt += 1


@inlined
def mark_received(senders: Any, f: int, first: int, past: int) -> None:
    """Mark packets ``first`` to ``past`` - 1 of flow f as selectively acknowledged."""
    s = senders.flow[f]
    for n in range(first, past):
        if set_bit(senders, f, SACKED, n):
            s.sacked += 1
    if past - 1 > s.top:
        s.top = past - 1


@inlined
def clear_scoreboard(senders: Any, f: int) -> None:
    """Clear the scoreboard of flow f: its map of acknowledged packets and its last SACK blocks."""
    s = senders.flow[f]
    if s.top < 0 and s.hole < 0:
        return
    n = s.least
    while s.sacked > 0:
        if clear_bit(senders, f, SACKED, n):
            s.sacked -= 1
        n += 1
    s.top = -1
    s.hole = -1
    for k in range(6):
        senders.sacked[f, k] = -1


@inlined
def update_scoreboard(net: Any, senders: Any, f: int, e: int) -> bool:
    """Add the SACK blocks of ACK e to flow f's scoreboard; return whether it changed (RFC 6675, 4, Update)."""
    block = net.block
    sacked = senders.sacked
    s = senders.flow[f]
    before = s.sacked
    new = False
    if s.least < s.snd_una:
        n = s.least
        s.least = s.snd_una
        new = s.sacked > 0
        while n < s.least and s.sacked > 0:
            if clear_bit(senders, f, SACKED, n):
                s.sacked -= 1
            n += 1
    n_blocks = net.packet[e].size - 1
    for k in range(n_blocks):
        left = block[e, 2 * k]
        right = block[e, 2 * k + 1]
        first = left
        for j in range(3):
            if sacked[f, 2 * j] <= left < sacked[f, 2 * j + 1]:
                first = max(first, min(sacked[f, 2 * j + 1], right))
        mark_received(senders, f, max(first, s.least), right)
    for k in range(3):
        sacked[f, 2 * k] = block[e, 2 * k] if k < n_blocks else -1
        sacked[f, 2 * k + 1] = block[e, 2 * k + 1] if k < n_blocks else -1
    return new or s.sacked != before


@inlined
def next_hole(senders: Any, f: int) -> int:
    """Move ``hole`` to flow f's first hole below the highest SACKed packet; return it, -1: none (RFC 6675, 4)."""
    s = senders.flow[f]
    n = max(s.hole, s.least)
    if s.sacked == 0 or n > s.top:
        s.hole = n
        return -1
    while n <= s.top and is_sacked(senders, f, n):
        n += 1
    s.hole = n
    if n > s.top or n <= 0:
        return -1
    return n


@inlined
def count_holes(senders: Any, f: int, top: int) -> float:
    """Return the number of holes between ``top``, the highest SACKed packet before an ACK, and the highest after it."""
    s = senders.flow[f]
    lost = 0.0
    for n in range(max(top + 1, int64(s.snd_una)), int64(s.top)):
        if not is_sacked(senders, f, n):
            lost += 1.0
    return lost

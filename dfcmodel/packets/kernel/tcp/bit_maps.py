"""Bit maps of a flow, one bit for each packet of its largest window.

The maps of one flow follow one another in ``bits``; only senders that repair single packets have the last two.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from ..layout import int64

__all__ = ["AGAIN", "ASKED", "RECEIVED", "SACKED", "clear_bit", "has_bit", "set_bit"]

RECEIVED, SACKED, AGAIN, ASKED = 0, 1, 2, 3
"""What the receiver keeps out of order; what is acknowledged selectively; is sent again; was asked for."""


@inlined
def byte_of(senders: Any, f: int, which: int, number: int) -> int:
    """Return the byte that has the bit of a packet in a map."""
    s = senders.flow[f]
    return int64(s.bits) + which * ((s.bit_mask + 1) >> 3) + ((number & s.bit_mask) >> 3)


@inlined
def has_bit(senders: Any, f: int, which: int, number: int) -> bool:
    """Return whether a packet is on a map."""
    return bool(senders.bits[byte_of(senders, f, which, number)] & (1 << (number & 7)) != 0)


@inlined
def set_bit(senders: Any, f: int, which: int, number: int) -> bool:
    """Put a packet on a map; return whether it was not on it."""
    at = byte_of(senders, f, which, number)
    bit = 1 << (number & 7)
    if senders.bits[at] & bit != 0:
        return False
    senders.bits[at] |= bit
    return True


@inlined
def clear_bit(senders: Any, f: int, which: int, number: int) -> bool:
    """Take a packet off a map; return whether it was on it."""
    at = byte_of(senders, f, which, number)
    bit = 1 << (number & 7)
    if senders.bits[at] & bit == 0:
        return False
    senders.bits[at] ^= bit
    return True

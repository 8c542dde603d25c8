"""Bit maps of a flow, one bit per packet of its maximum window.

The maps of a flow are contiguous in ``bits``; only senders with selective repair have the last two.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from ..layout import int64

__all__ = ["NACKED", "RECEIVED", "SACKED", "TO_RETRANSMIT", "clear_bit", "has_bit", "set_bit"]

RECEIVED, SACKED, TO_RETRANSMIT, NACKED = 0, 1, 2, 3
"""Packets received out of order, selectively acknowledged, to be retransmitted, and requested by a NACK."""


@inlined
def byte_of(senders: Any, f: int, which: int, number: int) -> int:
    """Return the index in ``bits`` of the byte for packet ``number`` in map ``which`` of flow f."""
    s = senders.flow[f]
    return int64(s.bits) + which * ((s.bit_mask + 1) >> 3) + ((number & s.bit_mask) >> 3)


@inlined
def has_bit(senders: Any, f: int, which: int, number: int) -> bool:
    """Return whether packet ``number`` is on map ``which`` of flow f (RECEIVED, SACKED, ...)."""
    return bool(senders.bits[byte_of(senders, f, which, number)] & (1 << (number & 7)) != 0)


@inlined
def set_bit(senders: Any, f: int, which: int, number: int) -> bool:
    """Add packet ``number`` to map ``which`` of flow f; return True if it was not on it."""
    at = byte_of(senders, f, which, number)
    bit = 1 << (number & 7)
    if senders.bits[at] & bit != 0:
        return False
    senders.bits[at] |= bit
    return True


@inlined
def clear_bit(senders: Any, f: int, which: int, number: int) -> bool:
    """Remove packet ``number`` from map ``which`` of flow f; return True if it was on it."""
    at = byte_of(senders, f, which, number)
    bit = 1 << (number & 7)
    if senders.bits[at] & bit == 0:
        return False
    senders.bits[at] ^= bit
    return True

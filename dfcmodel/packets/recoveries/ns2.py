"""Behaviour of ns-2.35's agents beyond the RFCs, for the loss recoveries of both conventions of the packet level.

Only `is_new_loss` and `recover_without_loss` depend on the convention.
"""

from __future__ import annotations

from typing import Any

__all__ = ["NEWRENO_BURST", "is_new_loss", "recover_without_loss"]

NEWRENO_BURST = 2.0
"""Maximum number of packets that Agent/TCP/Newreno sends per ACK while duplicates are counted."""


def is_new_loss(s: Any, e: Any) -> bool:
    """Return whether three duplicate ACKs mean a new loss, not one reacted to already (RFC 6582, 3.2, step 2).

    They are not if the ACK does not cover more than ``recover``. ns-2 makes an exception of the first packet of a
    connection, which carries no data. Without outstanding data no ACK is a duplicate (RFC 5681, 2): it acknowledges a
    packet that arrived twice.
    """
    is_later = s.snd_una - 1.0 > s.recover or (e.ns2 == 1.0 and s.snd_una == 1.0)
    return bool(is_later and s.snd_una < s.snd_max)


def recover_without_loss(e: Any) -> float:
    """Return the value of ``recover`` outside recovery before any loss: -2, or packet 0 in the ns-2 convention.

    In the standard convention it is below every packet.
    """
    return 0.0 if e.ns2 == 1.0 else -2.0

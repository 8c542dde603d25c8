"""What loss recoveries take from ns-2.35's agents and no RFC has; both conventions of the packet level have it.

Only `is_new_loss` and `cleared_recover` depend on the convention.
"""

from __future__ import annotations

from typing import Any

__all__ = ["NEWRENO_BURST", "cleared_recover", "is_new_loss"]

NEWRENO_BURST = 2.0
"""Packets that Agent/TCP/Newreno sends at most per ACK while duplicates are counted."""


def is_new_loss(s: Any, e: Any) -> bool:
    """Return whether three duplicate ACKs are a loss event of their own (RFC 6582, 3.2, step 2).

    They are not where the ACK does not cover more than ``recover``. ns-2 makes an exception of the first packet of a
    connection, which carries no data. Where no data are outstanding no ACK is a duplicate (RFC 5681, 2): it answers a
    packet that came twice.
    """
    is_later = s.snd_una - 1.0 > s.recover or (e.ns2 == 1.0 and s.snd_una == 1.0)
    return bool(is_later and s.snd_una < s.snd_max)


def cleared_recover(e: Any) -> float:
    """Return ``recover`` as Agent/TCP/Sack1 has it after recovery and before the first loss: packet 0.

    In the standard convention it is below every packet.
    """
    return 0.0 if e.ns2 == 1.0 else -2.0

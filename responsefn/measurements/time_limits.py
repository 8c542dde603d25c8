"""Limits of times in captures and traces, beyond which a time is damaged."""

from __future__ import annotations

__all__ = ["MAX_BACKWARD", "MAX_DISORDER", "MAX_GAP", "MAX_RTT"]

MAX_GAP = 366 * 86400.0
"""Maximum time in s between two packets of a capture or trace."""
MAX_BACKWARD = 3600.0
"""Maximum time in s by which a packet or event may be earlier than the one before it; queues reorder by less."""
MAX_DISORDER = 1.0
"""Maximum time in s by which a packet of QUIC may be earlier than one of a smaller number.

Numbers increase in the order of sending (RFC 9000, 12.3); clocks are stepped by less."""
MAX_RTT = 240.0
"""Maximum time in s from a segment to its ACK: two maximum segment lifetimes of 2 minutes (RFC 9293, 3.4.2)."""

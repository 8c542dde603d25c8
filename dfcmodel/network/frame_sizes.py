"""Bytes of packets without data, which every level and the headroom of PFC share."""

from __future__ import annotations

__all__ = ["BLOCK", "HEADER", "SHORTEST_FRAME"]

HEADER = 40.0
"""Bytes of the headers of IPv4 and TCP: of an ACK without blocks, of SYN and SYN-ACK, and of the first packet of a
connection in ns-2."""
BLOCK = 8.0
"""Bytes of a block of a selective acknowledgement (RFC 2018, 3)."""
SHORTEST_FRAME = 64.0
"""Bytes of an ACK or congestion notification for a rate rule: the shortest Ethernet frame (IEEE 802.3, 4.2.3.3)."""

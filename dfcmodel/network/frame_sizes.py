"""Bytes of packets without data, which every level and the headroom of PFC share, and the largest rate of packets."""

from __future__ import annotations

from typing import Any

from hopflow.checks import one_number
from hopflow.units import PacketUnits

__all__ = ["BLOCK", "HEADER", "SHORTEST_FRAME", "check_rate"]

HEADER = 40.0
"""Bytes of the headers of IPv4 and TCP: of an ACK without blocks, of SYN and SYN-ACK, and of the first packet of a
connection in ns-2."""
BLOCK = 8.0
"""Bytes of a block of a selective acknowledgement (RFC 2018, 3)."""
SHORTEST_FRAME = 64.0
"""Bytes of an ACK or congestion notification for a rate rule: the shortest Ethernet frame (IEEE 802.3, 4.2.3.3)."""
MAX_RATE = 1e12
"""Upper bound of the rate of a link, packets/s."""
MAX_PACKET_RATE = 5e9
"""Upper bound of a rate that is a number, packets/s: 3.2 Tb/s in frames of 84 bytes. Larger numbers are bits/s."""


def check_rate(name: str, rate: Any) -> None:
    """Raise ValueError unless a rate is above 0 and at most `MAX_RATE`, for a bare number `MAX_PACKET_RATE`."""
    max_rate = MAX_RATE if isinstance(rate, PacketUnits) else MAX_PACKET_RATE
    one_number(name, rate, above=0.0, at_most=max_rate, hint="in packets/s: mbps(370), or '370Mbps'")

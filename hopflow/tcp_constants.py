"""Constants of TCP with their sources, for both levels of `dfcmodel`, their recoveries and `responsefn`.

Kernels inline the values.
"""

from __future__ import annotations

__all__ = [
    "DUP_THRESH",
    "INITIAL_PTO",
    "INITIAL_RTO",
    "INITIAL_WINDOW",
    "MAX_ACK_DELAY",
    "MAX_BACKOFF",
    "MAX_RTO",
    "MAX_SACK_BLOCKS",
    "MIN_RTO",
    "OLD_INITIAL_RTO",
    "RTO_DEVIATIONS",
    "RTTVAR_GAIN",
    "SRTT_GAIN",
]

DUP_THRESH = 3.0
"""Duplicate ACKs, or packets received beyond a missing one, that indicate a loss (RFC 5681, 3.2; RFC 6675, 2)."""
SRTT_GAIN = 1.0 / 8.0
"""Gain alpha of the smoothed round-trip time (RFC 6298, 2.3)."""
RTTVAR_GAIN = 1.0 / 4.0
"""Gain beta of the round-trip time variation (RFC 6298, 2.3)."""
RTO_DEVIATIONS = 4.0
"""Factor K of the variation in the retransmission timeout (RFC 6298, 2.2 and 2.3)."""
MIN_RTO = 0.2
"""Smallest retransmission timeout unless a scenario has another, s: that of Linux (``TCP_RTO_MIN``) and ns-2.35
(``minrto_``); RFC 6298, 2.4, asks for 1 s."""
INITIAL_RTO = 1.0
"""Retransmission timeout before the first round-trip time sample, s (RFC 6298, 2.1)."""
OLD_INITIAL_RTO = 3.0
"""The same of RFC 2988, 2.1, s. RFC 6298, 5.7, keeps it for the first data after a lost SYN; ns-2.35 has it
(``rtxcur_init_``)."""
MAX_RTO = 60.0
"""Upper limit of the retransmission timeout, s (RFC 6298, 2.5: at least 60 s)."""
MAX_BACKOFF = 64.0
"""Largest factor by which timeouts multiply the retransmission timeout (ns-2.35, tcp.cc; RFC 6298, 5.5, allows an upper
bound)."""
MAX_SACK_BLOCKS = 3
"""Blocks in one selective acknowledgement beside a timestamp option (RFC 2018, 3)."""
MAX_ACK_DELAY = 0.5
"""Longest time for which a receiver delays an ACK, s (RFC 5681, 4.2)."""
INITIAL_WINDOW = 10.0
"""Initial window of rules that see deliveries, packets (RFC 6928, 2); other window rules begin with one packet."""
INITIAL_PTO = 1.0
"""Probe timeout before the first round-trip time sample, s (RFC 8985, 7.2)."""

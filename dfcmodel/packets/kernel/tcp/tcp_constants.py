"""Constants of TCP, for the compiled copy: imports `hopflow.tcp_constants`."""

from __future__ import annotations

from hopflow.tcp_constants import (
    MAX_BACKOFF,
    MAX_RTO,
    MAX_SACK_BLOCKS,
    OLD_INITIAL_RTO,
    RTO_DEVIATIONS,
    RTTVAR_GAIN,
    SRTT_GAIN,
)

__all__ = [
    "MAX_BACKOFF",
    "MAX_RTO",
    "MAX_SACK_BLOCKS",
    "OLD_INITIAL_RTO",
    "RTO_DEVIATIONS",
    "RTTVAR_GAIN",
    "SRTT_GAIN",
]

"""Constants of TCP, for the compiled copy: imports `hopflow.tcp_constants`."""

from __future__ import annotations

from hopflow.tcp_constants import (
    DUP_THRESH,
    MAX_BACKOFF,
    OLD_INITIAL_RTO,
    RTO_DEVIATIONS,
    RTTVAR_GAIN,
    SRTT_GAIN,
)

__all__ = [
    "DUP_THRESH",
    "MAX_BACKOFF",
    "OLD_INITIAL_RTO",
    "RTO_DEVIATIONS",
    "RTTVAR_GAIN",
    "SRTT_GAIN",
]

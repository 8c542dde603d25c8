"""IEEE 802.3x pause below aggregate TCP: claims of malhotra2005 (see ``published/claims.csv``).

Thresholds and round-trip times of the paper's figures are not stated. Headline verdicts are those
of the defaults of `PauseTandem` (T1 = 15, RTT 1 s) and of the settings of the bundled runs; maps
show how far they hold.
"""

from __future__ import annotations

from validation.claims.malhotra2005 import (
    conservation,
    large_rtt,
    levels,
    load,
    low_threshold,
    rtt,
    simulator,
    spacing,
    tcp,
    threshold,
)

__all__ = [
    "conservation",
    "large_rtt",
    "levels",
    "load",
    "low_threshold",
    "rtt",
    "simulator",
    "spacing",
    "tcp",
    "threshold",
]

"""Diffusion-type flow control: claims of takano2006 (see ``published/claims.csv``).

Headline verdicts are those of the default reading: with DFC, hosts shaped to r_0, random feedback
clocks and a buffer that the flows of a node share; without, hosts directly in node 1's buffer.
The other readings stand beside them as numbers and figures.
"""

from __future__ import annotations

from validation.claims.takano2006 import (
    limit,
    queues,
    scenario_1,
    scenario_6,
    speeds,
    udp,
    variants,
    vegas,
)

__all__ = ["limit", "queues", "scenario_1", "scenario_6", "speeds", "udp", "variants", "vegas"]

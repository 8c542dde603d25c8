"""Lossless fabrics: headroom, shared pools, deadlock and pause storms of pause-controlled links."""

from __future__ import annotations

from dfcmodel.lossless.frames import FrameScenario, Witness, search_worst, witness
from dfcmodel.lossless.headrooms import Headroom, headroom, headroom_table
from dfcmodel.lossless.paused_links import PausedLink

__all__ = [
    "FrameScenario",
    "Headroom",
    "PausedLink",
    "Witness",
    "headroom",
    "headroom_table",
    "search_worst",
    "witness",
]

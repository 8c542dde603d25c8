"""Lossless fabrics: headroom, shared pools, deadlock and pause storms of pause-controlled links."""

from __future__ import annotations

from dfcmodel.lossless.buffer_dependencies import Dependencies, Route
from dfcmodel.lossless.deadlocks import Deadlock, buffer_cycles, deadlock, line_rate_scenario
from dfcmodel.lossless.fabrics import dragonfly, fat_tree, leaf_spine, torus, with_hosts
from dfcmodel.lossless.frames import FrameScenario, Witness, search_worst, witness
from dfcmodel.lossless.free_routings import UpDown, class_per_hop, class_per_turn, up_down
from dfcmodel.lossless.headrooms import Headroom, headroom, headroom_table
from dfcmodel.lossless.paused_links import PausedLink

__all__ = [
    "Deadlock",
    "Dependencies",
    "FrameScenario",
    "Headroom",
    "PausedLink",
    "Route",
    "UpDown",
    "Witness",
    "buffer_cycles",
    "class_per_hop",
    "class_per_turn",
    "deadlock",
    "dragonfly",
    "fat_tree",
    "headroom",
    "headroom_table",
    "leaf_spine",
    "line_rate_scenario",
    "search_worst",
    "torus",
    "up_down",
    "with_hosts",
    "witness",
]

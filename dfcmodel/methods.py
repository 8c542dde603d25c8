"""The levels at which a scenario is simulated: a fluid, or packets."""

from __future__ import annotations

from typing import Literal

from dfcmodel.engine.settings import Fluid
from dfcmodel.packets.methods import Packets

__all__ = ["LEVELS", "Fluid", "Level", "Packets"]

Level = Literal["fluid", "packets", "auto"]
LEVELS: tuple[Level, ...] = ("fluid", "packets", "auto")

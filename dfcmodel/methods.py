"""The levels at which a scenario is simulated: a fluid, or packets."""

from __future__ import annotations

from dfcmodel.engine.fluid import Fluid
from dfcmodel.packets.methods import Packets

__all__ = ["Fluid", "Packets"]

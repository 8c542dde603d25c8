"""Which kernel runs a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.packets.engine import PacketRun, begin_run, run_engine
from dfcmodel.packets.fabric.conditions import is_fabric
from dfcmodel.packets.fabric.engine import FabricRun, begin_fabric, run_fabric

if TYPE_CHECKING:
    from dfcmodel.packets.plans import Plan
    from dfcmodel.packets.records import Records

__all__ = ["begin_plan", "run_plan"]


def run_plan(plan: Plan) -> Records:
    """Run a plan by the fabric kernel, and by the other one where the fabric kernel lacks something that happens.

    Raises
    ------
    MemoryError, OverflowError, ArithmeticError
        As `dfcmodel.packets.engine.run_engine`.
    """
    found = run_fabric(plan) if is_fabric(plan) else None
    return run_engine(plan) if found is None else found


def begin_plan(plan: Plan) -> FabricRun | PacketRun:
    """Return the run of a plan at t = 0 by the kernel that is tried first."""
    found = begin_fabric(plan) if is_fabric(plan) else None
    return begin_run(plan) if found is None else found

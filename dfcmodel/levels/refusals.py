"""Errors of one level that recommend the other level, if that refuses the scenario as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.settings import check_disciplines
from dfcmodel.methods import Fluid, Packets
from dfcmodel.packets.refusals import check_scenario

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["check_other_level"]


def check_other_level(scenario: Scenario, method: Fluid | Packets, error: ValueError) -> None:
    """Raise ValueError if an error of a level recommends the other level, and that refuses the scenario as well."""
    is_fluid = isinstance(method, Fluid)
    other = "Packets()" if is_fluid else "Fluid()"
    if f"method={other}" not in str(error):
        return
    try:
        if is_fluid:
            check_scenario(scenario, Packets())
        else:
            check_disciplines(scenario)
    except ValueError as second:
        raise ValueError(f"{error}; but {other} does not run the scenario: {second}") from error

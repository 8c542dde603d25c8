"""What the programs of other simulators have of a scenario: any other option must be as it is by default."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from dfcmodel.network.flows import Flow
from dfcmodel.packets.methods import Packets

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["check_exported"]

OF_NETWORKS = ("name", "path", "source", "host", "priority")
"""Fields of flows that decide the network and its senders, which exports check by themselves."""


def check_exported(
    scenario: Scenario,
    method: Packets,
    flow_options: Collection[str],
    method_options: Collection[str],
    simulator: str,
) -> None:
    """Raise ValueError for an option of a flow or of the method that the program of a simulator does not have.

    Parameters
    ----------
    flow_options, method_options
        Fields of `Flow` and `Packets` that the export writes, or refuses by itself.
    """
    ways: dict[int, Flow] = {}
    for flow in scenario.flows:
        plain = ways.setdefault(id(flow.source), Flow(flow.name, (0, 1), flow.source))
        others = (*OF_NETWORKS, *flow_options)
        _check(flow, plain, others, f"of flow {flow.name!r}", simulator)
    plain_method = Packets(method.seed, method.convention)
    _check(method, plain_method, method_options, f"of {method!r}", simulator)


def _check(thing: Any, plain: Any, written: Collection[str], of: str, simulator: str) -> None:
    names = [field.name for field in dataclasses.fields(thing) if field.name not in written]
    for name in sorted(names, key=lambda each: each != "stack"):  # before the options that it gives
        value, usual = getattr(thing, name), getattr(plain, name)
        if value != usual:
            msg = f"must be {usual!r} for export to {simulator}"
            raise ValueError(f"{name} {of} = {value!r}: {msg}")

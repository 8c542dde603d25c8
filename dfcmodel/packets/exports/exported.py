"""Checks and numbering for exports to other simulators: options without a counterpart must have their defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Hashable
from typing import Any

from dfcmodel.network.flows import Flow
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.packets.methods import Packets
from hopflow.checks import one_number

__all__ = ["check_exported", "check_times", "node_numbers"]

OF_NETWORKS = ("name", "path", "source", "host", "priority")
"""Fields of flows that define the network and its senders; each export checks these itself."""


def check_exported(
    scenario: Scenario,
    method: Packets,
    flow_options: Collection[str],
    method_options: Collection[str],
    simulator: str,
) -> None:
    """Raise ValueError for an option, not in the two collections, of a flow or ``method`` that is not the default.

    Parameters
    ----------
    flow_options, method_options
        Fields of `Flow` and `Packets` that the export writes or checks itself.
    """
    defaults: dict[int, Flow] = {}
    for flow in scenario.flows:
        plain = defaults.setdefault(id(flow.source), Flow(flow.name, (0, 1), flow.source))
        others = (*OF_NETWORKS, *flow_options)
        _check(flow, plain, others, f"of flow {flow.name!r}", simulator)
        if scenario.host_of(flow) == "nic":
            msg = f"its network interface cannot be exported to {simulator}: must be 'direct' or 'unshaped'"
            raise ValueError(f"host of flow {flow.name!r} = {flow.host!r}: {msg}")
    plain_method = Packets(method.seed, method.convention)
    _check(method, plain_method, method_options, f"of {method!r}", simulator)


def check_times(scenario: Scenario, duration: Any, sample: Any) -> tuple[float, float]:
    """Return the simulated time of a run (None: the scenario's) and its sampling interval, s, validated."""
    end = run_end(scenario, duration)
    hint = "the duration, in s"
    return end, one_number("sample", sample, above=0.0, at_most=end, hint=hint)


def node_numbers(scenario: Scenario) -> dict[Hashable, int]:
    """Return the number of each node, and after them of each host with an access link, ("host", name of the flow)."""
    nodes: dict[Hashable, int] = {node: n for n, node in enumerate(scenario.nodes)}
    for flow in scenario.flows:
        if not scenario.enters_at_once(flow):
            nodes["host", flow.name] = len(nodes)
    return nodes


def _check(thing: Any, plain: Any, written: Collection[str], of: str, simulator: str) -> None:
    """Raise ValueError for the first field of ``thing`` that is not in ``written`` and differs from ``plain``."""
    names = [field.name for field in dataclasses.fields(thing) if field.name not in written]
    for name in sorted(names, key=lambda option: option != "stack"):  # before the options that a stack sets
        value, usual = getattr(thing, name), getattr(plain, name)
        if value != usual:
            msg = f"must be {usual!r} for export to {simulator}"
            raise ValueError(f"{name} {of} = {value!r}: {msg}")

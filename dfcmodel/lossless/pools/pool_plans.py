"""The plan of packet runs for a pool, after checks: the runs and the ports whose packets count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.network.networks import Scenario
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario
from hopflow.checks import choice, format_value, one_number

if TYPE_CHECKING:
    from dfcmodel.lossless.pools.pool_traffic import PacketRuns
    from dfcmodel.packets.plan import PacketPlan

__all__ = ["PoolPlan", "plan_pool"]


class PoolPlan(NamedTuple):
    """A packet-level plan, the ports whose packets above thresholds count, and the pool's size in packets."""

    plan: PacketPlan
    ports: list[int]
    size: float


def plan_pool(size: float, traffic: PacketRuns) -> PoolPlan:
    """Return the plan of runs, the pool's ports and its ``size``, packets, after checks.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.
    """
    scenario, within, sample = traffic.scenario, float(traffic.within), traffic.sample
    method = traffic.packets or Packets()
    if method.is_ns2:
        raise ValueError(f'packets = {method!r}: must have convention="standard"')
    size = one_number("pool", size, above=0.0, hint="in packets")
    step = within / 100 if sample is None else float(sample)
    ports = _ports(scenario, traffic.links)
    plan = plan_scenario(scenario, method, duration=within, sample=step)
    if plan.every != 1 or abs(plan.sample / step - 1.0) > 1e-9:
        raise ValueError(f"sample = {sample!r}: within = {within:g} s must be a multiple of it")
    return PoolPlan(plan, ports, size)


def _ports(scenario: Scenario, links: Iterable[str] | str | None) -> list[int]:
    """Return the indices of the links with Pause or PFC, or of the named links among them, after checks."""
    pausing = [link.name for link in scenario.links if any(link.discipline.thresholds)]
    if not pausing:
        raise ValueError(f"scenario {scenario.name!r}: must have a link with Pause or PFC")
    requested = [links] if isinstance(links, str) else links
    selected = pausing if requested is None else list(requested)
    if not selected:
        raise ValueError(f"links = {format_value(selected)}: must name at least one of {', '.join(pausing)}")
    names = [link.name for link in scenario.links]
    return [names.index(choice("links", name, pausing)) for name in dict.fromkeys(selected)]

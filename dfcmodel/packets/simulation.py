"""Run a scenario at packet level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.packets.plans import Plan, plan_packets

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

__all__ = ["plan_scenario"]


def plan_scenario(
    scenario: Scenario,
    method: Packets,
    *,
    duration: float,
    sample: float,
    jitter: float = 0.0,
    packet_jitter: float = 0.0,
) -> Plan:
    """Return the plan of a scenario with its starts: see `dfcmodel.simulate` for the parameters."""
    starts = np.array([flow.start for flow in scenario.flows])
    if jitter > 0.0:
        starts += np.random.default_rng(method.seed or 0).uniform(0.0, jitter, len(starts))
    return plan_packets(
        scenario, method, end=duration, sample=sample, starts=starts, jitter=packet_jitter
    )

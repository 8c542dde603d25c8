"""Flows of a fluid run that pass buffers under `DFC` which other flows fill, as packets would not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.drop_causes import BUFFER_FULL
from dfcmodel.network.flows import has_window
from dfcmodel.results.records import columns_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario

    Floats = NDArray[np.float64]

__all__ = ["passing_full_buffers"]

MAX_OVERFLOWS = 0.55
"""Limit of the overflows in as many round trips as the window has packets, without overflows in which the flow loses.
At packet level it loses in each, which halves its window, and then grows by a packet per round trip. Chains of 3 to 6
nodes, links of 20 to 400 Mb/s and 1 to 20 ms, buffers of 20 to 800 packets, unshaped hosts, 40 s, difference of the
crossing flow's goodput over the rate of a link: 0.04 to 0.20 from 0.58 on (0.02 at 0.76, 0.01 at 0.99), up to 0.04
below 0.51. Shared queues of 2 and 8 flows without other congested links: up to 0.36, and 0.05. takano2006's scenarios
with hosts that are not shaped: 0.00 to 0.29 from 1.1 on, up to 0.08 below 0.5. Single runs of Tahoe's scenario 4 with
unshaped hosts differ by 0.43 at 0 by chance: of 8 random starts the background flow has 0.06 of the link in one fluid
run and in two packet runs, and 0.45 to 0.49 in the others; the means differ by 0.07 +- 0.23. With shaped hosts no
buffer is full."""
MAX_LOSS = 0.05
"""Part of the packets of other flows that a buffer loses beyond the part of a flow without a window. With 0.26 a
constant flow had 0.31 of the link's rate, and 0.13 in packets."""


def passing_full_buffers(run: Any) -> tuple[list[int], list[int]]:
    """Return the indices of flows in a fluid run that pass full buffers under `DFC`, and of these links; or [], []."""
    scenario: Scenario = run.scenario
    shared = [link.discipline.diffuses and link.shared for link in scenario.links]
    if run.dropped is None or not any(shared):
        return [], []
    lost, carried = _at_links(run)
    lost[:, ~np.array(shared)] = 0.0
    windowed = np.array([has_window(flow) for flow in scenario.flows])
    of_all = np.maximum(run.lost_by_flow, np.finfo(float).tiny)
    events = (run.loss_events * windowed / of_all)[:, None] * lost
    # Overflows at each link without a loss of the flow: loss events of the window flow with the most of them, and for
    # other sources the packets that the flow would lose at their loss ratio.
    constant = lost * ~windowed[:, None]
    by_constant = _ratio(constant.sum(axis=0) - constant, carried.sum(axis=0) - carried)
    overflows = np.maximum(_largest_of_others(events), by_constant * carried) - events
    overflows = np.maximum(overflows, 0.0) * (carried > 0.0)
    overflows_per_trip = run.delivered[:, -1] * (scenario.base_rtts() / run.time[-1]) ** 2 * overflows.sum(axis=1)
    others = _ratio(lost.sum(axis=0) - lost, carried.sum(axis=0) - carried)
    spared = (others - _ratio(lost, carried)) * (carried > 0.0)
    passing = np.where(windowed, overflows_per_trip > MAX_OVERFLOWS, spared.max(axis=1) > MAX_LOSS)
    links = np.where(windowed[:, None], overflows > 0.0, spared > MAX_LOSS) & passing[:, None]
    return np.flatnonzero(passing).tolist(), np.flatnonzero(links.any(axis=0)).tolist()


def _largest_of_others(values: Floats) -> Floats:
    """Return, for each entry of an (F, L) array, the largest value in the other rows of its column; 0 without any."""
    if len(values) < 2:
        return np.zeros_like(values)
    ordered: Floats = np.partition(values, -2, axis=0)
    second, first = ordered[-2], ordered[-1]
    twice = (values == first).sum(axis=0) > 1
    return np.asarray(np.where((values == first) & ~twice, second, first))


def _at_links(run: Any) -> tuple[Floats, Floats]:
    """Return the packets of each flow at each link of a fluid run: lost at a full buffer, and carried, (F, L) each."""
    scenario = run.scenario
    lost = np.zeros((len(scenario.flows), len(scenario.links)))
    rows = run.dropped[run.dropped["cause"] == BUFFER_FULL]
    np.add.at(lost, (rows["flow"], rows["link"]), rows["packets"])
    at_nodes = columns_of(run, "carried").array()
    row_of = {node: n for n, node in enumerate(scenario.senders)}
    carried = np.zeros_like(lost)
    for f, flow in enumerate(scenario.flows):
        for n in scenario.path_index(flow):
            carried[f, n] = at_nodes[f, row_of[scenario.links[n].source]]
    return lost, carried


def _ratio(lost: Floats, carried: Floats) -> Floats:
    """Return lost / (lost + carried) packets elementwise, 0 to 1; 0 where both are 0; negative input counts as 0."""
    lost = np.maximum(lost, 0.0)
    arrived = lost + np.maximum(carried, 0.0)
    return np.divide(lost, arrived, out=np.zeros_like(lost), where=arrived > 0.0)

"""What a fluid run leaves: drops by cause, what waits at links with pauses, what is in the network, when pauses acted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import FIRST_FULL, FIRST_MANAGED, MANAGED
from dfcmodel.network.class_pauses import ALL
from dfcmodel.network.run_tables import BUFFER_FULL, BY_MANAGER, DROPPED, EXCESS, WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = [
    "acks_under_way",
    "dropped_packets",
    "most_excess",
    "packets_inside",
    "remaining_packets",
    "times_of_pauses",
]


def dropped_packets(plan: Plan) -> Any:
    """Return the drops of a run, of `DROPPED`."""
    lost, drops = plan.network.queues["lost"], plan.network.drops
    rows = []
    for f, n, c in _hops(plan):
        by_manager = float(drops[MANAGED, c])
        for cause, packets, first in (
            (BUFFER_FULL, float(lost[c]) - by_manager, drops[FIRST_FULL, c]),
            (BY_MANAGER, by_manager, drops[FIRST_MANAGED, c]),
        ):
            if packets > 0.0:
                rows.append((f, n, cause, 0, packets, float(first)))
    return np.array(rows, dtype=DROPPED)


def most_excess(plan: Plan) -> Any:
    """Return the most packets of each ingress without room in one pause, of `EXCESS`."""
    order, layout, rows = plan.layout.order, plan.layout, []
    for row in plan.feedback.pauses:
        if row["most_excess"] > 0.0:
            via = order[row["paused"]] if row["paused"] >= 0 else int(row["paused"])
            priority = plan.scenario.flows[layout.flow_of[int(row["first"])]].priority
            rows.append((order[row["pausing"]], via, priority, float(row["most_excess"])))
    return np.array(rows, dtype=EXCESS)


def remaining_packets(plan: Plan, sent_before: Any) -> Any:
    """Return what waits at the end at links that are paused or pause others, of `WAITING`.

    Parameters
    ----------
    plan
        Whose run has ended.
    sent_before
        What each queue had sent before the last part of the run, packets, (C,).
    """
    layout, queues, pauses = plan.layout, plan.network.queues, plan.feedback.pauses
    if not len(pauses):
        return np.zeros(0, dtype=WAITING)
    moved = queues["sent"][: len(sent_before)] - sent_before
    for _, _, first, end in layout.bands.tolist():
        moved[first:end] = moved[first:end].sum()
    paused = pauses["paused"]
    links = {layout.order[i] for i in (*paused[paused >= 0].tolist(), *pauses["pausing"].tolist())}
    rows = [
        (n, via, f, 0, int(moved[c] == 0.0), float(queues["backlog"][c]))
        for f, n, c, via in _hops_with_ingress(plan)
        if n in links and queues["backlog"][c] > 0.0
    ]
    flows = plan.network.flows
    for f in sorted({-1 - int(n) for n in paused[paused < 0]}):
        waits = float(flows["emitted"][f] - queues["sent"][f])
        if waits > 0.0:
            rows.append((-1 - f, -1 - f, f, 0, int(moved[f] == 0.0), waits))
    return np.array(sorted(rows), dtype=WAITING)


def packets_inside(plan: Plan, steps: int) -> Floats:
    """Return the packets of each flow that its sender has sent and that neither arrived nor were lost, (F,)."""
    flows, queues, _, wire, *_ = plan.network
    arrived = wire[(steps - 1) % len(wire)]  # what has come over the way from each queue
    found = np.zeros(len(flows))
    for f, flow in enumerate(flows):
        path = [f, *plan.layout.path[flow["path_first"] : flow["path_end"]]]
        inside = flow["emitted"] - queues["sent"][f]
        inside += (queues["sent"][path] - arrived[path]).sum() + queues["backlog"][path[1:]].sum()
        found[f] = inside
    return found


def acks_under_way(plan: Plan, steps: int) -> Floats:
    """Return the ACKs on their way to each sender at the end of a run, (F,)."""
    acks, lags = plan.transport.acks["acks"], plan.network.flows["ack_lag"]
    found = np.zeros(len(lags))
    for f, lag in enumerate(lags.tolist()):
        found[f] = acks[np.arange(steps, steps + lag) % len(acks), f].sum()
    return found


def _hops(plan: Plan) -> list[tuple[int, int, int]]:
    """Return flow, place of the link and queue of the hops that have a queue."""
    return [(f, n, c) for f, n, c, _ in _hops_with_ingress(plan)]


def _hops_with_ingress(plan: Plan) -> list[tuple[int, int, int, int]]:
    """Return flow, place of the link, queue, and the link before (-1 - flow: its host) of hops that have a queue."""
    scenario, found = plan.scenario, []
    for f, flow in enumerate(scenario.flows):
        before = -1 - f
        for n, c in zip(scenario.path_index(flow), plan.layout.hop_queues[f], strict=True):
            if c >= 0:
                found.append((f, n, c, before))
            before = n
    return found


def times_of_pauses(plan: Plan, switches: Any) -> Iterator[tuple[int, int, int, Any]]:
    """Yield the paused link, who asks for it, the class, and the times in s at which pauses took effect and ended.

    As `dfcmodel.results.pauses.intervals_of` takes them.

    Parameters
    ----------
    plan
        Whose run it was.
    switches
        What was turned on and off, in order (`kernel.records.SWITCH`).
    """
    order, pauses = plan.layout.order, plan.feedback.pauses
    flows = plan.scenario.flows
    for n in range(len(pauses)):
        paused, by = int(pauses["paused"][n]), order[pauses["pausing"][n]]
        link = order[paused] if paused >= 0 else paused
        way = float(pauses["wait"][n]) + float(pauses["part"][n])
        counted = pauses["first"][n] < pauses["end"][n]
        priority = flows[plan.layout.flow_of[pauses["first"][n]]].priority if counted else ALL
        yield link, by, priority, (switches["time"][switches["pause"] == n] + way) * plan.step

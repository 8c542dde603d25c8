"""The trajectory of a fluid run, from the records of the loop and from the state that it leaves.

The state has drops by cause and what is in the network; after pauses also what waits, and when they acted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import (
    FIRST_FULL,
    FIRST_MANAGED,
    MANAGED,
    RATE_RULE,
    WINDOW,
)
from dfcmodel.engine.sender_tables import RECOVERY_NAMES
from dfcmodel.network.endpoints.notifications import notifications_of
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.run_tables import BUFFER_FULL, BY_MANAGER, DROPPED, EXCESS, WAITING
from dfcmodel.results.at_nodes import Deferred
from dfcmodel.results.pauses import PAUSED, intervals_of
from dfcmodel.results.trajectories import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dfcmodel.engine.driver import Records
    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["times_of_pauses", "trajectory"]


def trajectory(plan: Plan, record: Records, starts: Floats, steps: int, every: int, packet_jitter: float) -> Trajectory:
    """Return what was recorded of a run that has ended.

    Parameters
    ----------
    plan, record
        Its state at the end, and what the loop recorded.
    starts
        When the flows began, s, (F,).
    steps, every
        How many there were, and the interval of the records.
    packet_jitter
        Longest random delay of a packet at its sender, s.
    """
    flows = plan.network.flows
    inside = _packets_inside(plan, steps)
    rows = np.arange(len(flows))
    notifications: Any = Deferred(notifications_of, plan.scenario.table, flows, rows)
    paused, excess, remaining = (np.zeros(0, dtype=kind) for kind in (PAUSED, EXCESS, WAITING))
    if len(plan.feedback.pauses):
        paused = intervals_of(times_of_pauses(plan, record.switches), steps * plan.step)
        excess, remaining = _most_excess(plan), _remaining_packets(plan, record.sent_before)
    by_rate = (flows["source"] == RATE_RULE)[:, np.newaxis]
    in_transit, delivered, window, backlog, round_trip, loss_count = np.moveaxis(record.flows, 0, -1).swapaxes(0, 1)
    return Trajectory(
        scenario=plan.scenario,
        step=plan.step,
        time=plan.step * np.minimum(every * np.arange(1.0, len(record.flows) + 1.0), steps),
        in_transit=in_transit * _propagating(plan)[:, np.newaxis],
        delivered=delivered.copy(),
        window=np.where(by_rate, 0.0, window),
        rate=np.where(by_rate, window, np.nan),
        backlog=backlog.copy(),
        round_trip=np.where(round_trip > 0.0, round_trip, np.nan),
        timeouts=flows["timeouts"].copy(),
        loss_events=flows["loss_events"].copy(),
        cumulative_loss_events=loss_count.astype(np.int64),
        notifications=notifications,
        imbalance=_imbalance(plan, inside),
        seconds=record.seconds,
        first_loss=flows["first_loss"].copy(),
        finished=flows["finished"].copy(),
        started=starts,
        paused=paused,
        recoveries=tuple(RECOVERY_NAMES[int(flow["recovery"])] if flow["source"] == WINDOW else "" for flow in flows),
        dropped=_dropped_packets(plan),
        excess=excess,
        remaining=remaining,
        emitted=flows["emitted"].copy(),
        inside=inside + _acks_under_way(plan, steps),
        packet_jitter=packet_jitter,
        **_at_nodes(plan, record, steps),
    )


def _propagating(plan: Plan) -> Floats:
    """Return the part of the way from a flow's first queue that is propagation; shape (F,).

    The rest are transmission times, and what the way back leaves of a whole step.
    """
    scenario, layout = plan.scenario, plan.layout
    parts = np.ones(len(scenario.flows))
    for f, flow in enumerate(scenario.flows):
        own = layout.path[layout.path_at[f] : layout.path_at[f + 1]]
        way = plan.step * float(np.sum(layout.lag[own] + 1.0 - layout.weight[own]))
        delay = sum(scenario.links[n].delay for n in scenario.path_index(flow))
        if abs(way / delay - 1.0) > 1e-9:
            parts[f] = delay / way
    return parts


def _at_nodes(plan: Plan, record: Records, steps: int) -> dict[str, Any]:
    """Return what was recorded at the sending nodes, fields of `Trajectory`."""
    scenario, queues, layout = plan.scenario, plan.network.queues, plan.layout
    nodes = {node: n for n, node in enumerate(scenario.senders)}
    F, N, T = len(scenario.flows), len(nodes), len(record.queued)
    wire = plan.network.wire
    found = {
        "queued": np.zeros((N, T)),
        "lost": np.zeros((F, N, T)),
        "peak_queue": np.zeros(N),
        "carried": np.zeros((F, N)),
        "mean_queue": np.zeros((F, N)),
    }
    for f, flow in enumerate(scenario.flows):
        last, ahead = f, 0  # a link that never queues carries its arrivals over the last queue's
        for n, c in zip(scenario.path_index(flow), layout.hop_queues[f], strict=True):
            node = nodes[scenario.links[n].source]
            last, ahead = (c, queues["lag"][c]) if c >= 0 else (last, ahead)
            found["carried"][f, node] = wire[(steps - 1 + ahead) % len(wire), last]
            ahead -= round(layout.delays[n])
            if c >= 0:
                found["queued"][node] += record.queued[:, c]
                found["lost"][f, node] += record.lost[:, c]
                found["mean_queue"][f, node] = queues["mean_area"][c] / steps
    for i, n in enumerate(layout.order):
        own = queues["peak"][slice(*layout.queues[i])]
        most = max(plan.network.links["peak"][i], np.where(np.isfinite(own), own, 0.0).max())
        node = nodes[scenario.links[n].source]
        found["peak_queue"][node] = max(found["peak_queue"][node], most)
    return found


def _imbalance(plan: Plan, packets_inside: Floats) -> Floats:
    """Return packets emitted less those delivered, lost, queued, in transit or waiting; relative, (F,)."""
    flows, queues = plan.network.flows, plan.network.queues
    found = np.zeros(len(flows))
    for f, (flow, inside) in enumerate(zip(flows, packets_inside, strict=True)):
        path = [f, *plan.layout.path[flow["path_first"] : flow["path_end"]]]
        known = flow["delivered"] + queues["lost"][path].sum() + inside
        found[f] = abs(flow["emitted"] - known) / max(flow["emitted"], 1.0)
    return found


def _dropped_packets(plan: Plan) -> Any:
    """Return the drops of a run, of `DROPPED`."""
    lost, drops = plan.network.queues["lost"], plan.network.drops
    rows = []
    for f, n, c, _ in plan.layout.hops(plan.scenario):
        by_manager = float(drops[MANAGED, c])
        for cause, packets, first in (
            (BUFFER_FULL, float(lost[c]) - by_manager, drops[FIRST_FULL, c]),
            (BY_MANAGER, by_manager, drops[FIRST_MANAGED, c]),
        ):
            if packets > 0.0:
                rows.append((f, n, cause, 0, packets, float(first)))
    return np.array(rows, dtype=DROPPED)


def _packets_inside(plan: Plan, steps: int) -> Floats:
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


def _acks_under_way(plan: Plan, steps: int) -> Floats:
    """Return the ACKs on their way to each sender at the end of a run, (F,)."""
    acks, lags = plan.transport.acks["acks"], plan.network.flows["ack_lag"]
    found = np.zeros(len(lags))
    for f, lag in enumerate(lags.tolist()):
        found[f] = acks[np.arange(steps, steps + lag) % len(acks), f].sum()
    return found


def _most_excess(plan: Plan) -> Any:
    """Return the most packets of each ingress without room in one pause, of `EXCESS`."""
    order, layout, rows = plan.layout.order, plan.layout, []
    for row in plan.feedback.pauses:
        if row["most_excess"] > 0.0:
            via = order[row["paused"]] if row["paused"] >= 0 else int(row["paused"])
            priority = plan.scenario.flows[layout.flow_of[int(row["first"])]].priority
            rows.append((order[row["pausing"]], via, priority, float(row["most_excess"])))
    return np.array(rows, dtype=EXCESS)


def _remaining_packets(plan: Plan, sent_before: Any) -> Any:
    """Return what waits at the end at links that are paused or pause others, of `WAITING`.

    Parameters
    ----------
    plan
        Whose run has ended.
    sent_before
        What each queue had sent before the last part of the run, packets, (C,).
    """
    layout, queues, pauses = plan.layout, plan.network.queues, plan.feedback.pauses
    moved = queues["sent"][: len(sent_before)] - sent_before
    for _, _, first, end in layout.bands.tolist():
        moved[first:end] = moved[first:end].sum()
    paused = pauses["paused"]
    links = {layout.order[i] for i in (*paused[paused >= 0].tolist(), *pauses["pausing"].tolist())}
    rows = [
        (n, via, f, 0, int(moved[c] == 0.0), float(queues["backlog"][c]))
        for f, n, c, via in plan.layout.hops(plan.scenario)
        if n in links and queues["backlog"][c] > 0.0
    ]
    flows = plan.network.flows
    for f in sorted({-1 - int(n) for n in paused[paused < 0]}):
        waits = float(flows["emitted"][f] - queues["sent"][f])
        if waits > 0.0:
            rows.append((-1 - f, -1 - f, f, 0, int(moved[f] == 0.0), waits))
    return np.array(sorted(rows), dtype=WAITING)


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

"""The trajectory of a fluid run, from the records of the loop and from the state that it leaves.

The state has drops by cause and what is in the network; after pauses also what waits, and when they acted.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import (
    FIRST_FULL,
    FIRST_MANAGED,
    MANAGED,
    RATE_RULE,
    WINDOW,
)
from dfcmodel.engine.senders import RECOVERY_NAMES
from dfcmodel.network.endpoints.notifications import notifications_of
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.run_tables import BUFFER_FULL, BY_MANAGER, DROPPED, EXCESS, WAITING
from dfcmodel.results.at_nodes import AtNodes, Deferred
from dfcmodel.results.pauses import PAUSED, intervals_of
from dfcmodel.results.trajectories import Trajectory
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dfcmodel.engine.plan import Plan
    from dfcmodel.engine.run import Records

    Floats = NDArray[np.float64]

__all__ = ["times_of_pauses", "trajectory"]


def trajectory(plan: Plan, record: Records, starts: Floats, steps: int, every: int, packet_jitter: float) -> Trajectory:
    """Return the records of a run that has ended; most of its arrays are computed when they are first read.

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
    view = _Samples(plan, record, steps)
    arrays: dict[str, Any] = {name: Deferred(getattr(view, name)) for name in DEFERRED}
    return Trajectory(
        scenario=plan.scenario,
        step=plan.step,
        time=plan.step * np.minimum(every * np.arange(1.0, len(record.flows) + 1.0), steps),
        timeouts=flows["timeouts"].copy(),
        loss_events=flows["loss_events"].copy(),
        notifications=notifications,
        imbalance=_imbalance(plan, inside),
        seconds=record.seconds,
        first_loss=flows["first_loss"].copy(),
        finished=flows["finished"].copy(),
        started=starts,
        paused=paused,
        excess=excess,
        remaining=remaining,
        emitted=flows["emitted"].copy(),
        inside=inside + _acks_under_way(plan, steps),
        packet_jitter=packet_jitter,
        **arrays,
    )


DEFERRED = (
    "in_transit", "delivered", "window", "rate", "backlog", "round_trip", "cumulative_loss_events", "lost", "queued",
    "peak_queue", "carried", "mean_queue", "dropped", "recoveries",
)  # fmt: skip
"""Arrays of a trajectory that `_Samples` computes."""


class _Samples:
    """Records of a run in the samples and at the nodes of its trajectory; each method returns one of its arrays.

    Arrays of all flows, nodes and samples are large: losses of 128 flows of a dumbbell over 3 s would be 400 MB. Most
    readers need few of them.
    """

    def __init__(self, plan: Plan, record: Records, steps: int) -> None:
        network = plan.network
        self.scenario, self.layout, self.step, self.steps = plan.scenario, plan.layout, plan.step, steps
        self.recorded, self.queued_packets, self.lost_packets = record.flows, record.queued, record.lost
        self.drops, self.wire = network.drops, network.wire
        self.queues, self.link_peaks = network.queues, network.links["peak"]
        self.sources, self.repairs = network.flows["source"].copy(), network.flows["recovery"].copy()

    def _of_flows(self, column: int) -> Floats:
        """Return a column of what the loop recorded of flows, (F, T)."""
        return self.recorded[:, :, column].T

    @property
    def _by_rate(self) -> Any:
        return (self.sources == RATE_RULE)[:, np.newaxis]

    def in_transit(self) -> Floats:
        return self._of_flows(0) * self._propagating()[:, np.newaxis]

    def delivered(self) -> Floats:
        return self._of_flows(1).copy()

    def window(self) -> Floats:
        return np.where(self._by_rate, 0.0, self._of_flows(2))

    def rate(self) -> Floats:
        return np.where(self._by_rate, self._of_flows(2), np.nan)

    def backlog(self) -> Floats:
        return self._of_flows(3).copy()

    def round_trip(self) -> Floats:
        times = self._of_flows(4)
        return np.where(times > 0.0, times, np.nan)

    def cumulative_loss_events(self) -> NDArray[np.int64]:
        return self._of_flows(5).astype(np.int64)

    def recoveries(self) -> tuple[str, ...]:
        pairs = zip(self.sources.tolist(), self.repairs.tolist(), strict=True)
        return tuple(RECOVERY_NAMES[repair] if source == WINDOW else "" for source, repair in pairs)

    def _propagating(self) -> Floats:
        """Return the part of the time from a flow's first queue that is propagation; shape (F,).

        The remainder are transmission times, and the part of a step that the return path has.
        """
        layout, delays = self.layout, [link.delay for link in self.scenario.links]
        parts = np.ones(len(self.sources))
        lengths = layout.lag + 1.0 - layout.weight
        for f, route in enumerate(self.scenario.routes):
            time = self.step * float(np.sum(lengths[layout.path[layout.path_at[f] : layout.path_at[f + 1]]]))
            delay = sum(delays[n] for n in route)
            if abs(time / delay - 1.0) > 1e-9:
                parts[f] = delay / time
        return parts

    @cached_property
    def _hops(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Flow, sending node and queue of each hop, -1 where a link never queues, (H,) each."""
        routes = self.scenario.routes
        queues = np.fromiter(itertools.chain.from_iterable(self.layout.hop_queues), np.int64, len(routes.places))
        return routes.flow, self._node_of_link[routes.places], queues

    @cached_property
    def _node_of_link(self) -> NDArray[np.int64]:
        """Index of the sending node of each link, (L,)."""
        index = {node: n for n, node in enumerate(self.scenario.senders)}
        return np.array([index[link.source] for link in self.scenario.links], dtype=np.int64)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.sources), len(self.scenario.senders)

    def carried(self) -> AtNodes:
        """Return the packets that each node sent: those that arrive from its queue a lag later.

        A link that never queues carries the packets of the queue before it, at first that of the host, after the delays of
        the links between.
        """
        flow, node, queue = self._hops
        routes = self.scenario.routes
        delays = np.round(self.layout.delays).astype(np.int64)[routes.places]
        before = np.cumsum(delays) - delays
        hop = np.arange(len(queue))
        last = np.maximum.accumulate(np.where(queue >= 0, hop, routes.begin[flow]))
        has_queue = queue[last] >= 0
        source = np.where(has_queue, queue[last], flow)
        ahead = np.where(has_queue, self.queues["lag"][source], 0) - (before - before[last])
        values = self.wire[(self.steps - 1 + ahead) % len(self.wire), source]
        return AtNodes(flow, node, values, self._shape)

    def mean_queue(self) -> AtNodes:
        return self._at_queues(slice(None), self.queues["mean_area"][self._queues] / self.steps)

    def lost(self) -> AtNodes:
        losing = np.flatnonzero(np.asarray(self.lost_packets.any(axis=0))[self._queues])
        values = np.ascontiguousarray(self.lost_packets[:, self._queues[losing]].T)
        return self._at_queues(losing, values, len(values.T))

    @property
    def _queues(self) -> NDArray[np.int64]:
        """The queues of the hops that have one."""
        queue = self._hops[2]
        return queue[queue >= 0]

    def _at_queues(self, chosen: Any, values: Floats, *samples: int) -> AtNodes:
        """Return values of some of the hops with a queue."""
        flow, node, queue = self._hops
        return AtNodes(flow[queue >= 0][chosen], node[queue >= 0][chosen], values, (*self._shape, *samples))

    def queued(self) -> Floats:
        _, node, queue = self._hops
        packets = np.zeros((self._shape[1], len(self.queued_packets)))
        for n, c in zip(node.tolist(), queue.tolist(), strict=True):
            if c >= 0:
                packets[n] += self.queued_packets[:, c]
        return packets

    def peak_queue(self) -> Floats:
        layout = self.layout
        peaks = np.zeros(self._shape[1])
        for i, n in enumerate(layout.order):
            peaks_of_link = self.queues["peak"][slice(*layout.queues[i])]
            peak = max(self.link_peaks[i], np.where(np.isfinite(peaks_of_link), peaks_of_link, 0.0).max())
            node = self._node_of_link[n]
            peaks[node] = max(peaks[node], peak)
        return peaks

    def dropped(self) -> Any:
        """Return the drops of the run, of `DROPPED`."""
        hops = self.layout.hops(self.scenario)
        queue = np.array([c for _, _, c, _ in hops], dtype=np.int64)
        by_manager = self.drops[MANAGED, queue]
        by_cause: Any = np.stack([self.queues["lost"][queue] - by_manager, by_manager])
        first = self.drops[[FIRST_FULL, FIRST_MANAGED]][:, queue]
        rows = [
            (*hops[h][:2], (BUFFER_FULL, BY_MANAGER)[cause], 0, float(by_cause[cause, h]), float(first[cause, h]))
            for h, cause in np.argwhere(by_cause.T > 0.0).tolist()
        ]
        return np.array(rows, dtype=DROPPED)


def _imbalance(plan: Plan, packets_inside: Floats) -> Floats:
    """Return packets emitted less those delivered, lost, queued, in transit or waiting; relative, (F,)."""
    flows = plan.network.flows
    lost = plan.layout.sums_over_paths(plan.network.queues["lost"])
    missing = np.abs(flows["emitted"] - (flows["delivered"] + lost + packets_inside))
    return np.asarray(missing / np.maximum(flows["emitted"], 1.0))


def _packets_inside(plan: Plan, steps: int) -> Floats:
    """Return the packets of each flow that its sender has sent and that neither arrived nor were lost, (F,)."""
    flows, queues, _, wire, *_ = plan.network
    arrived = wire[(steps - 1) % len(wire)]  # packets that have crossed the link after each queue
    under_way = plan.layout.sums_over_paths(queues["sent"][:-1] - arrived)
    waiting = queues["backlog"].copy()
    waiting[: len(flows)] = 0.0
    inside = flows["emitted"] - queues["sent"][: len(flows)]
    return np.asarray(inside + (under_way + plan.layout.sums_over_paths(waiting)))


def _acks_under_way(plan: Plan, steps: int) -> Floats:
    """Return the ACKs on their way to each sender at the end of a run, (F,)."""
    acks, lags = plan.transport.acks["acks"], plan.network.flows["ack_lag"]
    sums = np.zeros(len(lags))
    for lag in np.unique(lags).tolist():
        members = np.flatnonzero(lags == lag)
        sums[members] = acks[np.arange(steps, steps + lag) % len(acks)][:, members].T.copy().sum(axis=1)
    return sums


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

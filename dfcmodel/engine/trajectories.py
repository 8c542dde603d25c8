"""The trajectory of a fluid run, from the records of the loop and from the final state of the plan.

The state has drops by cause and the packets in the network. After pauses it also has waiting packets and times of
pauses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.kernel.records import FIRST_FULL, FIRST_MANAGED, MANAGED, RATE_RULE, WINDOW
from dfcmodel.engine.senders import RECOVERY_NAMES
from dfcmodel.network.notifications import notifications_of
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.run_tables import EXCESS, WAITING, drop_rows, excess_rows
from dfcmodel.results.at_nodes import AtNodes, Deferred
from dfcmodel.results.pauses import PAUSED, intervals_of
from dfcmodel.results.trajectories import Trajectory
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dfcmodel.engine.plan import FluidPlan
    from dfcmodel.engine.run import Records

    Floats = NDArray[np.float64]

__all__ = ["pause_times", "trajectory"]


def trajectory(
    plan: FluidPlan, record: Records, starts: Floats, steps: int, every: int, packet_jitter: float
) -> Trajectory:
    """Return the trajectory of a finished run; most of its arrays are computed when they are first read.

    Parameters
    ----------
    plan, record
        The plan with its final state, and the records of the loop.
    starts
        Start times of the flows, s, (F,).
    steps, every
        Number of steps, and the interval of the records.
    packet_jitter
        Longest random delay of a packet at its sender, s.
    """
    flows = plan.network.flows
    inside = _packets_inside(plan, steps)
    notifications: Any = Deferred(notifications_of, plan.scenario.table, flows, np.arange(len(flows)))
    paused, excess, remaining = (np.zeros(0, dtype=kind) for kind in (PAUSED, EXCESS, WAITING))
    if len(plan.feedback.pauses):
        paused = intervals_of(pause_times(plan, record.switches), steps * plan.step)
        excess, remaining = _excess(plan), _waiting_packets(plan, record.sent_before)
    samples = _Samples(plan, record, steps)
    arrays: dict[str, Any] = {name: Deferred(getattr(samples, name)) for name in DEFERRED}
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
        inside=inside + _acks_in_flight(plan, steps),
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

    def __init__(self, plan: FluidPlan, record: Records, steps: int) -> None:
        network = plan.network
        # Parts of the plan, so that its largest arrays do not stay in memory with the trajectory.
        self.scenario, self.step, self.steps = plan.scenario, plan.step, steps
        self.delays, self.transit_steps = plan.delays, plan.transit_steps
        self.order, self.hop_queues = plan.order, plan.hop_queues()
        self.recorded, self.queued_packets, self.lost_packets = record.flows, record.queued, record.lost
        self.flows, self.queues, self.links = network.flows, network.queues, network.links
        self.path, self.wire, self.drops = network.path, network.wire, network.drops

    def _of_flows(self, column: int) -> Floats:
        """Return a column of the recorded values of flows, (F, T)."""
        return self.recorded[:, :, column].T

    @property
    def _by_rate(self) -> Any:
        return (self.flows["source"] == RATE_RULE)[:, np.newaxis]

    def in_transit(self) -> Floats:
        return self._of_flows(0) * self._propagation_fractions()[:, np.newaxis]

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
        pairs = zip(self.flows["source"].tolist(), self.flows["recovery"].tolist(), strict=True)
        return tuple(RECOVERY_NAMES[recovery] if source == WINDOW else "" for source, recovery in pairs)

    def _propagation_fractions(self) -> Floats:
        """Return the fraction of propagation in the time from a flow's first queue to its receiver, (F,).

        The remainder are transmission times, and the fraction of a step of the return path.
        """
        delays = [link.delay for link in self.scenario.links]
        fractions = np.ones(len(self.flows))
        ranges = zip(self.flows["path_first"].tolist(), self.flows["path_end"].tolist(), strict=True)
        for f, (route, (first, end)) in enumerate(zip(self.scenario.routes, ranges, strict=True)):
            time = self.step * float(np.sum(self.transit_steps[self.path[first:end]]))
            delay = sum(delays[n] for n in route)
            if abs(time / delay - 1.0) > 1e-9:
                fractions[f] = delay / time
        return fractions

    @cached_property
    def _node_of_link(self) -> NDArray[np.int64]:
        """Index of the sending node of each link, (L,)."""
        index = {node: n for n, node in enumerate(self.scenario.senders)}
        return np.array([index[link.source] for link in self.scenario.links], dtype=np.int64)

    @cached_property
    def _hops(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Flow, sending node and queue of each hop, -1 where a link never queues, (H,) each."""
        routes = self.scenario.routes
        return routes.flow, self._node_of_link[routes.places], self.hop_queues

    @property
    def _queues(self) -> NDArray[np.int64]:
        """The queues of the hops that have a queue."""
        return self.hop_queues[self.hop_queues >= 0]

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.flows), len(self.scenario.senders)

    def _at_queues(self, chosen: Any, values: Floats, *samples: int) -> AtNodes:
        """Return values of chosen hops with a queue."""
        flow, node, queue = self._hops
        return AtNodes(flow[queue >= 0][chosen], node[queue >= 0][chosen], values, (*self._shape, *samples))

    def carried(self) -> AtNodes:
        """Return the packets that each node sent, which arrive from its queue a lag later.

        A link that never queues carries the packets of the previous queue, or of the host, after the delays of the
        links between them.
        """
        flow, node, queue = self._hops
        routes = self.scenario.routes
        delays = np.round(self.delays).astype(np.int64)[routes.places]
        start = np.cumsum(delays) - delays
        hop = np.arange(len(queue))
        last = np.maximum.accumulate(np.where(queue >= 0, hop, routes.begin[flow]))
        has_queue = queue[last] >= 0
        source = np.where(has_queue, queue[last], flow)
        ahead = np.where(has_queue, self.queues["lag"][source], 0) - (start - start[last])
        values = self.wire[(self.steps - 1 + ahead) % len(self.wire), source]
        return AtNodes(flow, node, values, self._shape)

    def mean_queue(self) -> AtNodes:
        return self._at_queues(slice(None), self.queues["mean_area"][self._queues] / self.steps)

    def lost(self) -> AtNodes:
        losing = np.flatnonzero(np.asarray(self.lost_packets.any(axis=0))[self._queues])
        values = np.ascontiguousarray(self.lost_packets[:, self._queues[losing]].T)
        return self._at_queues(losing, values, len(values.T))

    def queued(self) -> Floats:
        _, node, queue = self._hops
        packets = np.zeros((self._shape[1], len(self.queued_packets)))
        for n, c in zip(node.tolist(), queue.tolist(), strict=True):
            if c >= 0:
                packets[n] += self.queued_packets[:, c]
        return packets

    def peak_queue(self) -> Floats:
        peaks = np.zeros(self._shape[1])
        for i, n in enumerate(self.order):
            link = self.links[i]
            of_buffers = self.queues["peak"][int(link["first"]) : int(link["end"])]
            peak = max(link["peak"], np.where(np.isfinite(of_buffers), of_buffers, 0.0).max())
            node = self._node_of_link[n]
            peaks[node] = max(peaks[node], peak)
        return peaks

    def dropped(self) -> Any:
        """Return the drops of the run, of `dfcmodel.network.run_tables.DROPPED`."""
        routes, has_queue, queue = self.scenario.routes, self.hop_queues >= 0, self._queues
        by_manager = self.drops[MANAGED, queue]
        packets = np.column_stack([self.queues["lost"][queue] - by_manager, by_manager])  # BUFFER_FULL, BY_MANAGER
        first = self.drops[[FIRST_FULL, FIRST_MANAGED]][:, queue].T
        return drop_rows(routes.flow[has_queue], routes.places[has_queue], np.zeros(len(queue)), packets, first)


def _packets_inside(plan: FluidPlan, steps: int) -> Floats:
    """Return the packets of each flow that its sender has sent and that neither arrived nor were lost, (F,)."""
    flows, queues, _, wire, *_ = plan.network
    arrived = wire[(steps - 1) % len(wire)]  # packets that have crossed the link after each queue
    in_flight = plan.sums_over_paths(queues["sent"][:-1] - arrived)
    queued = queues["backlog"].copy()
    queued[: len(flows)] = 0.0
    at_hosts = flows["emitted"] - queues["sent"][: len(flows)]
    return np.asarray(at_hosts + (in_flight + plan.sums_over_paths(queued)))


def _imbalance(plan: FluidPlan, packets_inside: Floats) -> Floats:
    """Return emitted packets less delivered, lost, queued and transmitted packets; relative, (F,)."""
    flows = plan.network.flows
    lost = plan.sums_over_paths(plan.network.queues["lost"])
    missing = np.abs(flows["emitted"] - (flows["delivered"] + lost + packets_inside))
    return np.asarray(missing / np.maximum(flows["emitted"], 1.0))


def _acks_in_flight(plan: FluidPlan, steps: int) -> Floats:
    """Return the ACKs on their way to each sender at the end of a run, (F,)."""
    acks, lags = plan.transport.acks["acks"], plan.network.flows["ack_lag"]
    sums = np.zeros(len(lags))
    for lag in np.unique(lags).tolist():
        members = np.flatnonzero(lags == lag)
        sums[members] = acks[np.arange(steps, steps + lag) % len(acks)][:, members].T.copy().sum(axis=1)
    return sums


# After pauses: rooms that were too small, packets that wait, and when pauses acted.


def _excess(plan: FluidPlan) -> Any:
    """Return the most packets of each ingress without room in one pause, of `EXCESS`."""
    pauses = plan.feedback.pauses
    pauses = pauses[pauses["most_excess"] > 0.0]
    order, paused = np.asarray(plan.order), pauses["paused"]
    via = np.where(paused >= 0, order[np.maximum(paused, 0)], paused)
    priority = np.array([_priority(plan, row) for row in pauses], dtype=np.int64)
    return excess_rows(order[pauses["pausing"]], via, priority, pauses["most_excess"])


def _priority(plan: FluidPlan, row: Any) -> int:
    """Return the class whose packets a row of pauses counts; ALL for all of a link."""
    if row["first"] == row["end"]:
        return ALL
    priority: int = plan.scenario.flows[plan.network.queues["flow"][int(row["first"])]].priority
    return priority


def _waiting_packets(plan: FluidPlan, sent_before: Any) -> Any:
    """Return the packets that wait at the end at links that are paused or pause others, of `WAITING`.

    Parameters
    ----------
    plan
        The plan with its final state.
    sent_before
        Packets that each queue had sent before the last part of the run, (C,).
    """
    flows, queues, pauses = plan.network.flows, plan.network.queues, plan.feedback.pauses
    moved = queues["sent"][: len(sent_before)] - sent_before
    for band in plan.bands:
        members = slice(int(band["first"]), int(band["end"]))
        moved[members] = moved[members].sum()
    paused = pauses["paused"]
    links = {plan.order[i] for i in (*paused[paused >= 0].tolist(), *pauses["pausing"].tolist())}
    rows = [
        (n, feeder, f, 0, int(moved[c] == 0.0), queues["backlog"][c])
        for f, n, c, feeder in plan.queueing_hops()
        if n in links and queues["backlog"][c] > 0.0
    ]
    at_hosts = flows["emitted"] - queues["sent"][: len(flows)]
    hosts = sorted({-1 - n for n in paused[paused < 0].tolist()})
    rows += [(-1 - f, -1 - f, f, 0, int(moved[f] == 0.0), at_hosts[f]) for f in hosts if at_hosts[f] > 0.0]
    return np.array(sorted(rows), dtype=WAITING)


def pause_times(plan: FluidPlan, switches: Any) -> Iterator[tuple[int, int, int, Any]]:
    """Yield the paused link, the pausing link, the class, and the times in s at which pauses took effect and ended.

    `dfcmodel.results.pauses.intervals_of` takes these.

    Parameters
    ----------
    plan
        The plan of the run.
    switches
        Pauses turned on and off, in order (`kernel.records.SWITCH`).
    """
    for n, row in enumerate(plan.feedback.pauses):
        paused = int(row["paused"])
        link = plan.order[paused] if paused >= 0 else paused
        delay = float(row["wait"]) + float(row["part"])
        times = (switches["time"][switches["pause"] == n] + delay) * plan.step
        yield link, plan.order[row["pausing"]], _priority(plan, row), times

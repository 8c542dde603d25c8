"""Run a plan: the compiled loop over time, in parts that show progress, and the trajectory of the run.

Traces change links between steps.

A link may follow a trace of rates (`dfcmodel.RateTrace`) or of delays (`dfcmodel.DelayTrace`). A rate is constant
between the steps at which it changes. A delay changes the steps from one queue to the next. The wire stores the packets
of a queue by the step of arrival, as a cumulative curve. Where the delay increases, the curve is constant for as many
steps. Where it decreases, later packets arrive together with the last packets in flight, as packets keep their order.
"""

from __future__ import annotations

import bisect
import itertools
import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine.kernel.records import (
    BAD_QUEUE,
    BAD_WINDOW,
    FIRST_FULL,
    FIRST_MANAGED,
    MANAGED,
    RATE_RULE,
    SENT,
    STORM,
    SWITCHES_FULL,
    WINDOW,
    Output,
    Span,
)
from dfcmodel.engine.plan import queues_with_delay
from dfcmodel.engine.senders import RECOVERY_NAMES, source_events_of
from dfcmodel.engine.settings import integer_and_fraction, round_down
from dfcmodel.network.callback_events import manager_events_of
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.notifications import notifications_of
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.run_tables import EXCESS, LAST_PART, WAITING, drop_rows, excess_rows
from dfcmodel.results.pauses import PAUSED, intervals_of
from dfcmodel.results.records import AtNodes, Deferred
from dfcmodel.results.trajectories import Trajectory
from hopflow.fork_safety import cached_property
from hopflow.kernels import engine
from hopflow.progress import check_stop, may_show_bar, progress_bar
from responsefn.rule_events import refuse_fault
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from dfcmodel.engine.plan import DelayedQueue, FluidPlan
    from dfcmodel.network.elements.delays import DelayTrace

    Floats = NDArray[np.float64]

__all__ = ["Records", "advance", "pause_times", "trajectory"]

KERNEL = "dfcmodel.engine.kernel"
QUEUES_PER_FLOW = 32
"""The ends of a flow take about as long per step as this number of queues."""
BLOCK = 100_000_000
"""Queues times steps between two updates of the progress bar: tenths of a second."""


class Records(NamedTuple):
    """Records of a run: T rows of values at the ends of intervals, switches of pauses, and the loop's time, s.

    flows: shape (T, F, 6), mean packets in transit, rcv_nxt, cwnd, host's backlog, round-trip time, loss events so far;
    queued: (T, C) packets queued at its end; lost: (T, C) packets lost in it; switches: `SWITCH`, the pauses
    that were turned on and off, in order; sent_before: (C,) packets that each queue had sent before the last part of
    the run, `dfcmodel.network.run_tables.LAST_PART`.
    """

    flows: Floats
    queued: Floats
    lost: Floats
    seconds: float
    switches: Any
    sent_before: Any = None


def advance(
    plan: FluidPlan,
    steps: int,
    every: int,
    *,
    compiled: bool = True,
    clock: Callable[[], float] | None = None,
) -> Records:
    """Run a plan, once, for ``steps`` steps, a record per ``every``; return the records; ArithmeticError for a fault.

    Parameters
    ----------
    plan
        The plan, whose state is changed to the end of the run.
    steps, every
        Number of steps, and the interval of the records; the last one may be shorter.
    compiled
        False runs the kernel as plain Python: hundreds of times slower, for tests.
    clock
        Measures ``seconds`` of the records; None: `time.perf_counter`.

    Raises
    ------
    ArithmeticError
        When a number becomes NaN, with the time and the place.
    """
    F, C, T = len(plan.network.flows), len(plan.next_queue), math.ceil(steps / every)
    records = np.zeros((T, F, 6)), np.zeros((T, C)), np.zeros((T, C))
    run, groups = _kernel_and_arrays(plan, compiled)
    clock = clock or time.perf_counter
    fault = np.zeros(2, dtype=np.int64)
    seconds = 0.0
    switches: list[Any] = []
    feedback = plan.feedback
    last_part = min(steps - 1, math.ceil((1.0 - LAST_PART) * steps)) if len(feedback.pauses) else 0
    sent_before = None
    rates = _rate_changes(plan, steps) if plan.scenario.all_elements else {}
    delays = _delay_changes(plan, steps) if plan.scenario.all_elements else {}
    for start, end in _parts(plan, steps, every, (last_part, *rates, *delays)):
        if start:
            check_stop()
        k = start
        if k in rates:
            _set_rates(plan, rates[k])
        if k in delays:
            _set_delays(plan, k, delays[k])
        if k == last_part:
            sent_before = _packets_sent(plan)
        while k < end:  # again where the memory for pauses was full
            started = clock()
            fault[:] = 0
            rows = (record[k // every : math.ceil(end / every)] for record in records)
            span = Span(
                k, end - k, steps, every, plan.step, plan.quantum, plan.min_rto, plan.per_flow_links, len(plan.order)
            )
            stopped = run(span, *groups, Output._make([*rows, fault]))
            seconds += clock() - started
            _check_rules(plan)
            if stopped >= 0 and fault[0] != SWITCHES_FULL:
                raise ArithmeticError(_fault_message(plan, stopped, *map(int, fault)))
            switches.append(feedback.switches[: feedback.switched[0]].copy())
            feedback.switched[0] = 0
            k = stopped if stopped >= 0 else end
    return Records(*records, seconds, np.concatenate(switches), sent_before)


def _kernel_and_arrays(plan: FluidPlan, compiled: bool) -> tuple[Any, list[Any]]:
    """Return the loop as a function, compiled or plain Python, and its arguments, groups of arrays."""
    events = source_events_of(plan.rules, compiled=compiled)
    managers = np.zeros(1, dtype=np.uint64 if compiled else object)
    if plan.managers:
        managers = manager_events_of(plan.managers, compiled=compiled)
    transport, service = plan.transport._replace(events=events), plan.service._replace(managers=managers)
    groups: list[Any] = [plan.network, transport, service, plan.feedback]
    if not compiled:  # plain Python reads fields of records as attributes
        groups = [
            group._make(array.view(np.recarray) if array.dtype.names else array for array in group) for group in groups
        ]
    return engine(KERNEL, compiled=compiled), groups


def _parts(plan: FluidPlan, steps: int, every: int, boundaries: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Return (start, end), in steps, of the parts of a run, with a progress bar; one begins at each of ``boundaries``.

    A run in an ensemble shows none, as the ensemble has a progress bar.
    """
    work = len(plan.next_queue) + QUEUES_PER_FLOW * len(plan.network.flows)
    size = max(1, BLOCK // (work * every)) * every
    starts = sorted({*range(0, steps, size), *boundaries})
    parts = list(itertools.pairwise([*starts, steps]))
    if len(parts) < 3 or not may_show_bar():
        return parts
    bar: Iterable[tuple[int, int]] = progress_bar(parts, desc=plan.scenario.name, unit="part")
    return bar


def _packets_sent(plan: FluidPlan) -> Floats:
    """Return the packets that each queue has sent since t = 0, (C,)."""
    C = len(plan.next_queue)
    sent: Floats = plan.network.queues["sent"][:C].copy()
    if plan.per_flow_links < len(plan.order):  # the last queues belong to links that share a rate
        first = int(plan.network.links["first"][plan.per_flow_links])
        sent[first:] = plan.service.shared[SENT, first:C]
    return sent


def _check_rules(plan: FluidPlan) -> None:
    """Raise RuleError for the first window rule that has returned an invalid window."""
    for f in np.flatnonzero(np.isnan(plan.network.flows["parameters"][:, 0])).tolist():
        flow, row = plan.scenario.flows[f], plan.network.flows[f]
        source: Any = flow.source
        if isinstance(source, WindowRule):
            numbers = [row["cwnd"], row["ssthresh"], *row["rule_state"], *row["parameters"]]
            refuse_fault(source.in_fluid(), numbers, f"{plan.scenario.name}, flow {flow.name!r}")


def _fault_message(plan: FluidPlan, step: int, reason: int, at: int) -> str:
    """Return a message on a fault of the kernel: its time, its reason, and the queue or flow ``at``."""
    when = f"{plan.scenario.name}, t = {step * plan.step:g} s"
    if reason == BAD_QUEUE:
        link = plan.scenario.links[plan.order[plan.network.queues["link"][at]]]
        return f"{when}: the queue at node {link.source!r} (link {link.name}) is not a number"
    flow = plan.scenario.flows[at].name
    if reason == BAD_WINDOW:
        return f"{when}: the window of flow {flow!r} is not a number"
    return f"{when}: the emission log of flow {flow!r} is full"


# Rates and delays that follow traces.


def _rate_changes(plan: FluidPlan, steps: int) -> dict[int, dict[int, float]]:
    """Return, by step, the new rates of links with traces: packets per step, by position of the link.

    Times are rounded to the nearest step. Of several times of a trace in one step the last one counts.
    """
    changes: dict[int, dict[int, float]] = {}
    names = plan.scenario.link_table.names
    for element in plan.scenario.all_elements:
        i = plan.position.get(names.index(element.link))  # None: no packet of data passes the link
        if isinstance(element, RateTrace) and i is not None:
            for start, rate in _trace_values(element, element.rates, steps * plan.step):
                step = round(start / plan.step)
                if step < steps:
                    changes.setdefault(step, {})[i] = float(round_down(rate * plan.step, plan.quantum))
    return changes


def _trace_values(trace: RateTrace | DelayTrace, values: Sequence[float], end: float) -> Iterator[tuple[float, float]]:
    """Yield (time, s, value) of a trace before ``end``, s, with its periods repeated."""
    for n in itertools.count():
        base = n * trace.period if n else 0.0
        for start, value in zip(trace.times, values, strict=True):
            if base + start >= end:
                return
            yield base + start, value
        if trace.period == math.inf:
            return


def _set_rates(plan: FluidPlan, rates: Mapping[int, float]) -> None:
    """Set rates, packets per step by position of the link, in the state of a plan."""
    links, queues = plan.network.links, plan.network.queues
    for i, rate in rates.items():
        links["rate"][i] = links["pace"][i] = rate
        if i < plan.per_flow_links:
            queues["service"][plan.queues_at(i)] = rate


def _delay_changes(plan: FluidPlan, steps: int) -> dict[int, dict[int, float]]:
    """Return, by step, the new numbers of steps to the next queue, by queue.

    Times are rounded to whole steps. A delay decreases by one step per step, as packets keep their order.
    """
    changes: dict[int, dict[int, float]] = {}
    for queue in queues_with_delay(plan):
        transits = _transit_steps(queue, plan.step, steps)
        current = queue.steps
        for n, (step, transit) in enumerate(transits):
            end = transits[n + 1][0] if n + 1 < len(transits) else steps
            while step < end and current != transit:
                current = max(transit, current - 1.0)
                changes.setdefault(step, {})[queue.number] = transit
                step += 1
    return changes


def _transit_steps(queue: DelayedQueue, h: float, steps: int) -> list[tuple[int, float]]:
    """Return (step, steps to the next queue from then on) of a queue with a delay trace, in order; ``h``: step, s."""
    delays: dict[int, float] = {0: 0.0}
    for start, delay in _trace_values(queue.trace, queue.trace.delays, (steps + queue.steps) * h):
        delays[max(0, round(start / h - queue.steps))] = delay
    return [(step, queue.steps + delay / h) for step, delay in sorted(delays.items())]


def _set_delays(plan: FluidPlan, k: int, steps_by_queue: Mapping[int, float]) -> None:
    """Set the steps that a packet takes from a queue to the next one, by queue, in the plan's state before step ``k``.

    A delay does not become shorter than that of the last packet in flight.
    """
    queues, wire = plan.network.queues, plan.network.wire
    for c, transit in steps_by_queue.items():
        queue = queues[c]
        lag = int(queue["lag"])
        sent = float(_packets_sent(plan)[c])
        last = wire[(k - 1 + lag) % len(wire), c] if k else sent
        if transit < lag + 1.0 - queue["weight"]:
            rows = [wire[(k + n) % len(wire), c] for n in range(lag)]
            transit = max(transit, float(bisect.bisect_left(rows, last)))
        queue_lag, fraction = integer_and_fraction(transit)
        for n in range(lag, int(queue_lag)):
            wire[(k + n) % len(wire), c] = sent
        queue["lag"], queue["weight"] = queue_lag, 1.0 - fraction


def trajectory(
    plan: FluidPlan, record: Records, starts: Floats, steps: int, every: int, packet_jitter: float
) -> Trajectory:
    """Return a finished run as a `Trajectory`; most of its arrays are computed when they are first read.

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
    """Records of a run in its samples and by sending node; each public method returns an array of `Trajectory`.

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
        """Return a column of the flows' recorded values, (F, T)."""
        return self.recorded[:, :, column].T

    @property
    def _by_rate(self) -> Any:
        """Whether each flow's source is a rate rule, (F, 1)."""
        return (self.flows["source"] == RATE_RULE)[:, np.newaxis]

    def in_transit(self) -> Floats:
        """Return mean packets in transit of each flow in each sample, (F, T)."""
        return self._of_flows(0) * self._propagation_fractions()[:, np.newaxis]

    def delivered(self) -> Floats:
        """Return the packets of each flow delivered up to each sample's end, (F, T)."""
        return self._of_flows(1).copy()

    def window(self) -> Floats:
        """Return each flow's window at each sample's end, packets, (F, T); 0 for rate rules."""
        return np.where(self._by_rate, 0.0, self._of_flows(2))

    def rate(self) -> Floats:
        """Return each rate rule's rate at each sample's end, packets/s, (F, T); nan for other sources."""
        return np.where(self._by_rate, self._of_flows(2), np.nan)

    def backlog(self) -> Floats:
        """Return the packets of each flow that wait at its host at each sample's end, (F, T)."""
        return self._of_flows(3).copy()

    def round_trip(self) -> Floats:
        """Return each flow's round-trip time at each sample's end, s, (F, T); nan before the first one."""
        times = self._of_flows(4)
        return np.where(times > 0.0, times, np.nan)

    def cumulative_loss_events(self) -> NDArray[np.int64]:
        """Return the loss events of each flow up to each sample's end, (F, T)."""
        return self._of_flows(5).astype(np.int64)

    def recoveries(self) -> tuple[str, ...]:
        """Return the name of each flow's loss recovery, F of them; "" for flows without a window rule."""
        pairs = zip(self.flows["source"].tolist(), self.flows["recovery"].tolist(), strict=True)
        return tuple(RECOVERY_NAMES[recovery] if source == WINDOW else "" for source, recovery in pairs)

    def _propagation_fractions(self) -> Floats:
        """Return propagation's part of the time from first queue to receiver, without queues, (F,).

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
        """Flow, sending node and queue (-1 if the link never queues) of each entry of the routes, (H,) each."""
        routes = self.scenario.routes
        return routes.flow, self._node_of_link[routes.places], self.hop_queues

    @property
    def _queues(self) -> NDArray[np.int64]:
        """Indices of the per-flow queues at the flows' hops, in the order of the hops, without hops that have none."""
        return self.hop_queues[self.hop_queues >= 0]

    @property
    def _shape(self) -> tuple[int, int]:
        """Numbers of flows and of sending nodes, (F, number of nodes)."""
        return len(self.flows), len(self.scenario.senders)

    def _at_queues(self, chosen: Any, values: Floats, *samples: int) -> AtNodes:
        """Return ``values`` by flow and node, and sample: rows of the hops with a queue that ``chosen`` selects."""
        flow, node, queue = self._hops
        return AtNodes(flow[queue >= 0][chosen], node[queue >= 0][chosen], values, (*self._shape, *samples))

    def carried(self) -> AtNodes:
        """Return the packets of each flow that each node sent during the run, (F, number of nodes), as `AtNodes`.

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
        """Return the mean number of packets of each flow in each node's queues, (F, number of nodes), as `AtNodes`."""
        return self._at_queues(slice(None), self.queues["mean_area"][self._queues] / self.steps)

    def lost(self) -> AtNodes:
        """Return the packets of each flow lost at each node in each sample, (F, number of nodes, T), as `AtNodes`."""
        losing = np.flatnonzero(np.asarray(self.lost_packets.any(axis=0))[self._queues])
        values = np.ascontiguousarray(self.lost_packets[:, self._queues[losing]].T)
        return self._at_queues(losing, values, len(values.T))

    def queued(self) -> Floats:
        """Return the packets in the queues of each sending node at each sample's end, (number of nodes, T)."""
        _, node, queue = self._hops
        packets = np.zeros((self._shape[1], len(self.queued_packets)))
        for n, c in zip(node.tolist(), queue.tolist(), strict=True):
            if c >= 0:
                packets[n] += self.queued_packets[:, c]
        return packets

    def peak_queue(self) -> Floats:
        """Return the largest number of packets in a queue of each sending node, (number of nodes,)."""
        peaks = np.zeros(self._shape[1])
        for i, n in enumerate(self.order):
            link = self.links[i]
            of_buffers = self.queues["peak"][int(link["first"]) : int(link["end"])]
            peak = max(link["peak"], np.where(np.isfinite(of_buffers), of_buffers, 0.0).max())
            node = self._node_of_link[n]
            peaks[node] = max(peaks[node], peak)
        return peaks

    def dropped(self) -> Any:
        """Return the drops of the run, rows of `dfcmodel.network.run_tables.DROPPED`."""
        routes, has_queue, queue = self.scenario.routes, self.hop_queues >= 0, self._queues
        by_manager = self.drops[MANAGED, queue]
        packets = np.column_stack([self.queues["lost"][queue] - by_manager, by_manager])  # BUFFER_FULL, BY_MANAGER
        first = self.drops[[FIRST_FULL, FIRST_MANAGED]][:, queue].T
        return drop_rows(routes.flow[has_queue], routes.places[has_queue], np.zeros(len(queue)), packets, first)


def _packets_inside(plan: FluidPlan, steps: int) -> Floats:
    """Return each flow's packets sent by its source, neither delivered nor lost, after ``steps`` steps, (F,)."""
    flows, queues, _, wire, *_ = plan.network
    arrived = wire[(steps - 1) % len(wire)]  # packets that have crossed the link after each queue
    in_flight = plan.sums_over_paths(queues["sent"][:-1] - arrived)
    queued = queues["backlog"].copy()
    queued[: len(flows)] = 0.0
    at_hosts = flows["emitted"] - queues["sent"][: len(flows)]
    return np.asarray(at_hosts + (in_flight + plan.sums_over_paths(queued)))


def _imbalance(plan: FluidPlan, packets_inside: Floats) -> Floats:
    """Return emitted less delivered, lost and present packets, absolute, over emitted packets (at least 1), (F,)."""
    flows = plan.network.flows
    lost = plan.sums_over_paths(plan.network.queues["lost"])
    missing = np.abs(flows["emitted"] - (flows["delivered"] + lost + packets_inside))
    return np.asarray(missing / np.maximum(flows["emitted"], 1.0))


def _acks_in_flight(plan: FluidPlan, steps: int) -> Floats:
    """Return the ACKed packets of the ACKs on their way to each sender after ``steps`` steps, (F,)."""
    acks, lags = plan.transport.acks["acks"], plan.network.flows["ack_lag"]
    sums = np.zeros(len(lags))
    for lag in np.unique(lags).tolist():
        members = np.flatnonzero(lags == lag)
        sums[members] = acks[np.arange(steps, steps + lag) % len(acks)][:, members].T.copy().sum(axis=1)
    return sums


# After pauses: rooms that were too small, packets that wait, and when pauses acted.


def _excess(plan: FluidPlan) -> Any:
    """Return the most packets that found no room in one pause, for ingresses with any, array of dtype `EXCESS`."""
    pauses = plan.feedback.pauses
    pauses = pauses[pauses["most_excess"] > 0.0]
    order, paused = np.asarray(plan.order), pauses["paused"]
    via = np.where(paused >= 0, order[np.maximum(paused, 0)], paused)
    priority = np.array([_priority(plan, row) for row in pauses], dtype=np.int64)
    return excess_rows(order[pauses["pausing"]], via, priority, pauses["most_excess"])


def _priority(plan: FluidPlan, row: Any) -> int:
    """Return the class of a row of pauses, ALL for pauses of a whole link."""
    if row["first"] == row["end"]:
        return ALL
    priority: int = plan.scenario.flows[plan.network.queues["flow"][int(row["first"])]].priority
    return priority


def _waiting_packets(plan: FluidPlan, sent_before: Any) -> Any:
    """Return the packets that wait at links that pause or are paused at the end, rows of `WAITING`.

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


def pause_times(plan: FluidPlan, switches: Any) -> Iterator[tuple[int, int, int, int, Any]]:
    """Yield paused and pausing link, class, 1 for a fault, and times, s, at which the pauses begin, end, begin, ...

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
        yield link, plan.order[row["pausing"]], _priority(plan, row), int(row["held"] == STORM), times

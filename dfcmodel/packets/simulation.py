"""Packet-level simulation of a scenario: its plan, the kernel that runs it, and the trajectory from its records."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.followers import actual_starts
from dfcmodel.network.links import among, column_of, distinct
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.packets import ns2_random
from dfcmodel.packets.engine import PacketRun, begin_run, dropped_packets, exceeded_rooms, run_engine
from dfcmodel.packets.fabric.conditions import is_fabric
from dfcmodel.packets.fabric.engine import FabricRun, begin_fabric, run_fabric
from dfcmodel.packets.plan import ENDLESS, PacketPlan
from dfcmodel.packets.ports import Ports
from dfcmodel.packets.refusals import check_numbers, check_scenario
from dfcmodel.packets.sprayed import check_failures, reroute, spread
from dfcmodel.results.pauses import intervals_of_pairs
from dfcmodel.results.records import FLOW_COUNTS, AtNodes, Deferred, value_of
from dfcmodel.results.trajectories import Trajectory
from hopflow.checks import count_of, one_number
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from responsefn import RateRule, WindowRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.engine import Records
    from dfcmodel.packets.methods import Packets

    Floats = NDArray[np.float64]

__all__ = ["begin_plan", "plan_scenario", "run_plan", "simulate_packets", "trajectory"]


MIN_INTERVAL = 1e-12
"""Minimum duration and sample in s: the kernel counts times of up to 1e5 s in samples, in 64 bits."""
MAX_PARTS = 32
"""Maximum number of parts of a sample that engines record, so that a run ends with one of them."""


def plan_scenario(
    scenario: Scenario,
    method: Packets,
    *,
    duration: float,
    sample: float,
    starts: Floats | None = None,
    packet_jitter: float = 0.0,
    may_spray: bool = False,
) -> PacketPlan:
    """Return the packet-level plan of a scenario, checked; ``may_spray``: further flows may lend their paths.

    Parameters
    ----------
    duration, sample
        Simulated time and sampling interval, s. The last interval may be shorter.
    starts
        Start times of the flows, s, (F,), as `random_starts` returns them; of flows that wait for others the delay
        after these, or the earliest start. None: the times of the scenario.
    packet_jitter
        Upper end of the random delay of each packet at its sender, s.
    may_spray
        Whether sprayed flows are allowed. The plan has further flows then, which lend their paths.

    Raises
    ------
    ValueError
        For a feature that the packet level does not support; the message names it.
    OverflowError
        For a source of constant rate that sends more packets than there are sequence numbers, 2^31 - 2.
    """
    if starts is None:
        starts = scenario.table.numbers("start")
    spraying = None
    if method.failures:
        check_failures(scenario, method, duration)
    has_paths = any(scenario.table.columns["paths"].values)
    if has_paths or (method.failures and reroute(scenario, method)[1] is not None):
        if not may_spray:
            raise ValueError(f"paths of {scenario.name}: sprayed flows are for simulate alone")
        if scenario.all_elements:
            msg = "must be () with sprayed flows, whose packets take several paths"
            raise ValueError(f"elements of {scenario.name!r}: {msg}")
        check_scenario(scenario, method)  # before further paths have flows and names of their own
        spraying, scenario = spread(scenario, method)
        starts = np.concatenate([np.full(spraying.lenders, np.inf), starts])
    check_scenario(scenario, method)
    one_number("duration", duration, at_least=MIN_INTERVAL, hint="in s")
    one_number("sample", sample, at_least=MIN_INTERVAL, hint="in s")
    waits = scenario.table.waits
    delays_after, earliest = np.zeros(0), starts
    if waits.any():
        delays_after, earliest = scenario.followers.times(starts)
    starts = np.where(waits, np.inf, starts)
    if scenario.table.of_kind(CBR).any():
        check_numbers(scenario, _surely_sent(scenario, starts, duration) > ENDLESS, duration)
    sample, samples, every = _division(duration, sample)
    repairs = method.repair_of(scenario)
    return PacketPlan(
        scenario=scenario,
        method=method,
        ports=_ports(scenario, method, repairs),
        recoveries=method.recovery_of(scenario),
        repairs=repairs,
        starts=starts,
        earliest=earliest,
        delays_after=delays_after,
        jitter=packet_jitter,
        phases=_phases(scenario, method) if method.is_ns2 else np.zeros(len(scenario.table)),
        end=duration,
        sample=sample,
        samples=samples,
        every=every,
        spraying=spraying,
    )


def _ports(scenario: Scenario, method: Packets, repairs: Sequence[Any]) -> Ports:
    """Return the ports of a scenario; an earlier run's if they are equal."""
    table = scenario.table
    receives_acks = table.of_kind(WindowRule, RateRule)
    is_constant = table.each("source", lambda source: getattr(source, "is_constant", False))
    if is_constant.any():  # a rule at constant rate without loss recovery ignores ACKs
        repairs_nothing = column_of(repairs).map(lambda repair: repair == "none").array()
        receives_acks = receives_acks & ~(is_constant & repairs_nothing)
    # links that send again have lanes, as those that fail have, and those at which switches choose
    repeats = tuple(sorted((method.frame_errors or {}).items()))
    fails = tuple(sorted(method.failures or {}))
    options = method.is_ns2, method.ack_transmission, receives_acks.tobytes(), repeats, fails, method.spraying
    ports: Ports | None = scenario.derived.get(("ports", *options))
    if ports is None:
        ports = Ports(scenario, method, receives_acks)
        if ports.derived is not None:
            scenario.derived["ports", *options] = ports
    return ports


def _surely_sent(scenario: Scenario, starts: Floats, end: float) -> Floats:
    """Return the packets that constant-rate sources send up to ``end``, s, (F,); 0 for other sources."""
    table = scenario.table
    rates = table.each("source", lambda source: source.rate if isinstance(source, CBR) else 0.0)
    stops = np.minimum(end, table.numbers("stop"))
    sent: Floats = np.minimum(table.numbers("size"), rates * np.maximum(0.0, stops - starts))
    return sent


@functools.lru_cache(maxsize=128)
def _division(end: float, sample: float) -> tuple[float, int, int]:
    """Return (the engine's sampling interval, s; number of these intervals in a run; number of them per ``sample``).

    They are the 1st to `MAX_PARTS`-th part of a sample; where none divides the run samples are shorter, so that
    they do.
    """
    times = Fraction(end / sample).limit_denominator(MAX_PARTS)
    if times > 0 and abs(times * sample / end - 1.0) <= 1e-9:
        part = sample if times.denominator == 1 else end / times.numerator
        return part, times.numerator, times.denominator
    samples = math.ceil(end / sample)
    return end / samples, samples, 1


def _phases(scenario: Scenario, method: Packets) -> Floats:
    """Return the tick phases of the flows with ns-2's conventions, s, (F,); ValueError for a wrong number."""
    F = len(scenario.flows)
    if method.phases is not None:
        if len(method.phases) != F:
            raise ValueError(f"phases: {count_of(len(method.phases), 'value')}, must be one for each of {F} flows")
        return np.array(method.phases)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    drawn = np.flatnonzero(scenario.table.of_kind(WindowRule)).tolist()
    phases = np.zeros(F)  # agents of other sources draw none
    phases[drawn] = ns2_random.tick_phases([nodes[scenario.flows[f].path[0]] for f in drawn], len(nodes), method.seed)
    return phases


def simulate_packets(
    scenario: Scenario,
    method: Packets,
    *,
    duration: float,
    sample: float,
    starts: NDArray[np.float64] | None = None,
    packet_jitter: float = 0.0,
) -> Trajectory:
    """Simulate a scenario packet by packet and return the trajectory; parameters as for `dfcmodel.simulate`."""
    watch = Stopwatch()
    plan = plan_scenario(
        scenario, method, duration=duration, sample=sample, starts=starts,
        packet_jitter=packet_jitter, may_spray=True,
    )  # fmt: skip
    records = run_plan(plan)
    plan.release()
    return trajectory(plan, records, watch.seconds())


def trajectory(plan: PacketPlan, records: Records, run_seconds: float) -> Trajectory:
    """Return a run's records as a `Trajectory`, with ``run_seconds`` as its ``seconds``; most arrays are lazy."""
    view, waits = _Sampled(plan, records), plan.scenario.table.waits
    started = np.array(plan.starts, dtype=float)
    if waits.any():  # nan if a flow waits for one that was not complete
        earliest = np.where(waits, plan.earliest, plan.starts)
        started = actual_starts(plan.scenario.followers, plan.delays_after, earliest, records.finished)
    fields = dict(
        scenario=plan.scenario,
        step=0.0,
        time=np.append(plan.sample * view.ends[:-1], plan.end),
        notifications=records.notifications,
        imbalance=records.imbalance,
        seconds=run_seconds,
        first_loss=records.first_loss,
        finished=records.finished,
        started=started,
        recoveries=Deferred(_recoveries, plan),
        paused=Deferred(_pause_intervals, plan, records.switched) if records.all_switches else None,
        counted=tuple(records.counted) or None,
        dropped=Deferred(dropped_packets, plan, records.causes, records.first_drops),
        excess=exceeded_rooms(plan, records.excess),
        remaining=records.remaining,
        emitted=records.emitted,
        inside=records.inside,
        packet_jitter=plan.jitter,
        repeats_frames=bool((plan.errors > 0.0).any()),
        unused_choices=_unused_choices(plan),
        observed=view.observed() if records.observed else None,
        **{name: getattr(records, name).astype(int) for name in FLOW_COUNTS},
        **{name: Deferred(getattr(view, name)) for name in VIEWED},
    )
    if not any(link.discipline.may_mark for link in plan.scenario.link_table.kinds):
        fields["marks"] = None
    if records.counts_bytes.any():
        fields |= {name: Deferred(getattr(view, name)) for name in ("queued_bytes", "peak_bytes")}
    if plan.spraying is not None:
        fields = plan.spraying.collapse({name: value_of(value) for name, value in fields.items()})
    return Trajectory(**fields)


VIEWED = (
    "in_transit", "delivered", "window", "backlog", "round_trip", "cumulative_loss_events", "lost", "queued",
    "peak_queue", "carried", "mean_queue",
)  # fmt: skip
"""Arrays of a trajectory that `_Sampled` computes."""


class _Sampled:
    """Records of a run in its samples and by sending node; each public method returns an array of `Trajectory`."""

    def __init__(self, plan: PacketPlan, records: Records) -> None:
        self.plan, self.records = plan, records
        self.first = np.arange(0, plan.samples, plan.every)  # of each sample
        self.ends = np.minimum(self.first + plan.every, plan.samples)
        self.last = self.ends - 1

    def _sum_samples(self, rows: Any) -> Any:
        """Return sums over each sample of the trajectory from rows per sample of the engine."""
        return np.add.reduceat(rows[: self.plan.samples], self.first, axis=0)

    @property
    def _nodes(self) -> int:
        """Number of sending nodes."""
        return len(self.plan.scenario.senders)

    @cached_property
    def _node_of(self) -> NDArray[np.int64]:
        """Index of the sending node of each port that is a link, (P,); -1 for other ports."""
        links, ports = self.plan.scenario.link_table, self.plan.ports
        number = {node: n for n, node in enumerate(self.plan.scenario.senders)}
        sending = np.array([number.get(node, -1) for node in links.nodes])
        return np.where(ports.link >= 0, sending[links.source][ports.link], -1)

    @cached_property
    def _waiting(self) -> NDArray[np.float64]:
        """Packets in the queue of each port at the end of each sample, (P, T)."""
        waiting = np.cumsum(self.records.waiting[: self.plan.samples], axis=0)[self.last]
        return np.asarray(waiting.T.astype(float))

    @cached_property
    def _links(self) -> list[NDArray[np.int32]]:
        """Flow, row and sending node of each hop of packets over links of the scenario, (N,) each."""
        hops, node_of = self.plan.hops, self._node_of
        over_links = ~hops.is_ack & (node_of[hops.port] >= 0)
        node = node_of.astype(np.int32)[hops.port[over_links]]
        return [hops.flow[over_links].astype(np.int32), hops.row[over_links].astype(np.int32), node]

    def _at_nodes(self, chosen: Any, values: NDArray[np.float64], *samples: int) -> AtNodes:
        """Return values by flow and node of the ``chosen`` of `_links`; those of a flow at one node are summed."""
        flow, _, node = self._links
        shape = len(self.plan.starts), self._nodes, *samples
        at_nodes = AtNodes(flow[chosen], node[chosen], values, shape)
        return at_nodes.merge() if self.plan.scenario.table.given("ttl").any() else at_nodes

    def in_transit(self) -> NDArray[np.float64]:
        """Return mean packets in transit of each flow in each sample, (F, T)."""
        lengths = self.plan.sample * (self.ends - self.first)
        means: NDArray[np.float64] = self._sum_samples(self.records.transit).T / lengths
        return means

    def delivered(self) -> NDArray[np.float64]:
        """Return the packets of each flow delivered up to each sample's end, without a SYN, (F, T)."""
        opening = self.plan.opening[:, np.newaxis]
        delivered = np.cumsum(self.records.delivered[: self.plan.samples], axis=0)[self.last].T
        receives_acks = (self.plan.backward.counts > 0)[:, np.newaxis]
        return np.asarray(np.where(receives_acks, np.maximum(0.0, delivered - opening), delivered))

    def window(self) -> NDArray[np.float64]:
        """Return each flow's window at each sample's end, packets, at most ``max_window``, (F, T); 0: no window."""
        window = np.asarray(self.records.window[self.last].T)
        table = self.plan.scenario.table
        # senders send at most max_window, as the fluid records it; rate rules have no window
        allowed = np.where(table.of_kind(WindowRule), table.numbers("max_window"), np.inf)
        return np.asarray(np.minimum(window, allowed[:, np.newaxis]))

    def round_trip(self) -> NDArray[np.float64]:
        """Return each flow's measured round-trip time at each sample's end, s, (F, T); nan before the first one."""
        return np.asarray(self.records.round_trip[self.last].T)

    def cumulative_loss_events(self) -> NDArray[np.int64]:
        """Return the loss events of each flow up to each sample's end, (F, T)."""
        return np.asarray(self.records.loss_count[self.last].T, dtype=np.int64)

    def backlog(self) -> NDArray[np.float64]:
        """Return the packets of each flow that wait at its host at each sample's end, (F, T)."""
        backlog = np.zeros((len(self.plan.starts), len(self.last)))
        for p, f in _access_links(self.plan).items():
            backlog[f] = self._waiting[p]
        shared = self.records.shares_host
        if shared.any():
            backlog[shared] = self.records.at_hosts[self.last][:, shared].T
        return backlog

    def queued(self) -> NDArray[np.float64]:
        """Return the packets in the queues of each sending node at each sample's end, (number of nodes, T)."""
        queued, links = np.zeros((self._nodes, len(self.last))), np.flatnonzero(self._node_of >= 0)
        np.add.at(queued, self._node_of[links], self._waiting[links])
        return queued

    def peak_queue(self) -> NDArray[np.float64]:
        """Return the largest number of packets in a queue of each sending node, (number of nodes,)."""
        peak, links = np.zeros(self._nodes), np.flatnonzero(self._node_of >= 0)
        np.maximum.at(peak, self._node_of[links], self.records.peak[links])
        return peak

    def lost(self) -> AtNodes:
        """Return the packets of each flow lost at each node in each sample, (F, number of nodes, T), as `AtNodes`."""
        records, row = self.records, self._links[1]
        losing = np.flatnonzero(np.asarray(records.lost[:-1].any(axis=0))[row])
        of_losing = self._sum_samples(records.lost[:, row[losing]]).T.astype(float)
        return self._at_nodes(losing, of_losing, len(self.last))

    def carried(self) -> AtNodes:
        """Return the packets of each flow that each node sent during the run, (F, number of nodes), as `AtNodes`."""
        return self._at_nodes(slice(None), self.records.carried[self._links[1]].astype(float))

    def mean_queue(self) -> AtNodes:
        """Return the mean number of packets of each flow in each node's queues, (F, number of nodes), as `AtNodes`."""
        return self._at_nodes(slice(None), self.records.waited[self._links[1]] / self.plan.end)

    @property
    def _in_bytes(self) -> NDArray[np.int64]:
        """Port indices, ascending, of links whose buffers count bytes."""
        return np.flatnonzero(self.records.counts_bytes & (self._node_of >= 0))

    def observed(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return variables that native rules report, {flow: {name: values at each sample's end}}."""
        tables = self.records.observed.items()
        return {flow: {name: values[self.last] for name, values in table.items()} for flow, table in tables}

    def queued_bytes(self) -> NDArray[np.float64] | None:
        """Return `queued` in bytes, (nodes, T), nan at nodes that count packets; None if no buffer counts bytes."""
        ports = self._in_bytes
        if not ports.size:
            return None
        queued, nodes = np.full((self._nodes, len(self.last)), np.nan), self._node_of[ports]
        queued[nodes] = 0.0
        np.add.at(queued, nodes, np.cumsum(self.records.queued_bytes, axis=0)[self.last][:, ports].T)
        return queued

    def peak_bytes(self) -> NDArray[np.float64] | None:
        """Return `peak_queue` in bytes, (nodes,), nan at nodes that count packets; None if no buffer counts bytes."""
        ports = self._in_bytes
        if not ports.size:
            return None
        peak, nodes = np.full(self._nodes, np.nan), self._node_of[ports]
        peak[nodes] = 0.0
        np.maximum.at(peak, nodes, self.records.peak_bytes[ports])
        return peak


def _access_links(plan: PacketPlan) -> dict[int, int]:
    """Return {access link, as a port: index of the first flow that uses it}."""
    ports, flows = distinct(plan.forward.first, len(plan.ports))
    is_access = plan.ports.link[ports] < 0
    return dict(zip(ports[is_access].tolist(), flows[is_access].tolist(), strict=True))


def _unused_choices(plan: PacketPlan) -> dict[str, str]:
    """Return the choices of a method that no flow of the plan uses, as texts, with the reason."""
    unused, chosen = {}, plan.method.recovery
    if plan.spraying is None and plan.method.spraying != "turns":
        reason = "no flow is sprayed; write routes='spray' where flows are made"
        unused[f"spraying = {plan.method.spraying!r}"] = reason
    used = {str(recovery) for recovery in (*among(plan.recoveries), *among(plan.repairs))}
    choices = chosen.values() if isinstance(chosen, Mapping) else [] if chosen is None else [chosen]
    for recovery in choices:
        if str(recovery) not in used:
            unused[f"recovery = {str(recovery)!r}"] = (
                "no flow has it: rate rules take 'go-back-n', 'selective' and 'none', delivery rules 'sack' and "
                "RackRecovery(), other window rules the others"
            )
    return unused


def _recoveries(plan: PacketPlan) -> tuple[str, ...]:
    """Return the name of each flow's loss recovery or repair; "" without one."""
    repairs = column_of(plan.repairs).map(str)
    if not plan.scenario.table.of_kind(WindowRule).any():
        return tuple(repairs)
    recoveries = column_of(plan.recoveries).map(str)
    return tuple(name or repair for name, repair in zip(recoveries, repairs, strict=True))


def _pause_intervals(plan: PacketPlan, rows: Any) -> Any:
    """Return pauses, by ``rows`` of `Records.switched` and faults, as rows of `PAUSED`; access links are -1 - flow."""
    link = plan.ports.link.copy()
    for p, f in _access_links(plan).items():
        link[p] = -1 - f
    rows = rows[np.lexsort(rows[:, [4, 3, 1]].T)]  # rows of one pause are in order of time
    keys = rows[:, [1, 3, 4]].astype(np.int64)
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])
    counts = np.diff(np.append(first, len(keys)))
    asks, paused, priority = keys[first].T
    of_all = np.flatnonzero(paused == ALL)  # at once of all ports that feed it
    feeders = [plan.pausable(int(p)) for p in asks[of_all].tolist()]
    copies = np.ones(len(first), dtype=np.int64)
    copies[of_all] = [len(ports) for ports in feeders]
    group = np.repeat(np.arange(len(first)), copies)
    paused = paused[group]
    paused[np.isin(group, of_all)] = [q for ports in feeders for q in ports]
    counts = counts[group]
    index = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - first[group], counts)
    delays = plan.delays[paused] + plan.signalling[asks[group]]
    delays[np.isin(asks[group], plan.ports_under(LinkLaw))] = 0.0  # times at which the sender was blocked
    times = rows[index, 0] + np.repeat(delays, counts)
    pairs = np.transpose([link[paused], link[asks[group]], priority[group], np.zeros(len(paused), dtype=np.int64)])
    by_faults = plan.fault_pauses()
    fault_pairs = [(link[q], link[p], priority, 1) for p, q, priority, *_ in by_faults]
    fault_times = [[begin] if end == math.inf else [begin, end] for *_, begin, end in by_faults]
    return intervals_of_pairs(
        np.concatenate([pairs, np.array(fault_pairs, dtype=np.int64).reshape(-1, 4)]),
        np.append(counts, [len(switches) for switches in fault_times]).astype(np.int64),
        np.concatenate([times, *fault_times]),
        plan.end,
    )


def run_plan(plan: PacketPlan) -> Records:
    """Run a plan, by the fabric kernel if it can, otherwise by the general kernel, and return its records.

    Raises
    ------
    MemoryError, OverflowError, ArithmeticError
        As `dfcmodel.packets.engine.run_engine`.
    """
    records = run_fabric(plan) if _may_be_fabric(plan) else None
    return run_engine(plan) if records is None else records


def begin_plan(plan: PacketPlan) -> FabricRun | PacketRun:
    """Return the run of a plan at t = 0, by the kernel that `run_plan` tries first."""
    run = begin_fabric(plan) if _may_be_fabric(plan) else None
    return begin_run(plan) if run is None else run


def _may_be_fabric(plan: PacketPlan) -> bool:
    """Return whether `run_plan` tries the fabric kernel: all sources are rate rules, and it has all features."""
    return bool(plan.scenario.table.of_kind(RateRule).all()) and is_fabric(plan)

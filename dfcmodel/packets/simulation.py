"""Packet-level simulation of a scenario: plan, engine, trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.class_pauses import ALL
from dfcmodel.network.columns import column_of
from dfcmodel.network.followers import actual_starts
from dfcmodel.network.link_laws import LinkLaw
from dfcmodel.network.routes import distinct
from dfcmodel.packets.failures import check_failures
from dfcmodel.packets.planning import plan_packets
from dfcmodel.packets.remains import dropped_packets, excess_rows
from dfcmodel.packets.running import run_plan
from dfcmodel.packets.spraying import is_sprayed, spread
from dfcmodel.results.at_nodes import AtNodes, Deferred
from dfcmodel.results.pauses import intervals_of_pairs
from dfcmodel.results.trajectories import Trajectory
from hopflow.kernels.stopwatch import Stopwatch
from responsefn import WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets
    from dfcmodel.packets.plans import Plan
    from dfcmodel.packets.records import Records

__all__ = ["plan_scenario", "simulate_packets", "trajectory"]


def simulate_packets(
    scenario: Scenario,
    method: Packets,
    *,
    duration: float,
    sample: float,
    jitter: float = 0.0,
    packet_jitter: float = 0.0,
) -> Trajectory:
    """Simulate a scenario packet by packet: see `dfcmodel.simulate` for the parameters."""
    watch = Stopwatch()
    plan = plan_scenario(
        scenario, method, duration=duration, sample=sample, jitter=jitter,
        packet_jitter=packet_jitter, may_spray=True,
    )  # fmt: skip
    return trajectory(plan, run_plan(plan), watch.seconds())


def plan_scenario(
    scenario: Scenario,
    method: Packets,
    *,
    duration: float,
    sample: float,
    jitter: float = 0.0,
    packet_jitter: float = 0.0,
    may_spray: bool = False,
) -> Plan:
    """Return the plan of a scenario with its starts: see `dfcmodel.simulate` for the parameters.

    ``may_spray``: sprayed flows are not refused; the plan has further flows, which lend their paths.
    """
    starts = scenario.table.numbers("start")
    if jitter > 0.0:
        starts = starts + np.random.default_rng(method.seed or 0).uniform(0.0, jitter, len(starts))
    spraying = None
    check_failures(scenario, method)
    if is_sprayed(scenario, method):
        if not may_spray:
            raise ValueError(f"paths of {scenario.name}: sprayed flows are for simulate alone")
        if scenario.elements:
            msg = "must be () with sprayed flows, whose packets take several paths"
            raise ValueError(f"elements of {scenario.name!r}: {msg}")
        spraying, scenario = spread(scenario, method)
        starts = np.concatenate([np.full(spraying.lenders, np.inf), starts])
    return plan_packets(
        scenario, method, end=duration, sample=sample, starts=starts, jitter=packet_jitter,
        spraying=spraying,
    )  # fmt: skip


def trajectory(plan: Plan, records: Records, seconds: float) -> Trajectory:
    """Return the records of a run as a trajectory."""
    scenario = plan.scenario
    first = np.arange(0, plan.samples, plan.every)  # of each sample
    ends = np.minimum(first + plan.every, plan.samples)
    S, last = len(first), ends - 1

    def summed(rows: Any) -> Any:
        return np.add.reduceat(rows[: plan.samples], first, axis=0)

    places = {node: n for n, node in enumerate(scenario.senders)}
    F, N = len(plan.starts), len(places)
    waiting = np.cumsum(records.waiting[: plan.samples], axis=0)[last].T.astype(float)
    queued, peak, backlog = np.zeros((N, S)), np.zeros(N), np.zeros((F, S))
    links = scenario.link_table
    place_of = np.array([places.get(node, -1) for node in links.nodes])
    node_of = np.where(plan.ports.link >= 0, place_of[links.source][plan.ports.link], -1)
    of_links = np.flatnonzero(node_of >= 0)
    np.add.at(queued, node_of[of_links], waiting[of_links])
    np.maximum.at(peak, node_of[of_links], records.peak[of_links])
    for p, f in _hosts(plan).items():
        backlog[f] = waiting[p]
    shared = records.shares_host
    if shared.any():
        backlog[shared] = records.at_hosts[last][:, shared].T
    flow, row, node = _at_links(plan, node_of)
    losing = np.flatnonzero(np.asarray(records.lost[:-1].any(axis=0))[row])
    of_losing = summed(records.lost[:, row[losing]]).T.astype(float)
    lost: Any = AtNodes(flow[losing], node[losing], of_losing, (F, N, S))
    carried: Any = AtNodes(flow, node, records.carried[row].astype(float), (F, N))
    mean_queue: Any = AtNodes(flow, node, records.waited[row] / plan.end, (F, N))
    if scenario.table.given("ttl").any():
        lost, carried, mean_queue = lost.merged(), carried.merged(), mean_queue.merged()
    opening = plan.opening[:, np.newaxis]
    delivered = np.cumsum(records.delivered[: plan.samples], axis=0)[last].T
    receives_feedback = (plan.backward.counts > 0)[:, np.newaxis]
    paused: Any = Deferred(_paused, plan, records.switched) if records.all_switches else None
    found = dict(
        scenario=scenario,
        step=0.0,
        time=np.append(plan.sample * ends[:-1], plan.end),
        in_transit=summed(records.transit).T / (plan.sample * (ends - first)),
        delivered=np.where(receives_feedback, np.maximum(0.0, delivered - opening), delivered),
        window=records.window[last].T,
        backlog=backlog,
        round_trip=records.round_trip[last].T,
        lost=lost,
        queued=queued,
        peak_queue=peak,
        timeouts=_whole(records.timeouts),
        loss_events=_whole(records.loss_events),
        imbalance=records.imbalance,
        seconds=seconds,
        first_loss=records.first_loss,
        finished=records.finished,
        carried=carried,
        mean_queue=mean_queue,
        started=_starts(plan, records.finished),
        recoveries=_repairs(plan),
        paused=paused,
        dropped=dropped_packets(plan, records.causes, records.first_drops),
        excess=excess_rows(plan, records.excess),
        remaining=records.remaining,
        emitted=records.emitted,
        inside=records.inside,
        **_byte_queues(records, node_of, N, last),
    )
    return Trajectory(**(found if plan.spraying is None else plan.spraying.collapse(found)))


def _starts(plan: Plan, finished: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return when the flows began, s, (F,); nan: it waits for one that is not complete."""
    if not plan.scenario.table.waits.any():
        return np.array(plan.starts, dtype=float)
    earliest = np.where(plan.scenario.table.waits, plan.earliest, plan.starts)
    return actual_starts(plan.scenario.followers, plan.delays_after, earliest, finished)


def _at_links(plan: Plan, node_of: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    """Return flow, row and node of the hops of packets over links of the scenario, (N,) each."""
    hops = plan.hops
    kept = ~hops.is_ack & (node_of[hops.port] >= 0)
    node = node_of.astype(np.int32)[hops.port[kept]]
    return [hops.flow[kept].astype(np.int32), hops.row[kept].astype(np.int32), node]


def _byte_queues(
    records: Records, node_of: NDArray[np.int64], nodes: int, last: NDArray[np.int64]
) -> dict[str, Any]:
    """Return what waits at nodes whose links count bytes, (N, S), and the most of it at one link, (N,); nan for others."""
    ports = np.flatnonzero(records.counts_bytes & (node_of >= 0))
    if not ports.size:
        return {}
    own = node_of[ports]
    queued, peak = np.full((nodes, len(last)), np.nan), np.full(nodes, np.nan)
    queued[own], peak[own] = 0.0, 0.0
    np.add.at(queued, own, np.cumsum(records.queued_bytes, axis=0)[last][:, ports].T)
    np.maximum.at(peak, own, records.peak_bytes[ports])
    return {"queued_bytes": queued, "peak_bytes": peak}


def _hosts(plan: Plan) -> dict[int, int]:
    """Return the access links of hosts, each with a flow of the host: the first one."""
    ports, flows = distinct(plan.forward.first, len(plan.ports))
    own = plan.ports.link[ports] < 0
    return dict(zip(ports[own].tolist(), flows[own].tolist(), strict=True))


def _repairs(plan: Plan) -> tuple[str, ...]:
    """Return how each flow repairs losses; "" where it does not."""
    repairs = column_of(plan.repairs).map(str)
    if not plan.scenario.table.of_kind(WindowRule).any():
        return tuple(repairs)
    recoveries = column_of(plan.recoveries).map(str)
    return tuple(name or repair for name, repair in zip(recoveries, repairs, strict=True))


def _paused(plan: Plan, rows: Any) -> Any:
    """Return when each link and access link was paused, and by whom; ``rows`` are those of `Records.switched`."""
    link = plan.ports.link.copy()
    for p, f in _hosts(plan).items():
        link[p] = -1 - f
    rows = rows[np.lexsort(rows[:, [4, 3, 1]].T)]  # those of one pause are in order of time
    keys = rows[:, [1, 3, 4]].astype(np.int64)
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])
    counts = np.diff(np.append(first, len(keys)))
    asks, paused, priority = keys[first].T
    whole = np.flatnonzero(paused == ALL)  # at once of all ports that feed it
    each = {n: plan.pausable(int(asks[n])) for n in whole.tolist()}
    copies = np.ones(len(first), dtype=np.int64)
    copies[whole] = [len(ports) for ports in each.values()]
    group = np.repeat(np.arange(len(first)), copies)
    paused = paused[group]
    paused[np.isin(group, whole)] = [q for ports in each.values() for q in ports]
    own = counts[group]
    at = np.arange(int(own.sum())) - np.repeat(np.cumsum(own) - own - first[group], own)
    ways = plan.delays[paused] + plan.signalling[asks[group]]
    ways[np.isin(asks[group], plan.under(LinkLaw))] = 0.0  # times at which the sender was blocked
    times = rows[at, 0] + np.repeat(ways, own)
    storms = plan.storms()
    found = np.transpose([link[paused], link[asks[group]], priority[group]])
    begins = [(link[q], link[p], priority) for p, q, priority, _ in storms]
    return intervals_of_pairs(
        np.concatenate([found, np.array(begins, dtype=np.int64).reshape(-1, 3)]),
        np.append(own, np.ones(len(storms), dtype=np.int64)),
        np.append(times, [begin for *_, begin in storms]),
        plan.end,
    )


def _whole(counts: Any) -> Any:
    return np.asarray(counts).astype(int)

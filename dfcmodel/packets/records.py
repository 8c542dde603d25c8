"""Records of a packet-level run in bins of time, and the final tables that follow from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import constant
from dfcmodel.network.notifications import notifications_of
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, PFC, ByClass
from dfcmodel.network.queueing.disciplines import Pause
from dfcmodel.network.run_tables import CAUSES, DROPPED, EXCESS, LAST_PART, WAITING, drop_rows, excess_rows
from dfcmodel.packets.kernel.codes import CUT, WAKE
from dfcmodel.packets.kernel.links.ports import INTERFACE
from hopflow.fork_safety import cached_property
from responsefn import RateRule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["Records", "dropped_packets", "exceeded_rooms", "has_pauses", "waiting_rows"]

SWITCHES = 2**15
"""Pauses and resumes for which there is room: half of them in one window. Memory is that of the rows in use."""
NO_LINK = np.iinfo(np.int64).min
"""In place of a link: a mirror of one, for ACKs."""


class Records:
    """Recorded arrays of a run with F flows, P ports, S samples and H hops; read-only where they have one value.

    Parameters
    ----------
    plan
        Of the run.
    is_lossless
        Whether the fabric kernel runs it, which loses nothing and has no windows: an array that it never writes has one
        value.

    Notes
    -----
    The rows of hops of a flow are the hops of its packets, its receiver, the hops of its ACKs, and its sender.

    Attributes
    ----------
    window, round_trip, acked, loss_count
        Values at the ends of the samples, (S, F): congestion window in packets; round-trip time of
        the last ACK in s (nan: none); highest cumulatively acknowledged packet (-1: none); loss events so far.
    delivered
        Packets delivered in order in each sample, (S + 1, F); the last row is beyond the end.
    started
        Packets whose transmission started at each hop in each sample, less those at the hop before, (S + 1, H); of the
        packet kernel, see `starts`.
    counts
        The result of `starts`, (S, H), where a kernel counts it; otherwise None.
    lost
        Packets dropped at each hop in each sample, (S + 1, H).
    causes, first_drops
        Packets dropped at each hop until the end, and the time of the first in s (0 where none was), by cause
        (`dfcmodel.network.run_tables.CAUSES`), (H, CAUSES).
    left
        Packets that wait at each hop in a lane at the end, (H,); of the compiled engine.
    excess
        Of each port, the class and the port over which they came (-1 - flow: from a sender; both ALL: all of a port
        with 802.3x) the most packets without room in one pause; only those above 0.
    remaining
        Packets that wait at the end at ports that are paused or pause others (`dfcmodel.network.run_tables.WAITING`).
    emitted, inside
        Packets that each sender sent, and packets and ACKs in the network at the end, delayed ACKs among them, (F,).
    waiting
        Change of the number of queued packets from one end of a sample to the next, (S + 1, P).
    queued_bytes, peak_bytes
        Change of the bytes that wait at ports whose buffers count bytes, (S + 1, P), and the most of them, (P,); of one
        port where none does.
    at_hosts
        Packets of each flow that wait at an access link that several flows may share, (S, F); one row where there is
        none.
    peak, drops
        Largest number of queued packets; dropped packets and ACKs, (P,).
    waited
        Sum of the queueing delays of the packets at each hop in s, (H,).
    first_loss, finished
        Time of the first loss and of the complete delivery in s; nan: none, (F,).
    timeouts, loss_events
        Number of retransmission timeouts, and of loss events, which are losses, marks or timeouts that a rule answers,
        (F,).
    marks
        Packets that reached the receiver with congestion experienced, (F,).
    notifications
        Congestion notifications of each flow, (F,); None where no rule counts them.
    imbalance
        Packets not accounted for, relative to those emitted, (F,).
    all_switches
        Whether `switched` has all pauses.
    observed
        What native rules report at the ends of the samples, by the names of the flow and of the number, (S,) each.
    """

    def __init__(self, plan: PacketPlan, is_lossless: bool = False) -> None:
        F, P, S = len(plan.forward), len(plan.ports), plan.samples
        self.plan = plan
        self.observed: dict[str, dict[str, NDArray[Any]]] = {}
        self.scale = 1.0 / plan.sample
        H = len(plan.hops.port) + 2 * F
        all_of: Any = constant if is_lossless else _full
        self.window, self.round_trip = all_of(0.0, (S, F)), all_of(np.nan, (S, F))
        self.acked, self.loss_count = all_of(np.int64(-1), (S, F)), all_of(np.int32(0), (S, F))
        self.delivered = np.zeros((S + 1, F))
        self.lost = all_of(np.int32(0), (S + 1, H))
        self.causes = all_of(np.int32(0), (H, len(CAUSES)))
        self.first_drops = all_of(0.0, (H, len(CAUSES)))
        self.left = all_of(np.int32(0), (H,))
        self.counts: NDArray[np.int32] | None = None
        self.started = all_of(np.int32(0), (S + 1, H))
        self.waiting = np.zeros((S + 1, P), dtype=np.int32)
        self.counts_bytes = plan.cells > 0
        shape = (S + 1, P) if self.counts_bytes.any() else (1, 1)
        self.queued_bytes, self.peak_bytes = np.zeros(shape), np.zeros(shape[1])
        self.shares_host = plan.shares_access
        self.at_hosts = np.zeros((S + 1, F) if self.shares_host.any() else (1, 1), dtype=np.int32)
        self.peak, self.drops = np.zeros(P, dtype=np.int64), np.zeros(P, dtype=np.int64)
        self.waited = all_of(0.0, (H,))
        self.first_loss, self.finished = all_of(np.nan, (F,)), all_of(np.nan, (F,))
        self.timeouts, self.loss_events = all_of(np.int64(0), (F,)), all_of(np.int64(0), (F,))
        self.marks = all_of(np.int64(0), (F,))
        self.notifications: NDArray[np.int64] | None = None
        self.switch_tables: list[Any] = []  # rows of pauses, in order of time
        self.all_switches = True
        self.switches = np.empty((SWITCHES if plan.pauses[0].size else 0, 5))
        self.total = np.zeros(F)
        self.excess: dict[tuple[int, int, int], float] = {}
        self.remaining = np.zeros(0, dtype=WAITING)
        self.emitted, self.inside = np.zeros(F), np.zeros(F)
        self.imbalance = np.zeros(F)

    def rows(self) -> dict[str, Any]:
        """Return the arrays that the compiled engine fills and reads, by their names in the kernel."""
        return {
            "window": self.window, "round_trip": self.round_trip, "acked": self.acked,
            "loss_count": self.loss_count,
            "delivered": self.delivered, "started": self.started, "waiting": self.waiting,
            "lost": self.lost, "causes": self.causes, "first_drops": self.first_drops,
            "queued_bytes": self.queued_bytes, "peak_bytes": self.peak_bytes, "at_hosts": self.at_hosts,
            "left": self.left, "switches": self.switches, "scale": self.scale,
            "sample": self.plan.sample,
        }  # fmt: skip

    def take_switches(self, count: int) -> bool:
        """Take the rows that the compiled engine wrote in ``switches``; no further ones if it had no room for all.

        A part of them is copied, and a large one kept as it is: ``switches`` is another array then, and True is
        returned.
        """
        self.all_switches &= count <= len(self.switches)
        if 4 * count >= len(self.switches) > 0:
            self.switch_tables.append(self.switches[:count])
            self.switches = np.empty_like(self.switches)
            return True
        if count:
            self.switch_tables.append(self.switches[:count].copy())
        return False

    @property
    def switched(self) -> NDArray[np.float64]:
        """Pauses and their ends, (N, 5).

        The columns are the time in s, the port that asked for it, 1 for a pause, the port that feeds it and for
        which it is, and the class (ALL: all of them).
        """
        if len(self.switch_tables) == 1:
            return np.asarray(self.switch_tables[0])
        return np.vstack(self.switch_tables) if self.switch_tables else np.empty((0, 5))

    def take_in(self, arrays: dict[str, Any]) -> None:
        """Copy the remaining records from the arrays of the compiled engine."""
        flow, hop, P = arrays["flow"], arrays["hop"], len(self.plan.ports)

        def column(name: str, of_idle: float = 0) -> NDArray[Any]:
            """Return a field of the flows; its memory is not read of flows that have not begun."""
            if isinstance(self.plan.active, slice):
                return np.array(flow[name])
            values = np.full(len(flow), of_idle, dtype=flow.dtype[name])
            values[self.plan.active] = flow[name][self.plan.active]
            return values

        self.peak = arrays["port"]["peak"][:P].astype(np.int64)
        self.waited = arrays["waited"]
        if self.shares_host.any():
            self.at_hosts[:, ~self.shares_host] = 0  # interfaces that are links: see ``waiting``
        data, inside = _packets_inside(arrays)
        rows = np.flatnonzero(self.lost.any(axis=0))  # the hops at which packets or ACKs were dropped
        flow_rows = self.plan.end_rows
        owner = np.searchsorted(flow_rows.first, rows, side="right") - 1
        is_ack = rows > flow_rows.receiver[owner]
        if self.plan.spraying is not None:
            owner = self.plan.spraying.owner[owner]
        after = self.lost[-1, rows]
        later = np.bincount(owner, after, minlength=len(flow))
        if len(arrays["trimmed"]) > 1:
            later -= _headers_answered(arrays)
        self.lost[-1] = 0  # drops beyond the end of the simulation, which were processed ahead
        dropped = self.lost[:, rows].sum(axis=0)
        self.drops = np.bincount(hop["port"][rows], dropped, minlength=P).astype(np.int64)
        if self.plan.has(Pause, ByClass, BFC):
            self.excess = _largest_excess(self.plan, arrays)
            self.remaining = _remaining_packets(self.plan, arrays, self.left)
        self.emitted = column("emitted").astype(float)
        self.inside = inside + later
        lost = np.bincount(owner[~is_ack], (dropped + after)[~is_ack], minlength=len(flow))
        # a packet whose ACK is delayed has arrived
        missing = self.emitted - column("arrived") - data + (column("pending", -1) >= 0) - lost
        self.imbalance = np.abs(missing) / np.maximum(self.emitted, 1)
        done = self.delivered[:-1].sum(axis=0) + np.bincount(owner, dropped, minlength=len(flow))
        one_way = self.plan.backward.counts == 0
        self.inside[one_way] = (self.emitted - done)[one_way]  # arrivals after the end are processed
        table = self.plan.scenario.table
        if table.of_kind(RateRule).any():
            self.notifications = notifications_of(table, arrays["rule"], column("rule"))
        if self.notifications is not None:
            self.notifications[self.plan.idle] = 0
        self.first_loss, self.finished = (
            column("first_loss", math.nan),
            column("finished", math.nan),
        )
        for name in ("timeouts", "loss_events", "marks", "total"):
            setattr(self, name, column(name))

    def starts(self) -> NDArray[np.int32]:
        """Return the packets whose transmission started at each hop in each sample, (S, H)."""
        if self.counts is not None:
            return self.counts
        return np.cumsum(self.started[:-1], axis=1, dtype=np.int32)

    @cached_property
    def carried(self) -> NDArray[np.int64]:
        """Packets whose transmission started at each hop, (H,)."""
        return np.asarray(self.starts().sum(axis=0, dtype=np.int64))

    @cached_property
    def transit(self) -> NDArray[np.float64]:
        """Propagation delays of the transmissions started in each sample over links of the scenario, s, (S + 1, F)."""
        counts, hops = self.starts(), self.plan.hops
        span = np.where(self.plan.ports.link >= 0, self.plan.delays, 0.0)[hops.port]
        span[hops.is_ack] = 0.0
        begins = np.flatnonzero(hops.begins & ~hops.is_ack)
        times = np.add.reduceat(counts[:, self.plan.crosses_port] * span, begins, axis=1)
        transit = np.zeros((self.plan.samples + 1, len(self.plan.forward)))
        transit[:-1, hops.flow[begins]] = times
        return transit


def _full(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of one value, which may be changed."""
    return np.full(shape, value) if value else np.zeros(shape, type(value))


def _headers_answered(arrays: dict[str, Any]) -> NDArray[np.int64]:
    """Return how many headers of each flow were answered after the end, (F,): their ACKs are in the network."""
    flow, used = arrays["flow"], arrays["packet"][: arrays["counters"][1]]
    headers = used[(used["number"] >= WAKE) & (used["ecn"] & CUT > 0)]
    headers = headers[headers["hop"] > flow["turn"][headers["flow"]]]
    return np.bincount(headers["flow"], minlength=len(flow))


def _packets_inside(arrays: dict[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the packets of each flow in the network at the end of a run, without and with its ACKs, (F,) each."""
    turn, used = arrays["flow"]["turn"], arrays["packet"][: arrays["counters"][1]]
    number, flow, hop = used["number"], used["flow"], used["hop"]
    rows = np.flatnonzero(number >= 0)
    events = np.flatnonzero(number == WAKE)  # timers, and ACKs of nothing
    answers = flow[events[hop[events] > turn[flow[events]]]]
    owner = flow[rows]
    data = np.bincount(owner[hop[rows] <= turn[owner]], minlength=len(turn))
    inside = np.bincount(np.append(owner, answers), minlength=len(turn)).astype(np.float64)
    return data, inside


# Final tables: drops, packets that wait at ports with pauses, and rooms that were too small.


def _link_numbers(plan: PacketPlan) -> NDArray[np.int64]:
    """Return the link of each port, -1 - flow of an access link, NO_LINK of a mirror, (P,)."""
    links = np.where(plan.ports.link >= 0, plan.ports.link, NO_LINK)
    first = plan.forward.first
    hosts = np.flatnonzero(links[first] < 0)
    links[first[hosts]] = -1 - hosts  # of several flows at an interface the last one
    return links


def dropped_packets(plan: PacketPlan, causes: NDArray[np.int32], first_drops: NDArray[np.float64]) -> Any:
    """Return the drops on the links of the scenario, of `DROPPED`, from ``causes`` and ``first_drops`` of `Records`."""
    if not causes.any():
        return np.zeros(0, dtype=DROPPED)
    hops, links = plan.hops, _link_numbers(plan)
    losing = np.flatnonzero(causes[hops.row].any(axis=1))  # few of all hops, whose times of drops are copied
    rows, link = hops.row[losing], links[hops.port[losing]]
    return drop_rows(hops.flow[losing], link, hops.is_ack[losing], causes[rows], first_drops[rows])


def has_pauses(plan: PacketPlan) -> NDArray[np.bool_]:
    """Return which ports pause others or can be paused, (P,)."""
    takes_part = np.zeros(len(plan.ports), dtype=np.bool_)
    takes_part[plan.pauses[1]] = True
    takes_part[plan.under(Pause, ByClass, BFC)] = True
    return takes_part


def waiting_rows(plan: PacketPlan, waiting: Mapping[tuple[int, int, bool, bool], int]) -> Any:
    """Return rows of `WAITING` from counts of packets by flow, index in the route, whether ACKs, and whether still."""
    if not waiting:
        return np.zeros(0, dtype=WAITING)
    links, rows = _link_numbers(plan), []
    for (f, index, is_ack, still), packets in waiting.items():
        route = (plan.backward if is_ack else plan.forward)[f]
        before = -1 - f if index == 0 else int(links[route[index - 1]])
        if is_ack and index == 0:
            before = int(links[plan.forward[f][-1]])
        n = int(links[route[index]])
        if n != NO_LINK:
            rows.append((n, before, f, int(is_ack), int(still), float(packets)))
    return np.array(sorted(rows), dtype=WAITING)


def _remaining_packets(plan: PacketPlan, arrays: dict[str, Any], in_lanes: NDArray[np.int32]) -> Any:
    """Return the packets that wait at ports with pauses at the end of a run of the compiled engine, of `WAITING`.

    ``in_lanes`` has the packets that wait in lanes at each hop, by rows of `HOP`, (H,).
    """
    if not in_lanes.any():
        return np.zeros(0, dtype=WAITING)
    hops, until = plan.hops, (1.0 - LAST_PART) * plan.end
    rows = hops.row
    waits = np.flatnonzero((in_lanes[rows] > 0) & has_pauses(plan)[hops.port])
    port = arrays["port"][hops.port[waits]]
    lane = arrays["lane"][arrays["hop"]["lane"][rows[waits]]]
    of_class = (port["kind"] == INTERFACE) & (lane["level"] > 0)
    paused_lane = np.where(of_class, arrays["lane"][lane["level"]], lane)
    in_queues = plan.by_discipline(lambda rule: getattr(rule, "queues", 0) > 0)[hops.port[waits]]
    still = in_queues | (arrays["packet"]["time"][lane["head"]] <= until)
    still &= paused_lane["left"] <= until
    still &= (paused_lane["paused"] > 0) | (port["paused"] > 0) | (port["free"] <= until)
    first = np.maximum.accumulate(np.where(hops.begins, np.arange(len(rows)), 0))
    columns = hops.flow[waits], waits - first[waits], hops.is_ack[waits], still
    keys = zip(*(column.tolist() for column in columns), strict=True)
    return waiting_rows(plan, dict(zip(keys, in_lanes[rows[waits]].tolist(), strict=True)))


def _largest_excess(plan: PacketPlan, arrays: dict[str, Any]) -> dict[tuple[int, int, int], float]:
    """Return the most packets without room in one pause, as `Records.excess`."""
    excess: dict[tuple[int, int, int], float] = {}
    port, feeder, hop = arrays["port"], arrays["feeder"], arrays["hop"]
    for p in plan.under(Pause):
        if port["feeders"][p] > 0:
            packets = float(feeder["most_excess"][port["feeder"][p]])
            excess |= {(p, ALL, ALL): packets} if packets > 0.0 else {}
    if not feeder["most_excess"].any():
        return excess
    hops = plan.hops
    rows = hop["ingress"][hops.row]
    by_class = np.zeros(len(plan.ports), dtype=np.bool_)
    by_class[plan.under(PFC)] = True
    counted = (rows >= 0) & (feeder["priority"][rows] != ALL) & by_class[hops.port] & ~hops.is_ack
    before = np.where(hops.begins, -1 - hops.flow, hops.before)
    for h in np.flatnonzero(counted & (feeder["most_excess"][rows] > 0)).tolist():
        counter = plan.counting[int(hops.port[h])][0]
        key = counter, int(before[h]), int(feeder["priority"][rows[h]])
        excess[key] = float(feeder["most_excess"][rows[h]])
    return excess


def exceeded_rooms(plan: PacketPlan, excess: dict[tuple[int, int, int], float]) -> Any:
    """Return rows of `EXCESS` for the ports of the scenario's links, from ``excess`` of `Records`."""
    if not excess:
        return np.zeros(0, dtype=EXCESS)
    port, before, priority = np.array(sorted(excess), dtype=np.int64).reshape(-1, 3).T
    links = _link_numbers(plan)
    via = np.where((priority != ALL) & (before >= 0), links[np.maximum(before, 0)], before)
    return excess_rows(links[port], via, priority, np.array([excess[key] for key in sorted(excess)]))

"""The state of a run of the reference, and its step: feedback, pauses, the ends of flows, the queues."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.driver import Records
from dfcmodel.engine.kernel import tcp_receiver, tcp_sender
from dfcmodel.engine.kernel.records import (
    NO_FEEDBACK,
    ON_FEEDBACK,
    ON_TIME,
    RATE_RULE,
    SWITCH,
    WINDOW,
)
from dfcmodel.engine.reference_drops import (
    ManagedLink,
    RandomNumbers,
    drop_tail,
    drop_unfair,
)
from dfcmodel.engine.reference_lines import WaitingLine
from dfcmodel.engine.reference_pauses import PausedRun
from dfcmodel.engine.source_events import source_events_of
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.disciplines import DFC, Arrivals, Fair, Priority, manager_of
from dfcmodel.theory.law import rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["Run"]


class Run(PausedRun):
    """The state of a run: what is in every queue and on every way, as amounts."""

    def __init__(self, plan: Plan) -> None:
        s = self.s = plan.layout
        self.plan, self.h = plan, plan.step
        self.F, self.C = len(s.ack_lag), len(s.up)
        self.flows = plan.network.flows.view(np.recarray)
        self.log, self.holes = (each.view(np.recarray) for each in plan.transport[2:4])
        self.events = source_events_of(plan.rules, compiled=False)
        self.links = [plan.scenario.links[n] for n in s.order]
        self.members = [np.arange(*s.queues[i]) for i in range(len(self.links))]
        self.way = [deque([0.0] * lag) for lag in s.lag]  # packets per step, the oldest first
        self.late = np.zeros(self.C)  # what arrives a step later
        self.acks = [deque([(0.0,) * 5] * lag) for lag in s.ack_lag]
        self.emitted: list[list[float]] = [[] for _ in self.flows]  # after each step
        queues = plan.network.queues[: self.C]
        self.queue, self.budget = np.zeros(self.C), queues["service"].copy()
        self.batches = [WaitingLine() for _ in self.links]
        self.classes: dict[tuple[int, int], WaitingLine] = {}
        self.held: dict[tuple[int, int], float] = {}  # parts of a step for which classes are paused
        self.told = np.stack([queues["link_rate"], np.zeros(self.C)])
        self.message = self.told.copy()
        self.pauses = plan.feedback.pauses.view(np.recarray)
        self.switches: list[tuple[float, int, int]] = []
        self.asked: list[list[list[float]]] = [[] for _ in self.pauses]  # begins and ends, in steps
        self.random = RandomNumbers(int(plan.service.seed[0]))
        self.managed = [self.manager_of(i) for i in range(len(self.links))]
        self.lost = np.zeros(self.C)
        self.clocks = [(self.period(i), self.phase(i)) for i in range(len(s.queues))]
        self.fed = [  # queues that get their packets from those of a link
            [d for d in range(self.F, self.C) if s.queues[i, 0] <= s.up[d] < s.queues[i, 1]]
            for i in range(len(s.queues))
        ]
        # the way from a host to the first queue is not in the network
        self.inside = [c for c in range(self.C) if c >= self.F or c not in s.up[self.F :]]

    def manager_of(self, i: int) -> ManagedLink | None:
        """Return the manager of a link, at its start."""
        link, scenario = self.links[i], self.plan.scenario
        manager = manager_of(link.discipline)
        if manager is None:
            return None
        if isinstance(link.discipline, (Fair, PFC, Priority)):
            raise NotImplementedError(f"link {link.name}: managers are of one FIFO queue")
        if any(self.reacts(c) for c in self.members[i]):
            raise NotImplementedError(f"link {link.name}: managers see flows without feedback")
        flows = len(self.members[i])
        return ManagedLink(manager, scenario.packet_size, link.buffer, flows)

    def reacts(self, c: int) -> bool:
        """Return whether the sender of a queue's packets hears of them."""
        return bool(self.flows.source[self.s.flow_of[c]] != NO_FEEDBACK)

    def advance(self, steps: int, every: int) -> Records:
        """Run so many steps from t = 0, with a record every so many."""
        T = -(-steps // every)
        record, queued = np.zeros((T, self.F, 5)), np.zeros((T, self.C))
        lost = np.zeros_like(queued)
        for k in range(steps):
            self.feedback(k)
            self.pause(k)
            self.sources(k)
            for i, members in enumerate(self.members):
                came = np.array([self.way[u].popleft() for u in self.s.up[members]])
                self.serve(i, k, members, came)
            n = k // every
            lost[n] += self.lost
            self.lost[:] = 0.0
            size = min(every, steps - n * every)
            for c in self.inside:
                inside = sum(self.way[c]) + self.late[c]
                record[n, self.s.flow_of[c], 0] += inside / size
            if (k + 1) % every == 0 or k + 1 == steps:
                window = np.minimum(self.flows.cwnd, self.flows.max_window)  # or rate
                record[n, :, 1:] = np.stack(
                    [self.flows.rcv_nxt, window, self.queue[: self.F], self.flows.rtt], axis=1
                )
                queued[n, self.F :] = self.queue[self.F :]
        switches = np.array(self.switches, dtype=SWITCH)
        return Records(record, queued, lost, 0.0, switches)

    def depart(self, c: int, amount: float) -> None:
        """Send packets on their way: a part arrives after the lag, the rest a step later."""
        part = self.s.weight[c] * amount
        self.way[c].append(part + self.late[c])
        self.late[c] = amount - part

    def feedback(self, k: int) -> None:
        """Messages that are due arrive, rates follow, new messages leave."""
        s = self.s
        ticking = [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]
        for i in ticking:
            cells = np.arange(*s.queues[i])
            self.told[:, cells] = self.message[:, cells]
        for i in ticking:
            cells = np.arange(*s.queues[i])
            self.budget[cells] = self.law(i, k, nominal=False)
            for d in self.fed[i]:
                j = s.link_of[d]
                if self.is_dfc(j) and k > self.flows.start[s.flow_of[d]]:
                    nominal = self.law(j, k, nominal=True)
                    self.message[0, s.up[d]] = nominal[d - s.queues[j, 0]]
                    self.message[1, s.up[d]] = self.queue[d]

    def law(self, i: int, k: int, *, nominal: bool) -> Floats:
        """Return J of the flows at a link (the access links of shaped hosts come last)."""
        cells, link = np.arange(*self.s.queues[i]), self.link(i)
        active = k > self.flows.start[self.s.flow_of[cells]]  # it starts after the feedback
        own = self.queue[cells] if i < len(self.links) else 0.0 * cells
        rule = link.discipline
        alpha = 1.0 if nominal else rule.intensity
        rate, waits = self.told[0, cells, None], self.told[1, cells, None]
        gain, capacity = rule.diffusion / link.delay * self.h, link.rate * self.h
        J: Floats = rates(rate, waits, own[:, None], active[:, None], alpha, gain, capacity)[:, 0]
        return J

    def link(self, i: int) -> Any:
        """Return a link of the layout; the last ones are the access links of shaped hosts."""
        if i < len(self.links):
            return self.links[i]
        scenario = self.plan.scenario
        return scenario.path(scenario.flows[self.s.queues[i, 0]])[0]

    def is_dfc(self, i: int) -> bool:
        """Return whether a link has DFC."""
        return isinstance(self.link(i).discipline, DFC)

    def period(self, i: int) -> int:
        """Return the period of a link's feedback in steps."""
        return max(1, round(float(self.link(i).delay) / self.h))

    def phase(self, i: int) -> int:
        """Return in which step of its period a link's clock ticks; -1 where there is none."""
        tables = self.plan.feedback
        for period, _, first in tables.clocks:
            for n in range(first, first + period):
                slot = tables.slots[n]
                by_flow = tables.hearing[slot["hear_one"] : slot["hear_end"], 0]
                by_input = tables.input_hearing[slot["hear_input"] : slot["hear_input_end"]]
                if self.s.queues[i, 0] in by_flow or i in by_input:
                    return int(n - first)
        return -1

    def sources(self, k: int) -> None:
        """Receivers take in what arrived, senders answer, hosts send."""
        s, plan = self.s, self.plan
        for f in range(self.F):
            flow = self.flows[f]
            own = s.path[s.path_at[f] : s.path_at[f + 1]]
            last = own[-1] if len(own) else f
            came = self.way[last].popleft() if self.way[last] else 0.0
            before = float(flow.emitted)
            if k < flow.start:
                self.depart(f, 0.0)
                self.emitted[f].append(0.0)
                continue
            if k == flow.start + 1:
                flow.inflation = 0.0
            if flow.source == RATE_RULE:
                self.send_at_rate(f, k, came)
            elif flow.source == WINDOW:
                acks, advancing, rcv_nxt, rcv_max, sent = self.acks[f].popleft()
                answers = (0.0, 0.0)
                if came:
                    answers = tcp_receiver.receive(
                        flow, self.log, self.holes, came, 0.0, plan.quantum
                    )
                self.acks[f].append((*answers, flow.rcv_nxt, flow.rcv_max, self.date(f)))
                if acks:
                    flow.rtt = (k - sent) * self.h
                ack = SimpleNamespace(
                    acks=acks, advancing=advancing, rcv_nxt=rcv_nxt, rcv_max=rcv_max, marked=0.0
                )
                tcp_sender.send(
                    flow, self.log, self.holes, self.events, k * self.h, self.h, ack,
                    plan.min_rto, plan.quantum,
                )  # fmt: skip
            else:
                rows = plan.transport.schedule[flow.schedule_now : flow.schedule_end]
                pace = rows["amount"][np.flatnonzero(rows["step"] <= k)[-1]]
                flow.emitted = min(flow.emitted + pace, flow.flow_size)
                flow.rcv_nxt += came
            self.emitted[f].append(float(flow.emitted))
            self.queue[f] += flow.emitted - before
            leaves = min(self.queue[f], self.budget[f])
            self.queue[f] -= leaves
            self.depart(f, leaves)

    def send_at_rate(self, f: int, k: int, came: float) -> None:
        """Answer what came, and send at the rate that the rule says; nothing is marked here."""
        flow, events = self.flows[f], self.events[self.flows[f].rule]
        acks, _, _, _, sent = self.acks[f].popleft()
        flow.rcv_position += came
        flow.rcv_nxt += came
        self.acks[f].append((came, 0.0, 0.0, 0.0, self.date(f)))
        if acks:
            flow.rtt = (k - sent) * self.h
            events[ON_FEEDBACK](flow, k * self.h, flow.rtt, acks, 0.0)
        amount = min(flow.cwnd, flow.max_window) * self.h
        amount = min(amount, flow.flow_size - flow.emitted)
        flow.emitted += amount
        events[ON_TIME](flow, (k + 1) * self.h, self.h, amount, 0.0)

    def date(self, f: int) -> float:
        """Return when the last packet that came to a receiver was sent, in steps."""
        sent, position = self.emitted[f], self.flows[f].rcv_position - 1e-9
        j = int(np.searchsorted(sent, position))
        if position <= 0.0:
            return 0.0
        begin = sent[j - 1] if j else 0.0
        return float(j - (sent[j] - position) / (sent[j] - begin))

    def manage(self, i: int, k: int, cells: NDArray[np.int64], came: Floats) -> Floats:
        """Return what a link's manager drops of what comes."""
        manager = self.managed[i]
        if manager is None:
            return np.zeros_like(came)
        waits, delay = self.queue[cells].sum(), self.batches[i].delay() * self.h
        waits = waits if waits > self.plan.quantum else 0.0  # what is not on the grid is rounding
        seen = Arrivals(
            k * self.h, self.h, waits, came.sum(), self.open[i] / self.h, delay, self.random()
        )
        return manager.drops(seen, came, self.random)

    def overflow(self, i: int, cells: NDArray[np.int64], came: Floats) -> Floats:
        """Return what full buffers of a link drop of what came in this step."""
        link, waits = self.links[i], self.queue[cells]
        fresh = np.minimum(came, waits)
        if isinstance(link.discipline, (Fair, Priority)) and link.shared:
            return drop_unfair(waits, fresh, link.buffer, self.ranks(i, cells))
        if not link.shared and np.any(waits > link.buffer + 1e-9):
            msg = f"link {link.name} loses packets of flows' own buffers: the reference cannot"
            raise NotImplementedError(msg)
        return drop_tail(waits, fresh, link.buffer if link.shared else np.inf)

    def serve(self, i: int, k: int, cells: NDArray[np.int64], came: Floats) -> None:
        """Serve a link's queues with what came in this step."""
        link = self.links[i]
        early = self.manage(i, k, cells, came)
        came = came - early
        self.queue[cells] += came
        waits = self.queue[cells]
        if self.is_dfc(i):
            leaves = self.by_rate(i, cells, came)
        elif isinstance(link.discipline, (Fair, Priority)):
            leaves = self.by_rank(i, cells, waits)
        elif isinstance(link.discipline, PFC):
            leaves = self.by_class(i, cells, came)
        else:
            leaves = self.batches[i].serve(self.open[i], came)
        self.queue[cells] -= leaves
        tail = self.overflow(i, cells, came)
        self.queue[cells] -= tail
        if not isinstance(link.discipline, (DFC, Fair, Priority, PFC)):
            self.batches[i].drop(tail)
        self.lost[cells] += early + tail
        heard = np.array([self.reacts(c) for c in cells])
        if tail[heard].sum() > 1e-9 or (tail.sum() > 1e-9 and isinstance(link.discipline, PFC)):
            raise NotImplementedError(f"link {link.name} loses packets: the reference cannot")
        for c, amount in zip(cells, leaves, strict=True):
            self.depart(c, amount)

    def by_rate(self, i: int, cells: NDArray[np.int64], came: Floats) -> Floats:  # noqa: ARG002
        """Serve each flow at its rate."""
        leaves: Floats = np.minimum(self.queue[cells], self.budget[cells])
        return leaves

    def ranks(self, i: int, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the priorities of queues at a link, 0 where it has none."""
        ranked = isinstance(self.links[i].discipline, Priority)
        return np.array([self.priority(c) if ranked else 0 for c in cells])

    def by_rank(self, i: int, cells: NDArray[np.int64], waits: Floats) -> Floats:
        """Serve the lowest rank first; within a rank equal shares, none above what it has."""
        rank = self.ranks(i, cells)
        leaves, left = np.zeros_like(waits), self.open[i]
        for r in np.unique(rank):
            for n in sorted(np.flatnonzero(rank == r), key=lambda n: waits[n]):
                behind = (rank == r) & (waits >= waits[n]) & (leaves == 0.0)
                leaves[n] = min(waits[n], left / max(1, behind.sum()))
                left -= leaves[n]
        return leaves

    def by_class(self, i: int, cells: NDArray[np.int64], came: Floats) -> Floats:
        """Serve classes in equal shares, each in order; one that is paused sends in the rest of the step."""
        ranks = np.array([self.priority(c) for c in cells])
        classes = np.unique(ranks)
        holds = np.array([self.queue[cells[ranks == r]].sum() for r in classes])
        running = np.array([1.0 - self.held.get((i, r), 0.0) for r in classes])
        shares = _equal_shares(np.where(running < 1.0, self.open[i], holds), self.open[i])
        most = np.where(running < 1.0, np.minimum(holds, running * shares), holds)
        shares = _equal_shares(most, self.open[i])
        leaves = np.zeros_like(came)
        for r, share in zip(classes, shares, strict=True):
            line = self.classes.setdefault((i, int(r)), WaitingLine())
            leaves[ranks == r] = line.serve(share, came[ranks == r])
        return leaves


def _equal_shares(most: Floats, left: float) -> Floats:
    """Return equal parts of what is left, none above what it may have at most."""
    shares = np.zeros_like(most)
    for rank, n in enumerate(np.argsort(most)):
        shares[n] = min(most[n], left / (len(most) - rank))
        left -= shares[n]
    return shares

"""What the kernel must compute, said naively: NumPy over queues, batches in lists, no compiled code.

It knows runs without losses. Queues, delays and clocks come from the same plan and senders are the
same functions run as plain Python, always by the long way; the rates of DFC are those of `law`; all
else is written anew, without the kernel's cumulative counts, shortcuts and rounding.
"""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.driver import Records
from dfcmodel.engine.kernel import tcp_receiver, tcp_sender
from dfcmodel.engine.kernel.records import (
    ON_FEEDBACK,
    ON_TIME,
    PER_INPUT,
    RATE_RULE,
    STORM,
    SWITCH,
    WINDOW,
)
from dfcmodel.engine.source_events import source_events_of
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.disciplines import DFC, Fair, Pause, Priority
from dfcmodel.theory.law import rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["advance"]


def advance(plan: Plan, steps: int, every: int) -> Records:
    """Run a plan from t = 0; arguments and result as for `driver.advance`.

    Raises
    ------
    NotImplementedError
        When a packet would be lost, and for queue managers.
    """
    if plan.managers:
        raise NotImplementedError("the reference knows no queue managers")
    run = _ByInput if PER_INPUT in plan.layout.queue_types else _Run
    return run(plan).advance(steps, every)


class _Run:
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
        self.batches: list[deque[Floats]] = [deque() for _ in self.links]
        self.classes: dict[tuple[int, int], deque[Floats]] = {}
        self.held: dict[tuple[int, int], float] = {}  # parts of a step for which classes are paused
        self.told = np.stack([queues["link_rate"], np.zeros(self.C)])
        self.message = self.told.copy()
        self.pauses = plan.feedback.pauses.view(np.recarray)
        self.switches: list[tuple[float, int, int]] = []
        self.asked: list[list[list[float]]] = [[] for _ in self.pauses]  # begins and ends, in steps
        self.clocks = [(self.period(i), self.phase(i)) for i in range(len(s.queues))]
        self.fed = [  # queues that get their packets from those of a link
            [d for d in range(self.F, self.C) if s.queues[i, 0] <= s.up[d] < s.queues[i, 1]]
            for i in range(len(s.queues))
        ]
        # the way from a host to the first queue is not in the network
        self.inside = [c for c in range(self.C) if c >= self.F or c not in s.up[self.F :]]

    def advance(self, steps: int, every: int) -> Records:
        T = -(-steps // every)
        record, queued = np.zeros((T, self.F, 5)), np.zeros((T, self.C))
        for k in range(steps):
            self.feedback(k)
            self.pause(k)
            self.sources(k)
            for i, members in enumerate(self.members):
                came = np.array([self.way[u].popleft() for u in self.s.up[members]])
                self.serve(i, members, came)
            n = k // every
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
        return Records(record, queued, np.zeros_like(queued), 0.0, switches)

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
        if i < len(self.links):
            return self.links[i]
        scenario = self.plan.scenario
        return scenario.path(scenario.flows[self.s.queues[i, 0]])[0]

    def is_dfc(self, i: int) -> bool:
        return isinstance(self.link(i).discipline, DFC)

    def period(self, i: int) -> int:
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

    def pause(self, k: int) -> None:
        """Compare queues with thresholds; what was said reaches the paused after its way."""
        self.open = np.array([np.floor(k.rate * self.h / self.plan.quantum) for k in self.links])
        self.open *= self.plan.quantum
        self.held = {}
        hosts = [-1 - row.paused for row in self.pauses if row.paused < 0]
        self.budget[hosts] = self.plan.host_pace[hosts]
        for n, row in enumerate(self.pauses):
            i, paused = row.pausing, row.paused
            rule = self.links[i].discipline
            if not isinstance(rule, (Pause, PFC)):
                continue
            per_class = isinstance(rule, PFC)
            cells = np.arange(int(row.first), int(row.end)) if per_class else self.members[i]
            waits = k - row.room if row.held == STORM else self.queue[cells].sum()
            if per_class and row.held != STORM:
                waits = self.waiting_together(n)
            self.ask(n, row, k, waits)
            row.backlog = waits
            begin = k - row.wait - row.part
            parts = (min(b, begin + 1.0) - max(a, begin) for a, b in self.asked[n])
            stopped = sum(max(0.0, part) for part in parts)
            full = (
                self.plan.host_pace[-1 - paused] if paused < 0 else self.links[paused].rate * self.h
            )
            left = 0.0 if isinstance(rule, PFC) else rule.paused_rate
            pace = full - stopped * (full - left * self.h) if stopped else full
            if paused < 0:
                self.budget[-1 - paused] = min(self.budget[-1 - paused], pace)
            elif stopped and isinstance(self.links[paused].discipline, PFC) and per_class:
                held = paused, self.priority(cells[0])
                self.held[held] = max(stopped, self.held.get(held, 0.0))
            elif stopped:
                self.open[paused] = min(self.open[paused], pace)

    def waiting_together(self, n: int) -> float:
        """Return what waits of a class and ingress at all links that count together."""
        rows, found = [n], 0.0
        while self.pauses[rows[-1]].also != n:
            rows.append(self.pauses[rows[-1]].also)
        for m in rows:
            found += self.queue[int(self.pauses[m].first) : int(self.pauses[m].end)].sum()
        return found

    def priority(self, c: int) -> int:
        """Return the class of a queue."""
        return int(self.plan.scenario.flows[self.s.flow_of[c]].priority)

    def ask(self, n: int, row: Any, k: int, waits: float) -> None:
        """Begin or end a pause where the queue, linear in step k - 1, crossed a threshold."""
        ends = self.asked[n][-1][1] if self.asked[n] else 0.0
        crossing = [
            k - 1 + (level - row.backlog) / (waits - row.backlog) if waits != row.backlog else k
            for level in (row.high, row.low)
        ]
        if not row.on and waits > row.high:
            row.on = 1
            time = crossing[0] if row.backlog < row.high else k - 1.0
            self.asked[n].append([time, np.inf])
            row.until = time + row.quanta
        elif row.on and row.quanta == 0.0 and waits <= row.low:
            row.on, time = 0, crossing[1]
        if row.on and row.quanta:
            now = [k - 1, k], [row.backlog, waits]
            while row.until <= k and np.interp(row.until, *now) > row.low:
                row.until += row.quanta
            if row.until <= k:
                row.on, time = 0, row.until
        if row.on != (ends == np.inf):
            self.asked[n][-1][1] = np.inf if row.on else time
            self.switches.append((time, n, row.on))

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

    def serve(self, i: int, cells: NDArray[np.int64], came: Floats) -> None:
        """Serve a link's queues with what came in this step."""
        link = self.links[i]
        self.queue[cells] += came
        waits = self.queue[cells]
        if self.is_dfc(i):
            leaves = self.by_rate(i, cells, came)
        elif isinstance(link.discipline, (Fair, Priority)):
            leaves = self.by_rank(i, cells, waits)
        elif isinstance(link.discipline, PFC):
            leaves = self.by_class(i, cells, came)
        else:
            leaves = self.in_order(self.batches[i], self.open[i], came)
        self.queue[cells] -= leaves
        over = self.queue[cells] if not link.shared else self.queue[cells].sum()
        if np.any(over > link.buffer + 1e-9):
            raise NotImplementedError(f"link {link.name} loses packets: the reference cannot")
        for c, amount in zip(cells, leaves, strict=True):
            self.depart(c, amount)

    def by_rate(self, i: int, cells: NDArray[np.int64], came: Floats) -> Floats:  # noqa: ARG002
        """Serve each flow at its rate."""
        leaves: Floats = np.minimum(self.queue[cells], self.budget[cells])
        return leaves

    def in_order(self, batches: deque[Floats], left: float, came: Floats) -> Floats:
        """Serve first what came first: whole batches, then a part of one."""
        leaves = np.zeros_like(came)
        batches.append(came.copy())
        while batches and left > 0.0:
            part = min(1.0, left / batches[0].sum()) if batches[0].sum() > 0.0 else 1.0
            leaves += part * batches[0]
            left -= part * batches[0].sum()
            if part < 1.0:
                batches[0] *= 1.0 - part
                break
            batches.popleft()
        return leaves

    def by_rank(self, i: int, cells: NDArray[np.int64], waits: Floats) -> Floats:
        """Serve the lowest rank first; within a rank equal shares, none above what it has."""
        flows = self.plan.scenario.flows
        ranked = isinstance(self.links[i].discipline, Priority)
        rank = np.array([flows[self.s.flow_of[c]].priority if ranked else 0 for c in cells])
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
            line = self.classes.setdefault((i, int(r)), deque())
            leaves[ranks == r] = self.in_order(line, share, came[ranks == r])
        return leaves


def _equal_shares(most: Floats, left: float) -> Floats:
    """Return equal parts of what is left, none above what it may have at most."""
    shares = np.zeros_like(most)
    for rank, n in enumerate(np.argsort(most)):
        shares[n] = min(most[n], left / (len(most) - rank))
        left -= shares[n]
    return shares


class _ByInput(_Run):
    """The same where links with DFC have a queue per input: to the law its flows are one."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.inputs = []  # per link, and per host that imitates one, the cells of each queue
        for i in range(len(self.s.queues)):
            cells = np.arange(*self.s.queues[i])
            comes = np.array([self.source(c) for c in cells])
            self.inputs.append([cells[comes == u] for u in dict.fromkeys(comes)])
        rates = [self.link(i).rate * self.h for i in range(len(self.s.queues))]
        self.link_told = np.array([[rate, 0.0] for rate in rates])
        self.link_message = self.link_told.copy()
        self.lines: list[list[deque[Floats]]] = [[deque() for _ in own] for own in self.inputs]

    def source(self, c: int) -> int:
        """Return over which link a cell's packets come, -1 - flow from a host."""
        u = int(self.s.up[c])
        return int(self.s.link_of[u]) if u >= self.F else -1 - u

    def active(self, cells: Any, k: int) -> bool:
        return bool((k > self.flows.start[self.s.flow_of[cells]]).any())

    def feedback(self, k: int) -> None:
        ticking = [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]
        self.link_told[ticking] = self.link_message[ticking]
        for i in ticking:
            alpha = self.link(i).discipline.intensity
            for cells, rate in zip(self.inputs[i], self.shares(i, k, alpha), strict=True):
                self.budget[cells] = rate  # of all of them together
        answers = [self.answer(i, k) for i in ticking]
        for i, answer in zip(ticking, answers, strict=True):
            self.link_message[i] = answer

    def shares(self, i: int, k: int, alpha: float) -> Floats:
        """Return what each queue of a link may send."""
        link, (r, ahead) = self.link(i), self.link_told[i]
        gain, most = link.discipline.diffusion / link.delay * self.h, link.rate * self.h
        waits = np.array([self.queue[cells].sum() for cells in self.inputs[i]])
        waits *= i < len(self.links)  # a host is a node that holds nothing (eq. 9)
        sends = [self.active(cells, k) for cells in self.inputs[i]]
        alone = np.where(sends, np.maximum(0.0, alpha * r - gain * (ahead - waits)), 0.0)
        most = min(most, max(0.0, alpha * r - gain * (ahead - waits.sum())))
        return alone * (most / alone.sum() if alone.sum() > most else 1.0)

    def answer(self, i: int, k: int) -> tuple[float, float]:
        """Return the nominal rate and the queue of what a link feeds, as it is told."""
        full = self.link(i).rate * self.h
        rate, waits, asked = 0.0, 0.0, False
        fed = {int(self.s.link_of[d]) for d in self.fed[i]}
        for j in sorted(j for j in fed if self.is_dfc(j)):
            for cells, share in zip(self.inputs[j], self.shares(j, k, 1.0), strict=True):
                if np.isin(cells, self.fed[i]).all():
                    rate += share
                    waits += self.queue[cells].sum()
                    asked |= self.active(cells, k)
        told = [self.s.up[d] for d in self.fed[i] if self.is_dfc(self.s.link_of[d])]
        for c in range(*self.s.queues[i]):
            if c not in told and self.active(c, k):
                rate, asked = rate + full, True
        return (min(rate, full) if asked else full), waits

    def by_rate(self, i: int, cells: NDArray[np.int64], came: Floats) -> Floats:
        """Serve the queue of each input at its rate, in order."""
        leaves = np.zeros_like(came)
        for own, line in zip(self.inputs[i], self.lines[i], strict=True):
            at = own - cells[0]
            leaves[at] = self.in_order(line, self.budget[own[0]], came[at])
        return leaves

"""Reference implementation of the engine for runs without losses: NumPy, lists, no compiled code.

The layout, delays and clocks are those of the same plan, the TCP endpoints are the same templates run
as plain Python, always on the slow path, and the rates of DFC are those of `law`. Everything else is
implemented independently, without the kernel's cumulative counts, shortcuts and rounding.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.compilation import compile_template
from dfcmodel.engine.kernel import columns, tcp_receiver, tcp_sender
from dfcmodel.engine.kernel.columns import (
    ACK_END,
    ACK_FIRST,
    BUDGET,
    EMITTED,
    LINK_RATE,
    MAX_WINDOW,
    PORTS,
    SIZE,
    START,
    TCP,
    TCP_COLUMNS,
    UP_TO,
)
from dfcmodel.network.disciplines import DFC, Fair, Pause, Priority
from dfcmodel.theory.law import rates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.kernel.state import Floats
    from dfcmodel.engine.plans import Plan

__all__ = ["advance"]


def advance(plan: Plan, steps: int, every: int) -> tuple[Floats, Floats, Floats]:
    """Run a plan from t = 0; arguments and result as for `engine.advance`.

    Raises
    ------
    NotImplementedError
        When a packet would be lost, and for RED.
    """
    run = _ByInput if PORTS in plan.state.kind else _Run
    return run(plan).advance(steps, every)


class _Run:
    """State of a run: packets in every queue and in transit between queues."""

    def __init__(self, plan: Plan) -> None:
        s = self.s = plan.state
        self.plan, self.h = plan, plan.step
        self.F, self.C = len(s.flow), len(s.up)
        self.links = [plan.scenario.links[n] for n in plan.links]
        self.members = [np.arange(*s.cells[i]) for i in range(len(self.links))]
        self.in_transit = [deque([0.0] * lag) for lag in s.lag]  # per step, the oldest first
        self.acks = [
            deque([(0.0, 0.0, 0.0, 0.0)] * (row[ACK_END] - row[ACK_FIRST])) for row in s.flow
        ]
        self.emitted: list[list[float]] = [[] for _ in s.flow]  # after each step
        self.queue, self.budget = np.zeros(self.C), s.cell[: self.C, BUDGET].copy()
        self.batches: list[deque[Floats]] = [deque() for _ in self.links]
        self.feedback = np.stack([s.cell[: self.C, LINK_RATE], np.zeros(self.C)])  # r, n'
        self.message = self.feedback.copy()
        self.paused: dict[int, list[bool]] = {n: [] for n in range(len(s.pairs))}
        self.clocks = [(self.period(i), self.phase(i)) for i in range(len(s.kind))]
        self.fed = [  # cells fed by those of a link
            [d for d in range(self.F, self.C) if s.cells[i, 0] <= s.up[d] < s.cells[i, 1]]
            for i in range(len(s.kind))
        ]
        # packets between a host and its first queue do not count as in transit
        self.inside = [c for c in range(self.C) if c >= self.F or c not in s.up[self.F :]]
        self.send = compile_template(tcp_sender.send, plan.rules, compiled=False)
        self.receive = compile_template(tcp_receiver.receive, plan.rules, compiled=False)

    def advance(self, steps: int, every: int) -> tuple[Floats, Floats, Floats]:
        record = np.zeros((steps // every, self.F, 5))
        queued = np.zeros((steps // every, self.C))
        for k in range(steps):
            self.exchange_feedback(k)
            self.pause(k)
            self.advance_endpoints(k)
            arrivals = np.array([self.in_transit[u].popleft() for u in self.s.up[self.F :]])
            for i, members in enumerate(self.members):
                self.serve(i, members, arrivals[members - self.F])
            n = k // every
            for c in self.inside:
                record[n, self.s.flow_of[c], 0] += sum(self.in_transit[c]) / every
            if (k + 1) % every == 0:
                window = np.minimum(self.s.tcp[:, TCP_COLUMNS], self.s.tcp[:, MAX_WINDOW])
                trip = self.s.tcp[:, columns.RTT]
                record[n, :, 1:] = np.stack(
                    [self.s.tcp[:, UP_TO], window, self.queue[: self.F], trip], axis=1
                )
                queued[n, self.F :] = self.queue[self.F :]
        return record, queued, np.zeros_like(queued)

    def exchange_feedback(self, k: int) -> None:
        """Receive the feedback that is due, update rates, send new feedback."""
        s = self.s
        ticking = [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]
        for i in ticking:
            cells = np.arange(*s.cells[i])
            self.feedback[:, cells] = self.message[:, cells]
        for i in ticking:
            cells = np.arange(*s.cells[i])
            self.budget[cells] = self.law(i, k, nominal=False)
            for d in self.fed[i]:
                j = s.link_of[d]
                if self.is_dfc(j) and k > s.flow[s.flow_of[d], START]:
                    nominal = self.law(j, k, nominal=True)
                    self.message[0, s.up[d]] = nominal[d - s.cells[j, 0]]
                    self.message[1, s.up[d]] = self.queue[d]

    def law(self, i: int, k: int, *, nominal: bool) -> Floats:
        """Return the rates J of the flows at a link (access links of shaped hosts are the last)."""
        cells, link = np.arange(*self.s.cells[i]), self.link(i)
        active = k > self.s.flow[self.s.flow_of[cells], START]  # a flow starts after the feedback
        own = self.queue[cells] if i < len(self.links) else 0.0 * cells
        rule = link.discipline
        alpha = 1.0 if nominal else rule.intensity
        target, ahead = self.feedback[0, cells, None], self.feedback[1, cells, None]
        gain, capacity = rule.diffusion / link.delay * self.h, link.rate * self.h
        J: Floats = rates(target, ahead, own[:, None], active[:, None], alpha, gain, capacity)[:, 0]
        return J

    def link(self, i: int) -> Any:
        if i < len(self.links):
            return self.links[i]
        scenario = self.plan.scenario
        return scenario.path(scenario.flows[self.s.cells[i, 0]])[0]

    def is_dfc(self, i: int) -> bool:
        return isinstance(self.link(i).discipline, DFC)

    def period(self, i: int) -> int:
        return max(1, round(float(self.link(i).delay) / self.h))

    def phase(self, i: int) -> int:
        """Return the step of its period in which a link's clock ticks; -1 if it has none."""
        s = self.s
        for period, _, first in s.clock:
            for slot in range(first, first + period):
                begin, *_, end = s.ticks[slot]
                by_input = s.ports.links[s.ports.ticks[slot] : s.ports.ticks[slot + 1]]
                if s.cells[i, 0] in s.tick_cells[begin:end, 0] or i in by_input:
                    return int(slot - first)
        return -1

    def pause(self, k: int) -> None:
        """Compare queues with thresholds; a pause takes effect after the signalling delay."""
        s = self.s
        self.open = np.array([np.floor(k.rate * self.h / self.plan.quantum) for k in self.links])
        self.open *= self.plan.quantum
        for n, (i, paused, lag, quanta, on, until) in enumerate(s.pairs):
            rule = self.links[i].discipline
            if not isinstance(rule, Pause):
                continue
            queue = self.queue[self.members[i]].sum()
            if not on and queue > rule.high:
                on, until = 1, k + quanta
            elif on and k >= until:
                on, until = int(queue > rule.low), until + quanta
            s.pairs[n, 4:] = on, until
            self.paused[n].append(bool(on))
            stopped = k >= lag and self.paused[n][k - lag]
            if paused < 0:
                full = s.host_pace[-1 - paused]
                self.budget[-1 - paused] = rule.paused_rate * self.h if stopped else full
            elif stopped:
                self.open[paused] = min(self.open[paused], rule.paused_rate * self.h)

    def advance_endpoints(self, k: int) -> None:
        """Per-step update of the flows' endpoints: receiver, sender, host."""
        s, quantum = self.s, self.plan.quantum
        for f in range(self.F):
            exit_cell = s.path[s.path_at[f + 1] - 1] if s.path_at[f + 1] > s.path_at[f] else f
            last = self.in_transit[exit_cell]
            arrivals = last.popleft() if last else 0.0
            before = s.tcp[f, EMITTED]
            if k < s.flow[f, START]:
                self.in_transit[f].append(0.0)
                self.emitted[f].append(0.0)
                continue
            if k == s.flow[f, START] + 1:
                s.tcp[f, columns.INFLATION] = 0.0
            if s.flow[f, TCP]:
                acks, advancing, acked, sent = self.acks[f].popleft()
                answers = (
                    self.receive(s.tcp, s.log, s.holes, f, arrivals, 0.0, quantum)
                    if arrivals
                    else (0, 0)
                )
                self.acks[f].append((*answers, s.tcp[f, UP_TO], self.emission_time(f)))
                if acks:
                    s.tcp[f, columns.RTT] = (k - sent) * self.h
                known = acked if acks else s.tcp[f, columns.ACKED]
                self.send(
                    s.tcp, s.log, f, k * self.h, self.h, acks, advancing, known, 0.0,
                    self.plan.scenario.min_rto, quantum,
                )  # fmt: skip
            else:
                row = np.flatnonzero(s.schedule[slice(*s.schedule_at[f]), 0] <= k)[-1]
                pace = s.schedule[s.schedule_at[f, 0] + row, 1]
                s.tcp[f, EMITTED] = min(s.tcp[f, EMITTED] + pace, s.tcp[f, SIZE])
                s.tcp[f, UP_TO] += arrivals
            self.emitted[f].append(s.tcp[f, EMITTED])
            self.queue[f] += s.tcp[f, EMITTED] - before
            sent = min(self.queue[f], self.budget[f])
            self.queue[f] -= sent
            self.in_transit[f].append(sent)

    def emission_time(self, f: int) -> float:
        """Return when the latest packet to arrive at a receiver was sent, in steps."""
        sent, position = self.emitted[f], self.s.tcp[f, columns.RECEIVED] - 1e-9
        j = int(np.searchsorted(sent, position))
        if position <= 0.0:
            return 0.0
        begin = sent[j - 1] if j else 0.0
        return float(j - (sent[j] - position) / (sent[j] - begin))

    def serve(self, i: int, cells: NDArray[np.int64], arrivals: Floats) -> None:
        """Serve the queues of a link, the arrivals of this step included."""
        link = self.links[i]
        self.queue[cells] += arrivals
        if self.is_dfc(i):
            departures = self.by_rate(i, cells, arrivals)
        elif isinstance(link.discipline, (Fair, Priority)):
            departures = self.by_rank(i, cells, self.queue[cells])
        else:
            departures = self.in_order(self.batches[i], self.open[i], arrivals)
        self.queue[cells] -= departures
        queue = self.queue[cells] if not link.shared else self.queue[cells].sum()
        if np.any(queue > link.buffer + 1e-9):
            raise NotImplementedError(f"link {link.name}: the reference does not model losses")
        for c, amount in zip(cells, departures, strict=True):
            self.in_transit[c].append(amount)

    def by_rate(self, i: int, cells: NDArray[np.int64], arrivals: Floats) -> Floats:  # noqa: ARG002
        """Serve each flow at its rate."""
        return np.minimum(self.queue[cells], self.budget[cells])

    def in_order(self, batches: deque[Floats], left: float, arrivals: Floats) -> Floats:
        """Serve batches in order of arrival, the last one in part."""
        departures = np.zeros_like(arrivals)
        batches.append(arrivals.copy())
        while batches and left > 0.0:
            part = min(1.0, left / batches[0].sum()) if batches[0].sum() > 0.0 else 1.0
            departures += part * batches[0]
            left -= part * batches[0].sum()
            if part < 1.0:
                batches[0] *= 1.0 - part
                break
            batches.popleft()
        return departures

    def by_rank(self, i: int, cells: NDArray[np.int64], queues: Floats) -> Floats:
        """Serve the lowest rank first; max-min fair shares within a rank."""
        flows = self.plan.scenario.flows
        ranked = isinstance(self.links[i].discipline, Priority)
        rank = np.array([flows[self.s.flow_of[c]].priority if ranked else 0 for c in cells])
        departures, left = np.zeros_like(queues), self.open[i]
        for r in np.unique(rank):
            for n in sorted(np.flatnonzero(rank == r), key=lambda n: queues[n]):
                unserved = (rank == r) & (queues >= queues[n]) & (departures == 0.0)
                departures[n] = min(queues[n], left / max(1, unserved.sum()))
                left -= departures[n]
        return departures


class _ByInput(_Run):
    """The same for links with DFC and a queue per input, whose flows count as one in the law."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.inputs = []  # per link, and per access link of a shaped host, the cells of each queue
        for i in range(len(self.s.kind)):
            cells = np.arange(*self.s.cells[i])
            feeders = np.array([self.feeder(c) for c in cells])
            self.inputs.append([cells[feeders == u] for u in dict.fromkeys(feeders)])
        rates = [self.link(i).rate * self.h for i in range(len(self.s.kind))]
        self.link_feedback = np.array([[rate, 0.0] for rate in rates])
        self.link_message = self.link_feedback.copy()
        self.lines: list[list[deque[Floats]]] = [[deque() for _ in own] for own in self.inputs]

    def feeder(self, c: int) -> int:
        """Return the link that feeds a cell, -1 - flow for a host."""
        u = int(self.s.up[c])
        return int(self.s.link_of[u]) if u >= self.F else -1 - u

    def active(self, cells: Any, k: int) -> bool:
        return bool((k > self.s.flow[self.s.flow_of[cells], START]).any())

    def exchange_feedback(self, k: int) -> None:
        ticking = [i for i, (period, phase) in enumerate(self.clocks) if k % period == phase]
        self.link_feedback[ticking] = self.link_message[ticking]
        for i in ticking:
            alpha = self.link(i).discipline.intensity
            for cells, rate in zip(self.inputs[i], self.shares(i, k, alpha), strict=True):
                self.budget[cells] = rate  # of all cells of the queue together
        answers = [self.answer(i, k) for i in ticking]
        for i, answer in zip(ticking, answers, strict=True):
            self.link_message[i] = answer

    def shares(self, i: int, k: int, alpha: float) -> Floats:
        """Return the rate of each queue of a link."""
        link, (r, ahead) = self.link(i), self.link_feedback[i]
        gain, most = link.discipline.diffusion / link.delay * self.h, link.rate * self.h
        queues = np.array([self.queue[cells].sum() for cells in self.inputs[i]])
        queues *= i < len(self.links)  # a host is a node with an empty queue (eq. 9)
        active = [self.active(cells, k) for cells in self.inputs[i]]
        alone = np.where(active, np.maximum(0.0, alpha * r - gain * (ahead - queues)), 0.0)
        most = min(most, max(0.0, alpha * r - gain * (ahead - queues.sum())))
        return alone * (most / alone.sum() if alone.sum() > most else 1.0)

    def answer(self, i: int, k: int) -> tuple[float, float]:
        """Return the feedback to a link: nominal rate and queue of the queues that it feeds."""
        full = self.link(i).rate * self.h
        rate, queue, active = 0.0, 0.0, False
        fed = {int(self.s.link_of[d]) for d in self.fed[i]}
        for j in sorted(j for j in fed if self.is_dfc(j)):
            for cells, share in zip(self.inputs[j], self.shares(j, k, 1.0), strict=True):
                if np.isin(cells, self.fed[i]).all():
                    rate += share
                    queue += self.queue[cells].sum()
                    active |= self.active(cells, k)
        informed = [self.s.up[d] for d in self.fed[i] if self.is_dfc(self.s.link_of[d])]
        for c in range(*self.s.cells[i]):
            if c not in informed and self.active(c, k):
                rate, active = rate + full, True
        return (min(rate, full) if active else full), queue

    def by_rate(self, i: int, cells: NDArray[np.int64], arrivals: Floats) -> Floats:
        """Serve the queue of each input at its rate, in order of arrival."""
        departures = np.zeros_like(arrivals)
        for own, line in zip(self.inputs[i], self.lines[i], strict=True):
            at = own - cells[0]
            departures[at] = self.in_order(line, self.budget[own[0]], arrivals[at])
        return departures

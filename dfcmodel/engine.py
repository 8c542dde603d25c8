"""The sampled-data chain: one step after the other, compiled, with the flows' window rules inside.

Time advances in steps h = d / m. In each step, at every node: feedback that is due arrives and sets
the rates (`law`), what left the upstream node m steps ago arrives, the sources emit, the queues are
served (arrivals of the step included), and what exceeds the buffer is dropped from the step's
arrivals. Queues and links keep the order of packets and of the gaps that drops leave between them.
Amounts are whole multiples of 2^-26 packets, so that every sum is exact and no packet is ever
created or lost by rounding.
`reference` is the same in plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import sources
from dfcmodel.sources import GRID, on_grid, receive, send
from hopflow.kernels import build
from responsefn import NewReno, Reno, Tahoe, WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.scenarios import Scenario
    from dfcmodel.sources import Floats, Ints

STANDARD: tuple[type[WindowRule], ...] = (Tahoe, Reno, NewReno)
"""Rules that share one kernel, so that most scenarios need no compilation of their own."""

__all__ = ["Arrays", "build_run", "prepare"]

HELPERS = (on_grid, sources.emit, sources.hole_spacing, sources.repair)
RECOVERY = {"tahoe": sources.TAHOE, "reno": sources.RENO, "newreno": sources.NEWRENO}


@dataclass(frozen=True)
class Arrays:
    """Constants and state of a run. F flows, L links, S rings (F under DFC, one under FIFO)."""

    entry: NDArray[np.int64]  # (F,) index of the first node
    last: NDArray[np.int64]  # (F,) index of the last sending node
    start: NDArray[np.int64]  # (F,) step of the first packet
    kind: NDArray[np.int64]  # (F,) which window rule
    recovery: NDArray[np.int64]  # (F,)
    max_window: NDArray[np.float64]  # (F,) packets
    rule_params: NDArray[np.float64]  # (F, P)
    phase: NDArray[np.int64]  # (L,) step of the feedback clock, 0..m-1
    window: NDArray[np.float64]  # (F, W) state of the window rule
    tcp: NDArray[np.float64]  # (F, COLUMNS) state of the sender and receiver
    log: NDArray[np.float64]  # (F, E, 2) emission log
    ends: NDArray[np.int64]  # (F, 2) its first and one-past-last entry
    missing: NDArray[np.float64]  # (F, C) part of each packet that is missing
    lost: NDArray[np.float64]  # (F, C) holes that there ever were
    ack: NDArray[np.float64]  # (F, A, 3) acks on their way: all, advancing, U
    ack_delay: NDArray[np.int64]  # (F,) steps
    backlog: NDArray[np.float64]  # (F,) packets waiting at the host
    host_rate: NDArray[np.float64]  # (F,) r_0
    host_message: NDArray[np.float64]  # (F,) r_0 on its way
    access: NDArray[np.float64]  # (F, m) packets on the access link
    queue: NDArray[np.float64]  # (F, L) packets
    batches: NDArray[np.float64]  # (S, L, R, 2 F/S) amounts and gaps, in order
    heads: NDArray[np.int64]  # (S, L, 2) first and one-past-last batch
    line: NDArray[np.float64]  # (F, L, m, 2) packets on the links, in two stretches per step
    gaps: NDArray[np.float64]  # (F, L, m, 2) packets missing among them
    rate: NDArray[np.float64]  # (F, L) J
    told_rate: NDArray[np.float64]  # (F, L) r that the node was told
    told_queue: NDArray[np.float64]  # (F, L) n of the next node that it was told
    message_rate: NDArray[np.float64]  # (F, L) r on its way to the node before
    message_queue: NDArray[np.float64]  # (F, L)
    transit: NDArray[np.float64]  # (F,) packets on the links of the path

    def copy(self) -> Arrays:
        """Return the same state in fresh memory."""
        return Arrays(**{f.name: getattr(self, f.name).copy() for f in fields(self)})

    def values(self) -> tuple[Any, ...]:
        """Return the arrays in the order of the kernel's arguments."""
        return tuple(getattr(self, f.name) for f in fields(self))


def prepare(scenario: Scenario, steps_per_delay: int, rng: np.random.Generator) -> Arrays:
    """Return the state at t = 0: an empty network whose nodes were told (link rate, 0)."""
    F, L, m = len(scenario.flows), scenario.nodes - 1, steps_per_delay
    h = scenario.link_delay / m
    rules = distinct_rules(scenario)
    kind = [rules.index(type(flow.rule)) for flow in scenario.flows]
    cells = 2 + math.ceil(2 * max(flow.max_window for flow in scenario.flows))
    dfc = scenario.discipline == "dfc"
    rings, columns = (F, 1) if dfc else (1, F)
    per_ring = 2 * math.ceil(scenario.buffer) + 8
    access = 0 if scenario.host == "direct" else m
    params = np.zeros((F, max(len(numeric(flow.rule)) for flow in scenario.flows)))
    states = [flow.rule.State() for flow in scenario.flows]
    window = np.zeros((F, max(map(len, states))))
    for f, flow in enumerate(scenario.flows):
        params[f, : len(numeric(flow.rule))] = list(numeric(flow.rule).values())
        window[f, : len(states[f])] = states[f]
    ack_delay = np.array([m * (flow.exit - flow.entry) + access for flow in scenario.flows])
    tcp = np.zeros((F, sources.COLUMNS))
    tcp[:, sources.DEADLINE] = np.inf
    tcp[:, sources.TIMED] = -1.0
    tcp[:, sources.BACKOFF] = 1.0
    tcp[:, sources.RECOVER] = -1.0
    link_rate = np.full((F, L), scenario.link_rate)
    phases = rng.integers(0, m, L) if scenario.phases == "random" else np.zeros(L, dtype=np.int64)
    return Arrays(
        entry=np.array([flow.entry - 1 for flow in scenario.flows]),
        last=np.array([flow.exit - 2 for flow in scenario.flows]),
        start=np.array([round(flow.start / h) for flow in scenario.flows]),
        kind=np.array(kind),
        recovery=np.array([RECOVERY[flow.rule.recovery] for flow in scenario.flows]),
        max_window=np.array([float(flow.max_window) for flow in scenario.flows]),
        rule_params=params,
        phase=phases.astype(np.int64),
        window=window,
        tcp=tcp,
        log=np.zeros((F, 4096, 2)),
        ends=np.zeros((F, 2), dtype=np.int64),
        missing=np.zeros((F, cells)),
        lost=np.zeros((F, cells)),
        ack=np.zeros((F, int(ack_delay.max()), 3)),
        ack_delay=ack_delay,
        backlog=np.zeros(F),
        host_rate=np.full(F, scenario.link_rate),
        host_message=np.full(F, scenario.link_rate),
        access=np.zeros((F, m)),
        queue=np.zeros((F, L)),
        batches=np.zeros((rings, L, per_ring, 2 * columns)),
        heads=np.zeros((rings, L, 2), dtype=np.int64),
        line=np.zeros((F, L, m, 2)),
        gaps=np.zeros((F, L, m, 2)),
        rate=np.zeros((F, L)),
        told_rate=link_rate.copy(),
        told_queue=np.zeros((F, L)),
        message_rate=link_rate.copy(),
        message_queue=np.zeros((F, L)),
        transit=np.zeros(F),
    )


def distinct_rules(scenario: Scenario) -> list[type[WindowRule]]:
    """Return the window rules of the kernel for a scenario: the standard ones, then its own."""
    return list(dict.fromkeys([*STANDARD, *(type(flow.rule) for flow in scenario.flows)]))


def numeric(rule: WindowRule) -> dict[str, float]:
    """Return the parameters that a rule's dynamics can use: the numbers among them."""
    numbers = {
        name: float(value)
        for name, value in rule.params._asdict().items()
        if isinstance(value, (int, float))
    }
    return numbers or {"unused": 0.0}


# --------------------------------------------------------------------------- the law, eqs. (1)-(13)


def ideal(told_rate: float, told_queue: float, queue: float, alpha: float, gain: float) -> float:
    """Return the ideal rate J~ of eq. (2) in packets/s; gain = D / d in 1/s."""
    return alpha * told_rate - gain * (told_queue - queue)


def share(
    i: int,
    f: int,
    step: int,
    entry: Ints,
    last: Ints,
    start: Ints,
    told_rate: Floats,
    told_queue: Floats,
    queue: Floats,
    alpha: float,
    gain: float,
    capacity: float,
) -> float:
    """Return the rate J of flow f at node i, eqs. (1) and (13), among the active flows."""
    total = 0.0
    active = 0
    for g in range(entry.shape[0]):
        if entry[g] <= i <= last[g] and step >= start[g]:
            active += 1
            total += max(0.0, ideal(told_rate[g, i], told_queue[g, i], queue[g, i], alpha, gain))
    own = ideal(told_rate[f, i], told_queue[f, i], queue[f, i], alpha, gain)
    available = capacity * max(0.0, own) / total if total > 0.0 else capacity / max(1, active)
    return max(0.0, min(available, own))


# --------------------------------------------------------------------------- queues


def serve(
    batches: Floats, heads: Ints, r: int, i: int, budget: float, out: Floats, gap: Floats
) -> None:
    """Move up to ``budget`` packets, and the gaps between them, from the head of ring r at node i.

    The ring's column g belongs to flow r + g: under DFC every flow has a ring of one column, under
    FIFO one ring has a column for each. ``out`` and ``gap``, shape (F, 2), take two stretches: the
    second begins where a flow's stretch with gaps meets one without, so that a packet sent again
    is not mixed with the losses that it repairs.
    """
    size = batches.shape[2]
    columns = batches.shape[3] // 2
    p = 0
    while heads[r, i, 0] < heads[r, i, 1] and budget > 0.0:
        b = heads[r, i, 0] % size
        amount = 0.0
        for g in range(columns):
            amount += batches[r, i, b, g]
            held = out[r + g, 0] + gap[r + g, 0]
            more = batches[r, i, b, g] + batches[r, i, b, columns + g]
            differ = (gap[r + g, 0] > 0.0) != (batches[r, i, b, columns + g] > 0.0)
            if held > 0.0 and more > 0.0 and differ:
                p = 1
        part = 1.0 if amount <= budget else budget / amount
        for g in range(columns):
            packets = on_grid(part * batches[r, i, b, g])
            missing = on_grid(part * batches[r, i, b, columns + g])
            out[r + g, p] += packets
            gap[r + g, p] += missing
            batches[r, i, b, g] -= packets
            batches[r, i, b, columns + g] -= missing
        if part < 1.0:
            return
        budget -= amount
        heads[r, i, 0] += 1


def join(batches: Floats, heads: Ints, r: int, i: int, p: int, came: Floats, gap: Floats) -> None:
    """Append stretch p of what came in this step to ring r of node i.

    It is joined to the last batch where that is below one packet and has gaps where it has, or
    where the ring is full.
    """
    size = batches.shape[2]
    columns = batches.shape[3] // 2
    b = (heads[r, i, 1] - 1) % size
    apart = True
    if heads[r, i, 1] > heads[r, i, 0]:
        amount = 0.0
        apart = False
        for g in range(columns):
            amount += batches[r, i, b, g]
            differ = (gap[r + g, p] > 0.0) != (batches[r, i, b, columns + g] > 0.0)
            if came[r + g, p] > 0.0 and batches[r, i, b, g] > 0.0 and differ:
                apart = True
        apart = (apart or amount >= 1.0) and heads[r, i, 1] - heads[r, i, 0] < size
    if apart:
        b = heads[r, i, 1] % size
        heads[r, i, 1] += 1
        for n in range(2 * columns):
            batches[r, i, b, n] = 0.0
    for g in range(columns):
        batches[r, i, b, g] += came[r + g, p]
        batches[r, i, b, columns + g] += gap[r + g, p]


def drop(
    batches: Floats, heads: Ints, i: int, excess: float, came: Floats, lost: Floats, queue: Floats
) -> None:
    """Take ``excess`` packets out of what came to node i in this step, in proportion to it."""
    size = batches.shape[2]
    columns = batches.shape[3] // 2
    rings = batches.shape[0]
    for back in (1, 2, 1, 2):  # from the last batch; again where a flow had less left than its part
        total = 0.0
        for r in range(rings):
            for g in range(columns):
                total += came[r + g, 0] + came[r + g, 1]
        if excess <= 0.0 or total <= 0.0:
            return
        part = min(1.0, excess / total)
        for r in range(rings):
            if heads[r, i, 1] - heads[r, i, 0] >= back:
                b = (heads[r, i, 1] - back) % size
                for g in range(columns):
                    f = r + g
                    fresh = came[f, 0] + came[f, 1]
                    amount = min(on_grid(part * fresh) + GRID, batches[r, i, b, g])
                    amount = min(amount, fresh)
                    batches[r, i, b, g] -= amount
                    batches[r, i, b, columns + g] += amount
                    queue[f, i] -= amount
                    lost[f, i] += amount
                    came[f, 0] = fresh - amount
                    came[f, 1] = 0.0
                    excess -= amount


# --------------------------------------------------------------------------- the loop


def run(
    first: int,
    steps: int,
    every: int,
    m: int,
    h: float,
    capacity: float,
    limit: float,
    alpha: float,
    gain: float,
    min_rto: float,
    dfc: bool,
    host: int,
    record: Floats,
    lost_at: Floats,
    occupied: Floats,
    peak: Floats,
    entry: Ints,
    last: Ints,
    start: Ints,
    kind: Ints,
    recovery: Ints,
    max_window: Floats,
    rule_params: Floats,
    phase: Ints,
    window: Floats,
    tcp: Floats,
    log: Floats,
    ends: Ints,
    missing: Floats,
    lost: Floats,
    ack: Floats,
    ack_delay: Ints,
    backlog: Floats,
    host_rate: Floats,
    host_message: Floats,
    access: Floats,
    queue: Floats,
    batches: Floats,
    heads: Ints,
    line: Floats,
    gaps: Floats,
    rate: Floats,
    told_rate: Floats,
    told_queue: Floats,
    message_rate: Floats,
    message_queue: Floats,
    transit: Floats,
    came: Floats,
    came_gap: Floats,
    out: Floats,
    out_gap: Floats,
) -> int:
    """Advance the state by ``steps`` steps from step ``first``; record every ``every`` steps.

    Records, one row per interval: ``record[s, f]`` = (mean packets in transit, U, cwnd, host
    backlog), ``lost_at[s, f, i]`` packets lost, ``occupied[s, i]`` packets queued at its end;
    ``peak[i]`` the most ever. Returns -1, or the step at which a log was full.
    """
    flows = queue.shape[0]
    links = queue.shape[1]
    rings = batches.shape[0]
    columns = batches.shape[3] // 2
    for k in range(first, first + steps):
        now = k * h
        slot = k % m
        sample = (k - first) // every
        # feedback: what is due arrives, rates follow, new messages leave
        if dfc:
            for i in range(links):
                if phase[i] == slot:
                    for f in range(flows):
                        if entry[f] == i:
                            host_rate[f] = host_message[f]
                        elif entry[f] < i <= last[f]:
                            told_rate[f, i - 1] = message_rate[f, i]
                            told_queue[f, i - 1] = message_queue[f, i]
            for i in range(links):
                ticks = phase[i] == slot
                hears = phase[i + 1] == slot if i + 1 < links else ticks
                if not (ticks or hears):
                    continue
                for f in range(flows):
                    if entry[f] <= i <= last[f] and k >= start[f]:
                        J = share(
                            i, f, k, entry, last, start, told_rate, told_queue, queue,
                            alpha, gain, capacity,
                        )  # fmt: skip
                        if hears:
                            rate[f, i] = J
                        if ticks:
                            r = share(
                                i, f, k, entry, last, start, told_rate, told_queue, queue,
                                1.0, gain, capacity,
                            )  # fmt: skip
                            message_rate[f, i] = r
                            message_queue[f, i] = queue[f, i]
                            if entry[f] == i:  # eq. (9)
                                r0 = alpha * r - gain * queue[f, i]
                                host_message[f] = max(0.0, min(capacity, r0))
        # the receivers take in what has crossed the last link, and answer
        for f in range(flows):
            if k < start[f]:
                continue
            e = last[f]
            at = k % ack_delay[f]
            acks = ack[f, at, 0]
            advancing = ack[f, at, 1]
            acked = ack[f, at, 2]
            ack[f, at, 0] = 0.0
            ack[f, at, 1] = 0.0
            for p in range(2):
                arrived = line[f, e, slot, p]
                gone = gaps[f, e, slot, p]
                if arrived + gone > 0.0:
                    answers = receive(tcp[f], log[f], ends[f], missing[f], lost[f], arrived, gone)
                    ack[f, at, 0] += answers[0]
                    ack[f, at, 1] += answers[1]
            ack[f, at, 2] = tcp[f, 16]
            emitted = send(
                tcp[f], window[f], rule_params[f], log[f], ends[f], now, acks, advancing, acked,
                kind[f], recovery[f], max_window[f], min_rto,
            )  # fmt: skip
            if emitted < 0.0:
                return k
            backlog[f] += emitted
        # the nodes, downstream first: each reads what is due on the link before it is overwritten
        for i in range(links - 1, -1, -1):
            total = 0.0
            for f in range(flows):
                for p in range(2):
                    came[f, p] = 0.0
                    came_gap[f, p] = 0.0
                    out[f, p] = 0.0
                    out_gap[f, p] = 0.0
                    if entry[f] < i <= last[f]:
                        came[f, p] = line[f, i - 1, slot, p]
                        came_gap[f, p] = gaps[f, i - 1, slot, p]
                if entry[f] == i:
                    if host == 2:
                        came[f, 0] = backlog[f]
                        backlog[f] = 0.0
                    else:
                        pace = host_rate[f] if host == 0 else capacity
                        sent = min(backlog[f], on_grid(pace * h))
                        came[f, 0] = access[f, slot]
                        access[f, slot] = sent
                        backlog[f] -= sent
            for r in range(rings):
                arrived = 0.0
                for g in range(columns):
                    arrived += came[r + g, 0] + came[r + g, 1]
                budget = rate[r, i] * h if dfc else capacity * h
                if heads[r, i, 0] == heads[r, i, 1] and arrived <= budget:
                    for g in range(columns):
                        for p in range(2):
                            out[r + g, p] = came[r + g, p]
                            out_gap[r + g, p] = came_gap[r + g, p]
                    continue
                for p in range(2):
                    arrived = 0.0
                    for g in range(columns):
                        arrived += came[r + g, p] + came_gap[r + g, p]
                    if arrived > 0.0:
                        join(batches, heads, r, i, p, came, came_gap)
                serve(batches, heads, r, i, budget, out, out_gap)
            for r in range(rings):
                idle = heads[r, i, 0] == heads[r, i, 1]
                for g in range(columns):
                    f = r + g
                    queue[f, i] += came[f, 0] + came[f, 1] - out[f, 0] - out[f, 1]
                    if idle:
                        queue[f, i] = 0.0
                    total += queue[f, i]
            if total > limit:
                drop(batches, heads, i, total - limit, came, lost_at[sample], queue)
                total = limit
            if total > peak[i]:
                peak[i] = total
            for f in range(flows):
                if entry[f] <= i <= last[f]:
                    for p in range(2):
                        transit[f] += out[f, p] - line[f, i, slot, p]
                        line[f, i, slot, p] = out[f, p]
                        gaps[f, i, slot, p] = out_gap[f, p]
        for f in range(flows):
            record[sample, f, 0] += transit[f] / every
        if (k - first + 1) % every == 0:
            for f in range(flows):
                record[sample, f, 1] = tcp[f, 16]
                record[sample, f, 2] = min(window[f, 0], max_window[f])
                record[sample, f, 3] = backlog[f]
            for i in range(links):
                occupied[sample, i] = 0.0
                for f in range(flows):
                    occupied[sample, i] += queue[f, i]
    return -1


def _snippet(rules: tuple[type[WindowRule], ...], event: str) -> str:
    """Return the if-chain over window rules that applies ``event`` to the flow's window.

    ``amount`` ACKs move the state by that multiple of what one ACK does, except for fields that
    the rule sets outright; a field that an ACK does not change stays, also where it is infinite.
    """
    text = []
    for n, rule in enumerate(rules):
        fields = rule.State._fields
        names = list(numeric(rule()))
        text += [
            f"{'elif' if n else 'if'} kind == {n}:",
            f"    old = R{n}State({', '.join(f'window[{w}]' for w in range(len(fields)))},)",
            f"    params = R{n}Params({', '.join(f'q[{k}]' for k in range(len(names)))},)",
            f"    new = R{n}{event}(old, params, Event(now, tcp[{sources.RTT}]))",
        ]
        for w, name in enumerate(fields):
            value = f"new.{name}"
            if event == "on_ack" and name not in rule.assigned:
                change = f"old.{name} + amount * (new.{name} - old.{name})"
                value = f"{change} if new.{name} != old.{name} else old.{name}"
            text.append(f"    window[{w}] = {value}")
    return "\n".join(text)


def build_run(rules: tuple[type[WindowRule], ...]) -> Callable[..., int]:
    """Return `run`, compiled, with the window rules spliced in."""
    helpers = (
        on_grid,
        sources.emit,
        send,
        sources.hole_spacing,
        receive,
        ideal,
        share,
        serve,
        join,
        drop,
    )
    return splice(run, rules, helpers=helpers)


def splice(
    template: Callable[..., Any],
    rules: tuple[type[WindowRule], ...],
    *,
    helpers: tuple[Callable[..., Any], ...] = HELPERS,
    compiled: bool = True,
) -> Callable[..., Any]:
    """Return a template of this package with the events of the window rules spliced in."""
    events = ("on_ack", "on_loss", "on_timeout")
    tuples: dict[str, Any] = {"Event": ("time", "rtt")}
    for n, rule in enumerate(rules):
        tuples[f"R{n}State"] = rule.State._fields
        tuples[f"R{n}Params"] = tuple(numeric(rule()))
    return build(
        template,
        helpers=helpers,
        functions={
            f"R{n}{event}": getattr(rule, event) for n, rule in enumerate(rules) for event in events
        },
        snippets={event: _snippet(rules, event) for event in events},
        tuples=tuples,
        compiled=compiled,
    )

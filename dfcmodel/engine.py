"""The loop over time: sources, hosts, queues and hop-by-hop control, one step after the other.

Time advances in steps h, the shortest link delay over m. In each step feedback that is due arrives
and sets rates, receivers take in what has crossed the last link, sources answer, and every queue is
served (arrivals of the step included); what exceeds a buffer is dropped from the step's arrivals.
Amounts are whole multiples of a power of two, so that every sum is exact and no packet is ever
created or lost by rounding. `reference` computes the same naively.

`run` is a template: the window rules of a scenario are spliced into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import sources
from dfcmodel.cells import (
    ACK_END,
    ACK_FIRST,
    ACK_NOW,
    ACKS,
    ACTIVE,
    ADVANCING,
    ALL_LOST,
    AREA,
    BUDGET,
    DELIVERED,
    ENTERED,
    EXIT,
    FIRST_RATE,
    LOST,
    LOST_AREA,
    LOST_BEFORE,
    MARKED,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    NEW_UP_TO,
    NEXT_QUEUE,
    OPENS,
    PENDING,
    QUEUE,
    RATE,
    SENT,
    START,
    TCP,
    WATCH,
    WISH,
)
from dfcmodel.queues import (
    DIVIDED,
    RANDOM,
    book,
    divide,
    drop_early,
    drop_tail,
    finish,
    look_back,
    pause,
    reach,
    serve,
    take,
)
from dfcmodel.sources import (
    ACKED,
    COLUMNS,
    DEADLINE,
    EMITTED,
    MAX_WINDOW,
    SIZE,
    UP_TO,
    flow_on,
    keep_up,
    on_grid,
    receive,
    send,
)
from hopflow.kernels import build

if TYPE_CHECKING:
    from dfcmodel.plans import Floats, Kind, Plan, State

    Records = tuple[Floats, Floats, Floats]

__all__ = ["advance"]

HELPERS = (
    on_grid,
    sources.emit,
    sources.measure,
    flow_on,
    send,
    sources.hole_spacing,
    sources.repair,
    receive,
    keep_up,
    book,
    reach,
    take,
    look_back,
    divide,
    serve,
    drop_early,
    drop_tail,
    pause,
    finish,
)
LOG_FAULT, WINDOW_FAULT, QUEUE_FAULT = 1, 2, 3


def run(
    first_step: int,
    steps: int,
    every: int,
    h: float,
    grid: float,
    min_rto: float,
    first_shared: int,
    past_shared: int,
    s: State,
    record: Floats,
    queued: Floats,
    lost_at: Floats,
) -> int:
    """Advance the state by ``steps`` steps from ``first_step``; record every ``every`` steps.

    Records, one row per interval: ``record[n, f]`` = (mean packets in transit, U, cwnd, host's
    backlog), ``queued[n, c]`` packets queued at its end, ``lost_at[n, c]`` packets lost in it.
    Returns -1, or the step at which it had to stop, with the reason in ``s.fault``.
    """
    up = s.up
    cell = s.cell
    told = s.told
    lags = s.lags
    rows = s.rows
    origin = s.origin
    rated = s.rated
    lag = s.lag
    link_of = s.link_of
    flow_of = s.flow_of
    wants = s.wants
    gets = s.gets
    over = s.over
    area_ever = s.area_ever
    host_pace = s.host_pace
    ring = s.ring
    records = s.records
    ends = s.ends
    cursor = s.cursor
    kind = s.kind
    cells = s.cells
    rate = s.rate
    pace = s.pace
    limit = s.limit
    shared = s.shared
    peak = s.peak
    waiting = s.waiting
    fifo = s.fifo
    arrived = s.arrived
    red = s.red
    bands = s.bands
    bands_at = s.bands_at
    clock = s.clock
    ticks_at = s.ticks_at
    tick_cells = s.tick_cells
    tick_law = s.tick_law
    many_at = s.many_at
    many_cells = s.many_cells
    many_law = s.many_law
    spread_at = s.spread_at
    spread_cells = s.spread_cells
    spread_law = s.spread_law
    tells_at = s.tells_at
    tell_cells = s.tell_cells
    tell_law = s.tell_law
    pairs = s.pairs
    pauses = s.pauses
    heard = s.heard
    flow = s.flow
    tally = s.tally
    path_at = s.path_at
    path = s.path
    ack = s.ack
    tcp = s.tcp
    log = s.log
    holes = s.holes
    schedule = s.schedule
    schedule_at = s.schedule_at
    seed = s.seed
    fault = s.fault
    F = flow.shape[0]
    C = up.shape[0]
    mask = ring.shape[0] // C - 1
    last_step = first_step + steps
    for k in range(first_step, last_step):
        now = k * h
        row = (k & mask) * C
        # feedback: what is due arrives, rates follow, new messages leave
        for j in range(clock.shape[0]):
            slot = clock[j, 2] + clock[j, 1]
            clock[j, 1] += 1
            if clock[j, 1] == clock[j, 0]:
                clock[j, 1] = 0
            for n in range(ticks_at[slot], ticks_at[slot + 1]):  # links of one or two flows
                c = tick_cells[n, 0]
                d = tick_cells[n, 1]
                gain = tick_law[n, 1]
                r = told[c, MESSAGE_RATE]
                waits = told[c, MESSAGE_QUEUE]
                r2 = told[d, MESSAGE_RATE]
                waits2 = told[d, MESSAGE_QUEUE]
                told[c, RATE] = r
                told[c, NEXT_QUEUE] = waits
                told[d, RATE] = r2
                told[d, NEXT_QUEUE] = waits2
                J = max(0.0, tick_law[n, 0] * r - gain * (waits - cell[c, QUEUE]))
                J2 = max(0.0, tick_law[n, 0] * r2 - gain * (waits2 - cell[d, QUEUE]))
                J = J * told[c, ACTIVE]
                J2 = J2 * told[d, ACTIVE]
                total = J + J2 * tick_law[n, 3]
                part = tick_law[n, 2] / total if total > tick_law[n, 2] else 1.0
                cell[c, BUDGET] = on_grid(part * J, grid)
                cell[d, BUDGET] = on_grid(part * J2, grid)
            for n in range(many_at[slot], many_at[slot + 1]):  # links of more
                total = 0.0
                for c in range(many_cells[n, 0], many_cells[n, 1]):
                    told[c, RATE] = told[c, MESSAGE_RATE]
                    told[c, NEXT_QUEUE] = told[c, MESSAGE_QUEUE]
                    waits = told[c, NEXT_QUEUE] - cell[c, QUEUE]
                    J = max(0.0, many_law[n, 0] * told[c, RATE] - many_law[n, 1] * waits)
                    told[c, WISH] = J * told[c, ACTIVE]
                    total += told[c, WISH]
                part = many_law[n, 2] / total if total > many_law[n, 2] else 1.0
                for c in range(many_cells[n, 0], many_cells[n, 1]):
                    cell[c, BUDGET] = on_grid(part * told[c, WISH], grid)
            for n in range(tells_at[slot], tells_at[slot + 1]):  # a link of one or two flows tells
                c = tell_cells[n, 0]
                d = tell_cells[n, 1]
                gain = tell_law[n, 0]
                waits = cell[c, QUEUE]
                waits2 = cell[d, QUEUE]
                J = max(0.0, told[c, RATE] - gain * (told[c, NEXT_QUEUE] - waits))
                J2 = max(0.0, told[d, RATE] - gain * (told[d, NEXT_QUEUE] - waits2))
                J = J * told[c, ACTIVE]
                J2 = J2 * told[d, ACTIVE]
                total = J + J2 * tell_law[n, 2]
                part = tell_law[n, 1] / total if total > tell_law[n, 1] else 1.0
                u = tell_cells[n, 2]
                told[u, MESSAGE_RATE] = part * J
                told[u, MESSAGE_QUEUE] = waits
                u = tell_cells[n, 3]
                told[u, MESSAGE_RATE] = part * J2
                told[u, MESSAGE_QUEUE] = waits2
            for n in range(spread_at[slot], spread_at[slot + 1]):  # one of more tells
                total = 0.0
                for c in range(spread_cells[n, 0], spread_cells[n, 1]):
                    waits = told[c, NEXT_QUEUE] - cell[c, QUEUE]
                    J = max(0.0, told[c, RATE] - spread_law[n, 0] * waits)
                    told[c, WISH] = J * told[c, ACTIVE]
                    total += told[c, WISH]
                part = spread_law[n, 1] / total if total > spread_law[n, 1] else 1.0
                for c in range(spread_cells[n, 2], spread_cells[n, 3]):
                    u = origin[c, 1]
                    told[u, MESSAGE_RATE] = part * told[c, WISH]
                    told[u, MESSAGE_QUEUE] = cell[c, QUEUE]
        if pairs.shape[0] > 0:
            pause(k, pairs, pauses, heard, waiting, rate, pace, host_pace, cell)
        # the receivers take in what has crossed the last link, sources answer, hosts send
        for f in range(F):
            if k <= flow[f, START]:
                if k < flow[f, START]:
                    continue
                for n in range(path_at[f] - 1, path_at[f + 1]):
                    c = path[n] if n >= path_at[f] else f
                    told[c, ACTIVE] = 1.0
                    told[c, RATE] = told[c, FIRST_RATE]
                    told[c, NEXT_QUEUE] = 0.0
                    told[c, MESSAGE_RATE] = told[c, FIRST_RATE]
                    told[c, MESSAGE_QUEUE] = 0.0
            through = ring[row + flow[f, EXIT]]
            new = through - tally[f, DELIVERED]
            if flow[f, TCP] == 1:
                at = flow[f, ACK_NOW]
                flow[f, ACK_NOW] = at + 1 if at + 1 < flow[f, ACK_END] else flow[f, ACK_FIRST]
                acks = ack[at, ACKS]
                advancing = ack[at, ADVANCING]
                acked = ack[at, NEW_UP_TO]
                marked = ack[at, MARKED]
                ack[at, ACKS] = 0.0
                if new > 0.0:
                    ack[at, ACKS] = new
                    ack[at, ADVANCING] = new
                    ack[at, MARKED] = 0.0
                    if flow[f, PENDING] > 0 or not keep_up(tcp, f, new):
                        ack[at, ACKS] = 0.0
                        ack[at, ADVANCING] = 0.0
                        left = new
                        while left > 0.0:
                            piece = left
                            came = left
                            if flow[f, PENDING] > 0:
                                piece, came, seen = look_back(
                                    f, left, grid, records, ends, cursor, flow, path_at, path
                                )
                                ack[at, MARKED] += seen
                            answers = receive(tcp, log, holes, f, piece, came - piece, grid)
                            ack[at, ACKS] += answers[0]
                            ack[at, ADVANCING] += answers[1]
                            left -= piece
                    ack[at, NEW_UP_TO] = tcp[f, UP_TO]
                    if tcp[f, UP_TO] >= tcp[f, SIZE]:
                        finish(f, now, path_at, path, tally, told)
                usual = acks > 0.0 and acks == advancing and marked == 0.0
                if usual and flow_on(tcp, f, now, h, acks, acked, min_rto, grid):
                    pass
                elif acks > 0.0 or now >= tcp[f, DEADLINE] or k == flow[f, START]:
                    if acks == 0.0:
                        advancing = 0.0
                        acked = tcp[f, ACKED]
                        marked = 0.0
                    if not send(tcp, log, f, now, h, acks, advancing, acked, marked, min_rto, grid):
                        fault[0] = LOG_FAULT
                        fault[1] = k
                        fault[2] = f
                        return k
            else:
                n = schedule_at[f, 0]
                while k >= schedule[n + 1, 0]:
                    n += 1
                schedule_at[f, 0] = n
                tcp[f, EMITTED] = min(tcp[f, EMITTED] + schedule[n, 1], tcp[f, SIZE])
                tcp[f, UP_TO] = through
                if through >= tcp[f, SIZE]:
                    finish(f, now, path_at, path, tally, told)
            tally[f, DELIVERED] = through
            cell[f, SENT] = min(tcp[f, EMITTED], cell[f, SENT] + cell[f, BUDGET])
            ring[((k + lag[f]) & mask) * C + f] = cell[f, SENT]
            tally[f, ENTERED] += ring[row + f] - through
        # queues that are served one by one, each at its own rate
        rows[0] = row
        for j in range(1, rows.shape[0]):
            rows[j] = ((k + lags[j]) & mask) * C
        here = rows[0]
        overs = 0
        total = 0.0
        for c in range(rated[0], rated[1]):
            came = ring[here + origin[c, 1]] - cell[c, LOST]
            goes = min(came, cell[c, SENT] + cell[c, BUDGET])
            waits = came - goes
            cell[c, SENT] = goes
            ring[rows[origin[c, 0]] + c] = goes
            cell[c, QUEUE] = waits
            cell[c, AREA] += waits
            if cell[c, OPENS] > 0.0:
                total = 0.0
            total += waits
            if total > cell[c, WATCH]:
                i = link_of[c]
                cell[c, WATCH] = min(total, limit[i])
                if total > limit[i] and (overs == 0 or over[overs - 1] != i):
                    over[overs] = i
                    overs += 1
        # links whose flows share: FIFO, RED, fair shares, priorities
        for i in range(first_shared, past_shared):
            low = cells[i, 0]
            high = cells[i, 1]
            came = 0.0
            fresh = 0.0
            went = 0.0
            for c in range(low, high):
                wants[c] = ring[row + up[c]] - cell[c, LOST]
                fresh += wants[c] - cell[c, SENT] - cell[c, QUEUE]
                came += wants[c]
                went += cell[c, SENT]
            if kind[i] == RANDOM:
                came -= drop_early(
                    i, low, high, fresh, max(fresh, pace[i]), waiting[i], now,
                    every - (k - first_step) % every, grid, red, seed, wants, flow_of, cell,
                    records, ends, cursor, flow, tally, path_at, path,
                )  # fmt: skip
            capacity = pace[i]
            if kind[i] == DIVIDED:
                left = capacity
                for n in range(bands_at[i], bands_at[i + 1]):
                    for c in range(bands[n, 1], bands[n, 2]):
                        wants[c] -= cell[c, SENT]
                    left = divide(bands[n, 1], bands[n, 2], left, grid, wants, gets)
                    for c in range(bands[n, 1], bands[n, 2]):
                        wants[c] += cell[c, SENT]
                        cell[c, SENT] += gets[c]
            elif came - went <= capacity:
                for c in range(low, high):
                    cell[c, SENT] = wants[c]
                fifo[i, 0] = 0
                fifo[i, 1] = 0
            elif high == low + 1:
                cell[low, SENT] += capacity
            else:
                deep = arrived.shape[1]
                if fifo[i, 1] == 0:
                    fifo[i, 0] = 0
                    fifo[i, 1] = 1
                    for c in range(low, high):
                        arrived[c, 0] = cell[c, SENT]
                if fifo[i, 1] - fifo[i, 0] < deep:
                    fifo[i, 1] += 1
                newest = (fifo[i, 1] - 1) & (deep - 1)
                for c in range(low, high):
                    arrived[c, newest] = wants[c]
                if capacity > 0.0:
                    fifo[i, 0] = serve(
                        low, high, fifo[i, 0], fifo[i, 1], went + capacity, grid, arrived,
                        cell,
                    )  # fmt: skip
            total = 0.0
            for c in range(low, high):
                waits = wants[c] - cell[c, SENT]
                ring[((k + lag[c]) & mask) * C + c] = cell[c, SENT]
                cell[c, QUEUE] = waits
                cell[c, AREA] += waits
                if shared[i] == 0:
                    total = max(total, waits)
                else:
                    total += waits
            if total > peak[i]:
                peak[i] = min(total, limit[i])
            if total > limit[i]:
                over[overs] = i
                overs += 1
            waiting[i] = total
        # what exceeds a buffer is dropped from what came in this step
        for n in range(overs):
            i = over[n]
            waiting[i] = drop_tail(
                i, k, now, h,
                every - (k - first_step) % every, grid, ring, up, lag, cells, limit, shared, kind,
                bands_at, wants, fifo, arrived, flow_of, cell, records, ends, cursor, flow, tally,
                path_at, path,
            )  # fmt: skip
        if (k - first_step + 1) % every == 0:
            n = (k - first_step) // every
            for f in range(F):
                record[n, f, 0] = tally[f, ENTERED] - tally[f, LOST_AREA]
                record[n, f, 1] = tcp[f, UP_TO]
                record[n, f, 2] = min(tcp[f, COLUMNS], tcp[f, MAX_WINDOW])
                record[n, f, 3] = tcp[f, EMITTED] - cell[f, SENT]
                tally[f, ENTERED] = 0.0
                tally[f, LOST_AREA] = tally[f, ALL_LOST] * every
                if record[n, f, 2] != record[n, f, 2]:
                    fault[0] = WINDOW_FAULT
                    fault[1] = k
                    fault[2] = f
                    return k
            for c in range(F, C):
                record[n, flow_of[c], 0] -= cell[c, AREA]
                queued[n, c] = cell[c, QUEUE]
                lost_at[n, c] = cell[c, LOST] - cell[c, LOST_BEFORE]
                cell[c, LOST_BEFORE] = cell[c, LOST]
                area_ever[c] += cell[c, AREA]
                cell[c, AREA] = 0.0
                if cell[c, QUEUE] != cell[c, QUEUE]:
                    fault[0] = QUEUE_FAULT
                    fault[1] = k
                    fault[2] = c
                    return k
            for f in range(F):
                record[n, f, 0] /= every
    return -1


def _snippet(kinds: tuple[Kind, ...], params: int, event: str) -> str:
    """Return the if-chain over window rules that applies ``event`` to the flow's window.

    ``amount`` ACKs move the state by that multiple of what one ACK does, except for fields that
    the rule sets outright; a field that an ACK does not change stays, also where it is infinite.
    """
    text = []
    for n, (rule, names) in enumerate(kinds):
        fields = rule.State._fields
        own = [f"tcp[f, {COLUMNS + w}]" for w in range(len(fields))]
        given = [f"tcp[f, {params + p}]" for p in range(len(names))]
        text += [
            f"{'elif' if n else 'if'} tcp[f, {sources.KIND}] == {n}:",
            f"    old = R{n}State({', '.join(own)},)",
            f"    q = R{n}Params({', '.join(given)},)",
            f"    new = R{n}{event}(old, q, Event(now, tcp[f, {sources.RTT}]))",
        ]
        for place, name in zip(own, fields, strict=True):
            value = f"new.{name}"
            if event == "on_ack" and name not in rule.assigned:
                change = f"old.{name} + amount * (new.{name} - old.{name})"
                value = f"{change} if new.{name} != old.{name} else old.{name}"
            text.append(f"    {place} = {value}")
    return "\n".join(text) or "pass"


def advance(plan: Plan, steps: int, every: int, *, compiled: bool = True) -> Records:
    """Run a plan from t = 0, in place.

    Parameters
    ----------
    plan
        Its state is advanced.
    steps, every
        How many, a multiple of ``every``, the interval of the records.
    compiled
        False runs the kernel as plain Python: hundreds of times slower, for tests.

    Returns
    -------
    tuple of numpy.ndarray
        Per interval: shape (T, F, 4), mean packets in transit, U, cwnd, host's backlog; (T, C)
        packets queued at its end; (T, C) packets lost in it.

    Raises
    ------
    ArithmeticError
        When a number becomes NaN, with the time and the place.
    """
    F, C = len(plan.state.flow), len(plan.state.up)
    records = (
        np.zeros((steps // every, F, 4)),
        np.zeros((steps // every, C)),
        np.zeros((steps // every, C)),
    )
    stopped = splice(run, plan.kinds, compiled=compiled)(
        0, steps, every, plan.step, plan.grid, plan.scenario.min_rto, plan.first_shared,
        plan.past_shared, plan.state, *records,
    )  # fmt: skip
    if stopped >= 0:
        raise ArithmeticError(_fault(plan))
    return records


def _fault(plan: Plan) -> str:
    """Return what stopped the run, when and where."""
    kind, step, at = map(int, plan.state.fault)
    when = f"{plan.scenario.name}, t = {step * plan.step:g} s"
    if kind == QUEUE_FAULT:
        link = plan.scenario.links[plan.links[plan.state.link_of[at]]]
        return f"{when}: the queue at node {link.source!r} (link {link.name}) is not a number"
    flow = plan.scenario.flows[at].name
    if kind == WINDOW_FAULT:
        return f"{when}: the window of flow {flow!r} is not a number"
    return f"{when}: the emission log of flow {flow!r} is full"


def splice(
    template: Callable[..., Any], kinds: tuple[Kind, ...], *, compiled: bool = True
) -> Callable[..., Any]:
    """Return a template of this package with the events of the window rules spliced in."""
    events = ("on_ack", "on_loss", "on_timeout")
    tuples: dict[str, Any] = {"Event": ("time", "rtt")}
    first = COLUMNS + max(len(rule.State._fields) for rule, _ in kinds)
    for n, (rule, names) in enumerate(kinds):
        tuples[f"R{n}State"] = rule.State._fields
        tuples[f"R{n}Params"] = names
    return build(
        template,
        helpers=[helper for helper in HELPERS if helper is not template],
        functions={
            f"R{n}{event}": getattr(rule, event)
            for n, (rule, _) in enumerate(kinds)
            for event in events
        },
        snippets={event: _snippet(kinds, first, event) for event in events},
        tuples=tuples,
        compiled=compiled,
    )

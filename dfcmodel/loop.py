"""The loop over time: sources, hosts, queues and hop-by-hop control, one step after the other.

Time advances in steps h, the shortest link delay over m. In each step feedback that is due arrives
and sets rates, receivers take in what has crossed the last link, sources answer, and every queue is
served (arrivals of the step included); what exceeds a buffer is dropped from the step's arrivals.
Amounts are whole multiples of a power of two, so that every sum is exact and no packet is ever
created or lost by rounding. `reference` computes the same naively.

`run` is a template: the window rules of a scenario are spliced into it (`splicing`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.cells import (
    ACK_END,
    ACK_FIRST,
    ACK_NOW,
    ACKS,
    ADVANCING,
    ALIKE,
    ALL_LOST,
    AREA,
    BUDGET,
    DELIVERED,
    ECHO,
    END,
    ENTERED,
    EXIT,
    FIRST,
    FLOWS,
    GAIN,
    INTENSITY,
    LINK_RATE,
    LOST,
    LOST_AREA,
    LOST_BEFORE,
    MARKED,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    NEW_UP_TO,
    NEXT_QUEUE,
    ONE,
    PENDING,
    QUEUE,
    RATE,
    SENT,
    START,
    TCP,
    WATCH,
    WISH,
)
from dfcmodel.drops import Lines, drop_early, drop_tail
from dfcmodel.losses import Losses, look_back
from dfcmodel.ports import exchange
from dfcmodel.queues import (
    DIVIDED,
    PORTS,
    RANDOM,
    crowd,
    divide,
    finish,
    pause,
    serve,
    serve_one,
)
from dfcmodel.receivers import date, keep_up, receive
from dfcmodel.sources import (
    ACKED,
    COLUMNS,
    DEADLINE,
    EMITTED,
    INFLATION,
    MAX_WINDOW,
    RECEIVED,
    RTT,
    SIZE,
    UP_TO,
    flow_on,
    on_grid,
    send,
)

if TYPE_CHECKING:
    from dfcmodel.states import Floats, State

__all__ = ["run"]

LOG_FAULT, WINDOW_FAULT, QUEUE_FAULT = 1, 2, 3
"""Why a run stops: an emission log is full, a window or a queue is no number."""


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
    backlog, round-trip time), ``queued[n, c]`` packets queued at its end, ``lost_at[n, c]`` packets
    lost in it.
    Returns -1, or the step at which it had to stop, with the reason in ``s.fault``.
    """
    up = s.up
    cell = s.cell
    runs = s.runs
    rows = s.rows
    origin = s.origin
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
    burst = s.burst
    shared = s.shared
    peak = s.peak
    waiting = s.waiting
    fifo = s.fifo
    arrived = s.arrived
    arrived_in_all = s.arrived_in_all
    red = s.red
    bands = s.bands
    bands_at = s.bands_at
    clock = s.clock
    ticks = s.ticks
    tick_cells = s.tick_cells
    tells = s.tells
    tell_cells = s.tell_cells
    ports = s.ports
    by_input = ports.links.shape[0] > 0
    pairs = s.pairs
    pauses = s.pauses
    heard = s.heard
    flow = s.flow
    tally = s.tally
    path_at = s.path_at
    path = s.path
    ack = s.ack
    emitted = s.emitted
    tcp = s.tcp
    log = s.log
    holes = s.holes
    schedule = s.schedule
    schedule_at = s.schedule_at
    seed = s.seed
    fault = s.fault
    losses = Losses(cell, records, ends, cursor, flow, tally, path_at, path)
    lines = Lines(
        up, lag, flow_of, wants, ring, kind, cells, limit, rate, burst, shared, bands, bands_at,
        fifo, arrived, arrived_in_all,
    )  # fmt: skip
    F = flow.shape[0]
    C = up.shape[0]
    mask = ring.shape[0] // C - 1
    last_step = first_step + steps
    for k in range(first_step, last_step):
        now = k * h
        row = (k & mask) * C
        # feedback: all that is due arrives and sets rates; then new messages leave
        for j in range(clock.shape[0]):
            slot = clock[j, 2] + clock[j, 1]
            for n in range(ticks[slot, 0], ticks[slot, 1]):  # links of one flow
                c = tick_cells[n, 0]
                r = cell[c, MESSAGE_RATE]
                waits = cell[c, MESSAGE_QUEUE]
                cell[c, RATE] = r
                cell[c, NEXT_QUEUE] = waits
                J = max(0.0, cell[c, INTENSITY] * r - cell[c, GAIN] * (waits - cell[c, QUEUE]))
                cell[c, BUDGET] = on_grid(min(J, cell[c, LINK_RATE]), grid)
            for n in range(ticks[slot, 1], ticks[slot, 2]):  # of two
                c = tick_cells[n, 0]
                d = tick_cells[n, 1]
                B = cell[c, LINK_RATE]
                alpha = cell[c, INTENSITY]
                gain = cell[c, GAIN]
                r = cell[c, MESSAGE_RATE]
                waits = cell[c, MESSAGE_QUEUE]
                r2 = cell[d, MESSAGE_RATE]
                waits2 = cell[d, MESSAGE_QUEUE]
                cell[c, RATE] = r
                cell[c, NEXT_QUEUE] = waits
                cell[d, RATE] = r2
                cell[d, NEXT_QUEUE] = waits2
                J = max(0.0, alpha * r - gain * (waits - cell[c, QUEUE]))
                J2 = max(0.0, alpha * r2 - gain * (waits2 - cell[d, QUEUE]))
                part = B / (J + J2) if J + J2 > B else 1.0
                cell[c, BUDGET] = on_grid(part * J, grid)
                cell[d, BUDGET] = on_grid(part * J2, grid)
            for n in range(ticks[slot, 2], ticks[slot, 3]):  # of more
                total = 0.0
                B = cell[tick_cells[n, 0], LINK_RATE]
                for c in range(tick_cells[n, 0], tick_cells[n, 1]):
                    cell[c, RATE] = cell[c, MESSAGE_RATE]
                    cell[c, NEXT_QUEUE] = cell[c, MESSAGE_QUEUE]
                    pull = cell[c, GAIN] * (cell[c, NEXT_QUEUE] - cell[c, QUEUE])
                    cell[c, WISH] = max(0.0, cell[c, INTENSITY] * cell[c, RATE] - pull)
                    total += cell[c, WISH]
                part = B / total if total > B else 1.0
                for c in range(tick_cells[n, 0], tick_cells[n, 1]):
                    cell[c, BUDGET] = on_grid(part * cell[c, WISH], grid)
        for j in range(clock.shape[0]):
            slot = clock[j, 2] + clock[j, 1]
            clock[j, 1] += 1
            if clock[j, 1] == clock[j, 0]:
                clock[j, 1] = 0
            for n in range(tells[slot, 0], tells[slot, 1]):  # a link of one flow tells
                c = tell_cells[n, 0]
                u = tell_cells[n, 2]
                waits = cell[c, QUEUE]
                J = max(0.0, cell[c, RATE] - cell[c, GAIN] * (cell[c, NEXT_QUEUE] - waits))
                cell[u, MESSAGE_RATE] = min(J, cell[c, LINK_RATE])
                cell[u, MESSAGE_QUEUE] = waits
            for n in range(tells[slot, 1], tells[slot, 2]):  # of two
                c = tell_cells[n, 0]
                d = tell_cells[n, 1]
                B = cell[c, LINK_RATE]
                gain = cell[c, GAIN]
                waits = cell[c, QUEUE]
                waits2 = cell[d, QUEUE]
                J = max(0.0, cell[c, RATE] - gain * (cell[c, NEXT_QUEUE] - waits))
                J2 = max(0.0, cell[d, RATE] - gain * (cell[d, NEXT_QUEUE] - waits2))
                part = B / (J + J2) if J + J2 > B else 1.0
                u = tell_cells[n, 2]
                cell[u, MESSAGE_RATE] = part * J
                cell[u, MESSAGE_QUEUE] = waits
                u = tell_cells[n, 3]
                cell[u, MESSAGE_RATE] = part * J2
                cell[u, MESSAGE_QUEUE] = waits2
            for n in range(tells[slot, 2], tells[slot, 3]):  # of more
                total = 0.0
                B = cell[tell_cells[n, 0], LINK_RATE]
                for c in range(tell_cells[n, 0], tell_cells[n, 1]):
                    pull = cell[c, GAIN] * (cell[c, NEXT_QUEUE] - cell[c, QUEUE])
                    cell[c, WISH] = max(0.0, cell[c, RATE] - pull)
                    total += cell[c, WISH]
                part = B / total if total > B else 1.0
                for c in range(tell_cells[n, 2], tell_cells[n, 3]):
                    u = origin[c]
                    cell[u, MESSAGE_RATE] = part * cell[c, WISH]
                    cell[u, MESSAGE_QUEUE] = cell[c, QUEUE]
        if by_input:
            exchange(k, grid, clock, ports, lines, cell)
        if pairs.shape[0] > 0:
            pause(k, pairs, pauses, heard, waiting, rate, pace, host_pace, cell)
        # the receivers take in what has crossed the last link, sources answer, hosts send
        for f in range(F):
            age = k - flow[f, START]
            if age < 0:
                continue
            if age == 1:  # what a start within a step kept back may go
                tcp[f, INFLATION] = 0.0
            elif age == 0:
                for n in range(path_at[f] - 1, path_at[f + 1]):
                    c = path[n] if n >= path_at[f] else f
                    cell[c, RATE] = cell[c, LINK_RATE]
                    cell[c, NEXT_QUEUE] = 0.0
                    cell[c, MESSAGE_RATE] = cell[c, LINK_RATE]
                    cell[c, MESSAGE_QUEUE] = 0.0
            through = ring[row + flow[f, EXIT]]
            new = through - tally[f, DELIVERED]
            if flow[f, TCP] == 1:
                at = flow[f, ACK_NOW]
                flow[f, ACK_NOW] = at + 1 if at + 1 < flow[f, ACK_END] else flow[f, ACK_FIRST]
                acks = ack[at, ACKS]
                advancing = ack[at, ADVANCING]
                acked = ack[at, NEW_UP_TO]
                marked = ack[at, MARKED]
                if acks > 0.0:
                    tcp[f, RTT] = (k - ack[at, ECHO]) * h
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
                                piece, came, seen = look_back(f, left, grid, losses)
                                ack[at, MARKED] += seen
                            answers = receive(tcp, log, holes, f, piece, came - piece, grid)
                            ack[at, ACKS] += answers[0]
                            ack[at, ADVANCING] += answers[1]
                            left -= piece
                    ack[at, NEW_UP_TO] = tcp[f, UP_TO]
                    ack[at, ECHO] = date(f, k, tcp[f, RECEIVED], flow, emitted)
                    if tcp[f, UP_TO] >= tcp[f, SIZE]:
                        finish(f, now, path_at, path, tally, cell)
                usual = acks > 0.0 and acks == advancing and marked == 0.0
                if usual and flow_on(tcp, f, now, h, acks, acked, min_rto, grid):
                    pass
                elif acks > 0.0 or now >= tcp[f, DEADLINE] or age <= 1:
                    if acks == 0.0:
                        advancing = 0.0
                        acked = tcp[f, ACKED]
                        marked = 0.0
                    if not send(tcp, log, f, now, h, acks, advancing, acked, marked, min_rto, grid):
                        fault[0] = LOG_FAULT
                        fault[1] = k
                        fault[2] = f
                        return k
                emitted[f, k & (emitted.shape[1] - 1)] = tcp[f, EMITTED]
            else:
                n = schedule_at[f, 0]
                while k >= schedule[n + 1, 0]:
                    n += 1
                schedule_at[f, 0] = n
                tcp[f, EMITTED] = min(tcp[f, EMITTED] + schedule[n, 1], tcp[f, SIZE])
                tcp[f, UP_TO] = through
                if through >= tcp[f, SIZE]:
                    finish(f, now, path_at, path, tally, cell)
            tally[f, DELIVERED] = through
            cell[f, SENT] = min(tcp[f, EMITTED], cell[f, SENT] + cell[f, BUDGET])
            ring[((k + lag[f]) & mask) * C + f] = cell[f, SENT]
            tally[f, ENTERED] += ring[row + f] - through
        # queues that are served one by one, each at its own rate, by runs of links
        rows[0] = row
        here = rows[0]
        overs = 0
        total = 0.0
        for n in range(runs.shape[0]):
            rows[0] = ((k + lag[runs[n, FIRST]]) & mask) * C
            there = rows[0]
            if runs[n, ALIKE] == 1:
                for c in range(runs[n, FIRST], runs[n, END]):
                    total = serve_one(c, here, there, origin, ring, cell)
                    if total > cell[c, WATCH]:
                        overs = crowd(c, total, overs, over, link_of, limit, cell)
            elif runs[n, ALIKE] == 2:
                one = runs[n, ONE]
                for c in range(runs[n, FIRST], runs[n, END], runs[n, FLOWS]):
                    total = serve_one(c, here, there, origin, ring, cell)
                    total += serve_one(c + one, here, there, origin, ring, cell)
                    if total > cell[c, WATCH]:
                        overs = crowd(c, total, overs, over, link_of, limit, cell)
            else:
                total = 0.0
                for c in range(runs[n, FIRST], runs[n, END]):
                    rows[0] = ((k + lag[c]) & mask) * C
                    there = rows[0]
                    total += serve_one(c, here, there, origin, ring, cell)
                c = runs[n, FIRST]
                if total > cell[c, WATCH]:
                    overs = crowd(c, total, overs, over, link_of, limit, cell)
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
                    every - (k - first_step) % every, grid, red, seed, wants, flow_of, losses,
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
            elif kind[i] == PORTS:
                for n in range(bands_at[i], bands_at[i + 1]):
                    came = 0.0
                    goes = cell[bands[n, 1], BUDGET]
                    for c in range(bands[n, 1], bands[n, 2]):
                        came += wants[c]
                        goes += cell[c, SENT]
                    serve(
                        bands[n, 1], bands[n, 2], n, came, goes, grid, wants, fifo, arrived,
                        arrived_in_all, cell,
                    )  # fmt: skip
            else:
                serve(
                    low, high, bands_at[i], came, went + capacity, grid, wants, fifo, arrived,
                    arrived_in_all, cell,
                )  # fmt: skip
            total = 0.0
            most = 0.0
            for c in range(low, high):
                waits = wants[c] - cell[c, SENT]
                ring[((k + lag[c]) & mask) * C + c] = cell[c, SENT]
                cell[c, QUEUE] = waits
                cell[c, AREA] += waits
                total += waits
                most = max(most, waits)
            waiting[i] = total
            if shared[i] == 1:
                most = total
            if most > peak[i]:
                peak[i] = min(most, limit[i])
            if most > limit[i]:
                over[overs] = i
                overs += 1
        # what exceeds a buffer is dropped from what came in this step
        for n in range(overs):
            i = over[n]
            waiting[i] = drop_tail(
                i, k, now, h, every - (k - first_step) % every, grid, lines, losses
            )
        if (k - first_step + 1) % every == 0:
            n = (k - first_step) // every
            for f in range(F):
                inside = tally[f, ENTERED] - tally[f, LOST_AREA]
                tally[f, ENTERED] = 0.0
                tally[f, LOST_AREA] = tally[f, ALL_LOST] * every
                for j in range(path_at[f], path_at[f + 1]):
                    c = path[j]
                    inside -= cell[c, AREA]
                    area_ever[c] += cell[c, AREA]
                    cell[c, AREA] = 0.0
                record[n, f, 0] = inside / every
                record[n, f, 1] = tcp[f, UP_TO]
                record[n, f, 2] = min(tcp[f, COLUMNS], tcp[f, MAX_WINDOW])
                record[n, f, 3] = tcp[f, EMITTED] - cell[f, SENT]
                record[n, f, 4] = tcp[f, RTT]
                if record[n, f, 2] != record[n, f, 2]:
                    fault[0] = WINDOW_FAULT
                    fault[1] = k
                    fault[2] = f
                    return k
            for c in range(F, C):
                queued[n, c] = cell[c, QUEUE]
                lost_at[n, c] = cell[c, LOST] - cell[c, LOST_BEFORE]
                cell[c, LOST_BEFORE] = cell[c, LOST]
                if cell[c, QUEUE] != cell[c, QUEUE]:
                    fault[0] = QUEUE_FAULT
                    fault[1] = k
                    fault[2] = c
                    return k
    return -1

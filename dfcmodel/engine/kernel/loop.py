"""The loop over time: feedback, the ends of the flows, the queues, one step after the other.

Time advances in steps h, the shortest link delay over m. In each step feedback that is due arrives
and sets rates, receivers take in what has crossed the last link, sources answer, and every queue is
served (arrivals of the step included); what exceeds a buffer is dropped from the step's arrivals.
Amounts are whole multiples of a power of two, so that every sum is exact and no packet is ever
created or lost by rounding. `reference` computes the same naively.

`run` is a template: the functions that it calls, and the window rules of a scenario, are spliced into
it (`compilation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.columns import (
    ALL_LOST,
    AREA,
    EMITTED,
    ENTERED,
    LOG_FAULT,
    LOST,
    LOST_AREA,
    LOST_BEFORE,
    MAX_WINDOW,
    QUEUE,
    QUEUE_FAULT,
    RTT,
    SENT,
    TCP_COLUMNS,
    UP_TO,
    WINDOW_FAULT,
)
from dfcmodel.engine.kernel.dfc_per_flow import hear, pause, tell
from dfcmodel.engine.kernel.dfc_per_input import exchange
from dfcmodel.engine.kernel.drops import drop_tail
from dfcmodel.engine.kernel.endpoints import step_ends
from dfcmodel.engine.kernel.queues import serve_runs
from dfcmodel.engine.kernel.shared_queues import serve_shared

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats, State

__all__ = ["note", "run"]


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
    for k in range(first_step, first_step + steps):
        now = k * h
        rest = every - (k - first_step) % every  # steps up to the next record
        hear(grid, s)
        tell(s)
        if s.ports.links.shape[0] > 0:
            exchange(k, grid, s)
        if s.pairs.shape[0] > 0:
            pause(k, s)
        for f in range(s.flow.shape[0]):
            if not step_ends(f, k, h, min_rto, grid, s):
                s.fault[0] = LOG_FAULT
                s.fault[1] = k
                s.fault[2] = f
                return k
        overs = serve_runs(k, s)
        for i in range(first_shared, past_shared):
            overs = serve_shared(i, k, now, rest, overs, grid, s)
        for n in range(overs):  # what exceeds a buffer is dropped from what came in this step
            i = s.over[n]
            s.waiting[i] = drop_tail(i, k, now, h, rest, grid, s)
        if rest == 1 and not note((k - first_step) // every, k, every, s, record, queued, lost_at):
            return k
    return -1


def note(
    n: int, k: int, every: int, s: State, record: Floats, queued: Floats, lost_at: Floats
) -> bool:
    """Write row n of the records, in step k; False: something is no number, see ``s.fault``."""
    for f in range(s.flow.shape[0]):
        inside = s.tally[f, ENTERED] - s.tally[f, LOST_AREA]
        s.tally[f, ENTERED] = 0.0
        s.tally[f, LOST_AREA] = s.tally[f, ALL_LOST] * every
        for j in range(s.path_at[f], s.path_at[f + 1]):
            c = s.path[j]
            inside -= s.cell[c, AREA]
            s.area_ever[c] += s.cell[c, AREA]
            s.cell[c, AREA] = 0.0
        record[n, f, 0] = inside / every
        record[n, f, 1] = s.tcp[f, UP_TO]
        record[n, f, 2] = min(s.tcp[f, TCP_COLUMNS], s.tcp[f, MAX_WINDOW])
        record[n, f, 3] = s.tcp[f, EMITTED] - s.cell[f, SENT]
        record[n, f, 4] = s.tcp[f, RTT]
        if record[n, f, 2] != record[n, f, 2]:
            s.fault[0] = WINDOW_FAULT
            s.fault[1] = k
            s.fault[2] = f
            return False
    for c in range(s.flow.shape[0], s.up.shape[0]):
        queued[n, c] = s.cell[c, QUEUE]
        lost_at[n, c] = s.cell[c, LOST] - s.cell[c, LOST_BEFORE]
        s.cell[c, LOST_BEFORE] = s.cell[c, LOST]
        if s.cell[c, QUEUE] != s.cell[c, QUEUE]:
            s.fault[0] = QUEUE_FAULT
            s.fault[1] = k
            s.fault[2] = c
            return False
    return True

"""What happens in the queues of links in a step: at rates of their own, in order, in fair shares.

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel.columns import (
    ALIKE,
    AREA,
    BUDGET,
    END,
    FIRST,
    FLOWS,
    LOST,
    ONE,
    QUEUE,
    SENT,
    WATCH,
)
from dfcmodel.engine.kernel.tcp_sender import on_grid

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["crowd", "divide", "in_order", "serve", "serve_one", "serve_runs"]


def serve_one(c: int, here: int, there: int, s: State) -> Any:
    """Let cell c send what came, at most what its own rate allows; return what waits.

    ``here`` and ``there`` are the rows of the ring that arrive now, and when what is sent now arrives.
    """
    came = s.ring[here + s.origin[c]] - s.cell[c, LOST]
    goes = min(came, s.cell[c, SENT] + s.cell[c, BUDGET])
    waits = came - goes
    s.cell[c, SENT] = goes
    s.ring[there + c] = goes
    s.cell[c, QUEUE] = waits
    s.cell[c, AREA] += waits
    return waits


def crowd(c: int, total: float, overs: int, s: State) -> Any:
    """Note that more waits than ever in the buffer that begins with cell c, and if it is too much.

    Returns how many links are ``over`` their limits now.
    """
    i = s.link_of[c]
    s.cell[c, WATCH] = min(total, s.limit[i])
    if total > s.limit[i] and (overs == 0 or s.over[overs - 1] != i):
        s.over[overs] = i
        overs += 1
    return overs


def serve_runs(k: int, s: State) -> Any:
    """Serve the queues that have rates of their own; return how many links are over their limits."""
    C = s.up.shape[0]
    s.rows[0] = (k & s.mask) * C
    here = s.rows[0]
    overs = 0
    for n in range(s.runs.shape[0]):
        first = s.runs[n, FIRST]
        end = s.runs[n, END]
        s.rows[0] = ((k + s.lag[first]) & s.mask) * C
        there = s.rows[0]
        if s.runs[n, ALIKE] == 1:
            for c in range(first, end):
                waits = serve_one(c, here, there, s)
                if waits > s.cell[c, WATCH]:
                    overs = crowd(c, waits, overs, s)
        elif s.runs[n, ALIKE] == 2:
            one = s.runs[n, ONE]
            for c in range(first, end, s.runs[n, FLOWS]):
                waits = serve_one(c, here, there, s)
                waits += serve_one(c + one, here, there, s)
                if waits > s.cell[c, WATCH]:
                    overs = crowd(c, waits, overs, s)
        else:
            total = 0.0
            for c in range(first, end):
                s.rows[0] = ((k + s.lag[c]) & s.mask) * C
                there = s.rows[0]
                total += serve_one(c, here, there, s)
            if total > s.cell[first, WATCH]:
                overs = crowd(first, total, overs, s)
    return overs


def divide(first: int, end: int, amount: float, grid: float, s: State) -> Any:
    """Divide ``amount`` among cells ``first`` .. ``end`` - 1: equal parts, none above what it wants.

    What they get is in ``s.gets``; returns what is left.
    """
    wants = s.wants
    gets = s.gets
    open_cells = 0
    for c in range(first, end):
        gets[c] = 0.0
        if wants[c] > 0.0:
            open_cells += 1
    while open_cells > 0 and amount > 0.0:
        part = on_grid(amount / open_cells, grid)
        if part == 0.0:
            for c in range(first, end):
                more = min(amount, wants[c] - gets[c])
                gets[c] += more
                amount -= more
            return amount
        still = 0
        for c in range(first, end):
            if gets[c] < wants[c]:
                more = min(part, wants[c] - gets[c])
                gets[c] += more
                amount -= more
                if gets[c] < wants[c]:
                    still += 1
        open_cells = still
    return amount


def serve(
    first: int, end: int, line: int, came: float, total: float, grid: float, s: State
) -> None:
    """Let a FIFO queue, the cells up to ``end``, have sent ``total`` packets, or all if fewer ``came``.

    That is the sum of ``s.wants``, what ever came to each cell and was not dropped.
    """
    if came <= total:
        for c in range(first, end):
            s.cell[c, SENT] = s.wants[c]
        s.fifo[line, 0] = 0
        s.fifo[line, 1] = 0
    elif end == first + 1:
        s.cell[first, SENT] = total
    else:
        in_order(first, end, line, came, total, grid, s)


def in_order(
    first: int, end: int, line: int, came: float, total: float, grid: float, s: State
) -> None:
    """Do what `serve` does where some of what came to several flows has to wait.

    ``s.arrived[c, n]`` is what had come to cell c at entry n of the queue's ring, one per step, and
    ``s.arrived_in_all[line]`` the sum. The head in ``s.fifo[line]`` is the entry up to which all is
    served; inside the next one the flows are served in proportion.
    """
    cell = s.cell
    arrived = s.arrived
    in_all = s.arrived_in_all
    mask = arrived.shape[1] - 1
    if s.fifo[line, 1] == 0:
        s.fifo[line, 1] = 1
        in_all[line, 0] = 0.0
        for c in range(first, end):
            arrived[c, 0] = cell[c, SENT]
            in_all[line, 0] += cell[c, SENT]
    if s.fifo[line, 1] - s.fifo[line, 0] <= mask:
        s.fifo[line, 1] += 1
    last = (s.fifo[line, 1] - 1) & mask
    in_all[line, last] = came
    head = s.fifo[line, 0]
    while in_all[line, (head + 1) & mask] <= total:
        head += 1
    s.fifo[line, 0] = head
    low = head & mask
    high = (head + 1) & mask
    rest = total
    for c in range(first, end):
        arrived[c, last] = s.wants[c]
        cell[c, SENT] = max(cell[c, SENT], arrived[c, low])
        rest -= cell[c, SENT]
    part = (total - in_all[line, low]) / (in_all[line, high] - in_all[line, low])
    for c in range(first, end):
        goal = arrived[c, low] + on_grid(part * (arrived[c, high] - arrived[c, low]), grid)
        more = max(0.0, min(rest, goal - cell[c, SENT]))
        cell[c, SENT] += more
        rest -= more
    if rest > 0.0:  # what rounding left
        for c in range(first, end):
            more = max(0.0, min(rest, arrived[c, high] - cell[c, SENT]))
            cell[c, SENT] += more
            rest -= more

"""What happens in the queue of a link: order among its flows, fair shares, pauses, and an end.

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.cells import (
    AREA,
    BUDGET,
    FINISHED,
    LOST,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    NEXT_QUEUE,
    ON,
    PAUSED,
    PAUSING,
    QUANTA,
    QUEUE,
    RATE,
    SENT,
    UNTIL,
    WAIT,
    WATCH,
)
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    from dfcmodel.states import Floats, Ints

__all__ = ["crowd", "divide", "finish", "in_order", "pause", "serve", "serve_one"]

RATED, SHARED, RANDOM, DIVIDED, PORTS = 0, 1, 2, 3, 4
"""Kinds of links: queues at rates of their own; FIFO; RED on FIFO; fair shares and priorities; a FIFO
queue at a rate of its own per input."""


def finish(f: int, now: float, path_at: Ints, path: Ints, tally: Floats, cell: Floats) -> None:
    """Note when a transfer is complete; its queues take no part in what is shared any more."""
    if tally[f, FINISHED] != tally[f, FINISHED]:
        tally[f, FINISHED] = now
        for n in range(path_at[f] - 1, path_at[f + 1]):
            c = path[n] if n >= path_at[f] else f
            cell[c, RATE] = 0.0
            cell[c, NEXT_QUEUE] = 0.0
            cell[c, MESSAGE_RATE] = 0.0
            cell[c, MESSAGE_QUEUE] = 0.0


def serve_one(c: int, here: int, there: int, origin: Ints, ring: Floats, cell: Floats) -> Any:
    """Let cell c send what came, at most what its own rate allows; return what waits.

    ``here`` and ``there`` are the rows of the ring that arrive now, and when what is sent now arrives.
    """
    came = ring[here + origin[c]] - cell[c, LOST]
    goes = min(came, cell[c, SENT] + cell[c, BUDGET])
    waits = came - goes
    cell[c, SENT] = goes
    ring[there + c] = goes
    cell[c, QUEUE] = waits
    cell[c, AREA] += waits
    return waits


def crowd(
    c: int, total: float, overs: int, over: Ints, link_of: Ints, limit: Floats, cell: Floats
) -> Any:
    """Note that more waits than ever in the buffer that begins with cell c, and if it is too much.

    Returns how many links are ``over`` their limits now.
    """
    i = link_of[c]
    cell[c, WATCH] = min(total, limit[i])
    if total > limit[i] and (overs == 0 or over[overs - 1] != i):
        over[overs] = i
        overs += 1
    return overs


def divide(first: int, end: int, amount: float, grid: float, wants: Floats, gets: Floats) -> Any:
    """Divide ``amount`` among cells ``first`` .. ``end`` - 1: equal parts, none above what it wants.

    Returns what is left.
    """
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
    first: int,
    end: int,
    line: int,
    came: float,
    total: float,
    grid: float,
    wants: Floats,
    fifo: Ints,
    arrived: Floats,
    arrived_in_all: Floats,
    cell: Floats,
) -> None:
    """Let a FIFO queue of several flows, the cells up to ``end``, have sent ``total`` packets.

    Or all, if fewer ``came``: the sum of ``wants[c]``, what ever came to cell c and was not dropped. SENT
    is what left it, and ``arrived[c, n]`` what had come at entry n of the queue's ring, one per step;
    ``arrived_in_all[line]`` is their sum. The head in ``fifo[line]`` is the entry up to which all is
    served; inside the next one the flows are served in proportion.
    """
    if came <= total:
        for c in range(first, end):
            cell[c, SENT] = wants[c]
        fifo[line, 0] = 0
        fifo[line, 1] = 0
    elif end == first + 1:
        cell[first, SENT] = total
    else:
        in_order(first, end, line, came, total, grid, wants, fifo, arrived, arrived_in_all, cell)


def in_order(
    first: int,
    end: int,
    line: int,
    came: float,
    total: float,
    grid: float,
    wants: Floats,
    fifo: Ints,
    arrived: Floats,
    arrived_in_all: Floats,
    cell: Floats,
) -> None:
    """Do what `serve` does where some of what came to several flows has to wait."""
    mask = arrived.shape[1] - 1
    if fifo[line, 1] == 0:
        fifo[line, 1] = 1
        arrived_in_all[line, 0] = 0.0
        for c in range(first, end):
            arrived[c, 0] = cell[c, SENT]
            arrived_in_all[line, 0] += cell[c, SENT]
    if fifo[line, 1] - fifo[line, 0] <= mask:
        fifo[line, 1] += 1
    last = (fifo[line, 1] - 1) & mask
    arrived_in_all[line, last] = came
    head = fifo[line, 0]
    while arrived_in_all[line, (head + 1) & mask] <= total:
        head += 1
    fifo[line, 0] = head
    low = head & mask
    high = (head + 1) & mask
    rest = total
    for c in range(first, end):
        arrived[c, last] = wants[c]
        cell[c, SENT] = max(cell[c, SENT], arrived[c, low])
        rest -= cell[c, SENT]
    below = arrived_in_all[line, low]
    part = (total - below) / (arrived_in_all[line, high] - below)
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


def pause(
    k: int,
    pairs: Ints,
    pauses: Floats,
    heard: Ints,
    waiting: Floats,
    rate: Floats,
    pace: Floats,
    host_pace: Floats,
    cell: Floats,
) -> None:
    """Let pausing links speak, and those before them hear what was said one way ago."""
    late = heard.shape[0] - 1
    for i in range(rate.shape[0]):
        pace[i] = rate[i]
    for n in range(pairs.shape[0]):
        if pairs[n, PAUSED] < 0:
            f = -1 - pairs[n, PAUSED]
            cell[f, BUDGET] = host_pace[f]
    for n in range(pairs.shape[0]):
        waits = waiting[pairs[n, PAUSING]]
        if pairs[n, ON] == 0 and waits > pauses[n, 0]:
            pairs[n, ON] = 1
            pairs[n, UNTIL] = k + pairs[n, QUANTA]
        elif pairs[n, ON] == 1 and k >= pairs[n, UNTIL]:
            if waits <= pauses[n, 1]:
                pairs[n, ON] = 0
            else:
                pairs[n, UNTIL] += pairs[n, QUANTA]
        heard[k & late, n] = pairs[n, ON]
        if heard[(k - pairs[n, WAIT]) & late, n] == 1:
            i = pairs[n, PAUSED]
            if i < 0:
                cell[-1 - i, BUDGET] = min(cell[-1 - i, BUDGET], pauses[n, 2])
            else:
                pace[i] = min(pace[i], pauses[n, 2])

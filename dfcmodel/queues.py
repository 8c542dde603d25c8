"""What happens in the queue of a link: order among its flows, fair shares, pauses, and an end.

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.cells import (
    BUDGET,
    FINISHED,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    NEXT_QUEUE,
    ON,
    PAUSED,
    PAUSING,
    QUANTA,
    RATE,
    SENT,
    UNTIL,
    WAIT,
)
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    from dfcmodel.states import Floats, Ints

__all__ = ["divide", "finish", "pause", "serve"]

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
    capacity: float,
    grid: float,
    wants: Floats,
    fifo: Ints,
    arrived: Floats,
    cell: Floats,
) -> None:
    """Let up to ``capacity`` packets leave a FIFO queue of several flows, the cells up to ``end``.

    ``wants[c]`` is what ever came to cell c and was not dropped, SENT what left it, and ``arrived[c, n]``
    what had come at entry n of the queue's ring, one per step. The head in ``fifo[line]`` is the
    entry up to which all is served; inside the next one the flows are served in proportion.
    """
    mask = arrived.shape[1] - 1
    came = 0.0
    total = capacity
    for c in range(first, end):
        came += wants[c]
        total += cell[c, SENT]
    if came <= total:
        for c in range(first, end):
            cell[c, SENT] = wants[c]
        fifo[line, 0] = 0
        fifo[line, 1] = 0
        return
    if end == first + 1:
        cell[first, SENT] += capacity
        return
    if fifo[line, 1] == 0:
        fifo[line, 0] = 0
        fifo[line, 1] = 1
        for c in range(first, end):
            arrived[c, 0] = cell[c, SENT]
    if fifo[line, 1] - fifo[line, 0] <= mask:
        fifo[line, 1] += 1
    tail = fifo[line, 1]
    for c in range(first, end):
        arrived[c, (tail - 1) & mask] = wants[c]
    if capacity <= 0.0:
        return
    head = fifo[line, 0]
    while head + 1 < tail:
        served = 0.0
        for c in range(first, end):
            served += arrived[c, (head + 1) & mask]
        if served > total:
            break
        head += 1
    fifo[line, 0] = head
    below = 0.0
    above = 0.0
    rest = total
    for c in range(first, end):
        below += arrived[c, head & mask]
        above += arrived[c, (head + 1) & mask]
        cell[c, SENT] = max(cell[c, SENT], arrived[c, head & mask])
        rest -= cell[c, SENT]
    if head + 1 < tail and above > below:
        part = (total - below) / (above - below)
        for c in range(first, end):
            low = arrived[c, head & mask]
            goal = low + on_grid(part * (arrived[c, (head + 1) & mask] - low), grid)
            more = max(0.0, min(rest, goal - cell[c, SENT]))
            cell[c, SENT] += more
            rest -= more
        for c in range(first, end):  # what rounding left
            more = min(rest, arrived[c, (head + 1) & mask] - cell[c, SENT])
            if more > 0.0:
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

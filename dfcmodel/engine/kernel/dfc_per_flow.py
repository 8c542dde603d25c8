"""What nodes tell each other, and what they make of it: rates by DFC, a queue per flow; pauses by 802.3x.

When they do, and over which links, is in the tables of `signals`. These functions are templates,
spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel.columns import (
    BUDGET,
    GAIN,
    INTENSITY,
    LINK_RATE,
    MESSAGE_QUEUE,
    MESSAGE_RATE,
    NEXT_QUEUE,
    ON,
    PAUSED,
    PAUSING,
    QUANTA,
    QUEUE,
    RATE,
    UNTIL,
    WAIT,
    WISH,
)
from dfcmodel.engine.kernel.tcp_sender import on_grid

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["hear", "ideal", "inform", "learn", "part_of", "pause", "tell"]


def learn(c: int, s: State) -> None:
    """Let cell c know what was on its way to it."""
    s.cell[c, RATE] = s.cell[c, MESSAGE_RATE]
    s.cell[c, NEXT_QUEUE] = s.cell[c, MESSAGE_QUEUE]


def ideal(c: int, alpha: float, s: State) -> Any:
    """Return what cell c would send if its link were for it alone: alpha r - D/d (n' - n), eq. (2)."""
    pull = s.cell[c, GAIN] * (s.cell[c, NEXT_QUEUE] - s.cell[c, QUEUE])
    return max(0.0, alpha * s.cell[c, RATE] - pull)


def inform(u: int, rate: float, c: int, s: State) -> None:
    """Put on its way to cell u the nominal rate of the next one, c, and what waits there."""
    s.cell[u, MESSAGE_RATE] = rate
    s.cell[u, MESSAGE_QUEUE] = s.cell[c, QUEUE]


def part_of(most: float, asked: float) -> float:
    """Return the part of what is asked for that everyone gets where it is too much (eq. 13)."""
    return most / asked if asked > most else 1.0


def hear(grid: float, s: State) -> None:
    """Let what is due in this step arrive, and set the rates of the links that hear it.

    Where the flows of a link ask for more than its rate, they get it in proportion (takano2006, eq. 13).
    """
    cell = s.cell
    for j in range(s.clock.shape[0]):
        slot = s.clock[j, 2] + s.clock[j, 1]
        for n in range(s.ticks[slot, 0], s.ticks[slot, 1]):  # links of one flow
            c = s.tick_cells[n, 0]
            learn(c, s)
            J = ideal(c, cell[c, INTENSITY], s)
            cell[c, BUDGET] = on_grid(min(J, cell[c, LINK_RATE]), grid)
        for n in range(s.ticks[slot, 1], s.ticks[slot, 2]):  # of two
            c = s.tick_cells[n, 0]
            d = s.tick_cells[n, 1]
            B = cell[c, LINK_RATE]
            alpha = cell[c, INTENSITY]
            learn(c, s)
            J = ideal(c, alpha, s)
            learn(d, s)
            J2 = ideal(d, alpha, s)
            part = part_of(B, J + J2)
            cell[c, BUDGET] = on_grid(part * J, grid)
            cell[d, BUDGET] = on_grid(part * J2, grid)
        for n in range(s.ticks[slot, 2], s.ticks[slot, 3]):  # of more
            total = 0.0
            B = cell[s.tick_cells[n, 0], LINK_RATE]
            for c in range(s.tick_cells[n, 0], s.tick_cells[n, 1]):
                learn(c, s)
                cell[c, WISH] = ideal(c, cell[c, INTENSITY], s)
                total += cell[c, WISH]
            part = part_of(B, total)
            for c in range(s.tick_cells[n, 0], s.tick_cells[n, 1]):
                cell[c, BUDGET] = on_grid(part * cell[c, WISH], grid)


def tell(s: State) -> None:
    """Let the links whose turn it is tell those before them what they would send (eq. 5) and what waits.

    The clocks go on to the next step.
    """
    cell = s.cell
    for j in range(s.clock.shape[0]):
        slot = s.clock[j, 2] + s.clock[j, 1]
        s.clock[j, 1] += 1
        if s.clock[j, 1] == s.clock[j, 0]:
            s.clock[j, 1] = 0
        for n in range(s.tells[slot, 0], s.tells[slot, 1]):  # links of one flow
            c = s.tell_cells[n, 0]
            inform(s.tell_cells[n, 2], min(ideal(c, 1.0, s), cell[c, LINK_RATE]), c, s)
        for n in range(s.tells[slot, 1], s.tells[slot, 2]):  # of two
            c = s.tell_cells[n, 0]
            d = s.tell_cells[n, 1]
            B = cell[c, LINK_RATE]
            J = ideal(c, 1.0, s)
            J2 = ideal(d, 1.0, s)
            part = part_of(B, J + J2)
            inform(s.tell_cells[n, 2], part * J, c, s)
            inform(s.tell_cells[n, 3], part * J2, d, s)
        for n in range(s.tells[slot, 2], s.tells[slot, 3]):  # of more
            total = 0.0
            B = cell[s.tell_cells[n, 0], LINK_RATE]
            for c in range(s.tell_cells[n, 0], s.tell_cells[n, 1]):
                cell[c, WISH] = ideal(c, 1.0, s)
                total += cell[c, WISH]
            part = part_of(B, total)
            for c in range(s.tell_cells[n, 2], s.tell_cells[n, 3]):
                inform(s.origin[c], part * cell[c, WISH], c, s)


def pause(k: int, s: State) -> None:
    """Let pausing links speak, and those before them hear what was said one way ago."""
    late = s.heard.shape[0] - 1
    for i in range(s.rate.shape[0]):
        s.pace[i] = s.rate[i]
    for n in range(s.pairs.shape[0]):
        if s.pairs[n, PAUSED] < 0:
            f = -1 - s.pairs[n, PAUSED]
            s.cell[f, BUDGET] = s.host_pace[f]
    for n in range(s.pairs.shape[0]):
        waits = s.waiting[s.pairs[n, PAUSING]]
        if s.pairs[n, ON] == 0 and waits > s.pauses[n, 0]:
            s.pairs[n, ON] = 1
            s.pairs[n, UNTIL] = k + s.pairs[n, QUANTA]
        elif s.pairs[n, ON] == 1 and k >= s.pairs[n, UNTIL]:
            if waits <= s.pauses[n, 1]:
                s.pairs[n, ON] = 0
            else:
                s.pairs[n, UNTIL] += s.pairs[n, QUANTA]
        s.heard[k & late, n] = s.pairs[n, ON]
        if s.heard[(k - s.pairs[n, WAIT]) & late, n] == 1:
            i = s.pairs[n, PAUSED]
            if i < 0:
                s.cell[-1 - i, BUDGET] = min(s.cell[-1 - i, BUDGET], s.pauses[n, 2])
            else:
                s.pace[i] = min(s.pace[i], s.pauses[n, 2])

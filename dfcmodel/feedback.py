"""What nodes tell each other, and what they make of it: rates by DFC, a queue per flow; pauses by 802.3x.

When they do, and over which links, is in the tables of `signals`. These functions are templates,
spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.cells import (
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
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    from dfcmodel.states import State

__all__ = ["hear", "pause", "tell"]


def hear(grid: float, s: State) -> None:
    """Let what is due in this step arrive, and set the rates of the links that hear it.

    takano2006, eqs. (2) and (13): J = alpha r - D/d (n' - n), in proportion where the flows of a
    link ask for more than its rate.
    """
    cell = s.cell
    clock = s.clock
    ticks = s.ticks
    tick_cells = s.tick_cells
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


def tell(s: State) -> None:
    """Let the links whose turn it is tell those before them what they would send (eq. 5) and what waits.

    The clocks go on to the next step.
    """
    cell = s.cell
    clock = s.clock
    tells = s.tells
    tell_cells = s.tell_cells
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
                u = s.origin[c]
                cell[u, MESSAGE_RATE] = part * cell[c, WISH]
                cell[u, MESSAGE_QUEUE] = cell[c, QUEUE]


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

"""What a link drops: the tail of a full buffer, and what RED picks out before.

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dfcmodel.bursts import book_bursts
from dfcmodel.cells import (
    AREA,
    AVERAGE,
    ECN,
    GENTLE,
    HIGH,
    LOST,
    LOW,
    MAX_P,
    OWED,
    QUEUE,
    SENT,
    TCP,
    UNIT,
    VICTIM,
    WEIGHT,
)
from dfcmodel.losses import Losses, book
from dfcmodel.queues import DIVIDED
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    from dfcmodel.states import Floats, Ints

__all__ = ["Lines", "drop_early", "drop_tail"]


class Lines(NamedTuple):
    """The queues of the links and what comes to them, see `states.State`."""

    up: Ints
    lag: Ints
    flow_of: Ints
    wants: Floats
    ring: Floats
    kind: Ints
    cells: Ints
    limit: Floats
    rate: Floats
    burst: Floats
    shared: Ints
    bands: Ints
    bands_at: Ints
    fifo: Ints
    arrived: Floats
    arrived_in_all: Floats


def drop_early(
    i: int,
    low: int,
    high: int,
    fresh: float,
    seen: float,
    waits: float,
    when: float,
    rest: int,
    grid: float,
    red: Floats,
    seed: Ints,
    wants: Floats,
    flow_of: Ints,
    losses: Losses,
) -> float:
    """Let RED drop or mark whole packets out of ``fresh`` that came to link i; return what it dropped.

    An empty queue counts as ``seen`` arrivals of none, as ns-2 has it. ``wants`` is what came to
    each cell and was not dropped; what is dropped is taken from it.
    """
    lost = 0.0
    weight = 1.0 - (1.0 - red[i, WEIGHT]) ** (seen if waits == 0.0 else fresh)
    red[i, AVERAGE] += weight * (waits * red[i, UNIT] - red[i, AVERAGE])
    average = red[i, AVERAGE]
    p = 0.0
    if average >= red[i, HIGH]:
        p = 1.0
        if red[i, GENTLE] == 1.0:
            p = min(1.0, red[i, MAX_P] + (1.0 - red[i, MAX_P]) * (average / red[i, HIGH] - 1.0))
    elif average >= red[i, LOW]:
        p = red[i, MAX_P] * (average - red[i, LOW]) / (red[i, HIGH] - red[i, LOW])
    p = min(1.0, p * red[i, UNIT])
    if p >= 1.0:
        red[i, OWED] = fresh
    elif p > 0.0 and red[i, OWED] <= 0.0:
        red[i, OWED] += p * fresh
        if red[i, OWED] > 0.0:  # a packet is due: whose, by chance
            red[i, OWED] = 1.0
            red[i, VICTIM] = low
            seed[0] = 48271 * seed[0] % 2147483647  # Park and Miller's generator
            at = fresh * (seed[0] / 2147483647.0)
            for c in range(low, high - 1):
                at -= wants[c] - losses.cell[c, SENT] - losses.cell[c, QUEUE]
                if at > 0.0:
                    red[i, VICTIM] = c + 1
    if red[i, OWED] <= 0.0:
        return lost
    for c in range(low, high):
        new = wants[c] - losses.cell[c, SENT] - losses.cell[c, QUEUE]
        amount = min(new, on_grid(red[i, OWED], grid))
        if amount <= 0.0 or (p < 1.0 and c != red[i, VICTIM]):
            continue
        f = flow_of[c]
        red[i, OWED] -= amount
        end = wants[c] + losses.cell[c, LOST]
        marked = 0.0
        if red[i, ECN] == 1.0 and losses.flow[f, TCP] == 1 and average < red[i, HIGH]:
            marked = amount
            amount = 0.0
        book(c, f, end - new, end, amount, marked, when, rest, losses)
        wants[c] -= amount
        lost += amount
    if red[i, OWED] <= 0.0 or p >= 1.0:  # the next one comes after 1/p to 2/p packets, as in ns-2
        seed[0] = 48271 * seed[0] % 2147483647
        red[i, OWED] = -1.0 - seed[0] / 2147483647.0
    return lost


def drop_tail(
    i: int, k: int, when: float, h: float, rest: int, grid: float, lines: Lines, losses: Losses
) -> float:
    """Drop from what came to link i in step k what exceeds its buffer; return what waits then.

    Flows lose in proportion to what came, after the moment in the step when the buffer was full; less
    of it beside bursts of senders in the node (see `FIFO`).
    Under fair shares those lose first that have more than their part, under priorities the last.
    """
    cell = losses.cell
    ring = lines.ring
    up = lines.up
    wants = lines.wants
    C = up.shape[0]
    mask = ring.shape[0] // C - 1
    row = (k & mask) * C
    before = ((k - 1) & mask) * C
    waits = 0.0
    low = lines.cells[i, 0]
    while low < lines.cells[i, 1]:
        high = lines.cells[i, 1] if lines.shared[i] == 1 else low + 1
        excess = -lines.limit[i]
        grew = 0.0  # by how much the queue did in this step
        count = 0
        for c in range(low, high):
            went = cell[c, SENT] - ring[((k - 1 + lines.lag[c]) & mask) * C + c]
            grew += ring[row + up[c]] - ring[before + up[c]] - went
            excess += cell[c, QUEUE]
            if cell[c, QUEUE] > 0.0:
                count += 1
        # part of what came that still found room
        fits = max(0.0, 1.0 - excess / grew) if excess > 0.0 else 1.0
        served = lines.rate[i] * lines.burst[i]  # between two bursts of a sender in the node
        for turn in range(3):  # those that have more than their part; all; what rounding left
            if excess <= 0.0:
                break
            total = 0.0
            small = lines.limit[i] / count if turn == 0 and lines.kind[i] == DIVIDED else -1.0
            for c in range(low, high):
                wants[c] = min(ring[row + up[c]] - ring[before + up[c]], cell[c, QUEUE])
                if cell[c, QUEUE] <= small:
                    wants[c] = 0.0
                elif turn == 0 and served > 1.0 and lines.lag[up[c]] > 0:
                    wants[c] = on_grid(wants[c] / (2.0 * served - 1.0), grid)
                total += wants[c]
            part = min(1.0, excess / total) if total > 0.0 else 0.0
            last_first = lines.kind[i] == DIVIDED and lines.bands_at[i + 1] > lines.bands_at[i] + 1
            for c in range(high - 1, low - 1, -1):
                amount = min(wants[c], excess)
                if not last_first:
                    amount = min(amount, on_grid(part * wants[c], grid) + grid)
                if amount <= 0.0:
                    continue
                end = ring[row + up[c]]
                begin = ring[before + up[c]]
                begin = min(on_grid(begin + fits * (end - begin), grid), end - amount)
                f = lines.flow_of[c]
                full = when + fits * h
                if served > 1.0 and lines.lag[up[c]] == 0 and losses.flow[f, TCP] == 1:
                    every = lines.burst[i]
                    book_bursts(c, f, k, every, begin, end, amount, full, rest, grid, losses)
                else:
                    book(c, f, begin, end, amount, 0.0, full, rest, losses)
                excess -= amount
                cell[c, QUEUE] -= amount
                cell[c, AREA] -= amount
                for n in range(lines.bands_at[i], lines.bands_at[i + 1]):
                    if lines.bands[n, 1] <= c < lines.bands[n, 2] and lines.fifo[n, 1] > 0:
                        last = (lines.fifo[n, 1] - 1) & (lines.arrived.shape[1] - 1)
                        lines.arrived[c, last] -= amount
                        lines.arrived_in_all[n, last] -= amount
        for c in range(low, high):
            waits += cell[c, QUEUE]
        low = high
    return waits

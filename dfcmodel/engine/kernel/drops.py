"""What a link drops: the tail of a full buffer, and what RED picks out before.

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.burst_losses import book_bursts
from dfcmodel.engine.kernel.columns import (
    AREA,
    AVERAGE,
    DIVIDED,
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
from dfcmodel.engine.kernel.loss_records import book
from dfcmodel.engine.kernel.tcp_sender import on_grid

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["drop_early", "drop_tail"]


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
    s: State,
) -> float:
    """Let RED drop or mark whole packets out of ``fresh`` that came to link i; return what it dropped.

    An empty queue counts as ``seen`` arrivals of none, as ns-2 has it. ``wants`` is what came to
    each cell and was not dropped; what is dropped is taken from it.
    """
    lost = 0.0
    weight = 1.0 - (1.0 - s.red[i, WEIGHT]) ** (seen if waits == 0.0 else fresh)
    s.red[i, AVERAGE] += weight * (waits * s.red[i, UNIT] - s.red[i, AVERAGE])
    average = s.red[i, AVERAGE]
    p = 0.0
    if average >= s.red[i, HIGH]:
        p = 1.0
        if s.red[i, GENTLE] == 1.0:
            p = min(
                1.0, s.red[i, MAX_P] + (1.0 - s.red[i, MAX_P]) * (average / s.red[i, HIGH] - 1.0)
            )
    elif average >= s.red[i, LOW]:
        p = s.red[i, MAX_P] * (average - s.red[i, LOW]) / (s.red[i, HIGH] - s.red[i, LOW])
    p = min(1.0, p * s.red[i, UNIT])
    if p >= 1.0:
        s.red[i, OWED] = fresh
    elif p > 0.0 and s.red[i, OWED] <= 0.0:
        s.red[i, OWED] += p * fresh
        if s.red[i, OWED] > 0.0:  # a packet is due: whose, by chance
            s.red[i, OWED] = 1.0
            s.red[i, VICTIM] = low
            s.seed[0] = 48271 * s.seed[0] % 2147483647  # Park and Miller's generator
            at = fresh * (s.seed[0] / 2147483647.0)
            for c in range(low, high - 1):
                at -= s.wants[c] - s.cell[c, SENT] - s.cell[c, QUEUE]
                if at > 0.0:
                    s.red[i, VICTIM] = c + 1
    if s.red[i, OWED] <= 0.0:
        return lost
    for c in range(low, high):
        new = s.wants[c] - s.cell[c, SENT] - s.cell[c, QUEUE]
        amount = min(new, on_grid(s.red[i, OWED], grid))
        if amount <= 0.0 or (p < 1.0 and c != s.red[i, VICTIM]):
            continue
        f = s.flow_of[c]
        s.red[i, OWED] -= amount
        end = s.wants[c] + s.cell[c, LOST]
        marked = 0.0
        if s.red[i, ECN] == 1.0 and s.flow[f, TCP] == 1 and average < s.red[i, HIGH]:
            marked = amount
            amount = 0.0
        book(c, f, end - new, end, amount, marked, when, rest, s)
        s.wants[c] -= amount
        lost += amount
    if s.red[i, OWED] <= 0.0 or p >= 1.0:  # the next one comes after 1/p to 2/p packets, as in ns-2
        s.seed[0] = 48271 * s.seed[0] % 2147483647
        s.red[i, OWED] = -1.0 - s.seed[0] / 2147483647.0
    return lost


def drop_tail(i: int, k: int, when: float, h: float, rest: int, grid: float, s: State) -> float:
    """Drop from what came to link i in step k what exceeds its buffer; return what waits then.

    Flows lose in proportion to what came, after the moment in the step when the buffer was full; less
    of it beside bursts of senders in the node (see `FIFO`).
    Under fair shares those lose first that have more than their part, under priorities the last.
    """
    cell = s.cell
    ring = s.ring
    up = s.up
    wants = s.wants
    mask = s.mask
    C = up.shape[0]
    row = (k & mask) * C
    before = ((k - 1) & mask) * C
    waits = 0.0
    low = s.cells[i, 0]
    while low < s.cells[i, 1]:
        high = s.cells[i, 1] if s.shared[i] == 1 else low + 1
        excess = -s.limit[i]
        grew = 0.0  # by how much the queue did in this step
        count = 0
        for c in range(low, high):
            went = cell[c, SENT] - ring[((k - 1 + s.lag[c]) & mask) * C + c]
            grew += ring[row + up[c]] - ring[before + up[c]] - went
            excess += cell[c, QUEUE]
            if cell[c, QUEUE] > 0.0:
                count += 1
        # part of what came that still found room
        fits = max(0.0, 1.0 - excess / grew) if excess > 0.0 else 1.0
        served = s.rate[i] * s.burst[i]  # between two bursts of a sender in the node
        for turn in range(3):  # those that have more than their part; all; what rounding left
            if excess <= 0.0:
                break
            total = 0.0
            small = s.limit[i] / count if turn == 0 and s.kind[i] == DIVIDED else -1.0
            for c in range(low, high):
                wants[c] = min(ring[row + up[c]] - ring[before + up[c]], cell[c, QUEUE])
                if cell[c, QUEUE] <= small:
                    wants[c] = 0.0
                elif turn == 0 and served > 1.0 and s.lag[up[c]] > 0:
                    wants[c] = on_grid(wants[c] / (2.0 * served - 1.0), grid)
                total += wants[c]
            part = min(1.0, excess / total) if total > 0.0 else 0.0
            last_first = s.kind[i] == DIVIDED and s.bands_at[i + 1] > s.bands_at[i] + 1
            for c in range(high - 1, low - 1, -1):
                amount = min(wants[c], excess)
                if not last_first:
                    amount = min(amount, on_grid(part * wants[c], grid) + grid)
                if amount <= 0.0:
                    continue
                end = ring[row + up[c]]
                begin = ring[before + up[c]]
                begin = min(on_grid(begin + fits * (end - begin), grid), end - amount)
                f = s.flow_of[c]
                full = when + fits * h
                if served > 1.0 and s.lag[up[c]] == 0 and s.flow[f, TCP] == 1:
                    every = s.burst[i]
                    book_bursts(c, f, k, every, begin, end, amount, full, rest, grid, s)
                else:
                    book(c, f, begin, end, amount, 0.0, full, rest, s)
                excess -= amount
                cell[c, QUEUE] -= amount
                cell[c, AREA] -= amount
                for n in range(s.bands_at[i], s.bands_at[i + 1]):
                    if s.bands[n, 1] <= c < s.bands[n, 2] and s.fifo[n, 1] > 0:
                        last = (s.fifo[n, 1] - 1) & (s.arrived.shape[1] - 1)
                        s.arrived[c, last] -= amount
                        s.arrived_in_all[n, last] -= amount
        for c in range(low, high):
            waits += cell[c, QUEUE]
        low = high
    return waits

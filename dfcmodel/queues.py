"""What happens in the queue of a link: order among its flows, fair shares, drops, and where they went.

A *cell* is a flow at a link. Everything is counted in cumulative packets: what came to a cell, what
it lost, what it sent. A drop is booked once, as a record (first, end, lost, marked) in the numbering
of what came to that cell; the order of packets never changes, so the receiver, when it takes in
what came, finds how much is missing of it by counting back from cell to cell (`take`).

These functions are templates, spliced into the loop of `engine`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.cells import (
    ACTIVE,
    ALL_LOST,
    AREA,
    AVERAGE,
    BUDGET,
    DELIVERED,
    ECN,
    FINISHED,
    FIRST_LOSS,
    GENTLE,
    HIGH,
    LOST,
    LOST_AREA,
    LOW,
    MAX_P,
    ON,
    OWED,
    PAUSED,
    PAUSING,
    PENDING,
    QUANTA,
    QUEUE,
    SENT,
    TCP,
    UNIT,
    UNTIL,
    VICTIM,
    WAIT,
    WEIGHT,
)
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["book", "divide", "drop_early", "drop_tail", "pause", "serve", "take"]

RATED, SHARED, RANDOM, DIVIDED = 0, 1, 2, 3
"""Kinds of links: queues at rates of their own; FIFO; RED on FIFO; fair shares and priorities."""


def book(
    c: int,
    f: int,
    start: float,
    end: float,
    amount: float,
    marked: float,
    when: float,
    rest: int,
    cell: Floats,
    records: Floats,
    ends: Ints,
    cursor: Floats,
    flow: Ints,
    tally: Floats,
    path_at: Ints,
    path: Ints,
) -> None:
    """Note that of ``start`` .. ``end`` at cell c ``amount`` packets were dropped, ``marked`` marked.

    ``when`` is the time in s, ``rest`` how many steps are left up to the next record of the run. A
    stretch below one packet that touches the last one is joined to it, and so is any when the ring
    is full.
    """
    size = records.shape[1]
    if flow[f, PENDING] == 0:  # the receiver has counted all that was lost so far
        at = tally[f, DELIVERED]
        for n in range(path_at[f + 1] - 1, path_at[f] - 1, -1):
            at += cell[path[n], LOST]
            cursor[path[n]] = at
    if amount > 0.0 and tally[f, ALL_LOST] == 0.0:
        tally[f, FIRST_LOSS] = when
    cell[c, LOST] += amount
    tally[f, ALL_LOST] += amount
    tally[f, LOST_AREA] += amount * rest
    if ends[c, 1] > ends[c, 0]:
        last = (ends[c, 1] - 1) % size
        full = ends[c, 1] - ends[c, 0] == size
        touches = records[c, last, 1] == start
        short = records[c, last, 1] - records[c, last, 0] < 1.0
        if records[c, last, 1] == end or full or (touches and short):
            records[c, last, 1] = end
            records[c, last, 2] += amount
            records[c, last, 3] += marked
            return
    last = ends[c, 1] % size
    records[c, last, 0] = start
    records[c, last, 1] = end
    records[c, last, 2] = amount
    records[c, last, 3] = marked
    ends[c, 1] += 1
    flow[f, PENDING] += 1


def reach(c: int, records: Floats, ends: Ints, cursor: Floats) -> Any:
    """Return how much leaves cell c up to where its density of losses changes, and what came for it.

    The second is per packet that leaves.
    """
    if ends[c, 0] == ends[c, 1]:
        return 1e300, 1.0
    first = ends[c, 0] % records.shape[1]
    before = records[c, first, 0] - cursor[c]
    if before > 0.0:
        return before, 1.0
    extent = records[c, first, 1] - cursor[c]
    left = extent - records[c, first, 2]
    if left <= 0.0:
        return 0.0, 1.0
    return left, extent / left


def take(
    c: int,
    f: int,
    amount: float,
    grid: float,
    records: Floats,
    ends: Ints,
    cursor: Floats,
    flow: Ints,
) -> Any:
    """Follow ``amount`` packets back through cell c: what came there for them, and how many were marked."""
    came = amount
    marked = 0.0
    while ends[c, 0] < ends[c, 1]:
        first = ends[c, 0] % records.shape[1]
        before = max(0.0, records[c, first, 0] - cursor[c])
        if amount < before:
            break
        amount -= before
        cursor[c] += before
        left = records[c, first, 1] - cursor[c] - records[c, first, 2]
        if amount < left:
            part = amount / left
            gone = on_grid(part * records[c, first, 2], grid)
            seen = part * records[c, first, 3]
            records[c, first, 2] -= gone
            records[c, first, 3] -= seen
            cursor[c] += gone
            came += gone
            marked += seen
            break
        amount -= max(0.0, left)
        came += records[c, first, 2]
        marked += records[c, first, 3]
        cursor[c] = records[c, first, 1]
        ends[c, 0] += 1
        flow[f, PENDING] -= 1
    cursor[c] += amount
    return came, marked


def look_back(
    f: int,
    left: float,
    grid: float,
    records: Floats,
    ends: Ints,
    cursor: Floats,
    flow: Ints,
    path_at: Ints,
    path: Ints,
) -> Any:
    """Take the next packets of one density of losses out of ``left`` that came to the receiver of f.

    Returns how many they are, how many were sent for them, and how many are marked.
    """
    piece = left
    density = 1.0
    for n in range(path_at[f + 1] - 1, path_at[f] - 1, -1):
        leaves, per = reach(path[n], records, ends, cursor)
        piece = min(piece, leaves / density)
        density *= per
    piece = max(on_grid(piece, grid), min(left, grid))
    came = piece
    marked = 0.0
    for n in range(path_at[f + 1] - 1, path_at[f] - 1, -1):
        came, seen = take(path[n], f, came, grid, records, ends, cursor, flow)
        marked += seen
    return piece, came, marked


def finish(f: int, now: float, path_at: Ints, path: Ints, tally: Floats, told: Floats) -> None:
    """Note when a transfer is complete; its queues take no part in what is shared any more."""
    if tally[f, FINISHED] != tally[f, FINISHED]:
        tally[f, FINISHED] = now
        told[f, ACTIVE] = 0.0
        for n in range(path_at[f], path_at[f + 1]):
            told[path[n], ACTIVE] = 0.0


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
    head: int,
    tail: int,
    total: float,
    grid: float,
    arrived: Floats,
    cell: Floats,
) -> int:
    """Serve a FIFO queue of several flows up to ``total`` packets ever; return its new head.

    ``arrived[c, n]`` is what had come to cell c, and was not dropped, at entry n of the queue's ring,
    and SENT in ``cell`` what it has sent and shall have sent. The head is the entry up to which all is
    served; inside the next one the flows are served in proportion.
    """
    mask = arrived.shape[1] - 1
    while head + 1 < tail:
        served = 0.0
        for c in range(first, end):
            served += arrived[c, (head + 1) & mask]
        if served > total:
            break
        head += 1
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
    return head


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
    cell: Floats,
    records: Floats,
    ends: Ints,
    cursor: Floats,
    flow: Ints,
    tally: Floats,
    path_at: Ints,
    path: Ints,
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
                at -= wants[c] - cell[c, SENT] - cell[c, QUEUE]
                if at > 0.0:
                    red[i, VICTIM] = c + 1
    if red[i, OWED] <= 0.0:
        return lost
    for c in range(low, high):
        new = wants[c] - cell[c, SENT] - cell[c, QUEUE]
        amount = min(new, on_grid(red[i, OWED], grid))
        if amount <= 0.0 or (p < 1.0 and c != red[i, VICTIM]):
            continue
        f = flow_of[c]
        red[i, OWED] -= amount
        end = wants[c] + cell[c, LOST]
        marked = 0.0
        if red[i, ECN] == 1.0 and flow[f, TCP] == 1 and average < red[i, HIGH]:
            marked = amount
            amount = 0.0
        book(
            c, f, end - new, end, amount, marked, when, rest, cell, records, ends, cursor, flow,
            tally, path_at, path,
        )  # fmt: skip
        wants[c] -= amount
        lost += amount
    if red[i, OWED] <= 0.0 or p >= 1.0:  # the next one comes after 1/p to 2/p packets, as in ns-2
        seed[0] = 48271 * seed[0] % 2147483647
        red[i, OWED] = -1.0 - seed[0] / 2147483647.0
    return lost


def drop_tail(
    i: int,
    k: int,
    when: float,
    h: float,
    rest: int,
    grid: float,
    ring: Floats,
    up: Ints,
    lag: Ints,
    cells: Ints,
    limit: Floats,
    shared: Ints,
    kind: Ints,
    bands_at: Ints,
    wants: Floats,
    fifo: Ints,
    arrived: Floats,
    flow_of: Ints,
    cell: Floats,
    records: Floats,
    ends: Ints,
    cursor: Floats,
    flow: Ints,
    tally: Floats,
    path_at: Ints,
    path: Ints,
) -> float:
    """Drop from what came to link i in step k what exceeds its buffer; return what waits then.

    Flows lose in proportion to what came, after the moment in the step when the buffer was full.
    Under fair shares those lose first that have more than their part, under priorities the last.
    """
    C = up.shape[0]
    mask = ring.shape[0] // C - 1
    row = (k & mask) * C
    before = ((k - 1) & mask) * C
    waits = 0.0
    low = cells[i, 0]
    while low < cells[i, 1]:
        high = cells[i, 1] if shared[i] == 1 else low + 1
        excess = -limit[i]
        grew = 0.0  # by how much the queue did in this step
        count = 0
        for c in range(low, high):
            went = cell[c, SENT] - ring[((k - 1 + lag[c]) & mask) * C + c]
            grew += ring[row + up[c]] - ring[before + up[c]] - went
            excess += cell[c, QUEUE]
            if cell[c, QUEUE] > 0.0:
                count += 1
        # part of what came that still found room
        fits = max(0.0, 1.0 - excess / grew) if excess > 0.0 else 1.0
        for turn in range(3):  # those that have more than their part; all; what rounding left
            if excess <= 0.0:
                break
            total = 0.0
            for c in range(low, high):
                wants[c] = min(ring[row + up[c]] - ring[before + up[c]], cell[c, QUEUE])
                if turn == 0 and kind[i] == DIVIDED and cell[c, QUEUE] <= limit[i] / count:
                    wants[c] = 0.0
                total += wants[c]
            part = min(1.0, excess / total) if total > 0.0 else 0.0
            for c in range(high - 1, low - 1, -1):
                amount = min(wants[c], excess)
                if bands_at[i + 1] - bands_at[i] < 2:
                    amount = min(amount, on_grid(part * wants[c], grid) + grid)
                if amount <= 0.0:
                    continue
                end = ring[row + up[c]]
                begin = ring[before + up[c]]
                begin = min(on_grid(begin + fits * (end - begin), grid), end - amount)
                book(
                    c, flow_of[c], begin, end, amount, 0.0, when + fits * h, rest, cell, records,
                    ends, cursor, flow, tally, path_at, path,
                )  # fmt: skip
                excess -= amount
                cell[c, QUEUE] -= amount
                cell[c, AREA] -= amount
                if fifo[i, 1] > 0:
                    arrived[c, (fifo[i, 1] - 1) & (arrived.shape[1] - 1)] -= amount
        for c in range(low, high):
            waits += cell[c, QUEUE]
        low = high
    return waits


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

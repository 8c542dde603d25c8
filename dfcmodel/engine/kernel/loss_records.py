"""Where packets were lost: noted at the queue, found again by the receiver.

A *cell* is a flow at a link. Everything is counted in cumulative packets: what came to a cell, what
it lost, what it sent. A drop is booked once, as a record (first, end, lost, marked) in the numbering
of what came to that cell; the order of packets never changes, so the receiver, when it takes in
what came, finds how much is missing of it by counting back from cell to cell (`take`).

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dfcmodel.engine.kernel.columns import ALL_LOST, DELIVERED, FIRST_LOSS, LOST, LOST_AREA, PENDING
from dfcmodel.engine.kernel.tcp_sender import on_grid

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["book", "look_back", "reach", "take"]


def book(
    c: int,
    f: int,
    start: float,
    end: float,
    amount: float,
    marked: float,
    when: float,
    rest: int,
    s: State,
) -> None:
    """Note that of ``start`` .. ``end`` at cell c ``amount`` packets were dropped, ``marked`` marked.

    ``when`` is the time in s, ``rest`` how many steps are left up to the next record of the run. A
    stretch below one packet that touches the last one is joined to it, and so is any when the ring
    is full.
    """
    size = s.records.shape[1]  # a power of two
    if s.flow[f, PENDING] == 0:  # the receiver has counted all that was lost so far
        at = s.tally[f, DELIVERED]
        for n in range(s.path_at[f + 1] - 1, s.path_at[f] - 1, -1):
            at += s.cell[s.path[n], LOST]
            s.cursor[s.path[n]] = at
    if amount > 0.0 and s.tally[f, ALL_LOST] == 0.0:
        s.tally[f, FIRST_LOSS] = when
    s.cell[c, LOST] += amount
    s.tally[f, ALL_LOST] += amount
    s.tally[f, LOST_AREA] += amount * rest
    if s.ends[c, 1] > s.ends[c, 0]:
        last = (s.ends[c, 1] - 1) & (size - 1)
        full = s.ends[c, 1] - s.ends[c, 0] == size
        touches = s.records[c, last, 1] == start
        short = s.records[c, last, 1] - s.records[c, last, 0] < 1.0
        if s.records[c, last, 1] == end or full or (touches and short):
            s.records[c, last, 1] = end
            s.records[c, last, 2] += amount
            s.records[c, last, 3] += marked
            return
    last = s.ends[c, 1] & (size - 1)
    s.records[c, last, 0] = start
    s.records[c, last, 1] = end
    s.records[c, last, 2] = amount
    s.records[c, last, 3] = marked
    s.ends[c, 1] += 1
    s.flow[f, PENDING] += 1


def reach(c: int, s: State) -> Any:
    """Return how much leaves cell c up to where its density of losses changes, and what came for it.

    The second is per packet that leaves.
    """
    if s.ends[c, 0] == s.ends[c, 1]:
        return 1e300, 1.0
    first = s.ends[c, 0] & (s.records.shape[1] - 1)
    before = s.records[c, first, 0] - s.cursor[c]
    if before > 0.0:
        return before, 1.0
    extent = s.records[c, first, 1] - s.cursor[c]
    left = extent - s.records[c, first, 2]
    if left <= 0.0:
        return 0.0, 1.0
    return left, extent / left


def take(c: int, f: int, amount: float, grid: float, s: State) -> Any:
    """Follow ``amount`` packets back through cell c: what came there for them, how many are marked."""
    came = amount
    marked = 0.0
    while s.ends[c, 0] < s.ends[c, 1]:
        first = s.ends[c, 0] & (s.records.shape[1] - 1)
        before = max(0.0, s.records[c, first, 0] - s.cursor[c])
        if amount <= before:
            break
        amount -= before
        s.cursor[c] += before
        left = s.records[c, first, 1] - s.cursor[c] - s.records[c, first, 2]
        if amount < left:
            part = amount / left
            gone = on_grid(part * s.records[c, first, 2], grid)
            seen = part * s.records[c, first, 3]
            s.records[c, first, 2] -= gone
            s.records[c, first, 3] -= seen
            s.cursor[c] += gone
            came += gone
            marked += seen
            break
        amount -= max(0.0, left)
        came += s.records[c, first, 2]
        marked += s.records[c, first, 3]
        s.cursor[c] = s.records[c, first, 1]
        s.ends[c, 0] += 1
        s.flow[f, PENDING] -= 1
    s.cursor[c] += amount
    return came, marked


def look_back(f: int, left: float, grid: float, s: State) -> Any:
    """Take the next packets of one density of losses out of ``left`` that came to the receiver of f.

    Returns how many they are, how many were sent for them, and how many are marked.
    """
    piece = left
    density = 1.0
    for n in range(s.path_at[f + 1] - 1, s.path_at[f] - 1, -1):
        leaves, per = reach(s.path[n], s)
        piece = min(piece, leaves / density)
        density *= per
    piece = max(on_grid(piece, grid), min(left, grid))
    came = piece
    marked = 0.0
    for n in range(s.path_at[f + 1] - 1, s.path_at[f] - 1, -1):
        came, seen = take(s.path[n], f, came, grid, s)
        marked += seen
    return piece, came, marked

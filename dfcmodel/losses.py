"""Where packets were lost: noted at the queue, found again by the receiver.

A *cell* is a flow at a link. Everything is counted in cumulative packets: what came to a cell, what
it lost, what it sent. A drop is booked once, as a record (first, end, lost, marked) in the numbering
of what came to that cell; the order of packets never changes, so the receiver, when it takes in
what came, finds how much is missing of it by counting back from cell to cell (`take`).

These functions are templates, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.cells import ALL_LOST, DELIVERED, FIRST_LOSS, LOST, LOST_AREA, PENDING
from dfcmodel.sources import on_grid

if TYPE_CHECKING:
    from dfcmodel.states import Floats, Ints

__all__ = ["Losses", "book", "look_back", "reach", "take"]


class Losses(NamedTuple):
    """What drops are booked in, see `states.State`."""

    cell: Floats
    records: Floats
    ends: Ints
    cursor: Floats
    flow: Ints
    tally: Floats
    path_at: Ints
    path: Ints


def book(
    c: int,
    f: int,
    start: float,
    end: float,
    amount: float,
    marked: float,
    when: float,
    rest: int,
    losses: Losses,
) -> None:
    """Note that of ``start`` .. ``end`` at cell c ``amount`` packets were dropped, ``marked`` marked.

    ``when`` is the time in s, ``rest`` how many steps are left up to the next record of the run. A
    stretch below one packet that touches the last one is joined to it, and so is any when the ring
    is full.
    """
    size = losses.records.shape[1]  # a power of two
    if losses.flow[f, PENDING] == 0:  # the receiver has counted all that was lost so far
        at = losses.tally[f, DELIVERED]
        for n in range(losses.path_at[f + 1] - 1, losses.path_at[f] - 1, -1):
            at += losses.cell[losses.path[n], LOST]
            losses.cursor[losses.path[n]] = at
    if amount > 0.0 and losses.tally[f, ALL_LOST] == 0.0:
        losses.tally[f, FIRST_LOSS] = when
    losses.cell[c, LOST] += amount
    losses.tally[f, ALL_LOST] += amount
    losses.tally[f, LOST_AREA] += amount * rest
    if losses.ends[c, 1] > losses.ends[c, 0]:
        last = (losses.ends[c, 1] - 1) & (size - 1)
        full = losses.ends[c, 1] - losses.ends[c, 0] == size
        touches = losses.records[c, last, 1] == start
        short = losses.records[c, last, 1] - losses.records[c, last, 0] < 1.0
        if losses.records[c, last, 1] == end or full or (touches and short):
            losses.records[c, last, 1] = end
            losses.records[c, last, 2] += amount
            losses.records[c, last, 3] += marked
            return
    last = losses.ends[c, 1] & (size - 1)
    losses.records[c, last, 0] = start
    losses.records[c, last, 1] = end
    losses.records[c, last, 2] = amount
    losses.records[c, last, 3] = marked
    losses.ends[c, 1] += 1
    losses.flow[f, PENDING] += 1


def reach(c: int, losses: Losses) -> Any:
    """Return how much leaves cell c up to where its density of losses changes, and what came for it.

    The second is per packet that leaves.
    """
    if losses.ends[c, 0] == losses.ends[c, 1]:
        return 1e300, 1.0
    first = losses.ends[c, 0] & (losses.records.shape[1] - 1)
    before = losses.records[c, first, 0] - losses.cursor[c]
    if before > 0.0:
        return before, 1.0
    extent = losses.records[c, first, 1] - losses.cursor[c]
    left = extent - losses.records[c, first, 2]
    if left <= 0.0:
        return 0.0, 1.0
    return left, extent / left


def take(c: int, f: int, amount: float, grid: float, losses: Losses) -> Any:
    """Follow ``amount`` packets back through cell c: what came there for them, how many are marked."""
    came = amount
    marked = 0.0
    while losses.ends[c, 0] < losses.ends[c, 1]:
        first = losses.ends[c, 0] & (losses.records.shape[1] - 1)
        before = max(0.0, losses.records[c, first, 0] - losses.cursor[c])
        if amount <= before:
            break
        amount -= before
        losses.cursor[c] += before
        left = losses.records[c, first, 1] - losses.cursor[c] - losses.records[c, first, 2]
        if amount < left:
            part = amount / left
            gone = on_grid(part * losses.records[c, first, 2], grid)
            seen = part * losses.records[c, first, 3]
            losses.records[c, first, 2] -= gone
            losses.records[c, first, 3] -= seen
            losses.cursor[c] += gone
            came += gone
            marked += seen
            break
        amount -= max(0.0, left)
        came += losses.records[c, first, 2]
        marked += losses.records[c, first, 3]
        losses.cursor[c] = losses.records[c, first, 1]
        losses.ends[c, 0] += 1
        losses.flow[f, PENDING] -= 1
    losses.cursor[c] += amount
    return came, marked


def look_back(f: int, left: float, grid: float, losses: Losses) -> Any:
    """Take the next packets of one density of losses out of ``left`` that came to the receiver of f.

    Returns how many they are, how many were sent for them, and how many are marked.
    """
    piece = left
    density = 1.0
    for n in range(losses.path_at[f + 1] - 1, losses.path_at[f] - 1, -1):
        leaves, per = reach(losses.path[n], losses)
        piece = min(piece, leaves / density)
        density *= per
    piece = max(on_grid(piece, grid), min(left, grid))
    came = piece
    marked = 0.0
    for n in range(losses.path_at[f + 1] - 1, losses.path_at[f] - 1, -1):
        came, seen = take(losses.path[n], f, came, grid, losses)
        marked += seen
    return piece, came, marked

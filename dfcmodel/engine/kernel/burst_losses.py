"""What is lost of packets that a sender in the node puts into a FIFO queue in bursts.

A template, spliced into `loop`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dfcmodel.engine.kernel.loss_records import book
from dfcmodel.engine.kernel.tcp_sender import on_grid

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import State

__all__ = ["book_bursts"]


def book_bursts(
    c: int,
    f: int,
    k: int,
    burst: float,
    begin: float,
    end: float,
    amount: float,
    when: float,
    rest: int,
    grid: float,
    s: State,
) -> None:
    """Note that of ``begin`` .. ``end`` at cell c ``amount`` packets were dropped: the ends of bursts.

    ``burst`` is the time between two of them in steps. Step k has several, or a part of one: then
    what was dropped of the burst before moves to its end, which is in the queue as well. The other
    arguments are those of `book`.
    """
    size = s.records.shape[1]  # a power of two
    last = (s.ends[c, 1] - 1) & (size - 1)
    some = s.ends[c, 1] > s.ends[c, 0]
    if some and s.records[c, last, 1] == begin and k % burst >= 1.0:
        s.records[c, last, 1] = end  # the same burst goes on
    n = max(1, int(1.0 / burst))
    length = on_grid((end - begin) / n, grid)
    gone = on_grid(amount / n, grid)
    for j in range(n):
        until = begin + (j + 1) * length if j < n - 1 else end
        lost = gone if j < n - 1 else amount - (n - 1) * gone
        book(c, f, until - lost, until, lost, 0.0, when, rest, s)
        last = (s.ends[c, 1] - 1) & (size - 1)
        s.records[c, last, 0] = until - s.records[c, last, 2]

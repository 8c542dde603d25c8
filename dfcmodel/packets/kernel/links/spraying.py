"""Flows with several paths: which one each packet takes."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import int64
from ..random_numbers import uniform
from ..tcp.timers import NOW

__all__ = ["AT_RANDOM", "BY_EPOCH", "IN_TURN", "way_of_next"]

IN_TURN, AT_RANDOM, BY_EPOCH = 0, 1, 2


@compiled
def turn_of_epoch(senders: Any, f: int) -> tuple[int, int]:
    """Return (first index in ``turns``, number of paths) of sprayed flow f's paths at the present time."""
    epoch = 0
    while epoch < len(senders.epochs) and senders.epochs[epoch] <= senders.clock[NOW]:
        epoch += 1
    return int64(senders.routes[f, epoch, 0]), int64(senders.routes[f, epoch, 1])


@compiled
def way_of_next(net: Any, senders: Any, f: int) -> int:
    """Return the row of the first hop of the next packet of flow f with several paths; advances or draws its turn."""
    s = senders.flow[f]
    first = int64(-1)
    paths = int64(s.paths)
    if s.drawn >= BY_EPOCH:
        first, paths = turn_of_epoch(senders, f)
    path = int64(s.next_path)
    if path >= paths:
        path = int64(0)
    if s.drawn & AT_RANDOM != 0:
        path = int(uniform(net.stream, len(net.port) - 1 + f) * paths)
    else:
        s.next_path = path + 1 if path + 1 < paths else 0
    if first >= 0:
        path = int64(senders.turns[first + path])
    return int64(s.way) if path == s.paths - 1 else int64(s.lent) + path * int64(s.stride)

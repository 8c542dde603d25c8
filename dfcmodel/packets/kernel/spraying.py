"""Sprayed flows: which path each packet takes."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .layout import int64
from .random_numbers import uniform

__all__ = ["way_of_next"]


@compiled
def way_of_next(net: Any, senders: Any, f: int) -> int:
    """Return the row of the first hop of the next packet of a sprayed flow."""
    s = senders.flow[f]
    path = int64(s.next_path)
    if s.drawn == 1:
        path = int(uniform(net.stream, len(net.port) - 1 + f) * s.paths)
    else:
        s.next_path = path + 1 if path + 1 < s.paths else 0
    return int64(s.way) if path == s.paths - 1 else int64(s.lent) + path * int64(s.stride)

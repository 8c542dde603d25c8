"""Flows that start when other flows are complete at their receivers."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import int64
from ..tcp.timers import wake_at

__all__ = ["start_followers"]


@compiled
def start_followers(net: Any, senders: Any, f: int, time: float) -> None:
    """Schedule the starts of flows for which f, complete at ``time``, is the last flow to wait for."""
    if len(senders.follow) == 0:
        return
    for row in range(senders.follow[f].begin, senders.follow[f].end):
        d = int64(senders.followers[row].flow)
        it = senders.follow[d]
        it.missing -= 1
        it.ready = max(it.ready, time + senders.followers[row].delay)
        if it.missing > 0:
            continue
        if senders.flow[d].recovery >= 0:
            senders.flow[d].due = it.ready
        wake_at(net, d, it.ready, d)

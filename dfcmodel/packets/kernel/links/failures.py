"""Links that fail: packets on them are lost, and so are packets that they send until they are repaired."""

from __future__ import annotations

from typing import Any

from dfcmodel.network.drop_causes import BY_FAILURE
from hopflow.kernels.marks import compiled

from ..layout import CLASSES, int64
from .lanes import discard

__all__ = ["lose_on_link"]


@compiled
def lose_on_link(world: Any, u: int, e: int, time: float) -> bool:
    """Drop packet e, sent at ``time`` over port u, if the link is down before it arrives; return whether it did.

    The transmission takes its time nevertheless.
    """
    net = world.net
    spent = net.times[u * CLASSES + int64(net.packet[e].size)]
    arrives = time + spent.passage
    for n in range(int64(net.downs[u, 0]), int64(net.downs[u, 1])):
        if time < net.down[n, 1] and arrives > net.down[n, 0]:
            net.port[u].free = time + spent.transmission
            discard(world, u, e, time, BY_FAILURE)
            return True
    return False

"""Link-level retry: how long a link takes to send a frame again until it arrives without an error."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .layout import CLASSES, FAILS, int64
from .random_numbers import uniform

__all__ = ["repeated_time"]


@compiled
def repeated_time(net: Any, senders: Any, u: int, e: int) -> float:
    """Return for how long a packet that leaves a port is sent again, s; 0 of ACKs.

    An error is noticed with the next frame without one, whose request the sender acts on a loop after its end. It then begins
    again with the frame that had the error (go-back-N), in the chain of `dfcmodel.lossless.link_retry`.
    """
    it = net.packet[e]
    if it.hop >= senders.flow[it.flow].turn:
        return 0.0
    errors = -net.port[u].loss
    if errors >= FAILS:
        errors -= FAILS
    if errors == 0.0:
        return 0.0
    frame = net.times[u * CLASSES + int64(it.size)].transmission
    time = 0.0
    while uniform(net.stream, u) < errors:
        time += 2.0 * frame + net.retry[u]
        while uniform(net.stream, u) < errors:
            time += frame
    return time

"""How much longer a transmission takes: link-level retry of frames with errors, and rates over time."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import CLASSES, REPEATS, VARIES, int64
from ..random_numbers import uniform
from .path_elements import delay_of_rate

__all__ = ["retry_time"]


@compiled
def retry_time(net: Any, senders: Any, u: int, e: int, now: float) -> float:
    """Return by how many seconds sending packet e takes longer: retries of random errors, or a rate below the maximum.

    Of a port whose rate changes over time, by how much its transmission takes longer.

    An error is noticed with the next frame without one, whose request the sender acts on a loop after its end. It then
    begins again with the frame that had the error (go-back-N), in the chain of `dfcmodel.lossless.link_retry`.
    """
    it = net.packet[e]
    if net.port[u].effects & VARIES:
        return delay_of_rate(net, u, e, now)
    if not net.port[u].effects & REPEATS or it.hop >= senders.flow[it.flow].turn:
        return 0.0
    link = net.fault[u]
    frame = net.times[u * CLASSES + int64(it.size)].transmission
    time = 0.0
    while uniform(net.stream, u) < link.error:
        time += 2.0 * frame + link.request
        while uniform(net.stream, u) < link.error:
            time += frame
    return time

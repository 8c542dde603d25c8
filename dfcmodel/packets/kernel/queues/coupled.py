"""PI2 and DualPI2: one linear controller, the root for Classic packets, one or two queues (RFC 9332)."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..random_numbers import uniform

__all__ = ["choose_queue", "dualpi2_verdict", "update_coupled"]

DROP, ACCEPT, MARK = 0, 1, 2
COUPLED = 6  # manager of a port: DualPI2
SCALABLE, CLASSIC = 0, 1  # its lanes


@compiled
def dualpi2_verdict(
    net: Any,
    p: int,
    scalable: bool,
    markable: bool,
    waited: float,
    bytes_left: float,
) -> int:
    """Return DROP, ACCEPT or MARK for a packet after ``waited`` s in port p's PI2 or DualPI2, ``bytes_left`` behind it.

    RFC 9332, A.2; ``bytes_left`` wait behind it in the Scalable queue.
    """
    stream = net.stream
    c = net.control[p]
    chance = c.p * c.p
    if scalable:
        linear = c.coupling * c.p
        if linear < 1.0:
            if c.width > 0.0 and bytes_left > net.sizes[0]:
                linear = max(linear, (waited - c.ramp) / c.width)
            return MARK if uniform(stream, p) < linear else ACCEPT
        return DROP if uniform(stream, p) < chance else MARK
    if uniform(stream, p) >= chance:
        return ACCEPT
    return MARK if c.ecn == 1 and markable and c.p * c.coupling < 1.0 else DROP


@compiled
def update_coupled(net: Any, p: int, now: float) -> None:
    """Apply all updates of p' of port p's PI2 or DualPI2 that were due before ``now`` (RFC 9332, A.1)."""
    c = net.control[p]
    port = net.port[p]
    while c.next < now:
        delay = 0.0
        if port.manager == COUPLED:
            for k in range(port.lane, port.lane + port.lanes):
                if net.lane[k].count > 0:
                    delay = max(delay, c.next - net.packet[net.lane[k].head].time)
        else:
            delay = port.bytes * c.pace
        c.p += c.alpha * (delay - c.target) + c.beta * (delay - c.delay)
        c.p = min(1.0, max(0.0, c.p))
        c.delay = delay
        c.next += c.interval


@compiled
def choose_queue(net: Any, p: int) -> int:
    """Return port p's DualPI2 queue to send next, SCALABLE, or CLASSIC if alone or its share is due; update credit."""
    lane = net.lane
    c = net.control[p]
    first = net.port[p].lane
    if lane[first].count == 0:
        return CLASSIC
    if lane[first + 1].count == 0:
        return SCALABLE
    chosen = CLASSIC if c.credit > 0.0 else SCALABLE
    size = net.sizes[net.packet[lane[first + chosen].head].size]
    c.credit += c.share * size if chosen == SCALABLE else (c.share - 1.0) * size
    return chosen

"""Buffers of ports, counted in packets, or in bytes (whole cells) where a port has a unit."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..layout import CLASSES, int64

__all__ = [
    "enter_bytes",
    "free_bytes",
    "is_full",
    "is_over",
    "queue_bytes",
    "queue_length",
    "record_bytes",
    "record_peak",
]


@inlined
def queue_bytes(net: Any, p: int, e: int) -> float:
    """Return the buffer space of packet e at port p, bytes: its own size, or whole cells."""
    return float(net.times[p * CLASSES + int64(net.packet[e].size)].taken)


@inlined
def is_full(port: Any, taken: float) -> bool:
    """Return whether a port has no room for a packet: ``taken`` bytes, or one packet if its buffer counts packets."""
    if port.unit > 0.0:
        return bool(port.bytes + taken > port.room)
    return bool(port.waiting >= port.room)


@inlined
def is_over(port: Any) -> bool:
    """Return whether a port's queue is longer than its buffer, in the buffer's unit."""
    return bool(queue_length(port) > port.room)


@inlined
def queue_length(port: Any) -> float:
    """Return the length of a port's queue in its buffer's and thresholds' unit: bytes, or packets if ``unit`` is 0."""
    return float(port.bytes) if port.unit > 0.0 else float(port.waiting)


@compiled
def free_bytes(net: Any, p: int, first: int, queued: int) -> None:
    """Subtract the bytes of port p's ring entries from ``first`` on that wait no more; ``queued`` packets remain."""
    port = net.port[p]
    if queued == 0:
        port.bytes = 0.0
        return
    size = int64(port.ring_mask) + 1
    for n in range(first, port.first):
        port.bytes -= net.ring[int64(port.ring) + size + (n & port.ring_mask)]


@compiled
def enter_bytes(net: Any, p: int, taken: float, queued: int) -> None:
    """Add ``taken`` bytes of a packet that entered port p's ring behind ``queued`` others."""
    port = net.port[p]
    size = int64(port.ring_mask) + 1
    net.ring[int64(port.ring) + size + (port.last & port.ring_mask)] = taken
    port.bytes = port.bytes + taken if queued > 0 else taken


@compiled
def record_bytes(net: Any, records: Any, p: int, taken: float, came: float, past: float) -> None:
    """Record ``taken`` bytes as waiting at port p from ``came`` to ``past``, s, if its buffer counts bytes."""
    rows = len(records.queued_bytes) - 1
    first = min(int(came * records.scale), rows)
    last = min(int(past * records.scale), rows)
    if net.port[p].unit > 0.0 and first != last:
        records.queued_bytes[first, p] += taken
        records.queued_bytes[last, p] -= taken


@inlined
def record_peak(net: Any, records: Any, p: int, waiting: int) -> None:
    """Raise port p's recorded peaks to ``waiting`` packets and to its bytes, if its buffer counts bytes."""
    port = net.port[p]
    port.peak = max(port.peak, waiting)
    if port.unit > 0.0:
        records.peak_bytes[p] = max(records.peak_bytes[p], port.bytes)

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
    """Return the bytes that a packet takes in the queue of a port."""
    return float(net.times[p * CLASSES + int64(net.packet[e].size)].taken)


@inlined
def is_full(port: Any, taken: float) -> bool:
    """Return whether a queue has no room for a packet that takes so many bytes."""
    if port.unit > 0.0:
        return bool(port.bytes + taken > port.room)
    return bool(port.waiting >= port.room)


@inlined
def is_over(port: Any) -> bool:
    """Return whether more waits at a port than it has room for."""
    return bool(queue_length(port) > port.room)


@inlined
def queue_length(port: Any) -> float:
    """Return the length of the queue of a port in the unit of its thresholds, packets or bytes."""
    return float(port.bytes) if port.unit > 0.0 else float(port.waiting)


@compiled
def free_bytes(net: Any, p: int, first: int, queued: int) -> None:
    """Subtract the bytes of packets that no longer wait at a port without lanes, from ``first`` in its ring on."""
    port = net.port[p]
    if queued == 0:
        port.bytes = 0.0
        return
    size = int64(port.ring_mask) + 1
    for n in range(first, port.first):
        port.bytes -= net.ring[int64(port.ring) + size + (n & port.ring_mask)]


@compiled
def enter_bytes(net: Any, p: int, taken: float, queued: int) -> None:
    """Add the bytes of a packet that has entered the ring of a port behind ``queued`` others."""
    port = net.port[p]
    size = int64(port.ring_mask) + 1
    net.ring[int64(port.ring) + size + (port.last & port.ring_mask)] = taken
    port.bytes = port.bytes + taken if queued > 0 else taken


@compiled
def record_bytes(net: Any, records: Any, p: int, taken: float, came: float, past: float) -> None:
    """Record bytes that wait at a port whose buffer counts bytes, from one time to another."""
    rows = len(records.queued_bytes) - 1
    first = min(int(came * records.scale), rows)
    last = min(int(past * records.scale), rows)
    if net.port[p].unit > 0.0 and first != last:
        records.queued_bytes[first, p] += taken
        records.queued_bytes[last, p] -= taken


@inlined
def record_peak(net: Any, records: Any, p: int, waiting: int) -> None:
    """Record the largest queue of a port in which so many packets wait now."""
    port = net.port[p]
    port.peak = max(port.peak, waiting)
    if port.unit > 0.0:
        records.peak_bytes[p] = max(records.peak_bytes[p], port.bytes)

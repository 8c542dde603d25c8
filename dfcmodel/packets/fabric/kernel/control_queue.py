"""The control class of a port: ACKs, which are sent before data and never paused."""

from __future__ import annotations

from typing import Any

from .jit import inlined
from .layout import int64

__all__ = ["append_ack", "take_ack"]


@inlined
def append_ack(net: Any, p: int, e: int) -> None:
    """Append an ACK to the control class of a port."""
    port = net.port[p]
    net.packet[e].next = -1
    if port.acks == 0:
        port.acks_head = e
    else:
        net.packet[port.acks_tail].next = e
    port.acks_tail = e
    port.acks += 1


@inlined
def take_ack(net: Any, p: int, time: float) -> int:
    """Remove the first ACK of the control class of a port and return it."""
    port = net.port[p]
    e = int64(port.acks_head)
    port.acks_head = net.packet[e].next
    port.acks -= 1
    port.acks_left = time
    return e

"""Transport stacks of operating systems: options of their hosts apart from the window rule."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTED", "NO_STACK", "STACKS", "Stack"]

COUNTED = "counted"
"""Delayed ACKs whose packets the sender counts."""


@dataclass(frozen=True)
class Stack:
    """Options of flows that a protocol stack, such as Linux's, sets by default.

    Parameters
    ----------
    initial_window
        Packets of the first window; None: the rule's default.
    delayed_acks
        As for `dfcmodel.Flow`.
    quick_acks
        Packets at the beginning of a flow that are acknowledged at once.
    recovery
        Name of the loss recovery at packet level; None: the rule's default.
    segments
        Whether packets are passed to the device in segments.

    Examples
    --------
    >>> from dfcmodel.network.endpoints.stacks import STACKS
    >>> STACKS["linux-6.12"]
    Stack(initial_window=10.0, delayed_acks='counted', quick_acks=1079, recovery='linux-6.12', segments=True)
    """

    initial_window: float | None
    delayed_acks: bool | str
    quick_acks: int
    recovery: str | None
    segments: bool


NO_STACK = Stack(None, False, 0, None, False)
"""Default options of a flow without a stack: the defaults of its rule."""
GROWTH = (6_291_456 // 2 - 65_535) // (2 * 1448)
"""Packets that a Linux receiver acknowledges at once because they increase its window.

Each adds two segments of data, here of 1448 bytes, to a window that begins with 65535 bytes and may become half of
``tcp_rmem``'s maximum, 6 MiB by default (net/ipv4/tcp_input.c, ``tcp_grow_window``)."""
STACKS = {"linux-6.12": Stack(10.0, COUNTED, GROWTH + 16, "linux-6.12", True)}
"""Linux 6.12: TCP_INIT_CWND 10 (include/net/tcp.h), TCP_MAX_QUICKACKS 16; net/ipv4/tcp_input.c counts packets and has
RACK-TLP with its own PRR (`LinuxRecovery`)."""

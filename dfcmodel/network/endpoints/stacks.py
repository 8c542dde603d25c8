"""Transport stacks of operating systems: what their hosts do beside the rule for the window."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTED", "NO_STACK", "STACKS", "Stack"]

COUNTED = "counted"
"""Delayed ACKs of which the sender counts the packets."""


@dataclass(frozen=True)
class Stack:
    """Options that a flow with this stack has unless it is given others.

    Parameters
    ----------
    initial_window
        Packets of the first window; None: those of the rule.
    delayed_acks
        As for `dfcmodel.Flow`.
    quick_acks
        Packets at the beginning of a flow that are acknowledged at once.
    recovery
        Name of the loss recovery at packet level; None: that of the rule.
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
"""The options of a flow that names no stack and no others: those of the rule."""
GROWTH = (6_291_456 // 2 - 65_535) // (2 * 1448)
"""Packets that a receiver of Linux acknowledges at once because they let its window grow (net/ipv4/tcp_input.c, ``tcp_grow_window``).

Each adds two segments of data, here of 1448 bytes, to a window that begins with 65535 bytes and may become half of ``tcp_rmem``'s maximum,
6 MiB by default."""
STACKS = {"linux-6.12": Stack(10.0, COUNTED, GROWTH + 16, "linux-6.12", True)}
"""Linux 6.12: TCP_INIT_CWND 10 (include/net/tcp.h), TCP_MAX_QUICKACKS 16; net/ipv4/tcp_input.c counts packets and has
RACK-TLP with its own PRR (`LinuxRecovery`)."""

"""Connections that feed events to a rule: ACKs, losses and timeouts, without a network."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.sharing.suites.cases import NotJudged, Observation
from dfcmodel.sharing.suites.cubic_reference import BETA
from dfcmodel.sharing.suites.fed_connections import Connection, PythonConnection
from dfcmodel.sharing.suites.native_connections import NativeConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from responsefn import WindowRule

__all__ = [
    "DECREASES",
    "connect",
    "lose_at",
    "observe_consecutive_losses",
    "slow_start_to",
]

DECREASES = {"newreno": 0.5, "cubic-rfc9438": BETA}
"""Window after a loss over the window before, by claim (RFC 5681, Sect. 3.1; RFC 9438, Sect. 4.6)."""
WINDOW_AT_LOSS = 400.0
"""Window before the first of several losses, packets: those after it are of at least 100."""


@singledispatch
def connect(rule: WindowRule, rtt: float = 0.1, packet_bytes: int = 1500) -> Connection:
    """Return a connection of a rule; rules in Python count packets, whatever their size in bytes.

    Connections of other kinds register the type of what they connect (`functools.singledispatch`).

    Parameters
    ----------
    rule, rtt
        The rule, and the round-trip time in s.
    packet_bytes
        Size of a packet, bytes, for rules that count bytes.
    """
    return PythonConnection(rule, rtt)


connect.register(NativeRule, NativeConnection)


def slow_start_to(connection: Connection, window: float) -> None:
    """Acknowledge packets until the window has a size in packets; refuse one that does not reach it."""
    limit = connection.now + 100.0 * connection.rtt + 60.0
    while not connection.window >= window:
        if connection.now > limit or math.isnan(connection.window):
            text = f"its window is {connection.window:.4g} packets at {connection.now:.0f} s, not {window:g}"
            raise ArithmeticError(text)
        connection.ack()


def lose_at(connection: Connection, window: float) -> tuple[float, float]:
    """Let a connection grow to a window in packets and lose a packet; return its windows before and after."""
    slow_start_to(connection, window)
    before = connection.window
    connection.report_loss()
    return before, connection.window


def observe_consecutive_losses(rule: WindowRule) -> Iterator[Observation]:
    """Observe the factors of two more decreases after a first one, with windows below the last peak."""
    if rule.claims not in DECREASES:
        raise NotJudged(f"no source says what a loss leaves of the window of a rule that claims {rule.claims}")
    connection = connect(rule)
    lose_at(connection, WINDOW_AT_LOSS)
    for number in (2, 3):
        before = connection.window
        connection.report_loss()
        ratio = connection.window / before
        yield Observation(f"loss {number} at a window of {before:.0f} packets", DECREASES[rule.claims], ratio)

"""Connections that feed events to a rule: ACKs, losses and timeouts, without a network."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.sharing.suites.cases import NotJudged, Observation, Tolerance
from dfcmodel.sharing.suites.cubic_reference import BETA
from dfcmodel.sharing.suites.fed_connections import Connection, PythonConnection
from dfcmodel.sharing.suites.native_connections import NativeConnection
from responsefn import WindowRule

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ABOUT_RATIO",
    "COMMON_PACKET",
    "DECREASES",
    "EVENTS_TO_MINIMUM",
    "LARGE_PACKET",
    "RATIO",
    "connect",
    "lose_a_large_window",
    "lose_at",
    "loss_window",
    "observe_consecutive_losses",
    "observe_limited_growth",
    "observe_losses_in_recovery",
    "observe_minimum_threshold",
    "observe_pacing",
    "observe_small_windows",
    "observe_timeout_in_recovery",
    "slow_start_to",
]

DECREASES = {"newreno": 0.5, "cubic-rfc9438": BETA}
"""Window after a loss over the window before, by claim (RFC 5681, Sect. 3.1; RFC 9438, Sect. 4.6)."""
WINDOW_AT_LOSS = 400.0
"""Window before the first of several losses, packets: those after it are of at least 100."""
RATIO = Tolerance(0.01)
ABOUT_RATIO = "own choice: one packet of a window of at least 100"
LARGE_PACKET = 65_535
"""Bytes of a packet with which few ACKs reach a window of 2^31 bytes: the largest of UDP."""
EVENTS_TO_MINIMUM = 20
"""Losses in a row after which a window of 40 packets is at its minimum: 40 x 0.7^20 is below 0.1."""
MIN_WINDOW = 2.0
"""Smallest ssthresh, packets (RFC 5681, Sect. 3.1, eq. 4; RFC 9438, Sect. 4.6), and QUIC's smallest window (RFC 9002,
Sect. 7.2)."""
LOSSES_TO_MINIMUM = 10
"""Losses in a row through which a window of 40 packets falls to two by each of `DECREASES`."""
LIMITED_FLIGHT, LIMITED_ROUND_TRIPS = 10.0, 10
"""Packets in flight for which an application has data, as many as a connection may begin with; round trips of it."""
MAX_LIMITED_GROWTH = 2.0
"""Largest window over the most packets that were in flight, in slow start (draft-ietf-ccwg-ratelimited-increase)."""
ACKS_AFTER_TIMEOUT, LOSSES_IN_RECOVERY = 12, 3
COMMON_PACKET = 1500
"""Bytes of a packet to which a rule that counts packets may convert them by a constant of its own."""


@singledispatch
def connect(rule: WindowRule, rtt: float = 0.1, packet_bytes: int = COMMON_PACKET, window: float = 0.0) -> Connection:
    """Return a connection without a network, to be fed events; first window ``window`` packets, 0: the rule's own.

    Connections of other kinds register the type of their rules (`functools.singledispatch`).

    Parameters
    ----------
    rule, rtt
        The rule, and the round-trip time in s.
    packet_bytes
        Size of a packet, bytes, for rules that count bytes.
    window
        First window, packets, which the rule is asked for; 0: its own.
    """
    return PythonConnection(rule, rtt, window=window)


connect.register(NativeRule, NativeConnection)


def slow_start_to(connection: Connection, window: float) -> None:
    """Acknowledge packets until the window has ``window`` packets; ArithmeticError if that takes too long."""
    limit = connection.now + 100.0 * connection.rtt + 60.0
    while not connection.window >= window:
        if connection.now > limit or math.isnan(connection.window):
            text = f"its window is {connection.window:.4g} packets at {connection.now:.0f} s, not {window:g}"
            raise ArithmeticError(text)
        connection.ack()


def lose_at(connection: Connection, window: float) -> tuple[float, float]:
    """Let the window grow to ``window`` packets, then lose a packet; return (window before, after), packets."""
    slow_start_to(connection, window)
    before = connection.window
    connection.report_loss()
    return before, connection.window


def loss_window(rule: object) -> float:
    """Return the largest window after a timeout, packets: `WindowRule.timeout_window` of a rule in Python.

    A library for QUIC, whose smallest window is two packets, declares that its window limits packets in flight. A rule
    of another kind is a stack of its own.
    """
    if isinstance(rule, NativeRule):
        return MIN_WINDOW if rule.loaded.limits_flight else 1.0
    return rule.timeout_window if isinstance(rule, WindowRule) else MIN_WINDOW


def observe_losses_in_recovery(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window after three losses in a recovery to that before: it is lowered once."""
    connection = connect(rule)
    slow_start_to(connection, WINDOW_AT_LOSS)
    before = connection.window
    connection.report_loss(packets=LOSSES_IN_RECOVERY)
    event = f"{LOSSES_IN_RECOVERY} losses in a recovery at a window of {before:.0f} packets"
    yield Observation(event, DECREASES[rule.claims], connection.window / before)


def observe_timeout_in_recovery(rule: WindowRule) -> Iterator[Observation]:
    """Yield the growth per ACK, packets, after a timeout in a recovery, which ends it (RFC 6582, Sect. 3.2, step 4)."""
    connection = connect(rule)
    slow_start_to(connection, WINDOW_AT_LOSS)
    connection.time_out(in_recovery=True)
    for number in range(1, ACKS_AFTER_TIMEOUT + 1):
        window = connection.window
        connection.ack()
        yield Observation(f"ACK {number} after a timeout in a recovery", 1.0, connection.window - window)


def observe_limited_growth(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window, packets, in ten round trips with ten packets in flight: in slow start, and after a loss.

    After two round trips, for the packets that were sent while the window was full, it stays, if the rule's source says
    so. RFC 5681 does not: TCP in slow start has at most twice the packets that were in flight.
    """
    stays = rule.claims != "newreno" or loss_window(rule) > 1.0
    for event in ("slow start", "a loss"):
        connection = connect(rule)
        slow_start_to(connection, LIMITED_FLIGHT)
        if event == "a loss":
            lose_at(connection, 10.0 * LIMITED_FLIGHT)
        connection.limit_application(LIMITED_FLIGHT)
        for _ in range(2):
            connection.ack_round_trip()
        largest = connection.window if stays else MAX_LIMITED_GROWTH * LIMITED_FLIGHT
        for trip in range(1, LIMITED_ROUND_TRIPS + 1):
            connection.ack_round_trip()
            yield Observation(
                f"round trip {trip} with {LIMITED_FLIGHT:g} packets in flight after {event}", largest, connection.window
            )
        if not stays:
            return


def observe_consecutive_losses(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window after a loss to that before, for the two losses after a first one."""
    if rule.claims not in DECREASES:
        raise NotJudged(f"no source says what a loss leaves of the window of a rule that claims {rule.claims}")
    connection = connect(rule)
    lose_at(connection, WINDOW_AT_LOSS)
    for number in (2, 3):
        before = connection.window
        connection.report_loss()
        ratio = connection.window / before
        yield Observation(f"loss {number} at a window of {before:.0f} packets", DECREASES[rule.claims], ratio)


def lose_a_large_window(rule: WindowRule, share: float) -> tuple[Connection, float, str]:
    """Lose a packet beyond 2^32 bytes of window (``share`` of them remain); return (connection, packets before, label).

    Libraries that count packets have packets of 1500 bytes: a constant size of their own is tested as well.

    Parameters
    ----------
    rule
        The rule; it claims one of `DECREASES`.
    share
        Window after the loss in units of 2^32 bytes, for all others. Their packets have 2^16 - 1 bytes, so
        that an increase of a packet per round trip is 1 / share bytes per ACK.
    """
    factor = DECREASES[rule.claims]
    counts_packets = isinstance(rule, NativeRule) and not rule.loaded.counts_bytes
    size, multiple = (COMMON_PACKET, 1.25) if counts_packets else (LARGE_PACKET, share / factor)
    window = 2.0 * round(0.5 * multiple * 2.0**32 / size)  # half of it is a whole number of packets
    connection = connect(rule, 0.1, size, window - 1.0)
    connection.ack()  # with which stacks have a round-trip time
    before, _ = lose_at(connection, window)
    return connection, before, f"{before:.0f} packets of {size} bytes"


def observe_minimum_threshold(rule: WindowRule) -> Iterator[Observation]:
    """Yield ssthresh, packets, after each of 20 losses in a row, then after each of 20 timeouts."""
    for name in ("loss", "timeout"):
        connection = connect(rule)
        slow_start_to(connection, 40.0)
        for number in range(1, EVENTS_TO_MINIMUM + 1):
            connection.report_loss() if name == "loss" else connection.time_out()
            yield Observation(f"{name} {number} in a row", 2.0, connection.ssthresh)


def observe_small_windows(rule: WindowRule) -> Iterator[Observation]:
    """Yield the larger of window and ssthresh, packets, after each of ten losses in a row, and after timeouts between.

    The window falls from 40 packets to its minimum. A timeout follows each number of losses, in a connection of its
    own, after which ssthresh alone is yielded. An infinite ssthresh is one that a library does not report.
    """
    connection, factor = connect(rule), DECREASES[rule.claims]
    slow_start_to(connection, 40.0)
    for number in range(1, LOSSES_TO_MINIMUM + 1):
        before = connection.window
        connection.report_loss()
        reported = connection.ssthresh if math.isfinite(connection.ssthresh) else 0.0
        event = f"loss {number} in a row, at a window of {before:.3g} packets"
        yield Observation(event, max(factor * before, MIN_WINDOW), max(connection.window, reported))
    for number in range(LOSSES_TO_MINIMUM):
        connection = connect(rule)
        slow_start_to(connection, 40.0)
        for _ in range(number):
            connection.report_loss()
        before = connection.window
        connection.time_out()
        if math.isfinite(connection.ssthresh):
            event = f"timeout after {number} losses, at a window of {before:.3g} packets"
            yield Observation(event, max(factor * before, MIN_WINDOW), connection.ssthresh)


def observe_pacing(rule: WindowRule) -> Iterator[Observation]:
    """Yield the pacing rate times RTT over the window, in slow start and in ten round trips after a loss."""
    connection = connect(rule)
    slow_start_to(connection, 100.0)
    yield Observation("slow start at 100 packets", 1.0, connection.pacing_rate * connection.rtt / connection.window)
    connection.report_loss()
    for trip in range(1, 11):
        connection.ack_round_trip()
        rate = connection.pacing_rate * connection.rtt / connection.window
        yield Observation(f"round trip {trip} after a loss", 1.0, rate)

"""RFC 5681 as cases: windows of NewReno under fed events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dfcmodel.sharing.suites.cases import Observation, Suite, SuiteCase, Tolerance
from dfcmodel.sharing.suites.connections import (
    ABOUT_RATIO,
    DECREASES,
    RATIO,
    connect,
    lose_a_large_window,
    lose_at,
    loss_window,
    observe_consecutive_losses,
    observe_limited_growth,
    observe_losses_in_recovery,
    observe_minimum_threshold,
    observe_pacing,
    observe_small_windows,
    observe_timeout_in_recovery,
    slow_start_to,
)

if TYPE_CHECKING:
    from responsefn import WindowRule

__all__ = ["RFC5681"]

WINDOW = 200.0
"""Window before a loss or a timeout, packets."""
DECREASE = DECREASES["newreno"]
ROUND_TRIPS = 10
FAR_ABOVE_SSTHRESH = 60.0, 60
"""Window before a loss, packets, and round trips after it, after which the window is three times ssthresh."""
HALF_A_PACKET = 0.5
"""Growth per ACK, packets, that is slow start's of one packet above, and congestion avoidance's below."""
WINDOW_OF_BYTES = 1650.0
"""Window, packets of 1500 bytes, above SMSS x SMSS bytes, where eq. 3 in whole bytes is 0, which is rounded up to 1."""
LARGE_WINDOW = 0.95
"""Window after a loss, 2^32 bytes, at which eq. 3 is 1.05 bytes with the largest packets: 1 in whole bytes."""
CALLS = 1000
"""Calls that report the ACKs of a round trip of a large window."""


def _slow_start(rule: WindowRule) -> Iterator[Observation]:
    """Yield the growth per ACK, packets, in slow start up to a window of 100 packets."""
    connection = connect(rule)
    limit = connection.now + 10.0
    while connection.window < 100.0 and connection.now < limit:
        window = connection.window
        connection.ack()
        yield Observation(f"ACK at {connection.now:.2f} s", 1.0, connection.window - window)


def _congestion_avoidance(rule: WindowRule) -> Iterator[Observation]:
    """Yield the growth, packets, in ten round trips: after losses at RTTs of 10 and 200 ms, and far above ssthresh.

    A rule that counts acknowledged bytes grows by a whole packet when the count reaches its window (RFC 5681, Sect.
    3.1, which recommends it; RFC 3465). A round trip has as many ACKs as the window has whole packets, so that the
    count may reach the window an ACK after the round trip, and one that a loss does not reset reaches it before.
    """
    for rtt, peak, before in ((0.01, WINDOW, 0), (0.2, WINDOW, 0), (0.1, *FAR_ABOVE_SSTHRESH)):
        connection = connect(rule, rtt)
        lose_at(connection, peak)
        for _ in range(before):
            connection.ack_round_trip()
        window = connection.window
        for number in range(1, ROUND_TRIPS + 1):
            connection.ack_round_trip()
            event = f"round trip {before + number} after a loss at {peak:g} packets, {1000 * rtt:g} ms"
            yield Observation(event, float(number), connection.window - window)


def _large_windows(rule: WindowRule) -> Iterator[Observation]:
    """Yield the growth per round trip, packets, after losses at 3300 packets and beyond 2^31 bytes."""
    connection = connect(rule)
    _, window = lose_at(connection, 2.0 * WINDOW_OF_BYTES)
    for _ in range(ROUND_TRIPS):
        connection.ack_round_trip()
    growth = (connection.window - window) / ROUND_TRIPS
    yield Observation(
        f"{ROUND_TRIPS} round trips after a loss at {2.0 * window:.0f} packets of 1500 bytes", 1.0, growth
    )
    connection, _, label = lose_a_large_window(rule, LARGE_WINDOW)
    window = connection.window
    for _ in range(ROUND_TRIPS):
        connection.ack_round_trip(packets=max(1, int(window / CALLS)))
    growth = (connection.window - window) / ROUND_TRIPS
    yield Observation(f"{ROUND_TRIPS} round trips after a loss at {label}", 1.0, growth)


def _decrease(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window after a first loss to that before."""
    before, after = lose_at(connect(rule), WINDOW)
    yield Observation(f"loss at a window of {before:.0f} packets", DECREASE, after / before)


def _timeout_window(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window after a timeout, packets."""
    connection = connect(rule)
    slow_start_to(connection, WINDOW)
    connection.time_out()
    yield Observation(f"timeout at a window of {WINDOW:.0f} packets", loss_window(rule), connection.window)


def _timeout_threshold(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window at which slow start ends after a timeout to that before the timeout."""
    connection = connect(rule)
    slow_start_to(connection, WINDOW)
    before = connection.window
    connection.time_out()
    growth = 1.0
    while growth > HALF_A_PACKET and connection.window < 2.0 * before:
        window = connection.window
        connection.ack()
        growth = connection.window - window
    event = f"end of slow start after a timeout at {before:.0f} packets"
    yield Observation(event, DECREASE, connection.window / before)


CASES = (
    SuiteCase("slow-start", "growth per ACK below the threshold", "packets", "slow start adds a packet per ACK", "=",
              Tolerance(0.01), "RFC 5681, Sect. 3.1", _slow_start, "own choice: rounding to bytes"),
    SuiteCase("congestion-avoidance", "growth in round trips", "packets",
              "congestion avoidance adds a packet per round trip", "=", Tolerance(1.0, 0.05),
              "RFC 5681, Sect. 3.1; RFC 3465, Sect. 2.1; RFC 9002, Sect. 7.3.3", _congestion_avoidance,
              "the packet that a count of acknowledged bytes has not added yet (RFC 3465), and 5 % for growth that is "
              "rounded to bytes: the RFC has roughly one packet; over ten round trips 15 %"),
    SuiteCase("large-windows", "growth per window of ACKs", "packets",
              "congestion avoidance adds a packet per round trip, at windows above SMSS x SMSS and 2^31 bytes too", "=",
              Tolerance(0.15), "RFC 5681, Sect. 3.1, eq. 3, which whole bytes round up to 1", _large_windows,
              "that of congestion-avoidance over ten round trips: with whole bytes 0.95 and 1.1"),
    SuiteCase("decrease", "window after a loss over the window before", "", "a loss leaves half of the window", "=",
              RATIO, "RFC 5681, Sect. 3.1, eq. 4, and 3.2", _decrease, ABOUT_RATIO),
    SuiteCase("consecutive-losses", "window after a loss over the window before", "",
              "each recovery begins by halving the window", "=", RATIO, "RFC 6582, Sect. 3.2",
              observe_consecutive_losses, ABOUT_RATIO),
    SuiteCase("losses-in-recovery", "window after losses in a recovery over the window before", "",
              "further losses of a recovery do not lower the window again", "=", RATIO,
              "RFC 6582, Sect. 3.2; RFC 6675, Sect. 5; RFC 9002, Sect. 7.3.2", observe_losses_in_recovery, ABOUT_RATIO),
    SuiteCase("timeout-window", "window after a timeout", "packets",
              "a timeout leaves one packet, or in QUIC, whose window limits packets in flight, two", "<=",
              Tolerance(0.01), "RFC 5681, Sect. 3.1; RFC 9002, Sect. 7.6.2", _timeout_window,
              "own choice: rounding to bytes"),
    SuiteCase("timeout-threshold", "window at the end of slow start over the window at the timeout", "",
              "ssthresh after a timeout is half of the window", "=", RATIO, "RFC 5681, Sect. 3.1, eq. 4",
              _timeout_threshold, ABOUT_RATIO),
    SuiteCase("timeout-in-recovery", "growth per ACK after a timeout in a recovery", "packets",
              "a timeout ends the recovery, and slow start follows", "=", Tolerance(0.01),
              "RFC 6582, Sect. 3.2, step 4; RFC 5681, Sect. 3.1", observe_timeout_in_recovery,
              "own choice: rounding to bytes"),
    SuiteCase("limited-growth", "window while the application limits the packets in flight", "packets",
              "in QUIC it stays, in TCP's slow start it is at most twice the packets in flight", "<=",
              Tolerance(0.01), "RFC 9002, Sect. 7.8; for TCP draft-ietf-ccwg-ratelimited-increase, Sect. 3",
              observe_limited_growth, "own choice: rounding to bytes"),
    SuiteCase("minimum-threshold", "ssthresh after losses or timeouts in a row", "packets",
              "ssthresh is at least two packets", ">=", Tolerance(0.01), "RFC 5681, Sect. 3.1, eq. 4",
              observe_minimum_threshold, "own choice: rounding to bytes"),
    SuiteCase("small-windows", "window and ssthresh after a loss, ssthresh after a timeout", "packets",
              "they are at most half of the window, or two packets", "<=", Tolerance(0.01),
              "RFC 5681, Sect. 3.1, eq. 4, and 3.2; RFC 9002, Sect. 7.2", observe_small_windows,
              "own choice: rounding to bytes"),
    SuiteCase("pacing", "pacing rate over a window per round-trip time", "",
              "a sender that paces sends a window per round trip or more", ">=", RATIO, "RFC 9002, Sect. 7.7",
              observe_pacing, "own choice: intervals between packets in whole units of a clock"),
)  # fmt: skip

RFC5681 = Suite("rfc5681", 4, "RFC 5681, TCP Congestion Control, 2009, and RFC 6582", ("newreno",), CASES)
"""Slow start, congestion avoidance, losses and timeouts of NewReno."""

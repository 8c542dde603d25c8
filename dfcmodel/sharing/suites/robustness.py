"""Robustness: mistakes in units, state and arithmetic that any congestion control can make."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.sharing.suites.cases import ANY, NotJudged, Observation, Suite, SuiteCase, Tolerance, truth
from dfcmodel.sharing.suites.connections import (
    COMMON_PACKET,
    DECREASES,
    LARGE_PACKET,
    connect,
    lose_at,
    loss_window,
    slow_start_to,
)
from dfcmodel.sharing.suites.fed_connections import Connection
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn import DeliveryRule

if TYPE_CHECKING:
    from responsefn import WindowRule

__all__ = ["ROBUSTNESS"]

ROUNDING = Tolerance(0.01)
EXACT = Tolerance(0.0)
LARGEST_WINDOW = 1000.0
"""Windows up to which round trips are fed, packets: some rules double theirs again and again."""
MIN_DECREASE = 0.2
"""Smallest part of its window that a loss leaves a rule of another claim; own choice, far below all rules."""
MAX_GROWTH = 2.0
"""Largest window after a loss over that before, for rules of another claim: rules of deliveries may go on with
slow start, and the end of the recovery acknowledges a window."""
COMMON_WINDOW = 100.0
"""Window, packets, at which what a rule does is not in question here."""
ROUND_TRIPS_TO_GOAL, CALLS = 5, 1000
"""Round trips in which slow start adds two ninths to a window, which takes less than one, or with BBR less than two;
and calls per round trip that report the ACKs of a large window."""
CLAIMS_WITH_SLOW_START = (*DECREASES, "bbr-draft")
"""Claims of rules that double a window per round trip at first."""
VALID = "finite numbers, not negative, and at least a packet without pacing"
EXTREME_RTTS = (1e-6, 10.0)
"""Round-trip times, s, from a loopback to beyond a satellite's."""


def _initial_window(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window, packets, before the first event, with packets of 1500 and of 9000 bytes."""
    for size in (1500, 9000):
        yield Observation(f"start with packets of {size} bytes", INITIAL_WINDOW, connect(rule, 0.1, size).window)


def _packet_sizes(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows, packets, of a trace with 9000-byte packets, beside the same trace with 1500-byte packets."""
    small, large = (_window_trace(connect(rule, 0.1, size)) for size in (1500, 9000))
    for (event, expected), (_, found) in zip(small, large, strict=True):
        yield Observation(event, expected, found)


def _window_trace(connection: Connection) -> Iterator[tuple[str, float]]:
    """Yield (event, window in packets): slow start, a loss, 20 round trips, a timeout, 10 round trips."""
    lose_at(connection, 60.0)
    yield "loss", connection.window
    for part, trips in (("the loss", 20), ("the timeout", 10)):
        for trip in range(1, trips + 1):
            connection.ack_round_trip(LARGEST_WINDOW)
            yield f"round trip {trip} after {part}", connection.window
        if part == "the loss":
            connection.time_out()


def _growth(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window 1 s after a loss to that before, at RTTs of 20, 100 and 500 ms."""
    if isinstance(rule, DeliveryRule) and rule.claims not in DECREASES:
        raise NotJudged(
            f"a rule that claims {rule.claims} may follow the rate of deliveries, which fed events do not limit"
        )
    for rtt in (0.02, 0.1, 0.5):
        connection = connect(rule, rtt)
        before, _ = lose_at(connection, 100.0)
        end = connection.now + 1.0
        while connection.now < end:
            connection.ack()
        yield Observation(f"1 s after a loss, {1000 * rtt:g} ms", 1.5, connection.window / before)


def _timeout(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window, packets, after each of three timeouts in a row."""
    connection = connect(rule)
    slow_start_to(connection, 100.0)
    for number in (1, 2, 3):
        connection.time_out()
        yield Observation(f"timeout {number} in a row", loss_window(rule), connection.window)


def _after_timeouts(rule: WindowRule) -> Iterator[Observation]:
    """Yield one window, packets: 30 round trips after three timeouts in a row, or when it reaches 4 packets."""
    connection = connect(rule)
    slow_start_to(connection, 100.0)
    for _ in range(3):
        connection.time_out()
    end = connection.now + 30.0 * connection.rtt
    while connection.now < end and connection.window < 4.0:
        connection.ack()
    yield Observation("30 round trips after three timeouts", 4.0, connection.window)


def _beyond(bits: int, rule: WindowRule) -> Iterator[Observation]:
    """Yield window ratios at a window above 2^bits bytes: the lowest over an ACK, that of slow start, and of a loss.

    A rule that claims a specification with slow start reaches the window within five round trips from nine tenths of
    it on. A rule that claims another one is not judged where it does not reach nine tenths of it. A rule of RFC 5681 or
    9438 that paces sends a window per round trip or more (RFC 9002, Sect. 7.7). A timeout at the window follows in a
    connection of its own: ssthresh over the window, if the rule reports it, beside that of the rule at `COMMON_WINDOW`.
    """
    try:
        connection, size = _connect_large(rule, 0.9 * 2.0**bits)
    except ArithmeticError as error:
        if rule.claims in CLAIMS_WITH_SLOW_START:
            raise
        why = f"a rule that claims {rule.claims} need not have a slow start that reaches such windows"
        raise NotJudged(f"{error}; {why}") from None
    goal = max(1.1 * 2.0**bits / size, connection.window + 1.0)  # at least an ACK
    lowest, end = 1.0, connection.now + ROUND_TRIPS_TO_GOAL * connection.rtt
    while connection.window < goal and lowest == 1.0 and connection.now < end:
        before = connection.window
        connection.ack(max(1, int(before / CALLS)))
        lowest = min(1.0, connection.window / before)
    yield Observation(f"ACK at {before:.0f} packets of {size} bytes", 1.0, lowest)
    before = connection.window
    if rule.claims in CLAIMS_WITH_SLOW_START:
        event = f"{ROUND_TRIPS_TO_GOAL} round trips of slow start to {goal:.0f} packets of {size} bytes"
        yield Observation(event, 1.0, min(1.0, before / goal))
    if rule.claims in DECREASES and connection.pacing_rate < math.inf:
        ratio = connection.pacing_rate * connection.rtt / before
        yield Observation(f"pacing over a window per RTT at {before:.0f} packets of {size} bytes", 1.0, min(1.0, ratio))
    connection.report_loss()
    ratio = connection.window / before
    expected = DECREASES.get(rule.claims, min(max(ratio, MIN_DECREASE), MAX_GROWTH))
    yield Observation(f"loss at {before:.0f} packets of {size} bytes", expected, ratio)
    if rule.claims not in DECREASES:
        return
    ratios = []
    for window in (COMMON_WINDOW, before):
        connection, size = _connect_large(rule, window * size)
        window = connection.window
        connection.time_out()
        ratios.append(connection.ssthresh / window)
    if math.isfinite(ratios[0]):
        yield Observation(f"ssthresh after a timeout at {window:.0f} packets of {size} bytes", ratios[0], ratios[1])


def _connect_large(rule: WindowRule, window_bytes: float) -> tuple[Connection, int]:
    """Return a connection at a window of ``window_bytes``, and the bytes of its packets.

    A library that counts packets has packets of 1500 bytes, to which it may convert them by a constant of its own, and
    the window as its first one. All others, and those that begin with another window, grow to it in slow start, with
    the largest packets.
    """
    if isinstance(rule, NativeRule) and not rule.loaded.counts_bytes:
        packets = window_bytes / COMMON_PACKET
        connection = connect(rule, 0.1, COMMON_PACKET, packets)
        if connection.window >= 0.99 * packets:
            return connection, COMMON_PACKET
    connection = connect(rule, 0.1, LARGE_PACKET)
    slow_start_to(connection, window_bytes / LARGE_PACKET)
    return connection, LARGE_PACKET


def _finite(rule: WindowRule) -> Iterator[Observation]:
    """Yield whether windows and pacing rates stay valid after events in unusual orders, once per order and RTT."""
    orders: tuple[tuple[str, str], ...] = (
        ("a loss before any ACK", "L" + 20 * "A"), ("a timeout before any ACK", "T" + 20 * "A"),
        ("losses at the smallest window", 30 * "L" + 40 * "A"), ("a loss right after a timeout", "AATL" + 40 * "A"),
        ("a timeout right after a loss", "AALT" + 40 * "A"), ("a loss at every second ACK", 40 * "AL"),
    )  # fmt: skip
    for rtt in EXTREME_RTTS:
        for name, events in orders:
            connection = connect(rule, rtt)
            callbacks: dict[str, Callable[[], None]] = {
                "A": connection.ack, "L": connection.report_loss, "T": connection.time_out,
            }  # fmt: skip
            for number, event in enumerate(events, 1):
                callbacks[event]()
                numbers = connection.window, connection.pacing_rate
                valid = math.isfinite(numbers[0]) and not math.isnan(numbers[1]) and min(numbers) >= 0.0
                paced = numbers[1] < math.inf
                if not valid or (numbers[0] < 1.0 and not paced):
                    found = f"window {numbers[0]:g}, pacing rate {numbers[1]:g}"
                    yield truth(f"event {number} of {name}, {rtt:g} s", False, VALID, found)
                    return
            yield truth(f"{name}, {rtt:g} s", True, VALID, "yes")


def _two_at_once(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows, packets, of two connections with alternate events, beside each of them alone."""
    alone = [list(_window_trace(connect(rule, rtt))) for rtt in (0.05, 0.1)]
    both = [_window_trace(connect(rule, rtt)) for rtt in (0.05, 0.1)]
    for rows in zip(*alone, strict=True):
        for number, (run, (event, expected)) in enumerate(zip(both, rows, strict=True), 1):
            yield Observation(f"{event} of connection {number}", expected, next(run)[1])


def _monotone(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window after a round trip of slow start to that before, up to seven round trips."""
    connection = connect(rule)
    windows = [connection.window]
    while len(windows) < 8 and connection.window < LARGEST_WINDOW / 2.0:
        connection.ack_round_trip(LARGEST_WINDOW)
        windows.append(connection.window)
    for number, (before, after) in enumerate(pairwise(windows), 1):
        yield Observation(f"round trip {number}", 2.1, after / before)


CASES = (
    SuiteCase("initial-window", "first window", "packets", "a connection begins with at most ten packets", "<=",
              ROUNDING, "RFC 6928, Sect. 2; RFC 9002, Sect. 7.2", _initial_window, "own choice: rounding to bytes"),
    SuiteCase("packet-size", "window in packets of 9000 bytes beside packets of 1500 bytes", "packets",
              "windows in packets do not depend on the size of a packet", "=", Tolerance(1.0, 0.01),
              "RFC 5681, Sect. 3.1: windows grow and fall in segments", _packet_sizes,
              "own choice: a packet and 1 %, for bytes that are rounded to packets"),
    SuiteCase("slow-start", "window over that of a round trip before", "", "a round trip at most doubles the window",
              "<=", ROUNDING, "RFC 5681, Sect. 3.1: at most a segment per ACK", _monotone,
              "own choice: the first packets of the next round trip, 5 %, are in the expected 2.1"),
    SuiteCase("growth", "window 1 s after a loss over the window before", "",
              "a second after a loss the window is at most half above the last peak", "<=", ROUNDING,
              "own choice: RFC 5681 allows 0.5 + 50/100 of a window of 100 at 20 ms; RFC 9438 less", _growth,
              "own choice: rounding to bytes"),
    SuiteCase("timeout", "window after a timeout", "packets",
              "a timeout leaves one packet, or in QUIC, whose window limits packets in flight, two", "<=", ROUNDING,
              "RFC 5681, Sect. 3.1; RFC 9002, Sect. 7.6.2", _timeout, "own choice: rounding to bytes"),
    SuiteCase("after-timeouts", "window 30 round trips after three timeouts in a row", "packets",
              "the window grows again", ">=", ROUNDING, "RFC 5681, Sect. 3.1: slow start follows a timeout",
              _after_timeouts, "own choice: rounding to bytes"),
    SuiteCase("window-2-31", "window or ssthresh over the window before the event", "",
              "windows beyond 2^31 bytes grow and fall as smaller ones", "=", ROUNDING,
              "own choice: overflow of signed 32-bit numbers", partial(_beyond, 31), "own choice: rounding to bytes"),
    SuiteCase("window-2-32", "window or ssthresh over the window before the event", "",
              "windows beyond 2^32 bytes grow and fall as smaller ones", "=", ROUNDING,
              "own choice: overflow of unsigned 32-bit numbers", partial(_beyond, 32), "own choice: rounding to bytes"),
    SuiteCase("numbers", "validity of window and pacing rate", "",
              "windows are finite and at least a packet without pacing, rates are not negative", "=", EXACT,
              "RFC 5681, Sect. 3.1: a sender has a window of at least a segment", _finite),
    SuiteCase("two-at-once", "window beside that of the same events alone", "packets",
              "connections do not share state, and equal events give equal windows", "=", EXACT,
              "own choice: several connections run in one process", _two_at_once),
)  # fmt: skip

ROBUSTNESS = Suite("robustness", 4, "units, state and arithmetic", ANY, CASES)
"""Units, resets, large windows, invalid numbers and shared state."""

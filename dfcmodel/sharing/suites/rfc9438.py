"""RFC 9438 as cases: CUBIC's windows under fed events, beside the windows of the RFC's text.

The RFC states no tolerances. A window may differ by one packet, since stacks count whole packets or bytes (Sect. 4.1
allows both), and by 2 %, since they estimate the round-trip time and the time of ACKs in their own units.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from dfcmodel.sharing.suites.cases import NotJudged, Observation, Suite, SuiteCase, Tolerance
from dfcmodel.sharing.suites.connections import (
    ABOUT_RATIO,
    EVENTS_TO_MINIMUM,
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
from dfcmodel.sharing.suites.cubic_reference import BETA, K_of, Reference

if TYPE_CHECKING:
    from dfcmodel.sharing.suites.fed_connections import Connection
    from responsefn import WindowRule

__all__ = ["RFC9438"]

PACKET = Tolerance(1.0, 0.02)
ABOUT_PACKET = "own choice: one packet, as stacks count packets or bytes (Sect. 4.1), and 2 % for clocks and estimates"
ABOUT_STEP = "own choice: a third of the step from 0.53 to 1; growth in whole packets differs by a tenth"
LARGE_WINDOW, SMALL_WINDOW = 400.0, 40.0
"""Windows before a loss, packets: in the cubic and in the Reno-friendly region at the round-trip times used."""
SHORT_RTT, RTTS = 0.01, (0.05, 0.5)
"""Round-trip times, s, in the Reno-friendly region, and at which the curve is followed. With the longer one it rises by
27 packets per round trip at first, so that W_cubic(t) is told from W_cubic(t + RTT)."""
FRIENDLY_SPAN = 0.4
"""Time after a loss at 28 packets with the short one, s: W_est passes cwnd_prior after half of it."""
LONG_RTTS = (2.0, 5.0)
"""Round-trip times, s: with the longer one W_cubic(t + RTT) exceeds two windows from 400 packets on."""
GROWTH_ACKS = 20
"""ACKs over which the largest growth is averaged. A stack that counts whole packets adds none or one at an ACK. At half
a packet per ACK an even number of ACKs adds a whole number of packets, so that rounding does not exceed the limit. 20
are a fourteenth of the round trip after the loss."""
ROUND_TRIPS = 10
"""Round trips over which growth is averaged where it is a packet per round trip: rounding is at most a tenth of it."""
LARGE_WINDOW_SHARE, LARGE_WINDOW_ACKS = 1.1, 10_000
"""Window after a loss, 2^32 bytes, and ACKs after it."""
MEDIUM_WINDOW = 100.0
LIMITS = ((math.inf, 7.0), (10.0, 5.0), (math.inf, 0.2))
"""Packets in flight for which an application has data, and for how long, s, after a loss at a window of 100 packets: at
the end the window is above that of the loss, so that fast convergence does not apply to the next one."""
LIMIT, LIMIT_DURATION, SPAN_AFTER_LIMIT = 10.0, 5.0, 5.0
"""Packets in flight for which an application has data, and for how long, s, from K after a loss on; and how long the
window is followed afterwards, s. If the time counts, W_cubic is C x 5^3 = 50 packets above W_max at once; if more time
is taken out, it is that much below after another 5 s."""
TABLE_TOLERANCE = Tolerance(0.5, 0.1)
"""Tables have integers. Their formula is the larger of two responses, without the lag of a round trip: 4 %
(`responsefn.CUBIC`). The remainder is for one packet of small windows."""
TABLES = {
    0.1: ((1e-2, 12.0), (1e-3, 38.0), (1e-4, 187.0), (1e-5, 1054.0)),
    0.01: ((1e-2, 12.0), (1e-3, 38.0), (1e-4, 120.0), (1e-5, 379.0)),
}
"""Round-trip time in s, and loss rate with the average window at C = 0.4 (RFC 9438, Tables 1 and 2)."""


def _rounds(connection: Connection, reference: Reference, until: float, label: str) -> Iterator[Observation]:
    """Feed ACKs to a connection and to the reference until time ``until``, s; yield both windows once per RTT."""
    start, due = connection.now, connection.now + connection.rtt
    while connection.now < until:
        connection.ack()
        reference.ack(connection.now)
        if connection.now >= due:
            due += connection.rtt
            yield Observation(f"{connection.now - start:.2f} s after {label}", reference.window, connection.window)


def _after_loss(
    window: float, rtts: tuple[float, ...], spans: tuple[float, float], rule: WindowRule
) -> Iterator[Observation]:
    """Yield windows, at each RTT, s, once per round trip from ``spans[0]`` K to ``spans[1]`` K after a first loss."""
    for rtt in rtts:
        connection = connect(rule, rtt)
        before, after = lose_at(connection, window)
        reference = Reference(connection.now, after, before, before, rtt)
        begin, end = (connection.now + span * reference.K for span in spans)
        for _ in _rounds(connection, reference, begin, "the loss"):
            pass
        reference.window = connection.window  # the case begins where the last one ends
        yield from _rounds(connection, reference, end, f"{spans[0]:g} K, {1000 * rtt:g} ms")


def _large_windows(rule: WindowRule) -> Iterator[Observation]:
    """Yield the growth, packets, in 10,000 ACKs after a loss at a window beyond 2^32 bytes."""
    connection, before, label = lose_a_large_window(rule, LARGE_WINDOW_SHARE)
    window = connection.window
    reference = Reference(connection.now, window, before, before, connection.rtt)
    for _ in range(LARGE_WINDOW_ACKS):
        connection.ack()
        reference.ack(connection.now)
    event = f"{LARGE_WINDOW_ACKS} ACKs after a loss at {label}"
    yield Observation(event, reference.window - window, connection.window - window)


def _friendly_below_peak(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows for 0.4 s after a second loss below the last peak, in which W_est passes cwnd_prior.

    W_cubic is below W_est with fast convergence and without it, which lowers W_max to 0.85 of cwnd_prior.
    """
    connection = connect(rule, SHORT_RTT)
    _, before = lose_at(connection, SMALL_WINDOW)
    connection.report_loss()
    reference = Reference(connection.now, connection.window, before, before, connection.rtt)
    yield from _rounds(connection, reference, connection.now + FRIENDLY_SPAN, "the second loss")


def _after_limited_application(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows until K after a loss, before which the application limited the packets in flight."""
    connection = connect(rule, 0.05)
    lose_at(connection, MEDIUM_WINDOW)
    for available, duration in LIMITS:
        connection.limit_application(available)
        end = connection.now + duration
        while connection.now < end:
            connection.ack()
    before = connection.window
    connection.report_loss()
    reference = Reference(connection.now, connection.window, before, before, connection.rtt)
    yield from _rounds(connection, reference, connection.now + reference.K, "the loss")


def _limited_stage(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows for 5 s after an application has limited the packets in flight for 5 s, from K after a loss on."""
    connection = connect(rule, 0.05)
    before, after = lose_at(connection, LARGE_WINDOW)
    reference = Reference(connection.now, after, before, before, connection.rtt)
    for _ in _rounds(connection, reference, connection.now + reference.K, "the loss"):
        pass
    begin = connection.now
    connection.limit_application(LIMIT)
    while connection.now < begin + LIMIT_DURATION:
        connection.ack()
    connection.limit_application(math.inf)
    reference.start += connection.now - begin
    reference.window = connection.window  # the case begins where the last one ends
    yield from _rounds(connection, reference, connection.now + SPAN_AFTER_LIMIT, "the application's limit")


def _at_plateau(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window, packets, at time K after a first loss."""
    connection = connect(rule, 0.05)
    before, after = lose_at(connection, LARGE_WINDOW)
    reference = Reference(connection.now, after, before, before, connection.rtt)
    rows = list(_rounds(connection, reference, connection.now + reference.K, "the loss"))
    yield rows[-1]


def _growth_per_ack(rule: WindowRule) -> Iterator[Observation]:
    """Yield the mean growth per ACK, packets, over the last 20 ACKs, at each ACK of the 30 s after a loss.

    The curve is far above the window there.
    """
    for rtt in LONG_RTTS:
        connection = connect(rule, rtt)
        lose_at(connection, LARGE_WINDOW)
        windows = deque([connection.window], maxlen=GROWTH_ACKS + 1)
        end = connection.now + 30.0
        while connection.now < end:
            connection.ack()
            windows.append(connection.window)
            if len(windows) > GROWTH_ACKS:
                event = f"{GROWTH_ACKS} ACKs until {connection.now:.2f} s, {1000 * rtt:g} ms"
                yield Observation(event, 0.5, (windows[-1] - windows[0]) / GROWTH_ACKS)


def _never_below(rule: WindowRule) -> Iterator[Observation]:
    """Yield the change of the window per ACK, packets, for 5 s after two losses, the second below the peak."""
    connection = connect(rule, 0.1)
    lose_at(connection, 200.0)
    connection.report_loss()
    end = connection.now + 5.0
    while connection.now < end:
        window = connection.window
        connection.ack()
        yield Observation(f"ACK at {connection.now:.2f} s", 0.0, connection.window - window)


def _one_per_round(rule: WindowRule, *, after_timeout: bool = False) -> Iterator[Observation]:
    """Yield the mean growth per round trip, packets, after W_est has reached the window before the last reduction.

    That is a loss, or with ``after_timeout`` a timeout, after which W_max is the first window of the stage.
    """
    if after_timeout:
        connection, before = _slow_start_again(rule, SHORT_RTT, SMALL_WINDOW)
        w_max = connection.window
    else:
        connection = connect(rule, SHORT_RTT)
        before, _ = lose_at(connection, SMALL_WINDOW)
        w_max = before
    reference = Reference(connection.now, connection.window, w_max, before, connection.rtt)
    while reference.estimate < before + 1.0:
        connection.ack()
        reference.ack(connection.now)
    window = connection.window
    for _ in range(ROUND_TRIPS):
        connection.ack_round_trip()
    growth = (connection.window - window) / ROUND_TRIPS
    yield Observation(f"{ROUND_TRIPS} round trips after W_est reached cwnd_prior", 1.0, growth)


def _decrease(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window after a first loss to that before."""
    before, after = lose_at(connect(rule), LARGE_WINDOW)
    yield Observation(f"loss 1 at a window of {before:.0f} packets", BETA, after / before)


def _minimum(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window, packets, after each of 20 losses in a row."""
    connection = connect(rule)
    slow_start_to(connection, SMALL_WINDOW)
    for number in range(1, EVENTS_TO_MINIMUM + 1):
        connection.report_loss()
        yield Observation(f"loss {number} in a row", 2.0, connection.window)


def _fast_convergence(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows until K after a second loss below the last peak: W_max is (1 + beta) / 2 of the window."""
    connection = connect(rule, 0.1)
    _, before = lose_at(connection, LARGE_WINDOW)
    connection.report_loss()
    w_max = before * (1.0 + BETA) / 2.0
    reference = Reference(connection.now, connection.window, w_max, before, connection.rtt)
    yield from _rounds(connection, reference, connection.now + K_of(w_max, connection.window), "the second loss")


def _timeout_window(rule: WindowRule) -> Iterator[Observation]:
    """Yield the window after a timeout, packets."""
    connection = connect(rule)
    slow_start_to(connection, 100.0)
    connection.time_out()
    yield Observation("timeout at a window of 100 packets", loss_window(rule), connection.window)


def _slow_start_again(
    rule: WindowRule, rtt: float = 0.1, window: float = LARGE_WINDOW, *, after_loss: bool = False
) -> tuple[Connection, float]:
    """Return a connection at the end of slow start after a timeout, and the window at the timeout, packets.

    With ``after_loss`` a loss comes before the timeout, whose K and W_max the rule then has.
    """
    connection = connect(rule, rtt)
    slow_start_to(connection, window)
    if after_loss:
        connection.report_loss()
    before = connection.window
    connection.time_out()
    if connection.window >= BETA * before:
        raise NotJudged("no slow start follows the timeout, see timeout-window")
    while True:
        window = connection.window
        connection.ack()
        if connection.window - window < 0.75:  # slow start adds a packet per ACK, Sect. 4.2 half of one at most
            return connection, before
        if connection.window > 2.0 * before:
            raise NotJudged(f"slow start goes on above {connection.window:.0f} packets, see timeout-threshold")


def _timeout_threshold(rule: WindowRule) -> Iterator[Observation]:
    """Yield the ratio of the window at which slow start ends after a timeout to that before; NaN if it has no end."""
    try:
        connection, before = _slow_start_again(rule)
    except NotJudged as reason:
        yield Observation(str(reason), BETA, float("nan"))
        return
    event = f"end of slow start after a timeout at {before:.0f} packets"
    yield Observation(event, BETA, connection.window / before)


def _after_timeout(rule: WindowRule) -> Iterator[Observation]:
    """Yield windows for 6 s of the first congestion avoidance after a timeout: K = 0, W_max its first window."""
    for after_loss in (False, True):
        connection, before = _slow_start_again(rule, after_loss=after_loss)
        reference = Reference(connection.now, connection.window, connection.window, before, connection.rtt)
        label = "the end of slow start" + (", with a loss before the timeout" if after_loss else "")
        yield from _rounds(connection, reference, connection.now + 6.0, label)


def _spurious(rule: WindowRule) -> Iterator[Observation]:
    """Raise NotJudged: rules are not told of spurious losses."""
    raise NotJudged("rules are not told that a loss was spurious (DSACK, F-RTO or Eifel)")


def _slow_start(rule: WindowRule) -> Iterator[Observation]:
    """Yield the growth per ACK, packets, in slow start up to a window of 100 packets, at a constant RTT."""
    connection = connect(rule)
    first = connection.window
    while connection.window < 100.0:
        window = connection.window
        connection.ack()
        yield Observation(f"ACK at {connection.now:.2f} s", 1.0, connection.window - window)
        if connection.window <= first and connection.now > 10.0:
            return


def _average(rtt: float, rule: WindowRule) -> Iterator[Observation]:
    """Yield the average window, packets, from one loss to the next at each loss rate of a table for RTT ``rtt``, s.

    The formula of the tables has cycles that repeat. So the first loss comes at the peak to which a cycle returns; over
    several cycles fast convergence would lower the average, since a peak a little below the last one counts as lower.
    """
    for p, expected in TABLES[rtt]:
        is_friendly = expected < 1.02 * math.sqrt(1.5 / p)  # Sect. 4.3: the average of Reno
        connection = connect(rule, rtt)
        lose_at(connection, expected * (2.0 / (1.0 + BETA) if is_friendly else 4.0 / (3.0 + BETA)))
        area, start = 0.0, connection.now
        for _ in range(round(1.0 / p)):
            before, window = connection.now, connection.window
            connection.ack()
            area += window * (connection.now - before)
        yield Observation(f"loss rate {p:g}, {rtt:g} s", expected, area / (connection.now - start))


def _window_case(id: str, where: str, expectation: str, observe: Callable[..., Iterator[Observation]]) -> SuiteCase:
    """Return a case that compares windows with the reference's, within one packet and 2 %."""
    return SuiteCase(id, "window", "packets", expectation, "=", PACKET, where, observe, ABOUT_PACKET)


CASES = (
    _window_case("concave", "RFC 9438, Sect. 4.2 and 4.4",
                 "until K after a loss, each ACK adds (target - cwnd)/cwnd, with the target W_cubic(t + RTT)",
                 partial(_after_loss, LARGE_WINDOW, RTTS, (0.0, 1.0))),
    _window_case("plateau", "RFC 9438, Sect. 4.2, Figures 1 and 2",
                 "K seconds after a loss the window is at W_max, less the lag of a round trip", _at_plateau),
    _window_case("convex", "RFC 9438, Sect. 4.5", "from K to 2 K, the same increment above W_max",
                 partial(_after_loss, LARGE_WINDOW, RTTS, (1.0, 2.0))),
    SuiteCase("largest-growth", f"mean growth per ACK over {GROWTH_ACKS} ACKs", "packets",
              "the target is at most 1.5 cwnd: half a packet per ACK", "<=", Tolerance(0.01), "RFC 9438, Sect. 4.2",
              _growth_per_ack, "own choice: rounding to bytes; growth in whole packets is within the mean"),
    SuiteCase("no-decrease", "change of the window per ACK", "packets",
              "the target is at least cwnd: ACKs never lower the window", ">=", Tolerance(1e-9),
              "RFC 9438, Sect. 4.2", _never_below, "rounding of floating-point numbers"),
    _window_case("reno-friendly", "RFC 9438, Sect. 4.3, Figure 4",
                 "where W_cubic(t) is below W_est the window is W_est, which grows by alpha_cubic per window",
                 partial(_after_loss, SMALL_WINDOW, (SHORT_RTT,), (0.0, 0.5))),
    _window_case("reno-friendly-below-peak", "RFC 9438, Sect. 4.3 and 4.7",
                 "after a loss below the last peak, alpha_cubic is below 1 until W_est has reached cwnd_prior, which "
                 "fast convergence does not lower", _friendly_below_peak),
    SuiteCase("alpha-one", f"mean growth per round trip over {ROUND_TRIPS} of them", "packets",
              "alpha_cubic is 1 once W_est has reached the window before the loss", "=", Tolerance(0.15),
              "RFC 9438, Sect. 4.3", _one_per_round,
              ABOUT_STEP),
    SuiteCase("alpha-one-after-timeout", f"mean growth per round trip over {ROUND_TRIPS} of them", "packets",
              "alpha_cubic is 1 once W_est has reached the window before the timeout", "=", Tolerance(0.15),
              "RFC 9438, Sect. 4.3 and 4.8", partial(_one_per_round, after_timeout=True), ABOUT_STEP),
    SuiteCase("large-windows", "growth after a loss", "packets",
              "the curve is that of Sect. 4.2 at windows above 2^32 bytes too", "=", PACKET,
              "RFC 9438, Sect. 4.2, eq. 1 and 2", _large_windows, ABOUT_PACKET),
    SuiteCase("decrease", "window after a loss over the window before", "", "a loss leaves beta_cubic = 0.7", "=",
              RATIO, "RFC 9438, Sect. 4.6", _decrease, ABOUT_RATIO),
    SuiteCase("minimum-window", "window after losses in a row", "packets", "a loss leaves at least two packets", ">=",
              Tolerance(0.01), "RFC 9438, Sect. 4.6", _minimum, "own choice: rounding to bytes"),
    SuiteCase("consecutive-losses", "window after a loss over the window before", "",
              "a loss below the last peak leaves 0.7 of the window too: fast convergence lowers W_max alone", "=",
              RATIO, "RFC 9438, Sect. 4.6 and 4.7", observe_consecutive_losses, ABOUT_RATIO),
    _window_case("fast-convergence", "RFC 9438, Sect. 4.7",
                 "after a loss below the last peak, W_max is (1 + beta_cubic)/2 of the window (SHOULD)",
                 _fast_convergence),
    _window_case("limited-application", "RFC 9438, Sect. 4.2 and 5.8",
                 "a loss begins a stage, whose time has nothing of an application's limits before it",
                 _after_limited_application),
    _window_case("limited-stage", "RFC 9438, Sect. 4.2 and 5.8",
                 "the time of a stage has none in which the application limits the window", _limited_stage),
    SuiteCase("losses-in-recovery", "window after losses in a recovery over the window before", "",
              "further losses of a recovery do not lower the window again", "=", RATIO,
              "RFC 9438, Sect. 4.6; RFC 6675, Sect. 5; RFC 9002, Sect. 7.3.2", observe_losses_in_recovery, ABOUT_RATIO),
    SuiteCase("timeout-window", "window after a timeout", "packets",
              "a timeout leaves one packet as in Reno, or in QUIC, whose window limits packets in flight, two", "<=",
              Tolerance(0.01), "RFC 9438, Sect. 4.8; RFC 5681, Sect. 3.1; RFC 9002, Sect. 7.6.2", _timeout_window,
              "own choice: rounding to bytes"),
    SuiteCase("timeout-threshold", "window at the end of slow start over the window at the timeout", "",
              "ssthresh after a timeout is beta_cubic = 0.7 of the window", "=", RATIO,
              "RFC 9438, Sect. 4.8", _timeout_threshold, ABOUT_RATIO),
    SuiteCase("minimum-threshold", "ssthresh after losses or timeouts in a row", "packets",
              "ssthresh is at least two packets", ">=", Tolerance(0.01),
              "RFC 9438, Sect. 4.6, Figure 5, and 4.8; RFC 5681, Sect. 3.1, eq. 4", observe_minimum_threshold,
              "own choice: rounding to bytes"),
    SuiteCase("small-windows", "window and ssthresh after a loss, ssthresh after a timeout", "packets",
              "they are at most beta_cubic = 0.7 of the window, or two packets", "<=", Tolerance(0.01),
              "RFC 9438, Sect. 4.6, Figure 5, and 4.8; RFC 9002, Sect. 7.2", observe_small_windows,
              "own choice: rounding to bytes"),
    _window_case("after-timeout", "RFC 9438, Sect. 4.8",
                 "the first stage after a timeout begins with K = 0 and W_max = cwnd", _after_timeout),
    SuiteCase("timeout-in-recovery", "growth per ACK after a timeout in a recovery", "packets",
              "a timeout ends the recovery, and slow start follows", "=", Tolerance(0.01),
              "RFC 9438, Sect. 4.8 and 4.10; RFC 6582, Sect. 3.2, step 4", observe_timeout_in_recovery,
              "own choice: rounding to bytes"),
    SuiteCase("limited-growth", "window while the application limits the packets in flight", "packets",
              "it stays", "<=", Tolerance(0.01), "RFC 9438, Sect. 5.8", observe_limited_growth,
              "own choice: rounding to bytes"),
    _window_case("spurious", "RFC 9438, Sect. 4.9", "a spurious decrease is undone", _spurious),
    SuiteCase("slow-start", "growth per ACK below the threshold", "packets", "slow start adds a packet per packet", "=",
              Tolerance(0.01), "RFC 9438, Sect. 4.10; RFC 5681, Sect. 3.1", _slow_start,
              "own choice: rounding to bytes"),
    SuiteCase("pacing", "pacing rate over a window per round-trip time", "",
              "a sender that paces sends a window per round trip or more", ">=", RATIO, "RFC 9002, Sect. 7.7",
              observe_pacing, "own choice: intervals between packets in whole units of a clock"),
    SuiteCase("table-1", "average window with a loss every 1/p packets, 100 ms", "packets",
              "the average window is that of the table", "=", TABLE_TOLERANCE, "RFC 9438, Sect. 5.1, Table 1",
              partial(_average, 0.1),
              "rounding to integers, and 10 %: 4 % of the formula, one packet of small windows"),
    SuiteCase("table-2", "average window with a loss every 1/p packets, 10 ms", "packets",
              "the average window is that of the table", "=", TABLE_TOLERANCE, "RFC 9438, Sect. 5.1, Table 2",
              partial(_average, 0.01),
              "rounding to integers, and 10 %: 4 % of the formula, one packet of small windows"),
)  # fmt: skip

RFC9438 = Suite("rfc9438", 5, "RFC 9438, CUBIC for Fast and Long-Distance Networks, 2023", ("cubic-rfc9438",), CASES)
"""Sections 4.2 to 4.10 and the tables of Section 5.1."""

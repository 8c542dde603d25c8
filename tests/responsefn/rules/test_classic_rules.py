"""Rules of RFC 5681 and its relatives, and what every rule has."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hopflow import maximum, minimum, where
from responsefn import (
    AIMD,
    ARENO,
    DCTCP,
    FAST,
    Feedback,
    NewReno,
    NS2Vegas,
    Relentless,
    Reno,
    Tahoe,
    Vegas,
    Westwood,
    WindowRule,
    invert,
)
from responsefn.linux import LinuxVegas
from tests.responsefn.events import Event
from tests.surface import for_each

# What the classic rules do to the window, ACK by ACK.

RULES = [AIMD(), AIMD(0.2, 0.125), AIMD(3 / 7, 0.25), AIMD(32.0, 0.9), Reno(), NewReno(), Tahoe()]


def increase_of(rule):
    return rule.a if isinstance(rule, AIMD) else 1.0


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("window", [10, 100, 1000])
def test_a_window_of_acks_adds_a(rule, window):
    """W ACKs of a / cwnd each: sqrt(W^2 + 2aW) - W to leading order, between a - a^2/(2W) and a."""
    state, increase = rule.State(cwnd=float(window), ssthresh=2.0), increase_of(rule)
    for _ in range(window):
        state = rule.on_ack(state, rule.params, None)
    growth = state.cwnd - window
    assert increase - increase**2 / (2 * window) < growth <= increase * (1 + 1e-12)
    assert state.ssthresh == 2.0


@for_each(RULES)
def test_slow_start_doubles_each_round_trip(rule):
    state = rule.State()
    assert state == (1.0, math.inf)
    for acks in (1, 2, 4, 8):
        for _ in range(acks):
            state = rule.on_ack(state, rule.params, None)
    assert state.cwnd == 16.0


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("window", [1.0, 1.5, 2.0, 3.0, 4.0, 57.25, 1e6])
def test_cuts(rule, window):
    state = rule.State(cwnd=window, ssthresh=10.0)
    after = rule.on_loss(state, rule.params, None)
    kept = 1 - rule.b if isinstance(rule, AIMD) else 0.5
    assert after.cwnd == (1.0 if isinstance(rule, Tahoe) else max(1.0, kept * window))
    assert after.ssthresh == max(2.0, kept * window)
    assert 1.0 <= after.cwnd <= window
    expired = rule.on_timeout(state, rule.params, None)
    assert expired == (1.0, max(2.0, window / 2))


def last_cycle(rule, loss_rate, cycles=40):
    """Peak window and round trips of the cycle after many, one packet in 1/p lost.

    A round trip ends when as many packets were acknowledged as its first window held.
    """
    acks = round(1 / loss_rate)
    state = rule.State(cwnd=rule.peak_window(loss_rate) / 3, ssthresh=2.0)
    peak = rounds = 0.0
    for _ in range(cycles):
        state = rule.on_loss(state, rule.params, None)
        left, rounds = acks, 0.0
        while left > 0:
            window = max(1, round(state.cwnd))
            sent = min(left, window)
            for _ in range(sent):
                state = rule.on_ack(state, rule.params, None)
            left, rounds = left - sent, rounds + sent / window
        peak = state.cwnd
    return peak, rounds


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("loss_rate", [1e-3, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_the_windows_own_cycle_has_the_response(rule, loss_rate):
    """Per-ACK simulation without recovery: the square-root law (Tahoe: its cycle) up to O(1 / rounds)."""
    peak, rounds = last_cycle(rule, loss_rate)
    expected = rule.peak_window(loss_rate)
    assert peak == pytest.approx(expected, abs=0.6 + 0.5 * increase_of(rule))
    mean = rule.mean_window(loss_rate)
    assert 1 / (loss_rate * rounds) == pytest.approx(mean, rel=1.5 / rounds)


# DCTCP: marks, not losses.


def test_a_loss_halves_and_a_mark_cuts_by_half_of_alpha():
    """RFC 8257, 3.3 and 3.5: here a tenth of the packets were marked, and one of 40 is now."""
    rule = DCTCP()
    state = rule.State(cwnd=40.0, ssthresh=2.0, alpha=0.1, since=50.0)
    assert rule.on_drop(state, rule.params, Feedback(1.0, 0.1, 1.0, 0.0)).cwnd == 20.0
    alpha = 0.1 + 1 / 16 / 40
    marked = rule.on_mark(state, rule.params, Feedback(1.0, 0.1, 1.0, 1.0))
    assert marked.cwnd == pytest.approx(40.0 * (1 - alpha / 2))


# Relentless: one packet less for each that is lost.


def test_growth_of_a_round_trip_makes_up_for_one_loss():
    """1/p ACKs of 1/w each from the peak less 1: the squared window grows by 2 + 1/w^2 each."""
    rule, p = Relentless(), 1e-3
    state = rule.on_loss(rule.State(float(rule.peak_window(p)), 2.0), rule.params, None)
    for _ in range(1000):
        state = rule.on_ack(state, rule.params, None)
    assert state.cwnd == pytest.approx(rule.peak_window(p), rel=1e-6)


def test_the_closed_form_is_the_numerical_cycle():
    p = np.geomspace(1e-6, 0.02, 5)
    np.testing.assert_allclose(Relentless().cycle(p, 0.1).rate, Relentless().rate(p, 0.1), rtol=1e-3)


# Vegas and FAST rest with alpha packets in the queue.


def test_rest_without_loss():
    """Vegas and FAST keep alpha packets in the queue; Vegas' last step is up to 1/16 of a packet."""
    C, R, p = 2000.0, 0.04, np.array([1e-10, 1e-7, 1e-5])
    fast = FAST(alpha=50.0).cycle(p, R, C)
    np.testing.assert_allclose(fast.peak_window, C * R + 50.0, rtol=1e-9)
    assert fast.mean_window[0] == pytest.approx(C * R + 50.0, rel=1e-6)
    vegas, W = Vegas().cycle(p, R, C), C * R + 2.0
    assert ((vegas.peak_window >= W) & (vegas.peak_window <= W + 1 / 16)).all()
    climb = R * (C * R - W / 2) - ((C * R) ** 2 - (W / 2) ** 2) / (2 * C)
    np.testing.assert_allclose(vegas.rate, 1 / (p * climb + 1 / C), rtol=1e-3)


def test_the_slow_start_of_ns2_doubles_in_every_other_round_trip_and_ends_at_a_queue() -> None:
    """Brakmo and Peterson (1995), 3.3: in between it compares; the response is that of Vegas with its thresholds."""
    rule, rtt = NS2Vegas(), 0.1
    state, windows = rule.State(), []
    for trip in range(7):
        late = rtt if trip < 6 else 1.5 * rtt  # then a queue builds up
        for n in range(int(state.cwnd)):
            event = Event(trip * rtt + 1e-3 + n * 1e-6, late)
            state = rule.on_ack(state, rule.params, event)
        windows.append(round(state.cwnd, 9))
    assert windows[:-1] == [2.0, 2.0, 4.0, 4.0, 8.0, 8.0]
    assert windows[-1] == state.ssthresh < 16.0  # it ended before it had doubled
    same = Vegas(alpha=1.0, beta=3.0)
    assert rule.rate(1e-3, 0.04, bandwidth=8333.0) == pytest.approx(same.rate(1e-3, 0.04, bandwidth=8333.0), rel=1e-9)


WINDOWS = Path(__file__).with_name("vegas_windows.csv")
"""Windows and thresholds of four rules that were written one by one from their sources, on the path of `walked`."""
PRESETS = (Vegas(), NS2Vegas(), LinuxVegas(), LinuxVegas(kernel="2.6.22"))


def walked(rule, acks=6000):
    """Return cwnd and ssthresh after every 150th event: ACKs with jittered round-trip times, losses and timeouts."""
    s, q, draw, now, found = rule.start(0.04, 1000.0), rule.params, 12345, 0.0, []
    for n in range(acks):
        draw = (1103515245 * draw + 12345) % 2**31
        rtt = max(0.04, s.cwnd / 1000.0) + 0.002 * (draw / 2**31)
        now += rtt / s.cwnd
        event = rule.on_loss if n % 1999 == 1500 else rule.on_ack
        event = rule.on_timeout if n % 1999 != 1500 and n % 4001 == 3500 else event
        s = event(s, q, Event(now, rtt))
        if n % 150 == 149:
            found.append((n, s.cwnd, s.ssthresh))
    return found


@pytest.mark.parametrize("rule", PRESETS, ids=repr)
def test_the_presets_of_vegas_have_the_windows_of_the_rules_they_stand_for(rule):
    with WINDOWS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["rule"] == repr(rule)]
    expected = [(int(row["ack"]), float(row["cwnd"]), float(row["ssthresh"])) for row in rows]
    assert walked(rule) == expected
    assert len({row["cwnd"] for row in rows}) > 10


@pytest.mark.parametrize("preset", PRESETS[1:], ids=repr)
def test_a_preset_is_vegas_with_its_parameters(preset):
    numbers = {name: getattr(preset, name) for name in Vegas.Params._fields}
    assert numbers != Vegas().params._asdict()
    same = Vegas(**numbers)
    assert walked(same) == walked(preset)
    assert (same.on_ack, same.on_loss) == (preset.on_ack, preset.on_loss)


# Westwood under random loss.


def test_random_loss_hardly_reduces_the_rate():
    """The rule's aim: at p = 1e-3 Reno has sqrt(3/(2p))/R = 968 packets/s of these 2000."""
    assert Westwood().rate(1e-3, 0.04, bandwidth=2000.0) > 1990.0


class Endless(Westwood):
    """A window that a loss does not touch."""

    capacity = "ignored"

    @staticmethod
    def on_loss(s, q, e):
        return s


@pytest.mark.slow
def test_a_window_that_does_not_come_to_rest_has_no_rate():
    with pytest.raises(ArithmeticError, match=r"^Endless\(\): p = 0.02, .* drifts after 4194304 loss"):
        Endless().rate(0.02, 0.08)


# Adaptive Reno's increase by its definition; its steps are those of published_steps.py.


def increase(level, inclusive, unit=10e6 / 12000):
    """Packets per round trip that the probe grows by, of a link of 10 units."""
    rule, base = ARENO(inclusive=inclusive), 0.04
    window = 200.0
    state = rule.State(window, 2.0, 100.0, base, 0.08, 10 * unit)
    grown = rule.on_ack(state, rule.params, Event(0.0, base + level * base))
    return (grown.cwnd - window) * window - 1.0  # less Reno's packet


@pytest.mark.parametrize("inclusive", [0, 1])
def test_increase_at_full_congestion_and_its_mean(inclusive):
    """beta and gamma make W_inc(1) and its mean over 0..1 one packet, Reno's beside it or in it."""
    levels = np.linspace(0.0, 1.0, 2001)
    values = np.array([increase(level, inclusive) for level in levels])
    assert values[0] == pytest.approx(10.0 - 2 * 10 * (0.1 - 0.6 * np.exp(-10)) + 1 - inclusive)
    assert values[-1] == pytest.approx(1 - inclusive, abs=1e-9)
    assert np.trapezoid(values, levels) == pytest.approx(1 - inclusive, abs=1e-4)


@pytest.mark.parametrize(("memory", "kept"), [(0.5, 0.055), (0.85, 0.0585)])
def test_the_round_trip_time_at_losses_is_an_average(memory: float, kept: float) -> None:
    """The text's, and that of the implementations for ns-3."""
    rule = ARENO(memory=memory)
    state = rule.on_loss(rule.State(100.0, 2.0, 100.0, 0.04), rule.params, Event(1.0, 0.06))
    assert state.loss_rtt == 0.06
    state = rule.on_loss(state, rule.params, Event(2.0, 0.05))
    assert state.loss_rtt == pytest.approx(kept)


# What a user's own rule needs, and gets.


class Gentle(WindowRule):
    class State(NamedTuple):
        cwnd: float = 1.0
        ssthresh: float = math.inf
        losses: float = 0.0

    class Params(NamedTuple):
        a: float = 0.25

    recovery = "sack"

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.9 * s.cwnd), losses=s.losses + 1.0)

    @staticmethod
    def on_timeout(s, q, e):
        return s._replace(cwnd=1.0)


def test_a_users_rule():
    rule = Gentle(a=0.5)
    assert rule.on_ack(rule.State(cwnd=10.0), rule.params, None).cwnd == 10.05
    with pytest.raises(TypeError, match=r"Gentle states no closed form.*Gentle\.formula"):
        assert rule.expression


def test_a_users_rule_has_the_response_of_its_cycle():
    """Gentle is AIMD(a, 0.1): its three functions are all that it takes."""
    rule, known = Gentle(a=0.5), AIMD(0.5, 0.1)
    for p in (1e-6, 1e-4, 1e-2):
        assert rule.rate(p, 0.1) == pytest.approx(known.rate(p, 0.1), rel=2e-3)
        assert rule.peak_window(p, 0.1) == pytest.approx(known.peak_window(p), rel=2e-3)
        assert rule.elasticity(p, 0.1) == pytest.approx(-0.5, abs=2e-3)
    grid = rule.rate([[1e-5], [1e-3]], [0.05, 0.1])
    assert grid.shape == (2, 2)
    assert grid[1, 1] == pytest.approx(rule.rate(1e-3, 0.1), rel=1e-12)
    p = invert(rule, 300.0, 0.1)
    assert rule.rate(p, 0.1) == pytest.approx(300.0, rel=1e-8)


class Backing(WindowRule):
    """Reno that backs off where its round trip is longer than the shortest one by more than a bound."""

    class Params(NamedTuple):
        bound: float = 0.005

    class State(NamedTuple):
        cwnd: float = 2.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf

    @staticmethod
    def on_ack(s, q, e):
        base = minimum(s.base_rtt, e.rtt)
        step = where(e.rtt - base > q.bound, -1.0, 1.0) / s.cwnd
        return s._replace(cwnd=maximum(2.0, s.cwnd + step), base_rtt=base)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.5 * s.cwnd))


def test_a_rule_that_reads_the_round_trip_time_needs_the_capacity_unless_it_says_otherwise():
    with pytest.raises(ValueError, match=r"Backing reads e\.rtt.*capacity = \"optional\" in the class"):
        Backing().rate(1e-4, 0.03)
    assert 950.0 < Backing().rate(1e-4, 0.03, bandwidth=1000.0) <= 1000.0

    class Fixed(Backing):
        capacity = "optional"

    without = Fixed().rate(1e-4, 0.03)
    assert without == pytest.approx(Reno().rate(1e-4, 0.03), rel=0.02)  # never more than the bound
    assert Fixed().rate(1e-4, 0.03, bandwidth=1000.0) == Backing().rate(1e-4, 0.03, bandwidth=1000.0)

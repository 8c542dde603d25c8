"""Cycles of rules and where they start."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    Reno,
    RuleError,
    Scalable,
    Westwood,
    WindowRule,
    catalogue,
    simulate_rule,
)
from responsefn.responses import cycle_loops, cycles, rule_checks
from responsefn.responses.cycle_starts import begin_at_peak
from responsefn.responses.kernel.rows import MOVES

RTT = 0.1
"""Round-trip time, s."""

# Numerical cycles against closed forms.


def test_cycle_of_a_rule_with_a_formula_is_the_formula():
    for rule in (Reno(), CUBIC(friendly=0), Scalable(), CTCP()):
        cycle = rule.cycle([1e-6, 1e-5], RTT)
        np.testing.assert_allclose(cycle.rate, rule.rate([1e-6, 1e-5], RTT), rtol=2e-3)
        np.testing.assert_allclose(
            cycle.peak_window, rule.peak_window([1e-6, 1e-5], RTT), rtol=2e-3
        )
        assert np.all(cycle.packet_mean_window > cycle.mean_window)


def test_plain_python_gives_up_within_a_long_cycle(monkeypatch):
    """A loss to a window of 1 and one packet lost in 5e8: 3e5 blocks of ACKs, of which few are made."""
    addresses, made = cycle_loops.addresses, []

    def counted(step):
        def call(run, *more):
            step(run, *more)
            made.append(run[MOVES])

        return addresses(call)

    monkeypatch.setattr(cycle_loops, "addresses", counted)
    rule, limits = AIMD(2.0, 1.0), cycle_loops.Limits(500, cycles.MOST)
    one, start = np.ones(1), np.array([rule.State(cwnd=4e4)])
    long, short = (cycle_loops.Cases(rule, n * one, one, 0.0, start) for n in (5e8, 50.0))
    with pytest.raises(cycle_loops.UnfinishedError):
        cycle_loops.run(long, cycle_loops.PLAIN, limits)
    assert max(made) == limits.budget
    assert cycle_loops.run(short, cycle_loops.PLAIN, limits).columns[0, 6] > 0.0


class Stamped(WindowRule):
    """Grows with the time since the last loss, which `on_ack` leaves as it is; negative with a cut of 2."""

    class State(NamedTuple):
        cwnd: float = 1.0
        ssthresh: float = 2.0
        since: float = 0.0

    class Params(NamedTuple):
        cut: float = 0.3

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + (1.0 + e.time - s.since) / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        kept = s.cwnd * (1.0 - q.cut) if s.cwnd > 50.0 else max(1.0, 0.7 * s.cwnd)
        return s._replace(cwnd=kept, since=e.time)


def test_compiled_steps_in_a_loop_of_plain_python_give_the_same_answer(monkeypatch):
    """As on a machine that has not compiled the loop: to the last bit, or they are given up."""
    p, rule = np.geomspace(1e-4, 0.05, 7), Stamped()
    fields = [field.name for field in dataclasses.fields(cycles.Cycle)]
    expected = [getattr(rule.cycle(p, RTT), name) for name in fields]
    asked = []
    monkeypatch.setattr(
        cycle_loops, "is_compiled_package", lambda *names: asked.append(names) or False
    )
    monkeypatch.setattr(cycle_loops, "_by_steps", Counter({cycle_loops.kind_of(rule): 1}))
    for short in (cycle_loops.STEPS_CALLS, 20):
        monkeypatch.setattr(cycle_loops, "STEPS_CALLS", short)
        found = rule.cycle(p, RTT)
        for name, values in zip(fields, expected, strict=True):
            np.testing.assert_array_equal(getattr(found, name), values, err_msg=name)
    assert asked == 2 * [(cycle_loops.KERNEL, "cycles.run")]


def test_a_window_that_cannot_be_is_met_by_compiled_steps(monkeypatch):
    """In a state that no sample has."""
    monkeypatch.setattr(cycle_loops, "is_compiled_package", lambda *_: False)
    monkeypatch.setattr(cycle_loops, "_by_steps", Counter({cycle_loops.kind_of(Stamped()): 1}))
    monkeypatch.setattr(cycle_loops, "sample_states", lambda rule: [rule.State(cwnd=40.0)])
    monkeypatch.setattr(rule_checks, "WINDOWS", (40.0,))
    with pytest.raises(RuleError, match=r"Stamped\.on_loss returns cwnd = -\d+.*: must be 1"):
        Stamped(cut=2.0).rate(np.geomspace(1e-4, 1e-3, 7), RTT)


def test_every_rule_has_rate_and_windows_in_its_domain():
    for rule in catalogue("rule").entries:
        low, high = rule.domain
        p = np.array([max(low, 1e-4), high])
        rate = rule.rate(p, 0.04, 2000.0)
        mean, peak, packet = (
            getattr(rule, name)(p, 0.04, 2000.0)
            for name in ("mean_window", "peak_window", "packet_mean_window")
        )
        assert np.isfinite([rate, mean, peak, packet]).all(), rule
        assert (rate > 0).all()
        cycle = rule.cycle(p, 0.04, 2000.0)
        # a cycle that never settles has its peaks averaged over losses, its window over time
        assert (peak >= 0.99 * cycle.mean_window)[cycle.cycles < 2048].all(), rule


@pytest.mark.parametrize("rule", [AIMD(b=1.0), BIC(b=1.0), CTCP(b=1.0), Scalable(b=1.0)], ids=repr)
def test_a_loss_may_take_the_whole_window(rule):
    """b = 1: the simulation begins again at one packet, where a round trip is few ACKs.

    BIC comes near its cycle in thousands of losses only.
    """
    run = simulate_rule(rule, 1e-4, 0.1, events=2000)
    assert rule.rate(1e-4, 0.1) == pytest.approx(run.rate, rel=0.02)


# States with which numerical cycles begin.


def test_it_begins_at_the_peak_of_the_closed_form_or_at_that_given():
    """Reno's peak at one loss in n packets is sqrt(8 n / 3)."""
    p, rtt = np.array([1e-4]), np.array([0.1])
    assert begin_at_peak(Reno(), p, rtt, None)[0, 0] == pytest.approx((8e4 / 3) ** 0.5)
    assert begin_at_peak(Reno(), p, rtt, None, np.array([7.0]))[0].tolist() == [7.0, 2.0]


def test_estimates_of_the_rate_are_those_of_the_window():
    (state,) = begin_at_peak(Westwood(), np.array([1e-3]), np.array([0.1]), 1e3, np.array([50.0]))
    assert Westwood.State(*state).estimate == pytest.approx(500.0)

"""Cycles between losses: rates, and their dynamics."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import responsefn
from responsefn import (
    AIMD,
    ARENO,
    BBR,
    BIC,
    CTCP,
    CUBIC,
    DCQCN,
    HTCP,
    TFRC,
    TIMELY,
    Mathis,
    Reno,
    Scalable,
    Westwood,
    WindowRule,
    catalogue,
    cycles,
    friendliness,
    invert,
    rule_events,
    simulate_rule,
)
from responsefn.closed_forms.printed import formula_of
from responsefn.cycles import (
    Cases,
    Limits,
    begin_at_peak,
    check,
    find_cycles,
    follow_approach,
    solve,
)
from responsefn.dynamics import Cycle, Event
from responsefn.errors import RuleError
from responsefn.linux import WestwoodPlus
from responsefn.response import domain_of, equation_of, table_of
from tests.responsefn.simulation.kernel_rules import CountedReno, PerRound, Timer
from tests.surface import for_each

# Cycles of rules and where they start.

RTT = 0.1
"""Round-trip time, s."""

# Numerical cycles against closed forms.


def test_cycle_of_a_rule_with_a_formula_is_the_formula():
    for rule in (Reno(), CUBIC(friendly=0), Scalable(), CTCP()):
        cycle = rule.cycle([1e-6, 1e-5], RTT)
        np.testing.assert_allclose(cycle.rate, rule.rate([1e-6, 1e-5], RTT), rtol=2e-3)
        np.testing.assert_allclose(cycle.peak_window, rule.peak_window([1e-6, 1e-5], RTT), rtol=2e-3)
        assert np.all(cycle.packet_mean_window > cycle.mean_window)


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


def test_an_invalid_window_is_reported(monkeypatch):
    """In a state that no sample has."""
    monkeypatch.setattr(cycles, "sample_states", lambda rule: [rule.State(cwnd=40.0)])
    monkeypatch.setattr(rule_events, "WINDOWS", (40.0,))
    with pytest.raises(RuleError, match=r"Stamped\.on_loss returns cwnd = -\d+.*: must be 1"):
        Stamped(cut=2.0).rate(np.geomspace(1e-4, 1e-3, 7), RTT)


@pytest.mark.slow
def test_every_rule_has_rate_and_windows_in_its_domain():
    for rule in catalogue("rule").entries:
        low, high = rule.domain
        p = np.array([max(low, 1e-4), high])
        rate = rule.rate(p, 0.04, 2000.0)
        mean, peak, packet = (
            getattr(rule, name)(p, 0.04, 2000.0) for name in ("mean_window", "peak_window", "packet_mean_window")
        )
        assert np.isfinite([rate, mean, peak, packet]).all(), rule
        assert (rate > 0).all()
        cycle = rule.cycle(p, 0.04, 2000.0)
        # a cycle that never settles has its peaks averaged over losses, its window over time
        assert (peak >= 0.99 * cycle.mean_window)[cycle.cycles < 2048].all(), rule


@pytest.mark.parametrize("rule", [BIC(b=1.0), CTCP(b=1.0), CTCP(b=1.0, k=0.0), Scalable(b=1.0)], ids=repr)
def test_a_loss_of_the_whole_window_has_no_closed_form(rule):
    """The window after it is one packet, not none; just below the end there is a form."""
    assert not rule.uses_closed_form()
    assert rule.replace(b=0.5).uses_closed_form()


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


# The loops over cycles.


def cases(p: float, rtt: float) -> Cases:
    at, rtts = np.array([p]), np.array([rtt])
    return Cases(Reno(), 1 / at, rtts, 0.0, begin_at_peak(Reno(), at, rtts, None))


@pytest.mark.parametrize("acks", [False, True])
def test_plain_python_and_machine_code_find_the_same_cycle(acks):
    """To the last bit: both do the same additions."""
    limits = Limits(2e4, 128, acks)
    one, two = (find_cycles(cases(0.01, 0.1), limits, compiled=compiled) for compiled in (False, True))
    np.testing.assert_array_equal(one.columns, two.columns)
    np.testing.assert_array_equal(one.states, two.states)


class Vanishes(Reno):
    """A loss at about 25.5 packets, or an ACK at about 30, leaves a fraction of a packet; no window that is tried before."""

    class Params(NamedTuple):
        at_loss: int = 1

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=0.25 if 30.0 < s.cwnd < 30.1 and q.at_loss == 0 else s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=0.5 if 25.4 < s.cwnd < 25.6 and q.at_loss > 0 else 0.5 * s.cwnd)


@pytest.mark.parametrize(
    ("at_loss", "message"),
    [
        (1, r"on_loss returns cwnd = 0\.5: must be 1 to 1e\+15 .* for State\(cwnd=25\.5, ssthresh=7\.0\)$"),
        (0, r"on_ack returns cwnd = 0\.25: must be 1 to 1e\+15 .* for State\(cwnd=30\.0\d+, ssthresh=7\.0\)$"),
    ],
    ids=["loss", "ack"],
)
def test_an_invalid_window_is_refused_with_the_state_before_it(at_loss, message):
    """In plain Python, as in machine code: the record has event, time, round-trip time, window and that state."""
    starts = np.array([[25.5, 7.0]])
    one = Cases(Vanishes(at_loss=at_loss), np.array([1000.0]), np.array([0.1]), 0.0, starts)
    with pytest.raises(RuleError, match=message):
        find_cycles(one, Limits(2e4, 128, acks=True), compiled=False)


def test_blocks_of_a_smooth_rule_pass_the_check():
    """The square-root law 1/R sqrt(3/(2p)) is the rate; half a packet in a window of 40 is a percent."""
    found = find_cycles(cases(1e-3, 0.1), Limits(1e6, 64))
    assert found.columns[0, 0] == pytest.approx(387.3, rel=0.01)
    error, followed, later = check(cases(1e-3, 0.1), found, Limits(2e4, 1e7))[0]
    assert error < 0.004
    assert followed == 1.0
    assert later < 1e-4


def test_segments_of_a_long_cycle_are_followed():
    """3 segments of a tenth of the steps each, where these agree; otherwise up to 2500 ACKs from the beginning."""
    found = find_cycles(cases(1e-4, 0.1), Limits(1e6, 64))
    error, followed, later = check(cases(1e-4, 0.1), found, Limits(10, 2500))[0]
    assert error < 0.004
    assert 0.0 < followed < 0.25
    assert later < 1e-4
    found.columns[:, 9] = 0.0  # a budget of 10 ACKs
    assert check(cases(1e-4, 0.1), found, Limits(10, 2500))[0, 1] <= 2e-3


@pytest.mark.parametrize("rule", [CountedReno(), PerRound(), Timer()], ids=lambda r: type(r).__name__)
def test_segments_of_a_rule_that_acts_at_some_acks_differ(rule):
    """At p = 1e-6 a sample has some percent of the cycle, and the timer runs out a few times in it."""
    at, rtts = np.array([1e-6]), np.array([0.1])
    start = Cases(rule, 1 / at, rtts, 0.0, begin_at_peak(rule, at, rtts, None))
    found = find_cycles(start, Limits(1e6, 64))
    for most in (5e4, 1e6):  # the timer has not run out in the first 5 %
        assert check(start, found, Limits(1e4, most))[0, 0] > 0.004


def test_loss_events_until_a_rate_is_reached():
    """From 1 packet Reno's peak follows W^2 -> W^2/4 + 2/p: within 1 % after a few losses."""
    start = cases(1e-4, 0.1)
    rate = find_cycles(start, Limits(1e6, 64)).columns[:, 0]
    low = start._replace(starts=np.array([[1.0, 2.0]]))
    one = np.ones(1, dtype=np.int64)
    events = follow_approach(low, rate, Limits(1e6, 100, same=0.01), one)
    assert 2 <= events[0, 0] <= 8
    far = follow_approach(low, 2.0 * rate, Limits(1e6, 100, same=0.01), one)
    assert np.isinf(far[0, 0])
    assert far[0, 1:] == pytest.approx(rate[0], rel=1e-3)
    budget = np.array([10.0])
    short = follow_approach(low, rate, Limits(1e6, 100, same=0.01), one, budget)
    assert np.isinf(short[0, 0])


# What responses need of a rule: every rule of the catalogue has it, and so may any other class.


@for_each(catalogue("rule").entries)
def test_events_bring_a_rule_from_state_to_state(rule):
    state = rule.start(0.1, 1000.0)._replace(cwnd=50.0, ssthresh=2.0)
    for event in (rule.on_ack, rule.on_loss, rule.on_timeout):
        after = event(state, rule.params, Event(time=1.0, rtt=0.12))
        assert type(after) is rule.State
        assert 1.0 <= after.cwnd <= 60.0


def test_a_cycle_is_one_shape_and_its_rate_is_packets_over_duration():
    p = np.array([[1e-4], [1e-3]])
    cycle = solve(Reno(), p, np.array([0.05, 0.1, 0.2]), None)
    assert isinstance(cycle, Cycle)
    assert cycle.rate.shape == cycle.period.shape == (2, 3)
    np.testing.assert_allclose(cycle.rate * cycle.duration * p, 1.0, rtol=1e-12)


# Labels in, labels out.

ASKS = [
    Reno().rate,
    CUBIC().elasticity,
    CUBIC().mean_window,
    CUBIC().peak_window,
    lambda p, rtt: friendliness(CUBIC(), p, rtt),
    lambda p, rtt: invert(TFRC(), TFRC().rate(p, rtt), rtt),
]


@for_each(ASKS)
def test_labels_survive(ask):
    values, rtt = np.array([1e-4, 1e-3, 1e-2]), 0.1
    bare = np.asarray(ask(values, rtt))
    series = pd.Series(values, index=["a", "b", "c"])
    pd.testing.assert_series_equal(ask(series, rtt), pd.Series(bare, index=series.index))
    frame = pd.DataFrame({"x": values, "y": values})
    assert list(ask(frame, rtt).columns) == ["x", "y"]
    masked = ask(np.ma.array(values, mask=[0, 1, 0]), rtt)
    np.testing.assert_array_equal(masked.mask, [False, True, False])
    np.testing.assert_array_equal(masked.compressed(), bare[[0, 2]])
    array = xr.DataArray(values, dims="p", coords={"p": values})
    trips = xr.DataArray([0.05, 0.1], dims="rtt")
    found = ask(array, trips)
    assert set(found.dims) == {"p", "rtt"}
    np.testing.assert_allclose(found.isel(rtt=1).to_numpy(), bare)


def test_two_different_indices_are_refused():
    p = pd.Series([0.01, 0.02], index=[0, 1])
    with pytest.raises(ValueError, match="must have the same labels"):
        Reno().rate(p, pd.Series([0.1, 0.2], index=[1, 2]))


# Every entry has a source.


@for_each(responsefn.catalogue().entries)
def test_every_entry_has_a_source(entry):
    text = entry.cite()
    assert "source: " in text
    if "RFC" in text or "SIGCOMM" in text or "INFOCOM" in text:
        assert "doi:10." in text


# Equations as text and as tables, for entries with and without a closed form.


class Plain(Reno):
    """A user's rule, which states no source."""

    reference = None


@pytest.mark.parametrize(("rule", "source"), [(Reno(), "RFC 5681"), (Plain(), "no source stated")])
def test_a_rule_shows_its_equation_and_source_in_notebooks(rule: WindowRule, source: str) -> None:
    page = rule._repr_html_()
    assert page == table_of([rule])
    assert f"<code>{rule!r}</code>" in page
    assert r"\sqrt" in page
    assert source in page
    assert "<caption>" not in page


@pytest.mark.parametrize(
    ("entry", "how"),
    [(HTCP(), "numerical cycle"), (DCQCN(), "fixed point"), (TIMELY(), "none"), (BBR(), "none")],
)
def test_without_a_formula_it_says_what_finds_the_rate(entry, how: str) -> None:
    assert formula_of(entry) is None
    assert equation_of(entry) == how
    assert equation_of(entry, latex=True).startswith(rf"\text{{{how}: }}")


def test_formulas_are_derived_once_and_domains_are_texts() -> None:
    assert formula_of(AIMD(0.2, 0.125)) is formula_of(AIMD(0.2, 0.125))
    assert equation_of(Mathis()) == "sqrt(6)/(2*R*sqrt(b)*sqrt(p))"
    assert domain_of(HTCP()) == "p <= 0.02"


@pytest.mark.parametrize("rule", [Westwood(), WestwoodPlus(deferred=0)], ids=repr)
@pytest.mark.parametrize("p", [4e-3, 0.01, 0.02])
def test_a_slow_climb_ends_where_the_cycle_says(rule, p):
    """Between two losses the window grows by less than a packet: 4096 cycles end far below the capacity."""
    rtt, capacity = np.array([0.08]), 8333.0
    start = begin_at_peak(rule, np.array([p]), rtt, capacity)
    cases = Cases(rule, np.array([1 / p]), rtt, 1 / capacity, start)
    limits = Limits(cycles.MAX_DRIFT_BLOCKS, 1024 * cycles.MAX_CYCLES)
    climb = find_cycles(cases, limits).columns[0]
    assert climb[0] == pytest.approx(capacity, rel=1e-4)
    assert rule.rate(p, 0.08, bandwidth=capacity) == pytest.approx(climb[0], rel=1e-6)
    if rule == Westwood():  # (1/(4 p W))^2 packets from loss to loss, summed up to the capacity
        assert climb[5] == pytest.approx(16 / 3 * p**2 * (capacity * 0.08) ** 3, rel=0.06)


def test_cycles_of_two_acks_are_not_compared_over_one_ack():
    assert ARENO().cycle(0.8, 0.01, 2000.0).by_acks
    assert float(Westwood().rate(0.6, 0.01, 2000.0)) == pytest.approx(2000.0, rel=1e-6)


class Nine(Reno):
    """Reno whose cut repeats after nine losses, with another cut between losses 2,000 and 5,000."""

    class State(NamedTuple):
        cwnd: float = 1.0
        ssthresh: float = math.inf
        losses: float = 0.0

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        share = 0.6 if 2000.0 < s.losses < 5000.0 else 0.3 if s.losses % 9.0 == 0.0 else 0.5
        return s._replace(cwnd=max(1.0, share * s.cwnd), losses=s.losses + 1.0)


def test_a_period_of_nine_cycles_is_compared_much_later_only() -> None:
    """Shorter ones are compared with cycles soon after them too, where this rule does something else."""
    assert Nine().cycle(1e-3, 0.1).period == 9.0

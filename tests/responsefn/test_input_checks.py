"""Input of responses that is refused or warned of, and what every response has."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest

from responsefn import (
    AIMD,
    ARENO,
    BIC,
    CTCP,
    CUBIC,
    DCTCP,
    FAST,
    HSTCP,
    HTCP,
    PFTK,
    TFRC,
    DirectSimulation,
    Fusion,
    Illinois,
    Mathis,
    NewReno,
    Relentless,
    Reno,
    Scalable,
    Tahoe,
    Vegas,
    Westwood,
    aggressiveness,
    catalogue,
    convergence_time,
    curve,
    friendliness,
    invert,
    responsiveness,
    rtt_unfairness,
    simulate_rule,
)
from responsefn.closed_forms.printed import formula_of
from responsefn.diagnostics import collect_remarks, quiet, warns
from responsefn.errors import (
    AmbiguousRateError,
    OutsideDomainWarning,
    RuleError,
    SeveralAttractorsWarning,
    UnreachableRateError,
)
from responsefn.inputs import PIECE, loss_rate
from responsefn.response import Response
from tests.surface import for_each

# Loss event rates, round-trip times, rates and capacities that cannot be meant are refused everywhere.


@for_each(
    [
        lambda: Reno().rate(0.01, 20.0),
        lambda: curve(Reno(), [0.01], 20.0),
        lambda: simulate_rule(Reno(), 0.01, 20.0),
        lambda: invert(Reno(), 100.0, 20.0),
        lambda: friendliness(Reno(), 0.01, 20.0),
        lambda: convergence_time(Reno(), 20.0, 1000.0),
        lambda: responsiveness(Reno(), 20.0),
        lambda: rtt_unfairness(Reno(), 1e-3, 20.0),
    ]
)
def test_milliseconds_are_caught(ask):
    with pytest.raises(ValueError, match=r"^rtt = 20: .* in seconds: ms\(48\) is 0\.048"):
        ask()


@for_each(
    [
        lambda: Fusion().rate(1e-3, 0.04, bandwidth=2e8),
        lambda: Fusion().mean_window(1e-3, 0.04, bandwidth=2e8),
        lambda: curve(Fusion(), [1e-3], 0.04, bandwidth=2e8),
        lambda: simulate_rule(Fusion(), 1e-3, 0.04, options=DirectSimulation(bandwidth=2e8)),
        lambda: invert(Reno(), 2e8, 0.1),
        lambda: convergence_time(Reno(), 0.04, 2e8),
        lambda: responsiveness(Fusion(), 0.04, bandwidth=2e8),
        lambda: aggressiveness(Fusion(), 0.04, bandwidth=2e8),
        lambda: rtt_unfairness(Fusion(), 1e-3, 0.04, bandwidth=2e8),
    ]
)
def test_bits_per_second_are_caught(ask):
    with pytest.raises(ValueError, match=r"^(bandwidth|rate) = 2e\+08: .*packets/s: mbps\(100\)"):
        ask()


RULES = [AIMD(), Reno(), NewReno(), Tahoe(), TFRC(), PFTK(), PFTK(form="approximate")]
RULES += [Mathis(), TFRC(form="zheng2002"), CUBIC(), HSTCP(), Scalable(), Relentless(), DCTCP()]
ALL_RULES = [Vegas(), Westwood(), FAST(), ARENO(), Fusion(), CTCP(), Illinois(), HTCP(), BIC()]
BAD_P = [0.0, -0.01, 1.0000001, 1.5, np.nan, np.inf, [0.1, 2.0], [[np.nan]], "often", None, 1j]
BAD_RTT = [0.0, -0.1, np.nan, np.inf, -np.inf, 1000.1, 48_000.0, [0.1, 0.0], "slow", None]
NO_P = r"^p = .*(> 0 and <= 1|a number is expected|must be a percentage)"
NO_RTT = r"^rtt = .*(in seconds|a number is expected|a number and a unit of s)"


@for_each(RULES)
def test_what_is_no_loss_rate_and_no_round_trip_time_is_refused(rule):
    for p in BAD_P:
        asks = [lambda p=p: rule.rate(p, 0.1), lambda p=p: rule.mean_window(p, 0.1)]
        if hasattr(rule, "peak_window"):
            asks += [lambda p=p: rule.mean_window(p), lambda p=p: rule.peak_window(p)]
        for ask in asks:
            with pytest.raises(ValueError, match=NO_P):
                ask()
    for rtt in BAD_RTT:
        with pytest.raises(ValueError, match=NO_RTT):
            rule.rate(0.01, rtt)
        if rtt is not None:
            with pytest.raises(ValueError, match=NO_RTT):
                rule.mean_window(0.01, rtt)
    for ask in (rule.rate, rule.mean_window):
        with pytest.raises(ValueError, match=r"^p has shape \(2,\), rtt has shape \(3,\)"):
            ask([0.1, 0.2], [0.1, 0.2, 0.3])


@for_each(RULES)
def test_milliseconds_are_suspected(rule):
    for rtt in (5.0, 48.0, 999.0):
        asks = [rule.rate, rule.mean_window, lambda p, r: invert(rule, 1e-3 / r, r)]
        for ask in asks:
            with pytest.raises(ValueError, match=r"^rtt = .*< 5; in seconds: ms\(48\) is 0\.048"):
                ask(0.01, rtt)
        assert rule.rate(0.01, rtt, unit_check=False) > 0
    assert rule.rate(0.01, 4.99) > 0


@pytest.mark.parametrize("rule", [r for r in ALL_RULES if r.capacity == "needed"], ids=repr)
def test_missing_capacity_is_named(rule):
    for ask in (rule.rate, rule.mean_window, rule.peak_window):
        with pytest.raises(ValueError, match=r"^bandwidth is missing: .*packets/s"):
            ask(0.01, 0.1)
    with pytest.raises(ValueError, match=r"^bandwidth = -1"):
        rule.rate(0.01, 0.1, bandwidth=-1.0)
    with pytest.raises(ValueError, match=r"^bandwidth is missing"):
        simulate_rule(rule, 0.01, 0.1)


def test_long_round_trips_are_allowed_on_request():
    run = simulate_rule(Reno(), 0.1, 48.0, events=50, options=DirectSimulation(unit_check=False))
    assert run.rate == pytest.approx(simulate_rule(Reno(), 0.1, 0.48, events=50).rate / 100)
    with pytest.raises(ValueError, match=r"^rtt = 48"):
        convergence_time(Reno(), 48.0, 10.0)
    assert convergence_time(Reno(), 48.0, 10.0, unit_check=False) > 0


@pytest.mark.parametrize("at", [0, PIECE, 2 * PIECE + 4])
def test_a_wrong_loss_rate_is_found_in_every_piece_of_a_long_array(at):
    p = np.full(2 * PIECE + 5, 0.5)
    assert loss_rate(p) is p
    for wrong in (0.0, -1.0, 1.5, np.nan, np.inf):
        bad = p.copy()
        bad[at] = wrong
        for ask in (loss_rate, *(lambda p, each=each: each.rate(p, 0.1) for each in PIECEWISE)):
            with pytest.raises(ValueError, match=rf"^p = {wrong:g}: must be .* > 0 and <= 1"):
                ask(bad)


PIECEWISE = (Reno(), Relentless(), Mathis())
"""They check a long array piece by piece, as they compute."""


def test_pieces_have_the_rates_of_the_whole():
    p = np.geomspace(1e-6, 0.1, 2 * PIECE + 5)
    for rule in PIECEWISE:
        rates = [rule.rate(part, 0.1) for part in np.array_split(p, 7)]
        np.testing.assert_array_equal(rule.rate(p, 0.1), np.concatenate(rates))
        np.testing.assert_allclose(rule.rate(p, [[0.1]])[0], rule.rate(p, 0.1), rtol=1e-15)


# What errors carry beside their message.


def test_an_unreachable_rate_comes_with_the_rates_that_are():
    with pytest.raises(UnreachableRateError) as caught:
        invert(TFRC(), 1e-9, 0.1)
    assert caught.value.reachable == pytest.approx(tuple(TFRC().rate([1.0, 1e-12], 0.1)))
    assert caught.value.gap is None


def test_an_ambiguous_rate_comes_with_an_interval_in_which_each_has_one_p():
    with pytest.raises(AmbiguousRateError) as caught:
        invert(HTCP(), HTCP().rate(0.56, 0.1), 0.1)
    low, high = caught.value.unique
    for rate in (1.001 * low, 0.999 * high):
        p = invert(HTCP(), rate, 0.1, unit_check=False)
        assert HTCP().rate(p, 0.1) == pytest.approx(rate, rel=1e-12)


def test_all_are_value_errors():
    """As any other bad input is."""
    assert all(issubclass(e, ValueError) for e in (UnreachableRateError, AmbiguousRateError, RuleError))
    with pytest.raises(ValueError, match="rate = 1e-09"):
        invert(Reno(), 1e-9, 0.1)


# Warnings point at the call outside of the package, and can be left out or collected.


def test_a_warning_names_the_line_that_asked():
    with pytest.warns(SeveralAttractorsWarning) as seen:
        Illinois().rate(0.02, 0.1)
    assert seen[0].filename == __file__


def test_quiet_and_collected_remarks():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quiet():
            assert not warns()
            Illinois().rate(0.02, 0.1)
        with collect_remarks() as remarks:
            Illinois().rate(0.02, 0.1)
    assert warns()
    assert remarks[0].other_rates[0, 0] == pytest.approx(86.5, rel=0.01)  # Reno's law, sqrt(3/(2p))/R


# What rules and laws share: forms derived once, slopes, long arrays.


@pytest.fixture
def fifty_digits():
    with mp.workdps(50):
        yield


@pytest.mark.usefixtures("fifty_digits")
def test_formula_is_derived_once_for_equal_rules():
    assert formula_of(AIMD(0.2, 0.125)) is formula_of(AIMD(0.2, 0.125))
    assert AIMD(0.2, 0.125).expression == AIMD().expression


@pytest.mark.usefixtures("fifty_digits")
def test_elasticity():
    p = np.array([1e-6, 1e-4])
    np.testing.assert_allclose(Reno().elasticity(p, 0.1), -0.5, rtol=1e-12)
    cubic = CUBIC(friendly=0, form="published")
    np.testing.assert_allclose(cubic.elasticity(p, 0.1), -0.75, rtol=1e-12)
    rounds = (0.1 / p * 4 * 0.3 / (0.4 * 3.7)) ** 0.25 / 0.1  # K in round trips, with C = 0.4 and beta = 0.7
    late = 0.59607 * 2.7 / 3.7  # by which a cycle is longer than K
    slope = -1 + 0.25 * rounds / (rounds + late)
    np.testing.assert_allclose(CUBIC(friendly=0).elasticity(p, 0.1), slope, rtol=1e-6)
    np.testing.assert_allclose(Relentless().elasticity(p, 0.1), -1.0, rtol=1e-12)
    np.testing.assert_allclose(CTCP().elasticity(p, 0.1), -0.8, rtol=1e-12)
    np.testing.assert_allclose(HTCP().elasticity(p, 0.1), -0.75, atol=0.1)
    assert TFRC().elasticity(0.3, 0.1) < -2


RTT = 0.08


def has_form(rule):
    """Return whether a rule has a closed form, which is not derived for it."""
    return type(rule).formula is not Response.formula


@pytest.mark.usefixtures("fifty_digits")
@pytest.mark.parametrize(
    "rule",
    [BIC(low_window=1000.0), *(rule for rule in catalogue().entries if has_form(rule))],
    ids=repr,
)
def test_long_arrays_have_the_rates_of_short_ones(rule):
    """Long arrays ask where the closed form holds in another way."""
    p = np.geomspace(1e-7, 0.4, 100)
    halves = np.concatenate([rule.rate(p[:50], RTT), rule.rate(p[50:], RTT)])
    np.testing.assert_allclose(rule.rate(p, RTT), halves, rtol=1e-14)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (0.1, r"^p: 0\.1 is outside of the domain of Reno\(\), p <= 0\.02; p is the first argument and rtt the second$"),
        ("10%", r"^p: 0\.1 is outside of the domain"),
        ([0.01, 0.1, 0.2], r"^p: 2 of 3 values are outside of the domain of Reno\(\), p <= 0\.02$"),
    ],
)  # fmt: skip
def test_a_loss_event_rate_outside_of_the_domain_is_warned_of(p, message) -> None:
    with pytest.warns(OutsideDomainWarning, match=message) as caught:
        Reno().rate(p, 1e-3)
    assert [warning.filename for warning in caught] == [__file__]


def test_no_warning_within_the_domain_and_of_what_marks_it_otherwise() -> None:
    """At the ends of the domain, of rules for all rates, and of functions that call `rate` themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Reno().rate(0.02, 0.1)
        Reno().rate([1e-3, 0.02], 0.1)
        PFTK().rate(0.3, 0.1)
        curve([Reno()], p=[0.1], rtt=0.1)
        Reno().elasticity(0.1, 0.1)
        invert(Reno(), 30.0, 0.1)
        with quiet():
            Reno().rate(0.1, 0.1)


def test_positional_parameters_that_are_exchanged_are_refused() -> None:
    """0.7 and 0.4 are beta and C of RFC 9438; names say that another rule is meant."""
    with pytest.raises(ValueError, match=r"^C = 0\.7, beta = 0\.4: are the defaults of each other, 0\.4 and 0\.7; write CUBIC\(C=0\.7, beta=0\.4\)"):  # fmt: skip
        CUBIC(0.7, 0.4)
    assert CUBIC(C=0.7, beta=0.4).params[:2] == (0.7, 0.4)
    assert CUBIC(0.4, 0.7) == CUBIC()
    assert CUBIC(0.5, 0.4).params[:2] == (0.5, 0.4)
    assert AIMD(0.5, 1.0).params[:2] == (0.5, 1.0)  # 1 is too common a default

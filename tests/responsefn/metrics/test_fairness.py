"""Fairness, exponents of the round-trip time, and transients."""

from __future__ import annotations

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    HTCP,
    PFTK,
    TFRC,
    Fusion,
    Reno,
    Scalable,
    aggressiveness,
    convergence_time,
    friendliness,
    jain_index,
    match,
    responsiveness,
    rtt_unfairness,
    smoothness,
)
from responsefn.linux import LinuxCUBIC, LinuxHybla, LinuxVeno

# Smoothness, fairness, friendliness and matched pairs.


def test_smoothness_and_fairness():
    assert smoothness([5.0] * 100, 0.1, 1.0) == 0.0
    assert smoothness([0.0, 2.0] * 50, 0.1, 0.2) == 0.0
    assert smoothness([0.0, 2.0] * 50, 0.1, 0.1) == pytest.approx(1.0, rel=0.01)
    assert jain_index([1, 1, 1, 1]) == 1.0
    assert jain_index([1, 0, 0]) == pytest.approx(1 / 3)
    assert jain_index([1e300, 1e300]) == 1.0
    for bad in ([], [0.0, 0.0]):
        with pytest.raises(ValueError, match="rates"):
            jain_index(bad)
    with pytest.raises(ValueError, match=r"^time_scale = 0.2, bin_time = 0.1: .* the 2 amounts"):
        smoothness([1.0, 2.0], 0.1, 0.2)


def test_match_and_friendliness():
    assert match(AIMD(b=0.125), to=Reno(), at=1e-3).a == pytest.approx(0.2, rel=1e-12)
    cubic = match(CUBIC(friendly=0), to=Reno(), at=1e-4, by="C")
    assert friendliness(cubic, 1e-4, 0.1) == pytest.approx(1, rel=1e-10)
    with pytest.raises(ValueError, match=r"^by = .form."):
        match(AIMD(), to=Reno(), at=1e-3, by="form")


@pytest.mark.slow
@given(b=st.floats(0.05, 0.9), log_p=st.floats(-8.0, -2.0))
def test_matched_pairs_are_friendly(b, log_p):
    p = 10.0**log_p
    matched = match(AIMD(b=b), to=Reno(), at=p)
    assert matched.a == pytest.approx(3 * b / (2 - b), rel=1e-10)
    assert friendliness(matched, p, 0.1) == pytest.approx(1, rel=1e-10)


def test_match_finds_the_parameter_by_the_right_rate():
    """Scalable at p = 0.02 is Reno whatever its a: no value gives it twice the rate of the closed form."""
    matched = match(CTCP(alpha=0.02), to=Reno(), at=1e-3, by="alpha")
    assert matched.rate(1e-3, 0.1) == pytest.approx(Reno().rate(1e-3, 0.1), rel=1e-3)


# Exponents of RTT unfairness against published ones.


def test_unfairness_exponents():
    """Xu et al. 2004, Sect. II: 2 for AIMD; for a window of c/p^d 1/(1-d)."""
    assert rtt_unfairness(AIMD(), 1e-5).synchronized == pytest.approx(2.0, rel=1e-6)
    assert rtt_unfairness(CTCP(), 1e-5).synchronized == pytest.approx(5.0, rel=1e-6)
    assert rtt_unfairness(CUBIC(friendly=0, form="published"), 1e-6).same_loss_rate == pytest.approx(0.25, rel=1e-6)


# Responsiveness, aggressiveness and convergence by their definitions.


def test_aimd_by_its_definition():
    for a, b in ((1.0, 0.5), (3 / 7, 0.25), (0.2, 0.125), (2.0, 0.9)):
        assert responsiveness(AIMD(a, b)) == math.ceil(math.log(0.5) / math.log(1 - b) - 1e-9)
        assert aggressiveness(AIMD(a, b)) == pytest.approx(a, rel=1e-6)


def test_other_rules():
    assert responsiveness(TFRC()) == 5
    assert 0.14 < aggressiveness(TFRC()) < 0.6
    assert aggressiveness(BIC()) == pytest.approx(32, rel=1e-6)
    assert responsiveness(CUBIC()) == 2
    with pytest.raises(TypeError, match="must be a window rule or TFRC"):
        responsiveness(PFTK())
    with pytest.raises(ArithmeticError, match="does not halve"):
        responsiveness(Fusion(), bandwidth=1000.0)


def test_convergence():
    slow, fast = (convergence_time(AIMD(*ab), 0.1, 1000.0) for ab in ((0.2, 0.125), (1.0, 0.5)))
    assert 0 < fast < slow < math.inf
    assert convergence_time(Scalable(legacy=1.0), 0.1, 10_000.0, rounds=5000) == math.inf
    assert convergence_time(Reno(), 0.1, 1000.0, share=0.52) == 0.0


def test_counters_that_a_loss_resets_are_not_extrapolated():
    # ACK by ACK: 3.0 packets per round trip, 21.0 at 0.3 s; these were 10.4 and, at a window of 1000, 150 instead of 2.
    assert aggressiveness(LinuxCUBIC()) == pytest.approx(3.0, rel=0.15)
    assert aggressiveness(LinuxCUBIC(), 0.3) == pytest.approx(21.0, rel=0.01)
    assert aggressiveness(LinuxCUBIC(), 0.02, 1000.0) < 3.1


def test_a_window_just_above_one_packet_has_a_responsiveness():
    assert responsiveness(TFRC(), 0.1, 1.02) == 3
    with pytest.raises(ValueError, match=r"^window = 1"):
        responsiveness(TFRC(), 0.1, 1.0)


@pytest.mark.parametrize("rule", [CUBIC(), AIMD(1.0, 0.3)], ids=repr)
def test_exponents_are_slopes_at_the_round_trip_time(rule):
    """CUBIC's rate at 1e-3 is no power of the round-trip time: a slope over a wider interval differs in the third digit."""
    ends = 0.0999, 0.1001
    rates = [float(rule.rate(1e-3, rtt)) for rtt in ends]
    slope = math.log(rates[0] / rates[1]) / math.log(ends[1] / ends[0])
    exponents = rtt_unfairness(rule, 1e-3, 0.1)
    assert exponents.same_loss_rate == pytest.approx(slope, rel=1e-4)
    elasticity = float(rule.elasticity(1e-3, 0.1))
    assert exponents.synchronized == pytest.approx(slope / (1.0 + elasticity), rel=1e-4)


@pytest.mark.parametrize(
    ("slope", "message"),
    [
        (
            lambda: rtt_unfairness(LinuxHybla(), 1e-3, 0.05),
            "jumps or bends with rtt: the slope at rtt = 0.05 is 31.3 over 0.1 % and",
        ),
        (
            lambda: LinuxCUBIC().elasticity([1e-3], 0.05),
            "jumps or bends with p: the slope at p = 0.001 is -1.28 over 1 % and -0.371",
        ),
        (
            lambda: rtt_unfairness(LinuxVeno(), 1e-3, 0.1),
            "jumps or bends with p: the slope at p = 0.001 is -0.804 over 1 % and",
        ),
        (lambda: rtt_unfairness(LinuxVeno(), 1e-2, 0.1), "jumps or bends with p"),
        (lambda: rtt_unfairness(CUBIC(), 1e-3, 0.1), None),
        (lambda: HTCP().elasticity([1e-4, 1e-3], 0.1), None),
    ],
    ids=["exponent of Hybla", "elasticity of CUBIC", "exponent of Veno", "large p", "closed form", "numerical cycle"],
)
def test_slopes_of_rates_that_jump_are_named(slope, message: str | None) -> None:
    """Hybla's growth is by eighths of 25 ms: just at 50 ms its exponent was -31, without a word."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        slope()
    named = [str(warning.message) for warning in caught if "jumps or bends with" in str(warning.message)]
    assert (message or "") in " ".join(named)
    assert bool(named) == bool(message)
    assert all(warning.filename == __file__ for warning in caught)

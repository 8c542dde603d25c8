"""Smoothness, fairness, friendliness and matched pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    Reno,
    friendliness,
    jain_index,
    match,
    smoothness,
)


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

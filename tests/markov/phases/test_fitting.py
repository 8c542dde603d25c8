"""Distributions with given moments, and fitted ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from markov import PhaseType, fit_phase_type, phase_type_of


@pytest.mark.parametrize("scv", [0.01, 0.1, 0.25, 0.3, 0.5, 0.99, 1.0, 1.01, 4.0, 100.0])
def test_two_moments_are_met(scv):
    found = phase_type_of(2.5, scv)
    assert found.mean == pytest.approx(2.5, rel=1e-11)
    assert found.scv == pytest.approx(scv, rel=1e-9)


@pytest.mark.parametrize(("scv", "skewness"), [(4.0, 5.0), (1.5, 3.0), (30.0, 40.0)])
def test_three_moments_are_met(scv, skewness):
    found = phase_type_of(0.2, scv, skewness)
    third = found.moment(3) - 3.0 * found.mean * found.moment(2) + 2.0 * found.mean**3
    assert (found.mean, found.scv) == (pytest.approx(0.2), pytest.approx(scv))
    assert third / found.variance**1.5 == pytest.approx(skewness, rel=1e-9)


def test_three_moments_that_two_phases_do_not_have_are_refused():
    with pytest.raises(ValueError, match=r"skewness = 1: must be > 3\.0625 with scv = 4"):
        phase_type_of(1.0, 4.0, 1.0)
    with pytest.raises(ValueError, match="leave it"):
        phase_type_of(1.0, 0.5, 2.0)
    with pytest.raises(ValueError, match=r"scv = 0\.0001"):
        phase_type_of(1.0, 1e-4)


def test_a_fit_finds_what_the_sample_was_drawn_from():
    """Twice the gain in log likelihood over the truth is below chi-square's 99.9 % quantile."""
    truth = PhaseType.mixture(
        [0.6, 0.4], [PhaseType.exponential(5.0), PhaseType.erlang(2, mean=3.0)]
    )
    times = truth.sample(3000, seed=3)
    found = fit_phase_type(times, phases=3)
    assert found.branches == (1, 2)
    likelihood = float(np.log(truth.pdf(times)).sum())
    assert 0.0 <= 2.0 * (found.log_likelihood - likelihood) < stats.chi2(3).ppf(0.999)
    direct = float(np.log(found.distribution.pdf(times)).sum())
    assert found.log_likelihood == pytest.approx(direct, rel=1e-9)


def test_an_exponential_fit_has_the_mean_of_the_sample():
    times = np.array([0.1, 0.7, 2.0])
    found = fit_phase_type(times, phases=1)
    assert found.distribution.mean == pytest.approx(times.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("times", "phases", "message"),
    [
        ([1.0, 1.0], 2, "at least two different times"),
        ([1.0, -1.0], 2, "times = -1"),
        ([1.0, 2.0], 20, "phases = 20"),
    ],
)
def test_bad_samples_are_refused(times, phases, message):
    with pytest.raises(ValueError, match=message):
        fit_phase_type(times, phases=phases)

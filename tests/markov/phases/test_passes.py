"""Likelihoods and expected times of arrival processes, against formulas and between the two ways."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MAP, PhaseType
from markov.phases.passes import Passes


def test_eigenvectors_that_coincide() -> None:
    erlang = MAP.renewal(PhaseType.erlang(2, mean=1.0))
    times = np.array([0.1, 0.7, 1.9])
    expected = np.log(4.0 * times * np.exp(-2.0 * times)).sum()
    assert erlang.log_likelihood(times) == pytest.approx(expected, rel=1e-12)
    passes = Passes(erlang.D0, erlang.D1, erlang.interval.alpha, times)
    assert passes._modes is None
    assert np.trace(passes._together()) == pytest.approx(times.sum(), rel=1e-12)  # all the time


def test_both_ways_to_the_integrals_agree() -> None:
    source = MAP.modulated([[-1.0, 1.0], [0.5, -0.5]], [30.0, 2.0])
    times = np.random.default_rng(7).exponential(0.1, 50)
    passes = Passes(source.D0, source.D1, source.interval.alpha, times)
    near = passes._together()
    passes._modes = None
    np.testing.assert_allclose(near, passes._together(), rtol=1e-10)

"""Distribution and quantiles of a passage time against Erlang's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from markov import passage
from tests.markov.time.passages.conftest import erlang


def test_the_sum_of_equal_stages_has_an_erlang_distribution() -> None:
    found = passage(erlang(5, 2.0), to=5, start=0)
    exact = scipy.stats.gamma(5, scale=0.5)
    assert abs(found.mean - exact.mean()) <= found.mean_error
    assert abs(found.variance - exact.var()) <= found.variance_error <= 1e-12
    times = np.array([0.0, 0.3, 1.0, 4.0, 10.0])
    given = found.distribution(times)
    assert np.all(np.abs(given.cdf - exact.cdf(times)) <= given.error_bound + 1e-15)
    assert np.all(np.abs(given.survival - exact.sf(times)) <= given.error_bound + 1e-15)
    np.testing.assert_allclose(given.density, exact.pdf(times), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("q", [1e-6, 0.05, 0.5, 0.95, 1.0 - 1e-9])
def test_the_interval_of_a_quantile_holds_the_exact_one(q: float) -> None:
    found = passage(erlang(5, 2.0), to=5, start=0).quantile(q)
    exact = scipy.stats.gamma(5, scale=0.5).ppf(q)
    assert found.lower <= exact <= found.upper
    assert found.error <= 1e-3 * exact


def test_quantiles_and_times_are_checked() -> None:
    found = passage(erlang(2, 1.0), to=2, start=0)
    with pytest.raises(ValueError, match="q = 1"):
        found.quantile(1.0)
    with pytest.raises(ValueError, match="ascending"):
        found.distribution([2.0, 1.0])

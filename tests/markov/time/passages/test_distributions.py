"""Distribution and quantiles of a passage time against Erlang's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from markov import explore, passage
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


def pair_of_disks(s, q):
    """1e-5 failures per hour and disk, repair within two minutes."""
    if s.up > 0:
        yield s._replace(up=s.up - 1), 1e-5 * s.up
    if s.up == 1:
        yield s._replace(up=2), 30.0


def test_both_tails_over_long_times_have_a_relative_bound() -> None:
    """Values with 60 digits from the two eigenvalues."""
    lost = passage(explore(pair_of_disks, start={"up": 2}), to=lambda s: s.up == 0)
    given = lost.distribution([1.0, 1e6, 1e11, 1e14])
    cdf = np.array([6.44443822220883669e-12, 6.66663755565945755e-6, 0.486582538689518828])
    assert np.all(np.abs(given.cdf[:3] - cdf) <= given.relative_error[:3] * cdf)
    assert given.survival[3] == pytest.approx(2.95552697253701633e-290, rel=1e-10)
    assert abs(given.survival[3] / 2.95552697253701633e-290 - 1.0) <= given.relative_error[3] < 1e-9
    assert np.all(given.relative_error[:2] < 1e-14)
    median = lost.quantile(0.5)
    assert median.lower <= 103972181056.07909181 <= median.upper
    assert median.error < 1e-11 * median.value
    early = lost.quantile(1e-9)
    assert early.lower <= early.value <= early.upper < 200.0


def test_states_that_never_arrive_count_as_surviving() -> None:
    """From 1 to 2 or, for ever, to 0, with thirty equal rates into the target's states."""
    Q = np.zeros((33, 33))
    Q[1, 0], Q[1, 2:32] = 1e-8, 0.1
    Q[0, 32] = Q[32, 0] = 2.0
    Q -= np.diag(Q.sum(axis=1))
    start = np.zeros(33)
    start[1], start[0] = 0.75, 0.25
    found = passage(Q, to=list(range(2, 32)), start=start).distribution([1.0, 100.0])
    assert np.all(found.relative_error < 1e-13)
    assert found.survival[1] == pytest.approx(0.25 + 0.75e-8 / 3.00000001, rel=1e-13)


def test_a_time_that_is_too_long_to_square_leaves_the_others_as_they_are() -> None:
    rates = np.array([[-2e-5, 2e-5, 0.0], [30.0, -30.0 - 1e-5, 1e-5], [0.0, 0.0, 0.0]])
    stopped = passage(rates, to=2, start=0)
    alone, found = stopped.distribution([1e11]), stopped.distribution([1e11, 1e200])
    assert found.cdf[0] == pytest.approx(alone.cdf[0], rel=1e-15)
    assert found.cdf[1] == pytest.approx(1.0, abs=found.error_bound[1])
    assert found.relative_error[0] < 1e-14
    with pytest.raises(ValueError, match=r"time = 1e\+307: more than 1e308 jumps"):
        stopped.distribution([1e307])

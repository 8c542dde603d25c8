"""Passages: means, distributions, quasi-stationary ones, labels as targets, against closed forms, dense and rational algebra."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from markov import MM1K, explore, passage, quasi_stationary
from tests.markov.conftest import generator_of, solved_exactly
from tests.markov.time.erlang_chains import erlang
from tests.surface import for_each

# From a model and a set of states to the time until it is entered.


def test_a_queue_fills_in_the_time_that_the_birth_death_formula_gives() -> None:
    model = MM1K(capacity=10)
    found = passage(model, to=(10,), start=(0,))
    # sum over k of the mean time from k to k + 1
    rho = 10.0 / 7.0
    exact = sum(sum(rho**j for j in range(k + 1)) / 7.0 for k in range(10))
    assert abs(found.mean - exact) <= found.mean_error + 1e-13 * exact
    assert found.means[10] == 0.0


def test_zero_passage_from_inside_of_the_set() -> None:
    found = passage(erlang(2, 1.0), to=[1, 2], start=2)
    assert (found.mean, found.variance, found.quantile(0.3).value) == (0.0, 0.0, 0.0)


def test_a_variance_is_computed_when_it_is_read() -> None:
    found = passage(MM1K(capacity=10), to=(10,), start=(0,))
    assert "_variances" not in vars(found.moments)
    assert 0.0 < found.variance_error < 1e-9 * found.variance
    assert "_variances" in vars(found.moments)
    assert found.standard_deviation == found.variance**0.5


# Moments against dense and rational linear algebra.


def random_chain(n: int, seed: int, spread: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.4) * 10.0 ** (spread * rng.random((n, n)))
    return generator_of(Q + np.diag(np.full(n - 1, 0.1), 1))  # each state leads to the last


@for_each(range(8))
def test_moments_of_random_chains_are_those_of_dense_solves(seed: int) -> None:
    Q = random_chain(12, seed, spread=3.0)
    start = np.random.default_rng(seed).dirichlet(np.ones(12))
    found = passage(Q, to=11, start=start)
    A = -Q[:11, :11]
    m = scipy.linalg.solve(A, np.ones(11))
    second = scipy.linalg.solve(A, 2.0 * m)
    mean = start[:11] @ m
    assert found.mean == pytest.approx(mean, rel=1e-10)
    assert found.variance == pytest.approx(start[:11] @ second - mean**2, rel=1e-8)
    assert found.probability == pytest.approx(1.0, abs=1e-15)
    rewards = np.random.default_rng(seed + 100).random(12)
    assert found.reward(rewards).value == pytest.approx(start[:11] @ scipy.linalg.solve(A, rewards[:11]), rel=1e-10)


@pytest.mark.parametrize("coupling", [1.0, 1e-6, 1e-13])
def test_bounds_hold_against_rational_arithmetic_at_any_stiffness(coupling: float) -> None:
    rates = np.array([[0, 3.0, coupling], [2.0, 0, 0.7], [coupling, 1.5, 0]])
    ends = [0.0, coupling, 0.0]
    Q = np.zeros((4, 4))
    Q[:3, :3], Q[:3, 3] = rates, ends
    found = passage(generator_of(Q), to=3, start=0)
    exit_rates = [sum(map(Fraction, [*rates[k], ends[k]])) for k in range(3)]
    A = [[exit_rates[k] if j == k else -Fraction(rates[k, j]) for j in range(3)] for k in range(3)]
    m = solved_exactly(A, [1] * 3)
    second = solved_exactly(A, [2 * x for x in m])
    assert abs(Fraction(found.mean) - m[0]) <= Fraction(found.mean_error)
    variance = second[0] - m[0] ** 2
    assert abs(Fraction(found.variance) - variance) <= Fraction(found.variance_error)
    assert found.mean_error <= 1e-12 * found.mean


def test_a_set_that_may_be_missed_has_no_mean_but_a_conditional_one() -> None:
    Q = np.array([[-3.0, 1.0, 2.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = passage(Q, to=1, start=0)
    assert found.probability == pytest.approx(1 / 3, abs=1e-15)
    assert found.mean == np.inf
    assert found.conditional_mean.lower <= 1 / 3 <= found.conditional_mean.upper
    assert found.quantile(0.5).value == np.inf
    assert found.distribution([1.0]).cdf[0] == pytest.approx((1 - np.exp(-3.0)) / 3, abs=1e-14)


# Distribution and quantiles against Erlang's.


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


# Labels as targets, and rewards until them.


def test_labels_name_the_set_and_rewards_are_earned_until_it() -> None:
    def rules(s: Any, q: Any) -> Any:
        if s.up > 0:
            yield s._replace(up=s.up - 1), 0.1 * s.up
        if s.up < 2:
            yield s._replace(up=s.up + 1), 1.0

    model = explore(
        rules,
        start={"up": 2},
        labels=lambda s: {"down": s.up == 0},
        rewards=lambda s: {"machines": s.up},
    )
    found = passage(model, to="down")
    assert found.mean == pytest.approx(65.0, abs=found.mean_error)
    # 1 machine up for 10 mean passages of 1 / 1.1 each, two otherwise
    in_one = passage(model, to="down").reward((np.asarray(model.states.up) == 1).astype(float))
    assert found.reward("machines").value == pytest.approx(2.0 * (65.0 - in_one.value) + in_one.value, abs=1e-10)
    assert "probability" in repr(found)
    assert found._repr_html_().startswith("<table>")


def test_rewards_where_the_set_may_never_be_entered() -> None:
    """From 0 to 1, or to 2 and 3 for ever, with probability 1/2 each."""
    Q = np.array([[-2.0, 1, 1, 0], [0, 0, 0, 0], [0, 0, -1, 1], [0, 0, 1, -1]])
    found = passage(Q, to=1, start=0)
    in_zero = found.reward([3.0, 5.0, 0.0, 0.0])  # 1/2 s
    assert abs(in_zero.value - 1.5) <= in_zero.error < 1e-15
    assert [found.reward([0.0, 0.0, sign, 0.0]).value for sign in (1.0, -1.0)] == [math.inf, -math.inf]
    assert found.reward([0.0, 0.0, -1.0, 0.0]).error == 0.0
    with pytest.raises(ValueError, match="rewards: positive and negative ones are earned for ever"):
        found.reward([0.0, 0.0, -1.0, 1.0])
    assert passage(Q, to=[2, 3], start=1).reward([0.0, 0.0, 1.0, -1.0]).value == 0.0


# Quasi-stationary distributions: formulas, dense eigenvectors, and intervals that hold.


def killed_walk(n: int, birth: float, death: float) -> np.ndarray:
    """States 0 (absorbing) to n."""
    Q = np.diag([0.0] + [birth] * (n - 1), 1) + np.diag([death] * n, -1)
    return Q - np.diag(Q.sum(axis=1))


def test_a_simple_walk_has_the_decay_rate_of_the_cosine_formula() -> None:
    # birth = death = 1, both ends absorbing: 2 (1 - cos(pi / n))
    n = 30
    Q = np.diag([1.0] * n, 1) + np.diag([1.0] * n, -1)
    Q[0] = Q[-1] = 0.0
    Q -= np.diag(Q.sum(axis=1))
    found = quasi_stationary(Q)
    exact = 4.0 * np.sin(np.pi / (2 * n)) ** 2
    assert found.decay_rate.lower <= exact * (1 + 1e-15)
    assert exact * (1 - 1e-15) <= found.decay_rate.upper
    assert found.decay_rate.error <= 1e-11 * exact
    shape = np.sin(np.pi * np.arange(n + 1) / n)
    np.testing.assert_allclose(found.pi, shape / shape.sum(), atol=1e-11)


@for_each(range(6))
def test_random_chains_have_the_left_eigenvector_of_dense_algebra(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 14
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.diag(np.full(n - 1, 0.1), 1)
    Q += np.diag(np.full(n - 1, 0.1), -1)
    Q[0] = 0.0
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    values, left = scipy.linalg.eig(Q[1:, 1:].T)
    k = int(np.argmax(values.real))
    vector = np.abs(left[:, k].real)
    found = quasi_stationary(Q)
    assert found.decay_rate.value == pytest.approx(-values[k].real, rel=1e-11)
    np.testing.assert_allclose(found.pi[1:], vector / vector.sum(), atol=1e-11)


def test_from_it_the_time_to_absorption_is_exponential() -> None:
    Q = killed_walk(12, 1.0, 0.7)
    found = quasi_stationary(Q)
    time = passage(Q, to=0, start=found.pi)
    assert time.mean == pytest.approx(found.mean_time, rel=1e-9)
    assert time.variance == pytest.approx(found.mean_time**2, rel=1e-8)


def test_a_rare_end_has_an_interval_too() -> None:
    model = MM1K(capacity=8, arrival_rate=5.0, service_rate=1.0)
    found = quasi_stationary(model, to=(0,))
    mean = passage(model, to=(0,), start=found.pi).mean  # about 5^8 / 4
    assert found.decay_rate.lower * (1 - 1e-9) <= 1.0 / mean <= found.decay_rate.upper * (1 + 1e-9)
    assert 0.0 < found.decay_rate.lower <= found.decay_rate.value
    assert "decay rate" in repr(found)


def test_a_start_in_the_set_is_named() -> None:
    """The time is then 0: whoever asks for a return must start behind the first jump."""
    Q = np.array([[-1.0, 1.0], [2.0, -2.0]])
    assert "start in the set" not in str(passage(Q, to=0, start=np.array([0.0, 1.0])))
    text = " ".join(str(passage(Q, to=0, start=np.array([0.25, 0.75]))).split())
    assert "start in the set with probability 0.25: the time is 0 then, not that of a return" in text

"""Probabilities over time by jumps at random times, by rational functions."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import expm

from markov import MM1K, explore, stationary, transient
from markov.elimination.lu import best_order
from markov.time import exponentials
from markov.time.exponentials import Distributions, TimedJump, evolve_through_jumps, krylov_order
from markov.time.krylov import Resolvents, mean_growth
from markov.time.uniformization import poisson_weights


@pytest.fixture(autouse=True)
def _without_squaring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few states are squared in some milliseconds: here they are not."""
    monkeypatch.setattr(exponentials, "squaring_pays", lambda *_: False)


# Uniformization against closed forms and matrix exponentials.


def random_generator(n: int, spread: float, density: float, rng: np.random.Generator) -> NDArray[np.float64]:
    Q = np.exp(spread * rng.normal(size=(n, n))) * (rng.random((n, n)) < density)
    np.fill_diagonal(Q, 0.0)
    return np.asarray(Q - np.diag(Q.sum(axis=1)))


@pytest.mark.parametrize("n", [2, 7, 40])
@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("time", [0.01, 1.0, 30.0])
def test_bound_holds_against_the_matrix_exponential(n: int, spread: float, time: float) -> None:
    Q = random_generator(n, spread, 0.5, np.random.default_rng([n, int(spread)]))
    found = transient(Q, [time / 3, time], start=0)
    for row, moment, bound in zip(found.pi, found.times, found.error_bound, strict=True):
        exact = scipy.linalg.expm(Q * moment)[0]
        # expm's own error: a few units of rounding times the norm of Q t
        own = 1e-15 * n * np.abs(Q).sum(axis=1).max() * time
        assert 0.5 * np.abs(row - exact).sum() <= bound + own
        assert bound <= 1e-9


def test_occupancy_is_the_integral_of_the_distribution() -> None:
    Q = random_generator(12, 1.0, 0.5, np.random.default_rng(5))
    found = transient(Q, [0.5, 2.0, 5.0], start=3)
    n = len(Q)
    block = np.block([[Q, np.eye(n)], [np.zeros((n, 2 * n))]])
    for occupied, moment, bound in zip(found.occupancy, found.times, found.occupancy_error, strict=True):
        exact = scipy.linalg.expm(block * moment)[3, n:]
        assert 0.5 * np.abs(occupied - exact).sum() <= bound + 1e-12
        assert occupied.sum() == pytest.approx(moment, abs=1e-11)


def test_pure_birth_at_equal_rates_is_poisson_up_to_the_last_state() -> None:
    n = 60
    Q = np.diag([-1.0] * n + [0.0]) + np.diag([1.0] * n, 1)
    found = transient(Q, [4.0], start=0)
    exact = np.exp(-4.0) * np.cumprod(np.concatenate([[1.0], 4.0 / np.arange(1, n)]))
    np.testing.assert_allclose(found.pi[0, :n], exact, rtol=0.0, atol=float(found.error_bound[0]))


def test_reversed_time_gives_the_same_probabilities_of_a_reversible_chain() -> None:
    # detailed balance: pi_i P_ij(t) = pi_j P_ji(t)
    answer = stationary(MM1K(capacity=12))
    forth = transient(answer.chain, [0.3], start=(2,))
    back = transient(answer.chain, [0.3], start=(7,))
    assert answer.pi[2] * forth.pi[0, 7] == pytest.approx(answer.pi[7] * back.pi[0, 2], rel=1e-10)


# Distributions through jumps at given times, of a chain whose solution is known.


def decay(start: NDArray[np.float64], times: NDArray[np.float64]) -> Distributions:
    """State 0 decays to state 1 at rate 1; a bound of 0.01 per s is stated."""
    left = np.exp(-times)[:, None]
    pi = start * np.array([1.0, 0.0]) * left + (1.0 - start[0] * left) * np.array([0.0, 1.0])
    return Distributions(pi, 0.01 * times, len(times), "by hand")


def test_what_a_jump_brings_back_decays_again_and_bounds_add_up() -> None:
    back = np.array([0, 0])
    moments = np.array([0.5, 1.0, 1.5, 3.0])
    jumps = [TimedJump(2.0, True, back), TimedJump(1.0, False, back)]
    pi, errors, steps, method, _ = evolve_through_jumps(jumps, np.array([1.0, 0.0]), moments, decay)
    np.testing.assert_allclose(pi[:, 0], [math.exp(-0.5), 1.0, math.exp(-0.5), math.exp(-1.0)], rtol=1e-15)  # fmt: skip
    np.testing.assert_allclose(errors, [0.005, 0.01, 0.015, 0.03], rtol=1e-12)
    assert steps == 2 + 3 + 1
    assert method == "by hand; 2 jumps at given times"


def test_a_jump_after_its_time_leaves_the_state_of_that_time() -> None:
    jump = TimedJump(1.0, True, np.array([0, 0]))
    pi, *_ = evolve_through_jumps([jump], np.array([1.0, 0.0]), np.array([1.0]), decay)
    np.testing.assert_allclose(pi[:, 0], [math.exp(-1.0)], rtol=1e-15)


# Poisson probabilities against forty digits.


@pytest.mark.parametrize("mean", [1e-9, 0.1, 3.0, 50.0, 1e4, 1e6])
def test_poisson_weights_keep_their_bound_against_forty_digits(mean: float) -> None:
    found = poisson_weights(mean, 1e-13)
    with mpmath.workdps(40):
        exact = mpmath.exp(found.left * mpmath.log(mean) - mean - mpmath.loggamma(found.left + 1))
        wrong, inside = mpmath.mpf(0), mpmath.mpf(0)
        for k, weight in enumerate(found.weights.tolist(), start=found.left):
            wrong += abs(exact - weight)
            inside += exact
            exact *= mpmath.mpf(mean) / (k + 1)
        wrong += 1 - inside
    assert float(wrong) <= found.error
    assert found.error <= 1e-11


# Rational Krylov spaces against exponentials of matrices; their bounds hold.


def slow_and_fast(s: Any, q: Any) -> Any:
    """A queue at 1000/s whose load changes once in 100 s, and that may stop for ever."""
    n, load = s
    if n < 20:
        yield (n + 1, load), 1000.0 * q.loads[load]
    if n > 0:
        yield (n - 1, load), 1000.0
    yield (n, 1 - load), 0.01
    if q.stops and n == 0:
        yield (0, 0 if load else 1), q.stops


@pytest.mark.parametrize("stops", [0.0, 0.5])
def test_long_times_of_a_chain_with_slow_and_fast_changes(stops: float) -> None:
    found = explore(slow_and_fast, start=(0, 0), params={"loads": (0.3, 0.6), "stops": stops})
    times = [0.0, 0.05, 50.0, 300.0]
    answer = transient(found, times)
    assert "rational Krylov" in answer.method
    assert answer.steps < 0.2 * 1600.0 * times[-1]
    start = answer.start
    for time, pi, bound in zip(times, answer.pi, answer.error_bound, strict=True):
        exact = start @ expm(found.chain.Q.toarray() * time)
        # the exponential by squarings is right to about 1e-16 times its norm
        assert 0.5 * np.abs(pi - exact).sum() <= bound + 1e-15 * 2000.0 * time
        assert bound <= 1e-9


def test_bounds_hold_for_random_chains() -> None:
    rng = np.random.default_rng(4)
    for _ in range(8):
        n = int(rng.integers(2, 12))
        rates = rng.random((n, n)) * 10.0 ** rng.uniform(-3, 2, (n, n))
        np.fill_diagonal(rates, 0.0)
        Q = sp.csr_matrix(rates - np.diag(rates.sum(axis=1)))
        start = rng.dirichlet(np.ones(n))
        spans = np.array([0.1, 5.0])
        resolvents = Resolvents(Q, 5.0, best_order(Q))
        found = resolvents.distributions(start, spans, np.full(2, 1e9))  # the first approximation
        assert found is not None
        for span, pi, error in zip(spans, found.values, found.errors, strict=True):
            assert 0.5 * np.abs(pi - start @ expm(Q.toarray() * span)).sum() <= error + 1e-13
        best = resolvents.distributions(start, spans, np.full(2, 1e-8))
        assert best is not None  # the whole space of so few states
        assert (best.errors <= 1e-8).all()


def test_short_times_are_left_to_products() -> None:
    Q = sp.csr_matrix(np.array([[-1.0, 1.0], [1.0, -1.0]]))
    assert krylov_order(Q, 1e3) is None
    assert transient(Q, [1.0], start=0).method == "uniformization"


def test_the_mean_of_an_exponential_is_bounded_from_above() -> None:
    z = np.concatenate([-np.geomspace(1e-12, 30.0, 60), [0.0], np.geomspace(1e-12, 1.0, 40)])
    exact = [float(mpmath.expm1(x) / x) if x else 1.0 for x in map(mpmath.mpf, z.tolist())]
    found = mean_growth(z)
    assert (found >= np.array(exact) * (1.0 - 1e-15)).all()  # the rounding of expm1 and a quotient
    np.testing.assert_allclose(found, exact, rtol=1e-8)

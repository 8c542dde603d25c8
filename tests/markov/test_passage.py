"""Passage times: known moments and distributions, dense linear algebra, and bounds that hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.stats

from markov import MM1K, MarkovChain, explore, passage
from markov.passages.absorbing import Absorbing

RNG = np.random.default_rng(20)


def random_chain(n: int, seed: int, spread: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.4) * 10.0 ** (spread * rng.random((n, n)))
    Q += np.diag(np.full(n - 1, 0.1), 1)  # each state leads to the last
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    return Q


def erlang(stages: int, rate: float) -> np.ndarray:
    return np.diag([-rate] * stages + [0.0]) + np.diag([rate] * stages, 1)


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


@pytest.mark.parametrize("seed", range(8))
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
    assert found.reward(rewards).value == pytest.approx(
        start[:11] @ scipy.linalg.solve(A, rewards[:11]), rel=1e-10
    )


def exactly(A: list[list[Any]], right: list[Any]) -> list[Any]:
    """Gauss elimination of rational numbers."""
    from fractions import Fraction

    rows = [[Fraction(x) for x in (*row, b)] for row, b in zip(A, right, strict=True)]
    n = len(rows)
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(n):
            if r != k:
                factor = rows[r][k]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("coupling", [1.0, 1e-6, 1e-13])
def test_bounds_hold_against_rational_arithmetic_at_any_stiffness(coupling: float) -> None:
    from fractions import Fraction

    rates = np.array([[0, 3.0, coupling], [2.0, 0, 0.7], [coupling, 1.5, 0]])
    ends = [0.0, coupling, 0.0]
    Q = np.zeros((4, 4))
    Q[:3, :3], Q[:3, 3] = rates, ends
    np.fill_diagonal(Q, -Q.sum(axis=1))
    found = passage(Q, to=3, start=0)
    exit_rates = [sum(map(Fraction, [*rates[k], ends[k]])) for k in range(3)]
    A = [[exit_rates[k] if j == k else -Fraction(rates[k, j]) for j in range(3)] for k in range(3)]
    m = exactly(A, [Fraction(1)] * 3)
    second = exactly(A, [2 * x for x in m])
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


def test_a_queue_fills_in_the_time_that_the_birth_death_formula_gives() -> None:
    model = MM1K(capacity=10)
    found = passage(model, to=(10,), start=(0,))
    # sum over k of the mean time from k to k + 1
    rho = 10.0 / 7.0
    exact = sum(sum(rho**j for j in range(k + 1)) / 7.0 for k in range(10))
    assert abs(found.mean - exact) <= found.mean_error + 1e-13 * exact
    assert found.means[10] == 0.0


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
    assert found.reward("machines").value == pytest.approx(
        2.0 * (65.0 - in_one.value) + in_one.value, abs=1e-10
    )
    assert "probability" in repr(found)
    assert found._repr_html_().startswith("<table>")


def test_zero_passage_from_inside_of_the_set() -> None:
    found = passage(erlang(2, 1.0), to=[1, 2], start=2)
    assert (found.mean, found.variance, found.quantile(0.3).value) == (0.0, 0.0, 0.0)


def test_equations_without_states_have_no_solution_to_find() -> None:
    chain = MarkovChain(erlang(2, 1.0))
    x, error = Absorbing(chain.Q, np.zeros(3, dtype=bool)).solve(np.zeros(0))
    assert len(x) == len(error) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"to": 9, "start": 0}, "to: 9 is no state"),
        ({"to": np.zeros(3, dtype=bool), "start": 0}, "to = .*no state"),
        ({"to": 2, "start": None}, "start: the chain has none"),
        ({"to": np.array([True]), "start": 0}, "to has shape"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        passage(erlang(2, 1.0), **arguments)


def test_quantiles_and_times_are_checked() -> None:
    found = passage(erlang(2, 1.0), to=2, start=0)
    with pytest.raises(ValueError, match="q = 1"):
        found.quantile(1.0)
    with pytest.raises(ValueError, match="ascending"):
        found.distribution([2.0, 1.0])

"""Distributions over time against closed forms, matrix exponentials and simulation."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
from numpy.typing import NDArray

from markov import MM1K, BirthDeath, Courtois, MarkovChain, explore, stationary, transient
from markov.transients.poisson import poisson_weights


def random_generator(
    n: int, spread: float, density: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    Q = np.exp(spread * rng.normal(size=(n, n))) * (rng.random((n, n)) < density)
    np.fill_diagonal(Q, 0.0)
    return np.asarray(Q - np.diag(Q.sum(axis=1)))


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
    for occupied, moment, bound in zip(
        found.occupancy, found.times, found.occupancy_error, strict=True
    ):
        exact = scipy.linalg.expm(block * moment)[3, n:]
        assert 0.5 * np.abs(occupied - exact).sum() <= bound + 1e-12
        assert occupied.sum() == pytest.approx(moment, abs=1e-11)


def test_pure_birth_at_equal_rates_is_poisson_up_to_the_last_state() -> None:
    n = 60
    Q = np.diag([-1.0] * n + [0.0]) + np.diag([1.0] * n, 1)
    found = transient(Q, [4.0], start=0)
    exact = np.exp(-4.0) * np.cumprod(np.concatenate([[1.0], 4.0 / np.arange(1, n)]))
    np.testing.assert_allclose(found.pi[0, :n], exact, rtol=0.0, atol=float(found.error_bound[0]))


@pytest.mark.parametrize("model", [MM1K(capacity=30), Courtois(), BirthDeath()])
def test_a_long_horizon_ends_in_the_stationary_distribution(model: Any) -> None:
    limit = stationary(model)
    found = transient(model, [1e9], start=_state(limit.chain, 0))
    distance = 0.5 * np.abs(found.pi[0] - limit.pi).sum()
    assert distance <= found.error_bound[0] + limit.error_bound
    assert found.error_bound[0] <= 1e-8
    assert found.steps < 1e7


def _state(chain: MarkovChain, x: int) -> Any:
    states = chain.states
    return states[x] if isinstance(states, range) else type(states)(*(int(a[x]) for a in states))


def test_reversed_time_gives_the_same_probabilities_of_a_reversible_chain() -> None:
    # detailed balance: pi_i P_ij(t) = pi_j P_ji(t)
    answer = stationary(MM1K(capacity=12))
    forth = transient(answer.chain, [0.3], start=(2,))
    back = transient(answer.chain, [0.3], start=(7,))
    assert answer.pi[2] * forth.pi[0, 7] == pytest.approx(answer.pi[7] * back.pi[0, 2], rel=1e-10)


def repairs(s: Any, q: Any) -> Any:
    if s.working > 0:
        yield s._replace(working=s.working - 1), q.failure * s.working
    if s.working < 3:
        yield s._replace(working=s.working + 1), q.repair


def test_labels_and_rewards_are_given_over_time() -> None:
    found = explore(
        repairs,
        start={"working": 3},
        params={"failure": 0.1, "repair": 1.0},
        labels=lambda s: {"up": s.working > 0},
        rewards=lambda s: {"machines": s.working},
    )
    answer = transient(found, np.linspace(0.0, 20.0, 5))
    assert answer.measures["machines"].dims == ("time",)
    assert answer["machines"][0] == 3.0
    assert answer.probability("up") == pytest.approx(answer["up"], abs=1e-15)
    mean = answer["machines"]
    # the integral by Gauss-Legendre quadrature of the instantaneous rewards
    nodes, weights = np.polynomial.legendre.leggauss(40)
    inner = transient(found, 10.0 * (nodes + 1.0))["machines"]
    assert answer.accumulated["machines"].values[-1] == pytest.approx(10.0 * weights @ inner, 1e-9)
    assert mean[-1] == pytest.approx(stationary(found)["machines"], abs=1e-6)
    assert answer.probabilities.sel(time=0.0).sum() == 1.0
    assert "error bound" in repr(answer)
    assert answer._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"times": [2.0, 1.0]}, "times = .*ascending"),
        ({"times": [-1.0]}, "times = -1"),
        ({"times": [1.0], "start": 9}, "start: 9 is no state"),
        ({"times": [1.0], "start": np.array([0.5, 0.4])}, "sum to one"),
        ({"times": [1.0], "start": None}, "start: the chain has none"),
        ({"times": [1.0], "tolerance": 0.0}, "tolerance = 0"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    given = {"start": 0, **arguments}
    with pytest.raises(ValueError, match=message):
        transient(np.array([[-1.0, 1.0], [1.0, -1.0]]), **given)


def test_a_chain_without_transitions_stays() -> None:
    found = transient(np.zeros((2, 2)), [0.0, 5.0], start=1)
    assert found.pi.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.occupancy.tolist() == [[0.0, 0.0], [0.0, 5.0]]

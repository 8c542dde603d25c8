"""Measures with bounds, and asymptotic variances, against closed forms, published values, dense matrices and simulated means.

`test_random_chains` has bounds against 50 digits. Kanban's values are of the quantitative verification
benchmark set, ctmc/kanban/results, where HOPFLOW_SUITES says where that is.
"""

from __future__ import annotations

import json
import math
import os
import pickle
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from hopflow import Status
from markov import (
    GTH,
    MM1K,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseTandem,
    SparseLU,
    explore,
    passage,
    stationary,
)
from tests.markov.conftest import generator_of
from tests.surface import for_each

SUITES = os.environ.get("HOPFLOW_SUITES")


# --------------------------------------------------------------------------- measures


@pytest.mark.skipif(SUITES is None, reason="HOPFLOW_SUITES: no outside suites here")
def test_kanban_with_one_card_has_the_published_throughput():
    files = sorted((Path(SUITES) / "qcomp/benchmarks/ctmc/kanban/results").glob("*exact.1.*.json"))
    found = json.loads(files[0].read_text())
    values = [v for v in numbers_in(found) if abs(v - 0.0925846346333826) < 1e-9]
    assert values  # of rational arithmetic
    bound = stationary(explore(Kanban(tickets=1))).bound("throughput")
    assert bound.lower - 1e-17 <= values[0] <= bound.upper + 1e-17  # rounded when it was printed
    assert bound.relative_error < 1e-14


def numbers_in(found):
    """Return all floats in a JSON document."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        return [v for part in found for v in numbers_in(part)]
    if isinstance(found, float):
        return [found]
    return []


@pytest.mark.parametrize("tickets", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_throughput_by_multigrid_is_proved_to_twelve_digits(tickets):
    """The two values agree, by methods that share nothing, within their bounds; 2e-13 was asked for."""
    chain = explore(Kanban(tickets=tickets)).chain
    cycles = stationary(chain, Multilevel()).bound("throughput")
    assert cycles.relative_error < 4e-13
    if tickets == 2:
        factors = stationary(chain, GTH()).bound("throughput")
        assert factors.relative_error < 1e-14
        assert cycles.lower <= factors.upper
        assert factors.lower <= cycles.upper


def test_labels_rewards_ratios_and_queues_have_bounds():
    """Each holds the value under pi within what pi may be wrong by."""
    model = PauseTandem(high_threshold=12)
    answer = stationary(model)
    for name in set(answer.measures) - {"throughput_expressions"}:
        found = answer.bound(name)
        values = np.atleast_1d(answer[name])
        found = found if isinstance(found, list) else [found]
        assert len(found) == len(values)
        for bound, value in zip(found, values, strict=True):
            assert bound.lower <= bound.value <= bound.upper
            assert bound.error <= 1e-13 * max(abs(bound.value), 1e-3)
            assert abs(bound.value - value) <= 1e-12 * max(abs(value), 1.0)


def test_a_closed_form_lies_within_the_bound():
    model = MM1K(arrival_rate=9.0, service_rate=10.0, capacity=50)
    ratio = mpmath.mpf(9) / 10
    with mpmath.workdps(50):
        weights = [ratio**k for k in range(51)]
        exact = mpmath.fsum(k * w for k, w in enumerate(weights)) / mpmath.fsum(weights)
        bound = stationary(model).bound(np.arange(51.0))
        assert bound.lower <= exact <= bound.upper
    assert bound.relative_error < 1e-15


# --------------------------------------------------------------------------- what is asked for


def test_without_proof_nothing_is_bounded_or_raised():
    answer = stationary(MM1K(), SparseLU(), proof=False)
    assert answer.status is Status.SOLVED
    assert answer.error_bound == math.inf
    assert "not computed" in repr(answer)


def test_a_tight_proof_is_sharper():
    """For a method that iterates: at most twenty times the true error, where GTH tells that."""
    chain = MarkovChain(PauseTandem(buffers=(22, 43), high_threshold=32))
    loose, tight = (stationary(chain, Multilevel(), proof=proof) for proof in (True, "tight"))
    exact = stationary(chain, GTH())
    truth = 0.5 * np.abs(tight.pi - exact.pi).sum()
    assert truth - exact.error_bound <= tight.error_bound <= 20.0 * (truth + exact.error_bound)
    assert tight.error_bound <= loose.error_bound


def test_an_answer_can_be_pickled_and_bounded_again():
    answer = stationary(MM1K())
    again = pickle.loads(pickle.dumps(answer))
    assert again.error_bound == answer.error_bound
    f = np.arange(len(answer.pi))
    one, other = answer.bound(f), again.bound(f)
    assert one.lower <= other.upper
    assert other.lower <= one.upper


# Deviations and asymptotic variances: formulas, dense matrices, simulated means.


def random_generator(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.diag(np.full(n - 1, 0.2), 1)
    Q[-1, 0] += 0.3
    return generator_of(Q)


def dense_deviation(Q: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """(Pi - Q)^-1 - Pi."""
    Pi = np.tile(pi, (len(pi), 1))
    return np.linalg.inv(Pi - Q) - Pi


def test_the_variance_of_a_queue_length_is_that_of_whitt() -> None:
    # 2 rho (1 + rho) / (mu (1 - rho)^4), of a queue without end
    rho, mu = 0.5, 10.0
    model = MM1K(capacity=120, arrival_rate=rho * mu, service_rate=mu)
    found = stationary(model).variance(np.arange(121.0))
    assert found.value == pytest.approx(2 * rho * (1 + rho) / (mu * (1 - rho) ** 4), rel=1e-12)
    assert found.error <= 1e-10


@for_each(range(10))
def test_variances_of_random_chains_are_those_of_the_deviation_matrix(seed: int) -> None:
    Q = random_generator(15, seed)
    answer = stationary(Q)
    f = np.random.default_rng(seed + 50).normal(size=15)
    D = dense_deviation(Q, answer.pi)
    np.testing.assert_allclose(answer.deviation(f), D @ f, rtol=0, atol=1e-11)
    exact = 2.0 * answer.pi @ ((f - answer.pi @ f) * (D @ f))
    found = answer.variance(f)
    assert found.lower - 1e-12 * exact <= exact <= found.upper + 1e-12 * exact
    assert found.error <= 1e-11 * exact


def test_methods_that_iterate_enclose_the_same_variance() -> None:
    model = PauseTandem(buffers=(20, 20), high_threshold=15)
    direct = stationary(model).variance("throughput")
    other = stationary(model, Multilevel()).variance("throughput")
    assert max(direct.lower, other.lower) <= min(direct.upper, other.upper)
    assert direct.error <= 1e-9 * direct.value


def test_a_ratio_has_the_variance_of_the_delta_method() -> None:
    Q = random_generator(8, 3)
    answer = stationary(Q)
    top, bottom = np.arange(8.0), 1.0 + np.arange(8.0) % 3
    ratio = (answer.pi @ top) / (answer.pi @ bottom)
    expected = answer.variance(top - ratio * bottom).value / (answer.pi @ bottom) ** 2
    assert answer.variance((top, bottom)).value == pytest.approx(expected, rel=1e-12)


def test_the_variance_predicts_the_spread_of_simulated_means() -> None:
    """Of 400 independent paths, with a chi-squared interval that fails once in 10^6."""
    import scipy.stats

    a, b, T, runs = 1.0, 3.0, 200.0, 400
    rng = np.random.default_rng(7)
    up = rng.random(runs) < b / (a + b)
    time, earned = np.zeros(runs), np.zeros(runs)
    while (time < T).any():
        stay = np.minimum(rng.exponential(1.0, runs) / np.where(up, a, b), T - time)
        earned += np.where(up, stay, 0.0)
        time, up = time + stay, ~up
    spread = np.var(earned / T, ddof=1) * T
    predicted = stationary([[-a, a], [b, -b]]).variance([1.0, 0.0]).value
    low, high = scipy.stats.chi2(runs - 1).ppf([5e-7, 1 - 5e-7]) / (runs - 1)
    assert low <= spread / predicted <= high


# A number and the interval that holds the exact one.


Bounded = type(passage(MM1K(capacity=2), to=(2,), start=(0,)).quantile(0.5))


def test_the_error_is_the_distance_to_the_farther_end() -> None:
    found = Bounded(2.0, 1.5, 2.25)
    assert found.error == 0.5
    assert float(found) == 2.0
    assert 1.5 in found
    assert 2.3 not in found
    assert repr(found) == "2 +- 0.5"


@for_each(
    [
        (Bounded(2.0, 1.0, 4.0), 2.0),  # |exact| >= 1, off by at most 2
        (Bounded(-2.0, -4.0, -1.0), 2.0),
        (Bounded(0.5, -1.0, 1.0), math.inf),  # it may be zero
        (Bounded(0.0, 0.0, 0.0), 0.0),
        (Bounded(3.0, 3.0, 3.0), 0.0),
        (Bounded(3.0, -math.inf, math.inf), math.inf),
        (Bounded(math.inf, math.inf, math.inf), 0.0),
    ]
)
def test_the_relative_error_is_relative_to_the_smallest_size(bounded: Any, error: float) -> None:
    assert bounded.relative_error == error

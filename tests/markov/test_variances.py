"""Asymptotic variances, deviations and sensitivities: formulas, dense matrices, differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import MM1K, MarkovChain, Multilevel, PauseTandem, explore, read_prism, stationary


def random_generator(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = rng.random((n, n)) * (rng.random((n, n)) < 0.5) + np.diag(np.full(n - 1, 0.2), 1)
    Q[-1, 0] += 0.3
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    return Q


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


@pytest.mark.parametrize("seed", range(10))
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


def loss_system(n: int, q: Any) -> Any:
    if n < 1:
        yield n + 1, q.arrivals
    if n > 0:
        yield n - 1, q.service


def test_a_derivative_is_that_of_the_formula() -> None:
    model = explore(
        loss_system,
        start=0,
        params={"arrivals": 7.0, "service": 10.0},
        rewards=lambda n, q: {"throughput": q.service * n},
    )
    found = stationary(model).sensitivity("arrivals", of="throughput")
    assert abs(found.derivative - (10.0 / 17.0) ** 2) <= found.error + 1e-15
    assert found.elasticity == pytest.approx(10.0 / 17.0)
    assert found.error < 1e-11
    by_service = stationary(model).sensitivity("service", of="throughput")  # of the reward too
    assert by_service.derivative == pytest.approx((7.0 / 17.0) ** 2, rel=1e-12)


@pytest.mark.parametrize(
    "parameter", ["link_rate", "paused_rate", "bottleneck_rate", "rtt", "arrival_rates[0]"]
)
@pytest.mark.parametrize("of", ["throughput", "pause_fraction", "loss_probability"])
def test_derivatives_are_those_of_solutions_at_other_parameters(parameter: str, of: str) -> None:
    model = PauseTandem(buffers=(6, 8), high_threshold=5)
    found = stationary(model).sensitivity(parameter, of=of)
    found = found if isinstance(found, list) else [found]

    def at(factor: float) -> np.ndarray:
        if parameter.endswith("]"):
            rates = model.params.arrival_rates
            changed = model.replace(arrival_rates=(rates[0] * factor, *rates[1:]))
        else:
            changed = model.replace(**{parameter: getattr(model.params, parameter) * factor})
        return np.atleast_1d(stationary(changed)[of])

    value = getattr(model.params, parameter.partition("[")[0])
    value = value[0] if parameter.endswith("]") else value
    h = 1e-4
    rough = (at(1 + h) - at(1 - h)) / (2 * h * value)
    for each, difference in zip(found, rough, strict=True):
        size = abs(each.value / value)
        # second order of the difference, and the rounding of solutions over h
        assert each.derivative == pytest.approx(difference, rel=1e-6, abs=1e-9 * size)
        assert each.error <= 1e-8 * size


def test_constants_of_a_file_are_parameters(tmp_path: Path) -> None:
    path = tmp_path / "machine.sm"
    path.write_text(
        "ctmc\nconst double fails = 0.25;\nmodule m\n up : bool init true;\n"
        "[] up -> fails : (up' = false);\n[] !up -> 1 : (up' = true);\nendmodule\n"
        'label "works" = up;\n'
    )
    found = stationary(read_prism(path)).sensitivity("fails", of="works")
    assert abs(found.derivative + 1 / 1.25**2) <= found.error + 1e-15


@pytest.mark.parametrize(
    ("parameter", "of", "message"),
    [
        ("speed", "throughput", "parameter = 'speed': must be one of"),
        ("arrival_rates", "throughput", r"must be one of arrival_rates\[0\], arrival_rates\[1\]"),
        ("recovery", "throughput", "is 'always': must be a number"),
        ("high_threshold", "throughput", "refuses high_threshold"),
        ("rtt", "speed", "measure = 'speed'"),
    ],
)
def test_bad_input_is_named(parameter: str, of: str, message: str) -> None:
    answer = stationary(PauseTandem(buffers=(3, 4), high_threshold=2))
    with pytest.raises(ValueError, match=message):
        answer.sensitivity(parameter, of=of)


def test_a_matrix_has_no_parameters_and_one_state_does_not_vary() -> None:
    answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    with pytest.raises(ValueError, match="no parameters"):
        answer.sensitivity("rate", of="x")
    alone = stationary(MarkovChain([[0.0, 0.0], [1.0, -1.0]]))
    assert alone.variance([2.0, 3.0]).value == 0.0

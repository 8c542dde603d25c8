"""Derivatives of rates: exact where the rules allow it, the same as those of differences."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import (
    ChainModel,
    MarkovChain,
    Mean,
    PauseChain,
    PauseTandem,
    explore,
    stationary,
)
from markov.analysis.perturbations import Perturbation


def perturbation(model: Any, parameter: str, *, exact: bool = True) -> Perturbation:
    """Return the perturbation of a model; not exact: no derivatives by symbols."""
    chain = model.chain if hasattr(model, "chain") else MarkovChain(model)
    found = Perturbation(chain, np.arange(chain.size), parameter, {})
    if not exact:
        found._by_symbols = lambda side: None  # type: ignore[method-assign]
    return found


def agree(model: Any, parameter: str) -> None:
    """Assert that both ways give Q', and that the first of them was gone."""
    exact = perturbation(model, parameter)
    assert exact._by_symbols(None) is not None
    near, error = exact.generator()
    far, estimate = perturbation(model, parameter, exact=False).generator()
    scale = abs(far).max()
    assert scale > 0.0
    # differences of the sixth order: their own estimate, and the rounding of rates over the step
    assert abs(near - far).max() <= 10.0 * (abs(estimate).max() + abs(error).max()) + 1e-11 * scale


@pytest.mark.parametrize(
    "parameter", ["link_rate", "paused_rate", "bottleneck_rate", "rtt", "arrival_rates[1]"]
)
def test_derivatives_of_the_pause_tandem(parameter: str) -> None:
    agree(PauseTandem(buffers=(30, 60), high_threshold=25), parameter)  # by regions
    agree(PauseTandem(buffers=(4, 5), high_threshold=3), parameter)


def test_derivatives_of_vectors_of_components() -> None:
    agree(PauseChain(hops=2, buffers=(3, 3, 3), high_threshold=2), "rtt")


@pytest.mark.parametrize(
    "rate",
    [
        lambda n, q: q.a * n,
        lambda n, q: (q.a + q.b) * (3.0 - n) / (1.0 + q.a),
        lambda n, q: q.a**2 / (n + 1) - 0.25 * q.b,
        lambda n, q: 2.0 / q.a + np.float64(1.0) * q.a - 1 + n,
        lambda n, q: max(q.a, q.b * n, 0.5),
        lambda n, q: abs(-q.a) if q.a > n - 0.5 else +q.b,
    ],
    ids=["product", "quotient", "power", "numpy", "largest", "sign"],
)
def test_arithmetic_keeps_derivatives(rate: Any) -> None:
    def rules(n: int, q: Any) -> Any:
        if n < 2:
            yield n + 1, rate(n, q) + 1.0
        if n > 0:
            yield n - 1, q.b

    for name in "ab":
        agree(explore(rules, start=0, params={"a": 1.75, "b": 1.25}), name)


@pytest.mark.parametrize(
    "rate",
    [
        lambda q: math.sqrt(q.a),  # not arithmetic
        lambda q: 2.0 * int(q.a + 0.5) + 0.25 * float(q.a),  # a jump elsewhere
        lambda q: min(q.a, q.c),  # a kink: both are 1
    ],
    ids=["root", "whole", "kink"],
)
def test_what_carries_no_derivative_is_left_to_differences(rate: Any) -> None:
    def rules(n: int, q: Any) -> Any:
        yield 1 - n, rate(q) if n else q.b

    model = explore(rules, start=0, params={"a": 1.0, "b": 3.0, "c": 1.0})
    found = perturbation(model, "a")
    assert found._by_symbols(None) is None
    exact = perturbation(model, "b")  # another symbol that has a derivative, by itself
    assert exact._by_symbols(None) is not None
    rates, error = found.generator("left")
    assert rates.shape == error.shape == (2, 2)


class Reading(ChainModel):
    """A model whose rules read its parameters from itself, not from q."""

    class State(NamedTuple):
        n: int

    class Params(NamedTuple):
        up: float = 2.0
        down: float = 3.0

    def space(self) -> Any:
        return {"n": range(3)}

    def rules(self, s: Any) -> Any:  # type: ignore[override]
        if s.n < 2:
            yield s._replace(n=s.n + 1), self.up
        if s.n > 0:
            yield s._replace(n=s.n - 1), self.down

    def rewards(self, s: Any) -> Any:
        return {"level": Mean(self.up * s.n, over=1.0 + s.n)}


def test_rules_that_read_the_model_are_left_to_differences() -> None:
    found = perturbation(Reading(), "up")
    assert found._by_symbols(None) is None
    np.testing.assert_allclose(found.generator()[0].diagonal(), [-1.0, -1.0, 0.0], atol=1e-12)


def test_a_ratio_that_holds_the_parameter_is_differentiated_too() -> None:
    found = stationary(Reading()).sensitivity("up", of="level")
    step = 1e-5
    values = [stationary(Reading(up=2.0 + s))["level"] for s in (step, -step)]
    assert found.derivative == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-8)  # type: ignore[union-attr]


def test_one_pass_of_the_rules_serves_all_parameters() -> None:
    answer = stationary(PauseTandem(buffers=(6, 8), high_threshold=5))
    answer.sensitivity("rtt", of="throughput")
    answer.sensitivity("link_rate", of="pause_fraction")
    assert len(answer._deviations["rates"]) == 1

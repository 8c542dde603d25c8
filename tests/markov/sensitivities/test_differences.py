"""Derivatives by perturbed parameters: steps, kinks, perturbed chains, and both sides of a kink."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, MarkovChain, Mean, PauseChain, PauseTandem, explore, stationary
from markov.results import Sensitivity
from markov.sensitivities.differences import FIRST_STEPS, Irregular, Jump, Kinked, derivative
from markov.sensitivities.perturbations import Perturbation
from markov.sensitivities.results import combine_sides, format_shortest, no_derivative
from tests.surface import for_each

# Differences: smooth functions, kinks and steps, here and close by, against derivatives of formulas.


AT = 2.0
DISTANCES = (1e-12, 1e-9, 1e-6, 1e-3, 3e-3, 6e-3, 1e-2)
"""From far below the smallest step to beyond the largest, 1/128."""


def ask(function: Callable[[float], float], side: Any = None) -> tuple[float, float]:
    """Return a derivative at 2 with its error."""

    def values(shifts: Sequence[float]) -> list[Any]:
        return [np.array([function(AT + shift)]) for shift in shifts]

    found = derivative(values, 2.0, side, len(FIRST_STEPS))
    return float(found.value[0]), float(found.error[0])


@pytest.mark.parametrize("side", [None, "left", "right"])
@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x: 3.0, 0.0),
        (lambda x: x, 1.0),
        (lambda x: x**5, 80.0),
        (math.exp, math.exp(2.0)),
        (math.sqrt, 0.5 / math.sqrt(2.0)),
        (lambda x: math.exp(30.0 * (x - 2.0)), 30.0),
        (lambda x: math.sin(50.0 * x), 50.0 * math.cos(100.0)),
        (lambda x: 1.0 / (x - 1.9), -100.0),
        (lambda x: 1e300 * x, 1e300),
        (lambda x: 1e-300 * x, 1e-300),
    ],
)
def test_derivatives_of_smooth_functions_are_within_their_errors(function: Any, slope: float, side: Any) -> None:
    value, error = ask(function, side)
    assert abs(value - slope) <= error
    if side is None:
        assert error <= 1e-3 * abs(slope) + 1e-10 * abs(function(AT))


def test_a_smooth_function_costs_one_scale() -> None:
    calls: list[int] = []

    def values(shifts: Sequence[float]) -> list[Any]:
        calls.append(len(shifts))
        return [np.array([math.exp(AT + shift)]) for shift in shifts]

    derivative(values, 2.0, None, len(FIRST_STEPS))
    assert calls == [7]


@pytest.mark.parametrize("distance", [0.0, *DISTANCES, *(-d for d in DISTANCES)])
@pytest.mark.parametrize("slopes", [(0.0, 1.0), (-1.0, 1.0), (1.0, 1.01)])
def test_a_kink_close_by_is_covered_or_refused(distance: float, slopes: Any) -> None:
    kink = AT + distance

    def function(x: float) -> float:
        return 5.0 + slopes[x > kink] * (x - kink)

    for side, exact in ((None, slopes[distance <= 0]), ("left", slopes[distance < 0]),
                        ("right", slopes[distance <= 0])):  # fmt: skip
        try:
            value, error = ask(function, side)
        except (Kinked, Irregular):
            assert abs(distance) < 1e-8
            assert side is None or distance != 0.0
            continue
        assert distance != 0.0 or side is not None
        if abs(distance) * (slopes[1] - slopes[0]) < 16 * np.finfo(float).eps * 5.0:
            exact = slopes[side == "right"]  # the kink makes no difference to rounding: it is here
        assert abs(value - exact) <= error


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_a_step_is_noticed_on_its_side(size: float) -> None:
    def function(x: float) -> float:
        return 3.0 * x + (size if x > AT else 0.0)

    with pytest.raises(Kinked):
        ask(function)
    with pytest.raises(Jump):
        ask(function, "right")
    value, error = ask(function, "left")
    assert abs(value - 3.0) <= error


def test_a_vertical_tangent_has_no_derivative() -> None:
    with pytest.raises(Kinked):
        ask(lambda x: math.sqrt(abs(x - AT)))
    with pytest.raises(Irregular):
        ask(lambda x: math.sqrt(abs(x - AT)), "right")


def test_a_power_with_a_weak_singularity_keeps_its_error() -> None:
    """|x - 2|^1.5 and its odd twin have the derivative zero, which differences reach slowly."""
    for function in (
        lambda x: abs(x - AT) ** 1.5,
        lambda x: math.copysign(abs(x - AT) ** 1.5, x - AT),
    ):
        for side in (None, "left", "right"):
            try:
                value, error = ask(function, side)
            except (Kinked, Irregular):
                continue
            assert abs(value) <= error


# Derivatives of rates: exact where the rules allow it, the same as those of differences.


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


@pytest.mark.parametrize("parameter", ["link_rate", "paused_rate", "bottleneck_rate", "rtt", "arrival_rates[1]"])
def test_derivatives_of_the_pause_tandem(parameter: str) -> None:
    agree(PauseTandem(buffers=(30, 60), high_threshold=25), parameter)  # by regions
    agree(PauseTandem(buffers=(4, 5), high_threshold=3), parameter)


def test_derivatives_of_vectors_of_components() -> None:
    agree(PauseChain(hops=2, buffers=(3, 3, 3), high_threshold=2), "rtt")


@for_each(
    [
        lambda n, q: q.a * n,
        lambda n, q: (q.a + q.b) * (3.0 - n) / (1.0 + q.a),
        lambda n, q: q.a**2 / (n + 1) - 0.25 * q.b,
        lambda n, q: 2.0 / q.a + np.float64(1.0) * q.a - 1 + n,
        lambda n, q: 5.0 - q.a + (3.0 - q.b) * 0.5,
        lambda n, q: max(q.a, q.b * n, 0.5),
        lambda n, q: abs(-q.a) if q.a > n - 0.5 else +q.b,
    ]
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


# Sensitivities as results: both sides of a kink joined or stated, and the error that states them.


def from_below(derivative: float, error: float = 1e-9) -> Sensitivity:
    return Sensitivity("c", "L", 8.0, derivative, error, derivative * 3.0 / 8.0, side="left")


def from_above(derivative: float, error: float = 1e-9) -> Sensitivity:
    return Sensitivity("c", "L", 8.0, derivative, error, derivative * 3.0 / 8.0, side="right")


def test_sides_that_agree_within_their_errors_are_one_derivative() -> None:
    found = combine_sides(from_below(-2.0, 0.3), from_above(-1.6, 0.2))
    assert found is not None
    assert found.side is None
    assert found.derivative == pytest.approx(-1.8)
    assert found.error == pytest.approx(0.3 + 0.2)  # reaches both ends of both intervals at least
    assert found.elasticity == pytest.approx(-1.8 * 3.0 / 8.0)


def test_sides_that_differ_by_more_are_not_joined() -> None:
    assert combine_sides(from_below(-2.0, 0.1), from_above(-1.6, 0.2)) is None


@pytest.mark.parametrize(
    ("left", "right", "single", "said"),
    [
        ([from_below(-15.909)], [from_above(-15.44)], True,
         'no derivative at c = 3: -15.91 from below, -15.44 from above; write side="left" or side="right"'),
        ("L jumps from 1 to 2 below it", [from_above(0.5)], True,
         'no derivative at c = 3: L jumps from 1 to 2 below it, 0.5 from above; write side="right"'),
        ([from_below(1.0), from_below(2.0)], "the states change above it", False,
         'no derivative at c = 3: [1, 2] from below, the states change above it; write side="left"'),
    ],
    ids=["kink", "jump", "vector"],
)  # fmt: skip
def test_both_sides_are_stated(left: object, right: object, single: bool, said: str) -> None:
    error = no_derivative("c", 3.0, left, right, single=single)
    assert str(error) == said
    for given, found in ((left, error.left), (right, error.right)):
        expected = None if isinstance(given, str) else given
        assert found == (expected[0] if single and isinstance(expected, list) else expected)


@pytest.mark.parametrize("number", [3.0, 0.1, 1.0 / 3.0, 1e-300, 12345678.5])
def test_the_shortest_text_of_a_number_gives_it_back(number: float) -> None:
    assert float(format_shortest(number)) == number
    assert len(format_shortest(number)) <= len(repr(number))

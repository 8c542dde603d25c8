"""Differences: smooth functions, kinks and steps, here and close by, against derivatives of formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from markov.analysis.differences import STEPS, Irregular, Jump, Kinked, derivative

AT = 2.0
DISTANCES = (1e-12, 1e-9, 1e-6, 1e-3, 3e-3, 6e-3, 1e-2)
"""From far below the smallest step to beyond the largest, 1/128."""


def ask(function: Callable[[float], float], side: Any = None) -> tuple[float, float]:
    """Return a derivative at 2 with its error."""

    def values(shifts: Sequence[float]) -> list[Any]:
        return [np.array([function(AT + shift)]) for shift in shifts]

    found = derivative(values, 2.0, side, len(STEPS))
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
def test_derivatives_of_smooth_functions_are_within_their_errors(
    function: Any, slope: float, side: Any
) -> None:
    value, error = ask(function, side)
    assert abs(value - slope) <= error
    if side is None:
        assert error <= 1e-3 * abs(slope) + 1e-10 * abs(function(AT))


def test_a_smooth_function_costs_one_scale() -> None:
    calls: list[int] = []

    def values(shifts: Sequence[float]) -> list[Any]:
        calls.append(len(shifts))
        return [np.array([math.exp(AT + shift)]) for shift in shifts]

    derivative(values, 2.0, None, len(STEPS))
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

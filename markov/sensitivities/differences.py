"""Derivatives of functions of one number by differences, with detection of kinks and steps.

1. Central differences at a step and two halves of it, extrapolated twice (L. F. Richardson, Philosophical
   Transactions of the Royal Society A 210, 1911), and one-sided differences at the same points.
2. An entry is smooth where both sides agree to their errors and the differences converge as they should.
3. Others follow at steps 2^9 times smaller, as their kink may only be close by. The finer derivative is
   accepted once its error is an eighth of the difference between the sides at larger steps.
   A kink that is closer than rounding resolves counts as a kink at the point.
4. An entry that is not smooth at any step has a kink. A derivative from one side is accepted where two steps in
   a row agree; where the function moves as much at the smallest step as at the step before, it has a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from markov.computing.rounding import U

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Values = Callable[[Sequence[float]], list[NDArray[np.float64]]]

__all__ = ["Estimate", "Irregular", "Jump", "Kinked", "Side", "derivative"]

Side = Literal["left", "right"]
FIRST_STEPS = tuple(2.0 ** -(8 + 9 * scale) for scale in range(5))  # the first step of each scale
STEP_FACTORS = (1.0, 0.5, 0.25)
CENTRAL_ORDER, ONE_SIDED_ORDER = 0.45, 0.6
"""Largest ratio of successive changes: 1/4 where errors are of the second order, 1/2 of the first."""
MAX_FINE_ERROR_RATIO = 0.125  # error over the difference between the sides at a larger step
MIN_RELATIVE_CHANGE = 64.0 * U  # relative: smaller changes are rounding


class Kinked(ArithmeticError):
    """Raised by `derivative` if the derivatives from below and above differ."""


class Jump(ArithmeticError):
    """Raised by `derivative` if the function jumps on the requested side."""


class Irregular(ArithmeticError):
    """Raised by `derivative` if differences do not converge on the requested side."""


class Estimate(NamedTuple):
    """Derivatives of the entries of an array, with estimates of their errors, arrays of equal shape."""

    value: Vector
    error: Vector


class _ScaleEstimate(NamedTuple):
    """Derivatives from the steps of one scale, and whether each entry converges as a smooth function does."""

    estimate: Estimate
    regular: NDArray[np.bool_]


def derivative(values: Values, unit: float, side: Side | None, scales: int) -> Estimate:
    """Return the derivative by one number, at zero, of every entry of an array-valued function, by differences.

    Parameters
    ----------
    values
        The arrays at shifts, all of the same shape, which may change from call to call if all
        earlier shifts are requested again: omitted entries are zero.
    unit
        Unit of the shifts: a power of two, so that shifted numbers are exact.
    side
        ``"left"``: from below, ``"right"``: from above; None: from both.
    scales
        Number of steps to try, at least two.

    Raises
    ------
    Kinked, Jump, Irregular
        Without a derivative.
    """
    steps = [unit * step for step in FIRST_STEPS[:scales]]
    if side is None:
        return _two_sided_derivative(values, steps)
    return _one_sided_derivative(values, steps, -1.0 if side == "left" else 1.0)


def _two_sided_derivative(values: Values, steps: list[float]) -> Estimate:
    """Return the derivatives by central differences, with smaller steps until every entry is smooth."""
    shifts: list[float] = [0.0]
    for scale, step in enumerate(steps):
        shifts += [sign * factor * step for factor in STEP_FACTORS for sign in (1.0, -1.0)]
        arrays = values(shifts)
        by_shift = dict(zip(shifts, arrays, strict=True))
        estimate, unresolved = _first_smooth(by_shift, steps[: scale + 1])
        if not unresolved.any():
            return estimate
    raise Kinked


def _first_smooth(by_shift: dict[float, Vector], steps: list[float]) -> tuple[Estimate, NDArray[np.bool_]]:
    """Return derivatives from the largest step at which an entry is smooth, and a mask of entries without one."""
    value = error = jump = np.zeros_like(by_shift[0.0])
    unresolved = np.ones(by_shift[0.0].shape, dtype=bool)
    for step in steps:
        central = _central_estimate(by_shift, step)
        above, below = _one_sided_estimate(by_shift, step), _one_sided_estimate(by_shift, -step)
        side_difference = np.abs(above.estimate.value - below.estimate.value)
        smooth = side_difference <= above.estimate.error + below.estimate.error
        smooth &= central.regular
        accepted = unresolved & smooth & ((jump == 0.0) | (central.estimate.error <= MAX_FINE_ERROR_RATIO * jump))
        value = np.where(accepted, central.estimate.value, value)
        error = np.where(accepted, central.estimate.error, error)
        unresolved = unresolved & ~accepted
        irregularity = np.where(smooth, 0.0, np.maximum(side_difference, central.estimate.error))
        jump = np.where(unresolved, np.maximum(jump, irregularity), jump)
    return Estimate(value, error), unresolved


def _one_sided_derivative(values: Values, steps: list[float], sign: float) -> Estimate:
    """Return the derivatives from below (sign = -1) or above (+1), where two steps in a row agree."""
    shifts: list[float] = [0.0]
    by_shift: dict[float, Vector] = {}
    for scale, step in enumerate(steps):
        shifts += [sign * factor * step for factor in STEP_FACTORS]
        by_shift = dict(zip(shifts, values(shifts), strict=True))
        value = error = np.zeros_like(by_shift[0.0])
        unresolved = np.ones(by_shift[0.0].shape, dtype=bool)
        estimates = [_one_sided_estimate(by_shift, sign * first_step) for first_step in steps[: scale + 1]]
        for coarse, fine in itertools.pairwise(estimates):
            difference = np.abs(coarse.estimate.value - fine.estimate.value)
            agrees = difference <= coarse.estimate.error + fine.estimate.error
            accepted = unresolved & coarse.regular & agrees
            value = np.where(accepted, coarse.estimate.value, value)
            error = np.where(accepted, coarse.estimate.error, error)
            unresolved = unresolved & ~accepted
        if scale and not unresolved.any():
            return Estimate(value, error)
    shifts_of_steps = [sign * STEP_FACTORS[-1] * step for step in steps[-2:]]
    change_before, change = (np.abs(by_shift[shift] - by_shift[0.0])[unresolved] for shift in shifts_of_steps)
    rounding = MIN_RELATIVE_CHANGE * np.abs(by_shift[0.0])[unresolved]
    raise Jump if ((change > 0.5 * change_before) & (change > rounding)).any() else Irregular


def _central_estimate(by_shift: dict[float, Vector], step: float) -> _ScaleEstimate:
    """Return extrapolated central differences at a step and two halves of it."""
    D = [(by_shift[factor * step] - by_shift[-factor * step]) / (2.0 * factor * step) for factor in STEP_FACTORS]
    extrapolated = [(4.0 * D[k + 1] - D[k]) / 3.0 for k in range(2)]
    result = (16.0 * extrapolated[1] - extrapolated[0]) / 15.0
    rounding = 16.0 * U / (STEP_FACTORS[-1] * step) * _magnitude(by_shift, step)
    changes = np.abs(D[1] - D[0]), np.abs(D[2] - D[1])
    regular = changes[1] <= CENTRAL_ORDER * changes[0] + rounding
    return _ScaleEstimate(Estimate(result, 0.5 * np.abs(extrapolated[1] - extrapolated[0]) + rounding), regular)


def _one_sided_estimate(by_shift: dict[float, Vector], step: float) -> _ScaleEstimate:
    """Return extrapolated one-sided differences at a step, negative for the left side, and two halves of it."""
    D = [(by_shift[factor * step] - by_shift[0.0]) / (factor * step) for factor in STEP_FACTORS]
    extrapolated = [2.0 * D[k + 1] - D[k] for k in range(2)]
    result = (4.0 * extrapolated[1] - extrapolated[0]) / 3.0
    rounding = 32.0 * U / (STEP_FACTORS[-1] * abs(step)) * _magnitude(by_shift, step)
    changes = np.abs(D[1] - D[0]), np.abs(D[2] - D[1])
    regular = changes[1] <= ONE_SIDED_ORDER * changes[0] + rounding
    return _ScaleEstimate(Estimate(result, np.abs(extrapolated[1] - extrapolated[0]) + rounding), regular)


def _magnitude(by_shift: dict[float, Vector], step: float) -> Vector:
    """Return the larger absolute value of each entry at shift 0 and at ``step``."""
    return np.maximum(np.abs(by_shift[0.0]), np.abs(by_shift[step]))

"""Derivatives of functions of one number by differences, which notice kinks and steps.

1. Central differences at a step and two halves of it, extrapolated twice (L. F. Richardson, Philosophical
   Transactions of the Royal Society A 210, 1911), and one-sided ones at the same points.
2. An entry is smooth where both sides agree to their errors and the differences converge as they should.
3. Others are tried at steps 2^9 times smaller, as their kink may only be close by. The finer derivative is
   accepted once its error is an eighth of the difference between the sides that was seen before.
   A kink that is closer than rounding resolves counts as one at the point itself.
4. One that is not smooth at any step has a kink. A derivative from one side is accepted where two steps in
   a row agree; where the function moves as much at the smallest step as at the one before, it has a step.
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
STEPS = tuple(2.0 ** -(8 + 9 * scale) for scale in range(5))  # the first step of each scale
HALVES = (1.0, 0.5, 0.25)
CENTRAL_ORDER, ONE_SIDED_ORDER = 0.45, 0.6
"""Largest ratio of successive changes: 1/4 where errors are of the second order, 1/2 of the first."""
RESOLVED = 0.125  # of the difference between the sides at a larger step
MOVED = 64.0 * U  # relative: less is rounding


class Kinked(ArithmeticError):
    """The derivatives from both sides differ."""


class Jump(ArithmeticError):
    """The function steps on the side that was asked for."""


class Irregular(ArithmeticError):
    """Differences do not converge on the side that was asked for."""


class Estimate(NamedTuple):
    """Derivatives of the entries of an array and estimates of their errors."""

    value: Vector
    error: Vector


class _Found(NamedTuple):
    estimate: Estimate
    regular: NDArray[np.bool_]


def derivative(values: Values, unit: float, side: Side | None, scales: int) -> Estimate:
    """Return the derivatives of an array at zero.

    Parameters
    ----------
    values
        The arrays at some shifts, all of the same shape, which may change from call to call if all
        shifts that were asked for before are in it: entries that are left out are zero.
    unit
        Of the shifts: a power of two, so that shifted numbers are exact.
    side
        ``"left"``: from below, ``"right"``: from above; None: from both.
    scales
        Number of steps to try, at least two.

    Raises
    ------
    Kinked, Jump, Irregular
        Where there is none.
    """
    steps = [unit * step for step in STEPS[:scales]]
    if side is None:
        return _from_both(values, steps)
    return _from_one(values, steps, -1.0 if side == "left" else 1.0)


def _from_both(values: Values, steps: list[float]) -> Estimate:
    shifts: list[float] = [0.0]
    for tried, step in enumerate(steps):
        shifts += [sign * half * step for half in HALVES for sign in (1.0, -1.0)]
        arrays = values(shifts)
        known = dict(zip(shifts, arrays, strict=True))
        found, open_ = _smooth(known, steps[: tried + 1])
        if not open_.any():
            return found
    raise Kinked


def _smooth(known: dict[float, Vector], steps: list[float]) -> tuple[Estimate, NDArray[np.bool_]]:
    """Return the derivatives at the largest step that serves, and where none does."""
    value = error = jump = np.zeros_like(known[0.0])
    open_ = np.ones(known[0.0].shape, dtype=bool)
    for step in steps:
        both = _central(known, step)
        above, below = _one_sided(known, step), _one_sided(known, -step)
        apart = np.abs(above.estimate.value - below.estimate.value)
        smooth = apart <= above.estimate.error + below.estimate.error
        smooth &= both.regular
        taken = open_ & smooth & ((jump == 0.0) | (both.estimate.error <= RESOLVED * jump))
        value = np.where(taken, both.estimate.value, value)
        error = np.where(taken, both.estimate.error, error)
        open_ = open_ & ~taken
        size = np.where(smooth, 0.0, np.maximum(apart, both.estimate.error))
        jump = np.where(open_, np.maximum(jump, size), jump)
    return Estimate(value, error), open_


def _from_one(values: Values, steps: list[float], sign: float) -> Estimate:
    shifts: list[float] = [0.0]
    known: dict[float, Vector] = {}
    for tried, step in enumerate(steps):
        shifts += [sign * half * step for half in HALVES]
        known = dict(zip(shifts, values(shifts), strict=True))
        value = error = np.zeros_like(known[0.0])
        open_ = np.ones(known[0.0].shape, dtype=bool)
        scales = [_one_sided(known, sign * each) for each in steps[: tried + 1]]
        for coarse, fine in itertools.pairwise(scales):
            apart = np.abs(coarse.estimate.value - fine.estimate.value)
            good = apart <= coarse.estimate.error + fine.estimate.error
            taken = open_ & coarse.regular & good
            value = np.where(taken, coarse.estimate.value, value)
            error = np.where(taken, coarse.estimate.error, error)
            open_ = open_ & ~taken
        if tried and not open_.any():
            return Estimate(value, error)
    ends = [sign * HALVES[-1] * step for step in steps[-2:]]
    far, near = (np.abs(known[shift] - known[0.0])[open_] for shift in ends)
    size = MOVED * np.abs(known[0.0])[open_]
    raise Jump if ((near > 0.5 * far) & (near > size)).any() else Irregular


def _central(known: dict[float, Vector], step: float) -> _Found:
    D = [(known[half * step] - known[-half * step]) / (2.0 * half * step) for half in HALVES]
    once = [(4.0 * D[k + 1] - D[k]) / 3.0 for k in range(2)]
    twice = (16.0 * once[1] - once[0]) / 15.0
    rounding = 16.0 * U / (HALVES[-1] * step) * _size(known, step)
    changes = np.abs(D[1] - D[0]), np.abs(D[2] - D[1])
    regular = changes[1] <= CENTRAL_ORDER * changes[0] + rounding
    return _Found(Estimate(twice, 0.5 * np.abs(once[1] - once[0]) + rounding), regular)


def _one_sided(known: dict[float, Vector], step: float) -> _Found:
    D = [(known[half * step] - known[0.0]) / (half * step) for half in HALVES]
    once = [2.0 * D[k + 1] - D[k] for k in range(2)]
    twice = (4.0 * once[1] - once[0]) / 3.0
    rounding = 32.0 * U / (HALVES[-1] * abs(step)) * _size(known, step)
    changes = np.abs(D[1] - D[0]), np.abs(D[2] - D[1])
    regular = changes[1] <= ONE_SIDED_ORDER * changes[0] + rounding
    return _Found(Estimate(twice, np.abs(once[1] - once[0]) + rounding), regular)


def _size(known: dict[float, Vector], step: float) -> Vector:
    return np.maximum(np.abs(known[0.0]), np.abs(known[step]))

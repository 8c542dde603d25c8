"""GMRES and BiCGSTAB with a preconditioner on the right, so that the residuals are the true ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.matrices import inner, norm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

__all__ = ["RESTART", "bicgstab", "gmres"]

RESTART = 60  # vectors


def gmres(
    matrix: Any, right: Vector, inverse: Callable[[Vector], Vector], gain: float, most: int
) -> tuple[Vector, int]:
    """Return a solution of ``matrix @ x = right``, and how often the matrix was applied.

    Parameters
    ----------
    matrix
        Shape (n, n), dense or sparse.
    right
        Shape (n,).
    inverse
        The preconditioner: nearly solves the equation for any right-hand side.
    gain
        By how much the residual's Euclidean norm is to fall.
    most
        Most steps; x is what was reached then. It is not finite where the matrix or the preconditioner
        are not.
    """
    x, done = np.zeros_like(right), 0
    goal = gain * norm(right)
    while True:
        rest = right - matrix @ x
        size = norm(rest)
        if not goal < size < math.inf or done >= most:
            return x, done
        basis = [rest / size]
        columns: list[list[float]] = []
        turns: list[tuple[float, float]] = []
        sizes = [size]
        while len(columns) < min(RESTART, most - done) and abs(sizes[-1]) > goal:
            new = matrix @ inverse(basis[-1])
            column: list[float] = []
            for vector in basis:
                column.append(inner(vector, new))
                new -= column[-1] * vector
            column.append(norm(new))
            basis.append(new / (column[-1] or 1.0))
            for n, turn in enumerate(turns):
                column[n : n + 2] = _turned(turn, *column[n : n + 2])
            length = math.hypot(*column[-2:]) or math.nan
            turns.append((column[-2] / length, column[-1] / length))
            column[-2:] = _turned(turns[-1], *column[-2:])
            columns.append(column)
            sizes[-1:] = _turned(turns[-1], sizes[-1], 0.0)
        done += len(columns)
        from scipy.linalg import solve_triangular

        triangle = np.zeros((len(columns), len(columns)))
        for n, column in enumerate(columns):
            triangle[: n + 1, n] = column[: n + 1]
        shares = solve_triangular(triangle, sizes[:-1], check_finite=False)
        step = np.zeros_like(x)
        for share, vector in zip(shares, basis, strict=False):
            step += share * vector
        x += inverse(step)


def _turned(turn: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Return a point after a rotation, given by cosine and sine."""
    cosine, sine = turn
    return cosine * x + sine * y, cosine * y - sine * x


def bicgstab(
    matrix: Any, right: Vector, inverse: Callable[[Vector], Vector], gain: float, most: int
) -> tuple[Vector, int]:
    """Solve as `gmres` does, by BiCGSTAB; a step applies the matrix twice."""
    x, rest, shadow = np.zeros_like(right), right.copy(), right.copy()
    goal = gain * norm(right)
    direction, image = np.zeros_like(right), np.zeros_like(right)
    before = length = damping = 1.0
    for done in range(most):
        if not goal < norm(rest) < math.inf:
            return x, done
        along = inner(shadow, rest)
        if along == 0.0 or damping == 0.0:  # broken down: a new start from here
            shadow, along = rest.copy(), inner(rest, rest)
            direction[:], image[:] = 0.0, 0.0
            before = length = damping = 1.0
        direction = rest + along / before * length / damping * (direction - damping * image)
        tried = inverse(direction)
        image = matrix @ tried
        length = along / (inner(shadow, image) or math.nan)
        rest = rest - length * image
        x += length * tried
        tried = inverse(rest)
        changed = matrix @ tried
        damping = inner(changed, rest) / (inner(changed, changed) or math.inf)
        rest = rest - damping * changed
        x += damping * tried
        before = along
    return x, most

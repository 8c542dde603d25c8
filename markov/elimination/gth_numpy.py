"""Elimination without subtractions in NumPy, for equations with exit rates, and solves with its factors.

For equations among transient states. Closed chains are eliminated by `markov.elimination.gth_kernels`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.matrices import row_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Places = NDArray[np.int64]

__all__ = ["Substitution", "eliminate_block", "lay_out", "square"]

BLOCK_SIZE = 32  # places that are substituted at a time
MAX_UNBLOCKED_STATES = 8  # states that are eliminated one by one


def square(rates: Vector, row_stride: int, n: int) -> NDArray[np.float64]:
    """Return a view of the rates from state i to j, shape (n, n)."""
    return np.ndarray((n, n), buffer=rates, strides=(row_stride * rates.itemsize, rates.itemsize))


def lay_out(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: Vector,
    rank: Places,
    row_stride: int,
    rates: Vector,
) -> None:
    """Write the off-diagonal entries of a matrix into the layout of elimination."""
    sources, targets = row_numbers(indptr, rank), rank[indices]
    off = sources != targets
    rates[sources[off] * row_stride + targets[off]] = data[off]


def eliminate_block(
    entries: NDArray[np.float64],
    first: Places,
    low: int,
    high: int,
    leaving: Vector | None = None,
) -> None:
    """Eliminate the states high - 1 .. low, as the kernel `eliminate` does: recursively by halves.

    ``leaving`` are rates from each state out of the chain, shape (n,). Exit rates contain them, and the rates of states
    from low on are updated like rates between states.
    """
    if high - low > MAX_UNBLOCKED_STATES and high - low < len(first) - 1:
        middle = (low + high) // 2
        eliminate_block(entries, first, middle, high, leaving)
        start, gone = int(first[low]), slice(middle, high)
        rows, border = slice(low, middle), max(start, low)
        entries[rows, start:middle] += entries[rows, gone] @ entries[gone, start:middle]
        if border > start:
            above = slice(start, low)
            entries[above, rows] += entries[above, gone] @ entries[gone, rows]
        if leaving is not None:
            leaving[rows] += entries[rows, gone] @ leaving[gone]
        return eliminate_block(entries, first, low, middle, leaving)
    for k, start in zip(range(high - 1, low - 1, -1), first[low:high][::-1].tolist(), strict=True):
        row, column = entries[k, start:k], entries[start:k, k]
        total = math.fsum(row.tolist())
        if leaving is not None:
            total += float(leaving[k])
        column /= total
        entries[k, k] = total
        border = max(start, low)
        part = entries[border:k, start:k]
        np.add(part, column[border - start :, None] * row, out=part)
        if leaving is not None:
            leaving[border:k] += column[border - start :] * leaving[k]
        if border > start:
            part = entries[start:border, border:k]
            np.add(part, column[: border - start, None] * row[border - start :], out=part)
    return None


class Substitution:
    """Triangular solves with the factors, by blocks of states.

    Parameters
    ----------
    rates, row_stride, first
        As elimination leaves them.
    """

    def __init__(self, rates: Vector, row_stride: int, first: Places) -> None:
        self._parts = _parts(square(rates, row_stride, len(first)), first)

    def inflows(self, r: Vector) -> None:
        """Replace flows into each state by mean times there until absorption."""
        for part in reversed(self._parts):
            block = slice(part.low, part.high)
            r[block] = _solve_upper(part.lower.T, r[block]) / part.exits
            r[part.start : part.low] += r[block] @ part.left
        for part in self._parts:
            block = slice(part.low, part.high)
            r[block] = part.after(r[block] + r[part.start : part.low] @ part.above)

    def costs(self, b: Vector) -> None:
        """Replace costs per second by mean costs until absorption."""
        for part in reversed(self._parts):
            block = slice(part.low, part.high)
            b[block] = _solve_upper(part.upper, b[block])
            b[part.start : part.low] += part.above @ b[block]
        for part in self._parts:
            block = slice(part.low, part.high)
            total = (b[block] + part.left @ b[part.start : part.low]) / part.exits
            b[block] = _solve_upper(part.lower[::-1, ::-1], total[::-1])[::-1]


class _Part(NamedTuple):
    """The states low .. high - 1, connected with states from ``start`` on.

    ``above`` has the entries from lower states into them, ``left`` the entries back, ``exits`` their exit rates.
    ``upper`` is the identity minus U, ``lower`` minus the probabilities of jumps from each of them to lower states.
    """

    start: int
    low: int
    high: int
    above: NDArray[np.float64]
    left: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    exits: Vector

    def after(self, into: Vector) -> Vector:
        """Solve x = into + x U, where U has the entries from each state to higher states."""
        return _solve_upper(self.upper.T[::-1, ::-1], into[::-1])[::-1]


def _solve_upper(matrix: NDArray[np.float64], right: Vector) -> Vector:
    """Solve an upper triangular system, whose LU factors are the identity and the matrix.

    SciPy's `solve_triangular` would load `scipy.linalg`, which takes longer than a small chain.
    """
    return np.asarray(np.linalg.solve(matrix, right))


def _parts(entries: NDArray[np.float64], first: Places) -> list[_Part]:
    """Return the blocks of states with the parts of both factors."""
    n, parts = len(first), []
    for low in range(0, n, BLOCK_SIZE):
        high, start = min(low + BLOCK_SIZE, n), int(first[low])
        inside = np.arange(start, high) >= first[low:high, None]
        lower = np.where(inside, entries[low:high, start:high], 0.0)
        upper = np.where(inside.T, entries[start:high, low:high], 0.0)
        jumps = np.triu(upper[low - start :], 1)
        exits = lower[:, low - start :].diagonal().copy()
        before, one = low - start, np.eye(high - low)
        back = one - np.tril(lower[:, before:], -1) / exits[:, None]
        part = _Part(start, low, high, upper[:before], lower[:, :before], back, one - jumps, exits)
        parts.append(part)
    return parts

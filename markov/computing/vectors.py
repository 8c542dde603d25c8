"""Vectors: of components of a state, and long ones of numbers, whose inner products use one core.

NumPy's own products go to a BLAS that wakes its threads for ten thousand numbers, and lets them spin for a while
after: on a busy machine that takes longer than all the rest of a solution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["add_at", "inner", "norm", "row_numbers"]


def add_at(vector: tuple[Any, ...], place: int, amount: Any) -> tuple[Any, ...]:
    """Return a vector of components with something added at one place.

    Parameters
    ----------
    vector
        A tuple of numbers, such as ``s.n`` of a state.
    place
        Which of them, from 0.
    amount
        What is added.

    Examples
    --------
    >>> add_at((3, 0, 2), 1, 5)
    (3, 5, 2)
    """
    return (*vector[:place], vector[place] + amount, *vector[place + 1 :])


def inner(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return sum_i x(i) y(i), for vectors of shape (n,)."""
    return float(np.einsum("i,i", x, y))


def norm(x: NDArray[np.float64]) -> float:
    """Return the Euclidean norm of a vector, shape (n,)."""
    return math.sqrt(inner(x, x))


def row_numbers(
    pointers: NDArray[np.integer[Any]], numbers: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Return the row of each entry of a matrix in compressed rows.

    Parameters
    ----------
    pointers
        Where each row begins and the last one ends, shape (rows + 1,).
    numbers
        What to return for each row, shape (rows,); None: its number.

    Examples
    --------
    >>> row_numbers(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    rows = np.arange(len(pointers) - 1, dtype=np.int64) if numbers is None else numbers
    return np.repeat(rows, np.diff(pointers).astype(np.intp, copy=False))  # 32 bits in a browser

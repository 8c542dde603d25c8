"""Weights far out in the tails, where a distribution has been held at a least value.

Below some 1e-280 the probabilities of a solution are not those of the chain. What coarse levels take from
them is how states that are joined share their weight. So a hyperplane of the grid that has next to no
probability is given the numbers of the last one that has some: across the tail the shares are right, and
along it they are equal. Weights that were equal in both ways would give coarse levels the wrong drift.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.stencils.layouts import Layout

__all__ = ["continued"]

TRUSTED = 1e-180
"""Of the largest probability: less is given up, and 1e-280 is too near."""


def continued(layout: Layout, x: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return, along each axis, the hyperplane whose numbers each one has: its own, or the nearest's.

    Parameters
    ----------
    layout
        The grid. Only hyperplanes whose cells have the same states, in an unbroken row, are compared.
    x
        Probabilities of its states.
    """
    grid, found = layout.into[0], []
    view = x.reshape(*grid.shape, grid.width)
    least = TRUSTED * float(x.max())
    for n, alike in enumerate(_sections(layout)):
        largest = view.max(axis=tuple(m for m in range(view.ndim) if m != n))
        numbers = np.arange(len(alike))
        ends = [0, *(np.flatnonzero(alike[1:] != alike[:-1]) + 1).tolist(), len(alike)]
        for begin, end in itertools.pairwise(ends):
            trusted = begin + np.flatnonzero(largest[begin:end] >= least)
            if len(trusted):
                numbers[begin:end] = np.clip(numbers[begin:end], trusted[0], trusted[-1])
        found.append(numbers)
    return found


def _sections(layout: Layout) -> list[NDArray[np.int64]]:
    """Return numbers of the hyperplanes across each axis: equal ones have the same states."""
    grid = layout.into[0]
    _, states = np.unique(layout.place, axis=0, return_inverse=True)
    cells = states.ravel()[grid.rows]
    _, lines = np.unique(cells, axis=0, return_inverse=True)
    rows = lines.ravel()[grid.row_kind].reshape(grid.shape[:-1])
    found = []
    for n in range(len(grid.shape)):
        lead = n < rows.ndim
        planes = np.moveaxis(rows, n, 0).reshape(grid.shape[n], -1) if lead else cells.T
        _, numbers = np.unique(planes, axis=0, return_inverse=True)
        found.append(numbers.ravel())
    return found

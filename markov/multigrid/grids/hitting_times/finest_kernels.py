"""The loops over the finest grid of hitting times, as templates of kernels.

Tables are of transitions by source. Hitting times may be in float32: what is computed from them is in float64.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.multigrid.grids.loops.tables import ONE, ZERO
from markov.multigrid.grids.loops.traversals import child_slots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Leaking", "Weights", "cells_by_costs", "cost_levels", "restrict_rate_residual", "weight"]


class Weights(NamedTuple):
    """Weights of states in the equations of their aggregates, and costs per second.

    Attributes
    ----------
    pi
        Probabilities.
    minimum
        Probabilities that are less, and not zero, have this weight.
    costs, levels
        The cost of each level, and the level of each state.
    """

    pi: NDArray[np.float64]
    minimum: float
    costs: NDArray[np.float64]
    levels: NDArray[np.uint8]


class Leaking(NamedTuple):
    """The equations of the finest grid: rates of entries, and the counts on which they depend, and weights.

    A flow ``leak`` out of the state ``reference`` ends there.
    """

    rate: NDArray[np.float64]
    counts: Any
    reference: np.uint64
    leak: float
    weights: Weights


def cost_levels(minimum, largest, pi, levels):
    """Set levels of costs: how often a weight, over the largest, is divided by 256, and at most 255.

    The weight of a state is its probability, and not less than ``minimum``.
    """
    for s in range(len(levels)):
        _, exponent = math.frexp(max(pi[s], minimum) / largest)
        levels[s] = min(max(-exponent, 0) // 8, 255)


def weight(x, minimum):
    """Return what a flow out of a state of probability x is weighted by: x, and not less than ``minimum``."""
    return max(x, minimum) if x > 0.0 else 0.0


def cells_by_costs(run, grid, plan, equations, backward, h):
    """Solve the equations of some cells of a row and segment: those from ``low`` up to ``high``.

    Rates are those out of a state over their sum, ``scale`` is one over that. As much as flows out of
    the state ``reference`` to others ends there.
    """
    row, k, low, high = run
    rate, scale, costs, levels, reference = equations
    base = grid.numbers[k] * grid.width
    s = (row * grid.cells + (high - ONE if backward else low)) * grid.width
    for _ in range(low, high):
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            total = costs[levels[s + r]] * scale[base + r]
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                total += h[s + r + grid.step[e]] * rate[e]
            h[s + r] = 0.5 * total if s + r == reference else total
        s = s - grid.width if backward else s + grid.width


def restrict_rate_residual(span, sums, restriction, equations, h):
    """Restrict the residual: sum it over the cells of the first coarse grid, by the weights of the equations.

    The sums are divided by the flows out of the cells. ``sums`` is for those of one coarse row.
    """
    children, grid, frequent, target = restriction
    counts = equations.counts
    weights = equations.weights
    for coarse in range(span[0], span[1]):
        for t in range(len(sums)):
            sums[t] = 0.0
        for s, r, _, aggregate in child_slots(coarse, children, grid, frequent, target, counts):
            value = 1.0 * h[s]  # float64
            total = weights.costs[weights.levels[s]]
            for e in range(grid.begin[r], grid.begin[r + ONE]):
                total += (h[s + grid.step[e]] - value) * equations.rate[e]
            if s == equations.reference:
                total -= equations.leak * value
            sums[aggregate] += weight(weights.pi[s], weights.minimum) * total
        t = coarse * target.states
        for m in range(ZERO, target.states):
            out = target.out[t + m]
            target.right[t + m] = sums[m] / out if out > 0.0 else 0.0

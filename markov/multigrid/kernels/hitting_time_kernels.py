"""Kernels of hitting times on grids: sweeps, restriction of the residual, and corrections.

Transitions are stored by source. On the finest grid the unknown is h with Q h = -costs; on a coarse grid it is the
amount added to each aggregate, whose equation is divided by its outflow. Numbers may be in float32, and every
computation is in float64. No rounding error matters here: `markov.multigrid.kernels.proof_kernels` checks the result.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.multigrid.kernels.sweep_kernels import ROWS
from markov.multigrid.kernels.tables import ONE, ZERO
from markov.multigrid.kernels.traversals import child_slots, flow_slots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Narrow = NDArray[np.floating[Any]]

__all__ = [
    "Aggregates",
    "Equations",
    "LeakingEquations",
    "Weights",
    "add_corrections",
    "cells_by_costs",
    "cells_by_shares",
    "cost_levels",
    "restrict_rate_residual",
    "restrict_residual",
    "row_sums",
    "rows_by_costs",
    "rows_by_shares",
    "weight",
]


class Weights(NamedTuple):
    """Weights of states in the equations of their aggregates, and the cost per second in each state.

    Attributes
    ----------
    pi
        Probabilities.
    minimum
        Minimum weight of states with positive probability.
    costs, levels
        The cost of each level, and the level of each state.
    """

    pi: NDArray[np.float64]
    minimum: float
    costs: NDArray[np.float64]
    levels: NDArray[np.uint8]


class LeakingEquations(NamedTuple):
    """The equations of hitting times on the finest grid: rates of entries, counts on which they depend, weights.

    The reference has an additional flow ``leak`` that leaves the chain.

    The reference has an additional flow ``leak`` that leaves the chain.
    """

    rate: NDArray[np.float64]
    counts: Any
    reference: np.uint64
    leak: float
    weights: Weights


def cost_levels(minimum, largest, pi, levels):
    """Write the cost level of each state: how often its weight / largest is divided by 256, at most 255.

    The weight of a state is its probability, at least ``minimum``.
    """
    for s in range(len(levels)):
        _, exponent = math.frexp(max(pi[s], minimum) / largest)
        levels[s] = min(max(-exponent, 0) // 8, 255)


def weight(x, minimum):
    """Return the weight of a flow out of a state of probability x: x, at least ``minimum``, and zero for zero."""
    return max(x, minimum) if x > 0.0 else 0.0


def cells_by_costs(run, grid, plan, equations, backward, h):
    """Solve the equations of hitting times in the cells low .. high - 1 of a segment, in turn.

    Rates are those out of a state over their sum; ``scale`` is one over the sum. The reference has a leak as large as
    its flow to other states.
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


def rows_by_costs(run, grid, plan, equations, backward, h):
    """Do the same as `cells_by_costs` from ``cell`` on in four rows side by side, without the reference."""
    row, k, cell = run
    rate, scale, costs, levels, _ = equations
    base = grid.numbers[k] * grid.width
    ahead = (grid.cells - plan.lag) * grid.width
    ahead = ZERO - ahead if backward else ahead
    s = (row * grid.cells + cell) * grid.width
    for _ in range(grid.starts[k] + plan.lag * (ROWS - ONE), grid.stops[k]):
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            s0 = s + r
            s1 = s0 + ahead
            s2 = s1 + ahead
            s3 = s2 + ahead
            t0 = costs[levels[s0]] * scale[base + r]
            t1 = costs[levels[s1]] * scale[base + r]
            t2 = costs[levels[s2]] * scale[base + r]
            t3 = costs[levels[s3]] * scale[base + r]
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                step = grid.step[e]
                factor = rate[e]
                t0 += h[s0 + step] * factor
                t1 += h[s1 + step] * factor
                t2 += h[s2 + step] * factor
                t3 += h[s3 + step] * factor
            h[s0] = t0
            h[s1] = t1
            h[s2] = t2
            h[s3] = t3
        s = s - grid.width if backward else s + grid.width


def restrict_rate_residual(span, sums, restriction, equations, h):
    """Write the finest grid's residual, summed by aggregate with weights, into the right-hand sides of the next level.

    The sums are divided by the flows out of the cells. ``sums`` is a buffer for one coarse row.
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


UNDERFLOW_GUARD = 1e-300


class Equations(NamedTuple):
    """The equations of hitting times on a coarse grid: shares of flows, right-hand sides, flows out of states.

    The reference has an additional flow ``leak`` that leaves the chain.

    The reference has an additional flow ``leak`` that leaves the chain.
    """

    values: Narrow
    right: Narrow
    out: NDArray[np.float64]
    reference: np.uint64
    leak: float


class Aggregates(NamedTuple):
    """The aggregates of a grid's states in the next coarse grid, with their outflows and right-hand sides.

    Attributes
    ----------
    aggregate_of_cell
        The first state of the aggregates of each cell of a row, counted from the first state of a coarse row.
    states
        States of a coarse row.
    out, right
        Flow out of each aggregate, and the right-hand side of its equation.
    """

    aggregate_of_cell: NDArray[np.uint64]
    states: np.uint64
    out: NDArray[np.float64]
    right: Narrow


def add_corrections(span, grid, children, aggregate_of_cell, coarse, h):
    """Add to h of each state the amount of its aggregate, for a span of coarse rows."""
    for row in range(span[0], span[1]):
        for c in range(ZERO, ZERO + children.rows.shape[1]):
            if not children.present[row, c]:
                continue
            s = children.rows[row, c] * children.cells * children.width
            for cell in range(ZERO, children.cells):
                t = row * grid.cells * grid.width + aggregate_of_cell[cell]
                for m in range(ZERO, grid.width):
                    h[s] += coarse[t + m]
                    s += ONE


def cells_by_shares(run, grid, plan, equations, backward, h):
    """Solve the equations of hitting times in the cells of a segment of a coarse grid, in turn.

    By differences: shares in float32 need not sum to one.
    """
    row, k, low, high = run
    before, value_begin, values, right, out, reference, leak = equations
    base = grid.numbers[k] * grid.width
    n_entries = grid.begin[base + grid.width] - grid.begin[base]
    s = (row * grid.cells + (high - ONE if backward else low)) * grid.width
    ahead = (high - ONE if backward else low) - grid.starts[k]
    v = value_begin[row] + before[k] + ahead * n_entries - grid.begin[base]
    for _ in range(low, high):
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            value = 1.0 * h[s + r]  # float64
            total = 1.0 * right[s + r]
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                total += (h[s + r + grid.step[e]] - value) * values[v + e]
            if s + r == reference:
                total -= leak / out[s + r] * value
            h[s + r] = value + total
        s = s - grid.width if backward else s + grid.width
        v = v - n_entries if backward else v + n_entries


def rows_by_shares(run, grid, plan, equations, backward, h):
    """Do the same as `cells_by_shares` from ``cell`` on in four rows side by side, without the reference."""
    row, k, cell = run
    before, value_begin, values, right = equations[:4]
    base = grid.numbers[k] * grid.width
    n_entries = grid.begin[base + grid.width] - grid.begin[base]
    ahead = (grid.cells - plan.lag) * grid.width
    ahead = ZERO - ahead if backward else ahead
    next_row = row - ONE if backward else row + ONE
    behind = plan.lag * n_entries
    values_ahead = value_begin[next_row] - value_begin[row] + (behind if backward else ZERO - behind)
    s = (row * grid.cells + cell) * grid.width
    v = value_begin[row] + before[k] + (cell - grid.starts[k]) * n_entries - grid.begin[base]
    for _ in range(grid.starts[k] + plan.lag * (ROWS - ONE), grid.stops[k]):
        for m in range(ZERO, grid.width):
            r = grid.width - ONE - m if backward else m
            s0 = s + r
            s1 = s0 + ahead
            s2 = s1 + ahead
            s3 = s2 + ahead
            value0 = 1.0 * h[s0]  # float64
            value1 = 1.0 * h[s1]
            value2 = 1.0 * h[s2]
            value3 = 1.0 * h[s3]
            t0 = 1.0 * right[s0]
            t1 = 1.0 * right[s1]
            t2 = 1.0 * right[s2]
            t3 = 1.0 * right[s3]
            for e in range(grid.begin[base + r], grid.begin[base + r + ONE]):
                step = grid.step[e]
                f = v + e
                t0 += (h[s0 + step] - value0) * values[f]
                f += values_ahead
                t1 += (h[s1 + step] - value1) * values[f]
                f += values_ahead
                t2 += (h[s2 + step] - value2) * values[f]
                f += values_ahead
                t3 += (h[s3 + step] - value3) * values[f]
            h[s0] = value0 + t0
            h[s1] = value1 + t1
            h[s2] = value2 + t2
            h[s3] = value3 + t3
        s = s - grid.width if backward else s + grid.width
        v = v - n_entries if backward else v + n_entries


def restrict_residual(span, sums, restriction, equations, h):
    """Write a coarse grid's residual, summed by aggregate, into the right-hand sides of the next level.

    ``sums`` is a buffer for one coarse row.
    """
    children, grid, frequent, target = restriction
    counts = ()
    for coarse in range(span[0], span[1]):
        for t in range(len(sums)):
            sums[t] = 0.0
        for s, r, v, aggregate in child_slots(coarse, children, grid, frequent, target, counts):
            value = 1.0 * h[s]  # float64
            total = 1.0 * equations.right[s]
            first = grid.begin[r]
            for e in range(first, grid.begin[r + ONE]):
                total += (h[s + grid.step[e]] - value) * equations.values[v + (e - first)]
            if s == equations.reference:
                total -= equations.leak / equations.out[s] * value
            sums[aggregate] += equations.out[s] * total
        t = coarse * target.states
        for m in range(ZERO, target.states):
            out = target.out[t + m]
            target.right[t + m] = sums[m] / out if out > 0.0 else 0.0


def row_sums(span, grid, frequent, flows, equations):
    """Write the flow out of each state, the leak included, into ``out``, and shares of it into ``values``."""
    for s, r, v in flow_slots(span, grid, frequent):
        count = grid.begin[r + ONE] - grid.begin[r]
        total = equations.leak if s == equations.reference else 0.0
        for e in range(ZERO, count):
            total += flows[v + e]
        equations.out[s] = total if total > UNDERFLOW_GUARD else 0.0
        for e in range(ZERO, count):
            equations.values[v + e] = flows[v + e] / total if total > UNDERFLOW_GUARD else 0.0

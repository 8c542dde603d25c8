"""Kernels of the error bound on a grid: they check hitting times h, raise them, and weigh the residual x Q by them.

1. `drift` bounds max (Q h)(s) from above, by transitions by source. The proof needs (Q h)(s) <= -c in all recurrent
   states but the reference.
2. `raise_failing` raises h in the states that violate this.
3. `misfit` bounds the sums of (x Q)+ h and (x Q)- h from above, by transitions by target.

h may be in float32; all computations are in float64. Rounding errors are bounded where they occur: a sum of m products
has an error of at most 1.1 (m + k) U times the sum of their absolute values, with k further roundings per term
(`docs/error-constants.toml` has the inequalities). Results are rounded up accordingly.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.computing.double_double_kernels import rounding_of_product, rounding_of_sum
from markov.computing.rounding import U
from markov.multigrid.kernels.rate_kernels import at_cell, at_row
from markov.multigrid.kernels.tables import ONE, ZERO
from markov.multigrid.kernels.traversals import other_slots, slots

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markov.multigrid.kernels.tables import Cells, Marked


__all__ = [
    "ROUNDINGS",
    "Checked",
    "ExactRates",
    "Heights",
    "Queue",
    "Raising",
    "drift",
    "misfit",
    "misfit_exactly",
    "raise_failing",
]

ROUNDINGS = 4  # of a drift, beside one for each transition

TINY = 1e-300
"""More than the rounding error of products that underflow: with factors of at least 1e-280 only last digits do."""


class ExactRates(NamedTuple):
    """Rates of entries and out of slots, and the rounding errors of the latter as sums of rates."""

    rate: NDArray[np.float64]
    exit_rate: NDArray[np.float64]
    exit_rounding: NDArray[np.float64]


class Queue(NamedTuple):
    """A ring buffer of states to visit.

    Attributes
    ----------
    states
        Buffer for ``size`` states.
    length
        Number of states in it at first.
    max_length, max_visits
        Lengths of the queue, and numbers of visits, at which raising is given up.
    """

    states: NDArray[np.uint64]
    length: np.uint64
    size: np.uint64
    max_length: np.uint64
    max_visits: np.uint64


class Raising(NamedTuple):
    """Which states are raised, and by how much.

    Attributes
    ----------
    limit, aim
        Drift above which a state is raised, and the drift after that, relative to its costs.
    queued
        The mark of queued states.
    marked
        The recurrent states.
    into
        The grid of the transitions into each state.
    """

    limit: float
    aim: float
    queued: int
    marked: Marked
    into: Cells


class Checked(NamedTuple):
    """Hitting times h, the marks (bits) of recurrent states, and the number above which a drift fails."""

    h: NDArray[np.floating[Any]]
    marked: Marked
    limit: float


class Heights(NamedTuple):
    """Hitting times h and their minimum, whose difference weighs x Q, and the marks of recurrent states."""

    h: NDArray[np.floating[Any]]
    minimum: float
    marked: Marked


def drift(span, failing, grid, frequent, equations, checked):
    """Return the largest drift (Q h)(s), rounded up, of the marked states except the reference; count failing states.

    NaN if any of them is NaN. The second result is the number of states above ``limit``;
    ``failing`` gets the first of these states, up to its length.
    """
    h, marked, limit = checked
    counts = equations.counts
    worst = -1e308
    n_failing = ZERO
    check = 0.0
    for s, r in other_slots(span, grid, frequent, counts):
        total = 0.0
        size = 0.0
        count = 1.0 * ROUNDINGS
        value = 1.0 * h[s]  # float64: a difference of float32 would be rounded to it
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            term = (h[s + grid.step[e]] - value) * equations.rate[e]
            total += term
            size += abs(term)
            count += 1.0
        if marked.marks[s] & marked.bit and s != equations.reference:
            upper = total + 1.1 * count * U * size
            check += upper
            worst = max(worst, upper)
            if not upper <= limit:
                if n_failing < len(failing):
                    failing[n_failing] = s
                n_failing += ONE
    return check if math.isnan(check) else worst, n_failing


def misfit(span, grid, rates, heights, x):
    """Return the sums of (x Q)+ and (x Q)- times h - minimum, rounded up, and the sum of x, over marked states.

    Transitions are those into each state. The sum of x is compensated (Neumaier).
    """
    h, minimum, marked = heights
    counts = rates.counts
    gained = 0.0
    lost = 0.0
    mass = 0.0
    low = 0.0
    for s, r in slots(span, grid, counts):
        total = 0.0
        count = 6.0
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            total += x[s + grid.step[e]] * rates.rate[e]
            count += 1.0
        out = x[s] * rates.exit_rate[r]
        error = 1.1 * count * U * (total + out)
        if marked.marks[s] & marked.bit:
            height = max(h[s] - minimum, 0.0)
            imbalance = total - out
            gained += (0.5 * (abs(imbalance) + imbalance) + error) * height  # max would drop a NaN
            lost += (0.5 * (abs(imbalance) - imbalance) + error) * height
            new = mass + x[s]
            if mass >= x[s]:
                low += (mass - new) + x[s]
            else:
                low += (x[s] - new) + mass
            mass = new
    return gained, lost, mass, low


def misfit_exactly(span, grid, rates, heights, x):
    """Return the first two sums of `misfit`, with each (x Q)(s) in double-double.

    The rounding errors of products and sums are summed beside them; the rounding errors of that sum are in the bound.
    """
    h, minimum, marked = heights
    counts = ()
    gained = 0.0
    drained = 0.0
    for s, r in slots(span, grid, counts):
        total = -x[s] * rates.exit_rate[r]
        lost = rounding_of_product(-x[s], rates.exit_rate[r])
        more = x[s] * rates.exit_rounding[r]
        correction = lost - more
        size = abs(lost) + abs(more)
        count = 6.0
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            flow = x[s + grid.step[e]] * rates.rate[e]
            lost = rounding_of_product(x[s + grid.step[e]], rates.rate[e])
            more = rounding_of_sum(total, flow)
            total += flow
            correction += lost + more
            size += abs(lost) + abs(more)
            count += 2.0
        if marked.marks[s] & marked.bit:
            imbalance = total + correction
            error = 1.1 * U * (abs(imbalance) + count * size) + TINY
            height = max(h[s] - minimum, 0.0)
            gained += (0.5 * (abs(imbalance) + imbalance) + error) * height  # max would drop a NaN
            drained += (0.5 * (abs(imbalance) - imbalance) + error) * height
    return gained, drained


def raise_failing(queue, grid, rates, equations, rule, h):
    """Raise h until (Q h)(s) is at most a limit in the states of a queue; return how many remain in the queue.

    Raising h in a state lowers Q h there and raises it only in states with a transition into it: these are queued then.
    """
    states, count, size, max_length, max_visits = queue
    into, marks, bit = rule.into, rule.marked.marks, rule.marked.bit
    costs, levels = equations.weights.costs, equations.weights.levels
    head = ZERO
    visits = ZERO
    for n in range(ZERO, count):
        marks[states[n]] |= rule.queued
    while count > ZERO and visits < max_visits and count < max_length:
        s = states[head]
        head = head + ONE if head + ONE < size else ZERO
        count -= ONE
        visits += ONE
        marks[s] ^= rule.queued
        cell = s // grid.width
        row = cell // grid.cells
        slot = s - cell * grid.width
        cell -= row * grid.cells
        kind = grid.rows[grid.row_kind[row], cell]
        at_row(rates.counts, kind, row)
        at_cell(rates.counts, kind, cell)
        r = kind * grid.width + slot
        value = 1.0 * h[s]  # float64
        total = 0.0
        above = 1.0 * ROUNDINGS
        amount = 0.0
        for e in range(grid.begin[r], grid.begin[r + ONE]):
            term = (h[s + grid.step[e]] - value) * rates.rate[e]
            total += term
            amount += abs(term)
            above += 1.0
        total += 1.1 * above * U * amount
        if total <= rule.limit:
            continue
        # more than the rounding of float32, so that no state is raised for ever by nothing
        raised = value + (total + rule.aim * costs[levels[s]]) / rates.exit_rate[r]
        h[s] = max(raised, value * (1.0 + 2e-7))
        r = into.rows[into.row_kind[row], cell] * grid.width + slot
        for e in range(into.begin[r], into.begin[r + ONE]):
            t = s + into.step[e]
            if marks[t] & bit and t != equations.reference and not marks[t] & rule.queued:
                marks[t] |= rule.queued
                last = head + count
                states[last if last < size else last - size] = t
                count += ONE
    for n in range(ZERO, count):
        last = head + n
        marks[states[last if last < size else last - size]] ^= rule.queued
    return count

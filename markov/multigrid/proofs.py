"""An upper bound on the error of a distribution on a grid, by hitting times.

The argument is that of `markov.proofs.certificates.Certificate`: h with (Q h)(x) <= -c < 0 in all states
but one gives TV(x, m pi) <= max(sum (x Q)+ h, sum (x Q)- h) / c, with m the mass of x.

1. `HittingTimes` computes h, mean costs until the likeliest state is hit, by one cycle of multigrid or more. Its
   levels are frozen: equations of aggregates are weighted by the solution x.
2. `Drift` computes c. Any h that satisfies the inequality proves a bound. After one cycle few states violate it, along
   the lines where aggregates meet. There h is raised, one state after another, until the inequality holds.
3. `bound_on_grid` evaluates both sides in float64, with a bound on every rounding error.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.compilation import bound_kernel
from markov.computing.double_double_kernels import rounding_of_product, rounding_of_sum
from markov.computing.resources import available
from markov.computing.rounding import U
from markov.elimination.lu import factorize
from markov.multigrid import unrolling
from markov.multigrid.cycle import COARSEST_LEVEL_STATES, cycle_on_grid
from markov.multigrid.grid import Aggregation, coarsen, factors_along
from markov.multigrid.hierarchy import sums_by_index
from markov.multigrid.kernels import count_kernels, hitting_time_kernels, proof_kernels
from markov.multigrid.kernels.flow_kernels import Weighted
from markov.multigrid.kernels.hitting_time_kernels import Aggregates, Equations, LeakingEquations, Weights
from markov.multigrid.kernels.proof_kernels import Checked, Queue, Raising
from markov.multigrid.kernels.tables import Frequent, Marked, Restriction, as_unsigned
from markov.multigrid.levels import (
    ALONE,
    BLOCKS,
    MIN_DIVIDED_STATES,
    MIN_UNROLLED_STATES,
    Level,
    Parts,
    Team,
    rate_table,
)
from markov.multigrid.model import QUEUED, RECURRENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.multigrid.grid import Grid, Layout, Rates
    from markov.multigrid.model import GridStates

    Vector = NDArray[np.float64]

__all__ = ["ACCEPTED_DRIFT", "Drift", "GridBound", "HittingTimes", "Weights", "bound_on_grid", "weights_of"]

COST_EXPONENT = -0.1  # costs grow as this power of the probability
MIN_WEIGHT = 1e-290  # minimum weight of an equation, relative to the largest probability


def weights_of(pi: NDArray[np.float64], team: Team = ALONE) -> Weights:
    """Return the weights and costs of states, for equations of hitting times, from their probabilities pi."""
    largest = float(pi.max())
    levels = np.empty(len(pi), dtype=np.uint8)
    blocks = BLOCKS if len(pi) >= MIN_DIVIDED_STATES else 1
    parts = np.linspace(0, len(pi), blocks + 1).astype(int).tolist()
    spans = [slice(*span) for span in itertools.pairwise(parts)]
    arguments = hitting_time_kernels.cost_levels, MIN_WEIGHT * largest, largest
    team.do([bound_kernel(*arguments, pi[span], levels[span]) for span in spans])
    costs = 256.0 ** (-COST_EXPONENT * np.arange(256.0))
    return Weights(pi, MIN_WEIGHT * largest, costs, levels)


FIRST_SWEEPS = 2  # on the coarse levels, before and after a correction


class HittingTimes:
    """Mean costs h on a grid until the likeliest state is entered, computed by multigrid.

    The aggregates are those of `markov.multigrid.grid`, with the transitions by source and with fixed flows between
    them. The unknown on a coarse level is the amount that is added to each aggregate.

    Parameters
    ----------
    layout
        The chain.
    pi
        Probabilities, which weight the equations: in no state may the inflow far exceed the outflow.
    kind
        Floating-point type of the hitting times.
    wide
        Whether three cells are joined along each of two axes, or two.
    team
        Threads.
    """

    def __init__(
        self,
        layout: Layout,
        pi: Vector,
        kind: type[np.floating[Any]],
        *,
        wide: bool = True,
        team: Team = ALONE,
    ) -> None:
        grid, rates = layout.out
        self.reference = int(np.argmax(pi))
        self.h = np.zeros(grid.size, dtype=kind)
        weights = weights_of(pi, team)
        self.finest = Finest(grid, rates, self.reference, weights, self.h, team)
        self.levels: list[Coarse] = []
        level: Finest | Coarse = self.finest
        leak = float(pi[self.reference]) * self.finest.leak
        while level.grid.size > COARSEST_LEVEL_STATES:
            factors = factors_along(level.strong_axes(), wide=wide)
            coarse, aggregation = coarsen(level.grid, factors)
            level = Coarse(coarse, aggregation, level, leak)
            self.levels.append(level)
        self.coarsest = _CoarsestSolver(level)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays of all levels."""
        levels = sum(level.nbytes for level in self.levels)
        return self.h.nbytes + self.finest.weights.levels.nbytes + levels

    def start(self) -> None:
        """Compute a first approximation of h, by one cycle on the coarse levels and then three sweeps."""
        if not self.levels:
            return self.coarsest.solve()
        first = self.levels[0]
        first.restrict()
        cycle_on_grid(self.levels, self.coarsest.solve, [FIRST_SWEEPS] * len(self.levels))
        first.prolong()
        for sweep in (self.finest.backward, self.finest.backward, self.finest.forward):
            sweep()
        return None

    def cycle(self, sweeps: int) -> None:
        """Improve h by one cycle in place, with ``sweeps`` sweeps on each level before and after a correction."""
        everywhere = [sweeps] * (len(self.levels) + 1)
        cycle_on_grid([self.finest, *self.levels], self.coarsest.solve, everywhere)


class Finest(Level):
    """The finest level of hitting times: the equations Q h = -w, with a leak in the reference."""

    def __init__(
        self,
        grid: Grid,
        rates: Rates,
        reference: int,
        weights: Weights,
        h: Vector,
        team: Team = ALONE,
    ) -> None:
        super().__init__(grid, h, unroll=grid.size >= MIN_UNROLLED_STATES, team=team, rates=rates)
        self.rates, self.reference, self.table = rates, reference, rate_table(grid, rates)
        cell, slot = divmod(reference, grid.width)
        kind = grid.rows[grid.row_kind[cell // grid.shape[-1]], cell % grid.shape[-1]]
        at = np.unravel_index(cell, grid.shape)
        self.leak = float(rates.at_cell([int(n) for n in at])[1][kind * grid.width + slot])
        rate, exit_rate = rates.typical(grid.shape)
        with np.errstate(divide="ignore"):
            scale = np.where(exit_rate > 0.0, 1.0 / exit_rate, 0.0)
        self.jumps = rate * np.repeat(scale, np.diff(grid.begin))
        self.excluded_row = np.uint64(cell // grid.shape[-1])
        costs = weights.costs, weights.levels, np.uint64(reference)
        arrays: tuple[Any, ...] = self.jumps, scale, *costs
        loops: tuple[Any, Any] = hitting_time_kernels.cells_by_costs, hitting_time_kernels.rows_by_costs
        if counts := self.table.counts:
            arrays = self.table.rate, self.table.exit_rate, counts, *costs
            loops = count_kernels.cells_by_counted_costs, None
        self.forward, self.backward = self.sweeps(*loops, arrays, self.excluded_row, self.table)
        self.weights = weights
        rate_arrays = self.table.rate, self.table.counts, np.uint64(reference)
        self.equations = LeakingEquations(*rate_arrays, self.leak, weights)
        self.unrolled_kinds = self.frequent._replace(excluded_row=self.excluded_row)

    def strong_axes(self) -> tuple[bool, ...]:
        """Return whether many jumps lead along each axis, with equal weight for all states."""
        grid = self.grid
        counts = np.repeat(grid.shares, grid.counts)
        return self.axes_of_strong_flow(counts * self.jumps)

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return a call that computes the flows between the cells of the next level, sums of rates times weights."""
        parts = Parts(self.grid, aggregation, by_source=True)
        weighted = Weighted(self.weights.pi, self.weights.minimum)
        return self.sum_rates(coarse, values, parts, self.rates, weighted, hitting_time_kernels.weight)

    def restrict_residual(self, aggregation: Aggregation, coarse: Coarse) -> Callable[[], Any]:
        """Return a call that writes the residual of this level into the right-hand sides of the next level."""
        target = coarse.aggregates(_aggregate_of_cells(aggregation, self.grid))
        into = Restriction(self.children(aggregation), self.cells, self.unrolled_kinds, target)
        run = into, self.equations, self.x
        text, weight = unrolling.residuals(self.patterns), hitting_time_kernels.weight
        kernel = hitting_time_kernels.restrict_rate_residual
        options: dict[str, Any] = {"table": self.table, "helpers": (weight,), "unrolled": text}
        return coarse.by_rows(kernel, *run, buffers=coarse.sum_buffer, **options)


class Coarse(Level):
    """A coarse level of hitting times: x is the amount that is added to h in each aggregate.

    All arrays except flows are in float32.
    """

    def __init__(self, grid: Grid, aggregation: Aggregation, fine: Finest | Coarse, leak: float) -> None:
        x = np.zeros(grid.size, dtype=np.float32)
        super().__init__(grid, x, unroll=fine.unroll, team=fine.team)
        self.reference: int = _coarse_state(fine.reference, fine.grid, aggregation, grid)
        self.leak = leak
        self.values = np.empty(int(grid.value_begin[-1]), dtype=np.float32)
        self.right, self.out = np.zeros(grid.size, dtype=np.float32), np.empty(grid.size)
        flows = np.empty(len(self.values))  # their range is beyond that of float32
        fine.restriction(aggregation, self, flows)()
        leak_arguments = np.uint64(self.reference), leak
        self.equations = Equations(self.values, self.right, self.out, *leak_arguments)
        none = Frequent(np.zeros_like(self.frequent.special), self.frequent.excluded_row)
        sums = self.cells, none, flows, self.equations
        self.by_rows(hitting_time_kernels.row_sums, *sums, unrolled="pass")()
        self._restrict_residual = fine.restrict_residual(aggregation, self)
        aggregate_of_cell = _aggregate_of_cells(aggregation, fine.grid)
        added = self.cells, fine.children(aggregation), aggregate_of_cell, self.x, fine.x
        self.prolong = self.by_rows(hitting_time_kernels.add_corrections, *added)
        arrays = as_unsigned(grid.segment_begin), self.cells.value_begin, *self.equations
        loops = hitting_time_kernels.cells_by_shares, hitting_time_kernels.rows_by_shares
        row = np.uint64(self.reference // (grid.shape[-1] * grid.width))
        self.forward, self.backward = self.sweeps(*loops, arrays, row)

    def aggregates(self, aggregate_of_cell: NDArray[np.uint64]) -> Aggregates:
        """Return the record of a finer level's aggregates for kernels, by the aggregate of each cell of a row."""
        states = self.cells.cells * self.cells.width
        return Aggregates(aggregate_of_cell, states, self.out, self.right)

    def sum_buffer(self) -> tuple[Vector]:
        """Return a buffer of zeros, one for each state of a row, in a tuple."""
        return (np.zeros(self.grid.shape[-1] * self.grid.width),)

    def restrict(self) -> None:
        """Compute the right-hand sides of this level from the residual of the finer level, and set x to zero."""
        self._restrict_residual()
        self.x[:] = 0.0

    def strong_axes(self) -> tuple[bool, ...]:
        """Return whether many jumps lead along each axis, with equal weight for all states."""
        self.x[:] = 1.0
        flows = self.flows_by_entry(True, self.values)
        self.x[:] = 0.0
        return self.axes_of_strong_flow(flows)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays of the level."""
        return self.values.nbytes + self.out.nbytes + self.x.nbytes + self.right.nbytes

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return a call that computes the flows between the cells of the next level, sums of this level's flows."""
        parts = Parts(self.grid, aggregation, by_source=True)
        return self.sum_flows(coarse, values, parts, self.values, self.out)

    def restrict_residual(self, aggregation: Aggregation, coarse: Coarse) -> Callable[[], Any]:
        """Return a call that writes the residual of this level into the right-hand sides of the next level."""
        target = coarse.aggregates(_aggregate_of_cells(aggregation, self.grid))
        none = Frequent(np.zeros_like(self.frequent.special), self.frequent.excluded_row)
        run = (
            Restriction(self.children(aggregation), self.cells, none, target),
            self.equations,
            self.x,
        )
        return coarse.by_rows(hitting_time_kernels.restrict_residual, *run, buffers=coarse.sum_buffer, unrolled="pass")


class _CoarsestSolver:
    """Solver of the last level's equations of hitting times, by sparse LU."""

    def __init__(self, level: Finest | Coarse) -> None:
        self.level, grid = level, level.grid
        indptr, indices = level.pattern()
        if isinstance(level, Coarse):
            values, self.scale = level.values.astype(np.float64), np.ones(grid.size)
        else:
            values, self.scale = level.state_rates(level.rates)
            self.scale[level.reference] = 0.5 / level.leak
        states = np.arange(grid.size)
        rows = np.repeat(states, np.diff(indptr))
        diagonal = np.ones(grid.size)
        if isinstance(level, Coarse):  # shares in float32 need not sum to one
            has_outflow = level.out > 0.0
            diagonal[has_outflow] = sums_by_index(rows, values, grid.size)[has_outflow]
            diagonal[level.reference] += level.leak / level.out[level.reference]
        entries = np.append(diagonal, -self.scale[rows] * values)
        positions = np.append(states, rows), np.append(states, indices)
        matrix = sp.csc_matrix((entries, positions), shape=(grid.size, grid.size))
        self.factors = factorize(matrix, order="MMD_AT_PLUS_A")

    def solve(self) -> None:
        """Solve the equations of the last level into its x."""
        level = self.level
        if isinstance(level, Coarse):
            right = level.right.astype(np.float64)
        else:
            right = level.weights.costs[level.weights.levels]
        level.x[:] = self.factors.solve(self.scale * right)


def _aggregate_of_cells(aggregation: Aggregation, grid: Grid) -> NDArray[np.uint64]:
    """Return the first state of the aggregates of each cell of a row, counted within the coarse row, shape (cells,)."""
    return as_unsigned(np.arange(grid.shape[-1]) // aggregation.last * grid.width)


def _coarse_state(state: int, fine: Grid, aggregation: Aggregation, coarse: Grid) -> int:
    """Return the number of the aggregate, a state of the coarse grid, that contains a state."""
    cell, slot = divmod(state, fine.width)
    row, last = divmod(cell, fine.shape[-1])
    parent = int(np.flatnonzero((aggregation.child_rows == row).any(axis=1))[0])
    return (parent * coarse.shape[-1] + last // aggregation.last) * coarse.width + slot


ACCEPTED_DRIFT = 0.4  # of c: an h that proves more is not looked for
DRIFT_LIMIT = -1.01 * ACCEPTED_DRIFT  # of a drift: sums in another order are rounded in other ways
RAISED_DRIFT = 1.2 * ACCEPTED_DRIFT  # drift of a raised state, relative to its costs
MAX_VISITED_SHARE = 0.25  # of the states; if more would be visited, another cycle comes first


class Drift:
    """Proved bound on the largest drift (Q h)(s) of the recurrent states except the reference, and repair of h.

    Parameters
    ----------
    times
        Hitting times h; the current values are used by each call.
    layout, marks
        The chain, and the marks of its recurrent states.
    """

    def __init__(self, times: HittingTimes, layout: Layout, marks: NDArray[np.uint8]) -> None:
        level = self._level = times.finest
        self._into, self._marks = layout.into[0].cells, marks
        self._states: list[NDArray[np.uint64]] = []
        self._counts: tuple[int, ...] = ()
        self._max_failing = 1000 + int(4.0 * level.grid.size ** (2.0 / 3.0))  # of what lies along lines
        text = unrolling.drifts(level.patterns, proof_kernels.ROUNDINGS, U)
        checked = Checked(times.h, Marked(RECURRENT, marks), DRIFT_LIMIT)
        run = level.cells, level.unrolled_kinds, level.equations, checked
        options: dict[str, Any] = {"buffers": self._failing_buffer, "table": level.table, "unrolled": text}
        self._run = level.by_rows(proof_kernels.drift, *run, **options)

    def _failing_buffer(self) -> tuple[NDArray[np.uint64]]:
        """Return a buffer for the numbers of failing states in a block of rows."""
        self._states.append(np.empty(self._max_failing, dtype=np.uint64))
        return (self._states[-1],)

    def drift_bound(self) -> float:
        """Return a proved c such that (Q h)(s) <= -c in all recurrent states except the reference."""
        worst, counts = zip(*self._run(), strict=True)
        self._counts = tuple(map(int, counts))
        return -float(np.max(worst))

    def failing_states(self) -> NDArray[np.uint64]:
        """Return the states whose drift exceeded the limit in the last `drift_bound`, up to a maximum number."""
        pairs = zip(self._states, self._counts, strict=True)
        return np.concatenate([states[:count] for states, count in pairs])

    def raise_failing(self) -> bool:
        """Raise h in place until the drift is at most the limit in every state; return whether that succeeded.

        Raising h in a state lowers Q h there, and raises it only in states with a transition into it.
        """
        count, level, into = sum(self._counts), self._level, self._into
        if count > self._max_failing:
            return False
        queue = np.empty(2 * self._max_failing + len(into.step), dtype=np.uint64)
        queue[:count] = self.failing_states()
        max_visits = max(MAX_VISITED_SHARE * level.grid.size, self._max_failing)
        sizes = map(np.uint64, (count, len(queue), 2 * self._max_failing, max_visits))
        rule = Raising(DRIFT_LIMIT, RAISED_DRIFT, QUEUED, Marked(RECURRENT, self._marks), into)
        run = Queue(queue, *sizes), level.cells, level.table.slots, level.equations, rule, level.x
        run_queue = bound_kernel(proof_kernels.raise_failing, *run, helpers=level.table.helpers)
        return int(run_queue()) == 0


DIVERGENCE_RATIO = 1.5  # times the drift of the cycle before, three times in a row: cycles diverge
ATTEMPTS: tuple[tuple[type[np.floating[Any]], bool], ...] = (
    (np.float32, True),
    (np.float64, False),
)
"""Hitting times in float32, three cells to one along each axis; then in float64, and two cells to one."""
SWEEPS = (2,) * 8 + (4, 4) + (8,) * 4 + (16,) * 8  # before and after a correction, by cycle
BYTES_PER_STATE = 26.0  # bytes per state of the second attempt


class GridBound(NamedTuple):
    """Result of `bound_on_grid`: bound on the distance (inf without proof), drift c, cycles and bytes of arrays."""

    distance: float
    c: float
    cycles: int
    memory: int


def bound_on_grid(
    layout: Layout, states: GridStates, x: Vector, team: Team = ALONE, *, exact: bool = False
) -> GridBound:
    """Return an upper bound on the total-variation distance between a distribution on a grid and the exact pi.

    Parameters
    ----------
    layout, states
        The chain; the bound is over its recurrent states.
    x
        Probabilities of the states of the grid, zero in transient states.
    team
        Threads; the bound does not depend on their number.
    exact
        Whether x Q is evaluated in double-double. If cycles continued until rounding stopped them, most of
        a residual in float64 is the bound on its own rounding errors.
    """
    bound = GridBound(math.inf, 0.0, 0, 0)
    for kind, wide in ATTEMPTS:
        if kind is np.float64 and available() < BYTES_PER_STATE * x.size:
            break
        times = HittingTimes(layout, x, kind, wide=wide, team=team)
        bound = _bound(layout, states, times, x, exact)
        del times  # before there are others
        if math.isfinite(bound.distance):
            break
    return bound


def _bound(layout: Layout, states: GridStates, times: HittingTimes, x: Vector, exact: bool) -> GridBound:
    """Run cycles on hitting times until they prove a drift, and return the bound on the distance that they prove."""
    c, cycles, grown = -math.inf, 0, 0
    drift = Drift(times, layout, states.marks)
    with np.errstate(all="ignore"):  # values that are not finite prove nothing
        for sweeps in SWEEPS:
            if cycles:
                times.cycle(sweeps)
            else:
                times.start()
            cycles += 1
            before, c = c, drift.drift_bound()
            grown = grown + 1 if c < DIVERGENCE_RATIO * before else 0
            if c < ACCEPTED_DRIFT and drift.raise_failing():
                c = drift.drift_bound()
            if c > ACCEPTED_DRIFT or math.isnan(c) or grown == 3:  # an h that is no number stays so
                break
        if not (c > 0.0 and math.isfinite(c)):
            return GridBound(math.inf, c, cycles, times.nbytes)
        off, mass, low = _misfit(times, layout, states.marks, x, exact)
    rounded_up = 1.0 + (x.size + 16) * U
    distance = off / c * rounded_up + abs((mass - 1.0) + low) + 4.0 * U
    distance = min(distance, 1.0) if math.isfinite(distance) else math.inf
    return GridBound(distance, c, cycles, times.nbytes)


def _misfit(
    times: HittingTimes, layout: Layout, marks: NDArray[np.uint8], x: Vector, exact: bool
) -> tuple[float, float, float]:
    """Return the larger of sum (x Q)+ h and sum (x Q)- h over recurrent states, and the sum of x in two parts."""
    team, (grid, rates) = times.finest.team, layout.into
    level, rate_arrays = Level(grid, x, unroll=False, team=team), rate_table(grid, rates)
    minimum = float(times.h[times.reference])
    vectors = proof_kernels.Heights(times.h, minimum, Marked(RECURRENT, marks)), x
    run = level.by_rows(proof_kernels.misfit, level.cells, rate_arrays.slots, *vectors, table=rate_arrays)
    gained, lost, mass, low = zip(*run(), strict=True)
    if exact and not rate_arrays.counts:
        kernel, helpers = proof_kernels.misfit_exactly, (rounding_of_sum, rounding_of_product)
        exact_rates = proof_kernels.ExactRates(rate_arrays.rate, rate_arrays.exit_rate, rates.exit_rounding)
        exactly = level.by_rows(kernel, level.cells, exact_rates, *vectors, helpers=helpers)
        gained, lost = zip(*exactly(), strict=True)
    total = math.fsum((*mass, *low))
    return float(max(sum(gained), sum(lost))), total, math.fsum((*mass, *low, -total))

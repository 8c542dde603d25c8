"""Mean costs on the way to the likeliest state of a chain on a grid, by multigrid.

The aggregates of `markov.multigrid.grids.coarsening` with the transitions by source, and with flows between them that
stay as they are: what is solved for on a coarse level is what is to be added to each aggregate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.multigrid.grids.coarsening import Aggregation, coarsen, factors_along
from markov.multigrid.grids.cycles import COARSEST_LEVEL_STATES, cycle
from markov.multigrid.grids.hitting_times import coarse_kernels, finest_kernels
from markov.multigrid.grids.hitting_times.coarse_kernels import Aggregates, Equations
from markov.multigrid.grids.hitting_times.finest_kernels import Leaking
from markov.multigrid.grids.hitting_times.weights import Weights, weights_of
from markov.multigrid.grids.levels import MIN_UNROLLED_STATES, Level
from markov.multigrid.grids.loops import count_kernels, unrolled
from markov.multigrid.grids.loops.flow_kernels import Weighted
from markov.multigrid.grids.loops.tables import Frequent, Restriction, as_unsigned
from markov.multigrid.grids.loops.teams import ALONE, Team
from markov.multigrid.grids.parts import Parts
from markov.multigrid.grids.rate_tables import rate_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.multigrid.grids.grids import Grid
    from markov.multigrid.grids.layouts import Layout, Rates

    Vector = NDArray[np.float64]

__all__ = ["HittingTimes"]


FIRST_SWEEPS = 2  # on the coarse levels, before and after a correction


class HittingTimes:
    """Mean costs on the way to the likeliest state, by multigrid.

    Parameters
    ----------
    layout
        The chain.
    pi
        Probabilities, by which equations are weighed: nowhere may much more flow in than out.
    kind
        Of the numbers for hitting times.
    wide
        Whether three cells become one along each of two axes, or two.
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
        self.coarsest = _Direct(level)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays."""
        levels = sum(level.nbytes for level in self.levels)
        return self.h.nbytes + self.finest.weights.levels.nbytes + levels

    def start(self) -> None:
        """Find a first h: of the first coarse level by one cycle, then by three sweeps."""
        if not self.levels:
            return self.coarsest.solve()
        first, *others = self.levels
        first.restrict()
        cycle(first, others, self.coarsest.solve, [FIRST_SWEEPS] * len(self.levels))
        first.prolong()
        for sweep in (self.finest.backward, self.finest.backward, self.finest.forward):
            sweep()
        return None

    def cycle(self, sweeps: int) -> None:
        """Improve h by one cycle, with so many sweeps on each level before a correction and after it."""
        everywhere = [sweeps] * (len(self.levels) + 1)
        cycle(self.finest, self.levels, self.coarsest.solve, everywhere)


class Finest(Level):
    """The equations Q h = -w, with a leak in the reference."""

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
        self.leak = float(rates.at([int(n) for n in at])[1][kind * grid.width + slot])
        rate, exit_rate = rates.typical(grid.shape)
        with np.errstate(divide="ignore"):
            scale = np.where(exit_rate > 0.0, 1.0 / exit_rate, 0.0)
        self.jumps = rate * np.repeat(scale, np.diff(grid.begin))
        self.excluded_row = np.uint64(cell // grid.shape[-1])
        costs = weights.costs, weights.levels, np.uint64(reference)
        arrays: tuple[Any, ...] = self.jumps, scale, *costs
        loop: Callable[..., Any] = finest_kernels.cells_by_costs
        if counts := self.table.counts:
            arrays = self.table.rate, self.table.exit_rate, counts, *costs
            loop = count_kernels.cells_by_counted_costs
        self.forward, self.backward = self.sweeps(loop, arrays, self.excluded_row, self.table)
        self.weights = weights
        rate_arrays = self.table.rate, self.table.counts, np.uint64(reference)
        self.equations = Leaking(*rate_arrays, self.leak, weights)
        self.unrolled_kinds = self.frequent._replace(excluded_row=self.excluded_row)

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes most of the next steps lead, all states counting alike."""
        grid = self.grid
        counts = np.repeat(grid.shares, grid.counts)
        return self.strong(counts * self.jumps)

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation, by_source=True)
        weighted = Weighted(self.weights.pi, self.weights.minimum)
        return self.sum_rates(coarse, values, parts, self.rates, weighted, finest_kernels.weight)

    def restrict_residual(self, aggregation: Aggregation, coarse: Coarse) -> Callable[[], Any]:
        """Return the call that restricts the residual."""
        target = coarse.aggregates(_aggregate_of_cells(aggregation, self.grid))
        into = Restriction(self.children(aggregation), self.cells, self.unrolled_kinds, target)
        run = into, self.equations, self.x
        text, weight = unrolled.residuals(self.patterns), finest_kernels.weight
        kernel = finest_kernels.restrict_rate_residual
        options: dict[str, Any] = {"table": self.table, "helpers": (weight,), "unrolled": text}
        return coarse.by_rows(kernel, *run, buffers=coarse.sum_buffer, **options)


class Coarse(Level):
    """The equations of the aggregates, for what is to be added to each, divided by the flow out of it.

    Numbers that are not flows are in float32.
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
        self.by_rows(coarse_kernels.row_sums, *sums, unrolled="pass")()
        self._restrict_residual = fine.restrict_residual(aggregation, self)
        aggregate_of_cell = _aggregate_of_cells(aggregation, fine.grid)
        added = self.cells, fine.children(aggregation), aggregate_of_cell, self.x, fine.x
        self.prolong = self.by_rows(coarse_kernels.add, *added)
        arrays = as_unsigned(grid.segment_begin), self.cells.value_begin, *self.equations
        row = np.uint64(self.reference // (grid.shape[-1] * grid.width))
        self.forward, self.backward = self.sweeps(coarse_kernels.cells_by_shares, arrays, row)

    def aggregates(self, aggregate_of_cell: NDArray[np.uint64]) -> Aggregates:
        """Return where the states of the finer level belong, given that of each cell of a row."""
        states = self.cells.cells * self.cells.width
        return Aggregates(aggregate_of_cell, states, self.out, self.right)

    def sum_buffer(self) -> tuple[Vector]:
        """Return room for one number of each state of a row."""
        return (np.zeros(self.grid.shape[-1] * self.grid.width),)

    def restrict(self) -> None:
        """Restrict the residual of the finer level, and begin with nothing to be added."""
        self._restrict_residual()
        self.x[:] = 0.0

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes most of the next steps lead, all states counting alike."""
        self.x[:] = 1.0
        flows = self.flows_by_entry(True, self.values)
        self.x[:] = 0.0
        return self.strong(flows)

    @property
    def nbytes(self) -> int:
        """Bytes of its large arrays."""
        return self.values.nbytes + self.out.nbytes + self.x.nbytes + self.right.nbytes

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation, by_source=True)
        return self.sum_flows(coarse, values, parts, self.values, self.out)

    def restrict_residual(self, aggregation: Aggregation, coarse: Coarse) -> Callable[[], Any]:
        """Return the call that restricts the residual."""
        target = coarse.aggregates(_aggregate_of_cells(aggregation, self.grid))
        none = Frequent(np.zeros_like(self.frequent.special), self.frequent.excluded_row)
        run = (
            Restriction(self.children(aggregation), self.cells, none, target),
            self.equations,
            self.x,
        )
        return coarse.by_rows(coarse_kernels.restrict_residual, *run, buffers=coarse.sum_buffer, unrolled="pass")


class _Direct:
    """The last level, by sparse LU."""

    def __init__(self, level: Finest | Coarse) -> None:
        self.level, grid = level, level.grid
        indptr, indices = level.pattern()
        if isinstance(level, Coarse):
            values, self.scale = level.values.astype(np.float64), np.ones(grid.size)
        else:
            values, self.scale = level.state_rates(level.rates)
            self.scale[level.reference] = 0.5 / level.leak
        jumps = sp.csr_matrix((values, indices, indptr), shape=(grid.size, grid.size))
        diagonal = np.ones(grid.size)
        if isinstance(level, Coarse):  # shares in float32 need not sum to one
            has_outflow = level.out > 0.0
            diagonal[has_outflow] = np.asarray(jumps.sum(axis=1)).ravel()[has_outflow]
            diagonal[level.reference] += level.leak / level.out[level.reference]
        matrix = sp.diags_array(diagonal) - sp.diags_array(self.scale) @ jumps
        from scipy.sparse.linalg import splu

        # pivots on the diagonal: small entries of the solution are not lost beside large ones
        self.factors = splu(
            sp.csc_matrix(matrix),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def solve(self) -> None:
        """Solve the level's equations."""
        level = self.level
        if isinstance(level, Coarse):
            right = level.right.astype(np.float64)
        else:
            right = level.weights.costs[level.weights.levels]
        level.x[:] = self.factors.solve(self.scale * right)


def _aggregate_of_cells(aggregation: Aggregation, grid: Grid) -> NDArray[np.uint64]:
    """Return where, in a row of the coarse grid, each cell of a row belongs."""
    return as_unsigned(np.arange(grid.shape[-1]) // aggregation.last * grid.width)


def _coarse_state(state: int, fine: Grid, aggregation: Aggregation, coarse: Grid) -> int:
    """Return the coarse state that a state is a part of."""
    cell, slot = divmod(state, fine.width)
    row, last = divmod(cell, fine.shape[-1])
    parent = int(np.flatnonzero((aggregation.child_rows == row).any(axis=1))[0])
    return (parent * coarse.shape[-1] + last // aggregation.last) * coarse.width + slot

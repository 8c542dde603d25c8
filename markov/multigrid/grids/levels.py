"""The levels of multigrid on grids of cells: tables for the kernels; the finest level has rates by kind of cell."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.compilation import bound_kernel
from markov.multigrid.grids.loops import (
    balance_kernels,
    count_kernels,
    flow_kernels,
    sweep_kernels,
    unrolled,
    unrolled_sweeps,
    vector_kernels,
)
from markov.multigrid.grids.loops.flow_kernels import FinerFlows, Weighted, WeightedRates
from markov.multigrid.grids.loops.patterns import frequent, grid_patterns
from markov.multigrid.grids.loops.sweep_kernels import SweepPlan
from markov.multigrid.grids.loops.tables import Children, Frequent, Marked, as_unsigned, cells_of
from markov.multigrid.grids.loops.teams import ALONE, Team, row_blocks
from markov.multigrid.grids.parts import Parts
from markov.multigrid.grids.rate_tables import RateTable, parts_table, rate_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grids.coarsening import Aggregation
    from markov.multigrid.grids.grids import Grid
    from markov.multigrid.grids.layouts import Rates

    Vector = NDArray[np.float64]
    Floats = NDArray[np.floating[Any]]

__all__ = ["MIN_UNROLLED_STATES", "Finest", "Level"]

STRONG_FLOW_RATIO = 0.5  # of the largest flow: axes along which cells are joined
MIN_UNROLLED_STATES = 100_000_000
"""States of a grid from which sweeps are unrolled for its most frequent kinds of cells.

Unrolled sweeps save 0.25 microseconds per state in a whole solution. Their compilation takes 17 to 70 s of CPU time for each
shape of grid: one solution of 1e8 states repays it.
"""
CYCLIC_CELL_SWEEPS = 4  # sweeps of a cell with transitions in a circle, where few have them
MAX_REPEATED_SHARE = 0.25  # of the cells: more are swept once
SOURCE_RATE = 1e-280
"""Flow into every state from nowhere: probabilities do not underflow, and where they would, what flows out is
more than what the others send. The levels agree on it."""


class Level:
    """What both sorts of levels have: a grid, its tables, and one number for each state.

    Attributes
    ----------
    grid
        By target for pi, by source for hitting times.
    x
        One number for each state, shape (grid.size,).
    unroll
        Whether the statements for the most frequent kind of cells are written out: that takes some
        ten seconds once, to compile them, and halves the time.
    repeats
        Sweeps of a cell with transitions in a circle, where few have them.
    team
        Threads for loops over blocks of its rows.
    rates
        Of the finest grid: where they depend on counts, no statements are written out.
    """

    def __init__(
        self,
        grid: Grid,
        x: Floats,
        *,
        unroll: bool,
        repeats: int = 1,
        team: Team = ALONE,
        rates: Rates | None = None,
    ) -> None:
        self.grid, self.x, self.unroll, self.team = grid, x, unroll, team
        self.blocks = row_blocks(grid)
        self.cells = cells_of(grid)
        often = grid.cyclic & (grid.shares <= MAX_REPEATED_SHARE) & (repeats > 1)
        self.repeats = as_unsigned(np.where(often, repeats, 1))
        constant = rates is None or rates.counts is None
        written_out = ~often & (unroll and constant)
        self.patterns, special = frequent(grid_patterns(grid), grid.shares * written_out)
        self.frequent = Frequent(special, np.uint64(len(grid.row_kind)))

    def by_rows(
        self,
        kernel: Callable[..., Any],
        *arguments: Any,
        buffers: Callable[[], tuple[Any, ...]] = tuple,
        table: RateTable | None = None,
        helpers: Sequence[Callable[..., Any]] = (),
        **options: Any,
    ) -> Callable[[], list[Any]]:
        """Return a call of a kernel for all rows, whose first argument says which it is to do.

        The arrays that ``buffers`` allocates for a block come next. Each block has copies of the written arrays of a ``table`` of
        rates. The call returns the results by block.
        """
        if table is not None:
            helpers = *table.helpers, *helpers
        block_calls, border_calls = (
            [
                bound_kernel(
                    kernel,
                    span,
                    *buffers(),
                    *(arguments if table is None else table.for_block(arguments)),
                    helpers=helpers,
                    **options,
                )
                for span in spans
            ]
            for spans in self.blocks
        )
        do = self.team.do  # not by self: levels would hold themselves, and their memory, in a circle
        return lambda: do(block_calls) + [call() for call in border_calls]

    def on_states(self, kernel: Callable[..., Any], *arguments: Any) -> Callable[[], list[Any]]:
        """Return the same of a kernel that is to be told how many states a row has."""
        return self.by_rows(kernel, self.cells.cells * self.cells.width, *arguments)

    def sweeps(
        self,
        cells: Callable[..., Any],
        equations: tuple[Any, ...],
        excluded_row: np.uint64 | None = None,
        rates: RateTable | None = None,
    ) -> list[Callable[[], Any]]:
        """Return a sweep forward and one backward.

        Parameters
        ----------
        cells
            The loop over the cells of a segment.
        own
            What it calls own.
        excluded_row
            A row whose cells are all swept by it; None: none.
        rates
            Of the finest grid, where they depend on counts.
        """
        frequent = self.frequent if excluded_row is None else self.frequent._replace(excluded_row=excluded_row)
        lag = max((pattern.lag for pattern in self.patterns), default=1)
        together = unrolled_sweeps.TOGETHER if self.unroll else 1
        plan = SweepPlan(self.repeats, *frequent, np.uint64(together), np.uint64(lag))
        run: Any = partial(self.by_rows, helpers=(sweep_kernels.identical_rows, cells), table=rates)
        text = unrolled_sweeps.sweeps(self.patterns, cells.__name__)
        table = self.cells, plan, equations
        return [run(sweep_kernels.sweep, *table, back, self.x, **text) for back in (False, True)]

    def sum_rates(
        self,
        coarse: Level,
        values: Vector,
        parts: Parts,
        rates: Rates,
        weighted: Weighted,
        weight: Callable[..., Any] = flow_kernels.weight,
    ) -> Callable[[], Any]:
        """Return what sums flows at given rates between the cells of the next level.

        ``weight`` says what a flow out of a state is weighted by.
        """
        aggregation = parts.aggregation
        own_rates = parts_table(self.grid, rates, parts, aggregation, coarse.grid.shape)
        shares = coarse.grid.shares * (coarse.unroll and not own_rates.counts)
        table, text = parts.unrolled(shares, unrolled.sums_of_rates)
        cells = coarse.cells, self.children(aggregation), table
        run = *cells, WeightedRates(own_rates.slots, weighted), values
        kernel = flow_kernels.restrict_rates
        return coarse.by_rows(kernel, *run, table=own_rates, helpers=(weight,), unrolled=text)

    def sum_flows(
        self,
        coarse: Level,
        values: Vector,
        parts: Parts,
        flows: NDArray[np.floating[Any]],
        x: Floats,
    ) -> Callable[[], Any]:
        """Return what sums flows between the cells of the next level."""
        children = self.children(parts.aggregation)
        table, text = parts.unrolled(coarse.grid.shares * coarse.unroll, unrolled.sums_of_flows)
        fine = FinerFlows(self.cells.value_begin, flows, np.zeros_like(children.rows), x)
        run = coarse.cells, children, table, fine, values
        return coarse.by_rows(flow_kernels.restrict, *run, unrolled=text)

    def children(self, aggregation: Aggregation) -> Children:
        """Return which of the rows make up each row of the next level."""
        rows, cells = aggregation.child_rows, self.cells
        child_rows = as_unsigned(np.maximum(rows, 0)), rows >= 0
        return Children(*child_rows, np.uint64(aggregation.last), cells.cells, cells.width)

    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the entries of each state begin, and the numbers of the other states."""
        grid = self.grid
        kinds = grid.rows[grid.row_kind].ravel()
        counts = np.diff(grid.begin).reshape(-1, grid.width)[kinds].ravel()
        steps = [grid.step[self._of(kind)] for kind in kinds]
        indices = np.concatenate(steps) + np.repeat(np.arange(grid.size), counts)
        return np.append(0, np.cumsum(counts)), indices

    def state_rates(self, rates: Rates) -> tuple[Vector, Vector]:
        """Return the rate of each entry, and 1 / the total rate of each state, zero where none is."""
        grid, width = self.grid, self.grid.width
        rates_of_cells, exits = [], []
        for kind, cell in zip(grid.rows[grid.row_kind].ravel(), np.ndindex(*grid.shape), strict=True):
            rate, exit_rate = rates.at(cell)
            rates_of_cells.append(rate[self._of(kind)])
            exits.append(exit_rate[kind * width : (kind + 1) * width])
        total = np.concatenate(exits)
        with np.errstate(divide="ignore"):
            scale = np.where(total > 0.0, 1.0 / total, 0.0)
        return np.concatenate(rates_of_cells), scale

    def _of(self, kind: Any) -> slice:
        begin, width = self.grid.begin, self.grid.width
        return slice(int(begin[kind * width]), int(begin[(kind + 1) * width]))

    def by_state(self, amounts: Vector) -> Vector:
        """Return for each state what its slot of its kind of cell has, shape (grid.size,)."""
        kinds = self.grid.rows[self.grid.row_kind].ravel()
        by_state: Vector = amounts.reshape(-1, self.grid.width)[kinds].ravel()
        return by_state

    def flows_by_entry(self, by_cell: bool, flows: NDArray[np.floating[Any]]) -> Vector:
        """Return x times the flow of each entry of each kind, summed over the cells.

        ``own``: every cell has flows of its own, and not every kind.
        """
        sums: list[Vector] = []

        def buffer() -> tuple[Vector]:
            sums.append(np.zeros(len(self.grid.step)))
            return (sums[-1],)

        self.by_rows(flow_kernels.entry_flows, self.cells, by_cell, flows, self.x, buffers=buffer)()
        return np.asarray(np.sum(sums, axis=0))

    def strong(self, flows_by_entry: Vector) -> tuple[bool, ...]:
        """Return along which axes the entries carry most, of those that have several cells."""
        wide = np.array(self.grid.shape) > 1
        moved = (self.grid.steps != 0) & wide
        along = flows_by_entry @ moved
        return tuple((along >= STRONG_FLOW_RATIO * along.max()) & wide)


class Finest(Level):
    """The chain itself; x are probabilities, up to a factor."""

    def __init__(
        self,
        grid: Grid,
        rates: Rates,
        occupied: NDArray[np.bool_],
        x: Vector,
        *,
        unroll: bool,
        team: Team = ALONE,
    ) -> None:
        super().__init__(grid, x, unroll=unroll, repeats=CYCLIC_CELL_SWEEPS, team=team, rates=rates)
        self.rates, rate_arrays = rates, rate_table(grid, rates)
        self.sources: Vector = np.where(occupied.ravel(), SOURCE_RATE, 0.0)
        if rate_arrays.counts:
            equations = rate_arrays.rate, rate_arrays.exit_rate, self.sources, rate_arrays.counts
            self.forward, self.backward = self.sweeps(count_kernels.cells_by_counts, equations, rates=rate_arrays)
        else:
            with np.errstate(divide="ignore"):
                scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
            jumps = rates.rate * np.repeat(scale, np.diff(grid.begin))
            self.forward, self.backward = self.sweeps(sweep_kernels.cells_by_rates, (jumps, self.sources * scale))
        self._rate_table = rate_arrays
        text, balance = unrolled.balance(self.patterns), balance_kernels.balance
        arguments = self.cells, self.frequent, rate_arrays.slots, x
        self._balance = self.by_rows(balance, *arguments, table=rate_arrays, unrolled=text)

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes states exchange most, as x is now."""
        return self.strong(self.flows_by_entry(False, self.rates.typical(self.grid.shape)[0]))

    def residual(self) -> tuple[float, float]:
        """Return ||x Q||_1 / ||x |Q| ||_1, and the sum of x."""
        off, flow, mass = map(sum, zip(*self._balance(), strict=True))
        return 0.5 * off / flow, mass

    def imbalance(self, bit: int, marks: NDArray[np.uint8]) -> float:
        """Return the largest quotient of what flows into a state with a mark and what flows out."""
        arguments = self.cells, self._rate_table.slots, Marked(bit, marks), self.x
        run = self.by_rows(balance_kernels.imbalance, *arguments, table=self._rate_table)
        return float(max(run()))

    def compare(self, y: Vector, z: Vector) -> Vector:
        """Return products of residuals, see `balance_kernels.compare`."""
        arguments = self.cells, self._rate_table.slots, self.x, y, z
        run = self.by_rows(balance_kernels.compare, *arguments, table=self._rate_table)
        return np.asarray(np.sum(run(), axis=0))

    def multiply(self, factor: float) -> None:
        """Multiply x by a number."""
        self.on_states(vector_kernels.multiply, float(factor), self.x)()

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation)
        return self.sum_rates(coarse, values, parts, self.rates, Weighted(self.x, 0.0))

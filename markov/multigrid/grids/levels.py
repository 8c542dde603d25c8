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
from markov.multigrid.grids.loops.patterns import frequent, of_grid
from markov.multigrid.grids.loops.sweep_kernels import SweepPlan
from markov.multigrid.grids.loops.tables import Children, Frequent, Marked, cells_of, unsigned
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
    Numbers = NDArray[np.floating[Any]]

__all__ = ["MIN_UNROLLED_STATES", "Finest", "Level"]

STRONG_FLOW = 0.5  # of the largest flow: axes along which cells are joined
MIN_UNROLLED_STATES = 100_000_000
"""States of a grid from which sweeps are unrolled for its most frequent kinds of cells.

Unrolled sweeps save 0.25 microseconds per state in a whole solution. Their compilation takes 17 to 70 s of CPU time for each
shape of grid: one solution of 1e8 states repays it.
"""
REPEATS = 4  # sweeps of a cell with transitions in a circle, where few have them
MAX_REPEATED_SHARE = 0.25  # of the cells: more are swept once
SOURCE = 1e-280
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
    fast
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
        x: Numbers,
        *,
        fast: bool,
        repeats: int = 1,
        team: Team = ALONE,
        rates: Rates | None = None,
    ) -> None:
        self.grid, self.x, self.fast, self.team = grid, x, fast, team
        self.blocks = row_blocks(grid)
        self.cells = cells_of(grid)
        often = grid.cyclic & (grid.shares <= MAX_REPEATED_SHARE) & (repeats > 1)
        self.repeats = unsigned(np.where(often, repeats, 1))
        constant = rates is None or rates.counts is None
        written_out = ~often & (fast and constant)
        self.patterns, special = frequent(of_grid(grid), grid.shares * written_out)
        self.frequent = Frequent(special, np.uint64(len(grid.row_kind)))

    def by_rows(
        self,
        kernel: Callable[..., Any],
        *arguments: Any,
        own: Callable[[], tuple[Any, ...]] = tuple,
        table: RateTable | None = None,
        helpers: Sequence[Callable[..., Any]] = (),
        **options: Any,
    ) -> Callable[[], list[Any]]:
        """Return a call of a kernel for all rows, whose first argument says which it is to do.

        Those that each block has of its ``own`` come next, and of what is written to in a ``table`` of
        rates each block has a copy. It returns the results by block.
        """
        if table is not None:
            helpers = *table.helpers, *helpers
        apart, between = (
            [
                bound_kernel(
                    kernel,
                    span,
                    *own(),
                    *(arguments if table is None else table.own(arguments)),
                    helpers=helpers,
                    **options,
                )
                for span in spans
            ]
            for spans in self.blocks
        )
        do = self.team.do  # not by self: levels would hold themselves, and their memory, in a circle
        return lambda: do(apart) + [call() for call in between]

    def on_states(self, kernel: Callable[..., Any], *arguments: Any) -> Callable[[], list[Any]]:
        """Return the same of a kernel that is to be told how many states a row has."""
        return self.by_rows(kernel, self.cells.cells * self.cells.width, *arguments)

    def sweeps(
        self,
        cells: Callable[..., Any],
        own: tuple[Any, ...],
        alone: np.uint64 | None = None,
        rates: RateTable | None = None,
    ) -> list[Callable[[], Any]]:
        """Return a sweep forward and one backward.

        Parameters
        ----------
        cells
            The loop over the cells of a segment.
        own
            What it calls own.
        alone
            A row whose cells are all swept by it; None: none.
        rates
            Of the finest grid, where they depend on counts.
        """
        frequent = self.frequent if alone is None else self.frequent._replace(alone=alone)
        lag = max((pattern.lag for pattern in self.patterns), default=1)
        together = unrolled_sweeps.TOGETHER if self.fast else 1
        plan = SweepPlan(self.repeats, *frequent, np.uint64(together), np.uint64(lag))
        run: Any = partial(self.by_rows, helpers=(sweep_kernels.rows_alike, cells), table=rates)
        text = unrolled_sweeps.sweeps(self.patterns, cells.__name__)
        table = self.cells, plan, own
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
        own = parts_table(self.grid, rates, parts, aggregation, coarse.grid.shape)
        shares = coarse.grid.shares * (coarse.fast and not own.counts)
        table, text = parts.unrolled(shares, unrolled.sums_of_rates)
        place = coarse.cells, self.children(aggregation), table
        run = *place, WeightedRates(own.slots, weighted), values
        kernel = flow_kernels.restrict_rates
        return coarse.by_rows(kernel, *run, table=own, helpers=(weight,), unrolled=text)

    def sum_flows(
        self,
        coarse: Level,
        values: Vector,
        parts: Parts,
        flows: NDArray[np.floating[Any]],
        x: Numbers,
    ) -> Callable[[], Any]:
        """Return what sums flows between the cells of the next level."""
        children = self.children(parts.aggregation)
        table, text = parts.unrolled(coarse.grid.shares * coarse.fast, unrolled.sums_of_flows)
        fine = FinerFlows(self.cells.value_begin, flows, np.zeros_like(children.rows), x)
        run = coarse.cells, children, table, fine, values
        return coarse.by_rows(flow_kernels.restrict, *run, unrolled=text)

    def children(self, aggregation: Aggregation) -> Children:
        """Return which of the rows make up each row of the next level."""
        rows, cells = aggregation.child_rows, self.cells
        there = unsigned(np.maximum(rows, 0)), rows >= 0
        return Children(*there, np.uint64(aggregation.last), cells.cells, cells.width)

    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the entries of each state begin, and the numbers of the other states."""
        grid = self.grid
        kinds = grid.rows[grid.row_kind].ravel()
        counts = np.diff(grid.begin).reshape(-1, grid.width)[kinds].ravel()
        steps = [grid.step[self._of(kind)] for kind in kinds]
        indices = np.concatenate(steps) + np.repeat(np.arange(grid.size), counts)
        return np.append(0, np.cumsum(counts)), indices

    def spelt_out(self, rates: Rates) -> tuple[Vector, Vector]:
        """Return the rate of each entry, and 1 / the total rate of each state, zero where none is."""
        grid, width = self.grid, self.grid.width
        found, exits = [], []
        for kind, cell in zip(grid.rows[grid.row_kind].ravel(), np.ndindex(*grid.shape), strict=True):
            rate, exit_rate = rates.at(cell)
            found.append(rate[self._of(kind)])
            exits.append(exit_rate[kind * width : (kind + 1) * width])
        total = np.concatenate(exits)
        with np.errstate(divide="ignore"):
            scale = np.where(total > 0.0, 1.0 / total, 0.0)
        return np.concatenate(found), scale

    def _of(self, kind: Any) -> slice:
        begin, width = self.grid.begin, self.grid.width
        return slice(int(begin[kind * width]), int(begin[(kind + 1) * width]))

    def spread(self, amounts: Vector) -> Vector:
        """Return for each state what its slot of its kind of cell has, shape (grid.size,)."""
        kinds = self.grid.rows[self.grid.row_kind].ravel()
        found: Vector = amounts.reshape(-1, self.grid.width)[kinds].ravel()
        return found

    def carried(self, own: bool, flows: NDArray[np.floating[Any]]) -> Vector:
        """Return x times the flow of each entry of each kind, summed over the cells.

        ``own``: every cell has flows of its own, and not every kind.
        """
        found: list[Vector] = []

        def room() -> tuple[Vector]:
            found.append(np.zeros(len(self.grid.step)))
            return (found[-1],)

        self.by_rows(flow_kernels.entry_flows, self.cells, own, flows, self.x, own=room)()
        return np.asarray(np.sum(found, axis=0))

    def strong(self, carried: Vector) -> tuple[bool, ...]:
        """Return along which axes the entries carry most, of those that have several cells."""
        wide = np.array(self.grid.shape) > 1
        moved = (self.grid.steps != 0) & wide
        along = carried @ moved
        return tuple((along >= STRONG_FLOW * along.max()) & wide)


class Finest(Level):
    """The chain itself; x are probabilities, up to a factor."""

    def __init__(
        self,
        grid: Grid,
        rates: Rates,
        occupied: NDArray[np.bool_],
        x: Vector,
        *,
        fast: bool,
        team: Team = ALONE,
    ) -> None:
        super().__init__(grid, x, fast=fast, repeats=REPEATS, team=team, rates=rates)
        self.rates, own = rates, rate_table(grid, rates)
        self.sources: Vector = np.where(occupied.ravel(), SOURCE, 0.0)
        if own.counts:
            equations = own.rate, own.exit_rate, self.sources, own.counts
            self.forward, self.backward = self.sweeps(count_kernels.cells_by_counts, equations, rates=own)
        else:
            with np.errstate(divide="ignore"):
                scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
            jumps = rates.rate * np.repeat(scale, np.diff(grid.begin))
            self.forward, self.backward = self.sweeps(sweep_kernels.cells_by_rates, (jumps, self.sources * scale))
        self._own = own
        text, balance = unrolled.balance(self.patterns), balance_kernels.balance
        arguments = self.cells, self.frequent, own.slots, x
        self._balance = self.by_rows(balance, *arguments, table=own, unrolled=text)

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes states exchange most, as x is now."""
        return self.strong(self.carried(False, self.rates.typical(self.grid.shape)[0]))

    def residual(self) -> tuple[float, float]:
        """Return ||x Q||_1 / ||x |Q| ||_1, and the sum of x."""
        off, flow, mass = map(sum, zip(*self._balance(), strict=True))
        return 0.5 * off / flow, mass

    def imbalance(self, bit: int, marks: NDArray[np.uint8]) -> float:
        """Return the largest quotient of what flows into a state with a mark and what flows out."""
        arguments = self.cells, self._own.slots, Marked(bit, marks), self.x
        run = self.by_rows(balance_kernels.imbalance, *arguments, table=self._own)
        return float(max(run()))

    def compare(self, y: Vector, z: Vector) -> Vector:
        """Return products of residuals, see `balance_kernels.compare`."""
        arguments = self.cells, self._own.slots, self.x, y, z
        run = self.by_rows(balance_kernels.compare, *arguments, table=self._own)
        return np.asarray(np.sum(run(), axis=0))

    def multiply(self, factor: float) -> None:
        """Multiply x by a number."""
        self.on_states(vector_kernels.multiply, float(factor), self.x)()

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation)
        return self.sum_rates(coarse, values, parts, self.rates, Weighted(self.x, 0.0))

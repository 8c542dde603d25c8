"""The levels of multigrid on grids of cells: tables for the kernels, and one step down or up.

`Finest` has its rates by kind of cell, a `Coarse` level flows of its own, in one array.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.stencils import kernels, sweep_kernels, unrolled
from markov.stencils.kernel_calls import ONE, bound_kernel, unsigned
from markov.stencils.parts import Parts
from markov.stencils.patterns import frequent, of_grid

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.stencils.coarsening import Aggregation
    from markov.stencils.grids import Grid
    from markov.stencils.layouts import Rates

    Vector = NDArray[np.float64]

__all__ = ["LARGE", "Coarse", "Finest", "Level"]

STRONG = 0.5  # of the largest flow: axes along which cells are joined
LARGE = 1_000_000
"""States of a grid from which on statements are written out for its most frequent kind of cells."""
REPEATS = 4  # sweeps of a cell with transitions in a circle, where few have them
MANY = 0.25  # of the cells: more are swept once
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
    """

    def __init__(self, grid: Grid, x: Vector, *, fast: bool) -> None:
        self.grid, self.x, self.fast = grid, x, fast
        first, starts, numbers = grid.segments
        ends = np.append(starts[1:], 0)
        ends[first[1:] - 1] = grid.shape[-1]
        self.cells, self.width = np.uint64(grid.shape[-1]), np.uint64(grid.width)
        self.row_kind = unsigned(grid.row_kind)
        self.rows = unsigned(grid.rows)
        self.lines = (self.row_kind, *map(unsigned, (first, starts, ends, numbers)))
        self.row_count = np.uint64(len(grid.row_kind))
        self.entries = unsigned(grid.begin), unsigned(grid.step)
        often = grid.cyclic & (grid.shares <= MANY)
        self.repeats = unsigned(np.where(often, REPEATS, 1))
        self.patterns, self.special = frequent(of_grid(grid), grid.shares * (~often & fast))
        lag = max((pattern.lag for pattern in self.patterns), default=1)
        self.together = np.uint64(unrolled.TOGETHER if fast else 1), np.uint64(lag)

    def sweeps(self, own: tuple[Any, ...], *, flows: bool) -> list[Callable[[], None]]:
        """Return a sweep forward and one backward, with what `sweep_kernels.sweep` calls own."""
        cells = sweep_kernels.cells_by_flows if flows else sweep_kernels.cells_by_rates
        place = self.row_count, *self.lines, self.cells, self.width, *self.entries, self.repeats
        table: tuple[Any, ...] = (*place, self.special, own, *self.together, ONE)
        run: Any = partial(bound_kernel, helpers=(sweep_kernels.rows_alike, cells))
        text = unrolled.sweeps(self.patterns, flows=flows)
        return [run(sweep_kernels.sweep, *table, back, self.x, **text) for back in (False, True)]

    def sum_rates(
        self,
        aggregation: Aggregation,
        coarse: Level,
        values: Vector,
        parts: Parts,
        rates: Vector,
        x: Vector,
    ) -> Callable[[], None]:
        """Return what sums flows at given rates between the cells of the next level."""
        child = unsigned(np.maximum(aggregation.child_rows, 0))
        place = child, self.width, np.uint64(aggregation.last), self.cells
        special, text = parts.unrolled(coarse.grid.shares * coarse.fast, unrolled.sums_of_rates)
        table = *coarse.lines, special, *parts.table, rates[parts.entry]
        run = *place, *table, ONE, x, values
        return bound_kernel(kernels.restrict_rates, *run, unrolled=text)

    def sum_flows(
        self,
        aggregation: Aggregation,
        coarse: Level,
        values: Vector,
        parts: Parts,
        begin: NDArray[np.uint64],
        flows: NDArray[np.floating[Any]],
        x: Vector,
    ) -> Callable[[], None]:
        """Return what sums flows between the cells of the next level."""
        rows = aggregation.child_rows
        place = unsigned(np.maximum(rows, 0)), rows >= 0, self.width, np.uint64(aggregation.last)
        special, text = parts.unrolled(coarse.grid.shares * coarse.fast, unrolled.sums_of_flows)
        lines = *coarse.lines, special, *parts.table, unsigned(parts.flow)
        lines = *lines, unsigned(parts.line), unsigned(parts.spans)
        room = np.zeros(rows.shape[1], dtype=np.uint64)
        own = begin, flows, ONE, x, values
        run = *place, self.cells, *lines, room, *own
        return bound_kernel(kernels.restrict, *run, unrolled=text)

    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where the entries of each state begin, and the numbers of the other states."""
        grid = self.grid
        kinds = grid.rows[grid.row_kind].ravel()
        counts = np.diff(grid.begin).reshape(-1, grid.width)[kinds].ravel()
        steps = [grid.step[self._of(kind)] for kind in kinds]
        indices = np.concatenate(steps) + np.repeat(np.arange(grid.size), counts)
        return np.append(0, np.cumsum(counts)), indices

    def spelt_out(self, rate: Vector, exit_rate: Vector) -> tuple[Vector, Vector]:
        """Return the rate of each entry, and 1 / the total rate of each state, zero where none is."""
        grid = self.grid
        kinds = grid.rows[grid.row_kind].ravel()
        exits = self.spread(exit_rate)
        with np.errstate(divide="ignore"):
            scale = np.where(exits > 0.0, 1.0 / exits, 0.0)
        return np.concatenate([rate[self._of(kind)] for kind in kinds]), scale

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
        found = np.zeros(len(self.grid.step))
        place = own, self.row_kind, self.rows, self.width, *self.entries, flows
        bound_kernel(kernels.entry_flows, *place, ONE, self.x, found)()
        return found

    def strong(self, carried: Vector) -> tuple[bool, ...]:
        """Return along which axes the entries carry most, of those that have several cells."""
        steps = [e.step for kind in self.grid.kinds for slot in kind for e in slot]
        wide = np.array(self.grid.shape) > 1
        moved = (np.array(steps).reshape(len(carried), -1) != 0) & wide
        along = carried @ moved
        return tuple((along >= STRONG * along.max()) & wide)


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
    ) -> None:
        super().__init__(grid, x, fast=fast)
        self.rates = rates
        with np.errstate(divide="ignore"):
            scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
        self.sources: Vector = np.where(occupied.ravel(), SOURCE, 0.0)
        jumps = rates.rate * np.repeat(scale, np.diff(grid.begin))
        self.forward, self.backward = self.sweeps((jumps, self.sources * scale), flows=False)
        place = self.row_count, *self.lines, self.cells, self.width, *self.entries
        table = *place, rates.rate, rates.exit_rate, self.special, ONE, x
        text = unrolled.balance(self.patterns)
        self._balance = bound_kernel(sweep_kernels.balance, *table, unrolled=text)

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes states exchange most, as x is now."""
        return self.strong(self.carried(False, self.rates.rate))

    def residual(self) -> tuple[float, float]:
        """Return ||x Q||_1 / ||x |Q| ||_1, and the sum of x."""
        off, flow, mass = self._balance()
        return 0.5 * off / flow, mass

    def multiply(self, factor: float) -> None:
        """Multiply x by a number."""
        bound_kernel(kernels.multiply, float(factor), self.x)()

    def restriction(
        self, aggregation: Aggregation, coarse: Level, values: Vector
    ) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation)
        return self.sum_rates(aggregation, coarse, values, parts, self.rates.rate, self.x)


class Coarse(Level):
    """Cells made of cells; x are the factors by which their flows are to change."""

    def __init__(self, grid: Grid, aggregation: Aggregation, fine: Finest | Coarse) -> None:
        super().__init__(grid, np.ones(grid.size), fast=fine.fast)
        self.value_begin = begin = unsigned(grid.value_begin)
        self.values = np.zeros(int(grid.value_begin[-1]))
        self.scale = np.ones(grid.size)
        child = unsigned(np.maximum(aggregation.child_rows, 0)), aggregation.child_rows >= 0
        self._wide = max(aggregation.factors) > 2
        self._prolong = bound_kernel(
            kernels.prolong,
            self.row_count,
            np.uint64(aggregation.child_rows.shape[1]),
            *child,
            np.uint64(aggregation.last),
            fine.cells,
            self.cells,
            self.width,
            self.fast,
            ONE,
            self.x,
            fine.x,
            unrolled=unrolled.prolong(grid.width, aggregation.last) if self.fast else "pass",
        )
        self._restrict = fine.restriction(aggregation, self, self.values)
        place = *self.lines, self.width, *self.entries, self.special, self.values, self.scale
        text = unrolled.outflows(self.patterns)
        self._outflows = bound_kernel(kernels.outflows, *place, ONE, self.x, unrolled=text)
        each = np.vstack([fine.sources.reshape(-1, grid.width), np.zeros(grid.width)])
        self.sources: Vector = each[aggregation.children].sum(axis=1).ravel()
        own = unsigned(grid.segment_begin), begin, self.values, self.scale, self.sources
        self.forward, self.backward = self.sweeps(own, flows=True)

    @property
    def nbytes(self) -> int:
        """Bytes of its large arrays."""
        return self.values.nbytes + self.scale.nbytes + self.x.nbytes

    def strong_axes(self) -> tuple[bool, ...]:
        """Return along which axes states exchange most."""
        return self.strong(self.carried(True, self.values))

    def prolong(self) -> None:
        """Multiply each state of the finer level by the factor of its cell.

        Where more than two cells became one the factor is raised to the power 1.25: corrections that
        are constant on wide cells fall short (Braess, Computing 55, 1995, nearly doubles those of
        V-cycles; in W-cycles with three cells 1.25 takes the fewest cycles, measured).
        """
        if self._wide:
            bound_kernel(kernels.overcorrect, self.x)()
        self._prolong()

    def restrict(self) -> None:
        """Sum the flows of the finer level, and begin with all factors one."""
        self._restrict()
        self._outflows()

    def restriction(
        self, aggregation: Aggregation, coarse: Level, values: Vector
    ) -> Callable[[], None]:
        """Return what sums the flows between the cells of the next level."""
        parts = Parts(self.grid, aggregation)
        own = self.value_begin, self.values, self.x
        return self.sum_flows(aggregation, coarse, values, parts, *own)

"""Levels of multigrid on grids of cells, for the stationary distribution.

The finest level has rates by kind of cell. A coarse level has flows of its own for every cell, in one array, and
nothing that says where they lead: that follows from its grid. Loops over the rows of a level run in blocks, which
depend on the grid alone and which threads may share: results have the same bits for any number of threads.
"""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from hopflow.sweeps.executors import cores
from markov.computing.compilation import bound_kernel
from markov.computing.matrices import expand
from markov.multigrid import unrolling
from markov.multigrid.grid import Aggregation, Grid
from markov.multigrid.kernels import count_kernels, flow_kernels, rate_kernels, sweep_kernels, vector_kernels
from markov.multigrid.kernels.count_kernels import CountTable, VaryingNumbers
from markov.multigrid.kernels.flow_kernels import FinerFlows, Weighted, WeightedRates
from markov.multigrid.kernels.sweep_kernels import ROWS, SweepPlan
from markov.multigrid.kernels.tables import Children, Frequent, Marked, PartTable, SlotRates, as_unsigned
from markov.multigrid.unrolling import Pattern, Sums, frequent, grid_patterns, sum_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grid import Rates, Terms

    Span = tuple[np.uint64, np.uint64]
    Vector = NDArray[np.float64]
    Numbers = NDArray[np.int64]
    Floats = NDArray[np.floating[Any]]

__all__ = [
    "ALONE",
    "MIN_DIVIDED_STATES",
    "MIN_UNROLLED_STATES",
    "Coarse",
    "Finest",
    "Level",
    "Parts",
    "RateTable",
    "RowBlocks",
    "Team",
    "parts_table",
    "rate_table",
    "row_blocks",
]

BLOCKS = 4
MIN_DIVIDED_STATES = 100_000
"""States of a grid from which on its rows are divided: below, calls would take longer than loops."""
MIN_BLOCK_RATIO = 8  # rows of a block over rows between two blocks


class RowBlocks(NamedTuple):
    """Division of a grid's rows into blocks for threads and borders between blocks; rows as (first, end).

    Attributes
    ----------
    blocks
        So far from each other that no transition leads from one block to another, or from two blocks to one state.
    borders
        The rows between them, which are processed afterwards.
    """

    blocks: tuple[Span, ...]
    borders: tuple[Span, ...]


def row_blocks(grid: Grid) -> RowBlocks:
    """Return the blocks of a grid's rows: one block if the grid is small or its transitions lead far."""
    rows, row = len(grid.row_kind), grid.shape[-1] * grid.width
    ahead = (grid.strides[:-1] // row).astype(np.int64)
    gap = 2 * int(np.abs(grid.steps[:, :-1] @ ahead).max(initial=0))
    if grid.size < MIN_DIVIDED_STATES or rows < BLOCKS * (1 + MIN_BLOCK_RATIO) * max(gap, 1):
        return RowBlocks(((np.uint64(0), np.uint64(rows)),), ())
    begins_after = [rows * n // BLOCKS for n in range(1, BLOCKS)]
    begins = np.array([0, *begins_after], dtype=np.uint64)
    until = np.array([*(end - gap for end in begins_after), rows], dtype=np.uint64)
    borders = zip(until[:-1], begins[1:], strict=True) if gap else ()
    return RowBlocks(tuple(zip(begins, until, strict=True)), tuple(borders))


class Team:
    """Thread pool that runs lists of calls without arguments; use as a context manager.

    Parameters
    ----------
    threads
        Maximum number of threads, at most as many as the process may use; None: that number.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = min(cores(), threads or BLOCKS, BLOCKS)
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def do(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the results of a list of calls, in the order of the list; threads make them in any order."""
        if self._pool is None or len(calls) == 1:
            return [call() for call in calls]
        results: list[Any] = [None] * len(calls)
        queue = deque(enumerate(calls))

        def work() -> None:
            while queue:
                try:
                    n, call = queue.popleft()
                except IndexError:  # another thread took the last one
                    return
                results[n] = call()

        others = [  # with what is set here for floating-point errors
            self._pool.submit(copy_context().run, work) for _ in range(min(self.threads, len(calls)) - 1)
        ]
        try:
            work()
            wait(others)
        finally:  # after Ctrl-C nothing may go on
            queue.clear()
            wait(others)
        for other in others:
            other.result()
        return results


ALONE = Team(1)


class Parts:
    """The flows of a grid that are summed to each flow of the next coarser grid, as arrays for kernels."""

    def __init__(self, grid: Grid, aggregation: Aggregation, *, by_source: bool = False) -> None:
        self.aggregation, parts = aggregation, aggregation.parts
        self.entry = grid.begin[:: grid.width][parts.kind] + parts.entry
        source = parts.state if by_source else parts.state + grid.step[self.entry]
        part_arrays = as_unsigned(parts.first), as_unsigned(parts.begin), as_unsigned(source)
        children = aggregation.children
        counts = np.where(children >= 0, np.append(grid.counts, 0)[children], 0)
        rows = counts.reshape(len(children), -1, aggregation.last)
        before = (np.cumsum(rows, axis=2) - rows).reshape(children.shape)  # flows before each child in its row
        self.spans = rows.sum(axis=2)
        kinds = np.repeat(np.arange(len(aggregation.children)), np.diff(parts.begin[parts.first]))
        self.flow = before[kinds, parts.cell] + parts.entry
        self.line = parts.cell // aggregation.last
        sums = Sums(self.entry, self.line, self.flow, self.spans)
        numbers = *part_arrays, *map(as_unsigned, (self.flow, self.line, self.spans))
        none = np.zeros(len(aggregation.children), dtype=np.uint64)
        self.table = PartTable(none, *numbers)
        self._patterns = partial(sum_patterns, grid, aggregation, sums, by_source=by_source)

    def unroll(self, shares: NDArray[np.float64], written: Callable[[Sequence[Pattern]], str]) -> tuple[PartTable, str]:
        """Return the arrays for kernels, and source text of statements for frequent kinds of coarse cells.

        ``shares`` is the fraction of the coarse cells of each kind; zero excludes a kind from unrolling.
        """
        if not shares.any():
            return self.table, written([])
        chosen, special = frequent(self._patterns(), shares)
        return self.table._replace(special=special), written(chosen)


class RateTable(NamedTuple):
    """The rates of a grid's transitions as arrays for kernels, with functions that update rates by counts.

    Attributes
    ----------
    rate, exit_rate
        Of each entry, and out of each slot of each kind. Rates that depend on counts are those of the last cell that
        was written, and NaN before.
    counts
        Arguments of `markov.multigrid.kernels.count_kernels`; empty if no rate depends on a count.
    helpers
        Functions that write the rates of a cell, or do nothing.
    written
        Arrays that they write to: each block of rows needs copies.
    """

    rate: Vector
    exit_rate: Vector
    counts: CountTable | tuple[()] = ()
    helpers: tuple[Callable[..., Any], ...] = (rate_kernels.at_row, rate_kernels.at_cell)
    written: tuple[Vector, ...] = ()

    @property
    def slots(self) -> SlotRates:
        """The rates as the record `SlotRates` of the kernels."""
        return SlotRates(self.rate, self.exit_rate, self.counts)

    def for_block(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return arguments of a kernel with a copy in place of each array that it writes, for one block of rows."""
        copies = {id(array): array.copy() for array in self.written}
        return _replace_arrays(arguments, copies) if copies else tuple(arguments)


def _replace_arrays(arguments: Sequence[Any], copies: dict[int, Vector]) -> tuple[Any, ...]:
    """Return arguments, nested tuples included, with arrays replaced by their copies, by the array's id."""
    parts = [
        _replace_arrays(part, copies) if isinstance(part, tuple) else copies.get(id(part), part) for part in arguments
    ]
    made = getattr(arguments, "_make", tuple)  # records stay records
    return cast("tuple[Any, ...]", made(parts))


def rate_table(grid: Grid, rates: Rates) -> RateTable:
    """Return the rates of a grid's transitions as arrays for kernels."""
    if rates.counts is None:
        return RateTable(rates.rate, rates.exit_rate)
    curves, *terms = rates.counts
    begins = grid.begin[:: grid.width], np.arange(0, len(grid.begin), grid.width)
    return _count_table(grid.shape, [1] * len(grid.shape), curves, (rates.rate, rates.exit_rate), terms, begins)


def parts_table(grid: Grid, rates: Rates, parts: Parts, aggregation: Aggregation, shape: Sequence[int]) -> RateTable:
    """Return the rates of the parts of a coarse grid's flows as arrays for kernels, without rates out of slots."""
    rate, none = rates.rate[parts.entry], np.zeros(0)
    if rates.counts is None:
        return RateTable(rate, none)
    curves, rate_terms, _ = rates.counts
    joined = aggregation.parts
    positions = np.array(list(np.ndindex(*aggregation.factors)), dtype=np.int64)
    nothing = np.zeros(0, dtype=np.int64)
    terms = (
        rate_terms.select(parts.entry, positions[joined.cell]),
        rate_terms._replace(constant=none, target=nothing, axis=nothing, curve_offset=nothing),
    )
    begins = joined.begin[joined.first], np.zeros_like(joined.first)
    return _count_table(shape, aggregation.factors, curves, (rate, none), terms, begins)


def _count_table(
    shape: Sequence[int],
    factors: Sequence[int],
    curves: Vector,
    values: Sequence[Vector],
    terms: Sequence[Terms],
    begins: Sequence[Numbers],
) -> RateTable:
    """Return the arrays for kernels of rates that depend on counts, of entries and out of slots.

    Begins are the first index of each kind, and the total.
    """
    rates, exits = (_varying_numbers(*part, len(shape)) for part in zip(values, terms, begins, strict=True))
    sizes = np.array(shape[:-1], dtype=np.int64)
    strides = np.cumprod(np.append(1, sizes[:0:-1]))[::-1][: len(sizes)]
    axis_arrays = as_unsigned(strides), as_unsigned(sizes), as_unsigned(factors[:-1]), np.uint64(factors[-1])
    kernels = count_kernels
    helpers = kernels.row_terms, kernels.cell_terms, kernels.at_row, kernels.at_cell
    written = *rates[:2], *exits[:2]
    rate, exit_rate = values
    counts = CountTable(curves, *axis_arrays, rates, exits)
    return RateTable(rate, exit_rate, counts, helpers, written)


def _varying_numbers(values: Vector, terms: Terms, begin: Numbers, axes: int) -> VaryingNumbers:
    """Return ``values``, rates by kind of cell from ``begin`` on, and the terms added by coordinates, for kernels.

    By axis for all axes but the last.
    """
    varied = np.unique(terms.target)
    kind = np.searchsorted(begin, terms.target, "right") - 1
    across = np.flatnonzero(terms.axis != axes - 1)
    group = kind[across] * (axes - 1) + terms.axis[across]
    order = across[np.argsort(group, kind="stable")]
    along = np.flatnonzero(terms.axis == axes - 1)
    groups = np.arange((len(begin) - 1) * (axes - 1) + 1)
    firsts = (
        np.searchsorted(varied, begin),
        np.searchsorted(np.sort(group), groups),
        np.searchsorted(terms.target[along], begin),
    )
    held = np.zeros(len(along))
    added = (part for which in (order, along) for part in (terms.target[which], terms.curve_offset[which]))
    varied_arrays = as_unsigned(varied), terms.constant[varied]
    numbers: list[Any] = [values, held, *map(as_unsigned, firsts), *varied_arrays, *map(as_unsigned, added)]
    return VaryingNumbers(*numbers)


STRONG_FLOW_RATIO = 0.5  # of the largest flow: axes along which cells are joined
MIN_UNROLLED_STATES = 100_000_000
"""States of a grid from which sweeps are unrolled for its most frequent kinds of cells.

Unrolled loops save 0.1 microseconds per state in a whole solution. Their compilation takes 17 to 70 s of CPU time for
each shape of grid: two to seven solutions of 1e8 states repay it.
"""
CYCLIC_CELL_SWEEPS = 4  # sweeps of a cell with transitions in a circle, where few have them
MAX_REPEATED_SHARE = 0.25  # of the cells: more are swept once
SOURCE_RATE = 1e-280
"""Source in every state: probabilities do not underflow, and where they would, the outflow exceeds the inflow from
other states. All levels have it."""


class Level:
    """A level of multigrid on a grid: the grid, its tables for kernels, and a vector x with one number per state.

    Attributes
    ----------
    grid
        By target for pi, by source for hitting times.
    x
        One number for each state, shape (grid.size,).
    unroll
        Whether statements are generated for the most frequent kinds of cells.
    repeats
        Number of sweeps of a cell with cycles of transitions among its slots, if few cells have them.
    team
        Threads for loops over blocks of its rows.
    rates
        Of the finest grid: nothing is unrolled if they depend on counts.
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
        self.cells = grid.cells
        often = grid.cyclic & (grid.shares <= MAX_REPEATED_SHARE) & (repeats > 1)
        self.repeats = as_unsigned(np.where(often, repeats, 1))
        self.patterns: list[Pattern] = []
        special = np.zeros(grid.kinds, dtype=np.uint64)
        if unroll and (rates is None or rates.counts is None):
            self.patterns, special = frequent(grid_patterns(grid), grid.shares * ~often)
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
        """Return a call that runs a kernel on all rows, block by block, and returns the list of its results.

        The first argument of the kernel is the range of rows.

        The arrays that ``buffers`` allocates for a block come next. Each block has copies of the written arrays of a
        ``table`` of rates. The call returns the results by block.
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
        if len(block_calls) == 1 and not border_calls:
            (call,) = block_calls
            return lambda: [call()]
        do = self.team.do  # not by self: levels would hold themselves, and their memory, in a circle
        return lambda: do(block_calls) + [call() for call in border_calls]

    def on_states(self, kernel: Callable[..., Any], *arguments: Any) -> Callable[[], list[Any]]:
        """Return a call that runs a kernel on all states; its second argument is the number of states per row."""
        return self.by_rows(kernel, self.cells.cells * self.cells.width, *arguments)

    def sweeps(
        self,
        cells: Callable[..., Any],
        rows: Callable[..., Any] | None,
        equations: tuple[Any, ...],
        excluded_row: np.uint64 | None = None,
        rates: RateTable | None = None,
    ) -> list[Callable[[], Any]]:
        """Return a call that sweeps the states forward, and a call that sweeps them backward.

        Parameters
        ----------
        cells
            The loop over the cells of a segment.
        rows
            The same loop in several rows side by side; None: rows are swept one after another.
        equations
            Arrays of the equations, in the order that the loops unpack them.
        excluded_row
            A row that is swept by itself; None: none.
        rates
            Of the finest grid, if they depend on counts.
        """
        frequent = self.frequent if excluded_row is None else self.frequent._replace(excluded_row=excluded_row)
        plan = SweepPlan(self.repeats, *frequent, *self._parallel_kinds(rows))
        loops = [cells] if rows is None else [cells, rows]
        run: Any = partial(self.by_rows, helpers=(sweep_kernels.identical_rows, *loops), table=rates)
        text = unrolling.sweeps(self.patterns, cells.__name__, rows and rows.__name__)
        table = self.cells, plan, equations
        return [run(sweep_kernels.sweep, *table, back, self.x, **text) for back in (False, True)]

    def _parallel_kinds(self, rows: Callable[..., Any] | None) -> tuple[NDArray[np.bool_], np.uint64]:
        """Return whether the cells of each kind are swept in rows side by side, and the lag of each row."""
        grid, cells = self.grid, self.cells
        if self.patterns:
            return self.frequent.special > 0, np.uint64(max(pattern.lag for pattern in self.patterns))
        reach = np.zeros(grid.kinds, dtype=np.int64)  # along the last axis, of transitions to other rows
        to_rows = grid.steps[:, :-1].any(axis=1)
        np.maximum.at(reach, grid.kind_of_entry[to_rows], np.abs(grid.steps[to_rows, -1]))
        longest = np.zeros(grid.kinds, dtype=np.uint64)
        np.maximum.at(longest, cells.numbers, cells.stops - cells.starts)
        lags = as_unsigned(1 + reach)
        parallel = (longest > ROWS * lags) & (self.repeats == 1) & (rows is not None)
        return parallel, lags[parallel].max(initial=1)

    def sum_rates(
        self,
        coarse: Level,
        values: Vector,
        parts: Parts,
        rates: Rates,
        weighted: Weighted,
        weight: Callable[..., Any] = flow_kernels.weight,
    ) -> Callable[[], Any]:
        """Return a call that computes the flows between the cells of the next level, sums of rates times weights.

        ``weight`` computes the weight of a flow out of a state.
        """
        aggregation = parts.aggregation
        part_rates = parts_table(self.grid, rates, parts, aggregation, coarse.grid.shape)
        shares = coarse.grid.shares * (coarse.unroll and not part_rates.counts)
        table, text = parts.unroll(shares, unrolling.sums_of_rates)
        cells = coarse.cells, self.children(aggregation), table
        run = *cells, WeightedRates(part_rates.slots, weighted), values
        kernel = flow_kernels.restrict_rates
        return coarse.by_rows(kernel, *run, table=part_rates, helpers=(weight,), unrolled=text)

    def sum_flows(
        self,
        coarse: Level,
        values: Vector,
        parts: Parts,
        flows: NDArray[np.floating[Any]],
        x: Floats,
    ) -> Callable[[], Any]:
        """Return a call that computes the flows between the cells of the next level, sums of flows times x."""
        children = self.children(parts.aggregation)
        table, text = parts.unroll(coarse.grid.shares * coarse.unroll, unrolling.sums_of_flows)
        fine = FinerFlows(self.cells.value_begin, flows, np.zeros_like(children.rows), x)
        run = coarse.cells, children, table, fine, values
        return coarse.by_rows(flow_kernels.restrict, *run, unrolled=text)

    def children(self, aggregation: Aggregation) -> Children:
        """Return the table of this grid's rows that make up each row of the next level."""
        rows, cells = aggregation.child_rows, self.cells
        child_rows = as_unsigned(np.maximum(rows, 0)), rows >= 0
        return Children(*child_rows, np.uint64(aggregation.last), cells.cells, cells.width)

    def pattern(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the transitions of all states as a sparse pattern: row pointers, and numbers of the other states."""
        slots = self._slots_of_states()
        counts = np.diff(self.grid.begin)[slots]
        state, entry = expand(counts)
        return np.append(0, np.cumsum(counts)), self.grid.step[self.grid.begin[slots][state] + entry] + state

    def state_rates(self, rates: Rates) -> tuple[Vector, Vector]:
        """Return the rate of each entry of `pattern`, and 1 / the total rate of each state, 0 if it is absorbing."""
        grid, width = self.grid, self.grid.width
        rates_of_cells, exits = [], []
        for kind, cell in zip(grid.rows[grid.row_kind].ravel(), np.ndindex(*grid.shape), strict=True):
            rate, exit_rate = rates.at_cell(cell)
            rates_of_cells.append(rate[grid.begin[kind * width] : grid.begin[(kind + 1) * width]])
            exits.append(exit_rate[kind * width : (kind + 1) * width])
        total = np.concatenate(exits)
        with np.errstate(divide="ignore"):
            scale = np.where(total > 0.0, 1.0 / total, 0.0)
        return np.concatenate(rates_of_cells), scale

    def _slots_of_states(self) -> NDArray[np.int64]:
        """Return kind * width + slot of each state, shape (grid.size,): the index into tables by kind and slot."""
        kinds, width = self.grid.rows[self.grid.row_kind], self.grid.width
        slots: NDArray[np.int64] = (kinds[..., None] * width + np.arange(width)).ravel()
        return slots

    def by_state(self, amounts: Vector) -> Vector:
        """Return an amount for each state, shape (grid.size,), from amounts for each kind of cell and slot."""
        by_state: Vector = amounts[self._slots_of_states()]
        return by_state

    def flows_by_entry(self, by_cell: bool, flows: NDArray[np.floating[Any]]) -> Vector:
        """Return the flow of each entry of each kind of cell, its rate times x summed over all cells, shape (entries,).

        ``by_cell``: flows are stored for every cell, not for every kind.
        """
        sums: list[Vector] = []

        def buffer() -> tuple[Vector]:
            sums.append(np.zeros(len(self.grid.step)))
            return (sums[-1],)

        self.by_rows(flow_kernels.entry_flows, self.cells, by_cell, flows, self.x, buffers=buffer)()
        return np.asarray(np.sum(sums, axis=0))

    def axes_of_strong_flow(self, flows_by_entry: Vector) -> tuple[bool, ...]:
        """Return whether each axis carries strong flow, from the flow of each entry, among axes with several cells."""
        wide = np.array(self.grid.shape) > 1
        moved = (self.grid.steps != 0) & wide
        along = flows_by_entry @ moved
        return tuple((along >= STRONG_FLOW_RATIO * along.max()) & wide)


class Finest(Level):
    """The finest level of multigrid for pi on a grid: x are the probabilities, up to a factor."""

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
            self.forward, self.backward = self.sweeps(count_kernels.cells_by_counts, None, equations, rates=rate_arrays)
        else:
            with np.errstate(divide="ignore"):
                scale = np.where(rates.exit_rate > 0.0, 1.0 / rates.exit_rate, 0.0)
            jumps = rates.rate * np.repeat(scale, np.diff(grid.begin))
            loops = sweep_kernels.cells_by_rates, sweep_kernels.rows_by_rates
            self.forward, self.backward = self.sweeps(*loops, (jumps, self.sources * scale))
        self._rate_table = rate_arrays
        text, balance = unrolling.balance(self.patterns), vector_kernels.balance
        arguments = self.cells, self.frequent, rate_arrays.slots, x
        self._balance = self.by_rows(balance, *arguments, table=rate_arrays, unrolled=text)

    def strong_axes(self) -> tuple[bool, ...]:
        """Return whether states exchange strongly along each axis, for the current x."""
        return self.axes_of_strong_flow(self.flows_by_entry(False, self.rates.typical(self.grid.shape)[0]))

    def residual(self) -> tuple[float, float]:
        """Return the relative residual ||x Q||_1 / ||x |Q| ||_1, and the sum of x."""
        off, flow, mass = map(sum, zip(*self._balance(), strict=True))
        return 0.5 * off / flow, mass

    def imbalance(self, bit: int, marks: NDArray[np.uint8]) -> float:
        """Return the maximum of inflow / outflow over the states whose marks have the bit."""
        arguments = self.cells, self._rate_table.slots, Marked(bit, marks), self.x
        run = self.by_rows(vector_kernels.imbalance, *arguments, table=self._rate_table)
        return float(max(run()))

    def compare(self, y: Vector, z: Vector) -> Vector:
        """Return scalar products of the residuals of x, y - x and z - x, shape (5,), see `vector_kernels.compare`."""
        arguments = self.cells, self._rate_table.slots, self.x, y, z
        run = self.by_rows(vector_kernels.compare, *arguments, table=self._rate_table)
        return np.asarray(np.sum(run(), axis=0))

    def multiply(self, factor: float) -> None:
        """Multiply x by a factor, in place."""
        self.on_states(vector_kernels.multiply, float(factor), self.x)()

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return a call that computes the flows between the cells of the next level, for the current x."""
        parts = Parts(self.grid, aggregation)
        return self.sum_rates(coarse, values, parts, self.rates, Weighted(self.x, 0.0))


MAX_CELLS_WITHOUT_OVERCORRECTION = 4  # that become one: where more do, corrections fall short


class Coarse(Level):
    """A coarse level of multigrid for pi on a grid: x are the factors by which the aggregates' flows change."""

    def __init__(self, grid: Grid, aggregation: Aggregation, fine: Finest | Coarse) -> None:
        x = np.ones(grid.size)
        super().__init__(grid, x, unroll=fine.unroll, repeats=CYCLIC_CELL_SWEEPS, team=fine.team)
        self.values = np.zeros(int(grid.value_begin[-1]))
        self.scale = np.ones(grid.size)
        self._reset = self.on_states(vector_kernels.reset_factors, self.scale, self.x)
        self._invert = self.on_states(vector_kernels.invert_scale, self.scale)
        self._overcorrect = self.on_states(vector_kernels.overcorrect, self.x)
        factors = aggregation.factors
        self._overcorrects = max(factors) > 2 or math.prod(factors) > MAX_CELLS_WITHOUT_OVERCORRECTION
        self._prolong = self.by_rows(
            flow_kernels.prolong,
            self.cells,
            fine.children(aggregation),
            self.unroll,
            self.x,
            fine.x,
            unrolled=unrolling.prolong(grid.width, aggregation.last) if self.unroll else "pass",
        )
        self._restrict = fine.restriction(aggregation, self, self.values)
        flow_arguments = self.cells, self.frequent, self.values, self.scale
        text = unrolling.outflows(self.patterns)
        self._outflows = self.by_rows(flow_kernels.outflows, *flow_arguments, unrolled=text)
        slot_sources = np.vstack([fine.sources.reshape(-1, grid.width), np.zeros(grid.width)])
        self.sources: Vector = slot_sources[aggregation.children].sum(axis=1).ravel()
        begin = as_unsigned(grid.segment_begin), self.cells.value_begin
        equations = *begin, self.values, self.scale, self.sources
        loops = sweep_kernels.cells_by_flows, sweep_kernels.rows_by_flows
        self.forward, self.backward = self.sweeps(*loops, equations)

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays of the level."""
        return self.values.nbytes + self.scale.nbytes + self.x.nbytes

    def strong_axes(self) -> tuple[bool, ...]:
        """Return whether aggregates exchange strongly along each axis."""
        return self.axes_of_strong_flow(self.flows_by_entry(True, self.values))

    def prolong(self) -> None:
        """Multiply each state of the finer level by the factor of its aggregate, in place.

        If more than two cells along an axis were joined, or more than four in all, the factor is raised to
        the power 1.25: corrections that are constant on wide cells are too small (Braess, Computing 55, 1995,
        nearly doubles those of V-cycles; in W-cycles with three cells along an axis 1.25 takes the fewest
        cycles, measured).
        """
        if self._overcorrects:
            self._overcorrect()
        self._prolong()

    def restrict(self) -> None:
        """Compute the flows of this level from the finer level, and set all factors to one."""
        self._restrict()
        self._reset()
        self._outflows()
        self._invert()

    def restriction(self, aggregation: Aggregation, coarse: Level, values: Vector) -> Callable[[], Any]:
        """Return a call that computes the flows between the cells of the next level, for the current x."""
        parts = Parts(self.grid, aggregation)
        return self.sum_flows(coarse, values, parts, self.values, self.x)

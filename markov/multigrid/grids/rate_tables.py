"""The rates of a grid as its kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from markov.multigrid.grids.loops import count_kernels, rate_kernels
from markov.multigrid.grids.loops.count_kernels import CountTable, VaryingNumbers
from markov.multigrid.grids.loops.tables import SlotRates, as_unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grids.coarsening import Aggregation
    from markov.multigrid.grids.counts import Terms
    from markov.multigrid.grids.grids import Grid
    from markov.multigrid.grids.layouts import Rates
    from markov.multigrid.grids.parts import Parts

    Vector = NDArray[np.float64]
    Numbers = NDArray[np.int64]

__all__ = ["RateTable", "parts_table", "rate_table"]


class RateTable(NamedTuple):
    """The rates of a grid as its kernels take them.

    Attributes
    ----------
    rate, exit_rate
        Of each entry, and out of each slot of each kind; where they depend on counts those of the cell that was
        written last, before that not a number.
    counts
        What `markov.multigrid.grids.loops.count_kernels` take; empty where no rate depends on a count.
    helpers
        Functions that write the rates of a cell, or do nothing.
    written
        Arrays that they write to: each block of rows needs its own.
    """

    rate: Vector
    exit_rate: Vector
    counts: CountTable | tuple[()] = ()
    helpers: tuple[Callable[..., Any], ...] = (rate_kernels.at_row, rate_kernels.at_cell)
    written: tuple[Vector, ...] = ()

    @property
    def slots(self) -> SlotRates:
        """The rates as one record."""
        return SlotRates(self.rate, self.exit_rate, self.counts)

    def for_block(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return arguments with copies of what is written to, the same one for the same array."""
        copies = {id(array): array.copy() for array in self.written}
        return _replace_arrays(arguments, copies) if copies else tuple(arguments)


def _replace_arrays(arguments: Sequence[Any], copies: dict[int, Vector]) -> tuple[Any, ...]:
    parts = [
        _replace_arrays(part, copies) if isinstance(part, tuple) else copies.get(id(part), part) for part in arguments
    ]
    made = getattr(arguments, "_make", tuple)  # records stay records
    return cast("tuple[Any, ...]", made(parts))


def rate_table(grid: Grid, rates: Rates) -> RateTable:
    """Return the rates of a grid."""
    if rates.counts is None:
        return RateTable(rates.rate, rates.exit_rate)
    curves, *terms = rates.counts
    begins = grid.begin[:: grid.width], np.arange(0, len(grid.begin), grid.width)
    return _count_table(grid.shape, [1] * len(grid.shape), curves, (rates.rate, rates.exit_rate), terms, begins)


def parts_table(grid: Grid, rates: Rates, parts: Parts, aggregation: Aggregation, shape: Sequence[int]) -> RateTable:
    """Return the rates of the parts of the flows of a coarse grid of some shape; of slots none."""
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
    """Return a table of rates and of rates out of slots, given the first of each kind, and one more."""
    rates, exits = (_table(*each, len(shape)) for each in zip(values, terms, begins, strict=True))
    sizes = np.array(shape[:-1], dtype=np.int64)
    strides = np.cumprod(np.append(1, sizes[:0:-1]))[::-1][: len(sizes)]
    axis_arrays = as_unsigned(strides), as_unsigned(sizes), as_unsigned(factors[:-1]), np.uint64(factors[-1])
    kernels = count_kernels
    helpers = kernels.row_terms, kernels.cell_terms, kernels.at_row, kernels.at_cell
    written = *rates[:2], *exits[:2]
    rate, exit_rate = values
    counts = CountTable(curves, *axis_arrays, rates, exits)
    return RateTable(rate, exit_rate, counts, helpers, written)


def _table(values: Vector, terms: Terms, begin: Numbers, axes: int) -> VaryingNumbers:
    """Return some numbers, and what is written to them, by kind, and by axis without the last one."""
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

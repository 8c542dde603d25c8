"""The flows that make up those of a coarse grid, as the kernels take them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from markov.multigrid.grids.loops.patterns import Pattern, Sums, frequent, sum_patterns
from markov.multigrid.grids.loops.tables import PartTable, as_unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grids.coarsening import Aggregation
    from markov.multigrid.grids.grids import Grid

__all__ = ["Parts"]


class Parts:
    """The flows that make up those of a coarse grid, as the kernels take them."""

    def __init__(self, grid: Grid, aggregation: Aggregation, *, by_source: bool = False) -> None:
        self.aggregation, parts = aggregation, aggregation.parts
        self.entry = grid.begin[:: grid.width][parts.kind] + parts.entry
        source = parts.state if by_source else parts.state + grid.step[self.entry]
        part_arrays = as_unsigned(parts.first), as_unsigned(parts.begin), as_unsigned(source)
        before, self.spans = _flow_offsets(grid, aggregation)
        kinds = np.repeat(np.arange(len(aggregation.children)), np.diff(parts.begin[parts.first]))
        self.flow = before[kinds, parts.cell] + parts.entry
        self.line = parts.cell // aggregation.last
        sums = Sums(self.entry, self.line, self.flow, self.spans)
        numbers = *part_arrays, *map(as_unsigned, (self.flow, self.line, self.spans))
        none = np.zeros(len(aggregation.children), dtype=np.uint64)
        self.table = PartTable(none, *numbers)
        self._patterns = partial(sum_patterns, grid, aggregation, sums, by_source=by_source)

    def unrolled(
        self, shares: NDArray[np.float64], written: Callable[[Sequence[Pattern]], str]
    ) -> tuple[PartTable, str]:
        """Return the tables for the kernels, and the statements of frequent kinds of coarse cells.

        ``shares`` are those of the coarse cells that are of each kind; zero: not written out.
        """
        if not shares.any():
            return self.table, written([])
        chosen, special = frequent(self._patterns(), shares)
        return self.table._replace(special=special), written(chosen)


def _flow_offsets(grid: Grid, aggregation: Aggregation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many flows the coarse cell has before each of its cells in a row, and in the row."""
    kids = aggregation.children
    counts = np.where(kids >= 0, np.append(grid.counts, 0)[kids], 0)
    rows = counts.reshape(len(kids), -1, aggregation.last)
    before = np.cumsum(rows, axis=2) - rows
    return before.reshape(kids.shape), rows.sum(axis=2)

"""The flows that make up those of a coarse grid, as the kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.stencils.loops.kernel_calls import unsigned
from markov.stencils.loops.patterns import Pattern, frequent, of_sums

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.stencils.coarsening import Aggregation
    from markov.stencils.grids import Grid

__all__ = ["Parts"]


class Parts:
    """The flows that make up those of a coarse grid, as the kernels take them."""

    def __init__(self, grid: Grid, aggregation: Aggregation, *, by_source: bool = False) -> None:
        lists = [parts for kind in aggregation.parts for parts in kind]
        every = [part for parts in lists for part in parts]
        begins = np.append(0, np.cumsum([len(kind) for kind in aggregation.parts], dtype=np.int64))
        part_begin = np.append(0, np.cumsum([len(parts) for parts in lists], dtype=np.int64))
        first = grid.begin[:: grid.width]
        self.entry = np.array([first[p.kind] + p.entry for p in every], dtype=np.int64)
        source = np.array([p.state for p in every], dtype=np.int64)
        if not by_source:
            source += grid.step[self.entry]
        self.table = unsigned(begins), unsigned(part_begin), unsigned(source)
        before, self.spans = places = _places(grid, aggregation)
        kinds = np.repeat(
            np.arange(len(aggregation.parts)), [sum(map(len, k)) for k in aggregation.parts]
        )
        cells = [p.cell for p in every]
        self.flow = before[kinds, cells] + np.array([p.entry for p in every], dtype=np.int64)
        self.line = np.array([p.row for p in every], dtype=np.int64)
        self._patterns = of_sums(grid, aggregation, places, by_source=by_source)

    def unrolled(
        self, shares: NDArray[np.float64], written: Callable[[Sequence[Pattern]], str]
    ) -> tuple[NDArray[np.uint64], str]:
        """Return kinds of coarse cells whose sums are written out, and the statements.

        ``shares`` are those of the coarse cells that are of each kind; zero: not written out.
        """
        chosen, special = frequent(self._patterns, shares)
        return special, written(chosen)


def _places(grid: Grid, aggregation: Aggregation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many flows the coarse cell has before each of its cells in a row, and in the row."""
    kids = aggregation.children
    counts = np.where(kids >= 0, np.append(grid.counts, 0)[kids], 0)
    rows = counts.reshape(len(kids), -1, aggregation.last)
    before = np.cumsum(rows, axis=2) - rows
    return before.reshape(kids.shape), rows.sum(axis=2)

"""Which kinds of cells are so frequent that statements are written out for them.

A pattern says where the transitions of a kind of cell lead, and not at which rates: one compiled kernel
serves all parameters of a model, and models alike.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from markov.multigrid.grids.coarsening import Aggregation
    from markov.multigrid.grids.grids import Grid

    Numbers = NDArray[np.int64]

__all__ = ["Candidates", "Pattern", "Sums", "Term", "frequent", "grid_patterns", "sum_patterns"]

MAX_TERMS = 100  # of a cell that is written out: more take minutes to compile
MAX_PATTERNS = 2
MIN_SHARE = 0.02  # of the cells


class Term(NamedTuple):
    """One number of a sum: where it is.

    Attributes
    ----------
    lead
        Step to the row of its state, along all axes but the last.
    offset
        From the first state of the cell to that state, within its row.
    line, flow
        Of a flow of a coarser grid: the row of cells that make up the coarse one, and its number.
    """

    lead: tuple[int, ...]
    offset: int
    line: int = 0
    flow: int = 0


class Pattern(NamedTuple):
    """The terms of each sum of a cell, and how many slots it has.

    Attributes
    ----------
    spans
        Flows in each row of the cells that make up a coarse one.
    """

    sums: tuple[tuple[Term, ...], ...]
    width: int
    spans: tuple[int, ...] = ()

    @property
    def leads(self) -> list[tuple[int, ...]]:
        """Other rows than the cell's own, in a fixed order."""
        leads = {term.lead for terms in self.sums for term in terms}
        return sorted(lead for lead in leads if any(lead))

    @property
    def lag(self) -> int:
        """Cells by which a row has to be ahead of the next to have been swept where that one reads it."""
        offsets = [t.offset // self.width for terms in self.sums for t in terms if any(t.lead)]
        return max([1, *map(abs, offsets)])

    @property
    def size(self) -> int:
        """Number of terms."""
        return sum(map(len, self.sums))


class Candidates(NamedTuple):
    """The terms of all sums of the kinds of cells, of which frequent ones may be written out.

    Attributes
    ----------
    terms
        Offset, line, flow and lead of each term, shape (terms, 3 + axes - 1).
    begin
        First term of each sum, and one more.
    first
        First sum of each kind, and one more.
    spans
        Flows in each row of the cells that make up a coarse one, for each kind.
    width
        Slots of a cell.
    """

    terms: Numbers
    begin: Numbers
    first: Numbers
    spans: Numbers
    width: int

    @property
    def sizes(self) -> Numbers:
        """Terms of each kind."""
        return np.diff(self.begin[self.first])

    def key(self, kind: int) -> Hashable:
        """Return what tells the pattern of a kind from others."""
        bounds = self.begin[self.first[kind] : self.first[kind + 1] + 1]
        table = self.terms[bounds[0] : bounds[-1]]
        return table.tobytes(), (bounds - bounds[0]).tobytes(), self.spans[kind].tobytes()

    def pattern(self, kind: int) -> Pattern:
        """Return the pattern of a kind."""
        bounds = self.begin[self.first[kind] : self.first[kind + 1] + 1].tolist()
        rows_of_sums = (self.terms[a:b].tolist() for a, b in itertools.pairwise(bounds))
        sums = tuple(tuple(Term(tuple(t[3:]), *t[:3]) for t in rows) for rows in rows_of_sums)
        return Pattern(sums, self.width, tuple(self.spans[kind].tolist()))


def grid_patterns(grid: Grid) -> Candidates:
    """Return the patterns of the kinds of cells: the other states of their transitions."""
    offset = grid.steps[:, -1] * grid.width + grid.others
    terms = np.column_stack([offset, 0 * offset, 0 * offset, grid.steps[:, :-1]])
    first, none = np.arange(grid.kinds + 1) * grid.width, np.empty((grid.kinds, 0), dtype=np.int64)
    return Candidates(terms, grid.begin, first, none, grid.width)


class Sums(NamedTuple):
    """For each part of a flow of a coarser grid its entry, row and flow, and the flows of each row."""

    entry: Numbers
    line: Numbers
    flow: Numbers
    spans: Numbers


def sum_patterns(grid: Grid, aggregation: Aggregation, sums: Sums, *, by_source: bool) -> Candidates:
    """Return the patterns of the kinds of coarse cells: what their flows are sums of.

    Parameters
    ----------
    grid, aggregation
        The finer grid, and what a coarse cell is made of.
    sums
        Where its parts are.
    by_source
        Whether a flow is weighted by the state that it belongs to, or by the other one.
    """
    parts = aggregation.parts
    lines = list(np.ndindex(*aggregation.factors[:-1]))
    lead = np.array(lines, dtype=np.int64).reshape(len(lines), len(lines[0]))[sums.line]
    cell, slot = parts.cell % aggregation.last, grid.slots[sums.entry]
    if not by_source:
        step = grid.steps[sums.entry]
        lead, cell, slot = lead + step[:, :-1], cell + step[:, -1], grid.others[sums.entry]
    terms = np.column_stack([cell * grid.width + slot, sums.line, sums.flow, lead])
    return Candidates(terms, parts.begin, parts.first, sums.spans, grid.width)


def frequent(candidates: Candidates, shares: NDArray[np.float64]) -> tuple[list[Pattern], NDArray[np.uint64]]:
    """Return the patterns that many cells have, and which of them each kind has, from 1 on; 0: none.

    Parameters
    ----------
    candidates
        Of each kind.
    shares
        Of the cells that are of each kind; zero for kinds that may not be chosen.
    """
    kinds_by_pattern: dict[Hashable, list[int]] = {}
    for kind in np.flatnonzero((shares > 0.0) & (candidates.sizes <= MAX_TERMS)).tolist():
        kinds_by_pattern.setdefault(candidates.key(kind), []).append(kind)
    sums = [float(shares[kinds].sum()) for kinds in kinds_by_pattern.values()]
    order = sorted(zip(sums, kinds_by_pattern.values(), strict=True), key=lambda pair: -pair[0])
    chosen = [kinds for n, (share, kinds) in enumerate(order[:MAX_PATTERNS]) if not n or share >= MIN_SHARE]
    special = np.zeros(len(shares), dtype=np.uint64)
    for number, kinds in enumerate(chosen, 1):
        special[kinds] = number
    return [candidates.pattern(kinds[0]) for kinds in chosen], special

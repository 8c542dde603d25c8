"""Which kinds of cells are so frequent that statements are written out for them.

A pattern says where the transitions of a kind of cell lead, and not at which rates: one compiled kernel
serves all parameters of a model, and models alike.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from markov.stencils.coarsening import Aggregation
    from markov.stencils.grids import Grid

__all__ = ["Pattern", "Sums", "Term", "frequent", "of_grid", "of_sums"]

MOST_TERMS = 100  # of a cell that is written out: more take minutes to compile
MOST_PATTERNS = 2
LEAST_SHARE = 0.02  # of the cells


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
        found = {term.lead for terms in self.sums for term in terms}
        return sorted(lead for lead in found if any(lead))

    @property
    def lag(self) -> int:
        """Cells by which a row has to be ahead of the next to have been swept where that one reads it."""
        there = [t.offset // self.width for terms in self.sums for t in terms if any(t.lead)]
        return max([1, *map(abs, there)])

    @property
    def size(self) -> int:
        """Number of terms."""
        return sum(map(len, self.sums))


def of_grid(grid: Grid) -> list[Pattern]:
    """Return the pattern of each kind of cell: the other states of its transitions."""
    width = grid.width
    return [
        Pattern(
            tuple(
                tuple(Term(e.step[:-1], e.step[-1] * width + e.slot) for e in entries)
                for entries in kind
            ),
            width,
        )
        for kind in grid.kinds
    ]


class Sums(NamedTuple):
    """For each part of a flow of a coarser grid its entry, row and flow, and the flows of each row."""

    entry: NDArray[np.int64]
    line: NDArray[np.int64]
    flow: NDArray[np.int64]
    spans: NDArray[np.int64]


def of_sums(
    grid: Grid, aggregation: Aggregation, sums: Sums, *, by_source: bool
) -> list[Pattern | None]:
    """Return the pattern of each kind of coarse cell: what its flows are sums of; None: too many terms.

    Parameters
    ----------
    grid, aggregation
        The finer grid, and what a coarse cell is made of.
    sums
        Where its parts are.
    by_source
        Whether a flow is weighted by the state that it belongs to, or by the other one.
    """
    parts, (own, other) = aggregation.parts, grid.slots
    lines = list(np.ndindex(*aggregation.factors[:-1]))
    lead = np.array(lines, dtype=np.int64).reshape(len(lines), len(lines[0]))[sums.line]
    cell, slot = parts.cell % aggregation.last, own[sums.entry]
    if not by_source:
        step = grid.steps[sums.entry]
        lead, cell, slot = lead + step[:, :-1], cell + step[:, -1], other[sums.entry]
    table = np.column_stack([cell * grid.width + slot, sums.line, sums.flow, lead])
    known: dict[Hashable, Pattern] = {}
    found: list[Pattern | None] = []
    for kind, spans in enumerate(sums.spans):
        begin = parts.begin[parts.first[kind] : parts.first[kind + 1] + 1]
        if begin[-1] - begin[0] > MOST_TERMS:
            found.append(None)
            continue
        rows = table[begin[0] : begin[-1]]
        key = rows.tobytes(), (begin - begin[0]).tobytes(), spans.tobytes()
        if key not in known:
            terms = [Term(tuple(row[3:]), *row[:3]) for row in rows.tolist()]
            ends = (begin - begin[0]).tolist()
            each = tuple(tuple(terms[a:b]) for a, b in itertools.pairwise(ends))
            known[key] = Pattern(each, grid.width, tuple(spans.tolist()))
        found.append(known[key])
    return found


def frequent(
    patterns: Sequence[Pattern | None], shares: Iterable[float]
) -> tuple[list[Pattern], NDArray[np.uint64]]:
    """Return the patterns that many cells have, and which of them each kind has, from 1 on; 0: none.

    Parameters
    ----------
    patterns
        Of each kind; None: it may not be chosen.
    shares
        Of the cells that are of each kind; zero for kinds that may not be chosen.
    """
    found: dict[Hashable, float] = {}
    for pattern, share in zip(patterns, shares, strict=True):
        if pattern is not None and share > 0.0 and pattern.size <= MOST_TERMS:
            found[pattern] = found.get(pattern, 0.0) + share
    chosen: list[Any] = sorted(found, key=lambda p: -found[p])[:MOST_PATTERNS]
    chosen = [p for n, p in enumerate(chosen) if n == 0 or found[p] >= LEAST_SHARE]
    kept = [share > 0.0 for share in shares]
    numbers = [
        chosen.index(p) + 1 if k and p in chosen else 0 for p, k in zip(patterns, kept, strict=True)
    ]
    return chosen, np.array(numbers, dtype=np.uint64)

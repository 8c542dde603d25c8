"""The orders in which kernels pass the states of a grid, as generators that are inlined into their loops.

``unrolled`` stands for statements for the cells of frequent kinds, which process a segment at a time. A kernel without
unrolled cells splices in ``pass``. Rates that depend on counts are written before a cell is reached.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

from markov.multigrid.kernels.rate_kernels import at_cell, at_row
from markov.multigrid.kernels.tables import ONE, ZERO

__all__ = ["child_slots", "flow_slots", "other_slots", "slots"]


def slots(span, grid, counts):
    """Yield the number of each state in the rows of a span, and its index among the slots of all kinds."""
    for row in range(span[0], span[1]):
        kind = grid.row_kind[row]
        s = row * grid.cells * grid.width
        for k in range(grid.first[kind], grid.first[kind + ONE]):
            number = grid.numbers[k]
            base = number * grid.width
            at_row(counts, number, row)
            for cell in range(grid.starts[k], grid.stops[k]):
                at_cell(counts, number, cell)
                for r in range(base, base + grid.width):
                    yield s, r
                    s += ONE


def other_slots(span, grid, frequent, counts):
    """Yield the same as `slots` for the states in cells of kinds that are not unrolled."""
    for row in range(span[0], span[1]):
        kind = grid.row_kind[row]
        s = row * grid.cells * grid.width
        for k in range(grid.first[kind], grid.first[kind + ONE]):
            number = grid.numbers[k]
            base = number * grid.width
            if frequent.special[number] > ZERO and row != frequent.excluded_row:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            at_row(counts, number, row)
            for cell in range(grid.starts[k], grid.stops[k]):
                at_cell(counts, number, cell)
                for r in range(base, base + grid.width):
                    yield s, r
                    s += ONE


def flow_slots(span, grid, frequent):
    """Yield the same as `other_slots`, and the first flow of each state, for grids whose cells have flows."""
    for row in range(span[0], span[1]):
        kind = grid.row_kind[row]
        v = grid.value_begin[row]
        s = row * grid.cells * grid.width
        for k in range(grid.first[kind], grid.first[kind + ONE]):
            number = grid.numbers[k]
            base = number * grid.width
            if frequent.special[number] > ZERO and row != frequent.excluded_row:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            for _ in range(grid.starts[k], grid.stops[k]):
                for r in range(base, base + grid.width):
                    yield s, r, v
                    v += grid.begin[r + ONE] - grid.begin[r]
                    s += ONE


def child_slots(coarse, children, grid, frequent, target, counts):
    """Yield the states of the rows that make up a coarse row, with slot, first flow and aggregate of each.

    Each with its slot among the slots of all kinds, its first flow if cells have their own, and the position of its
    aggregate in the coarse row, by ``target.aggregate_of_cell`` for each cell of a row.
    """
    for c in range(ZERO, ZERO + children.rows.shape[1]):
        if not children.present[coarse, c]:
            continue
        row = children.rows[coarse, c]
        kind = grid.row_kind[row]
        v = grid.value_begin[row]
        s = row * grid.cells * grid.width
        for k in range(grid.first[kind], grid.first[kind + ONE]):
            number = grid.numbers[k]
            base = number * grid.width
            if frequent.special[number] > ZERO and row != frequent.excluded_row:
                unrolled()  # type: ignore[name-defined]  # noqa: F821
                continue
            at_row(counts, number, row)
            for cell in range(grid.starts[k], grid.stops[k]):
                at_cell(counts, number, cell)
                t = target.aggregate_of_cell[cell]
                for m in range(ZERO, grid.width):
                    r = base + m
                    yield s, r, v, t + m
                    v += grid.begin[r + ONE] - grid.begin[r]
                    s += ONE

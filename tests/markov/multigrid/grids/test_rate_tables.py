"""The rates that kernels write cell by cell are those of the grid."""

from __future__ import annotations

import numpy as np

from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.parts import Parts
from markov.multigrid.grids.rate_tables import parts_table, rate_table
from tests.markov.multigrid.grids.conftest import MACHINES, TANDEM, grid_of


def at_cell(table, kind, row, cell):
    """Write the rates of a cell, as kernels do."""
    for function, number in zip(table.helpers[-2:], (row, cell), strict=True):
        function(table.counts, np.uint64(kind), np.uint64(number))


def test_constant_rates_are_what_they_are():
    grid, rates = grid_of(TANDEM).layout.into
    table = rate_table(grid, rates)
    assert table.rate is rates.rate
    assert table.counts == table.written == ()
    assert table.own((1, table.rate))[1] is table.rate


def test_each_block_writes_to_arrays_of_its_own():
    table = rate_table(*grid_of(MACHINES).layout.into)
    rate, (other, counts), kept = table.own((table.rate, (table.rate, table.counts), 2.0))
    assert rate is other is counts[-2][0]
    assert rate is not table.rate
    assert counts[0] is table.counts[0]
    assert kept == 2.0


def test_rates_of_cells_are_written_before_they_are_read(plain):
    for grid, rates in (grid_of(MACHINES).layout.into, grid_of(MACHINES).layout.out):
        table = rate_table(grid, rates)
        assert np.isnan(table.rate).any()
        for row, kind_of_row in enumerate(grid.row_kind):
            for cell, kind in enumerate(grid.rows[kind_of_row].tolist()):
                at_cell(table, kind, row, cell)
                own = slice(grid.begin[kind * grid.width], grid.begin[(kind + 1) * grid.width])
                slots = slice(kind * grid.width, (kind + 1) * grid.width)
                place = *np.unravel_index(row, grid.shape[:-1]), cell
                rate, exit_rate = rates.at(list(map(int, place)))
                assert np.array_equal(table.rate[own], rate[own])
                assert np.array_equal(table.exit_rate[slots], exit_rate[slots])


def test_rates_of_parts_are_those_of_the_cells_that_they_belong_to(plain):
    grid, rates = grid_of(MACHINES).layout.into
    coarse, aggregation = coarsened(grid, (2, 3))
    parts = Parts(grid, aggregation)
    table = parts_table(grid, rates, parts, aggregation, coarse.shape)
    joined = aggregation.parts
    for row, kind_of_row in enumerate(coarse.row_kind):
        for cell, kind in enumerate(coarse.rows[kind_of_row].tolist()):
            at_cell(table, kind, row, cell)
            begin, end = joined.begin[joined.first[[kind, kind + 1]]]
            for p in range(begin, end):
                a, b = divmod(int(joined.cell[p]), 3)
                expected = rates.at((2 * row + a, 3 * cell + b))[0][parts.entry[p]]
                assert table.rate[p] == expected

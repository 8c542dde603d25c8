"""Grids of kinds of cells: tables, boxes, moves of regions, coarse grids, and rates that depend on counts."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from markov import PauseTandem, explore
from markov.generators.regions import Region
from markov.generators.standins import Curve, Span
from markov.multigrid.cycle import cycle_on_grid
from markov.multigrid.grid import AxisCurve, Rates, VaryingRate, coarsen, moves_of
from markov.multigrid.levels import Coarse, Finest, Parts, parts_table, rate_table
from tests.markov.multigrid.conftest import (
    CHAIN,
    MACHINES,
    MODELS,
    TANDEM,
    Batches,
    exact,
    finest,
    grid_layout,
    grid_of,
    matrix_of,
    on_grid,
)

# Tables of a grid: entries, layouts and parts.


@pytest.mark.parametrize("model", [*MODELS, Batches(), pytest.param(CHAIN, marks=pytest.mark.slow)], ids=repr)
def test_both_tables_are_the_generator_of_plain_python(model, plain):
    grid = grid_of(model)
    found = explore(model, compiled=False).chain
    indices = np.concatenate([places for _, places in grid.states.blocks()])
    off = found.Q.toarray() * (1.0 - np.eye(found.size))
    out, into = (matrix_of(*side) for side in (grid.layout.out, grid.layout.into))
    assert np.allclose(out.toarray()[np.ix_(indices, indices)], off, rtol=1e-15, atol=0.0)
    assert np.allclose(into.toarray()[np.ix_(indices, indices)], off.T, rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("by_source", [True, False])
def test_parts_lead_out_of_the_state_that_they_name(by_source):
    layout = grid_layout(TANDEM)
    grid, rates = layout.out if by_source else layout.into
    coarse, aggregation = coarsen(grid, (2, 3))
    parts = Parts(grid, aggregation, by_source=by_source)
    begins, part_begin, source = (each.astype(np.int64) for each in parts.table[1:4])
    flows = matrix_of(grid, rates).toarray()
    flows = flows if by_source else flows.T  # from a state to another
    labels, m = aggregates(grid, (2, 3))
    x = np.random.default_rng(2).random(grid.size)
    join = np.zeros((grid.size, m))
    join[np.arange(grid.size), labels] = 1.0
    between = join.T @ (x[:, None] * flows) @ join
    kind = coarse.rows[coarse.row_kind[0], 0]  # of the first coarse cell, whose first state is 0
    for number, e in enumerate(range(begins[kind], begins[kind + 1])):
        own = slice(part_begin[e], part_begin[e + 1])
        total = x[source[own]] @ rates.rate[parts.entry[own]]
        entry = coarse.begin[kind * coarse.width] + number
        slot = int(np.searchsorted(coarse.begin, entry, "right")) - 1 - kind * coarse.width
        there = slot + coarse.step[entry]
        pair = (slot, there) if by_source else (there, slot)
        assert total == pytest.approx(between[pair], rel=1e-12)


# Boxes of cells: states that are moved apart, and what is refused.


def test_states_up_and_down_do_not_take_room_where_they_are_never_entered():
    model = PauseTandem(buffers=(20, 30), high_threshold=20, low_threshold=11)
    layout = grid_layout(model)
    assert layout.into[0].size == explore(model).chain.size
    assert layout.into[0].width == 2  # the TCP states
    assert layout.shift[:, 1].tolist() == [0, 0, 10, 10]  # down, from the tenth packet on


@pytest.mark.parametrize(
    ("levels", "buffers", "axes"),
    [(2, (20, 30), (0, 1)), (8, (20, 30), (0, 3, 1)), (32, (20, 30), (0, 3, 1))],
)
def test_rows_lie_along_cells_that_are_alike(levels, buffers, axes):
    """Every TCP state has a rate of its own, and losses halve it: by one level with two, by 16 with 32."""
    rates = tuple(range(levels, 0, -1))
    layout = grid_layout(PauseTandem(buffers=buffers, high_threshold=20, arrival_rates=rates))
    assert layout.axes == axes
    assert layout.into[0].width == (2 if levels == 2 else 1)


# Moves of regions: a row for each combination of the components within a cell.


def test_moves_are_rows_for_each_combination_of_a_region():
    regions = [Region((1, 5, 0), (2, 8, 1), [((1, -1, 0), 2.0), ((0, 0, 0), 9.0)])]
    moves = moves_of(regions, (1, 3, 0), [1], [0, 2], [3, 2])
    assert moves.low.tolist() == [[2]] * 4
    assert moves.high.tolist() == [[6]] * 4
    assert moves.step.tolist() == [[-1]] * 4
    assert moves.source.tolist() == [0, 1, 2, 3]
    assert moves.target.tolist() == [2, 3, 4, 5]
    assert moves.rate.tolist() == [2.0] * 4  # what changes nothing is none
    assert moves.back.low.tolist() == [[1]] * 4
    assert moves.back.source.tolist() == moves.target.tolist()
    shifted = moves.shift_states(0, np.array([0, 0, 10, 10, 20, 20]))
    assert shifted.low.ravel().tolist() == [2, 2, 12, 12]
    assert shifted.step.ravel().tolist() == [9, 9, 9, 9]


def test_rates_that_depend_on_counts_move_with_their_states():
    """Along the axis they are one rate; of a component within the cells each value has its own."""
    values = np.arange(9.0)
    along = Curve(Span(1, 5, 8), 1, 0, values)
    within = Curve(Span(0, 1, 2), 0, 0, values)
    regions = [Region((1, 5), (2, 8), [((0, -1), along), ((0, 1), within)])]
    moves = moves_of(regions, (1, 3), [1], [0], [3])
    curve = VaryingRate(0.0, (AxisCurve(0, 0, values.tobytes()),))
    assert moves.variants == (curve,)
    assert moves.varying.tolist() == [0, 0, -1, -1]
    assert moves.source.tolist() == [0, 1, 0, 1]
    assert moves.rate.tolist() == [0.0, 0.0, 1.0, 2.0]
    shifted = moves.shift_states(0, np.array([0, 10, 20]))
    assert shifted.variants == (curve, curve.shift(0, 10))
    assert shifted.varying.tolist() == [0, 1, -1, -1]


# Rates that depend on counts: on the grid, and as kernels write them cell by cell.


@pytest.mark.parametrize("side", ["into", "out"])
def test_rates_on_a_grid_are_those_of_the_chain(side):
    grid, (_, chain) = grid_of(MACHINES), exact(MACHINES)
    found = matrix_of(*getattr(grid.layout, side)).toarray()
    found = found.T if side == "into" else found
    indices = np.concatenate([indices for _, indices in grid.states.blocks()])
    expected = chain.Q.toarray()
    np.fill_diagonal(expected, 0.0)
    assert np.abs(found[np.ix_(indices, indices)] - expected).max() <= 1e-15 * expected.max()


def test_what_flows_out_of_a_state_is_the_sum_of_its_rates():
    grid, rates = grid_of(MACHINES).layout.out
    sums = matrix_of(grid, rates).sum(axis=1)
    kinds = grid.rows[grid.row_kind].ravel()
    for cell, at in enumerate(np.ndindex(*grid.shape)):
        slots = slice(kinds[cell] * grid.width, (kinds[cell] + 1) * grid.width)
        states = slice(cell * grid.width, (cell + 1) * grid.width)
        assert rates.at_cell(at)[1][slots] == pytest.approx(np.ravel(sums[states]), rel=1e-15)


def at_cell(table, kind, row, cell):
    """Write the rates of a cell, as kernels do."""
    for function, number in zip(table.helpers[-2:], (row, cell), strict=True):
        function(table.counts, np.uint64(kind), np.uint64(number))


def test_each_block_writes_to_arrays_of_its_own():
    table = rate_table(*grid_of(MACHINES).layout.into)
    rate, (other, counts), kept = table.for_block((table.rate, (table.rate, table.counts), 2.0))
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
                rate, exit_rate = rates.at_cell(list(map(int, place)))
                assert np.array_equal(table.rate[own], rate[own])
                assert np.array_equal(table.exit_rate[slots], exit_rate[slots])


def test_rates_of_parts_are_those_of_the_cells_that_they_belong_to(plain):
    grid, rates = grid_of(MACHINES).layout.into
    coarse, aggregation = coarsen(grid, (2, 3))
    parts = Parts(grid, aggregation)
    table = parts_table(grid, rates, parts, aggregation, coarse.shape)
    joined = aggregation.parts
    for row, kind_of_row in enumerate(coarse.row_kind):
        for cell, kind in enumerate(coarse.rows[kind_of_row].tolist()):
            at_cell(table, kind, row, cell)
            begin, end = joined.begin[joined.first[[kind, kind + 1]]]
            for p in range(begin, end):
                a, b = divmod(int(joined.cell[p]), 3)
                expected = rates.at_cell((2 * row + a, 3 * cell + b))[0][parts.entry[p]]
                assert table.rate[p] == expected


# Coarse levels: flows between aggregates, and corrections by their factors.


def two_levels():
    """Return two coarse levels above a random vector, and the flows between their aggregates."""
    x = on_grid(np.random.default_rng(6).random(grid_size()))
    level, flows, found = finest(x), matrix_of(*grid_layout(TANDEM).into).toarray() * x, []
    for factors in ((2, 4), (1, 3)):
        grid, aggregation = coarsen(level.grid, factors)
        labels, m = aggregates(level.grid, factors)
        level = Coarse(grid, aggregation, level)
        level.restrict()
        join = np.zeros((m, len(labels)))
        join[labels, np.arange(len(labels))] = 1.0
        flows = join @ flows @ join.T
        flows -= np.diag(np.diag(flows))
        found.append((level, labels, flows))
    return x, found


def grid_size():
    """Return how many states count."""
    return grid_of(TANDEM).states.size


def test_flows_of_two_levels_are_sums_of_those_of_the_chain(plain):
    for level, _, flows in two_levels()[1]:
        indptr, indices = level.pattern()
        found = np.zeros_like(flows)
        rows = np.repeat(np.arange(len(flows)), np.diff(indptr))
        found[rows, indices] = level.values
        assert found == pytest.approx(flows, rel=1e-12)
        out = flows.sum(axis=0)
        assert 1.0 / level.scale[out > 0.0] == pytest.approx(out[out > 0.0], rel=1e-12)


def test_corrections_multiply_each_state_by_the_factor_of_its_cell(plain):
    x, ((level, labels, _), _) = two_levels()
    before = x.copy()
    level.x[:] = np.random.default_rng(7).random(len(level.x))
    level.prolong()
    assert np.array_equal(x, before * level.x[labels])


@pytest.mark.parametrize(("factors", "power"), [((2, 2, 2), 1.25), ((3, 1, 1), 1.25), ((2, 1, 2), 1.0)])
def test_corrections_of_wide_cells_are_raised(plain, factors, power):
    model = PauseTandem(buffers=(7, 8), high_threshold=6, arrival_rates=tuple(range(8, 0, -1)))
    layout = grid_layout(model)
    x = np.ones(layout.into[0].size)
    fine = Finest(*layout.into, layout.combinations >= 0, x, unroll=False)
    level = Coarse(*coarsen(fine.grid, factors), fine)
    level.x[:] = 2.0
    level.prolong()
    assert x == pytest.approx(2.0**power)


# Coarse grids: the flows between aggregates, against products of matrices.


def aggregates(grid, factor):
    """Return the number of the coarse state of each state, and how many there are."""
    places = np.indices((*grid.shape, grid.width)).reshape(len(grid.shape) + 1, -1)
    coarse = [*(p // f for p, f in zip(places, factor, strict=False)), places[-1]]
    shape = (*(-(-n // f) for n, f in zip(grid.shape, factor, strict=True)), grid.width)
    return np.ravel_multi_index(coarse, shape), int(np.prod(shape))


@pytest.mark.parametrize("factors", [(2, 2), (3, 1), (1, 4), (4, 4)])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_parts_of_entries_are_all_flows_between_different_aggregates(model, factors):
    grid, _ = grid_layout(model).out
    coarse, aggregation = coarsen(grid, factors)
    labels, m = aggregates(grid, factors)
    assert coarse.size == m
    join = sp.csr_matrix((np.ones(grid.size), (np.arange(grid.size), labels)), shape=(grid.size, m))
    expected = (join.T @ matrix_of(grid) @ join).toarray()
    np.fill_diagonal(expected, 0.0)
    counts = np.diff(aggregation.parts.begin)
    weighed = matrix_of(coarse, Rates(counts.astype(float), np.zeros(0), np.zeros(0)))
    assert np.array_equal(weighed.toarray(), expected)


def test_few_kinds_are_left_on_every_level():
    grid, _ = grid_layout(MODELS[1]).out
    first = grid.kinds
    while min(grid.shape) > 1:
        grid, _ = coarsen(grid, (2, 2))
        assert grid.kinds <= first


# In what order a cycle visits its levels.


def level(name, size, told):
    """Return a level of so many states that notes what is done on it."""
    done = {
        what: lambda what=what: told.append(f"{what}{name}") for what in ("forward", "backward", "restrict", "prolong")
    }
    return SimpleNamespace(grid=SimpleNamespace(size=size), **done)


def test_a_level_with_far_fewer_states_is_visited_twice():
    told = []
    levels = [level(n, size, told) for n, size in enumerate((90, 10, 5))]
    cycle_on_grid(levels, lambda: told.append("solve"), [2, 1, 1])
    inner = ["forward1", "restrict2", "solve", "prolong2", "backward1"]
    ends = [["forward0"] * 2, ["restrict1"], inner * 2, ["prolong1"], ["backward0"] * 2]
    assert told == [each for part in ends for each in part]


def test_a_single_level_is_solved():
    told = []
    cycle_on_grid([level(0, 10, told)], lambda: told.append("solve"), [1])
    assert told == ["solve"]


# Levels: axes along which most is exchanged, and their memory.


def test_axes_along_which_states_exchange_most_are_joined(plain):
    level = finest(on_grid(np.ones(grid_of(TANDEM).states.size)))
    rates = level.rates.rate.copy()
    rates[level.grid.steps[:, 0] != 0] *= 1e-3
    assert level.axes_of_strong_flow(level.flows_by_entry(False, rates)) == (False, True)
    assert level.strong_axes() == (True, True)


def test_levels_are_freed_without_a_collector() -> None:
    """What nobody uses any more gives its memory to the bound at once: no level holds itself."""
    fine = finest(np.full(len(grid_of(TANDEM).states.marks), 1.0))
    grid, aggregation = coarsen(fine.grid, (2, 4))
    coarse = Coarse(grid, aggregation, fine)
    coarse.restrict()
    held = [weakref.ref(level) for level in (fine, coarse)]
    gc.disable()
    try:
        del fine, coarse
        assert [level() for level in held] == [None, None]
    finally:
        gc.enable()

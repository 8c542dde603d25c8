"""Coarse grids: flows between aggregates, corrections, levels, and the order of their cycles."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from markov import PauseTandem
from markov.multigrid.grids.coarse_levels import Coarse
from markov.multigrid.grids.coarsening import coarsened
from markov.multigrid.grids.cycles import cycle
from markov.multigrid.grids.layouts import Rates
from markov.multigrid.grids.levels import Finest
from tests.markov.multigrid.grids.conftest import (
    MODELS,
    TANDEM,
    finest,
    grid_layout,
    grid_of,
    matrix_of,
    on_grid,
)

# Coarse levels: flows between aggregates, and corrections by their factors.


def two_levels():
    """Return two coarse levels above a random vector, and the flows between their aggregates."""
    x = on_grid(np.random.default_rng(6).random(grid_size()))
    level, flows, found = finest(x), matrix_of(*grid_layout(TANDEM).into).toarray() * x, []
    for factors in ((2, 4), (1, 3)):
        grid, aggregation = coarsened(level.grid, factors)
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
    return grid_of(TANDEM).places.size


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


@pytest.mark.parametrize(
    ("factors", "power"), [((2, 2, 2), 1.25), ((3, 1, 1), 1.25), ((2, 1, 2), 1.0)]
)
def test_corrections_of_wide_cells_are_raised(plain, factors, power):
    model = PauseTandem(buffers=(7, 8), high_threshold=6, arrival_rates=tuple(range(8, 0, -1)))
    layout = grid_layout(model)
    x = np.ones(layout.into[0].size)
    fine = Finest(*layout.into, layout.place >= 0, x, fast=False)
    level = Coarse(*coarsened(fine.grid, factors), fine)
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
    coarse, aggregation = coarsened(grid, factors)
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
        grid, _ = coarsened(grid, (2, 2))
        assert grid.kinds <= first


# In what order a cycle visits its levels.


def level(name, size, told):
    """Return a level of so many states that notes what is done on it."""
    done = {
        what: lambda what=what: told.append(f"{what}{name}")
        for what in ("forward", "backward", "restrict", "prolong")
    }
    return SimpleNamespace(grid=SimpleNamespace(size=size), **done)


def test_a_level_with_far_fewer_states_is_visited_twice():
    told = []
    levels = [level(n, size, told) for n, size in enumerate((90, 10, 5))]
    cycle(levels[0], levels[1:], lambda: told.append("solve"), [2, 1, 1])
    inner = ["forward1", "restrict2", "solve", "prolong2", "backward1"]
    ends = [["forward0"] * 2, ["restrict1"], inner * 2, ["prolong1"], ["backward0"] * 2]
    assert told == [each for part in ends for each in part]


def test_a_single_level_is_solved():
    told = []
    cycle(level(0, 10, told), [], lambda: told.append("solve"), [1])
    assert told == ["solve"]


# Levels: axes along which most is exchanged, and their memory.


def test_axes_along_which_states_exchange_most_are_joined(plain):
    level = finest(on_grid(np.ones(grid_of(TANDEM).places.size)))
    rates = level.rates.rate.copy()
    rates[level.grid.steps[:, 0] != 0] *= 1e-3
    assert level.strong(level.carried(False, rates)) == (False, True)
    assert level.strong_axes() == (True, True)


def test_levels_are_freed_without_a_collector() -> None:
    """What nobody uses any more gives its memory to the bound at once: no level holds itself."""
    fine = finest(np.full(len(grid_of(TANDEM).places.marks), 1.0))
    grid, aggregation = coarsened(fine.grid, (2, 4))
    coarse = Coarse(grid, aggregation, fine)
    coarse.restrict()
    held = [weakref.ref(level) for level in (fine, coarse)]
    gc.disable()
    try:
        del fine, coarse
        assert [level() for level in held] == [None, None]
    finally:
        gc.enable()

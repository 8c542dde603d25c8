"""Rates that depend on a count: sums, what becomes of them on boxes, and what they are at a cell."""

from __future__ import annotations

import numpy as np
import pytest

from markov.generators.curves import Curve
from markov.generators.tracing import Span
from markov.multigrid.grids.counts import Along, Varying, by_count, terms_of
from tests.markov.multigrid.grids.conftest import MACHINES, exact, grid_of, matrix_of

VALUES = np.arange(6.0)


def along(axis, values, offset=0):
    return Varying(0.0, (Along(axis, offset, values.tobytes()),))


def test_sums_have_one_curve_along_each_axis():
    found = 0.5 + along(1, VALUES) + along(0, 2.0 * VALUES) + 0.25 + along(1, VALUES**2)
    assert found.constant == 0.75
    assert [c.axis for c in found.curves] == [0, 1]
    assert np.array_equal(np.frombuffer(found.curves[1].values), VALUES + VALUES**2)
    assert sum([along(0, VALUES), 1.0], 0.0) == 1.0 + along(0, VALUES)


def test_numbers_at_a_cell_are_constants_and_curves():
    rates = [2.0, 1.0 + along(0, VALUES) + along(1, VALUES**2).moved(1, 3), along(1, VALUES)]
    offsets = np.array([[0, 0], [1, 0], [0, -1]])
    curves: dict[bytes, int] = {}
    values, terms = terms_of(rates, offsets, curves, 6)
    assert np.array_equal(np.isnan(values), [False, True, True])
    table = np.concatenate([np.frombuffer(curve) for curve in curves])
    assert terms.at(table, (2, 5)).tolist() == [2.0, 1.0 + 3.0 + 4.0, 4.0]
    some = terms.picked(np.array([2, 1, 1]), np.array([[0, 0], [0, 0], [-2, 1]]))
    assert some.at(table, (2, 4)).tolist() == [3.0, 1.0 + 3.0 + 1.0, 1.0 + 1.0 + 4.0]


@pytest.mark.parametrize(
    ("low", "axes", "expected"),
    [
        (3, (0, 1), [(None, 0, 1.5)]),
        (1, (0,), [(1, 1, 0.5), (1, 2, 1.0), (1, 3, 1.5)]),
        (1, (0, 1), [(None, 0, along(1, 0.5 * VALUES))]),
    ],
    ids=["one value", "within a cell", "along an axis"],
)
def test_a_rate_on_a_box_is_one_or_one_for_each_value(low, axes, expected):
    rate = Curve(Span(low, low, 3), 1, 0, 0.5 * VALUES)
    assert list(by_count(rate, (0, low), (7, 3), axes)) == expected
    assert list(by_count(2.0, (0, low), (7, 3), axes)) == [(None, 0, 2.0)]


@pytest.mark.parametrize("side", ["into", "out"])
def test_rates_on_a_grid_are_those_of_the_chain(side):
    grid, (_, chain) = grid_of(MACHINES), exact(MACHINES)
    found = matrix_of(*getattr(grid.layout, side)).toarray()
    found = found.T if side == "into" else found
    indices = np.concatenate([indices for _, indices in grid.places.blocks()])
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
        assert rates.at(at)[1][slots] == pytest.approx(np.ravel(sums[states]), rel=1e-15)

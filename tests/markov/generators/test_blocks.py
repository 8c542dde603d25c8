"""Rows of regions copied block by block are those of their transitions one by one."""

from __future__ import annotations

import numpy as np
import pytest

from markov import CoxTandem, PauseTandem
from markov.generators import blocks
from markov.generators.assembly import from_edges
from markov.generators.blocks import copied
from markov.generators.calls import Calls
from markov.generators.regions import edges_by_regions, find_regions
from tests.markov.generators.conftest import one_component, space_of


def twice_up(s, q):
    """Two transitions to the same state."""
    if s.n < 2999:
        yield s._replace(n=s.n + 1), 1.0
        yield s._replace(n=s.n + 1), 0.25
    if s.n > 0:
        yield s._replace(n=s.n - 1), 3.0


MODELS = [
    PauseTandem(buffers=(40, 30), high_threshold=20),
    PauseTandem(buffers=(3, 300), high_threshold=200, low_threshold=150),
    CoxTandem(capacity=25),
    one_component(range(3000), twice_up),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("block", [64, 100, 512])
def test_copied_rows_are_those_of_the_transitions(model, block, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", block)
    monkeypatch.setattr(blocks, "DENSER", 0)
    space = space_of(model)
    regions = find_regions(Calls(model, space), space)
    matrix = copied(regions, space)
    expected = from_edges(*edges_by_regions(regions, space)[:3], space.size)
    np.testing.assert_array_equal(matrix.indptr, expected.indptr)
    np.testing.assert_array_equal(matrix.indices, expected.indices)
    # the diagonal is a sum in another order
    np.testing.assert_allclose(matrix.data, expected.data, rtol=1e-15)


def test_few_states_for_each_kind_of_block_are_not_worth_copying():
    space = space_of(MODELS[0])
    regions = find_regions(Calls(MODELS[0], space), space)
    assert copied(regions, space) is None

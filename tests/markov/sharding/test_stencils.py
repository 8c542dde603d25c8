"""Stencils: the rates of the generator, without the matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from markov import ChainModel, MarkovChain, PauseTandem
from markov.errors import RuleError
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import Tandem


def matrix_of(space, stencil):
    """The rates off the diagonal over the whole space, in the model's order of components."""
    order = list(stencil.order)
    inside = np.indices(stencil.shape).reshape(len(order), -1)
    weights = np.array(space.weights)[order]
    rates = stencil.rates[:, stencil.classes]  # one row for each value
    rows, columns, data = [], [], []
    for change, some in zip(stencil.changes, rates, strict=True):
        kept = some.ravel() > 0.0
        numbers = weights @ inside
        rows.append(numbers[kept])
        columns.append(numbers[kept] + int(weights @ np.array(change)))
        data.append(some.ravel()[kept])
    ends = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_matrix((np.concatenate(data), ends), shape=(space.size, space.size))


@pytest.mark.parametrize(
    ("model", "along"),
    [
        (PauseTandem(buffers=(20, 20), high_threshold=12, arrival_rates=(9.0, 5.0, 1.0)), None),
        (PauseTandem(buffers=(20, 20), low_threshold=3), "j"),
        (Tandem(), None),
    ],
    ids=["pause", "pause along j", "tandem"],
)
def test_rates_are_those_of_the_generator(model, along):
    space, stencil = stencil_of(model, along)
    if along is not None:
        assert space.names[stencil.order[0]] == along
    Q = MarkovChain(model, reachable=False).Q
    off = Q - sp.diags(Q.diagonal())
    difference = abs(matrix_of(space, stencil) - off)
    assert difference.max() <= 1e-14 * off.max()  # rates that are sums, in another order


class ByValue(ChainModel):
    """Rates that depend on the value of the state: no boxes."""

    class State(NamedTuple):
        n: int

    def space(self):
        return {"n": range(500)}

    @staticmethod
    def rules(s, q):
        if s.n < 499:
            yield s._replace(n=s.n + 1), 1.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 0.5 * s.n


class Unbounded(ByValue):
    space = ChainModel.space

    def start(self):
        return (0,)


def test_what_has_no_boxes_is_refused():
    with pytest.raises(RuleError, match="not alike on large boxes of whole numbers"):
        stencil_of(ByValue())
    with pytest.raises(RuleError, match="declares no space"):
        stencil_of(Unbounded())
    with pytest.raises(ValueError, match=r"along = 'x': must be one of 'i', 'j'"):
        stencil_of(PauseTandem(), "x")

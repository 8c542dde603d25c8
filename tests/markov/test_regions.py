"""Regions of a space on which rules are alike, and the matrix made of them."""

from __future__ import annotations

import itertools
import operator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markov.matrices
import markov.regions
from markov import Cluster, CoxTandem, JacksonTandem, PauseChain, PauseTandem, Polling, generator
from markov.regions import by_regions, regions
from markov.rules import ChainModel

BOTH = {"low_threshold": 5, "pause_at_threshold": "both", "recovery": "up"}
ALIKE = [
    PauseTandem(buffers=(40, 30), high_threshold=20),
    PauseTandem(buffers=(30, 40), high_threshold=20, arrival_rates=(25.0, 10.0, 1.0), **BOTH),
    PauseTandem(buffers=(3, 900), high_threshold=700),  # blocks do not end with a component
    PauseChain(buffers=(20, 15, 12), high_threshold=9),
    CoxTandem(capacity=40),
]


@pytest.fixture
def _always(monkeypatch):
    """Make every matrix by regions that can be."""
    monkeypatch.setattr(markov.matrices, "LARGE", 0)
    monkeypatch.setattr(markov.regions, "STATES_PER_RUN", 1)
    monkeypatch.setattr(markov.regions, "BLOCK", 100)
    monkeypatch.setattr(markov.regions, "DENSER", 0)


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize("model", ALIKE, ids=repr)
def test_matrix_is_that_of_the_compiled_rules(model):
    found, expected = by_regions(model, "it"), markov.matrices._spliced(model)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.has_canonical_format


@pytest.mark.parametrize("model", ALIKE, ids=repr)
def test_regions_fill_the_space(model):
    covered = np.zeros(model.shape, dtype=int)
    first = [values.start for values in model.space().values()]
    for low, high, moves in regions(model, model.size):
        box = tuple(slice(a - n, b - n + 1) for a, b, n in zip(low, high, first, strict=True))
        covered[box] += 1
        for corner in itertools.product(*({a, b} for a, b in zip(low, high, strict=True))):
            seen = [
                (tuple(t - c for t, c in zip(target, corner, strict=True)), rate)
                for target, rate in model.transitions(corner)
            ]
            assert seen == moves
    assert np.all(covered == 1)


@pytest.mark.parametrize(
    "model", [Cluster(workstations=20), Polling(stations=7), JacksonTandem(capacity=300)], ids=repr
)
def test_rules_that_read_values_have_too_many_regions(model):
    assert regions(model, model.size // 10) is None


class Gates(ChainModel):
    """Two components whose transitions depend on comparisons of every kind."""

    class State(NamedTuple):
        x: int
        y: int

    class Params(NamedTuple):
        wide: int = 9
        high: int = 7
        a: float = 3.0
        b: float = 2.0
        c: int = 1

    def space(self):
        return {"x": range(-2, self.wide - 2), "y": range(self.high)}

    @staticmethod
    def rules(s, q):
        if s.x < q.wide - 3 and s.y != q.c:
            yield s._replace(x=s.x + 1), 1.0 if s.y <= q.a else 1.5
        if s.x > -2:
            yield s._replace(x=s.x - 1), 2.0 if q.b < s.x else 0.5
            yield s._replace(x=s.x - 1), 0.25
        if s.y + 1 < q.high and s.x != q.c:
            yield s._replace(y=1 + s.y), 3.0
        elif s.y >= q.b:
            yield s._replace(y=s.y - 1 if s.y > 0 else 0), 0.125
        if s.x + 2 == s.y:
            yield s._replace(x=-2, y=0), 0.0625 * (s.y + 1)


@pytest.mark.usefixtures("_always")
@settings(max_examples=60)
@given(
    st.builds(
        Gates,
        wide=st.integers(2, 12),
        high=st.integers(1, 12),
        a=st.one_of(st.integers(-1, 12).map(float), st.floats(-1, 12), st.just(np.inf)),
        b=st.floats(-3, 12),
        c=st.integers(-3, 12),
    )
)
def test_any_comparisons(model):
    found, expected = by_regions(model, "it"), generator(model, compiled=False)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    assert found.has_canonical_format


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize(
    ("step", "rate", "said"),
    [
        (1, 1.0, r"State\(n=99\) -> State\(n=100\) at rate 1.0: the target is outside the space"),
        (0.5, 1.0, r"State\(n=\d+\) -> State\(n=\d+.5\) at rate 1.0: the target is outside"),
        (0, -1.0, r"State\(n=\d+\) -> State\(n=\d+\) at rate -1.0: a rate must be finite"),
        (0, np.nan, r"State\(n=\d+\) -> State\(n=\d+\) at rate nan: a rate must be finite"),
        (0, 1e308, r"State\(n=\d+\): the sum of the rates overflows"),
    ],
)
def test_bad_rules_are_named_by_a_state(step, rate, said):
    class Bad(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            step: float
            rate: float

        def space(self):
            return {"n": range(100)}

        @staticmethod
        def rules(s, q):
            if s.n > 10:
                yield s._replace(n=s.n + q.step), q.rate
                yield s._replace(n=s.n - 1), q.rate

    with pytest.raises(ValueError, match=f"^Bad: {said}"):
        generator(Bad(step=step, rate=rate))


def test_what_a_stand_in_cannot_do_is_left_to_the_compiler():
    class Digits(Gates):
        @staticmethod
        def rules(s, q):
            yield s._replace(x=s.x.conjugate()), 1.0

    assert regions(Digits(), 100) is None


@pytest.mark.parametrize("name", ["lshift", "rshift", "mul", "sub", "floordiv", "mod", "and_"])
@pytest.mark.parametrize("swapped", [False, True])
def test_stand_ins_count_as_numbers(name, swapped):
    span = markov.regions.Span(5, 2, 9)
    pair = (markov.regions.Traced(span, 1), 2)
    values = (6, 2)
    if swapped:
        pair, values = pair[::-1], values[::-1]
    found = getattr(operator, name)(*pair)
    assert int(found) == getattr(operator, name)(*values)
    assert (span.low, span.high) == (5, 5)

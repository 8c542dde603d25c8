"""Regions of a space on which rules are alike, and the matrix made of them."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markov.generators.ways
from markov import (
    ChainModel,
    Cluster,
    CoxTandem,
    JacksonTandem,
    PauseChain,
    PauseTandem,
    Polling,
    generator,
)
from markov.errors import RuleError
from markov.generators import blocks
from markov.generators.building import build_chain
from markov.generators.calls import Calls
from markov.generators.regions import find_regions, seconds_by_regions
from markov.models.spaces import Space

BOTH = {"low_threshold": 5, "pause_at_threshold": "both", "recovery": "up"}
ALIKE = [
    PauseTandem(buffers=(40, 30), high_threshold=20),
    PauseTandem(buffers=(30, 40), high_threshold=20, arrival_rates=(25.0, 10.0, 1.0), **BOTH),
    PauseTandem(buffers=(3, 900), high_threshold=700),  # blocks do not end with a component
    PauseChain(buffers=(20, 15, 12), high_threshold=9),
    CoxTandem(capacity=40),
]


def regions_of(model):
    space = Space.of(model.State, model.space(), model.name)
    return find_regions(Calls(model, space), space)


@pytest.fixture(params=["copied", "listed"])
def _any_size(request, monkeypatch):
    """Make every matrix in the way of large spaces, or of small ones."""
    monkeypatch.setattr("markov.generators.regions.STATES_PER_RUN", 1)
    large = 0 if request.param == "copied" else 10**12
    monkeypatch.setattr(markov.generators.ways, "LARGE", large)
    monkeypatch.setattr(blocks, "BLOCK", 100)
    monkeypatch.setattr(blocks, "DENSER", 0)


@pytest.mark.usefixtures("_any_size")
@pytest.mark.parametrize("model", ALIKE, ids=repr)
@pytest.mark.parametrize("reachable", [True, False])
def test_matrix_is_that_of_plain_python(model, reachable):
    found = build_chain(model, reachable=reachable, by="regions")
    expected = build_chain(model, reachable=reachable, by="python")
    np.testing.assert_array_equal(found.codes, expected.codes)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found.Q, name), getattr(expected.Q, name))
    assert found.Q.has_canonical_format


@pytest.mark.parametrize("model", ALIKE, ids=repr)
def test_regions_fill_the_space(model):
    space = Space.of(model.State, model.space(), model.name)
    covered = np.zeros(model.shape, dtype=int)
    for region in regions_of(model):
        ends = list(zip(region.low, region.high, strict=True))
        box = tuple(slice(a - n, b - n + 1) for (a, b), n in zip(ends, space.low, strict=True))
        covered[box] += 1
        for corner in itertools.islice(itertools.product(*(sorted({a, b}) for a, b in ends)), 40):
            seen = [
                (tuple(t - c for t, c in zip(space.flat(target), corner, strict=True)), rate)
                for target, rate in model.transitions(space.joined(corner))
                if rate > 0.0
            ]
            assert seen == region.moves
    assert np.all(covered == 1)


@pytest.mark.parametrize(
    "model", [Cluster(workstations=20), Polling(stations=7), JacksonTandem(capacity=300)], ids=repr
)
def test_rules_that_read_values_have_too_many_regions(model):
    assert regions_of(model) is None
    space = Space.of(model.State, model.space(), model.name)
    assert seconds_by_regions(Calls(model, space), space) > model.size * 2e-6


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


@pytest.mark.usefixtures("_any_size")
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
    expected = generator(model, compiled=False).toarray()
    for way in ("arrays", "regions", "sets"):
        try:
            found = build_chain(model, by=way).Q
        except RuleError as error:  # in two places, y = 0 and the like, there is nothing to gain
            assert "cannot be run by" in str(error)  # noqa: PT017
            continue
        np.testing.assert_array_equal(found.toarray(), expected)
        assert found.has_canonical_format


@pytest.mark.parametrize("way", ["python", "arrays", "regions", "sets"])
@pytest.mark.parametrize(
    ("step", "rate", "said"),
    [
        (1, 1.0, r"State\(n=3999\) -> State\(n=4000\) at rate 1.0: the target is outside the sp"),
        (0.5, 1.0, r"State\(n=\d+\) -> State\(n=\d+.5\) at rate 1.0: the target is outside"),
        (0, -1.0, r"State\(n=\d+\) -> State\(n=\d+\) at rate -1.0: a rate must be finite"),
        (0, np.nan, r"State\(n=\d+\) -> State\(n=\d+\) at rate nan: a rate must be finite"),
        (-1, 1e308, r"State\(n=\d+\): the sum of the rates overflows"),
    ],
)
def test_bad_rules_are_named_by_a_state(way, step, rate, said):
    class Bad(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            step: float
            rate: float

        def space(self):
            return {"n": range(4000)}

        @staticmethod
        def rules(s, q):
            if s.n > 3990:
                yield s._replace(n=s.n + q.step), q.rate
                yield s._replace(n=s.n - 1), q.rate

    with pytest.raises(ValueError, match=f"^Bad: {said}.*test_regions.py, line "):
        build_chain(Bad(step=step, rate=rate), by=way)


def test_states_that_are_never_entered_may_have_no_transitions():
    """A target outside of the space, an error, a bad rate: in states that the start does not lead to."""

    class Slots(ChainModel):
        class State(NamedTuple):
            free: int
            used: int

        class Params(NamedTuple):
            slots: int = 70

        def space(self):
            return dict.fromkeys(("free", "used"), range(self.slots + 1))

        def start(self):
            return self.slots, 0

        @staticmethod
        def rules(s, q):
            if s.free > 0:
                yield s._replace(free=s.free - 1, used=s.used + 1), 1.0
            if s.used > 0:
                yield s._replace(free=s.free + 1, used=s.used - 1), 0.5 if s.used < 90 else 1 // 0

    model = Slots()
    expected = build_chain(model, by="python")
    assert expected.codes.shape == (2, 71)
    found = build_chain(model, by="regions")
    np.testing.assert_array_equal(found.codes, expected.codes)
    assert abs(found.Q - expected.Q).max() == 0.0

"""Regions of states with the same moves, rates along curves, and boxes."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markov import (
    ChainModel,
    Cluster,
    CoxTandem,
    JacksonTandem,
    Kanban,
    PauseChain,
    PauseTandem,
    Polling,
    explore,
    generator,
)
from markov.computing.matrices import from_edges
from markov.errors import RuleError, TooLargeError
from markov.generators import building, regions
from markov.generators.building import BoxBuilder, ChainBuilder, GrowingBoxBuilder, build_chain
from markov.generators.plain import Calls
from markov.generators.regions import edges_by_regions, find_regions
from markov.generators.standins import Counted, Curve, Span, as_rate, current_value
from markov.models.spaces import Space
from tests.surface import for_each

# Regions of a space on which rules are alike, and the matrix made of them.


BOTH = {"low_threshold": 5, "pause_at_threshold": "both", "recovery": "up"}
ALIKE = [
    PauseTandem(buffers=(40, 30), high_threshold=20),
    PauseTandem(buffers=(30, 40), high_threshold=20, arrival_rates=(25.0, 10.0, 1.0), **BOTH),
    PauseTandem(buffers=(3, 900), high_threshold=700),
    PauseChain(buffers=(20, 15, 12), high_threshold=9),
    CoxTandem(capacity=40),
]


def regions_of(model):
    space = Space.of(model.State, model.space(), model.name)
    return find_regions(Calls(model, space), space)


def matrix_by_regions(model, max_regions=None):
    """Return the generator on the complete space from regions; None where there are too many."""
    space = Space.of(model.State, model.space(), model.name)
    regions = find_regions(Calls(model, space), space, max_regions)
    if regions is None:
        return None
    edges = edges_by_regions(regions, space)
    assert not len(edges.deferred)
    return from_edges(*edges[:3], space.size)


@pytest.mark.parametrize("model", ALIKE, ids=repr)
def test_matrix_is_that_of_plain_python(model):
    found = matrix_by_regions(model, model.space_size)
    expected = build_chain(model, reachable=False, by="python").Q
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.has_canonical_format


@pytest.mark.parametrize(("model", "fits"), [(Kanban(tickets=2), False), (Cluster(workstations=60), True)], ids=str)
def test_number_of_regions_is_predicted(model, fits, monkeypatch):
    """A space of many small boxes is refused after few of them; others are divided as without a prediction."""
    space = Space.of(model.State, model.space(), model.name)
    calls, corners, run = Calls(model, space), [], regions._run_in_corner
    monkeypatch.setattr(regions, "_run_in_corner", lambda *args, **options: corners.append(1) or run(*args, **options))
    limit = space.size // 200
    found = find_regions(calls, space, limit, counts=True, predict=True)
    assert (found is not None) == fits
    assert (len(corners) <= 20) == (not fits)
    expected = find_regions(calls, space, limit, counts=True)
    assert (expected is not None) == fits
    if fits:
        assert [(r.low, r.high) for r in found] == [(r.low, r.high) for r in expected]


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
                (tuple(t - c for t, c in zip(space.flatten(target), corner, strict=True)), rate)
                for target, rate in model.transitions(space.assemble(corner))
                if rate > 0.0
            ]
            assert seen == region.moves
    assert np.all(covered == 1)


@pytest.mark.parametrize(
    "model", [Cluster(workstations=20), Polling(stations=7), JacksonTandem(capacity=300)], ids=repr
)
def test_rules_that_read_values_have_too_many_regions(model):
    assert regions_of(model) is None


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
    np.testing.assert_array_equal(build_chain(model, by="arrays").Q.toarray(), expected)
    by_regions = matrix_by_regions(model, model.space_size)
    if by_regions is not None:  # with a single value of a component, a region has one state
        np.testing.assert_array_equal(by_regions.toarray(), expected)


@pytest.mark.parametrize(
    "asked",
    [
        lambda n: type(n) is int, lambda n: str(n) != "", lambda n: hash(n) >= 0, lambda n: n < 1 or 10 % n >= 0,
    ],
    ids=["type", "text", "hash", "remainder by a variable"],
)  # fmt: skip
@pytest.mark.parametrize("most", [2_000, 20_000])
def test_infinitely_many_states_that_cannot_be_followed_are_refused_with_the_reason(asked, most):
    def rules(n):
        yield n + 1, 0.5
        if n > 0 and asked(n):
            yield n - 1, 1.0

    with pytest.raises(TooLargeError) as caught:
        explore(rules, start=0, most=most)
    assert len(caught.value.__notes__) == 1
    assert "cannot be followed" in caught.value.__notes__[0]


@pytest.mark.parametrize("way", ["python", "arrays"])
@pytest.mark.parametrize(
    ("step", "rate", "said"),
    [
        (1, 1.0, r"State\(n=3999\) -> State\(n=4000\) at rate 1.0: the target is outside the sp"),
        (0.5, 1.0, r"State\(n=\d+\) -> State\(n=\d+.5\) at rate 1.0: the target is outside"),
        (0, -1.0, r"State\(n=\d+\) -> State\(n=\d+\) at rate -1.0: a rate must be a finite number"),
        (0, np.nan, r"State\(n=\d+\) -> State\(n=\d+\) at rate nan: a rate must be a finite number"),
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
    found = build_chain(model, by="arrays")
    np.testing.assert_array_equal(found.codes, expected.codes)
    assert abs(found.Q - expected.Q).max() == 0.0


# Numbers that the rules compute from one component are those of plain Python, bit by bit, for all its values.


FIRST, LAST = -3, 20


def counted(value=5):
    span = Span(value, FIRST, LAST)
    return span, Counted(span, 1, range(FIRST, LAST + 1))


RULES = [
    lambda s: s, lambda s: s + 2, lambda s: 2 * s, lambda s: 0.3 * s, lambda s: s * 0.3 / 7,
    lambda s: (30 - s) * 0.7 + 0.1, lambda s: 0.5 - s / 3, lambda s: 1.5 / (1 + s), lambda s: s * (s + 1) * 0.05,
    lambda s: 0.9 * min(s, 9) + 0.1 * s, lambda s: (s - s * 0.1) / (s + 0.5),
    lambda s: np.float64(0.3) + s * np.float64(0.1) if s > 4 else 0.0, lambda s: 1e300 * (s * 1e10) if s < 0 else 2.0,
]  # fmt: skip


@for_each(range(len(RULES)))
def test_curves_are_what_plain_python_computes(number):
    rule = RULES[number]
    for value in range(FIRST, LAST + 1):
        span, stand_in = counted(value)
        try:
            expected = rule(value)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                rule(stand_in)
            continue
        found = as_rate(rule(stand_in))
        assert span.low <= value <= span.high
        for other in range(span.low, span.high + 1):
            span.value = other
            assert current_value(found) == rule(other), (value, other)
        span.value = value
        assert current_value(found) == expected


def test_a_count_is_not_read():
    span, s = counted()
    found = as_rate(0.3 * (20 - s))
    assert type(found) is Curve
    assert isinstance(found, float)
    assert isinstance(2 * s, int)
    assert (found.component, found.first, len(found.values)) == (1, FIRST, LAST - FIRST + 1)
    assert (span.low, span.high, span.read) == (FIRST, LAST, False)


COMPARISONS = [
    (lambda c: c < 0.65, FIRST, 6), (lambda c: c >= 0.1, 1, LAST), (lambda c: 0.0 <= c < math.inf, 0, LAST),
    (lambda c: c == 0.5, 5, 5), (lambda c: c != 0.8, FIRST, 7), (bool, 1, LAST), (lambda c: c > math.inf, FIRST, LAST),
]  # fmt: skip


@for_each(range(len(COMPARISONS)))
def test_a_comparison_keeps_the_values_with_the_same_answer(number):
    asked, low, high = COMPARISONS[number]
    span, s = counted()
    assert asked(0.1 * s) == asked(0.5)
    assert (span.low, span.high) == (low, high)
    assert not span.read


OTHERS = [
    lambda c: c**2, lambda c: c % 0.3, lambda c: c // 2, lambda c: 2**c, lambda c: -c, abs, int, float, round,
    math.sqrt, math.floor, math.trunc, lambda c: divmod(c, 0.2), lambda c: divmod(2, c), np.exp, "{:.3f}".format, str,
    hash, lambda c: c.is_integer(), lambda c: c * math.inf, lambda c: c * True,
]  # fmt: skip


@for_each(range(len(OTHERS)))
def test_whatever_else_is_done_with_it_uses_its_value(number):
    rule = OTHERS[number]
    span, s = counted()
    assert rule(0.1 * s) == rule(0.5)
    assert (span.low, span.high, span.read) == (5, 5, True)


def test_two_components_are_read():
    spans, pair = zip(counted(), counted(7), strict=True)
    assert pair[0] * 0.5 * pair[1] == 17.5
    assert [(span.low, span.high) for span in spans] == [(5, 5), (7, 7)]
    assert [3, 4, 5][2 * counted(1)[1]] == 5


def test_numbers_that_are_not_exact_are_read():
    span, s = counted()
    assert (s * 2**40) * 2**20 == 5 * 2**60
    assert span.read
    span, s = counted()
    assert s * 10**30 == 5 * 10**30
    assert span.read


def test_few_regions_hold_all_counts():
    model = Cluster(workstations=30)
    space = model._space
    calls = Calls(model, space)
    regions = find_regions(calls, space, 2000, counts=True)
    assert len(regions) < 400
    assert find_regions(calls, space, 1000) is None
    for region in regions[::20]:
        codes = np.random.default_rng(1).integers(region.low, np.array(region.high) + 1)
        state = space.state(codes)
        expected = sorted(rate for _, rate in calls.rules(state, calls.q))
        assert len(region.moves) == len(expected)
        for _, rate in region.moves:
            if type(rate) is Curve:
                rate.span.value = int(codes[rate.component])
        assert sorted(current_value(rate) for _, rate in region.moves) == expected


# Rules without a space: what a box that they do not leave gives is what plain Python finds.


PLAIN = "the rules as they stand"


def grid(s, q):
    """Two queues in series, 4,900 states."""
    if s.x < 69:
        yield s._replace(x=s.x + 1), q.arrivals
    if s.x > 0 and s.y < 69:
        yield s._replace(x=s.x - 1, y=s.y + 1), 4.0
    if s.y > 0:
        yield s._replace(y=s.y - 1), 5.0


def line(n):
    """A state that is a number."""
    if n < 9000:
        yield n + 1, 1.0
    if n > -5:
        yield n - 1, 2.0


def vector(s, q):
    """A vector of components, and one with few values."""
    x, y = s.n
    if x < 60:
        yield s._replace(n=(x + 1, y)), q.arrivals
    if x > 0:
        yield s._replace(n=(x - 1, y)), 1.0
    if y < 60:
        yield s._replace(n=(x, y + 1)), 3.0 + x
    if y > 0:
        yield s._replace(n=(x, y - 1)), 2.0
    yield s._replace(up=1 - s.up), 0.5


def coordinates(s):
    """Plain tuples."""
    x, y = s
    if x < 80:
        yield (x + 1, y), 1.0
    if x > 0:
        yield (x - 1, y), 2.0
    if y < 40:
        yield (x, y + 1), 3.0
    if y > -10:
        yield (x, y - 1), 2.0


CASES = {
    "grid": (grid, {"x": 0, "y": 3}, {"arrivals": 3.0}),
    "line": (line, 7, None),
    "vector": (vector, {"n": (0, 0), "up": 1}, {"arrivals": 2.0}),
    "coordinates": (coordinates, (0, 0), None),
}


@pytest.fixture
def boxes_early(monkeypatch):
    """Look for a box as soon as may be, whatever it is predicted to cost."""
    monkeypatch.setattr("markov.generators.building.STATES_BEFORE_BOX", 200)


def both(case, **changes):
    """Return what is found in a box, and by plain Python."""
    rules, start, params = case
    given = {"start": start, "params": params} | changes
    return explore(rules, **given), explore(rules, compiled=False, **given)


@pytest.mark.usefixtures("boxes_early")
@pytest.mark.parametrize("name", CASES)
def test_a_box_gives_the_chain_of_plain_python(name):
    found, plain = both(CASES[name])
    assert plain.chain.how == PLAIN
    assert found.chain.how != PLAIN
    assert found == plain
    assert found.chain.space.components == plain.chain.space.components
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found.chain.Q, part), getattr(plain.chain.Q, part), strict=True)


TABLE = tuple(1.0 + k / 7.0 for k in range(100))


def looked_up(s, q):
    """Rates from a table, which ends where the states end: nothing can follow that for all states at once."""
    if s.x < 99:
        yield s._replace(x=s.x + 1), q.table[s.x]
    if s.x > 0:
        yield s._replace(x=s.x - 1), q.table[s.x - 1]
    if s.y < s.x:
        yield s._replace(y=s.y + 1), 3.0
    if s.y > -60:
        yield s._replace(y=s.y - 1), 0.5
    if s.x < 50 and s.y > s.x:
        yield s._replace(y=s.x), 1.0


@pytest.mark.usefixtures("boxes_early")
def test_rules_that_cannot_be_followed_have_a_box_that_grows(monkeypatch):
    monkeypatch.setattr(building, "FIRST_BOX", 1000)
    monkeypatch.setattr(ChainBuilder, "growth_states", ())
    monkeypatch.setattr("markov.generators.array_chains.COMPLETE_SPACE_STATES", 0)
    grown = []
    again = GrowingBoxBuilder._complete_by_python

    def counted(ways, found):
        grown.append(ways.space.shape)
        return again(ways, found)

    monkeypatch.setattr(GrowingBoxBuilder, "_complete_by_python", counted)
    found, plain = both((looked_up, {"x": 0, "y": 0}, {"table": TABLE}))
    assert found.chain.how == "the rules on arrays of states"
    assert found == plain
    assert found.chain.space.components == plain.chain.space.components
    assert len(grown) >= 2


@pytest.mark.usefixtures("boxes_early")
def test_what_is_wrong_outside_of_the_box_is_said_by_plain_python():
    def rules(s, q):
        if s.x == 90:
            yield s._replace(y=0.5), -1.0
        yield from looked_up(s, q)

    with pytest.raises(RuleError, match=r"x=90.*rate -1"):
        explore(rules, start={"x": 0, "y": 0}, params={"table": TABLE})


@pytest.mark.usefixtures("boxes_early")
def test_states_beyond_the_most_are_refused_with_the_reason():
    def rules(s, q):
        yield s._replace(n=s.n + 1), q.table[s.n % 100]
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0
        yield s._replace(m=(s.m + 1) % 40), 1.0

    with pytest.raises(TooLargeError, match="more than 9000 reachable states") as caught:
        explore(rules, start={"n": 0, "m": 0}, params={"table": TABLE}, most=9000)
    assert "cannot be followed" in caught.value.__notes__[0]


@pytest.mark.usefixtures("boxes_early")
@pytest.mark.parametrize("value", [300.0, True, "300"], ids=repr)
def test_what_is_no_int_is_left_to_plain_python(value):
    """A component that changes its type far from the start: the states have what the rules yield."""

    def rules(s, q):
        if s.n < 400:
            yield s._replace(n=s.n + 1), 1.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 2.0
        if s.n == 400:
            yield s._replace(n=0, last=value), 1.0

    found, plain = both((rules, {"n": 0, "last": 0}, {"arrivals": 1.0}))
    assert found.chain.how == plain.chain.how == PLAIN
    assert found == plain
    assert list(map(type, found.chain.space.components[1].values)) == [int, type(value)]


@pytest.mark.usefixtures("boxes_early")
def test_a_float_that_equals_an_int_is_left_to_plain_python():
    def rules(s, q):
        if s.n < 400:
            yield s._replace(n=s.n + 1), 1.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 2.0
        if s.m < 9:
            yield s._replace(m=s.m + 1), 3.0
        if s.n > 390 and s.m > 0:
            yield s._replace(m=s.m - 1.0), 1.0
        elif s.m > 0:
            yield s._replace(m=s.m - 1), 1.0

    found, plain = both((rules, {"n": 0, "m": 0}, {"arrivals": 1.0}))
    assert found.chain.how == plain.chain.how == PLAIN
    assert found == plain


@pytest.mark.usefixtures("boxes_early")
def test_rules_that_leave_the_box_are_left_to_plain_python(monkeypatch):
    """The box is not believed: one that is too small is noticed."""
    over = BoxBuilder.on_box.__func__
    small = [range(60), range(70)]
    monkeypatch.setattr(
        BoxBuilder,
        "on_box",
        classmethod(lambda cls, builder, box: over(cls, builder, box.with_ranges(small, exact=True))),
    )
    found, plain = both(CASES["grid"])
    assert found.chain.how == plain.chain.how == PLAIN
    assert found == plain


@pytest.mark.usefixtures("boxes_early")
def test_errors_name_the_state():
    def rules(s, q):
        if s.x == 50 and s.y == 60:
            raise ZeroDivisionError("here")
        yield from grid(s, q)

    with pytest.raises(RuleError, match=r"x=50, y=60.*here"):
        explore(rules, start={"x": 0, "y": 3}, params={"arrivals": 3.0})

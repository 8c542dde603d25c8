"""Rules without a space: what a box that they do not leave gives is what plain Python finds."""

from __future__ import annotations

import numpy as np
import pytest

from markov import MarkovChain, explore
from markov.errors import RuleError, TooLargeError
from markov.generators import boxes, building
from markov.generators.boxes import WaysInBox, WaysInGrowingBox

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


@pytest.fixture(autouse=True)
def _early(monkeypatch):
    """Look for a box as soon as may be, whatever it is predicted to cost."""
    monkeypatch.setattr("markov.generators.building.FEW_STATES", 200)
    monkeypatch.setattr("markov.generators.building.PYTHON_STATES", 200)
    monkeypatch.setattr("markov.generators.building.MAX_COST_RATIO", 1e9)


def both(case, **changes):
    """Return what is found in a box, and by plain Python."""
    rules, start, params = case
    given = {"start": start, "params": params} | changes
    return explore(rules, **given), explore(rules, compiled=False, **given)


@pytest.mark.parametrize("name", CASES)
def test_a_box_gives_the_chain_of_plain_python(name):
    found, plain = both(CASES[name])
    assert plain.chain.how == PLAIN
    assert found.chain.how != PLAIN
    assert found == plain
    assert found.chain.space.components == plain.chain.space.components
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(
            getattr(found.chain.Q, part), getattr(plain.chain.Q, part), strict=True
        )


def test_arrays_find_it_where_regions_do_not(monkeypatch):
    monkeypatch.setattr(WaysInBox, "by_regions", lambda *_: None)
    found, plain = both(CASES["grid"])
    assert found.chain.how == "the rules on arrays of states"
    assert found == plain


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


def test_rules_that_cannot_be_followed_have_a_box_that_grows(monkeypatch):
    monkeypatch.setattr(boxes, "FIRST_BOX", 1000)
    monkeypatch.setattr("markov.generators.array_rules.chains.WHOLE_SPACE", 0)
    grown = []
    again = WaysInGrowingBox._with_invalid

    def counted(ways, found):
        grown.append(ways.space.shape)
        return again(ways, found)

    monkeypatch.setattr(WaysInGrowingBox, "_with_invalid", counted)
    found, plain = both((looked_up, {"x": 0, "y": 0}, {"table": TABLE}))
    assert found.chain.how == "the rules on arrays of states"
    assert found == plain
    assert found.chain.space.components == plain.chain.space.components
    assert len(grown) >= 2


def test_what_is_wrong_outside_of_the_box_is_said_by_plain_python():
    def rules(s, q):
        if s.x == 90:
            yield s._replace(y=0.5), -1.0
        yield from looked_up(s, q)

    with pytest.raises(RuleError, match=r"x=90.*rate -1"):
        explore(rules, start={"x": 0, "y": 0}, params={"table": TABLE})


def test_states_beyond_the_most_are_refused_with_the_reason():
    def rules(s, q):
        yield s._replace(n=s.n + 1), q.table[s.n % 100]
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0
        yield s._replace(m=(s.m + 1) % 40), 1.0

    with pytest.raises(TooLargeError, match="more than 9000 reachable states") as caught:
        explore(rules, start={"n": 0, "m": 0}, params={"table": TABLE}, most=9000)
    assert "cannot be followed" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "asked",
    [
        lambda n: type(n) is int,
        lambda n: str(n) != "",
        lambda n: hash(n) >= 0,
        lambda n: n < 1 or 10 % n >= 0,
    ],
    ids=["type", "text", "hash", "remainder by a variable"],
)
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


def test_rules_that_leave_the_box_are_left_to_plain_python(monkeypatch):
    """The box is not believed: one that is too small is noticed."""
    box_of = boxes._box_of
    monkeypatch.setattr(
        boxes, "_box_of", lambda hull: box_of(hull).within([range(60), range(70)], exact=True)
    )
    found, plain = both(CASES["grid"])
    assert found.chain.how == plain.chain.how == PLAIN
    assert found == plain


def test_errors_name_the_state():
    def rules(s, q):
        if s.x == 50 and s.y == 60:
            raise ZeroDivisionError("here")
        yield from grid(s, q)

    with pytest.raises(RuleError, match=r"x=50, y=60.*here"):
        explore(rules, start={"x": 0, "y": 3}, params={"arrivals": 3.0})


def test_a_box_that_grows_is_not_compiled(monkeypatch):
    """Also not when the rules were searched for longer than compilation takes: compiled rules would leave the box."""
    monkeypatch.setattr(boxes, "FIRST_BOX", 1000)
    monkeypatch.setattr(building._experience, "suggests_arrays", lambda *_: True)
    monkeypatch.setattr(building._experience, "suggests_compiler", lambda *_: True)
    start, params = {"x": 0, "y": 0}, {"table": TABLE}
    first = explore(looked_up, start=start, params=params).chain
    again = MarkovChain(first.model)
    assert abs(again.Q - first.Q).nnz == 0

"""Immutable objects of parameters: attributes, equality, copies, errors."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from hopflow.checks import one_number
from hopflow.parameters import Parametrized, canonical_text, swept


class Point(Parametrized):
    class Params(NamedTuple):
        x: float
        y: float = 2.0
        rates: tuple[float, ...] = (1.0, 2.0)

    def check(self):
        one_number("x", self.params.x, above=0.0)

    def norm(self):
        return math.hypot(self.x, self.y)


class Sibling(Parametrized):
    Params = Point.Params


class Bare(Parametrized):
    pass


class TestParametrized:
    def test_fields_are_attributes(self):
        point = Point(3.0, y=4.0)
        assert (point.x, point.y, point.rates) == (3.0, 4.0, (1.0, 2.0))
        assert point.params == (3.0, 4.0, (1.0, 2.0))
        assert point.norm() == 5.0
        assert {"x", "y", "rates", "norm", "replace"} <= set(dir(point))
        assert list(inspect.signature(Point).parameters) == ["x", "y", "rates"]

    def test_nothing_changes(self):
        point = Point(3.0)
        for name in ("x", "params", "new"):
            with pytest.raises(AttributeError, match=rf"Point is immutable; use .replace\({name}="):
                setattr(point, name, 7.0)
        with pytest.raises(AttributeError, match="immutable"):
            del point.x
        assert point == Point(3.0)

    def test_lists_and_arrays_become_tuples(self):
        rates = [25.0, 1.0]
        point = Point(np.float64(3.0), rates=rates)
        rates.append(0.5)
        assert point.rates == (25.0, 1.0)
        assert type(point.x) is float
        other = Point(3.0, rates=np.array([25.0, 1.0]))
        assert point == other
        assert hash(point) == hash(other)
        nested = Point(1.0, rates=[[1, 2], np.array([[3, 4]])])
        assert nested.rates == ((1, 2), ((3, 4),))

    def test_replace_checks_again(self):
        point = Point(3.0, rates=(5.0,))
        assert point.replace(x=4.0) == Point(4.0, rates=(5.0,))
        assert point.x == 3.0
        with pytest.raises(ValueError, match="x = -1: must be a finite number > 0"):
            point.replace(x=-1.0)
        with pytest.raises(TypeError, match=r"Point: .*'z'.*; its parameters: x, y, rates"):
            point.replace(z=1.0)

    def test_equality_and_hash(self):
        assert Point(3.0) == Point(3.0, 2.0)
        assert hash(Point(3.0)) == hash(Point(3.0, 2.0))
        assert Point(3.0) != Point(3.5)
        assert Point(3.0) != Sibling(3.0)
        assert Point(3.0) != (3.0, 2.0, (1.0, 2.0))
        assert len({Point(1.0), Point(1.0), Sibling(1.0)}) == 2

    def test_repr_shows_what_was_chosen(self):
        assert repr(Point(3.0)) == "Point(x=3.0)"
        assert repr(Point(3.0, rates=(1.0,))) == "Point(x=3.0, rates=(1.0,))"
        assert repr(Bare()) == "Bare()"
        assert eval(repr(Point(3.0, 5.0))) == Point(3.0, 5.0)

    def test_repr_shows_a_default_that_was_given_and_the_canonical_text_does_not(self):
        given = Point(3.0, y=Point(3.0).y)
        assert given == Point(3.0)
        assert repr(given) == f"Point(x=3.0, y={given.y!r})"
        assert canonical_text(given) == canonical_text(Point(3.0)) == "Point(x=3.0)"
        assert repr(Point(3.0).replace(y=given.y)) == repr(given)
        assert repr(pickle.loads(pickle.dumps(given))) == repr(copy.copy(given)) == repr(given)
        assert canonical_text(3.0) == "3.0"

    def test_copies_and_pickles(self):
        point = Point(3.0, rates=(7.0,))
        for twin in (pickle.loads(pickle.dumps(point)), copy.copy(point), copy.deepcopy(point)):
            assert twin == point
            assert twin.norm() == point.norm()

    def test_unknown_and_missing_names(self):
        with pytest.raises(TypeError, match=r"Point: .*'speed'.*; its parameters: x, y, rates"):
            Point(1.0, speed=2.0)
        with pytest.raises(TypeError, match=r"Point: missing 1 .*'x'; its parameters: x, y, rates"):
            Point()
        with pytest.raises(TypeError, match=r"Bare: .*; its parameters: none"):
            Bare(1)
        with pytest.raises(AttributeError, match="'Point' object has no attribute 'speed'"):
            Point(1.0).speed  # noqa: B018

    def test_a_parameter_never_hides_behind_a_method(self):
        with pytest.raises(TypeError, match="a parameter cannot be called 'norm'"):

            class Hidden(Point):
                class Params(NamedTuple):
                    norm: float = 1.0


class Queue(Parametrized):
    class Params(NamedTuple):
        rtt: float
        rates: tuple[float, ...] = ()
        room: int = 1

    UNITS: ClassVar = {"rtt": "time", "rates": "rate", "room": "amount"}


def test_parameters_with_units_may_be_texts() -> None:
    """A bit rate is one of packets of 1500 bytes; whole packets are whole numbers."""
    texts = Queue(rtt="40ms", rates=["300kbps", 1.0], room="10pkt")
    assert texts == Queue(0.04, (25.0, 1.0), 10)
    assert type(texts.room) is int
    with pytest.raises(ValueError, match=r"^rtt = '40 bit': must be a number and a unit of s, ms"):
        Queue(rtt="40 bit")
    assert Queue(rtt="soon").rtt == "soon", "no quantity: for the check of the class"


def test_values_of_a_sweep_are_those_that_an_object_holds() -> None:
    class Timed(Parametrized):
        UNITS: ClassVar = {"wait": "time", "sizes": "amount"}

        class Params(NamedTuple):
            wait: float = 1.0
            sizes: tuple[int, ...] = (1,)
            name: str = ""

    for name, values, unit in (
        ("wait", ["20ms", 3], "s"),
        ("sizes", [["9kB", 2], (1,)], "packets"),
        ("name", ["20ms"], None),
    ):
        found = swept(Timed(), name, values)
        assert found.unit == unit
        assert found.values == [getattr(Timed(**{name: value}), name) for value in values]
    assert swept(object(), "wait", ["20ms"]) == (["20ms"], None)

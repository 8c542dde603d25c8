"""Bounds on time that say nothing are told from those that do."""

from __future__ import annotations

from markov.files.parsing.property_parsing import parse_property
from markov.files.properties.queries import Interval
from markov.files.syntax import Literal


def test_an_interval_without_ends_says_nothing() -> None:
    assert Interval().plain
    assert not Interval(low=Literal(0, 1)).plain
    assert not Interval(high=Literal(0, 1)).plain


def test_the_same_property_written_twice_is_one_key_of_a_table() -> None:
    one, other = (parse_property("P<0.5 [ n U[1,2] m ]") for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse_property("P<=0.5 [ n U[1,2] m ]")

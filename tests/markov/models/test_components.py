"""Components of states, and states as arrays."""

from __future__ import annotations

import enum
import itertools
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import NO_END, MarkovChain, explore
from markov.models.components import (
    MAX_CODE,
    Component,
    codes_of,
    is_finite,
    is_vector,
    known_value,
    values_of,
)
from markov.models.samples import SAMPLE, ends_of, sample_of
from markov.models.spaces import Space
from markov.models.state_tables import StateBlocks, StateTable
from tests.markov.conftest import Machine

# Values of components, and their codes.


class Mode(Enum):
    IDLE = 1
    BUSY = 2


COUNT = Component("n", range(-2, 3))
MODE = Component("mode", (Mode.IDLE, Mode.BUSY))
PLACE = Component("place", ("in", "out"))
PAIR = Component("pair", ((1, 2), (3, 4)))


@pytest.mark.parametrize(
    ("component", "values", "codes"),
    [
        (COUNT, [2, -2, 0], [2, -2, 0]),
        (MODE, [Mode.BUSY, Mode.IDLE], [1, 0]),
        (PLACE, ["out", "out"], [1, 1]),
        (PAIR, [(3, 4), (1, 2)], [1, 0]),
    ],
    ids=["range", "enum", "strings", "tuples"],
)
def test_values_and_codes_are_the_inverse_of_each_other(
    component: Component, values: list[Any], codes: list[int]
) -> None:
    found = codes_of(component, values)
    np.testing.assert_array_equal(found, codes)
    assert component.values_at(found).tolist() == values


def test_low_and_count() -> None:
    assert (COUNT.low, COUNT.count) == (-2, 5)
    assert (MODE.low, MODE.count) == (0, 2)
    assert Component("n", range(NO_END * 4096)).count == NO_END * 4096  # more than len can say


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([3, 1, 2], range(1, 4)),
        ([(1, 5), (2, 3)], (range(1, 3), range(3, 6))),
        ([(1, 5), (2,)], [(1, 5), (2,)]),
        (["b", "a", "b"], ["b", "a"]),
        ([True, False], [True, False]),  # no whole numbers
        ([0, MAX_CODE], [0, MAX_CODE]),  # beyond 62 bits
    ],
    ids=["range", "vector", "two lengths", "strings", "truth values", "large"],
)
def test_values_that_were_found(column: list[Any], expected: Any) -> None:
    assert values_of(column) == expected


def test_a_value_is_that_of_the_component() -> None:
    assert type(known_value(COUNT, 2.0)) is int
    assert known_value(COUNT, Fraction(1)) == 1
    assert known_value(MODE, Mode.BUSY) is Mode.BUSY
    for component, value in ((COUNT, 3), (COUNT, "1"), (MODE, 2)):
        with pytest.raises(ValueError, match="outside the space"):
            known_value(component, value)


def test_what_a_space_may_declare() -> None:
    assert all(map(is_finite, (range(3), ["a", "b"], Mode, (1, 2.5))))
    refused = (range(0), range(0, 4, 2), [], ["a", "a"], "ab", {"a": 1}, [[1], [2]], 3)
    assert not any(map(is_finite, refused))
    assert is_vector((range(2), range(3)))
    assert not any(map(is_vector, ((), range(2), (range(2), 3), "ab")))


# States as arrays and as the objects that rules see.


class Text(enum.StrEnum):
    """Members that are strings too, which an array would turn into plain ones."""

    IDLE = "idle"
    BUSY = "busy"


class Job(NamedTuple):
    kind: Text
    n: int


def jobs(s: Job) -> Any:
    yield s._replace(kind=Text.BUSY if s.kind is Text.IDLE else Text.IDLE), 1.0
    yield s._replace(n=1 - s.n), 2.0


def test_plain_states_are_the_objects_of_the_rules() -> None:
    table = explore(jobs, start=Job(Text.IDLE, 0)).chain.table
    listed = list(table.plain())
    assert {type(s) for s in listed} == {Job}
    assert all(s.kind is Text(s.kind) and type(s.n) is int for s in listed)
    assert [s.n for s in table.plain([1, 3])] == [listed[1].n, listed[3].n]


def test_arrays_bring_their_table_along() -> None:
    table = MarkovChain(Machine()).table
    assert StateTable.of(table) is table
    arrays = table.arrays
    assert StateTable.of(arrays) is table
    assert isinstance(arrays, Machine.State)
    assert StateTable.of(arrays._replace(phase=arrays.phase)) is not table
    single = explore(lambda s: [("b" if s == "a" else "a", 1.0)], start="a").chain.table
    assert StateTable.of(single.arrays) is single
    assert StateTable.of(single.arrays + "") is not single


def test_arrays_of_a_user_are_taken_apart() -> None:
    states = MarkovChain(Machine()).states
    table = StateTable.of(states)
    assert list(table.plain()) == list(MarkovChain(Machine()).table.plain())
    assert list(StateTable.of(np.array([3, 5])).plain()) == [3, 5]


@pytest.mark.parametrize("names", [range(4), ("up", "down"), [(0, 1), (2,)], ("a", None, 3)])
def test_names_are_states(names: Any) -> None:
    assert list(StateTable.of(names).plain()) == list(names)


def test_states_that_agree_in_all_but_numbers_are_together() -> None:
    table = MarkovChain(Machine()).table
    listed = list(table.plain())
    parts = table.equal_groups(6)
    assert parts is not None
    assert sorted(np.concatenate(parts).tolist()) == list(range(table.count))
    assert len(parts) == len({(s.mode, s.phase) for s in listed})
    assert all(len({(listed[x].mode, listed[x].phase) for x in part}) == 1 for part in parts)
    assert table.equal_groups(5) is None


def test_blocks_stand_for_the_whole() -> None:
    table = MarkovChain(Machine()).table
    blocks = StateBlocks(table.count, lambda: iter([table]), lambda: table)
    assert StateTable.of(blocks) is table
    assert np.array_equal(blocks.phase, table.arrays.phase)
    with pytest.raises(AttributeError):
        _ = blocks.missing


# The states on which faster ways are compared with plain Python.


def test_few_states_are_all_in_the_sample() -> None:
    space = Space(None, {"n": range(10), "m": range(10)})
    assert sample_of(space, space.unnumbered(np.arange(100))) == list(range(100))


def test_corners_and_ends_of_a_large_space_are_in_the_sample() -> None:
    space = Space(None, {"n": range(3, 43), "m": range(50), "k": range(7)})
    codes = space.unnumbered(np.arange(space.size))
    found = sample_of(space, codes)
    corners = itertools.product((3, 42), (0, 49), (0, 6))
    numbers = space.numbers(space.codes(list(corners)))
    assert set(numbers.tolist()) <= set(found)
    assert ends_of(codes) <= set(found)
    assert SAMPLE < len(found) < 2 * SAMPLE
    assert found == sorted(set(found))

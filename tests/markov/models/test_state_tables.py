"""States as arrays and as the objects that rules see."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import MarkovChain, explore
from markov.models.state_tables import StateBlocks, StateTable
from tests.markov.conftest import Machine


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

"""Functions on sets of states give the values of plain Python, or leave them to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov.models.functions.set_evaluation import Partial, values_on_sets
from markov.models.means import Mean, number_of
from markov.models.spaces import Space
from markov.models.state_tables import StateTable


class State(NamedTuple):
    n: int
    m: int
    kind: str


SPACE = Space(State, {"n": range(60), "m": range(60), "kind": ["a", "b"]})
TABLE = StateTable(SPACE, SPACE.unnumbered(np.arange(SPACE.size)))


def on_sets(function: Callable[[Any], Any]) -> tuple[Partial | None, bool]:
    return values_on_sets(lambda s: {"": function(s)}, number_of, TABLE)


@pytest.mark.parametrize(
    "function",
    [
        lambda s: s.n == 3 or s.m > 50,
        lambda s: s.n * 10**30 // 7 % 11,
        lambda s: s.kind == "a" and 2 < s.n < s.m,
        lambda s: {3: 1, 5: 2}.get(s.n, 0),
        lambda s: 1.5 if s.kind == "b" else s.n / 3,
        lambda s: True,
    ],
    ids=itertools.count(),
)
def test_values_are_those_of_each_state(function: Callable[[Any], Any]) -> None:
    partial, uses_numpy = on_sets(function)
    assert partial is not None
    assert not uses_numpy
    assert not len(partial.left)
    assert partial.values[""].of.tolist() == [float(function(s)) for s in TABLE.plain()]


def test_states_where_the_function_fails_are_left_to_plain_python() -> None:
    partial, _ = on_sets(lambda s: 1 / (s.n - 3))
    assert partial is not None
    assert {SPACE.state(TABLE.codes[:, x]).n for x in partial.left} == {3}
    assert len(partial.left) == 120
    row = {"": Mean(np.full(120, -1.0))}
    partial.fill(row)
    expected = [-1.0 if s.n == 3 else 1 / (s.n - 3) for s in TABLE.plain()]
    assert partial.values[""].of.tolist() == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda s: hash(s) % 2,  # each state by itself
        lambda s: (s.n > 3) is True,
        lambda s: 1 / 0,
        lambda s: "a",
    ],
    ids=itertools.count(),
)
def test_what_sets_do_not_do_is_left(function: Callable[[Any], Any]) -> None:
    assert on_sets(function) == (None, False)


def test_functions_of_numpy_are_for_arrays() -> None:
    assert on_sets(lambda s: np.maximum(s.n, 3)) == (None, True)


def test_ratios_and_lists_of_columns() -> None:
    partial, _ = values_on_sets(
        lambda s: {"": Mean((s.n, 1.0), over=(2.0, s.m + 1), dims=("part",), units="s")},
        number_of,
        TABLE,
    )
    assert partial is not None
    mean, listed = partial.values[""], list(TABLE.plain())
    assert mean.of.tolist() == [[float(s.n) for s in listed], [1.0] * TABLE.count]
    assert mean.over.tolist() == [[2.0] * TABLE.count, [s.m + 1.0 for s in listed]]
    assert (mean.dims, mean.units) == (("part",), "s")


def test_other_names_or_kinds_in_other_states_are_left() -> None:
    partial, _ = values_on_sets(lambda s: {"a": 1.0} if s.n < 50 else {"b": 1.0}, number_of, TABLE)
    assert partial is not None
    assert len(partial.left) == 10 * 60 * 2

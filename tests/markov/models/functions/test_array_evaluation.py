"""Functions on arrays of states."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov.models.functions.array_evaluation import values_on_arrays
from markov.models.means import Mean, number_of
from tests.markov.models.functions.test_set_evaluation import TABLE


def on_arrays(function: Callable[[Any], Any]) -> Any:
    return values_on_arrays(lambda s: {"": function(s)}, number_of, TABLE)


@pytest.mark.parametrize(
    "function",
    [
        lambda s: np.maximum(s.n, s.m) > 7,
        lambda s: np.where((s.n > 3) & (s.kind == "a"), s.n, -s.m),
        lambda s: np.sqrt(s.n) + np.asarray([1.0, 2.0])[s.m % 2],
        lambda s: np.isin(s.n, [1, 5]),
    ],
    ids=itertools.count(),
)
def test_values_are_those_of_each_state(function: Callable[[Any], Any]) -> None:
    partial = on_arrays(function)
    assert partial.values[""].of.tolist() == [float(function(s)) for s in TABLE.plain()]


def test_one_number_for_all_states_is_left_to_plain_python() -> None:
    """`kind` is a string, not an array: where it decides, the numbers are not looked at."""
    partial = on_arrays(lambda s: np.maximum(s.n, 2) if s.kind == "a" else 1.0)
    assert [SPACE_KINDS[x] for x in partial.left[:5]] == ["b"] * 5
    assert len(partial.left) == TABLE.count // 2


SPACE_KINDS = [s.kind for s in TABLE.plain()]


@pytest.mark.parametrize(
    "function",
    [
        lambda s: np.max([s.n, s.m]),  # of all states
        lambda s: 1 // s.n,
        lambda s: np.log(s.n),
        lambda s: np.maximum(s.n, 2) * (str(s.m) == "3"),
        lambda s: np.maximum(s.n, 2) if s.n > 3 else 0,
        lambda s: "a",
    ],
    ids=itertools.count(),
)
def test_what_arrays_do_not_do_is_left(function: Callable[[Any], Any]) -> None:
    assert on_arrays(function) is None


def test_measures_of_several_queues() -> None:
    partial = on_arrays(lambda s: Mean(np.array([s.n, s.m]), dims=("queue",)))
    listed = list(TABLE.plain())
    assert partial.values[""].of.tolist() == [[float(s[k]) for s in listed] for k in (0, 1)]

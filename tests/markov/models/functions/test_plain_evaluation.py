"""A function called with one state after the other."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from markov import Mean
from markov.errors import RuleError
from markov.models.functions.plain_evaluation import Function, ask_again, in_each
from markov.models.means import as_mean, number_of
from markov.models.state_tables import StateTable

TABLE = StateTable.of(["up", "down", "broken"])


def function(call: Any) -> Function:
    def value(given: Any) -> Any:
        return as_mean(given, 1) if isinstance(given, Mean) else number_of(given)

    return Function(call, call, "model.labels", value, "return a number")


def test_values_are_in_the_order_of_the_states() -> None:
    asked = function(lambda s: {"length": len(s), "up": s == "up", "half": Mean(len(s), over=2)})
    found = in_each(asked, TABLE, None)
    assert {key: mean.of.tolist() for key, mean in found.items()} == {
        "length": [2.0, 4.0, 6.0],
        "up": [1.0, 0.0, 0.0],
        "half": [2.0, 4.0, 6.0],
    }
    assert found["half"].over.tolist() == [2.0, 2.0, 2.0]
    assert in_each(asked, TABLE, [2, 0])["length"].of.tolist() == [6.0, 2.0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: {"a": 1} if s == "up" else {}, r"^model.labels: other names in other states"),
        (lambda s: {"a": s}, r"^model.labels: 'up': 'up' is no number .*; return a number$"),
        (lambda s: {"a": s if s == "down" else 1}, r"^model.labels: 'down': 'down' is no number"),
        (lambda s: {"a": s[4]}, r"^model.labels: 'up': IndexError: .*guard the index"),
        (lambda s: {"a": s.n}, r"^model.labels: 'up': AttributeError: .*called with one state"),
        (lambda s: {"a": Mean(1, over=2) if s == "up" else 1}, r"a ratio, or another shape"),
    ],
    ids=itertools.count(),
)
def test_errors_name_the_function_and_the_state(call: Any, said: str) -> None:
    with pytest.raises(RuleError, match=said) as raised:
        in_each(function(call), TABLE, None)
    assert raised.value.file == __file__


def test_the_same_value_when_called_again() -> None:
    steady = function(lambda s: {"a": len(s), "b": float("nan")})
    ask_again(steady, TABLE, in_each(steady, TABLE, None))
    count = itertools.count()
    counting = function(lambda _s: {"a": next(count)})
    with pytest.raises(RuleError, match=r"'up': gives 'a' 0 and, called again, 3 .*; no random"):
        ask_again(counting, TABLE, in_each(counting, TABLE, None))
    draw = np.random.default_rng(1)
    drawing = function(lambda s: {"a" if draw.random() < 0.9 or s != "up" else "b": 1})
    with pytest.raises(RuleError, match=r"other names"):
        ask_again(drawing, TABLE, in_each(drawing, TABLE, None))

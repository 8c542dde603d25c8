"""Typed expressions over many states against Python's numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov.errors import FileError
from markov.files.columns import Columns
from markov.files.values import Value, chained, chosen, constant, function, negated

PLACE = ("m", 1)
A = np.array([-3, 0, 1, 4])
STATES = Columns(np.array([A, [2, 5, 1, 3]]))
X, Y = Value("int", lambda c: c.codes[0], -3, 4), Value("int", lambda c: c.codes[1], 1, 5)


@pytest.mark.parametrize(
    ("sign", "python"),
    [
        ("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("/", operator.truediv),
        ("<", operator.lt), ("<=", operator.le), (">", operator.gt), (">=", operator.ge),
        ("=", operator.eq), ("!=", operator.ne),
    ],
)  # fmt: skip
@pytest.mark.parametrize("b", [Y, constant(2), constant(0.5)], ids=["variable", "int", "double"])
def test_operators_are_those_of_python(
    sign: str, python: Callable[[Any, Any], Any], b: Value
) -> None:
    found = chained(X, [(sign, b)], PLACE)
    right = np.broadcast_to(b.run(STATES), 4)
    expected = [python(x, y) for x, y in zip(A.tolist(), right.tolist(), strict=True)]
    assert np.asarray(found.run(STATES)).tolist() == expected
    kinds = {bool: "bool", int: "int", float: "double"}
    assert found.kind == kinds[type(expected[0])]
    if found.kind == "int":
        assert found.low <= min(expected) <= max(expected) <= found.high


def test_operands_are_joined_from_the_left() -> None:
    assert chained(constant(7), [("-", constant(2)), ("-", constant(1))], PLACE).single() == 4


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("min", [3, 1, 2], 1), ("max", [3, 1.5], 3.0), ("floor", [-1.5], -2), ("ceil", [1.2], 2),
        ("round", [2.5], 3), ("round", [-2.5], -2), ("pow", [2, 10], 1024), ("pow", [4.0, 0.5], 2.0),
        ("mod", [7, 4], 3), ("mod", [-1, 4], 3), ("log", [8, 2], 3.0),
    ],
)  # fmt: skip
def test_functions_of_constants(name: str, arguments: list[Any], expected: Any) -> None:
    found = function(name, [constant(value) for value in arguments], PLACE)
    assert found.fixed
    assert found.single() == pytest.approx(expected, rel=1e-15)
    assert type(found.single()) is type(expected)


def test_division_by_zero_is_infinite() -> None:
    assert chained(constant(1), [("/", constant(0))], PLACE).single() == math.inf


def test_what_decides_alone_keeps_others_from_being_looked_at() -> None:
    """mod by y - 2 fails where that is not positive; it counts only where y > 2."""
    above = chained(Y, [(">", constant(2))], PLACE)
    risky = function("mod", [X, chained(Y, [("-", constant(2))], PLACE)], PLACE)
    odd = chained(risky, [("=", constant(0))], PLACE)
    both = chained(above, [("&", odd)], PLACE)
    expected = [y > 2 and x % (y - 2) == 0 for x, y in STATES.codes.T.tolist()]
    assert both.run(STATES).tolist() == expected
    picked = chosen([(above, risky)], constant(-1), PLACE)
    assert picked.run(STATES).tolist() == [
        x % (y - 2) if y > 2 else -1 for x, y in STATES.codes.T.tolist()
    ]
    with pytest.raises(FileError, match="not positive"):
        odd.run(STATES)


def test_whole_numbers_do_not_wrap() -> None:
    power = X
    for _ in range(40):
        power = chained(power, [("*", constant(3))], PLACE)
    with pytest.raises(FileError, match=r"beyond 2\^62"):
        power.run(STATES)
    with pytest.raises(FileError, match=r"beyond 2\^62"):
        function("pow", [Y, constant(40)], PLACE).run(STATES)
    with pytest.raises(FileError, match="exponent below 0"):
        function("pow", [Y, X], PLACE).run(STATES)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: negated("!", X, PLACE), "what ! applies to is a number"),
        (lambda: negated("-", constant(True), PLACE), "'-' of a truth value"),
        (lambda: chained(X, [("+", constant(True))], PLACE), r"'\+' of a truth value"),
        (lambda: chained(X, [("=", constant(True))], PLACE), "'=' of a int and a bool"),
        (lambda: function("mod", [X, constant(0.5)], PLACE), "mod of a real number"),
        (lambda: function("floor", [X, Y], PLACE), r"floor takes 1 argument\(s\), not 2"),
        (lambda: chosen([(X, X)], Y, PLACE), "a condition is a number"),
        (
            lambda: chosen([(constant(True), X)], constant(True), PLACE),
            "between numbers and truth values",
        ),
    ],
)
def test_wrong_types_are_refused(make: Callable[[], Value], message: str) -> None:
    with pytest.raises(FileError, match=message):
        make()

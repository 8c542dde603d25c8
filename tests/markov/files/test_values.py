"""Expressions of files on columns: values, scopes, programs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov.errors import FileError
from markov.files.columns import Columns
from markov.files.parsing.expression_parsing import ExpressionParser
from markov.files.parsing.tokens import Cursor, tokens_of
from markov.files.program import Command, Constant, Module, Program, Variable
from markov.files.scopes import Scope
from markov.files.syntax import Literal
from markov.files.values import Value, chained, chosen, constant, function, negated

# Typed expressions over many states against Python's numbers.


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


# Parts of states, and what is remembered over them.


CODES = np.array([[0, 1, 2, 3], [5, 6, 7, 8]])


def test_a_part_has_the_values_and_the_numbers_of_its_states() -> None:
    part = Columns(CODES, np.array([10, 20, 30, 40])).take(np.array([3, 1]))
    assert part.codes.tolist() == [[3, 1], [8, 6]]
    assert part.states is not None
    assert part.states.tolist() == [40, 20]
    assert part.count == 2
    assert Columns(CODES).take(np.array([0])).states is None


def test_as_many_states_as_there_are_is_all_of_them() -> None:
    whole = Columns(CODES)
    assert whole.take(np.arange(4)) is whole


def test_a_formula_is_computed_once_in_the_same_states_and_anew_in_others() -> None:
    asked = []

    def formula(c: Columns) -> Any:
        asked.append(c.count)
        return c.codes[0] + c.codes[1]

    whole = Columns(CODES)
    assert whole.remembered(formula).tolist() == [5, 7, 9, 11]
    assert whole.remembered(formula) is whole.remembered(formula)
    assert whole.take(np.array([2])).remembered(formula).tolist() == [9]
    assert asked == [4, 1]


# What names mean: variables, formulas under a renaming, labels.


def tree(text: str) -> Any:
    return ExpressionParser(Cursor(tokens_of(text, "m"), "m")).expression()


def scope(**formulas: str) -> Scope:
    x = Value("int", lambda c: c.codes[0], 0, 9)
    y = Value("int", lambda c: c.codes[1], 0, 9)
    trees = {name: tree(text) for name, text in formulas.items()}
    label = Value("bool", lambda c: c.codes[0] > 1)
    labels = {"late": label}.get
    return Scope("m", {"x": x, "y": y, "N": constant(4)}, trees, labels)


THREE_STATES = Columns(np.array([[0, 1, 2], [7, 5, 0]]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + 2 * y - N", [10, 7, -2]),
        ("x < y ? min(x, y) : -x", [0, 1, -2]),
        ('!"late" & y > 5', [True, False, False]),
        ("twice + 1", [1, 3, 5]),
        ("pow(2, x) / 4", [0.25, 0.5, 1.0]),
    ],
)
def test_an_expression_means_what_its_parts_mean(text: str, expected: list[Any]) -> None:
    assert scope(twice="x + x").value(tree(text)).run(THREE_STATES).tolist() == expected


def test_a_renaming_reaches_into_formulas() -> None:
    found = scope(twice="x + x")
    assert found.value(tree("twice"), {"x": "y"}).run(THREE_STATES).tolist() == [14, 10, 0]
    assert found.value(tree("twice")).run(THREE_STATES).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z", "'z' is not defined"),
        ('"early"', '"early" is not defined'),
        ("a", "a -> b -> a: formulas in a circle"),
        ("x & y", "an operand of & is a number"),
    ],
)
def test_what_means_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=f"^m, line 1: {message}"):
        scope(a="b + 1", b="a").value(tree(text))


def test_formulas_that_grow_without_end_are_refused() -> None:
    doubled = {f"f{k}": f"f{k - 1} + f{k - 1}" for k in range(1, 60)}
    assert scope(f0="x", **doubled).value(tree("f20")).run(THREE_STATES)[1] == 2**20  # each once
    with pytest.raises(FileError, match=r"beyond 2\^62"):
        scope(f0="x", **{**doubled, "f60": "f59", "f62": "f59 * 16"}).value(tree("f62")).run(
            THREE_STATES
        )
    nested = {f"g{k}": f"g{k - 1}" for k in range(1, 120)}
    with pytest.raises(FileError, match="nested more than 100 deep"):
        scope(g0="x", **nested).value(tree("g119"))


# What a file describes: shared actions under a renaming, and names that are taken.


TRUE = Literal(True, 1)


def test_the_alphabet_of_a_module_has_its_actions_renamed_and_no_empty_one() -> None:
    commands = tuple(Command(action, TRUE, (), 1) for action in ("", "go", "stop", "go"))
    assert Module("m", commands, 1).alphabet == {"go", "stop"}
    assert Module("m", commands, 1, renamed={"go": "run"}).alphabet == {"run", "stop"}


def test_a_name_is_taken_by_a_constant_a_variable_or_a_formula() -> None:
    program = Program(
        "m.sm",
        "ctmc",
        constants={"N": Constant("N", "int", None, 1)},
        variables={"x": Variable("x", "bool", None, None, None, 2)},
        formulas={"busy": TRUE},
    )
    assert program.names() == {"N", "x", "busy"}
    for name in ("N", "x", "busy"):
        with pytest.raises(FileError, match=rf"^m\.sm, line 7: '{name}' is defined twice"):
            program.check_new(name, 7)
    program.check_new("y", 7)

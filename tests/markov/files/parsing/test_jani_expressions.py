"""Expressions of JANI are those of the PRISM language."""

from __future__ import annotations

import math
from typing import Any

import pytest

from markov.errors import FileError
from markov.files.parsing.expression_parsing import ExpressionParser
from markov.files.parsing.jani_expressions import JaniReader
from markov.files.parsing.tokens import Cursor, tokens_of
from markov.files.syntax import Literal


def op(sign: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": sign, "left": left, "right": right}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"), (2, "2"), (0.5, "0.5"), ("x", "x"),
        (op("≤", "x", op("*", 2, "y")), "x <= 2 * y"),
        (op("-", op("-", 5, 3), 1), "5 - 3 - 1"),
        (op("-", 5, op("-", 3, 1)), "5 - (3 - 1)"),
        (op("∧", "a", op("∧", "b", "c")), "a & b & c"),
        (op("∨", op("∨", "a", "b"), "c"), "a | b | c"),
        (op("⇒", "a", op("≠", "x", 1)), "a => x != 1"),
        (op("⇒", op("⇒", "a", "b"), "c"), "(a => b) => c"),
        ({"op": "¬", "exp": "a"}, "!a"),
        ({"op": "ite", "if": "a", "then": 1, "else": 2}, "a ? 1 : 2"),
        (op("%", "x", 3), "mod(x, 3)"),
        (op("min", "x", "y"), "min(x, y)"),
        ({"op": "floor", "exp": "x"}, "floor(x)"),
    ],
)  # fmt: skip
def test_an_expression_is_the_tree_of_the_same_text(value: Any, text: str) -> None:
    expected = ExpressionParser(Cursor(tokens_of(text, "m"), "m")).expression()
    assert JaniReader("m.jani").expression(value, "guard") == expected


def test_constants_of_mathematics_have_names() -> None:
    reader = JaniReader("m.jani")
    assert reader.expression({"constant": "π"}, "rate") == Literal(math.pi, 1)
    with pytest.raises(FileError, match="constant 'i': must be e or π"):
        reader.expression({"constant": "i"}, "rate")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**62, "beyond the range"),
        (math.inf, "beyond the range"),
        (None, "NoneType is no expression"),
        ({"op": "sin", "exp": 1}, "operator 'sin' is not read"),
        ({"op": "ite", "if": True, "then": 1}, "'ite' without 'else'"),
    ],
)
def test_what_is_not_read_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(FileError, match=rf"^m\.jani: edges\[2\]: .*{message}"):
        JaniReader("m.jani").expression(value, "edges[2]")


def test_nesting_has_an_end() -> None:
    value: Any = "x"
    for _ in range(200):
        value = {"op": "¬", "exp": value}
    with pytest.raises(FileError, match="nested more than 150 deep"):
        JaniReader("m.jani").expression(value, "guard")


def test_an_entry_must_be_there_and_of_its_type() -> None:
    reader = JaniReader("m.jani")
    assert reader.of({"name": "q"}, "name", "automata[0]", str) == "q"
    for value in ({}, {"name": 3}, "name"):
        with pytest.raises(FileError, match=r"automata\[0\]: 'name' is missing or of a wrong type"):
            reader.of(value, "name", "automata[0]", str)

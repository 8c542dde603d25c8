"""What names mean: variables, formulas under a renaming, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from markov.errors import FileError
from markov.files.columns import Columns
from markov.files.parsing.expression_parsing import ExpressionParser
from markov.files.parsing.tokens import Cursor, tokens_of
from markov.files.scopes import Scope
from markov.files.values import Value, constant


def tree(text: str) -> Any:
    return ExpressionParser(Cursor(tokens_of(text, "m"), "m")).expression()


def scope(**formulas: str) -> Scope:
    x = Value("int", lambda c: c.codes[0], 0, 9)
    y = Value("int", lambda c: c.codes[1], 0, 9)
    trees = {name: tree(text) for name, text in formulas.items()}
    label = Value("bool", lambda c: c.codes[0] > 1)
    labels = {"late": label}.get
    return Scope("m", {"x": x, "y": y, "N": constant(4)}, trees, labels)


STATES = Columns(np.array([[0, 1, 2], [7, 5, 0]]))


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
    assert scope(twice="x + x").value(tree(text)).run(STATES).tolist() == expected


def test_a_renaming_reaches_into_formulas() -> None:
    found = scope(twice="x + x")
    assert found.value(tree("twice"), {"x": "y"}).run(STATES).tolist() == [14, 10, 0]
    assert found.value(tree("twice")).run(STATES).tolist() == [0, 2, 4]


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
    assert scope(f0="x", **doubled).value(tree("f20")).run(STATES)[1] == 2**20  # each once
    with pytest.raises(FileError, match=r"beyond 2\^62"):
        scope(f0="x", **{**doubled, "f60": "f59", "f62": "f59 * 16"}).value(tree("f62")).run(STATES)
    nested = {f"g{k}": f"g{k - 1}" for k in range(1, 120)}
    with pytest.raises(FileError, match="nested more than 100 deep"):
        scope(g0="x", **nested).value(tree("g119"))

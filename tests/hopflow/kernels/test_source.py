"""Source of functions and literals of numbers, as the kernels need them."""

from __future__ import annotations

import ast
import enum
import inspect
import math

import numpy as np
import pytest

from hopflow.kernels.source import KernelError, literal, locals_of, parse, refuse


class Level(enum.IntEnum):
    HIGH = 7


def documented(x: float, n: int = 2) -> float:
    """Docstring, annotations and defaults."""
    total = 0.0
    for k in range(n):
        total += x * k
    return total


def test_a_parsed_function_computes_the_same_and_keeps_its_lines():
    tree = parse(documented)
    assert tree.lineno == inspect.getsourcelines(documented)[1]
    assert all(argument.annotation is None for argument in tree.args.args)
    assert ast.get_docstring(tree) is None
    scope: dict = {}
    exec(ast.unparse(tree), scope)  # noqa: S102
    assert scope["documented"](1.5, 4) == documented(1.5, 4) == 9.0


def test_arguments_and_variables_are_local():
    assert locals_of(parse(documented)) == {"x", "n", "total", "k"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"), (np.int64(3), "3"), (Level.HIGH, "7"), (np.float64(0.1), "0.1"),
        ((1, (2.5, False)), "(1, (2.5, False))"), (math.nan, "math.nan"),
        ("text", None), ([1], None), ((1, "text"), None), (None, None),
    ],
)  # fmt: skip
def test_numbers_and_their_tuples_have_a_literal(value, text):
    tree = literal(value)
    assert (tree and ast.unparse(ast.Expression(tree))) == text


def test_infinity_survives_as_a_literal():
    assert eval(ast.unparse(ast.Expression(literal(-math.inf)))) == -math.inf


def test_an_error_names_the_place_and_the_text_of_a_node():
    tree = parse(documented)
    line = inspect.getsourcelines(documented)[1] + 5
    error = refuse(tree.body[-1], "not this")
    assert isinstance(error, KernelError)
    assert str(error) == f"{__file__}:{line}: return total: not this"

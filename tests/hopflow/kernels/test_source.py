"""Source of functions and literals of numbers, as the kernels need them."""

from __future__ import annotations

import ast
import enum
import gc
import inspect
import math
import sys
import threading

import numpy as np
import pytest

from hopflow.kernels.source import KernelError, literal, locals_of, parse, refuse, syntax_tree


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


TEXT = "def f(a, b):\n" + "".join(
    f"    x{i} = (a + {i}) * (b - {i}) if a > {i} else [a, (b, {{'k': b}})]\n" for i in range(60)
)


class Collected:
    """An object in a circle with itself, whose end runs Python code."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum(range(50))


def test_threads_parse_at_the_same_time() -> None:
    errors: list[SystemError] = []

    def parse() -> None:
        for _ in range(60):
            _ = [Collected() for _ in range(5)]
            try:
                syntax_tree(TEXT)
            except SystemError as error:
                errors.append(error)

    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    threads = [threading.Thread(target=parse) for _ in range(4)]
    try:
        gc.set_threshold(50)
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert errors == []

"""Checked arithmetic returns what Python returns, bit for bit, or raises an exception."""

from __future__ import annotations

import itertools
import math
import random
import struct
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from hopflow.kernels import KernelError, build, checked
from tests.hopflow.kernels.test_checking import function_of

WHOLE = [0, 1, -1, 2, -2, 3, 7, -7, 10, 62, 2**31, -(2**45), 2**52]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, 1e300, -1e300, math.inf, -math.inf, math.nan, 5e-324, 0.1]  # fmt: skip
TWO = ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "divmod(a, b)[0]", "divmod(a, b)[1]", "max(a, b)",
       "min(a, b)", "a << b", "a >> b", "a & b", "a | b", "a ^ b", "a ** b", "pow(a, b)", "math.pow(a, b)",
       "where(a > 0, 1 / b, 0.0)", "sum((a, b))", "(1, 2, 3)[a]", "[0.5, 1.0][a]", "a * b * a - b", "a or b",
       "max(b, a, 1)", "0 < a <= b", "maximum(a, b)", "minimum(a, b)"]  # fmt: skip
ONE = ["a ** 0", "a ** 2", "a ** 3", "a ** 7", "a ** -1", "a ** -2", "a ** 0.5", "a ** 2.0", "round(a)", "int(a)",
       "~a", "-a", "abs(a)", "not a", "math.floor(a)", "math.ceil(a)", "math.trunc(a)", "bool(a)", "+a"]  # fmt: skip
MATH = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "degrees", "erf", "erfc", "exp", "exp2",
        "expm1", "fabs", "log", "log10", "log1p", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh"]  # fmt: skip


def run(a: Any, b: Any) -> Any:
    return checked_rule(a, b)  # type: ignore[name-defined]  # noqa: F821


def compiled(text: str, tmp_path: Path, *kinds: str) -> tuple[Any, Any]:
    plain = function_of(f"return {text}", tmp_path)
    kernel = build(run, functions={"checked_rule": plain}, checked=True, salt=",".join(kinds))
    return plain, kernel


def compare(plain: Any, kernel: Any, pairs: Any) -> int:
    """Compare results; return how many there were."""
    count = 0
    for pair in pairs:
        try:
            found = kernel(*pair)
        except KernelError:
            return 0
        except Exception:  # noqa: BLE001, S112  # then plain Python is asked
            continue
        expected = plain(*pair)
        same = struct.pack("d", found) == struct.pack("d", expected)
        assert same or found != found != expected != expected, (pair, found, expected)  # noqa: PLR0124
        count += 1
    return count


NEVER = {("a & b", float), ("a | b", float), ("a ^ b", float), ("a << b", float), ("a >> b", float), ("~a", float),
         ("(1, 2, 3)[a]", float), ("[0.5, 1.0][a]", float), ("a ** b", int), ("pow(a, b)", int)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("text", [*TWO, *ONE, *(f"math.{name}(a)" for name in MATH)])
def test_results_are_those_of_python_where_there_are_any(text, kind, tmp_path):
    values: list[Any] = WHOLE if kind is int else FLOATS
    plain, kernel = compiled(text, tmp_path, kind.__name__, kind.__name__)
    assert (compare(plain, kernel, itertools.product(values, values)) == 0) == (
        (text, kind) in NEVER
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a ** 2", "a ** 3", "a ** 0.5", "a ** -1", "math.pow(a, b)"])
def test_powers_round_as_in_python(text, tmp_path):
    """LLVM replaces powers by products and square roots, which differ in the last bit for up to a third of floats."""
    rng = random.Random(4)
    pairs = [(rng.uniform(1e-3, 1e3), rng.uniform(-3.0, 3.0)) for _ in range(20_000)]
    assert compare(*compiled(text, tmp_path, "float", "float"), pairs) == len(pairs)


def test_bounds_of_whole_numbers():
    """All below 2^53: sums, products, powers and shifts beyond raise an exception, as do conversions."""

    @numba.njit
    def calculate(kind: int, a: int, b: int) -> int:
        if kind == 0:
            return checked.add(a, b)
        if kind == 1:
            return checked.subtract(a, b)
        if kind == 2:
            return checked.multiply(a, b)
        if kind == 3:
            return checked.whole_power(a, b)
        if kind == 4:
            return checked.shift_left(a, b)
        return checked.convertible(a)

    top = 2**53 - 1
    inside = [
        (0, top - 1, 1),
        (1, 1 - top, 1),
        (2, 2**26, 2**26),
        (3, 3, 33),
        (4, 1, 52),
        (5, top, 0),
    ]
    expected = [top, -top, 2**52, 3**33, 2**52, top]
    assert [calculate(*given) for given in inside] == expected
    for given in [
        (0, top, 1),
        (1, -top, 1),
        (2, 2**27, 2**26),
        (2, 2**40, -(2**40)),
        (3, 3, 34),
        (3, 2, 400),
    ]:
        with pytest.raises(OverflowError):
            calculate(*given)
    for given in [(4, 1, 53), (4, 1, -1), (4, 2**30, 30), (5, 2**53, 0)]:
        with pytest.raises(OverflowError):
            calculate(*given)


def test_from_python_they_are_its_own_operations():
    assert checked.add(2**60, 1) == 2**60 + 1
    assert (checked.subtract(3, 5), checked.multiply(3, 5), checked.invert(3)) == (-2, 15, ~3)
    assert (checked.power(2, -1), checked.whole_power(2, 70)) == (0.5, 2**70)
    assert (checked.shift_left(1, 70), checked.shift_right(9, 2)) == (2**70, 2)
    assert (checked.finite(math.inf), checked.convertible(1e300)) == (math.inf, 1e300)
    assert (checked.item([5, 6], -1), checked.sized([5], 9), checked.total((1, 2))) == (6, [5], 3)
    assert (checked.select(False, 3, 4), checked.NAIVE_SUMS) == (4, sys.version_info < (3, 12))

"""Kernels with checks, the checks of kernels, and increments of a rule's state."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import math
import random
import struct
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from hopflow import where
from hopflow.changes import NoSumError, change_of
from hopflow.kernels import KernelError, build, checked, shape_of
from hopflow.kernels.checked import NAIVE_SUMS
from hopflow.kernels.module import Module

# Checked arithmetic returns what Python returns, bit for bit, or raises an exception.

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
if not NAIVE_SUMS:
    NEVER.add(("sum((a, b))", float))  # plain Python compensates rounding there


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


# Where the operations of a rule are checked, and what is refused.

_count = itertools.count()
HEAD = "import math\nfrom hopflow import maximum, minimum, where\n\ndef again(a, b):\n    return again(a, b) if a else 1\n\n"


def function_of(body: str, folder: Path) -> Any:
    """Return ``rule(a, b)`` with a body, imported from a file."""
    path = folder / f"rule_{next(_count)}.py"
    path.write_text(f"{HEAD}\ndef rule(a, b):\n    {body}\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.rule


def source_of(body: str, folder: Path) -> str:
    """Return the source of a rule's function in a kernel."""
    module = Module({}, {"run"}, checked=True)
    module.add("checked_rule", function_of(body, folder), "State")
    text = module.text()
    return text[text.index("def checked_rule") :].replace("checked_arithmetic.", "")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a + b", "return add(a, b)"),
        ("return 1 + 2 - b", "return subtract(1 + 2, b)"),
        ("return a / b // 2 % 3", "return a / b // 2 % 3"),
        ("a += b\n    a /= 2\n    return a", "a = add(a, b)\n    a /= 2\n    return a"),
        ("return math.log(a)", "return finite(math.log(a))"),
        ("return math.isnan(a)", "return math.isnan(a)"),
        ("return math.floor(a)", "return math.floor(convertible(a))"),
        ("return math.pow(a, b)", "return power(a * 1.0, b)"),
        ("return a ** 2 + a ** -2", "return add(whole_power(a, 2), power(a, -2.0))"),
        ("return pow(a, b)", "return power(a, b)"),
        ("return int(a) + round(b)", "return add(int(convertible(a)), round(convertible(b)))"),
        ("return sum(a)", "return total(a)"),
        ("return a[b] + a[1] + a[-1] + a[0, 1]", "return add(add(add(item(a, b), sized(a, 1)[1]), sized(a, -1)[-1]), item(a, (0, 1)))"),
        ("return where(a > 0, 1 / a, b)", "return select(a > 0, 1 / a, b)"),
        ("return maximum(a, b)", "return max(b, a)"),
        ("return ~a << b >> 1", "return shift_right(shift_left(invert(a), b), 1)"),
        ("return 1 if a is None else a[:1]", "return 1 if a is None else a[:1]"),
    ],
)  # fmt: skip
def test_operations_are_replaced(body, expected, tmp_path):
    assert source_of(body, tmp_path).split(":\n    ", 1)[1].strip() == expected


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return math.gamma(a)", "may not use this function of math"),
        ("return math.log(a, b)", "may not use this function of math"),
        ("return math.fmod(a, b)", "may not use this function of math"),
        ("f = math.hypot\n    return f(a, b)", "may not use this function of math"),
        ("return round(a, 2)", "may call round with one number only"),
        ("return sum(a, b)", "may call sum with one number only"),
        ("return pow(a, b, 3)", "may call pow with one number only"),
        ("return a is b", "may compare by `is` with None only"),
        ("return a.mean()", "may not call this method"),
        ("a[0] = b\n    return a", "may not change an element"),
        ("a[0] += b\n    return a", "may not change an element or an attribute"),
        ("try:\n        return 1 / a\n    except:\n        return b", "may not catch exceptions"),
        ("return a + 9007199254740992", r"a whole number beyond 2\^53"),
        ("return again(a, b)", "a compiled rule may not call itself"),
    ],
)  # fmt: skip
def test_what_has_no_checked_replacement_is_refused(body, why, tmp_path):
    with pytest.raises(KernelError, match=why):
        source_of(body, tmp_path)


@pytest.mark.parametrize(
    ("body", "a", "b", "error"),
    [
        ("return max(0.5, math.log(a))", 0.0, 1.0, OverflowError),
        ("return min(1.0, a ** 9)", 1000, 1, OverflowError),
        ("return where(a > 0, 1 / a, 0.0)", 0.0, 0.0, ZeroDivisionError),
        ("return 1.0 if int(a) < 0 else 2.0", math.nan, 0.0, OverflowError),
        ("return max(0.0, b[a])", 3, np.ones(3), IndexError),
        ("return max(0.0, b[5])", 3, np.ones(3), IndexError),
        ("return max(0.0, b[a])", 3, (1.0, 2.0), IndexError),
        ("return max(0.0, b[1, a])", 3, np.ones((2, 2)), IndexError),
    ],
)
def test_where_python_raises_so_do_compiled_rules(body, a, b, error, tmp_path):
    plain = function_of(body, tmp_path)
    kernel = build(run, functions={"checked_rule": plain}, checked=True, salt=shape_of((a, b)))
    with pytest.raises(error):
        kernel(a, b)


# Increments of a rule's state: they are those of the rule, without cancellation.

FIELDS = ("w", "t")


class State(NamedTuple):
    w: object
    t: object


def rule(body):
    (tree,) = ast.parse(f"def rule(s, q):\n {body}").body
    return tree


def no_helper(name):
    raise NoSumError


def increments(body):
    """Return the increments as a Python function; a difference has factors -1.0, exact on dyadics."""
    changed = change_of(rule(body), FIELDS, {"where": where}.get, no_helper)
    changed.name = "change"
    scope = {"where": where, "State": State}
    exec(compile(ast.unparse(ast.fix_missing_locations(changed)), "change", "exec"), scope)  # noqa: S102
    return scope["change"]


BODIES = [
    "return s._replace(w=s.w + 1 / s.w)",
    "return s._replace(w=s.w - q * s.w, t=s.t + 1)",
    "x = 1 / s.w; return s._replace(w=s.w + x * q)",
    "return s._replace(w=where(s.w < 5, s.w + 1, s.w + 1 / s.w))",
]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("w", [Fraction(3), Fraction(23, 2)])
def test_increments_are_differences_of_the_states_in_exact_arithmetic(body, w):
    scope = {"where": where}
    exec(f"def rule(s, q):\n {body}", scope)  # noqa: S102
    old, q = State(w, Fraction(2)), Fraction(1, 8)
    new = scope["rule"](old, q)
    assert tuple(increments(body)(old, q)) == (new.w - old.w, new.t - old.t)


def test_no_digit_of_a_small_increment_is_lost():
    change = increments("return s._replace(w=s.w + 1e-17)")
    assert change(State(1.0, 0.0), 0.0)[0] == 1e-17
    assert 1.0 + 1e-17 - 1.0 == 0.0


def test_fields_that_are_not_needed_have_no_increment_and_need_be_no_sum():
    body = "return s._replace(w=s.w + 1.0, t=s.w * s.t)"
    with pytest.raises(NoSumError):
        change_of(rule(body), FIELDS, {}.get, no_helper)
    changed = change_of(rule(body), FIELDS, {}.get, no_helper, omitted=("t",))
    assert ast.unparse(changed.body[-1]) == "return s._replace(w=1.0, t=0.0)"

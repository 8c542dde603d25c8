"""Where the operations of a rule are checked, and what is refused."""

from __future__ import annotations

import importlib.util
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopflow.kernels import KernelError, build, shape_of

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


def run(a: Any, b: Any) -> Any:
    return checked_rule(a, b)  # type: ignore[name-defined]  # noqa: F821


def source_of(body: str, folder: Path) -> str:
    """Return the source of a rule's function in a kernel."""
    from hopflow.kernels.module import Module

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

"""What is said of rules that go wrong: the state, the line, and what to write."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from markov import explore, generator
from markov.errors import RuleError
from markov.generators.building import build_chain
from tests.markov.generators.conftest import Bad, one_component


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"step": 2.0}, r"State\(n=2\) -> State\(n=4.0\) at rate 1.0: the target is outside"),
        ({"step": -3.0}, r"State\(n=2\) -> State\(n=-1.0\) at rate 1.0: the target is outside"),
        ({"step": 0.5}, r"State\(n=2\) -> State\(n=2.5\) at rate 1.0: the target is outside"),
        ({"rate": -1.0}, r"State\(n=2\) -> State\(n=3.0\) at rate -1.0: a rate must be finite"),
        ({"rate": math.nan}, r"State\(n=2\) -> .* at rate nan: a rate must be finite and >= 0"),
        ({"rate": math.inf}, r"State\(n=2\) -> .* at rate inf: a rate must be finite and >= 0"),
    ],
)
def test_bad_rules(changes, said, compiled):
    with pytest.raises(ValueError, match=r"^Bad: " + said):
        generator(Bad(**changes), compiled=compiled)


@pytest.mark.parametrize("operation", ["6 // s.n", "6 % s.n", "6.0 / s.n", "0.0 ** -(s.n == 0)"])
@pytest.mark.parametrize("size", [10, 5000])
def test_a_division_by_zero_is_an_error(size, operation):
    text = f"def rules(s, q):\n rate = {operation}\n yield s._replace(n=(s.n + 1) % q.size), 1.0 + rate"
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102
    with pytest.raises(
        ZeroDivisionError, match=r"^rules: State\(n=0\): ZeroDivisionError"
    ) as caught:
        build_chain(one_component(range(size), scope["rules"], {"size": size}))
    assert isinstance(caught.value, RuleError)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "yield s._replace(n=9), 1.0",
            r"-> State\(n=9\) at rate 1.0: the target is outside the space",
        ),
        ("yield s._replace(n=0.5), 1.0", r"-> State\(n=0.5\) at rate 1.0: the target is outside"),
        ("yield s, -1.0", r"-> State\(n=0\) at rate -1.0: a rate must be finite and >= 0"),
        ("yield s, float('nan')", r"at rate nan: a rate must be finite and >= 0"),
        ("yield s, '1.0'", r"at rate 1.0: a rate must be finite and >= 0"),
        ("yield s, None", r"at rate None: a rate must be finite and >= 0"),
        ("yield s, 1j", r"at rate 1j: a rate must be finite and >= 0"),
        ("yield s", r"yields State\(n=0\).*; yield \(target, rate\) pairs"),
        ("yield s, 1.0, 2.0", r"yields \(State\(n=0\), 1.0, 2.0\).*; yield \(target, rate\) pairs"),
        ("yield 3, 1.0", r"-> 3 at rate 1.0: a target is a state: write s._replace"),
        ("yield (1, 2), 1.0", r"-> \(1, 2\) at rate 1.0: a state has 1 values \(n\)"),
        ("yield {'m': 1}, 1.0", r"-> \{'m': 1\} at rate 1.0: a state with n is expected"),
        ("yield s._replace(m=1), 1.0", r"(Value|Type)Error: Got unexpected field names: \['m'\]"),
        ("yield s._replace(n=s.m), 1.0", r"AttributeError: 'State' object has no attribute 'm'"),
        ("yield s, q.rate", r"AttributeError: .* has no attribute 'rate'"),
        ("yield s, RATE", r"NameError: name 'RATE' is not defined.*; define the name"),
        ("return 3", r"TypeError: 'int' object is not iterable.*; a rule takes a state"),
        ("return None", r"the rules return None.*; yield \(target, rate\) pairs"),
        ("raise ValueError('no such state')", r": ValueError: no such state"),
        ("yield s, [1.0, 2.0][s.n + 2]", r"IndexError: list index out of range.*; guard the index"),
        ("yield s, {}[s.n]", r"KeyError: 0.*guard the look-up"),
        ("yield s, 10.0 ** (400 + s.n)", r"OverflowError: .*; use a float, or a smaller exponent"),
        ("yield s._replace(n=[1]), 1.0", r"-> State\(n=\[1\]\) at rate 1.0: the target is outside"),
    ],
)
@pytest.mark.parametrize("size", [5, 3000])
def test_refusals_name_the_state_the_line_and_what_to_write(body, said, size, tmp_path):
    path = tmp_path / "rules_of_a_user.py"
    text = f"def rules(s, q):\n    {body}\n".replace("n=9", f"n={size}")
    path.write_text(text, encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), scope)  # noqa: S102
    said = said.replace("n=9", f"n={size}")
    with pytest.raises(RuleError, match=rf"^rules: State\(n=0\).*{said}") as caught:
        build_chain(one_component(range(size), scope["rules"]))
    assert caught.value.file == str(path)
    assert caught.value.line == (1 if "return N" in body or "return 3" in body else 2)
    assert f"rules_of_a_user.py, line {caught.value.line}: " in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert not re.search("numba|Numba|pyobject|Symbol", str(caught.value))


def test_without_a_start_the_message_says_what_a_start_would_do():
    def rules(s):
        yield s._replace(n=s.n + 1), 1.0

    with pytest.raises(RuleError, match=r"with a start\(\) only the states that it leads to count"):
        build_chain(one_component(range(4), rules))


def test_rules_that_do_not_do_the_same_twice():
    calls = []

    def rules(s, q):
        calls.append(s)
        if len(calls) < 3:
            yield s._replace(n=s.n + 1), -1.0

    with pytest.raises(RuleError, match=r"-1\.0: a rate must be|called twice"):
        explore(rules, start={"n": 0})

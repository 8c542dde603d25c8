"""Calls of rules: numbers that are traced, and calls that repeat."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
import re
import time
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from markov import explore, generator, stationary
from markov.errors import RuleError
from markov.generators.building import build_chain
from markov.generators.plain import Calls, indices_to_repeat
from markov.generators.regions import find_regions
from markov.generators.standins import Span, Traced, asks_for_identity, functions_used_by
from tests.markov.generators.conftest import one_component, space_of
from tests.surface import for_each

# What is said of rules that go wrong: the state, the line, and what to write.


@pytest.mark.parametrize("operation", ["6 // s.n", "6 % s.n", "6.0 / s.n", "0.0 ** -(s.n == 0)"])
@pytest.mark.parametrize("size", [10, 5000])
def test_a_division_by_zero_is_an_error(size, operation):
    text = f"def rules(s, q):\n rate = {operation}\n yield s._replace(n=(s.n + 1) % q.size), 1.0 + rate"
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102
    with pytest.raises(ZeroDivisionError, match=r"^rules: State\(n=0\): ZeroDivisionError") as caught:
        build_chain(one_component(range(size), scope["rules"], {"size": size}))
    assert isinstance(caught.value, RuleError)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("yield s._replace(n=9), 1.0", r"-> State\(n=9\) at rate 1.0: the target is outside the space"),
        ("yield s._replace(n=0.5), 1.0", r"-> State\(n=0.5\) at rate 1.0: the target is outside"),
        ("yield s, -1.0", r"-> State\(n=0\) at rate -1.0: a rate must be a finite number >= 0"),
        ("yield s, float('nan')", r"at rate nan: a rate must be a finite number >= 0"),
        ("yield s, '1.0'", r"at rate '1.0': a rate must be a finite number >= 0"),
        ("yield s, None", r"at rate None: a rate must be a finite number >= 0"),
        ("yield s, 1j", r"at rate 1j: a rate must be a finite number >= 0"),
        ("yield s", r"yields State\(n=0\).*; yield \(target, rate\) pairs"),
        ("yield s, 1.0, 2.0", r"yields \(State\(n=0\), 1.0, 2.0\).*; yield \(target, rate\) pairs"),
        ("yield 3, 1.0", r"-> 3 at rate 1.0: a target is a state: write s._replace"),
        ("yield (1, 2), 1.0", r"-> \(1, 2\) at rate 1.0: a state has 1 value \(n\)"),
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
)  # fmt: skip
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


# Stand-ins for whole numbers pass for numbers and keep their range.


@pytest.mark.parametrize("name", ["lshift", "rshift", "mul", "sub", "floordiv", "mod", "and_"])
@pytest.mark.parametrize("swapped", [False, True])
def test_stand_ins_count_as_numbers(name, swapped):
    span = Span(5, 2, 9)
    pair = (Traced(span, 1), 2)
    values = (6, 2)
    if swapped:
        pair, values = pair[::-1], values[::-1]
    found = getattr(operator, name)(*pair)
    assert int(found) == getattr(operator, name)(*values)
    assert (span.low, span.high) == (5, 5)


def test_stand_ins_pass_for_whole_numbers():
    span = Span(5, 2, 9)
    here = Traced(span, 1)
    assert isinstance(here, int)
    assert f"{here} {here:03d} {here!r}" == "6 006 6"
    assert {6: "six"}[here] == "six"
    assert here.bit_length() == 3
    assert [*range(here)] == [0, 1, 2, 3, 4, 5]
    assert np.exp(here) == np.exp(6)
    assert (span.low, span.high) == (5, 5)


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 10])
@pytest.mark.parametrize(
    "bound",
    [1e-17, 1e-300, 0.0, 1 + 1e-16, 2.5, -1e-17, np.inf, -np.inf, np.nan, 3, Fraction(1, 10**30), Decimal("0.5"),
     np.float64(0.1), np.int64(4), True, None, "a", 3 + 0j],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons_are_those_of_every_value_that_is_kept(name, bound, offset):
    """Sums with floats round: -1e-17 + 1 is 1.0."""
    compare = getattr(operator, name)
    for value in range(-4, 5):
        span = Span(value, -4, 4)
        try:
            expected = compare(value + offset, bound)
        except TypeError:
            with pytest.raises(TypeError):
                compare(Traced(span, offset), bound)
            continue
        assert compare(Traced(span, offset), bound) == expected
        assert span.low <= value <= span.high
        assert all(compare(k + offset, bound) == expected for k in range(span.low, span.high + 1))


@for_each([round, math.floor, math.ceil, math.trunc, operator.invert, abs])
def test_functions_of_one_number_use_the_value(function):
    span = Span(-2, -4, 4)
    assert function(Traced(span, 1)) == function(-1)
    assert divmod(Traced(span, 1), 3) == divmod(-1, 3)
    assert divmod(7, Traced(span, -1)) == divmod(7, -3)
    assert (span.low, span.high) == (-2, -2)


# Rules that ask for the identity or the type of a number run as plain Python.


class Weather(Enum):
    FAIR = 1
    RAIN = 2


class Level(IntEnum):
    LOW = 1


THREE = 3


def is_three(n: int) -> bool:
    return n is THREE


def given(_: Any) -> int:
    return THREE


TABLE = {"three": lambda n: n is THREE}
half = functools.partial(lambda n, by: n / by if type(n) is int else n, by=2)
HARMLESS = ["s.w is Weather.FAIR", "Weather.FAIR is s.w", "q.limit is None", "None is not q.limit",
            "type(s)(n=s.n) == s", "isinstance(s.n, int)", "s.n == 3", "s.n is Level.LOW", "s.w is not Weather.RAIN"]  # fmt: skip
ASKING = ["s.n is THREE", "s.w is q.weather", "s.n is q.limit", "(s.n > 3) is True", "type(s.n) is int", "type(s.n) == int",
          "type(s.n) in (int, bool)", "is_three(s.n)", "TABLE['three'](s.n)", "half(s.n)", "THREE is s.n",
          "[type(v) for v in s][0] is int", "s.n is not THREE", "s.n is given(Weather.FAIR)", "(lambda n: n is THREE)(s.n)"]  # fmt: skip


def rules_with(test: str) -> Any:
    text = f"def rules(s, q):\n    yield s._replace(n=(s.n + 1) % q.size), 2.0 if {test} else 1.0\n"
    scope = dict(globals())
    exec(text, scope)  # noqa: S102
    return scope["rules"]


@for_each(HARMLESS + ASKING)
def test_what_counts_as_asking_for_identity(test):
    assert asks_for_identity(rules_with(test)) == (test in ASKING)


@pytest.mark.parametrize("test", ["s.n is THREE", "type(s.n) is int", "s.n == 3 and type(s.n) is int"])
def test_such_rules_mean_what_they_mean_in_python(test):
    size = 3000
    model = one_component(range(size), rules_with(test), {"size": size})
    rates = [2.0 if n == 3 or test.startswith("type") else 1.0 for n in range(size)]
    np.testing.assert_array_equal(-build_chain(model).Q.diagonal(), rates)
    with pytest.raises(RuleError, match="cannot be run by arrays"):
        build_chain(model, by="arrays")
    assert find_regions(Calls(model, space_of(model)), space_of(model)) is None


def test_functions_in_containers_and_closures_are_found():
    def inner(n: int) -> int:
        return n

    def rules(s: Any, q: Any) -> Any:
        yield s, inner(TABLE["three"](s.n))

    assert set(functions_used_by(rules)) == {inner, TABLE["three"]}


# Rules that give another answer when they are asked again are refused, whatever the number of states.


SAID = r"^rules: State\(n=\d+\): rules give another answer when asked again: first \[.*\], then "
SIZES = [2, 10, 3000, 12000]


def random_rate() -> Any:
    def rules(s: Any, q: Any) -> Any:
        yield s._replace(n=(s.n + 1) % q.size), random.random()

    return rules


def rate_of_the_clock() -> Any:
    def rules(s: Any, q: Any) -> Any:
        yield s._replace(n=(s.n + 1) % q.size), time.perf_counter_ns() * 1.0

    return rules


def rate_of_a_counter() -> Any:
    count = itertools.count(1)

    def rules(s: Any, q: Any) -> Any:
        yield s._replace(n=(s.n + 1) % q.size), float(next(count))

    return rules


def random_target() -> Any:
    def rules(s: Any, q: Any) -> Any:
        yield s._replace(n=random.randrange(q.size)), 1.0
        yield s._replace(n=(s.n + 1) % q.size), 1.0

    return rules


def alternating() -> Any:
    asked = [0]

    def rules(s: Any, q: Any) -> Any:
        asked[0] += 1
        yield s._replace(n=(s.n + 1) % q.size), 1.0 + asked[0] % 2

    return rules


def remembering() -> Any:
    def rules(s: Any, q: Any, memo: Any = {}) -> Any:  # noqa: B006
        memo["asked"] = memo.get("asked", 0) + 1
        yield s._replace(n=(s.n + 1) % q.size), 1.0 if memo["asked"] <= q.size else 2.0

    return rules


def used_up() -> Any:
    rates: list[float] = []

    def rules(s: Any, q: Any) -> Any:
        if not rates:
            rates.extend([1.0] * q.size)
        if rates[0] > 0.0:
            rates.append(rates.pop(0) - 1.0)
            yield s._replace(n=(s.n + 1) % q.size), 1.0

    return rules


CHANGING = [random_rate, rate_of_the_clock, rate_of_a_counter, random_target, alternating]
ONCE = [remembering, used_up]
"""They change after as many questions as there are states: a quicker way than plain Python asks fewer."""


@for_each([*itertools.product(CHANGING, SIZES), *itertools.product(ONCE, SIZES[:2])])
def test_rules_that_change_their_answer_are_refused_at_every_size(made, size):
    model = one_component(range(size), made(), {"size": size})
    with pytest.raises(RuleError, match=SAID) as caught:
        generator(model)
    assert "test_calls.py, line " in str(caught.value)
    assert caught.value.line is not None


@for_each(CHANGING + ONCE)
def test_they_are_refused_when_states_are_searched(made):
    with pytest.raises(RuleError, match="rules give another answer when asked again"):
        explore(made(), start={"n": 0}, params={"size": 10})


@pytest.mark.parametrize("size", [20, 60])
def test_a_memo_of_the_same_answers_is_none_of_these(size):
    def rules(s: Any, q: Any, memo: Any = {}) -> Any:  # noqa: B006
        rate = memo.setdefault((s.n, s.m), 1.0 + s.n * s.m % 7)
        yield s._replace(n=(s.n + 1) % q.size), rate
        yield s._replace(m=(s.m + 1) % q.size), 2.0

    found = explore(
        rules, start={"n": 0, "m": 0}, params={"size": size},
        space={"n": range(size), "m": range(size)},
    )  # fmt: skip
    assert stationary(found).status is Status.CONVERGED
    n, m = found.states
    np.testing.assert_array_equal(-found.chain.Q.diagonal(), 3.0 + n * m % 7)


@pytest.mark.parametrize("count", [1, 5, 32, 33, 10**6])
def test_the_first_state_is_asked_twice_and_the_last_once(count):
    places = indices_to_repeat(count)
    assert places[:2] == [0, 0]
    assert count - 1 in places
    assert len(places) <= 33
    assert all(0 <= place < count for place in places)

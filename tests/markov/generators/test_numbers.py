"""Numbers that stand for states and rates in rules."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from markov import MM1K, MarkovChain, PauseTandem, stationary_by_level
from markov.errors import RuleError
from markov.generators.building import build_chain
from markov.generators.identity import asks_for_identity, used_by
from markov.generators.slopes import Varying, flat_numbers, plain_rates, rate_slopes
from markov.generators.tracing import Span, Traced
from tests.markov.generators.conftest import one_component

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


@pytest.mark.parametrize(
    "function", [round, math.floor, math.ceil, math.trunc, operator.invert, abs]
)
def test_functions_of_one_number_use_the_value(function):
    span = Span(-2, -4, 4)
    assert function(Traced(span, 1)) == function(-1)
    assert divmod(Traced(span, 1), 3) == divmod(-1, 3)
    assert divmod(7, Traced(span, -1)) == divmod(7, -3)
    assert (span.low, span.high) == (-2, -2)


# Numbers that carry their derivatives, and rates made of them.


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: x + y - 2 * x - (3 - y),
        lambda x, y: x * y * 0.5 / (1 + x),
        lambda x, y: 4.0 / x - x / y,
        lambda x, y: x**3 + y**0.5 - (+x) ** 0,
        lambda x, y: abs(-x) + np.float64(2.0) * y + np.int64(3),
        lambda x, y: max(x, y, 0.1) if x < 10 and y != 3 else -x,
    ],
    ids=["sum", "quotient", "inverse", "power", "numpy", "choice"],
)
def test_derivatives_are_those_of_differences(formula: Callable[[Any, Any], Any]) -> None:
    x, y, h = 1.7, 2.3, 1e-6
    found = formula(Varying(x, {0: 1.0}), Varying(y, {1: 1.0}))
    assert found.value == pytest.approx(formula(x, y), rel=1e-15)
    by_x = (formula(x + h, y) - formula(x - h, y)) / (2 * h)
    by_y = (formula(x, y + h) - formula(x, y - h)) / (2 * h)
    # of second order in h, and rounding over h
    assert found.slopes.get(0, 0.0) == pytest.approx(by_x, abs=1e-8)
    assert found.slopes.get(1, 0.0) == pytest.approx(by_y, abs=1e-8)


def test_a_comparison_of_equals_that_part_is_a_kink() -> None:
    x, y = Varying(1.0, {0: 1.0}), Varying(1.0, {1: 1.0})
    for ask in (lambda: x < y, lambda: max(x, 1.0), lambda: bool(x - 1.0), lambda: x == y):
        with pytest.raises(ArithmeticError, match="has no derivative"):
            ask()
    assert x == Varying(1.0, {0: 1.0})
    assert not x - x


@pytest.mark.parametrize("use", [int, float, math.sqrt, range, hash, round])
def test_what_is_no_arithmetic_is_refused(use: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        use(Varying(2.0, {0: 1.0}))


def test_only_plain_symbols_are_taken_apart() -> None:
    assert flat_numbers((1.0, (2, "a"), None)) == [1.0, 2, "a", None]
    assert flat_numbers((1.0, np.ones(2))) is None
    assert flat_numbers({"rate": 1.0}) is None


def test_slopes_of_a_queue_and_rates_that_are_not_its_own() -> None:
    chain = MarkovChain(MM1K(capacity=2))
    assert chain.space is not None
    assert chain.model is not None
    names = type(chain.model.params)._fields
    places = np.arange(3)
    by = names.index("arrival_rate")
    found = rate_slopes(chain.model, chain.space, places, chain.Q, frozenset([by]))
    assert found is not None
    np.testing.assert_array_equal(
        found.along(np.eye(len(names))[by]).toarray(), [[-1, 1, 0], [0, -1, 1], [0, 0, 0]]
    )
    assert rate_slopes(chain.model, chain.space, places, 2.0 * chain.Q, frozenset([by])) is None


def test_plain_rates_are_rows_of_the_generator() -> None:
    chain = PauseTandem(buffers=(3, 4), high_threshold=2)
    made = MarkovChain(chain)
    states = made.recurrent_classes[0]
    places = made.space.numbers(np.array(list(made.components_of(states).values())))
    some = np.array([0, 7, 3])
    found = plain_rates(chain, made.space, places, some).toarray()
    expected = made.Q[states][:, states].toarray()[some]
    expected[np.arange(3), some] = 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-15)


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


@pytest.mark.parametrize("test", HARMLESS + ASKING)
def test_what_counts_as_asking_for_identity(test):
    assert asks_for_identity(rules_with(test)) == (test in ASKING)


@pytest.mark.parametrize(
    "test", ["s.n is THREE", "type(s.n) is int", "s.n == 3 and type(s.n) is int"]
)
def test_such_rules_mean_what_they_mean_in_python(test):
    size = 3000
    model = one_component(range(size), rules_with(test), {"size": size})
    rates = [2.0 if n == 3 or test.startswith("type") else 1.0 for n in range(size)]
    np.testing.assert_array_equal(-build_chain(model).Q.diagonal(), rates)
    for way in ("arrays", "regions", "sets"):
        with pytest.raises(RuleError, match=f"cannot be run by {way}"):
            build_chain(model, by=way)


def test_levels_are_refused_for_them():
    def rules(s: Any) -> Any:
        if s.n < 5:
            yield s._replace(n=s.n + 1), 1.0 if type(s.n) is int else 2.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0

    with pytest.raises(RuleError, match="for levels the rules may not compare numbers by `is`"):
        stationary_by_level(one_component(range(6), rules))


def test_functions_in_containers_and_closures_are_found():
    def inner(n: int) -> int:
        return n

    def rules(s: Any, q: Any) -> Any:
        yield s, inner(TABLE["three"](s.n))

    assert set(used_by(rules)) == {inner, TABLE["three"]}

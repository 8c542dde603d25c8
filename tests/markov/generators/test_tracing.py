"""Stand-ins for whole numbers pass for numbers and keep their range."""

from __future__ import annotations

import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from markov.generators.tracing import Span, Traced


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

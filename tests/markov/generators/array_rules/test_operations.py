"""Operations on one number for each state are Python's in each of them, or refused."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from markov.generators.array_rules.operations import (
    LIMIT,
    NotOnArraysError,
    UniformArray,
    binary,
    compared,
    in_each,
    limited,
    truth,
    unary,
    wrapped,
)

WHOLE = np.array([-7, -1, 1, 2, 9])
REAL = np.array([-2.5, -0.0, 0.1, 1e300, np.inf])
TRUTHS = np.array([True, False, True, True, False])
ARITHMETIC = (operator.add, operator.sub, operator.mul)
QUOTIENTS = (operator.truediv, operator.floordiv, operator.mod)
COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


def each(operation, a, b):
    """Return what Python gives in each state, with types."""
    columns = [x.tolist() if isinstance(x, np.ndarray) else [x] * 5 for x in (a, b)]
    return [operation(x, y) for x, y in zip(*columns, strict=True)]


def same(found, expected):
    return found.tolist() == expected and set(map(type, found.tolist())) == set(map(type, expected))


@pytest.mark.parametrize("operation", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("a", [WHOLE, REAL, TRUTHS], ids=["whole", "real", "truth"])
@pytest.mark.parametrize("b", [WHOLE, REAL, TRUTHS, 3, -0.5, True], ids=str)
def test_arithmetic_is_that_of_python(operation, a, b):
    with np.errstate(all="ignore"):
        if operation in COMPARISONS:
            assert same(compared(operation, a, b), each(operation, a, b))
            assert same(compared(operation, b, a), each(operation, b, a))
        else:
            np.testing.assert_array_equal(binary(operation, a, b), each(operation, a, b))
            np.testing.assert_array_equal(binary(operation, b, a), each(operation, b, a))


@pytest.mark.parametrize("operation", QUOTIENTS)
def test_quotients_are_those_of_python_and_zero_is_refused(operation):
    assert same(binary(operation, WHOLE, -3), each(operation, WHOLE, -3))
    assert same(binary(operation, 100, WHOLE), each(operation, 100, WHOLE))
    for zero in (0, WHOLE - 1, 0.0):
        with pytest.raises(NotOnArraysError):
            binary(operation, WHOLE, zero)


def test_sums_of_nothing_are_the_same_numbers():
    assert binary(operator.add, WHOLE, 0) is WHOLE
    assert binary(operator.sub, WHOLE, 0) is WHOLE
    assert binary(operator.sub, 0, WHOLE).tolist() == [7, 1, -1, -2, -9]
    assert binary(operator.add, TRUTHS, TRUTHS).tolist() == [2, 0, 2, 2, 0]


def test_powers_and_shifts():
    assert same(binary(operator.pow, WHOLE, 3), each(operator.pow, WHOLE, 3))
    assert same(binary(operator.pow, 0.3, WHOLE), each(operator.pow, 0.3, WHOLE))
    assert same(binary(operator.lshift, 1, abs(WHOLE)), each(operator.lshift, 1, abs(WHOLE)))
    assert same(binary(operator.and_, TRUTHS, True), each(operator.and_, TRUTHS, True))
    for wrong in ((operator.pow, REAL, 2), (operator.lshift, 1, WHOLE), (operator.and_, REAL, 1)):
        with pytest.raises(NotOnArraysError):
            binary(*wrong)


def test_whole_numbers_that_grow_are_refused():
    large = np.array([LIMIT - 1])
    with pytest.raises(NotOnArraysError):
        binary(operator.mul, large, large)
    with pytest.raises(NotOnArraysError):
        binary(operator.add, WHOLE, LIMIT)
    with pytest.raises(NotOnArraysError):
        limited(large + 1)
    with pytest.raises(NotOnArraysError):
        binary(operator.lshift, WHOLE, 44)
    assert limited(WHOLE) is WHOLE


def test_other_objects_beside_numbers_are_refused():
    for other in ("a", None, np.int64(1), 1j, (1,)):
        with pytest.raises(NotOnArraysError):
            binary(operator.add, WHOLE, other)
    with pytest.raises(NotOnArraysError):
        truth(UniformArray(np.zeros(2)))
    with pytest.raises(NotOnArraysError):
        wrapped((1, np.zeros(2)))
    assert isinstance(wrapped(np.zeros(2)), UniformArray)


def test_signs_and_truth():
    assert unary(operator.neg, TRUTHS).tolist() == [-1, 0, -1, -1, 0]
    assert unary(operator.not_, REAL).tolist() == [not x for x in REAL.tolist()]
    assert truth(WHOLE - 1).tolist() == [True, True, False, True, True]
    with pytest.raises(NotOnArraysError):
        unary(operator.invert, REAL)


def test_functions_run_once_for_each_value():
    seen = []

    def function(x):
        seen.append(x)
        return math.exp(x)

    found = in_each(function, np.array([2, 0, 2, 0, 1]))
    assert sorted(seen) == [0, 1, 2]
    assert found.tolist() == [math.exp(x) for x in (2, 0, 2, 0, 1)]
    assert in_each(math.floor, np.array([0.5, -0.5])).tolist() == [0, -1]
    with pytest.raises(NotOnArraysError):
        in_each(str, WHOLE)

"""Operands of ``is`` in bytecode: names, constants, attributes, and what is computed."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov.models.identity_operands import UNKNOWN, Operand, identity_comparisons, is_no_number


class Mode(enum.Enum):
    BUSY = 1


class Speed(enum.IntEnum):
    LOW = 1


COMPUTED = Operand()


def look_up(name: str) -> Any:
    return globals().get(name, UNKNOWN)


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [
        (lambda n: n is None, COMPUTED, Operand(constant=None)),
        (lambda n: None is not n, Operand(constant=None), COMPUTED),
        (lambda n: n is Mode.BUSY, COMPUTED, Operand("Mode", attributes=("BUSY",))),
        (lambda n: Mode.BUSY is n.mode, Operand("Mode", attributes=("BUSY",)), COMPUTED),
        (lambda n: n.mode is Mode.BUSY.name.x, COMPUTED, Operand("Mode", attributes=("BUSY", "name", "x"))),
        (lambda n: n is look_up(Mode), COMPUTED, COMPUTED),
        (lambda n, m: max(Mode, n is m), COMPUTED, COMPUTED),
    ],
    ids=["None", "None first", "member", "member first", "path", "call", "two variables"],
)  # fmt: skip
def test_operands_are_names_constants_or_computed(
    function: Callable[..., Any], left: Operand, right: Operand
) -> None:
    assert identity_comparisons(function.__code__) == [(left, right)]


def test_two_comparisons_are_two_pairs() -> None:
    pairs = identity_comparisons((lambda n: n is None or n is not Mode).__code__)
    assert pairs == [(COMPUTED, Operand(constant=None)), (COMPUTED, Operand("Mode"))]


def test_values_are_looked_up_attribute_by_attribute() -> None:
    assert Operand("Mode", attributes=("BUSY", "value")).value(look_up) == 1
    assert Operand("Mode", attributes=("IDLE", "value")).value(look_up) is UNKNOWN
    assert Operand("nothing").value(look_up) is UNKNOWN
    assert Operand(constant=3).value(look_up) == 3
    assert COMPUTED.value(look_up) is UNKNOWN


@pytest.mark.parametrize(
    "value",
    [None, "three", Mode.BUSY, Speed.LOW, (1, 2), look_up],
    ids=lambda value: type(value).__name__,
)
def test_what_is_certainly_no_number(value: object) -> None:
    assert is_no_number(value)


@pytest.mark.parametrize(
    "value",
    [UNKNOWN, 3, 3.0, True, 3j, np.float64(3.0), np.int8(3), int],
    ids=lambda value: type(value).__name__,
)
def test_what_may_be_a_number_or_the_type_of_one(value: object) -> None:
    assert not is_no_number(value)

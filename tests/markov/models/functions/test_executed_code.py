"""What tells a stand-in for a number from a number."""

from __future__ import annotations

import cProfile
import enum
import itertools
import pstats
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from markov.models.functions.executed_code import Execution


class Mode(enum.Enum):
    BUSY = 1
    IDLE = 2


class Speed(enum.IntEnum):
    LOW = 1


THREE, NAME = 3, "three"


def called(function: Callable[[Any], Any], value: Any = 3) -> Execution:
    with Execution() as found:
        function(value)
    return found


def hidden(n: Any) -> bool:
    return n is THREE


def caught(n: Any) -> Any:
    try:
        return 1 / n
    except:  # noqa: E722
        return 0


def caught_by_class(n: Any) -> Any:
    try:
        return 1 / n
    except ZeroDivisionError:
        return 0


def of_closure(value: Any) -> Callable[[Any], bool]:
    return lambda n: n is value


@pytest.mark.parametrize(
    "function",
    [
        lambda n: n is True,
        lambda n: n is THREE,
        lambda n: type(n) is int,
        lambda n: id(n) == 3,
        lambda n: [hidden(k) for k in (n,)],
        lambda n: n is n,  # noqa: PLR0124
        lambda n: n.__class__ is int,
        caught,
        of_closure(3),
    ],
    ids=itertools.count(),
)  # fmt: skip
def test_identity_of_numbers_and_types_are_noticed(function: Callable[[Any], Any]) -> None:
    assert not called(function).columns


@pytest.mark.parametrize(
    "function",
    [
        lambda n: n > 2 and n in (1, 3),
        lambda n: n is Mode.BUSY,
        lambda n: n is None,
        lambda n: n is not NAME,
        lambda n: NAME is not n,
        lambda n: n is Speed.LOW,
        lambda n: isinstance(n, int),
        lambda n: Mode(1) is Mode.BUSY and n > 1,
        caught_by_class,
        of_closure(Mode.BUSY),
    ],
    ids=itertools.count(),
)
def test_what_numbers_and_columns_have_in_common_passes(function: Callable[[Any], Any]) -> None:
    assert called(function).columns


@pytest.mark.parametrize(
    "function",
    [
        lambda n: f"{n}" == "3",
        lambda n: str(n) == "3",
        lambda n: isinstance(n, int),
        caught_by_class,
        hidden,
    ],
    ids=itertools.count(),
)
def test_what_arrays_hide_is_noticed(function: Callable[[Any], Any]) -> None:
    assert not called(function).arrays


def test_functions_of_numpy_pass() -> None:
    assert called(lambda n: np.where(np.maximum(n, 2) > 2, 1.0, 0.0)).arrays


def test_a_profiler_of_the_user_stays() -> None:
    profile = cProfile.Profile()
    profile.enable()
    found = called(lambda n: n > 2)
    sorted([3, 1])
    profile.disable()
    assert not found.columns
    assert not found.arrays
    names = {code for _, _, code in pstats.Stats(profile).stats}  # type: ignore[attr-defined]
    assert "<built-in method builtins.sorted>" in names

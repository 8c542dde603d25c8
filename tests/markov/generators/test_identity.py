"""Rules that ask for the identity or the type of a number run as plain Python."""

from __future__ import annotations

import functools
from enum import Enum, IntEnum
from typing import Any

import numpy as np
import pytest

from markov import stationary_by_level
from markov.errors import RuleError
from markov.generators.building import build_chain
from markov.generators.identity import asks_for_identity, used_by
from tests.markov.generators.conftest import one_component


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
    for way in ("regions", "sets"):
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

"""Rules that give another answer when they are asked again are refused, whatever the number of states."""

from __future__ import annotations

import itertools
import random
import time
from typing import Any

import numpy as np
import pytest

from hopflow import Status
from markov import GeneratorOperator, explore, generator, stationary, stationary_by_level
from markov.errors import RuleError
from markov.generators.enumeration import some_of
from tests.markov.generators.conftest import one_component

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


@pytest.mark.parametrize(
    ("made", "size"),
    [*itertools.product(CHANGING, SIZES), *itertools.product(ONCE, SIZES[:2])],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_rules_that_change_their_answer_are_refused_at_every_size(made, size):
    model = one_component(range(size), made(), {"size": size})
    with pytest.raises(RuleError, match=SAID) as caught:
        generator(model)
    assert "test_enumeration.py, line " in str(caught.value)
    assert caught.value.line is not None


@pytest.mark.parametrize("made", CHANGING + ONCE, ids=lambda made: made.__name__)
def test_they_are_refused_when_states_are_searched(made):
    with pytest.raises(RuleError, match="rules give another answer when asked again"):
        explore(made(), start={"n": 0}, params={"size": 10})


def test_an_iterator_that_ends_is_refused():
    rates = iter([1.0] * 3)

    def rules(n: int) -> Any:
        yield (n + 1) % 3, next(rates)

    with pytest.raises(
        RuleError, match=r"^rules: 0: .* asked again: first \[1 at rate 1.0\], then it raises"
    ):
        explore(rules, start=0)


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


@pytest.mark.parametrize("ask", [lambda m: GeneratorOperator(m).exit_rates, stationary_by_level])
def test_other_ways_to_a_chain_refuse_them_too(ask):
    def rules(s: Any) -> Any:
        if s.n < 50:
            yield s._replace(n=s.n + 1), random.random()
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0

    with pytest.raises(RuleError, match="rules give another answer when asked again"):
        ask(one_component(range(51), rules))


@pytest.mark.parametrize("count", [1, 5, 32, 33, 10**6])
def test_the_first_state_is_asked_twice_and_the_last_once(count):
    places = some_of(count)
    assert places[:2] == [0, 0]
    assert count - 1 in places
    assert len(places) <= 33
    assert all(0 <= place < count for place in places)

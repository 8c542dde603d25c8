"""Statements of rules for many states at once."""

from __future__ import annotations

import ast
import functools
from typing import NamedTuple

import numpy as np
import pytest

from markov.generators.array_rules.blocks import assigned_in, leaves, rearranged
from markov.generators.array_rules.frames import (
    MISSING,
    Changed,
    Frame,
    ManyStates,
    holds_arrays,
    taken,
)
from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.array_rules.translation import translated

# Statements of rules, run for many states at once.


def test_branches_variables_and_loops(on_arrays):
    def rules(s, q):
        if s.x > 3:
            a, b = s.x, 1
        elif s.y:
            a, b = 2 * s.y, 1
        else:
            a = b = 1
        yield s._replace(x=0), float(a)
        yield s._replace(x=0), float(b)
        for n in range(q.n):
            if n > 2:
                break
            if n == s.y:
                continue
            a += n
            yield s._replace(y=n), a + 0.5
        if s.x == 0:
            return
        yield s._replace(x=s.x - 1), 2.0
        if s.y == 0:
            yield s._replace(x=0), 3.0
            return
        yield s._replace(y=s.y - 1), 4.0

    on_arrays(rules, {"n": 5})


def test_states_in_variables(on_arrays):
    def rules(s, q):
        rate = 1.0
        if s.x > 2:
            t = s._replace(x=0)
        else:
            t, rate = s._replace(y=0), 2.0
        yield t, rate

    on_arrays(rules)


def test_delegation(on_arrays):
    def more(s, by):
        if s.x >= by:
            yield s._replace(x=s.x - by), 1.0 * by

    def rules(s, q):
        for n in range(1, 3):
            yield from more(s, n)
        assert s.x >= 0

    on_arrays(rules)


def test_variables_without_a_value_are_refused(on_arrays):
    def rules(s, q):
        if s.x > 3:
            late = 1.0
        yield s, late

    with pytest.raises(NotOnArraysError, match="may have no value"):
        on_arrays(rules)


def test_an_exception_in_some_state_is_refused(on_arrays):
    def raises(s, q):
        if s.x == 3:
            raise ValueError(s)
        yield s, 1.0

    def fails(s, q):
        assert s.x < 3
        yield s, 1.0

    def differs(s, q):
        for n in range(3):
            if n == s.x:
                break
            yield s, 1.0

    def endless(s, q):
        while s.x:
            yield s, 1.0

    for rules in (raises, fails, differs, endless):
        with pytest.raises(NotOnArraysError):
            on_arrays(rules)


def test_what_grows_is_refused(on_arrays):
    def rules(s, q):
        a = s.x + 1
        for _ in range(60):
            a = a + a
        yield s, float(a)

    with pytest.raises(NotOnArraysError, match="large"):
        on_arrays(rules)


# Branches that leave are the last statement of their block.


def rearrange(text, tail):
    body = rearranged(ast.parse(text).body, tail)
    return ast.unparse(ast.Module(body, []))


@pytest.mark.parametrize(
    ("text", "tail", "expected"),
    [
        ("if a:\n  b\n  return\nc", ast.Return, "if a:\n    b\nelse:\n    c"),
        ("if a:\n  b\nelse:\n  return\nc", ast.Return, "if a:\n    b\n    c"),
        ("if a:\n  if b:\n    return\n  c\nd", ast.Return, "if a:\n    if b:\n        return\n    else:\n        c\nd"),
        ("if a:\n  continue\nb", ast.Continue, "if a:\nelse:\n    b"),
        ("if a:\n  return 1\nreturn 2", ast.Return, "if a:\n    return 1\nelse:\n    return 2"),
        ("a\nreturn\nb", ast.Return, "a"),
        ("a\nraise b\nc", ast.Return, "a\nraise b"),
    ],
)  # fmt: skip
def test_what_follows_is_part_of_the_other_branch(text, tail, expected):
    assert rearrange(text, tail).split() == expected.split()


def test_what_leaves():
    assert leaves(ast.parse("a\nif b:\n  raise c\nelse:\n  raise d").body)
    assert not leaves(ast.parse("if b:\n  raise c").body)
    assert not leaves([])


def test_what_is_assigned():
    assert assigned_in(ast.parse("a = b\nfor c in d:\n  e += 1").body) == ("a", "c", "e")


# Variables and states are narrowed to some of the states when they are read.


class State(NamedTuple):
    n: int
    name: str


def states():
    return ManyStates(State, (np.arange(4), "up"))


def test_fields_are_narrowed():
    s = taken(taken(states(), np.array([1, 3])), np.array([1]))
    assert s.field(0).tolist() == [3]
    assert s.field(1) == "up"
    assert s.fields() == State(3, "up")
    assert s.number_of("name") == 1
    with pytest.raises(NotOnArraysError):
        s.number_of("other")


def test_changed_states_keep_the_other_fields():
    changed = taken(Changed(states(), {0: np.arange(4) + 1}), np.array([0, 2]))
    assert changed.field(0).tolist() == [1, 3]
    assert changed.field(1) == "up"
    assert type(changed.fields()) is State


def test_places_are_those_of_the_whole_run():
    outer = Frame.first(5, print, len)
    assert outer.all_places is None
    inner = outer.narrowed(np.array([1, 2, 4])).narrowed(np.array([0, 2]))
    assert inner.all_places.tolist() == [1, 4]
    assert inner.of_call(print, {}).narrowed(np.array([1])).all_places.tolist() == [4]
    assert inner.receive is print


def test_variables_are_those_of_the_frame_above():
    outer = Frame.first(3, print, len)
    outer.values |= {"x": np.array([5, 6, 7]), "y": (np.array([1, 2, 3]), 4), "z": MISSING}
    inner = outer.narrowed(np.array([2]))
    assert inner.get("x").tolist() == [7]
    assert inner.get("y")[0].tolist() == [3]
    for missing in ("z", "w"):
        with pytest.raises(NotOnArraysError, match="may have no value"):
            inner.get(missing)


def test_what_holds_arrays():
    assert holds_arrays((1, [np.zeros(1)]))
    assert holds_arrays({"a": states()})
    assert not holds_arrays((1, ["a"], {"b": None}))


# Functions that have a translation to many states, and functions that have none.


def test_functions_without_a_translation():
    def plain(x):
        return x

    @functools.wraps(plain)
    def wrapper(x):
        return 2 * plain(x)

    def by_name(x, *, y=1):
        return x + y

    def stores(x):
        found = {}
        found[0] = x
        return found

    assert translated(plain).names == ("x",)
    for function in (wrapper, by_name, stores, lambda x: x):
        with pytest.raises(NotOnArraysError):
            translated(function)


def test_functions_that_call_themselves_end(on_arrays):
    def deep(x, n):
        return x if n == 0 else deep(x + 1, n - 1)

    def rules(s, q):
        yield s._replace(x=0), 1.0 + deep(s.x, q.depth)

    on_arrays(rules, {"depth": 3})
    with pytest.raises(NotOnArraysError, match="call each other"):
        on_arrays(rules, {"depth": 40})

"""Statements of rules, run for many states at once."""

from __future__ import annotations

import pytest

from markov.generators.array_rules.operations import NotOnArraysError


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

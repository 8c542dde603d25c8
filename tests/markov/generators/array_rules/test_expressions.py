"""Expressions of rules, evaluated for many states at once, give what plain Python gives in each."""

from __future__ import annotations

import math

import pytest

from markov.generators.array_rules.operations import NotOnArraysError

RATES = (1.0, 2.0, 4.0, 8.0)


def halved(x, by=2):
    return x / by


def test_conditions_and_choices(on_arrays):
    def rules(s, q):
        yield s._replace(x=0), 1.0 if s.x > 2 else 2.0
        yield s._replace(x=0), RATES[s.y] if s.y else 0.5
        yield s._replace(x=0), 1.0 / s.x if s.x != 0 else 0.0
        yield s._replace(x=0), (s.x and s.y) + (s.x or s.y) + 1.0
        yield s._replace(x=0), 1.0 + (s.x > 1 and 6 / s.x > 2)
        yield s._replace(x=0), 1.0 + (0 < s.x <= 3) + (s.x in (1, 4)) + (s.y not in [2])
        yield s._replace(x=0), 1.0 + (s.y in range(1, 3)) + (not s.x)

    on_arrays(rules)


def test_functions_and_powers(on_arrays):
    def rules(s, q):
        yield s._replace(x=0), math.exp(-s.x) + math.sqrt(s.y) + halved(s.x, by=3) + halved(s.y)
        yield s._replace(x=0), 0.9**s.x + s.y**2 + q.rate * 2.0 ** (s.x - 3)
        yield s._replace(x=0), (s.x // 2) + (s.y % 3) + 1.0 + (s.x >> 1) + (1 << s.y)

    on_arrays(rules, {"rate": 0.3})


def test_targets_in_every_form(on_arrays):
    def rules(s, q):
        yield (s.x, 0), 1.0
        yield type(q).State(s.y, s.y) if False else (s.y, s.y), 2.0
        yield s._replace(x=min(s.x + 1, 5), y=3 - s.y), 3.0
        yield s, 4.0

    def in_steps(s, q):
        t = s._replace(x=5)
        t = t._replace(y=t.x - 5)
        yield t, 1.0 + t.y + s.x

    on_arrays(rules)
    on_arrays(in_steps)


def test_what_is_no_generator_function_is_refused(on_arrays):
    for rules in (lambda s, q: iter(()), lambda s, q: [(s, 1.0)]):
        with pytest.raises(NotOnArraysError):
            on_arrays(rules)


def test_what_arrays_cannot_answer_is_refused(on_arrays):
    def identity(s, q):
        yield s, 1.0 + (s.x is s.y)

    def kind(s, q):
        yield s, float(type(s.x) is int)

    def text(s, q):
        yield s, float(f"{s.x}")

    def equality(s, q):
        yield s, 1.0 + (s == s._replace(x=0))

    def division(s, q):
        yield s, 1.0 / s.x

    def member(s, q):
        yield s, {0: 1.0}.get(s.x, 2.0)

    for rules in (identity, kind, text, equality, division, member):
        with pytest.raises(NotOnArraysError):
            on_arrays(rules)

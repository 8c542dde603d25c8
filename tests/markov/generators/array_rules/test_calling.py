"""Which functions rules may call for many states, and what they give."""

from __future__ import annotations

import random

import numpy as np
import pytest

from markov.generators.array_rules.operations import NotOnArraysError

CALLED: list[int] = []


def test_functions_of_the_user_are_translated_too(on_arrays):
    def chosen(x, y):
        if x > y:
            return x - y
        total = 0
        for n in range(3):
            if n == 1:
                continue
            total += n * y
        return total

    def rules(s, q):
        yield s._replace(x=0), chosen(s.x, s.y) + chosen(y=2, x=s.x) + chosen(1, 0) + 0.5

    on_arrays(rules)


def test_methods_of_parameters_are_translated(on_arrays):
    class Table:
        def __init__(self):
            self.base = 0.5

        def rate(self, x):
            return self.base + x

    table = Table()

    def rules(s, q):
        yield s._replace(x=0), table.rate(s.x)

    on_arrays(rules)


def test_builtins_and_numpy_of_uniform_values(on_arrays):
    def rules(s, q):
        pairs = list(zip((s.x, s.y), q.weights, strict=False))
        yield s._replace(x=0), sum([int(v > 1) for v, _ in pairs]) + float(s.x) + bool(s.y)
        yield s._replace(x=0), np.sqrt(q.weights[0]) + max(q.weights) + len(pairs) + 1.0
        yield s._replace(x=0), pow(s.x, 2) + list(reversed((s.x, s.y)))[1] + 1.0

    on_arrays(rules, {"weights": (0.5, 2.0)})


def test_calls_that_do_more_than_compute_are_refused(on_arrays):
    def counted(s, q):
        CALLED.append(1)
        yield s, 1.0

    def chance(s, q):
        yield s, random.random()

    def shown(s, q):
        yield s, 1.0 + hash(s.x)

    def floats(s, q):
        yield s, 1.0 + sum([0.1 * s.x, 0.2 * s.y])

    for rules in (counted, chance, shown, floats):
        with pytest.raises(NotOnArraysError):
            on_arrays(rules)
    assert not CALLED

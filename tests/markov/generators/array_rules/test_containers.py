"""Collections in rules, for many states at once."""

from __future__ import annotations

import pytest

from hopflow import where
from markov.generators.array_rules.operations import NotOnArraysError


def test_collections(on_arrays):
    def rules(s, q):
        both = (s.x, s.y, 3)
        yield s._replace(x=0), both[0] + both[-1] + 1.0
        yield s._replace(x=0), sum(both) + max(both) - min(s.x, s.y) + abs(s.x - s.y)
        yield s._replace(x=0), float(sum([part * n for n, part in enumerate(both)]))
        yield s._replace(x=0), 1.0 + len([n for n in range(4) if n != q.k])
        yield s._replace(x=0), both[s.y % 3] + q.table[s.x % 2] + 1.0
        a, (b, c) = s.x, (s.y, 2)
        yield s._replace(x=0), a * b / c + where(s.x > s.y, 1.5, 2.5)
        yield s._replace(x=0), 0.1 + any((s.x > 4, s.y > 2)) + all([s.x > 0, True])

    on_arrays(rules, {"k": 1, "table": (0.25, 0.75)})


def test_collections_that_differ_from_state_to_state_are_refused(on_arrays):
    def length(s, q):
        for _ in range(s.x):
            yield s, 1.0

    def several(s, q):
        a, b = (s.x, s.y, 1)
        yield s, a + b + 1.0

    def by_state(s, q):
        yield s, {(0, 0): 1.0}[s]

    for rules in (length, several, by_state):
        with pytest.raises(NotOnArraysError):
            on_arrays(rules)

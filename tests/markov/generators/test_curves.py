"""Numbers that the rules compute from one component are those of plain Python, bit by bit, for all its values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from markov import Cluster
from markov.generators.calls import Calls
from markov.generators.curves import Counted, Curve, kept, now
from markov.generators.regions import find_regions, predicted_count
from markov.generators.tracing import Span

FIRST, LAST = -3, 20


def counted(value=5):
    span = Span(value, FIRST, LAST)
    return span, Counted(span, 1, range(FIRST, LAST + 1))


RULES = [
    lambda s: s,
    lambda s: s + 2,
    lambda s: 2 * s,
    lambda s: 0.3 * s,
    lambda s: s * 0.3 / 7,
    lambda s: (30 - s) * 0.7 + 0.1,
    lambda s: 0.5 - s / 3,
    lambda s: 1.5 / (1 + s),
    lambda s: s * (s + 1) * 0.05,
    lambda s: 0.9 * min(s, 9) + 0.1 * s,
    lambda s: (s - s * 0.1) / (s + 0.5),
    lambda s: np.float64(0.3) + s * np.float64(0.1) if s > 4 else 0.0,
    lambda s: 1e300 * (s * 1e10) if s < 0 else 2.0,
]


@pytest.mark.parametrize("number", range(len(RULES)))
def test_curves_are_what_plain_python_computes(number):
    rule = RULES[number]
    for value in range(FIRST, LAST + 1):
        span, stand_in = counted(value)
        try:
            expected = rule(value)
        except ZeroDivisionError:
            with pytest.raises(ZeroDivisionError):
                rule(stand_in)
            continue
        found = kept(rule(stand_in))
        assert span.low <= value <= span.high
        for other in range(span.low, span.high + 1):
            span.value = other
            assert now(found) == rule(other), (value, other)
        span.value = value
        assert now(found) == expected


def test_a_count_is_not_read():
    span, s = counted()
    found = kept(0.3 * (20 - s))
    assert type(found) is Curve
    assert isinstance(found, float)
    assert isinstance(2 * s, int)
    assert (found.number, found.first, len(found.values)) == (1, FIRST, LAST - FIRST + 1)
    assert (span.low, span.high, span.read) == (FIRST, LAST, False)


COMPARISONS = [
    (lambda c: c < 0.65, FIRST, 6),
    (lambda c: c >= 0.1, 1, LAST),
    (lambda c: 0.0 <= c < math.inf, 0, LAST),
    (lambda c: c == 0.5, 5, 5),
    (lambda c: c != 0.8, FIRST, 7),
    (bool, 1, LAST),
    (lambda c: c > math.inf, FIRST, LAST),
]


@pytest.mark.parametrize("number", range(len(COMPARISONS)))
def test_a_comparison_keeps_the_values_with_the_same_answer(number):
    asked, low, high = COMPARISONS[number]
    span, s = counted()
    assert asked(0.1 * s) == asked(0.5)
    assert (span.low, span.high) == (low, high)
    assert not span.read


OTHERS = [
    lambda c: c**2,
    lambda c: c % 0.3,
    lambda c: c // 2,
    lambda c: 2**c,
    lambda c: -c,
    abs,
    int,
    float,
    round,
    math.sqrt,
    math.floor,
    math.trunc,
    lambda c: divmod(c, 0.2),
    lambda c: divmod(2, c),
    np.exp,
    "{:.3f}".format,
    str,
    hash,
    lambda c: c.is_integer(),
    lambda c: c * math.inf,
    lambda c: c * True,
]


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_whatever_else_is_done_with_it_uses_its_value(number):
    rule = OTHERS[number]
    span, s = counted()
    assert rule(0.1 * s) == rule(0.5)
    assert (span.low, span.high, span.read) == (5, 5, True)


def test_two_components_are_read():
    spans, pair = zip(counted(), counted(7), strict=True)
    assert pair[0] * 0.5 * pair[1] == 17.5
    assert [(span.low, span.high) for span in spans] == [(5, 5), (7, 7)]
    assert [3, 4, 5][2 * counted(1)[1]] == 5


def test_numbers_that_are_not_exact_are_read():
    span, s = counted()
    assert (s * 2**40) * 2**20 == 5 * 2**60
    assert span.read
    span, s = counted()
    assert s * 10**30 == 5 * 10**30
    assert span.read


def test_few_regions_hold_all_counts():
    model = Cluster(workstations=30)
    space = model._space
    calls = Calls(model, space)
    regions = find_regions(calls, space, 2000, counts=True)
    assert len(regions) < 400
    assert 10.0 * predicted_count(calls, space, counts=True) < predicted_count(calls, space)
    for region in regions[::20]:
        codes = np.random.default_rng(1).integers(region.low, np.array(region.high) + 1)
        state = space.state(codes)
        expected = sorted(rate for _, rate in calls.rules(state, calls.q))
        assert len(region.moves) == len(expected)
        for _, rate in region.moves:
            if type(rate) is Curve:
                rate.span.value = int(codes[rate.number])
        assert sorted(now(rate) for _, rate in region.moves) == expected

"""Rules on arrays: expressions, statements, frames."""

from __future__ import annotations

import ast
import functools
import math
import operator
import random
from typing import NamedTuple

import numpy as np
import pytest

from hopflow import where
from markov.generators.array_rules.blocks import assigned_in, leaves, rearranged
from markov.generators.array_rules.frames import (
    MISSING,
    Changed,
    Frame,
    ManyStates,
    holds_arrays,
    taken,
)
from markov.generators.array_rules.operations import (
    LIMIT,
    NotOnArraysError,
    UniformArray,
    binary,
    compared,
    in_each,
    limited,
    truth,
    unary,
    wrapped,
)
from markov.generators.array_rules.selections import element, maximum, merged, minimum, selected
from markov.generators.array_rules.translation import translated

# Expressions of rules, evaluated for many states at once, give what plain Python gives in each.

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


# Operations on one number for each state are Python's in each of them, or refused.

WHOLE = np.array([-7, -1, 1, 2, 9])
REAL = np.array([-2.5, -0.0, 0.1, 1e300, np.inf])
TRUTHS = np.array([True, False, True, True, False])
ARITHMETIC = (operator.add, operator.sub, operator.mul)
QUOTIENTS = (operator.truediv, operator.floordiv, operator.mod)
COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


def each(operation, a, b):
    """Return what Python gives in each state, with types."""
    columns = [x.tolist() if isinstance(x, np.ndarray) else [x] * 5 for x in (a, b)]
    return [operation(x, y) for x, y in zip(*columns, strict=True)]


def same(found, expected):
    return found.tolist() == expected and set(map(type, found.tolist())) == set(map(type, expected))


@pytest.mark.parametrize("operation", ARITHMETIC + COMPARISONS)
@pytest.mark.parametrize("a", [WHOLE, REAL, TRUTHS], ids=["whole", "real", "truth"])
@pytest.mark.parametrize("b", [WHOLE, REAL, TRUTHS, 3, -0.5, True], ids=str)
def test_arithmetic_is_that_of_python(operation, a, b):
    with np.errstate(all="ignore"):
        if operation in COMPARISONS:
            assert same(compared(operation, a, b), each(operation, a, b))
            assert same(compared(operation, b, a), each(operation, b, a))
        else:
            np.testing.assert_array_equal(binary(operation, a, b), each(operation, a, b))
            np.testing.assert_array_equal(binary(operation, b, a), each(operation, b, a))


@pytest.mark.parametrize("operation", QUOTIENTS)
def test_quotients_are_those_of_python_and_zero_is_refused(operation):
    assert same(binary(operation, WHOLE, -3), each(operation, WHOLE, -3))
    assert same(binary(operation, 100, WHOLE), each(operation, 100, WHOLE))
    for zero in (0, WHOLE - 1, 0.0):
        with pytest.raises(NotOnArraysError):
            binary(operation, WHOLE, zero)


def test_sums_of_nothing_are_the_same_numbers():
    assert binary(operator.add, WHOLE, 0) is WHOLE
    assert binary(operator.sub, WHOLE, 0) is WHOLE
    assert binary(operator.sub, 0, WHOLE).tolist() == [7, 1, -1, -2, -9]
    assert binary(operator.add, TRUTHS, TRUTHS).tolist() == [2, 0, 2, 2, 0]


def test_powers_and_shifts():
    assert same(binary(operator.pow, WHOLE, 3), each(operator.pow, WHOLE, 3))
    assert same(binary(operator.pow, 0.3, WHOLE), each(operator.pow, 0.3, WHOLE))
    assert same(binary(operator.lshift, 1, abs(WHOLE)), each(operator.lshift, 1, abs(WHOLE)))
    assert same(binary(operator.and_, TRUTHS, True), each(operator.and_, TRUTHS, True))
    for wrong in ((operator.pow, REAL, 2), (operator.lshift, 1, WHOLE), (operator.and_, REAL, 1)):
        with pytest.raises(NotOnArraysError):
            binary(*wrong)


def test_whole_numbers_that_grow_are_refused():
    large = np.array([LIMIT - 1])
    with pytest.raises(NotOnArraysError):
        binary(operator.mul, large, large)
    with pytest.raises(NotOnArraysError):
        binary(operator.add, WHOLE, LIMIT)
    with pytest.raises(NotOnArraysError):
        limited(large + 1)
    with pytest.raises(NotOnArraysError):
        binary(operator.lshift, WHOLE, 44)
    assert limited(WHOLE) is WHOLE


def test_other_objects_beside_numbers_are_refused():
    for other in ("a", None, np.int64(1), 1j, (1,)):
        with pytest.raises(NotOnArraysError):
            binary(operator.add, WHOLE, other)
    with pytest.raises(NotOnArraysError):
        truth(UniformArray(np.zeros(2)))
    with pytest.raises(NotOnArraysError):
        wrapped((1, np.zeros(2)))
    assert isinstance(wrapped(np.zeros(2)), UniformArray)


def test_signs_and_truth():
    assert unary(operator.neg, TRUTHS).tolist() == [-1, 0, -1, -1, 0]
    assert unary(operator.not_, REAL).tolist() == [not x for x in REAL.tolist()]
    assert truth(WHOLE - 1).tolist() == [True, True, False, True, True]
    with pytest.raises(NotOnArraysError):
        unary(operator.invert, REAL)


def test_functions_run_once_for_each_value():
    seen = []

    def function(x):
        seen.append(x)
        return math.exp(x)

    found = in_each(function, np.array([2, 0, 2, 0, 1]))
    assert sorted(seen) == [0, 1, 2]
    assert found.tolist() == [math.exp(x) for x in (2, 0, 2, 0, 1)]
    assert in_each(math.floor, np.array([0.5, -0.5])).tolist() == [0, -1]
    with pytest.raises(NotOnArraysError):
        in_each(str, WHOLE)


# Collections in rules, for many states at once.


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


# Elements, choices and parts put together are those of Python in each state.


def test_elements():
    assert element((1.0, 2.0, 3.0), np.array([0, -1])).tolist() == [1.0, 3.0]
    rows = element(((1.0, 2.0), (3.0, 4.0)), np.array([1, 0]))
    assert [part.tolist() for part in rows] == [[3.0, 1.0], [4.0, 2.0]]
    assert element(UniformArray(np.array([5.0, 6.0])), np.array([1])).tolist() == [6.0]
    with pytest.raises(IndexError):
        element((1.0,), np.array([1]))
    for values in ((1, 2.0), ("a", "b"), (2**60, 1)):
        with pytest.raises(NotOnArraysError):
            element(values, np.array([0]))
    with pytest.raises(NotOnArraysError):
        element((1.0,), np.array([0.0]))


def test_choices():
    condition = WHOLE > 0
    assert selected(condition, 1, 2.5).tolist() == [2.5, 2.5, 1.0, 1.0, 1.0]
    assert selected(condition, "a", "a") == "a"
    with pytest.raises(NotOnArraysError):
        selected(condition, "a", "b")
    assert minimum(WHOLE, 1).tolist() == [min(x, 1) for x in WHOLE.tolist()]
    assert maximum(0.0, REAL).tolist() == [max(0.0, x) for x in REAL.tolist()]
    assert minimum(3, 2) == 2
    not_a_number = np.array([np.nan, 1.0])
    np.testing.assert_array_equal(minimum(not_a_number, 2.0), [min(np.nan, 2.0), 1.0])


def test_parts_are_put_together():
    low, high = np.array([0, 2]), np.array([1])
    assert merged(3, [(low, np.array([1, 2])), (high, 5)]).tolist() == [1, 5, 2]
    assert merged(3, [(low, 1.5), (high, np.array([2]))]).tolist() == [1.5, 2.0, 1.5]
    assert merged(3, [(low, "x"), (high, "x")]) == "x"
    pair = merged(3, [(low, (1, True)), (high, (2, False))])
    assert [part.tolist() for part in pair] == [[1, 2, 1], [True, False, True]]
    for wrong in ("x", (1, 2), None):
        with pytest.raises(NotOnArraysError):
            merged(3, [(low, 1), (high, wrong)])


# Which functions rules may call for many states, and what they give.

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

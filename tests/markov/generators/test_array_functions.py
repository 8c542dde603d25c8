"""Rules on arrays: expressions, statements, frames."""

from __future__ import annotations

import functools
import itertools
import math
import random
import runpy

import numpy as np
import pytest

from hopflow import where
from markov.computing.arrays import NotOnArraysError

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


# Operations on whole numbers, real numbers and truth values are Python's in each state, or refused.

OPERANDS = "w, r, t = s.x - 3, 0.5 * s.x - 0.7, s.x > s.y"
EVERY = [*itertools.product(("w", "r", "t"), ("s.y", "r", "t", "3", "-0.5", "True"))]
PAIRS = {
    **{f"{{}} {sign} {{}}": EVERY for sign in ("+", "-", "*", "<", "<=", "==", "!=", ">", ">=")},
    "{} / {}": [("w", "-3"), ("r", "(w - 5)"), ("100", "(w - 5)"), ("t", "2"), ("0.0", "(r - 9)")],
    "{} // {}": [("w", "-3"), ("100", "(w - 5)"), ("w", "(s.y + 1)"), ("t", "2")],
    "{} % {}": [("w", "-3"), ("100", "(w - 5)"), ("w", "(s.y + 1)"), ("t", "2")],
    "{} ** {}": [("w", "3"), ("0.3", "w"), ("t", "2"), ("2", "s.x"), ("w", "0")],
    "{} << {}": [("1", "s.x"), ("s.x", "3"), ("s.x", "s.y")], "{} >> {}": [("s.x", "1"), ("w", "s.y")],
    "{} & {}": [("t", "True"), ("t", "(w > 0)"), ("s.x", "3"), ("w", "s.y")],
    "{} | {}": [("t", "False"), ("s.x", "s.y")], "{} ^ {}": [("t", "True"), ("w", "5")],
    "min({}, {})": EVERY, "max({}, {})": EVERY, "minimum({}, {})": EVERY, "maximum({}, {})": EVERY,
    "where(t, {}, {})": EVERY[:12], "(1.5, 2.0, 7.0)[{} % {}]": [("s.x", "3"), ("w", "3")],
}  # fmt: skip
ONE = ("-w", "-r", "-t", "+t", "~w", "not w", "not r", "not t", "abs(w)", "abs(r)", "math.floor(r)", "math.exp(w)", "round(r)", "round(r, 1)", "int(r)", "divmod(w, 3)[0]",
       "0 - w", "w + 0", "((1.0, 2.0), (3.0, 4.0))[s.x % 2][1]", "where(w > 0, 1, 2.5)")  # fmt: skip
REFUSED = (
    "r ** 2", "w ** s.y", "1 << w", "s.x << 45", "r & 1", "t | 1.0", "w / 0", "6 / w", "w % 0.0", "r // 2", "~r", "w + 2**60",
    "(w + 9) * 2**50", "s.x * 2**52 * s.x", "w + 'a'", "w + None", "w + 1j", "len(str(w))", "('a', 'b')[s.y % 2] == 'a'",
    "(1, 2.0)[s.y % 2]", "(2**60, 1)[s.y % 2]", "(1.0, 2.0)[s.x]", "(1.0, 2.0)[0.5 * s.y]", "len(where(t, 'a', 'b'))",
)  # fmt: skip


def rules_of(folder, texts):
    """Return rules whose rates are some expressions, from a file as a user's are."""
    rates = "".join(f"    yield s._replace(x=0), abs({text}) + 1.0\n" for text in texts)
    path = folder / "written.py"
    path.write_text(
        f"import math\nfrom hopflow import maximum, minimum, where\n\ndef rules(s, q):\n    {OPERANDS}\n{rates}"
    )
    return runpy.run_path(str(path))["rules"]


@pytest.mark.parametrize("form", PAIRS)
def test_an_operation_is_that_of_python(on_arrays, tmp_path, form):
    on_arrays(rules_of(tmp_path, [form.format(*pair) for pair in PAIRS[form]]))


@pytest.mark.parametrize("text", ONE)
def test_an_operation_on_one_number_is_that_of_python(on_arrays, tmp_path, text):
    on_arrays(rules_of(tmp_path, [text]))


@pytest.mark.parametrize("text", REFUSED)
def test_an_operation_that_arrays_do_otherwise_is_refused(on_arrays, tmp_path, text):
    with pytest.raises(NotOnArraysError):
        on_arrays(rules_of(tmp_path, [text]))


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
        if s.y > 1:
            yield from more(s, 3)
        assert s.x >= 0

    on_arrays(rules)


# Functions that have a translation to many states, and functions that have none.


def test_functions_without_a_translation_are_refused(on_arrays):
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

    for function in (wrapper, by_name, stores, lambda x: x):

        def rules(s, q, function=function):
            yield s, 1.0 + function(s.x)

        with pytest.raises(NotOnArraysError):
            on_arrays(rules)


quartered = functools.partial(halved, by=4)
# Arrays of the user are the same in all states, wherever they stand.

RATES_OF_LEVELS = np.array([0.5, 2.0, 7.25, 1.0, 3.0, 0.125])


def test_parameters_that_are_arrays_behind_a_condition(on_arrays):
    def rules(s, q, table=RATES_OF_LEVELS):
        yield s, 1.0

    def behind(s, q):
        if s.y > 1:
            if s.x > 2:
                yield s._replace(x=0), q.up[s.x] + q.levels[0][s.y] + RATES_OF_LEVELS[s.x]
            yield s._replace(y=0), looked_up(s.x) * q.up[1] + q["up"][2] + len(q.levels)
        yield s._replace(x=0), (q.up[s.x] if s.x > 1 else q.up[0]) + sum(list(q.weights))

    def looked_up(n, table=RATES_OF_LEVELS):
        return table[n] if n > 2 else table[-1]

    params = {"up": np.arange(6.0) + 0.5, "levels": (np.arange(24.0), 1), "weights": [0.5, 0.25]}
    on_arrays(behind, params)
    with pytest.raises(NotOnArraysError):
        on_arrays(rules)


def test_transitions_in_every_form(on_arrays):
    def listed(s, q):
        return [(s._replace(x=0), 1.0), ({"x": s.y, "y": 0}, 2.0)]

    def delegated(s, q):
        yield from [(s._replace(y=k), 1.0 + k) for k in range(3)]
        yield from listed(s, q)
        pair = type(s)(s.x, 0), np.float64(0.5)
        yield pair
        yield [s._replace(x=0), quartered(s.x) + 3]

    def chosen(s, q):
        yield (s._replace(x=0), 1.0) if s.x > s.y else (s._replace(y=0, x=1), 0.5 * s.y)
        target = s._replace(x=2) if s.y > 1 else s._replace(y=3)
        yield target, 2.0 if s.x else 3.0
        yield (s if s.x == 3 else s._replace(x=0)), 1.0

    on_arrays(listed)
    on_arrays(delegated)
    on_arrays(chosen)


def test_identity_of_what_is_no_number(on_arrays):
    def rules(s, q):
        yield s._replace(x=0), 1.0 + (s.x is None) + (q.mode is not None) + ((s.x > 2) is True)

    on_arrays(rules, {"mode": None})


def test_a_truth_value_of_numpy_is_no_component(on_arrays):
    def rules(s, q):
        yield s._replace(x=np.logical_or(s.x > 1, s.y > 1)), 1.0

    on_arrays(rules, bad=range(24))  # plain Python says that it is no whole number

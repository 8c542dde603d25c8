"""Rules in plain Python, spliced and compiled: same numbers, errors at the user's line, no stale code."""

from __future__ import annotations

import ast
import enum
import gc
import importlib.util
import inspect
import itertools
import linecache
import math
import math as m
import re
import sys
import threading
from collections import namedtuple
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import pytest

from hopflow import maximum, minimum, where
from hopflow.kernels import KernelError, build, loading, shape_of
from hopflow.kernels.loading import interpret
from hopflow.kernels.module import Module
from hopflow.kernels.records import definitions, layout_of, plain
from hopflow.kernels.source import literal, parse, refuse, syntax_tree
from hopflow.kernels.splice import Fields
from tests.surface import for_each

# ruff: noqa: F821 -- names of a template are put there by the splice


class State(NamedTuple):
    i: int
    j: int


class Symbols(NamedTuple):
    n: int
    rate: float


TUPLES = {"State": State._fields, "Symbols": Symbols._fields}
LIMIT = 3
SCALE = np.float64(0.1)
STEPS = np.int64(2)
WEIGHTS = (1.5, 2, np.float64(0.25))
NEVER = math.inf
UNKNOWN = math.nan
ENABLED = True
NAME = "not a number"


def listing(parameters, out):
    """Template: write (state, target.i, target.j, rate) of every transition; return how many."""
    q = Symbols(parameters[0], parameters[1])
    k = 0
    for x in range(12):
        s = State(x % 4, x // 4)
        for target, rate in rules(s, q):
            out[k, 0] = x
            out[k, 1] = target.i
            out[k, 2] = target.j
            out[k, 3] = rate
            k += 1
    return k


def run(kernel, n=4, rate=0.3):
    out = np.full((200, 4), -1.0)
    return out[: kernel((n, rate), out)]


def in_python(rules, n=4, rate=0.3):
    """Return what `listing` writes, by calling the rules as they stand."""
    q = Symbols(n, rate)
    return np.array(
        [
            (x, target.i, target.j, value)
            for x in range(12)
            for target, value in rules(State(x % 4, x // 4), q)
        ]
    )


def spliced(rules, **kwargs):
    return build(listing, rules={"rules": rules}, tuples=TUPLES, **kwargs)


# --------------------------------------------------------------------------- what rules may use


def loops(s, q):
    for n in range(1, q.n):
        if n == s.i:
            continue
        k = 0
        while True:
            k += 1
            if k > n:
                break
            yield s._replace(j=s.j + k), q.rate * n
        for step in (1, 2):
            yield s._replace(i=step, j=n), q.rate / step


def early_return(s, q):
    """Docstrings and annotations may stay."""
    if s.i == 0:
        return
    yield s._replace(i=s.i - 1), q.rate
    rate: float = q.rate * s.i
    if s.j == 0:
        return
    else:
        yield State(s.i, s.j - 1), rate


def slope(x, by=SCALE):
    return x * by


def helped(s, n):
    return s._replace(i=n, j=s.j + STEPS)


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def with_helpers(s, q):
    yield helped(s, q.n), slope(q.rate)
    yield helped(s, 1), slope(q.rate, by=slope(2.0, by=LIMIT))
    yield s, float(fibonacci(s.i + 3))


def constants(s, q):
    if ENABLED and s.i < LIMIT:
        yield s._replace(i=s.i + STEPS), SCALE * q.rate
    yield s, NEVER
    yield s, UNKNOWN
    yield s, WEIGHTS[2] + m.pi + sqrt(2.0) + math.exp(q.rate) + float(abs(-2))


def branch_free(s, q):
    r = s.i - 1.5
    yield (
        s._replace(i=where(s.i > 1, 7, s.j)),
        where(s.j == 2, maximum(r, 0.25), minimum(r, q.rate)),
    )
    yield s, maximum(UNKNOWN, r)
    yield s, maximum(r, UNKNOWN)
    yield s, minimum(UNKNOWN, r)
    yield s, minimum(r, UNKNOWN)
    yield s, 1.0 / maximum(-0.0, 0.0)
    yield s, 1.0 / minimum(0.0, -0.0)


def several_fields(s, q):
    t = s._replace(j=s.i, i=s.j)  # swapped, not one after the other
    yield t._replace(i=t.j, j=t.i), q.rate
    yield t, maximum(0.0, minimum(1.0, where(t.i > t.j, 0.5 * q.rate, 2.0)))


def shadowing(rest, k):
    x, target, out = rest.i, 2.5, 3  # names that the template has too
    for rate in range(2):
        yield rest._replace(i=x + out), target * k.rate + rate


def closed_over():
    limit, factor = 2, np.float64(1.5)

    def rules(s, q):
        if s.i < limit:
            yield s._replace(i=s.i + 1), q.rate * factor

    return rules


ALL = [
    loops,
    early_return,
    with_helpers,
    constants,
    branch_free,
    several_fields,
    shadowing,
    closed_over(),
]


@for_each(ALL)
def test_compiled_is_spliced_is_plain(rules):
    divides_by_zero = rules is branch_free
    expected = None if divides_by_zero else in_python(rules)
    compiled = run(spliced(rules))
    if divides_by_zero:
        # Python refuses 1 / 0.0; of equal zeros the second is the result, as its text says
        assert compiled[5::7, 3].tolist() == [np.inf] * 12
        assert compiled[6::7, 3].tolist() == [-np.inf] * 12
        compiled = np.delete(compiled, np.s_[5::7], 0)
        compiled = np.delete(compiled, np.s_[5::6], 0)
        expected = []
        for x in range(12):
            s = State(x % 4, x // 4)
            steps = itertools.islice(branch_free(s, Symbols(4, 0.3)), 5)
            expected += [(x, target.i, target.j, rate) for target, rate in steps]
    else:
        np.testing.assert_array_equal(run(spliced(rules, compiled=False)), expected)
    assert len(compiled) > 5
    np.testing.assert_allclose(compiled, np.array(expected), rtol=4e-16, atol=0)


def test_parameters_are_arguments_not_constants():
    kernel = spliced(loops)
    for n, rate in ((2, 0.5), (3, 7.0)):
        np.testing.assert_array_equal(run(kernel, n, rate), in_python(loops, n, rate))


def helper(x):
    return 2.0 * x


def calls_global_helper(x):
    return helper(x)


def make_other():
    def helper(x):
        return x + 100.0

    def calls_local_helper(x):
        return helper(x)

    return calls_local_helper


def both(x):
    """Template."""
    return Astep(x) + 1000.0 * Bstep(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_two_helpers_of_one_name(compiled):
    functions = {"Astep": calls_global_helper, "Bstep": make_other()}
    assert build(both, functions=functions, compiled=compiled)(3.0) == 6.0 + 1000.0 * 103.0


def bump(s):
    return s._replace(a=s.a + 1.0)


def bump_twice(s, q, e):
    return bump(bump(s))


def pair(x):
    """Template: one helper, two kinds of state."""
    short = R0step(R0State(x), x, x)
    long = R1step(R1State(x, 10.0), x, x)
    return short.a + long.a + long.b


@pytest.mark.parametrize("compiled", [False, True])
def test_one_helper_for_two_states(compiled):
    kernel = build(
        pair,
        functions={"R0step": bump_twice, "R1step": bump_twice},
        tuples={"R0State": ("a",), "R1State": ("a", "b")},
        compiled=compiled,
    )
    assert kernel(1.0) == 3.0 + 3.0 + 10.0


# --------------------------------------------------------------------------- errors name the place


def unknown_name(s, q):
    yield s, q.rate * undefined_name  # here


def text_constant(s, q):
    yield s, NAME  # here


def module_function(s, q):
    yield s, np.sqrt(q.rate)  # here


def unknown_field(s, q):
    yield s._replace(i=1, h=2), q.rate  # here


def starred_fields(s, q):
    yield s._replace(**q), q.rate  # here


def replace_of_call(s, q):
    yield s._replace(i=1)._replace(j=2), q.rate  # here


def yield_one(s, q):
    yield s  # here


def yield_three(s, q):
    yield s, 1.0, 2.0  # here


def yield_expression(s, q):
    x = yield s, q.rate  # here
    yield s, x


def return_in_loop(s, q):
    for n in range(3):
        if n == s.i:
            return  # here
        yield s, q.rate


def return_value(s, q):
    yield s, q.rate
    return 3.0  # here


def typing_error(s, q):
    unused = s.i + 1
    if s.i > unused:
        yield s, q.rate
    yield s._replace(j=s.j + "one"), q.rate  # here


def bad_helper(x):
    y = x + 1
    return y + "one"  # here


def typing_error_in_helper(s, q):
    yield s, bad_helper(q.rate)


def tuple_rate(s, q):
    rate = (q.rate, q.rate)
    yield s, rate.missing  # here


REFUSED = [
    (unknown_name, "undefined_name: a compiled rule may not use this name"),
    (text_constant, "NAME: a compiled rule may not use this name"),
    (module_function, "np: a compiled rule may not use this name"),
    (unknown_field, "the state has no 'h', only i, j"),
    (starred_fields, r"the fields must be written out, without \*\*"),
    (replace_of_call, "_replace must be called on a variable that holds the state"),
    (yield_one, "yield target, rate is expected"),
    (yield_three, "yield target, rate is expected"),
    (yield_expression, "yield must stand alone"),
    (return_in_loop, "return early only outside of its loops"),
    (return_value, "return early only outside of its loops"),
    (typing_error, "No implementation of function.*add.*str"),
    (typing_error_in_helper, "No implementation of function.*add.*str"),
    (tuple_rate, "missing"),
]


def place_of(rule):
    lines, first = inspect.getsourcelines(rule)
    return f"{__file__}:{first + next(n for n, line in enumerate(lines) if '# here' in line)}: "


@for_each(REFUSED)
def test_error_names_file_and_line(rule, why):
    with pytest.raises(KernelError) as caught:
        run(spliced(rule))
    message = str(caught.value)
    assert message.startswith(place_of(bad_helper if rule is typing_error_in_helper else rule))
    assert re.search(why, message), message
    assert "\n" not in message


def with_fields(q, s, out):
    """Template: q stays, s changes."""
    for k in range(out.size):
        out[k] = s.n + q.rate
        s = q
    return out.shape[0]


@pytest.mark.parametrize("compiled", [True, False])
def test_fields_are_taken_out_once_unless_they_change(compiled):
    out = np.zeros(3)
    kernel = build(with_fields, compiled=compiled)
    assert kernel(Symbols(1, 0.5), Symbols(7, 1.0), out) == 3
    assert out.tolist() == [7.5, 1.5, 1.5]


def test_error_without_source():
    scope: dict = {}
    exec("def rules(s, q):\n    yield s, 1.0", scope)  # noqa: S102
    with pytest.raises(KernelError, match="source text is not available"):
        spliced(scope["rules"])
    with pytest.raises(KernelError, match="a function written with def is expected"):
        spliced(lambda s, q: [(s, 1.0)])


def test_a_numeric_error_is_not_disguised():
    def rules(s, q):
        yield s, 1.0 / (s.i - 1)

    out = run(spliced(rules))  # as Numba divides: inf, no exception
    assert np.isinf(out[1, 3])


# --------------------------------------------------------------------------- files and their cache

SOURCE = """
from hopflow import where

FACTOR = {factor}

def rules(s, q):
    yield s._replace(i=s.i + 1), {expression}
"""


def write_module(folder, expression="q.rate", factor=2.0, above=""):
    path = folder / "their_rules.py"
    path.write_text(above + SOURCE.format(expression=expression, factor=factor))
    linecache.clearcache()
    spec = importlib.util.spec_from_file_location("their_rules", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder for kernels."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(folder))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    loading.folder.cache_clear()
    yield folder
    loading.folder.cache_clear()


def files(folder):
    return sorted(path.name for path in folder.glob("*.py"))


def test_same_text_same_file(cache, tmp_path):
    first = spliced(write_module(tmp_path).rules)
    names = files(cache)
    assert len(names) == 1
    assert re.fullmatch(r"kernel_[0-9a-f]{24}\.py", names[0])
    stamp = (cache / names[0]).stat().st_mtime_ns

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    second = spliced(write_module(elsewhere, above="# moved\n\n\n").rules)
    assert files(cache) == names
    assert (cache / names[0]).stat().st_mtime_ns == stamp
    assert second.kernel is first.kernel

    spliced(write_module(elsewhere).rules, salt="other types")
    assert len(files(cache)) == 2


def test_edited_rules_are_never_stale(cache, tmp_path):
    results = []
    for expression in ("1.0 + 0.0 * q.rate", "2.0 * q.rate", "FACTOR * s.j", "1.0 + 0.0 * q.rate"):
        module = write_module(tmp_path, expression)
        results.append(run(spliced(module.rules)))
        np.testing.assert_array_equal(results[-1], in_python(module.rules))
    assert not np.array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[3])
    assert len(files(cache)) == 3


def test_a_file_edited_after_its_import_is_refused(cache, tmp_path):
    module = write_module(tmp_path, "q.rate + 1.0")
    write_module(tmp_path, "q.rate + 2.0")
    with pytest.raises(KernelError, match=r"their_rules.py:\d+: rules: its file has changed"):
        spliced(module.rules)
    shifted = write_module(tmp_path, "q.rate + 1.0")
    write_module(tmp_path, "q.rate + 1.0", above="def first(s, q):\n    yield s, 5.0\n\n\n\n")
    with pytest.raises(KernelError, match=r"has changed since it was imported|source text"):
        spliced(shifted.rules)


def test_changed_constants_and_helpers_are_never_stale(cache, tmp_path):
    module = write_module(tmp_path, "FACTOR * q.rate")
    kernel = spliced(module.rules)
    assert spliced(module.rules) is kernel  # looked up, not made again
    before = run(kernel)
    module.FACTOR = 5.0
    np.testing.assert_array_equal(run(spliced(module.rules)), in_python(module.rules))
    np.testing.assert_allclose(run(spliced(module.rules))[:, 3], 2.5 * before[:, 3], rtol=1e-15)


def test_changed_closures_are_never_stale(cache):
    limit = 1.0

    def rules(s, q):
        yield s, limit

    assert run(spliced(rules))[0, 3] == 1.0
    limit = 2.0
    assert run(spliced(rules))[0, 3] == 2.0


def test_threads_share_one_kernel(cache, tmp_path):
    results: list = []
    rules = [write_module(tmp_path, "q.rate + 0.125").rules for _ in range(4)]
    threads = [threading.Thread(target=lambda r=r: results.append(run(spliced(r)))) for r in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, in_python(rules[0]))


def test_shape_of():
    same = [(1, 2.0), (True,), (1,), ((1.0, 2.0), 1), ((1.0,), 1)]
    assert len({shape_of(value) for value in same}) == len(same)
    assert shape_of((1, (2.0, True))) == shape_of((7, (0.0, False)))
    arrays = [np.zeros(3), np.zeros(3, int), np.zeros((3, 3)), np.asfortranarray(np.ones((3, 3)))]
    assert len({shape_of(value) for value in [*arrays, np.zeros(6)[::2]]}) == 5
    assert shape_of(np.zeros(3)) == shape_of(np.ones(7))


# Rules put into loops of a template, and fields into local variables: the same numbers.


def total(s, q):
    """Template: the sum of rate times target over the yielded pairs."""
    found = 0.0
    for target, rate in rules(s, q):
        found += rate * target
        done()
    return found


def queue(s, q):
    if s < q.n:
        yield s + 1, q.rate
    if s == 0:
        return
    yield s - 1, 1.0


@pytest.mark.parametrize("s", [0, 2, 5])
def test_a_rule_in_a_template_yields_what_it_yields_in_python(s):
    kernel = build(
        total, rules={"rules": queue}, snippets={"done": "found += 10.0"}, compiled=False
    )
    q = Symbols(5, 0.5)
    assert kernel(s, q) == sum(rate * target + 10.0 for target, rate in queue(s, q))


def test_only_fields_of_parameters_that_stay_are_taken_out():
    (tree,) = ast.parse("def f(q, s):\n s = s.next\n return q.rate + s.rate + q.shape[0]").body
    assert ast.unparse(Fields.first(tree)).splitlines() == [
        "def f(q, s):", "    q__rate = q.rate", "    s = s.next", "    return q__rate + s.rate + q.shape[0]",
    ]  # fmt: skip


ONE = np.uint64(1)


def places(span, table):
    """Traversal: places of a span whose number is not 7, which statements pass."""
    row = 0.0  # another row than the template's
    for n in range(span[0], span[1]):
        row += 1.0
        if table.numbers[n] == 7:
            passed()  # type: ignore[name-defined]
            continue
        yield n, n + ONE


def gather(span, table):
    """Template: numbers of places, times those behind them, and what was passed."""
    row = 0.0
    sevens = 0
    for n, behind in places(span, table):
        if table.numbers[n] > 0:
            row += table.numbers[n] * table.numbers[behind]
    return row, sevens


def stopped(span, table):
    """Template: a body that goes on by itself."""
    for n, _ in places(span, table):
        if n > ONE:
            continue
    return 0.0


class Table(NamedTuple):
    numbers: Any


@pytest.mark.parametrize("compiled", [False, True])
def test_a_traversal_becomes_part_of_the_loops_of_a_template(compiled):
    table, span = Table(np.array([3.0, 7.0, -2.0, 5.0, 2.0])), (np.uint64(0), np.uint64(4))
    given = {"snippets": {"passed": "sevens += 1\nrow += 0.0"}, "records": (None, layout_of(table))}
    kernel = build(gather, compiled=compiled, salt=f"{compiled}", **given)
    assert kernel(span, plain(table)) == (3.0 * 7.0 + 5.0 * 2.0, 1)


def test_the_body_of_a_traversal_may_not_go_on_by_itself():
    """In Python it would go on behind the yield."""
    with pytest.raises(KernelError, match="may not end it, or go on"):
        build(stopped, snippets={"passed": "pass"}, compiled=False)


# Records among the arguments of kernels: passed as plain tuples, and records again inside.


class Point(NamedTuple):
    x: Any
    y: float


class Segment(NamedTuple):
    begin: Point
    end: Point
    rest: tuple[Any, ...] = ()


def length(segment, scale):
    """Template: how far the ends of a segment are from each other along both axes, in numbers of a scale."""
    begin = segment.begin
    total = abs(segment.end.x[0] - begin.x[0]) + abs(segment.end.y - begin.y)
    return total * scale + len(segment.rest)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_kernel_has_the_records_that_it_was_called_with(compiled):
    segment = Segment(Point(np.array([1.0]), 2.0), Point(np.array([4.0]), 0.0))
    given = plain((segment, 10.0))
    assert type(given[0]) is type(given[0][0]) is tuple
    layouts = layout_of(segment), None
    kernel = build(length, records=layouts, salt=shape_of(given), compiled=compiled)
    assert kernel(*given) == 50.0


def test_two_records_of_one_name_have_the_same_fields():
    class Other(NamedTuple):
        z: float

    Other.__name__ = "Point"
    with pytest.raises(ValueError, match="Point: two types of this name differ"):
        definitions([layout_of(Point(0.0, 1.0)), layout_of(Other(1.0))])


# Text of a kernel module: it stands alone, and computes what the functions compute.


RATE = 0.25


def by_rate(x):
    return RATE * x


def piecewise(x):
    return where(x > 4.0, by_rate(x), maximum(x, 2.0)) + by_rate(1.0)


def counted(s):
    return s._replace(count=3)


def moved(s):
    s = counted(s)
    return s._replace(place=s.place + 0.5)


def test_a_helper_is_written_once():
    module = Module({}, set())
    module.add("Arate", piecewise, "State")
    module.add("Brate", piecewise, "State")
    assert sum(tree.name.endswith("by_rate") for tree in module.trees) == 1


def test_fields_that_functions_set_are_known_and_become_floats():
    """Compiled, a state has one type whichever branch made it."""
    module = Module({"State": ("count", "place", "other")}, set(), floats=True)
    module.add("Amoved", moved, "State")
    assert module.replaced == {"count", "place"}
    state = namedtuple("State", ("count", "place", "other"))(1.0, 2.0, 4.0)  # noqa: PYI024
    new = interpret(module, "Amoved")(state)
    assert tuple(new) == (3.0, 2.5, 4.0)
    assert type(new.count) is float


# Source of functions and literals of numbers, as the kernels need them.


class Level(enum.IntEnum):
    HIGH = 7


def documented(x: float, n: int = 2) -> float:
    """Docstring, annotations and defaults."""
    total = 0.0
    for k in range(n):
        total += x * k
    return total


def test_a_parsed_function_computes_the_same_and_keeps_its_lines():
    tree = parse(documented)
    assert tree.lineno == inspect.getsourcelines(documented)[1]
    assert all(argument.annotation is None for argument in tree.args.args)
    assert ast.get_docstring(tree) is None
    scope: dict = {}
    exec(ast.unparse(tree), scope)  # noqa: S102
    assert scope["documented"](1.5, 4) == documented(1.5, 4) == 9.0


@for_each([
    (True, "True"), (np.int64(3), "3"), (Level.HIGH, "7"), (np.float64(0.1), "0.1"),
    ((1, (2.5, False)), "(1, (2.5, False))"), (math.nan, "math.nan"),
    ("text", None), ([1], None), ((1, "text"), None), (None, None),
])  # fmt: skip
def test_numbers_and_their_tuples_have_a_literal(value, text):
    tree = literal(value)
    assert (tree and ast.unparse(ast.Expression(tree))) == text


def test_infinity_survives_as_a_literal():
    assert eval(ast.unparse(ast.Expression(literal(-math.inf)))) == -math.inf


def test_an_error_names_the_place_and_the_text_of_a_node():
    tree = parse(documented)
    line = inspect.getsourcelines(documented)[1] + 5
    error = refuse(tree.body[-1], "not this")
    assert isinstance(error, KernelError)
    assert str(error) == f"{__file__}:{line}: return total: not this"


# Texts parsed by several threads while garbage is collected.


TEXT = "def f(a, b):\n" + "".join(
    f"    x{i} = (a + {i}) * (b - {i}) if a > {i} else [a, (b, {{'k': b}})]\n" for i in range(60)
)


class Collected:
    """An object in a circle with itself, whose end runs Python code."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum(range(50))


def test_threads_parse_at_the_same_time() -> None:
    errors: list[SystemError] = []

    def parse() -> None:
        for _ in range(60):
            _ = [Collected() for _ in range(5)]
            try:
                syntax_tree(TEXT)
            except SystemError as error:
                errors.append(error)

    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    threads = [threading.Thread(target=parse) for _ in range(4)]
    try:
        gc.set_threshold(50)
        sys.setswitchinterval(1e-6)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert errors == []

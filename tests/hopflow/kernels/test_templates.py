"""Templates and functions in plain Python, spliced and compiled: same numbers, errors at the user's line, no stale code."""

from __future__ import annotations

import ast
import enum
import gc
import importlib.util
import inspect
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
from hopflow.kernels import KernelError, cache, make_kernel, native
from hopflow.kernels.module import Module
from hopflow.kernels.source import literal, parse, refuse, syntax_tree
from hopflow.kernels.splice import Fields
from tests.surface import for_each

# ruff: noqa: F821, F841 -- names of a template are put there by the splice


class State(NamedTuple):
    i: float
    j: float


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


def apply_rules(n, rate, out):
    """Template: write the new states of all rules, for twelve states."""
    q = Symbols(n, rate)
    for x in range(12):
        s = State(float(x % 4), float(x // 4))
        apply_all()
    return 12


def build_rules(rules, **options):
    """Return a function of n and a rate, which returns the new states by rule and state."""
    functions = {f"rule{k}": rule for k, rule in enumerate(rules)}
    text = "\n".join(
        f"new{k} = rule{k}(s, q)\nout[{k}, x, 0] = new{k}.i\nout[{k}, x, 1] = new{k}.j" for k in range(len(rules))
    )
    kernel = make_kernel(apply_rules, functions=functions, snippets={"apply_all": text}, tuples=TUPLES, **options)

    def run(n=4, rate=0.3):
        out = np.full((len(rules), 12, 2), -1.0)
        assert kernel(n, rate, out) == 12
        return out

    return run


def in_python(rules, n=4, rate=0.3):
    """Return what `build_rules` returns, by calling the rules as they stand."""
    states = [State(float(x % 4), float(x // 4)) for x in range(12)]
    return np.array([[rule(s, Symbols(n, rate)) for s in states] for rule in rules])


# What rules may use.


def loops(s, q):
    total = 0.0
    for n in range(1, q.n):
        if n == s.i:
            continue
        k = 0
        while True:
            k += 1
            if k > n:
                break
            total += q.rate * n
        for step in (1, 2):
            total += q.rate / step
    return s._replace(j=s.j + total)


def early_return(s, q):
    """Docstrings and annotations may stay."""
    if s.i == 0.0:
        return s
    rate: float = q.rate * s.i
    if s.j == 0.0:
        return s._replace(i=s.i - 1.0)
    return State(s.i, rate)


def slope(x, by=SCALE):
    return x * by


def helped(s, x):
    return s._replace(i=x, j=s.j + STEPS)


def with_helpers(s, q):
    return helped(s, slope(q.rate, by=slope(2.0, by=LIMIT)))


def constants(s, q):
    if ENABLED and s.i < LIMIT:
        return s._replace(i=s.i + STEPS, j=SCALE * q.rate)
    return s._replace(
        i=NEVER, j=UNKNOWN if s.j > 1.0 else WEIGHTS[2] + m.pi + sqrt(2.0) + math.exp(q.rate) + float(abs(-2))
    )  # fmt: skip


def branch_free(s, q):
    r = s.i - 1.5
    return s._replace(i=where(s.i > 1, 7.0, s.j), j=where(s.j == 2, maximum(r, 0.25), minimum(r, q.rate)))


def greatest_of_nan(s, q):
    return s._replace(i=maximum(UNKNOWN, s.i), j=maximum(s.i, UNKNOWN))


def least_of_nan(s, q):
    return s._replace(i=minimum(UNKNOWN, s.i), j=minimum(s.i, UNKNOWN))


def of_equal_zeros(s, q):
    return s._replace(i=math.copysign(1.0, maximum(-0.0, 0.0)), j=math.copysign(1.0, minimum(0.0, -0.0)))  # fmt: skip


def several_fields(s, q):
    t = s._replace(j=s.i, i=s.j)  # swapped, not one after the other
    return t._replace(i=maximum(0.0, minimum(1.0, where(t.i > t.j, 0.5 * q.rate, 2.0))))


def shadowing(s, k):
    x, new0, out = s.i, 2.5, 3.0  # names that the template has too
    return s._replace(i=x + out, j=new0 * k.rate)


def closed_over():
    limit, factor = 2, np.float64(1.5)

    def rule(s, q):
        if s.i < limit:
            return s._replace(i=s.i + 1.0)
        return s._replace(j=q.rate * factor)

    return rule


RULES = [
    loops, early_return, with_helpers, constants, branch_free, greatest_of_nan, least_of_nan, of_equal_zeros,
    several_fields, shadowing, closed_over(),
]  # fmt: skip


def test_compiled_is_spliced_is_plain():
    """And parameters are arguments, not constants."""
    compiled, spliced = build_rules(RULES), build_rules(RULES, compiled=False)
    for n, rate in ((4, 0.3), (2, 7.0)):
        expected = in_python(RULES, n, rate)
        np.testing.assert_array_equal(spliced(n, rate), expected)
        np.testing.assert_allclose(compiled(n, rate), expected, rtol=4e-16, atol=0)


def test_division_by_zero_gives_infinity_and_no_exception():
    def rule(s, q):
        return s._replace(i=1.0 / (s.i - 1.0))

    assert build_rules([rule])()[0, 1, 0] == np.inf


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
    assert make_kernel(both, functions=functions, compiled=compiled)(3.0) == 6.0 + 1000.0 * 103.0


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
    kernel = make_kernel(
        pair,
        functions={"R0step": bump_twice, "R1step": bump_twice},
        tuples={"R0State": ("a",), "R1State": ("a", "b")},
        compiled=compiled,
    )
    assert kernel(1.0) == 3.0 + 3.0 + 10.0


class Bumps:
    @staticmethod
    def step(s, q, e):
        return bump_twice(s, q, e)

    def method(self, q, e):
        return self


class Derived(Bumps):
    pass


def bump_of_base(s, q, e):
    after = Derived.step(s, q, e)
    return after._replace(a=after.a + 1.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_functions_call_static_methods_of_classes(compiled):
    kernel = make_kernel(
        pair,
        functions={"R0step": bump_of_base, "R1step": bump_of_base},
        tuples={"R0State": ("a",), "R1State": ("a", "b")},
        compiled=compiled,
    )
    assert kernel(1.0) == 4.0 + 4.0 + 10.0


def differences(a, b):
    """Template: increments of a rule, derived from its text and as differences."""
    s = State(a, b)
    return grown(s, a, b).j, fallen(s, a, b).i


def rises(s, q, e):
    return s._replace(j=s.j + 1e-17)


def chooses(s, q, e):
    return State(2.0 * s.i, s.j)


@pytest.mark.parametrize("compiled", [False, True])
def test_increments_of_a_rule_have_no_cancellation(compiled):
    kernel = make_kernel(
        differences,
        functions={"rule": rises, "other": chooses},
        tuples={"State": State._fields},
        changes={"grown": ("rule", ()), "fallen": ("other", ())},
        compiled=compiled,
    )
    assert kernel(3.0, 1.0) == (1e-17, 3.0)


# Errors name the file, the line and its text.


def unknown_name(s, q):
    return s._replace(i=q.rate * undefined_name)  # here


def string_constant(s, q):
    return s._replace(i=NAME)  # here


def module_function(s, q):
    return s._replace(i=np.sqrt(q.rate))  # here


def unknown_field(s, q):
    return s._replace(i=1, h=2)  # here


def starred_fields(s, q):
    return s._replace(**q)  # here


def replace_of_call(s, q):
    return s._replace(i=1)._replace(j=2)  # here


def method_of_class(s, q):
    return Bumps.method(s, q, q)  # here


def calls_itself(s, q):
    if s.i > 3.0:
        return s
    return calls_itself(s, q)  # here


REFUSED = [
    (unknown_name, "undefined_name: a compiled rule may not use this name"),
    (string_constant, "NAME: a compiled rule may not use this name"),
    (module_function, "np: a compiled rule may not use this name"),
    (method_of_class, "Bumps: a compiled rule may not use this name"),
    (unknown_field, "the state has no 'h', only i, j"),
    (starred_fields, r"the fields must be written out, without \*\*"),
    (replace_of_call, "_replace must be called on a variable that holds the state"),
    (calls_itself, "a compiled rule may not call itself"),
]


def typing_error(s, q):
    unused = s.i + 1
    if s.i > unused:
        return s
    return s._replace(j=s.j + "one")  # here


def bad_helper(x):
    y = x + 1
    return y + "one"  # here


def typing_error_in_helper(s, q):
    return s._replace(i=bad_helper(q.rate))


def missing_attribute(s, q):
    rate = (q.rate, q.rate)
    return s._replace(i=rate.missing)  # here


def returns_nothing(s, q):  # here
    s._replace(i=1.0)


NOT_TYPED = [
    (typing_error, typing_error, "No implementation of function.*add.*"),
    (typing_error_in_helper, bad_helper, "No implementation of function.*add.*"),
    (missing_attribute, missing_attribute, "missing"),
    (returns_nothing, returns_nothing, "the function returns None; return the state"),
]


def place_of(rule):
    lines, first = inspect.getsourcelines(rule)
    return f"{__file__}:{first + next(n for n, line in enumerate(lines) if '# here' in line)}: "


@for_each(REFUSED)
def test_an_error_names_file_and_line(rule, why):
    with pytest.raises(KernelError, match=why) as caught:
        build_rules([rule], compiled=False)
    assert str(caught.value).startswith(place_of(rule))
    assert "\n" not in str(caught.value)


@for_each(NOT_TYPED)
def test_an_error_of_numba_names_file_and_line_of_the_rule(rule, culprit, why):
    """It comes at the first call, when types are known."""
    kernel = build_rules([rule])
    with pytest.raises(KernelError, match=why) as caught:
        kernel()
    assert str(caught.value).startswith(place_of(culprit))
    assert "\n" not in str(caught.value)


def test_an_error_without_source():
    scope: dict = {}
    exec("def rule(s, q):\n    return s", scope)  # noqa: S102
    with pytest.raises(KernelError, match="source text is not available"):
        build_rules([scope["rule"]])
    with pytest.raises(KernelError, match="a function written with def is expected"):
        build_rules([lambda s, q: s])


def test_a_callable_object_without_a_hash_has_no_source():
    class Rule:
        __hash__ = None

        def __call__(self, s, q):
            return s

    with pytest.raises(KernelError, match="source text is not available"):
        parse(Rule())


# Files of rules and their cache: an entry's name is a digest of the text that determines it.

SOURCE = """
from hopflow import where

FACTOR = {factor}

def helper(x):
    return {helper} * x

def rule(s, q):
    return s._replace(i=s.i + 1.0, j=helper({expression}))
"""


def write_module(folder, expression="q.rate", factor=2.0, helper=1.0, above=""):
    path = folder / "their_rules.py"
    path.write_text(above + SOURCE.format(expression=expression, factor=factor, helper=helper))
    linecache.clearcache()
    spec = importlib.util.spec_from_file_location("their_rules", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """An empty folder for entries, and nothing loaded before."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(folder))
    monkeypatch.setattr(native, "_addresses", {})
    return folder


def test_same_text_same_entry(empty_cache, tmp_path):
    build_rules([write_module(tmp_path).rule])()
    (name,) = cache.names("code/")
    assert re.fullmatch(r"code/[0-9a-f]{32}-[0-9a-f]{12}", name)
    stamp = (empty_cache / f"{name}.hopflow").stat().st_mtime_ns

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    build_rules([write_module(elsewhere, above="# moved\n\n\n").rule])()
    assert cache.names("code/") == [name]
    assert (empty_cache / f"{name}.hopflow").stat().st_mtime_ns == stamp


def test_edited_rules_helpers_and_constants_are_never_stale(empty_cache, tmp_path):
    results = []
    for edit in (
        {"expression": "1.0 + 0.0 * q.rate"},
        {"expression": "FACTOR * s.j"},
        {"expression": "FACTOR * s.j", "factor": 3.0},
        {"expression": "FACTOR * s.j", "helper": 4.0},
        {"expression": "1.0 + 0.0 * q.rate"},
    ):
        module = write_module(tmp_path, **edit)
        results.append(build_rules([module.rule])())
        np.testing.assert_array_equal(results[-1], in_python([module.rule]))
    np.testing.assert_array_equal(results[0], results[-1])
    assert len(cache.names("code/")) == 4


def test_a_constant_changed_in_this_process_is_met(tmp_path):
    module = write_module(tmp_path, "FACTOR * q.rate")
    kernel = make_kernel(both, functions={"Astep": module.helper, "Bstep": module.helper})
    assert make_kernel(both, functions={"Astep": module.helper, "Bstep": module.helper}) is kernel
    before = build_rules([module.rule])()
    module.FACTOR = 5.0
    after = build_rules([module.rule])()
    np.testing.assert_array_equal(after, in_python([module.rule]))
    np.testing.assert_allclose(after[0, :, 1], 2.5 * before[0, :, 1], rtol=1e-15)


def test_a_closure_changed_in_this_process_is_met():
    limit = 1.0

    def rule(s, q):
        return s._replace(i=limit)

    assert build_rules([rule])()[0, 0, 0] == 1.0
    limit = 2.0
    assert build_rules([rule])()[0, 0, 0] == 2.0


def test_a_file_edited_after_its_import_is_refused(tmp_path):
    module = write_module(tmp_path, "q.rate + 1.0")
    write_module(tmp_path, "q.rate + 2.0")
    with pytest.raises(KernelError, match=r"their_rules.py:\d+: rule: its file has changed"):
        build_rules([module.rule])
    shifted = write_module(tmp_path, "q.rate + 1.0")
    write_module(tmp_path, "q.rate + 1.0", above="def first(s, q):\n    return s\n\n\n\n")
    with pytest.raises(KernelError, match=r"has changed since it was imported|source text"):
        build_rules([shifted.rule])


def test_threads_share_one_unit(empty_cache, tmp_path):
    results: list = []
    rules = [write_module(tmp_path, "q.rate + 0.125").rule for _ in range(4)]
    threads = [threading.Thread(target=lambda r=r: results.append(build_rules([r])())) for r in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results:
        np.testing.assert_array_equal(result, in_python(rules[:1]))
    assert len(cache.names("code/")) == 1


# Fields of arguments in local variables, and traversals in the loops of a template: the same numbers.


def with_fields(q, s, out):
    """Template: q stays, s changes."""
    for k in range(out.size):
        out[k] = s.n + q.rate
        s = q
    return out.shape[0]


@pytest.mark.parametrize("compiled", [True, False])
def test_fields_are_taken_out_once_unless_they_change(compiled):
    out = np.zeros(3)
    kernel = make_kernel(with_fields, compiled=compiled)
    assert kernel(Symbols(1, 0.5), Symbols(7, 1.0), out) == 3
    assert out.tolist() == [7.5, 1.5, 1.5]


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
            passed()
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


class Table(NamedTuple):
    numbers: Any


@pytest.mark.parametrize("compiled", [False, True])
def test_a_traversal_becomes_part_of_the_loops_of_a_template(compiled):
    table, span = Table(np.array([3.0, 7.0, -2.0, 5.0, 2.0])), (np.uint64(0), np.uint64(4))
    snippets = {"passed": "sevens += 1\nrow += 0.0"}
    kernel = make_kernel(gather, compiled=compiled, snippets=snippets)
    assert kernel(span, table) == (3.0 * 7.0 + 5.0 * 2.0, 1)


def stopped(span, table):
    """Template: a body that goes on by itself, which in Python would go on behind the yield."""
    for n, _ in places(span, table):
        if n > ONE:
            continue
    return 0.0


def unpacked(span, table):
    """Template: a loop over three values of a traversal that yields two."""
    for n, _, _ in places(span, table):
        table.numbers[n] = 0.0
    return 0.0


def returning(span):
    """Traversal that returns early."""
    for n in range(span[0], span[1]):
        if n > 3:
            return
        yield n, n


def assigning(span):
    """Traversal that takes a value."""
    for n in range(span[0], span[1]):
        x = yield n, n
        n += x


def loop_over_returning(span):
    total = 0
    for n, k in returning(span):
        total += n * k
    return total


def loop_over_assigning(span):
    total = 0
    for n, k in assigning(span):
        total += n * k
    return total


def with_an_expression(span, table):
    """Template: a traversal takes variables only."""
    for n, _ in places((span[0], span[1]), table):
        table.numbers[n] = 0.0
    return 0.0


@for_each([
    (stopped, "may not end it, or go on"), (unpacked, "yields a value for each variable"),
    (loop_over_returning, "may not return early"), (loop_over_assigning, "yield must stand alone"),
    (with_an_expression, "a traversal takes 2 variables"),
])  # fmt: skip
def test_a_traversal_that_cannot_be_spliced_is_refused(template, why):
    with pytest.raises(KernelError, match=why) as caught:
        make_kernel(template, snippets={"passed": "pass"}, compiled=False)
    assert str(caught.value).startswith(f"{__file__}:")


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
    new = module.run_as_python()["Amoved"](state)
    assert tuple(new) == (3.0, 2.5, 4.0)
    assert type(new.count) is float


# Source of functions and literals of numbers, as kernels need them.


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

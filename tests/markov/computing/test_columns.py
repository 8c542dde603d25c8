"""Columns of codes, sparse structure, and what is selected of them."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from markov.computing import graphs
from markov.computing.columns import Column, UnsupportedError
from markov.computing.selections import Selection

# Numbers over sets of states: in each state what Python's own numbers give, or its error.


A, B = np.meshgrid(np.arange(-3, 9), np.arange(0, 6), indexing="ij")
A, B = A.ravel(), B.ravel()
TABLE = (0.5, 2, 7.25, 1, 3)
NAMES = {"add": 3, 4: "four", 0: "none", 5: 1.5}


def run(function: Any, left: np.ndarray) -> tuple[Any, Selection]:
    """Run a function of two numbers on some states; return its result or error, and the states."""
    selection = Selection(len(left))
    a = Column(selection, A[left], -3, 8)
    b = Column(selection, B[left], 0, 5)
    try:
        return function(a, b), selection
    except Exception as error:  # noqa: BLE001
        return error, selection


def everywhere(function: Any) -> list[Any]:
    """Return what a function gives in every state, or the class of its error; None: not supported."""
    found: list[Any] = [None] * len(A)
    left = [np.arange(len(A))]
    while left:
        states = left.pop()
        try:
            result, selection = run(function, states)
        except UnsupportedError:
            continue
        left += [states[places] for places in selection.left]
        here = states[selection.states]
        if type(result) is Column:
            values = [value.item() if isinstance(value, np.generic) else value
                      for value in result.values()]  # fmt: skip
        else:
            value = result.item() if isinstance(result, np.generic) else result
            values = [type(value) if isinstance(value, Exception) else value] * len(here)
        for x, value in zip(here.tolist(), values, strict=True):
            found[x] = value
    return found


def python(function: Any, a: int, b: int) -> Any:
    try:
        result = function(a, b)
        return result.item() if isinstance(result, (np.generic, np.ndarray)) else result
    except Exception as error:  # noqa: BLE001
        return type(error)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


def check(function: Any, lenient: bool = False) -> int:
    """Check a function in every state; return in how many it was run on columns.

    ``lenient``: where NumPy's numbers give an infinity, columns may raise as Python's numbers do: such
    states are left to plain Python.
    """
    supported = 0
    for x, found in enumerate(everywhere(function)):
        if found is None:
            continue
        supported += 1
        expected = python(function, int(A[x]), int(B[x]))
        if lenient and isinstance(found, type):
            continue
        assert same(found, expected), (int(A[x]), int(B[x]), found, expected)
    return supported


LEAVES = ["a", "b", "0", "1", "2", "7", "-3", "0.5", "2.0", "1e300", "3000000000000000000", "True"]
TWO = ["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">", ">=", "and", "or", "&", "|", "^"]
ONE = [
    "-({})", "+({})", "abs({})", "not ({})", "round({}, 1)", "int({})", "float({})", "~int({})",
    "math.floor({})", "TABLE[int({}) % 5]", "NAMES.get({}, 2)", "divmod({}, 3)[1]",
    "min({}, 4)", "max(1.5, {})", "({}) ** 2", "2 ** min(({}), 5)", "1 << (abs(int({})) % 9)",
    "len(str({}))", "({}).real", "np.exp(0.01 * ({}))", "np.sqrt(abs({}))",
    "(3 if ({}) else a)", "(b if ({}) > 1 else 0.25)", "isinstance({}, int)", "sum([a, b, {}])",
    "f'{{{}}}'.count('1')", "hash(({}) // 2) % 3",
]  # fmt: skip


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(parts, st.sampled_from(TWO), parts).map(lambda p: f"(({p[0]}) {p[1]} ({p[2]}))")
    one = st.tuples(st.sampled_from(ONE), parts).map(lambda p: p[0].format(p[1]))
    return st.one_of(two, one)


def rule(text: str) -> Any:
    return eval(f"lambda a, b: {text}", {"math": math, "np": np, "TABLE": TABLE, "NAMES": NAMES})


@pytest.mark.filterwarnings("ignore:Bitwise inversion")  # of truth values, since Python 3.12
@settings(max_examples=400)
@given(st.recursive(st.sampled_from(LEAVES), grown, max_leaves=8))
@example("2 ** -a")
@example("3000000000000000000 * a + b")
@example("(a + 0.5) // (b - 2)")
@example("b / a")
@example("(a == 2) + (b == 2)")
@example("~(a > b)")
def test_expressions_give_what_python_gives(text):
    with np.errstate(all="ignore"):
        check(rule(text), lenient="np." in text)


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize(
    "text",
    [
        "a + b * 2 - 1",
        "7 ** b + a",
        "7 ** (b * 13)",  # beyond 64 bits
        "10 ** -b",
        "6 // a",
        "a % (b - 2)",
        "0.5 * a / b",
        "1 if a > b and not b == 3 else 0.25 * a",
        "TABLE[b % 5] * a",
        "NAMES.get(a, 9)",
        "min(a, b, 3) + max(a, 1)",
        "round(a / 3, 2)",
        "np.exp(-0.1 * a)",
        "np.minimum(a, b)",
        "np.where(a > 2, 0.5 * b, 0.5)",
        "np.float64(2.0) * a - b",
        "math.sqrt(b) + math.comb(6, b)",
        "(a > 2) + (b > 2) + True",
        "(a & 3) | (b << 2) ^ 1",
        "a.bit_length() if a >= 0 else (-a).bit_count()",
        "4611686018427387904 * a",
        "a * a * a * 123456789012345678",
        "9007199254740993 + a > 9007199254740992.0",
        "(a + 9007199254740993) / 3",
        "f'{a}{b:02d}'.count('0')",
    ],
)
def test_what_rules_are_made_of_runs_on_columns(text):
    assert check(rule(text)) == len(A)


def test_what_is_not_supported_says_so():
    for text in ("np.asarray(a)", "np.int64(3) * a", "a * __import__('fractions').Fraction(1, 3)"):
        assert check(rule(text)) == 0


def test_an_except_clause_sees_the_error_of_its_states_only():
    def guarded(a: Any, b: Any) -> Any:
        try:
            return 6 // a
        except ZeroDivisionError:
            return b

    assert check(guarded) == len(A)


def test_a_decision_keeps_most_states_and_leaves_the_others():
    selection = Selection(10)
    n = Column(selection, np.arange(10), 0, 9)
    assert bool(n < 7)
    assert selection.states.tolist() == list(range(7))
    assert [places.tolist() for places in selection.left] == [[7, 8, 9]]
    assert int(n % 3) == 0
    assert selection.states.tolist() == [0, 3, 6]
    assert [places.tolist() for places in selection.left[1:]] == [[1, 4], [2, 5]]


# Every state is in the run that is left, or among those that left it: once, whatever is decided.


@given(st.integers(1, 30), st.lists(st.integers(0, 2**30), max_size=6))
def test_no_state_is_lost_or_twice(count, seeds):
    found = Selection(count)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        if seed % 2:
            found.split(rng.integers(0, 3, len(found.states)))
        else:
            found.decide(rng.random(len(found.states)) < 0.5)
    assert len(found.states)
    assert sorted(np.concatenate([found.states, *found.left]).tolist()) == list(range(count))


# Searches in graphs by plain Python return what those of SciPy return.


CHAIN = "from markov import PauseTandem, stationary; stationary(PauseTandem())"
ASKED = "import sys; print([m for m in ('scipy.linalg', 'scipy.sparse.csgraph') if m in sys.modules])"


def random_graph(seed: int) -> sp.csr_matrix:
    """Return a graph of some parts, with loops and entries that are zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    edges = int(rng.integers(0, 4 * n))
    pairs = rng.integers(0, n, (2, edges))
    return sp.csr_matrix((rng.integers(0, 3, edges).astype(float), pairs), shape=(n, n))


@pytest.mark.parametrize("seed", range(40))
def test_plain_python_finds_what_scipy_finds(seed, monkeypatch) -> None:
    graph, found = random_graph(seed), []
    start = seed % graph.shape[0]
    for plain in (True, False):
        monkeypatch.setattr(graphs, "_by_plain_python", lambda _, plain=plain: plain)
        count, labels = graphs.strong_components(graph)
        orders = [
            graphs.breadth_first_order(graph, start),
            graphs.breadth_first_order(graph, start, directed=False),
            graphs.cuthill_mckee_order(graph),
        ]
        assert all(each.dtype == np.int64 for each in orders)
        found.append([count, labels.tolist(), *(each.tolist() for each in orders)])
    assert found[0] == found[1]


def test_the_components_of_an_irreducible_chain_are_one(monkeypatch) -> None:
    monkeypatch.setattr(graphs, "_by_plain_python", lambda _: True)
    ring = sp.csr_matrix(np.roll(np.eye(5), 1, axis=1))
    count, labels = graphs.strong_components(ring)
    assert count == 1
    assert labels.tolist() == [0] * 5


def test_many_searches_load_what_scipy_has(monkeypatch) -> None:
    """Small graphs, until they have had as many entries as a sweep over many chains."""
    monkeypatch.delitem(sys.modules, "scipy.sparse.csgraph", raising=False)
    monkeypatch.setitem(graphs._searched, "entries", 0)
    ring = sp.csr_matrix(np.roll(np.eye(100), 1, axis=1))
    plain = [graphs._by_plain_python(ring) for _ in range(graphs.MAX_PLAIN_ENTRIES // 100 + 5)]
    assert plain == [True] * (graphs.MAX_PLAIN_ENTRIES // 100) + [False] * 5
    large = sp.csr_matrix((graphs.PLAIN_ENTRIES + 1, graphs.PLAIN_ENTRIES + 1))
    large.setdiag(1.0)
    monkeypatch.setitem(graphs._searched, "entries", 0)
    assert not graphs._by_plain_python(large)


def test_a_first_small_chain_loads_neither_searches_nor_linear_algebra_of_scipy() -> None:
    command = [sys.executable, "-c", f"{CHAIN}; {ASKED}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

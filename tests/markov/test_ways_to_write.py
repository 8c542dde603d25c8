"""One queue, written in every way that people write rules: each is run, and means the same.

The queue has arrivals at rate 2 below its capacity and departures at rate 3 above zero. What is put
into its rules is given as text; each variant is a module of its own, as a user's file is. A second model has
rates that go wrong, or are hard to get right, in one of its states: plain Python says what they are.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from markov import ChainModel, generator
from markov.errors import RuleError

HEAD = """
import functools
import itertools
import math
import operator
from dataclasses import dataclass
from enum import Enum, IntEnum
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hopflow import maximum, minimum, where
from markov import ChainModel


class Mode(Enum):
    FAST = 2.0
    SLOW = 1.0


class Speed(IntEnum):
    ONE = 1
    TWO = 2


class State(NamedTuple):
    n: int


UP, DOWN = 1, -1
TWO = 2.0
RATES = {"up": 2.0, "down": 3.0}
BY_MODE = {Mode.FAST: 2.0, Mode.SLOW: 1.0}
LIST = [1.0, 2.0]
ARRAY = np.array([2.0, 3.0])
STEPS = ((1, 2.0), (-1, 3.0))
MOVES = {"up": lambda s: s._replace(n=s.n + 1)}
up = lambda s: s._replace(n=s.n + 1)
changed = functools.partial(lambda by, s: s._replace(n=s.n + by), 1)


def moved(s, by=1):
    return s._replace(n=s.n + by)


def rate(s, q):
    return q.arrivals


def inside(n, q):
    return 0 <= n <= q.capacity


def arrivals(s, q):
    if s.n < q.capacity:
        yield s._replace(n=s.n + 1), 2.0


@functools.lru_cache
def twice(x):
    return 2 * x


class Params(NamedTuple):
    arrivals: float = 2.0
    capacity: int = 12
    table: tuple = (2.0, 3.0)
    matrix: np.ndarray = np.array([[1.0, 2.0], [3.0, 4.0]])
    mode: str = "fast"
    missing: float | None = None
    nested: tuple = ((1, 2.0), (5, 3.0, 4.0))

    @property
    def double(self):
        return 2 * self.arrivals

    def half(self, x):
        return 0.5 * x * self.arrivals


class Queue(ChainModel):
    State = State
    Params = Params
    FAST = 2.0

    def space(self):
        return {"n": range(self.capacity + 1)}

"""
PLAIN = """
@staticmethod
def rules(s, q):
    if s.n < q.capacity:
        yield s._replace(n=s.n + 1), 2.0
    if s.n > 0:
        yield s._replace(n=s.n - 1), 3.0
"""

TARGETS = [
    "State(n=s.n + 1)", "State(s.n + 1)", "(s.n + 1,)", "type(s)(s.n + 1)", "s.__class__(n=s.n + 1)",
    "s._replace(**{'n': s.n + 1})", "s._make([s.n + 1])", "s._replace(n=0)._replace(n=s.n + 1)",
    "moved(s)", "moved(s, by=1)", "moved(s, UP)", "MOVES['up'](s)", "up(s)", "changed(s)",
    "State(*[s.n + 1])", "State(*(x + 1 for x in s))", "Queue.State(s.n + 1)", "s._replace(n=s[0] + 1)",
    "State(**{**s._asdict(), 'n': s.n + 1})", "s._replace(n=int(s.n) + 1)", "s._replace(n=s.n + 1.0)",
    "s._replace(n=operator.add(s.n, 1))", "s._replace(n=max(s.n, 0) + 1)", "s._replace(n=s.n + True)",
    "tuple(map(lambda x: x + 1, s))", "s._replace(n=np.int64(s.n) + 1)", "State(n=sum(s) + 1)",
    "s._replace(n=next(itertools.count(s.n + 1)))", "s._replace(n=minimum(s.n + 1, q.capacity))",
    "s._replace(n=-~s.n)", "{'n': s.n + 1}",
]  # fmt: skip
RATE_TEXTS = [
    "q.arrivals", "2", "TWO", "True * 2.0", "RATES['up']", "RATES.get('up', 0.0)", "BY_MODE[Mode.FAST]",
    "ARRAY[0]", "ARRAY.min()", "LIST[1]", "LIST[-1]", "Fraction(2)", "Fraction(6, 3)", "np.float64(2.0)",
    "np.float32(2.0)", "np.array(2.0)", "Mode.FAST.value", "Speed.TWO", "Speed['TWO'] * 1.0",
    "q.table[0]", "q.matrix[0, 1]", "q.matrix[0].max()", "(q.mode == 'fast') * 2.0",
    "q.mode.count('a') * 2.0", "{'fast': 2.0}[q.mode]", "q.double / 2", "q.half(2)", "rate(s, q)",
    "rate(s=s, q=q)", "math.comb(2, 1)", "math.factorial(2)", "math.exp(0) + 1", "math.sqrt(4.0)",
    "np.exp(0.0) + 1.0", "np.minimum(2.0, 5)", "np.where(s.n >= 0, 2.0, 1.0)", "np.pi / math.pi * 2",
    "np.sum([0.5] * 4)", "sum(r for r in LIST if r > 1)", "sum([x for x in (0.5, 1.5)])", "(r := 2.0)",
    "max(1.0, 2.0)", "abs(-2.0)", "round(2.2)", "float('2')", "int(2.9)", "2.0 if s.n >= 0 else 1.0",
    "where(s.n > -1, 2.0, 0.0)", "maximum(1.0, 2.0)", "10 ** -1 * 20", "2 ** (0 * s.n) * 2", "4 // 2",
    "7 % 5", "pow(2, 1)", "divmod(5, 2)[0]", "len('ab')", "twice(1)", "(lambda x: x + 1)(1.0)",
    "functools.reduce(operator.mul, (1.0, 2.0))", "q.nested[0][1]", "len(q.nested[1]) - 1.0",
    "(q.missing or 2.0)", "2.0 if q.missing is None else 0.0", "next(iter((2.0,)))", "eval('2.0')",
    "2.0 + 0.0 * s.n", "2.0 * (s.n + 1) / (s.n + 1)", "(s.n + 2) - s.n", "isinstance(s.n, int) * 2.0",
    "2.0 * (s.n in range(10 ** 6))", "dict(zip('ab', (1.0, 2.0)))['b']", "-(-2.0)", "+2.0", "2e0",
    "0x2", "1_000 / 500", "np.log(np.exp(2.0))", "float(f'{2}')", "min(3.0, *LIST, 2.0) + 1.0",
]  # fmt: skip
BODIES = {
    "while": "n = 0\nwhile n < 1:\n    n += 1\n    if s.n < q.capacity:\n        yield up(s), 2.0",
    "for with a tuple of ints and floats": (
        "for by, r in STEPS:\n    if by > 0 and inside(s.n + by, q):\n        yield moved(s, by), r"
    ),
    "enumerate from one": (
        "for k, r in enumerate([2.0], start=1):\n    if s.n + k <= q.capacity:\n"
        "        yield s._replace(n=s.n + k), r"
    ),
    "zip and continue": (
        "for by, r in zip((1, 5), LIST[::-1], strict=True):\n    if by == 5 or s.n == q.capacity:\n"
        "        continue\n    yield moved(s, by), r"
    ),
    "break": (
        "for by in itertools.count(1):\n    if s.n + by > q.capacity:\n        break\n"
        "    yield moved(s, by), 2.0\n    break"
    ),
    "for else": (
        "for by in (1,):\n    if s.n + by > q.capacity:\n        break\nelse:\n    yield up(s), 2.0"
    ),
    "yield from a function": "yield from arrivals(s, q)",
    "yield from a list": "yield from [(up(s), 2.0)] * (s.n < q.capacity)",
    "yield from a comprehension": "yield from ((moved(s, b), r) for b, r in STEPS[:1] if s.n < q.capacity)",
    "a transition with a name": (
        "if s.n < q.capacity:\n    transition = up(s), 2.0\n    yield transition"
    ),
    "a list as a pair": "if s.n < q.capacity:\n    yield [up(s), 2.0]",
    "starred assignment": "a, *b = (2.0, 1, 1)\nif s.n < q.capacity:\n    yield up(s), a",
    "unpacked state": "n, = s\nif n < q.capacity:\n    yield (n + 1,), 2.0",
    "try": (
        "try:\n    r = 4.0 / (s.n - s.n)\nexcept ZeroDivisionError:\n    r = 2.0\n"
        "if s.n < q.capacity:\n    yield up(s), r"
    ),
    "try and finally": "try:\n    r = 2.0\nfinally:\n    n = s.n\nif n < q.capacity:\n    yield up(s), r",
    "raise": (
        "if s.n > q.capacity:\n    raise ValueError('never entered')\n"
        "if s.n < q.capacity:\n    yield up(s), 2.0"
    ),
    "assert": "assert s.n >= 0, 'never'\nif s.n < q.capacity:\n    yield up(s), 2.0",
    "match": (
        "match s.n:\n    case n if n < q.capacity:\n        yield up(s), 2.0\n    case _:\n        pass"
    ),
    "match a state": "match s:\n    case State(n=n) if n < q.capacity:\n        yield State(n + 1), 2.0",
    "a function inside": (
        "def speed():\n    return 2.0 * (s.n < q.capacity)\nif speed() > 0:\n    yield up(s), speed()"
    ),
    "a lambda inside": "f = lambda x: x + 1\nif s.n < q.capacity:\n    yield State(f(s.n)), 2.0",
    "walrus in a condition": "if (n := s.n + 1) <= q.capacity:\n    yield State(n), 2.0",
    "a local list": "r = []\nr.append(2.0)\nif s.n < q.capacity:\n    yield up(s), r[0]",
    "a local dict": "r = {'a': 2.0}\nr['b'] = 1.0\nif s.n < q.capacity:\n    yield up(s), r['a']",
    "a set": "if s.n not in {q.capacity}:\n    yield up(s), 2.0",
    "any and all": "if any([s.n < q.capacity]) and all(x >= 0 for x in s):\n    yield up(s), 2.0",
    "list of the state": "n = list(s)\nn[0] += 1\nif n[0] <= q.capacity:\n    yield tuple(n), 2.0",
    "a chained comparison": "if 0 <= s.n < q.capacity:\n    yield up(s), 2.0",
    "not": "if not s.n == q.capacity:\n    yield up(s), 2.0",
    "conditions as numbers": "yield State(min(s.n + 1, q.capacity)), 2.0 * (s.n < q.capacity)",
    "a rate of zero outside": "yield State(s.n + 1), 2.0 if s.n < q.capacity else 0.0",
    "rates that add up": "if s.n < q.capacity:\n    yield up(s), 0.5\n    yield up(s), 1.5",
    "a transition to itself": "yield s, 7.0\nif s.n < q.capacity:\n    yield up(s), 2.0",
    "an augmented assignment": "n = s.n\nn += 1\nif n <= q.capacity:\n    yield State(n), 2.0",
    "annotated variables": "n: int = s.n + 1\nif n <= q.capacity:\n    yield State(n), 2.0",
    "two names at once": "n = m = s.n\nif n < q.capacity:\n    yield State(m + 1), 2.0",
    "a string of the state": "if str(s.n) != str(q.capacity):\n    yield up(s), 2.0",
    "a class inside": "class R:\n    up = 2.0\nif s.n < q.capacity:\n    yield up(s), R.up",
    "with": "import contextlib\nwith contextlib.nullcontext(2.0) as r:\n    if s.n < q.capacity:\n"
    "        yield up(s), r",
    "del": "r = 2.0\nn = r\ndel r\nif s.n < q.capacity:\n    yield up(s), n",
    "sorted": "for by, r in sorted(STEPS, reverse=True)[:1]:\n    if s.n < q.capacity:\n"
    "        yield moved(s, by), r",
    "a doc and a comment": '"""Arrivals."""\n# below the capacity\nif s.n < q.capacity:\n    yield up(s), 2.0',
}
REST = "\nif s.n > 0:\n    yield s._replace(n=s.n - 1), 3.0"
WHOLE = {
    "as a method with self": "def rules(self, s, q):\n" + indent(BODIES["not"] + REST, "    "),
    "as a method of the state alone": (
        "def rules(self, s):\n    q = self\n" + indent(BODIES["not"] + REST, "    ")
    ),
    "with a constant of the class": (
        "def rules(self, s, q):\n    if s.n < self.capacity:\n        yield up(s), self.FAST"
        + indent(REST, "    ")
    ),
    "as a class method": "@classmethod\ndef rules(cls, s, q):\n"
    + indent(BODIES["not"] + REST, "    "),
    "with defaults": "@staticmethod\ndef rules(s, q, r=2.0):\n"
    + indent(BODIES["not"] + REST, "    "),
    "returning a list": (
        "@staticmethod\ndef rules(s, q):\n    found = []\n    if s.n < q.capacity:\n"
        "        found.append((up(s), 2.0))\n    if s.n > 0:\n        found += [(moved(s, -1), 3.0)]\n"
        "    return found"
    ),
    "returning a dict's items": (
        "@staticmethod\ndef rules(s, q):\n    found = {moved(s, by): r for by, r in STEPS"
        " if inside(s.n + by, q)}\n    return found.items()"
    ),
    "returning a generator": (
        "@staticmethod\ndef rules(s, q):\n"
        "    return ((moved(s, by), r) for by, r in STEPS if inside(s.n + by, q))"
    ),
    "with an early return": (
        "@staticmethod\ndef rules(s, q):\n    if s.n > 0:\n        yield moved(s, -1), 3.0\n"
        "    if s.n == q.capacity:\n        return\n    yield up(s), 2.0"
    ),
    "with an early return in a loop": (
        "@staticmethod\ndef rules(s, q):\n    for by, r in STEPS[::-1]:\n"
        "        if s.n == q.capacity and by == 1:\n            return None\n"
        "        if s.n + by >= 0:\n            yield moved(s, by), r"
    ),
    "decorated": (
        "@staticmethod\n@functools.wraps(arrivals)\ndef rules(s, q):\n"
        + indent(BODIES["not"] + REST, "    ")
    ),
    "assigned": "rules = staticmethod(lambda s, q: [*arrivals(s, q)] + [(moved(s, -1), 3.0)] * (s.n > 0))",
}


def variants() -> dict[str, str]:
    found = {"as in the docs": PLAIN}
    for target in TARGETS:
        found[f"target {target}"] = PLAIN.replace("s._replace(n=s.n + 1)", target)
    for text in RATE_TEXTS:
        found[f"rate {text}"] = PLAIN.replace("2.0", text)
    for name, body in BODIES.items():
        head = "@staticmethod\ndef rules(s, q):\n"
        found[name] = head + indent(body + REST, "    ")
    return found | WHOLE


VARIANTS = variants()


def model_of(text: str, folder: Path, number: int, head: str = HEAD) -> Any:
    """Import the module of a variant, as a user's file is imported."""
    name = f"written_{number}"
    path = folder / f"{name}.py"
    path.write_text(head + indent(text, "    "), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def check(found: Any, capacity: int) -> None:
    """Compare a matrix with that of the queue: rates are sums and products of two roundings at most."""
    ends = [np.full(capacity, 3.0), np.full(capacity, 2.0)]
    rates = sp.diags(ends, (-1, 1), format="csr")
    expected = rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())
    assert abs(found - expected).max() <= 1e-15 * 5.0


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=list(VARIANTS))
def test_each_means_the_same_at_every_size(number, tmp_path):
    text = list(VARIANTS.values())[number]
    queue: type[ChainModel] = model_of(text, tmp_path, number).Queue
    for capacity in (12, 2400):
        check(generator(queue(capacity=capacity)), capacity)


GRID = (
    HEAD.replace("from markov import ChainModel", "from markov import ChainModel\n")
    + """
def logarithm(x):
    return max(0.5, math.log(x))


def hidden(x):
    return logarithm(x) if x < 1000 else 0.5


def enclosed():
    def inner(x):
        return min(1.0, 1 / x)
    return inner


def alternating(x, depth=2):
    return x if depth == 0 else alternating(x, depth - 1)


closure = enclosed()
CALLS = {"log": lambda x: max(0.5, math.log(x))}
THREE = 3


class Parameters(NamedTuple):
    width: int
    height: int
    x: int
    y: int
    a: float = 0.5
    b: float = -1.5
    k: int = 2
    nan: float = math.nan
    table: tuple = (2.0, 3.0)
    matrix: np.ndarray = np.array([[1.0, 2.0], [3.0, 4.0]])

    def logarithm(self, x):
        return max(self.a, math.log(x))


class Place(NamedTuple):
    n: int
    m: int


class Grid(ChainModel):
    State = Place
    Params = Parameters

    def space(self):
        return {"n": range(self.width), "m": range(self.height)}

    @staticmethod
    def rules(s, q):
        d = abs(s.n - q.x) + abs(s.m - q.y)
        r = <rate>
        if s.n < q.width - 1:
            yield s._replace(n=s.n + 1), r
        if s.n > 0:
            yield s._replace(n=s.n - 1), 1.0
        if s.m < q.height - 1:
            yield s._replace(m=s.m + 1), 1.5
        if s.m > 0:
            yield s._replace(m=s.m - 1), 2.0
"""
)
# d is 0 in one state only
WRONG = [
    "max(0.5, math.log(d))", "max(0.5, math.log2(d))", "max(0.5, math.log10(d))", "max(0.5, math.log1p(d - 1))",
    "1.0 if math.sqrt(d - 1) >= 0 else 2.0", "min(1.0, 2 + math.acos(1 + (d == 0)))",
    "min(1.0, 2 + math.asin(1 + (d == 0)))", "1.0 + (math.acosh(d) > 1)", "max(1.0, math.atanh(1 - (d > 0) / 2))",
    "1.0 if math.pow(-1.0, 0.5 * (d == 0)) > 0 else 2.0", "min(1.0, 1 + math.pow(0.0, 1 - 2 * (d == 0)))",
    "min(1.0, 0.0 ** (1 - 2 * (d == 0)) + 1)", "1.0 + ((d - 1) ** 0.5 < 3)", "1.0 + (math.fmod(3, d) < 2)",
    "1.0 + (math.fmod(math.inf if d == 0 else 1.0, 2) < 1)", "min(1.0, math.gamma(d))", "1.0 + (math.lgamma(d) > 0)",
    "min(1.0, math.exp(710 * (d == 0)))", "min(1.0, 1 + math.expm1(710 * (d == 0)))",
    "min(1.0, 1 + math.sinh(711 * (d == 0)))", "min(1.0, math.cosh(711 * (d == 0)))",
    "min(1.0, math.factorial(min(d, 20) - 1))", "min(1.0, 1 + math.comb(5, d - 1))", "min(1.0, 1 + math.perm(5, d - 1))",
    "1.0 + (int(math.nan if d == 0 else d) > 3)", "1.0 + (int(math.inf if d == 0 else d) > 3)",
    "1.0 + (round(math.nan if d == 0 else d) > 3)", "1.0 + (math.floor(math.inf if d == 0 else 1.5) > 3)",
    "1.0 + (math.ceil(q.nan if d == 0 else 1.5) > 3)", "1.0 + (7 // d > 2)", "1.0 + (7 % d == 1)", "1.0 + (7.0 // d > 2)",
    "1.0 + (7.5 % d > 2)", "min(1.0, 1 / d)", "1.0 + (divmod(7, d)[0] > 2)", "1.0 + (1 << (min(d, 20) - 1) > 4)",
    "1.0 + (1 >> (d - 1) > 4)", "max(0.5, LIST[3 * (d == 0)])", "max(0.5, [1.0, 2.0][-3 * (d == 0)])",
    "max(0.5, q.table[2 * (d == 0)])", "max(0.5, q.table[-3 * (d == 0)])", "max(0.5, q.matrix[0, 7 * (d == 0)])",
    "max(0.5, q.matrix[7 * (d == 0)][1])", "max(0.5, ARRAY[99 * (d == 0)])", "max(0.5, {0: 1.0, 1: 2.0}[min(d, 1) or 5])",
    "max(0.5, {True: 1.0}[d > 0])", "1.0 if 10 ** (400 * (d == 0)) * 1.0 > 2 else 2.0",
    "1.0 + (2.0 ** (2000 * (d == 0)) > 3)", "1.0 + 0.1 * where(d > 0, 1 / d, 0.5)", "maximum(0.5, math.log(d))",
    "minimum(1.0, 1 / d)", "hidden(d)", "logarithm(d)", "closure(d)", "CALLS['log'](d)", "q.logarithm(d)",
    "1.0 + (abs(math.log(d)) < 2)", "1.0 + bool(math.sqrt(d - 1))", "1.0 + (math.log(d) != 0)", "1.0 + (not math.log(d) > 2)",
    "(d == 0 and math.log(d)) or 1.0", "sorted([0.5, math.log(d)])[-1]", "1.0 + any(math.log(x) > 3 for x in (d, 2))",
    "[math.log(d), 1.0][1]", "1.0 if (r := math.log(d)) < 2 else 2.0", "1.0 + (math.isqrt(d - 1) > 1)",
    "1.0 + (math.log(d, 2) > 1)", "1.0 + (math.log(3, 1 + (d > 0)) > 1)", "min(1.0, math.ldexp(1.0, 5000 * (d == 0)))",
    "1.0 + (math.sin(math.inf if d == 0 else 1.0) > 0)", "1.0 + (int('x' if d == 0 else '3') > 2)",
    "1.0 + (Fraction(1, d) > Fraction(1, 3))", "1.0 + (len(chr(d - 1)) > 3)", "1.0 + (range(3)[3 * (d == 0)] > 1)",
    "1.0 + ('abc'[3 * (d == 0)] == 'b')", "1.0 + next(iter(() if d == 0 else (1.0,)))", "1.0 + (1.0, 2.0).index(1.0 + 2 * (d == 0))",
    "alternating(max(0.5, math.log(d)))", "0.0 - (d == 0)", "1.0 * (-1) ** (d == 0)", "math.nan if d == 0 else 1.0",
    "math.inf if d == 0 else 1.0", "10 ** (310 * (d == 0))", "None if d == 0 else 1.0", "(1 if d else '1') * 1", "[1.0][0] if d else q.absent",
]  # fmt: skip
RIGHT = [
    "1.0 + (s.n ** 40 % 7 > 3)", "1.0 + (s.n * 10 ** 9 * s.n * 10 ** 9 % 7 > 2)", "1.0 + ((1 << (2 * s.n)) % 5)",
    "1.0 + ((1 << 3 * s.m) % 7 > 1)", "1.0 + (3 ** s.n % 5)", "min(1.0, (math.inf - math.inf) if d == 0 else 2.0)",
    "max(1.0, q.nan)", "1.0 + (s.n > q.nan)", "1.0 + (s.n >= q.nan)", "1.0 + (q.nan != s.n)", "1.0 + (s.n - 1 < 1e-17)",
    "1.0 + (s.n + 1 < 1 + 1e-16)", "1.0 + (s.n < 10 ** 400)", "1.0 + (s.n == None)", "1.0 + (s.n == 'a')",
    "1.0 + (s.n is THREE)", "1.0 + (type(s.n) is int and d == 0)", "1.0 + ((s.n > 3) is True)", "1.0 + (s.n == 3 + 0j)",
    "1.0 + (~s.n < -3)", "1.0 + (round(s.n / 2) == 2)", "1.0 + (round(s.n * 0.285, 2) == 0.57)", "1.0 + (-s.n // 2 == -2)",
    "1.0 + (-s.n % 3 == 2)", "1.0 + (s.n * -0.5 // 1 == -2)", "1.0 + ((0.1 * s.n) ** 2 > 0.09)", "1.0 + ((0.1 * s.n) ** 3 > 0.027)",
    "1.0 + (math.hypot(s.n, s.m) > 5)", "1.0 + (math.atan2(-0.0 * s.n, -1.0) > 0)", "1.0 + (sum((0.1,) * 3) * s.n > 0.3 * s.n)",
    "max(0.5, float(np.exp(-d)))", "1.0 + (s.n in (1, q.nan, 3))", "1.0 + (hash(s.n) % 3)", "1.0 + len(str(s.n))",
    "1.0 + (s.n / 3 == 1)", "1.0 + isinstance(s.n, int)", "1.0 + (s.n & 3 | 4 ^ s.m)", "2.0 - bool(s.n)", "1.0 + divmod(s.n, 4)[1]",
]  # fmt: skip
GRIDS = [(7, 6, 3, 2), (47, 43, 37, 5)]
"""Sizes, and where it goes wrong; plain Python alone does fewer than 2,000 states."""


def grid_of(rate: str, folder: Path, number: int, helpers: str = "") -> Any:
    text = GRID.replace("<rate>", rate).replace("<helpers>", helpers)
    return model_of("", folder, number, text).Grid


def outcome(build: Callable[..., Any], model: ChainModel, **given: Any) -> Any:
    """Return the matrix, or the exception."""
    try:
        return build(model, **given)
    except RuleError as error:
        return error


def agree(found: Any, expected: Any) -> bool:
    """Whether a way gives the matrix of plain Python, or its exception in the same state and line."""
    if not isinstance(found, RuleError):
        same_kind = not isinstance(expected, RuleError) and found.shape == expected.shape
        return same_kind and bool(abs(found - expected).max() <= 1e-13 * abs(expected).max())
    given = type(found.__cause__), str(found), found.line
    return isinstance(expected, RuleError) and given == (
        type(expected.__cause__), str(expected), expected.line
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(len(WRONG + RIGHT)), ids=WRONG + RIGHT)
def test_where_python_raises_so_does_every_size(number, tmp_path):
    rate = (WRONG + RIGHT)[number]
    grid = grid_of(rate, tmp_path, 2000 + number)
    for width, height, x, y in GRIDS:
        model = grid(width=width, height=height, x=x, y=y)
        found = outcome(generator, model)
        assert isinstance(found, RuleError) == (rate in WRONG)
        if rate in WRONG:
            assert f"Place(n={x}, m={y})" in str(found)
            assert Path(found.file).parent == tmp_path
            assert f"line {found.line}" in str(found)
    assert agree(found, outcome(generator, model, compiled=False))

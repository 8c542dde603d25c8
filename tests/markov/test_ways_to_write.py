"""One queue, written in every way that people write rules: each is run, and means the same.

The queue has arrivals at rate 2 below its capacity and departures at rate 3 above zero. What is put
into its rules is given as text; each variant is a module of its own, as a user's file is.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from markov.generators.building import build_chain
from markov.models.rules import ChainModel

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


def model_of(text: str, folder: Path, number: int) -> Any:
    """Import the module of a variant, as a user's file is imported, and return its class."""
    name = f"written_{number}"
    path = folder / f"{name}.py"
    path.write_text(HEAD + indent(text, "    "), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.Queue


def check(found: Any, capacity: int) -> None:
    """Compare a matrix with that of the queue: rates are sums and products of two roundings at most."""
    ends = [np.full(capacity, 3.0), np.full(capacity, 2.0)]
    rates = sp.diags(ends, (-1, 1), format="csr")
    expected = rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())
    assert abs(found - expected).max() <= 1e-15 * 5.0


def test_there_are_150_of_them():
    assert len(VARIANTS) >= 150


@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=list(VARIANTS))
def test_each_means_the_same_at_every_size(number, tmp_path):
    text = list(VARIANTS.values())[number]
    queue: type[ChainModel] = model_of(text, tmp_path, number)
    for capacity in (12, 2400):
        found = build_chain(queue(capacity=capacity))
        check(found.Q, capacity)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hopflow.errors.RuleWarning")  # and then not taken
@pytest.mark.parametrize("number", range(len(VARIANTS)), ids=list(VARIANTS))
@pytest.mark.parametrize("way", ["regions", "sets", "compiled"])
def test_each_means_the_same_in_every_way_that_it_can_go(number, way, tmp_path):
    text = list(VARIANTS.values())[number]
    queue: type[ChainModel] = model_of(text, tmp_path, 1000 + number)
    try:
        found = build_chain(queue(capacity=2400), by=way)
    except ValueError as error:
        assert f"cannot be run by {way}" in str(error)  # noqa: PT017
        return
    check(found.Q, 2400)

"""Functions of a state in every form that people write, for eight kinds of states.

`KINDS` has for each kind the rules of a small and of a large chain, and at least sixty functions: the
forms of `COMMON` with the kind's own expressions in them, and forms that only this kind has. Each is a
text, evaluated in the namespace of this module with ``s`` for the state.
"""

from __future__ import annotations

import functools
import linecache
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from hopflow import minimum, where

USED_IN_TEXTS = (math, Fraction, np, minimum, where)
LIMIT, A = 2, "a"
SMALL = {0, 1, 4}
NAMES = {0: "none", 2: "two", 5: "five"}
WEIGHTS = [0.5, 0.0, 2.0, 0.0, 1.0]
ODD = {k: bool(k % 2) for k in range(1000)}


class St(Enum):
    IDLE = 0
    SEEK = 1
    READ = 2
    WRITE = 3
    FAULT = 4
    SLEEP = 5
    WAKE = 6

    @property
    def asleep(self) -> bool:
        return self is St.SLEEP


class Level(IntEnum):
    LOW = 0
    MIDDLE = 1
    HIGH = 2


@dataclass(frozen=True)
class Packet:
    n: int
    lost: bool = False
    level: Level = Level.LOW

    @property
    def odd(self) -> bool:
        return self.n % 2 == 1

    def below(self, limit: int) -> bool:
        return self.n < limit


class Pair(NamedTuple):
    n: int
    m: int

    @property
    def total(self) -> int:
        return self.n + self.m

    def above(self, limit: int) -> bool:
        return self.n > limit


class Disk(NamedTuple):
    st: St
    level: Level
    n: int


class Mixed(NamedTuple):
    mode: St
    name: str
    n: int
    up: bool
    tags: frozenset[str]
    queue: tuple[int, ...]


# ---------------------------------------------------------------------- helpers of the functions


def is_small(n: Any) -> bool:
    if n < LIMIT:
        return True
    return bool(n < 0)


def by_match(n: Any) -> int:
    match n:
        case 0:
            return 3
        case 1 | 4:
            return 0
        case int() if n > 6:
            return 1
        case _:
            return 2


def by_kind(x: Any) -> int:
    match x:
        case bool():
            return 5
        case int():
            return 1
        case str():
            return 2
        case frozenset():
            return 3
        case tuple():
            return 4
        case _:
            return 0


def by_structure(s: Any) -> int:
    match s:
        case Pair(n=2, m=m) if m > 0:
            return 1
        case Packet(n=n, lost=True) if n != 1:
            return 2
        case Mixed(up=True, queue=(1, *_)) | Disk(st=St.SLEEP):
            return 3
        case (0, 3) | ("a", *_):
            return 4
        case frozenset() | "up:2" | 5:
            return 5
        case _:
            return 0


def guarded(n: Any) -> float:
    try:
        return 1 / (n - 2)
    except ZeroDivisionError:
        return 0.0


def guarded_by_all(n: Any) -> float:
    try:
        return 1 / (n - 2)
    except:  # noqa: E722
        return -3.0


def counted(n: Any) -> int:
    total = 0
    for k in range(n):
        if k % 3 == 1:
            continue
        total += k
    return total


def halved(n: Any) -> int:
    steps = 0
    while n > 0:
        n, steps = n // 2, steps + 1
    return steps


def same(x: Any, y: Any) -> bool:
    return x is y


def typed(n: Any) -> bool:
    return type(n) is int


@functools.cache
def remembered(n: Any) -> int:
    return n * n % 3


MEMO: dict[Any, Any] = {}


def noted(n: Any) -> Any:
    return MEMO.setdefault(n, n % 5 == 2)


class Above:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, n: Any) -> bool:
        return bool(n > self.limit)


above_three = Above(3)
at_least_two = functools.partial(operator.le, 2)

COMMON = (
    # comparisons and logic
    "{n} == 2", "{n} != 2", "{n} > 1", "{n} <= 3", "not {n}", "{n} and {m} < 2", "{n} == 0 or {n} == 3",
    "1 < {n} < 5", "0 <= {m} <= {n} < 4", "not ({n} > 2 and {m} > 0)", "{n} in (0, 1)", "{n} not in SMALL",
    "{n} in range(1, 4)", "{n} in [{m}, 2]", "{n} in ODD and ODD[{n}]", "{n} if {n} > 2 else {m}",
    "({n} > 2) is True", "({n} == 3) is not False", "{n} is LIMIT", "{n} is None", "bool({n})",
    "{n} > 1 and {m} or {n} == 0", "({n} > 1) & ({m} < 3)", "({n} > 1) | ({m} == 0)", "({n} > 1) ^ ({m} > 1)",
    # arithmetic
    "{n} % 2", "{n} % 3 - 1", "{n} // 2", "{n} / 4", "-{n}", "({n} - 3) ** 2", "2 ** {n} > 6", "{n} * 10 ** 19 > 25 * 10 ** 18",
    "divmod({n}, 3)[1]", "abs({n} - 3)", "min({n}, 2)", "max({n}, {m})", "round({n} / 3, 1)", "pow({n}, 2, 5)",
    "{n} & 1", "({n} >> 1) % 2", "({n}).bit_length()", "math.sqrt({n})", "math.floor({n} / 2)", "math.isclose({n}, 2)",
    "Fraction({n}, 3)", "sum([{n}, {m}, 1])", "float({n}) == 2.0", "int({n} / 2)",
    # collections, text, calls
    "len(str({n}))", "str({n}) == '2'", "f'{{{n}}}' in ('1', '3')", "any(k == {n} for k in (0, 3))",
    "all(k != {n} for k in (0, 3))", "[k for k in (1, 2, 3) if k < {n}] != []", "NAMES.get({n}, '') == 'two'",
    "WEIGHTS[{n} % 5]", "isinstance({n}, int)", "typed({n})", "hash({n}) % 2", "is_small({n})", "by_match({n})",
    "by_kind({n})", "guarded({n})", "guarded_by_all({n})", "counted({n})", "halved({n})", "remembered({n})",
    "noted({n})", "above_three({n})", "at_least_two({n})", "(lambda k: k > 1)({n})", "(k := {n}) > 1 and k < 4",
    "where({n} > 2, 1.0, 0.0)", "minimum({n}, 2)", "operator.gt({n}, 2)", "sorted([{n}, 2])[0] == 2",
    # NumPy on numbers
    "np.where({n} > 2, 1.0, 0.0)", "np.maximum({n}, 2)", "np.sqrt({n})", "np.isin({n}, [0, 3])", "np.max([{n}, {m}])",
    "np.any([{n} > 2, {m} > 2])", "np.logical_not({n} > 2)", "np.minimum({n}, {m}) > 0", "np.float64({n}) > 2",
    "np.asarray(WEIGHTS)[{n} % 5]", "np.sum([{n}, {m}])", "np.clip({n}, 1, 3)", "np.size({n}) + {n}", "np.full_like({n}, 2) + {n}",
    # values
    "{x} == X", "{x} != X", "{x} is X", "{x} is not X", "{x} in (X, Y)", "{x} in [Y]", "{x} == X or {n} > 2",
    "{x} is X and {n} > 1", "same({x}, X)", "by_kind({x})", "hash({x}) == hash(X)", "{{X: 2, Y: 1}}.get({x}, 0)",
    "(3 if {x} is X else {n})", "[X, Y].count({x})", "True", "False", "1.5",
    "bool(repr({x}))", "s == START", "s in (START,)", "s != START and {n} > 1", "hash(s) == hash(START)", "s in {{START}}", "by_structure(s)",
)  # fmt: skip
REFUSED = ("None", "str({n})", "s", "[{n}]", "{n}.missing", "1 / ({n} - 1)", "[][{n}]", "unknown({n})", "{{}}[{n}]", "complex({n})")  # fmt: skip
"""What is no truth value and no number, in some state at least."""


# ---------------------------------------------------------------------- the kinds


@dataclass(frozen=True)
class Kind:
    """One kind of states, with a small and a large chain of it.

    Attributes
    ----------
    name
        Of the kind.
    rules
        ``rules(s, size)``: targets and rates.
    start
        The first state.
    n, m, x
        Expressions: whole numbers >= 0, and a value.
    X, Y
        Values that the last one has.
    own
        Functions that make sense for this kind alone.
    sizes
        Of the small and of the large chain: more than 10,000 states.
    """

    name: str
    rules: Callable[[Any, int], Iterator[tuple[Any, float]]]
    start: Any
    n: str
    m: str
    x: str
    X: Any
    Y: Any
    own: tuple[str, ...]
    sizes: tuple[int, int]

    def functions(self, step: int = 1) -> dict[str, Callable[[Any], Any]]:
        """Return every ``step``-th function, by its text."""
        texts = [text.format(n=self.n, m=self.m, x=self.x) for text in COMMON]
        return {text: self.made(text, source=True) for text in list(dict.fromkeys((*texts, *self.own)))[::step]}

    def refused(self) -> dict[str, Callable[[Any], Any]]:
        """Return the functions that are no condition, or fail, in some state."""
        texts = [text.format(n=self.n, m=self.m, x=self.x) for text in REFUSED]
        texts = [text for text in texts if text != self.n]  # a state that is a number is one
        return {text: self.made(text) for text in texts}

    def made(self, text: str, *, source: bool = False) -> Callable[[Any], Any]:
        """Return a function of the state by its text, which `inspect` finds if ``source`` is set."""
        scope = {**globals(), "X": self.X, "Y": self.Y, "START": self.start}
        written, file = f"lambda s: {text}", f"{self.name} functions"
        if source:
            file = f"{file}: {text}"
            linecache.cache[file] = len(written), None, [f"{written}\n"], file
        code = compile(written, file, "eval")
        made: Callable[[Any], Any] = eval(code, scope)
        return made

    def states(self, size: int) -> list[Any]:
        """Return all states, by a search in plain Python."""
        found = {self.start: None}
        for state in (order := [self.start]):
            for target, _ in self.rules(state, size):
                if target not in found:
                    found[target] = None
                    order.append(target)
        return order


def integers(n: int, size: int) -> Iterator[tuple[int, float]]:
    if n < size - 1:
        yield n + 1, 1.0
    if n > 0:
        yield n - 1, 1.5


def pairs(s: Pair, size: int) -> Iterator[tuple[Pair, float]]:
    if s.n < size - 1:
        yield s._replace(n=s.n + 1), 1.0
    if s.m < size - 1:
        yield s._replace(m=s.m + 1), 0.7
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.5
    if s.m > 0:
        yield s._replace(m=s.m - 1), 1.1


def disks(s: Disk, size: int) -> Iterator[tuple[Disk, float]]:
    yield s._replace(st=St((s.st.value + 1) % 7)), 1.0 + s.st.value
    yield s._replace(level=Level((s.level + 1) % 3)), 0.4
    if s.n < size - 1:
        yield s._replace(n=s.n + 1), 1.0
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.5


def words(s: str, size: int) -> Iterator[tuple[str, float]]:
    kind, _, count = s.partition(":")
    n = int(count)
    yield f"{'up' if kind == 'down' else 'down'}:{n}", 0.5
    if n < size - 1:
        yield f"{kind}:{n + 1}", 1.0
    if n > 0:
        yield f"{kind}:{n - 1}", 1.5


def packets(s: Packet, size: int) -> Iterator[tuple[Packet, float]]:
    yield replace(s, lost=not s.lost), 0.5
    yield replace(s, level=Level((s.level + 1) % 3)), 0.4
    if s.n < size - 1:
        yield replace(s, n=s.n + 1), 1.0
    if s.n > 0:
        yield replace(s, n=s.n - 1), 1.5


def subsets(s: frozenset[int], size: int) -> Iterator[tuple[frozenset[int], float]]:
    for k in range(size):
        yield s ^ {k}, 1.0 + (k in s)


def queues(s: tuple[str, ...], size: int) -> Iterator[tuple[tuple[str, ...], float]]:
    if len(s) < size:
        yield (*s, "a"), 1.0
        yield (*s, "b"), 0.5
    if s:
        yield s[1:], 2.0


def mixtures(s: Mixed, size: int) -> Iterator[tuple[Mixed, float]]:
    if s.n < size - 1:
        yield s._replace(n=s.n + 1), 1.0
    if s.n > 0:
        yield s._replace(n=s.n - 1), 1.5
    yield s._replace(mode={St.IDLE: St.SLEEP, St.SLEEP: St.READ, St.READ: St.IDLE}[s.mode]), 1.0
    yield s._replace(name="cold" if s.name == "hot" else "hot", up=not s.up), 0.5
    yield s._replace(tags=s.tags ^ {"a"}), 0.3
    if len(s.queue) < 2:
        yield s._replace(queue=(*s.queue, len(s.queue) + 1)), 0.3
    else:
        yield s._replace(queue=()), 0.3


KINDS = (
    Kind(
        "integers", integers, 0, "s", "s // 3", "s % 7", 3, 5,
        ("s > 3", "s", "s * s + s", "s ** 20 % 7", "s ^ 3", "range(9)[s % 9]", "3 * ~s + 6", "s.real", "s.conjugate() > 2",
         "s.to_bytes(4, 'big')[3]", "s * 2 ** 60 // 3 % 5"),
        (9, 10_400),
    ),
    Kind(
        "named fields", pairs, Pair(0, 0), "s.n", "s.m", "(s.n, s.m)", (2, 1), (0, 3),
        ("s[0] == 2", "s[-1] > 1", "sum(s) > 4", "max(s)", "len(s)", "s.total", "s.above(2)", "s._replace(n=0).m",
         "s._asdict()['n']", "getattr(s, 'm')", "(lambda n, m: n > m)(*s)", "s > (2, 1)", "s.n - s.m", "s.n * s.m",
         "dict(zip('ab', s))['b']", "list(s)[0]", "hasattr(s, 'n')", "isinstance(s, Pair)", "type(s) is Pair", "s.index(s.n)",
         "s.count(2)", "math.hypot(*s)", "math.dist(s, (1, 1))", "'%d' % s.n == '2'", "np.array(s).sum()", "np.prod(s)"),
        (5, 104),
    ),
    Kind(
        "enumerations", disks, Disk(St.IDLE, Level.LOW, 0), "s.n", "s.st.value", "s.st", St.SLEEP, St.WAKE,
        ("s.st is St.FAULT", "s.st.name == 'READ'", "s.st.asleep", "s.st in (St.IDLE, St.WAKE)", "s.level", "s.level is Level.HIGH",
         "s.level == 2", "s.level > s.n", "s.level + s.n", "s.st.name.startswith('S')", "isinstance(s.st, St)", "isinstance(s.level, int)",
         "type(s.level) is Level", "St(s.n % 7) is s.st", "{St.READ: 1, St.WRITE: 2}.get(s.st, 0)", "s.st != St.IDLE and s.st is not St.SEEK",
         "s.st is St.SLEEP or s.n == 2", "list(St).index(s.st)", "np.where(s.st == St.SLEEP, s.n, 0)", "s.n * (s.st is St.READ)"),
        (4, 500),
    ),
    Kind(
        "strings", words, "up:0", 'int(s.partition(":")[2])', "len(s)", "s.partition(':')[0]", "up", "down",
        ("s == 'up:2'", "s is START", "s.startswith('up')", "s.endswith('3')", "'own' in s", "s[0] == 'u'", "s.upper() == 'UP:1'",
         "s.isdigit()", "s < 'e'", "s.find(':') > 2", "s.count('1')", "s.split(':')[0] == 'down'", "len(s) > 4", "s in ('up:1', 'down:2')",
         "s.replace('up', '').startswith(':')", "s[-1].isdigit()", "not s.startswith('up')", "'up' in s and s[3] == '0'", "sorted(s)[0] == '0'",
         "sum(c == '1' for c in s)"),
        (6, 5_200),
    ),
    Kind(
        "dataclasses", packets, Packet(0), "s.n", "int(s.level)", "s.level", Level.HIGH, Level.MIDDLE,
        ("s.lost", "not s.lost", "s.odd", "s.below(2)", "s.lost and s.n > 1", "s.lost is True", "s.lost is False or s.odd", "s == Packet(2)",
         "s.level is Level.HIGH", "isinstance(s, Packet)", "type(s) is Packet", "replace(s, n=0) == START", "s.n if s.lost else -1",
         "getattr(s, 'lost')", "s.__class__ is Packet", "vars(s)['n'] > 2", "s.lost + s.n", "s.lost == 1", "repr(s).count('True')"),
        (4, 1_750),
    ),
    Kind(
        "frozensets", subsets, frozenset(), "len(s)", "max(s, default=0)", "s & {0, 1}", frozenset({0}), frozenset({0, 1}),
        ("2 in s", "2 not in s", "s <= {0, 1}", "s >= {1}", "bool(s & {2, 3})", "s.isdisjoint({0, 2})", "len(s) > 2", "not s", "sum(s)",
         "any(k > 2 for k in s)", "all(k % 2 for k in s)", "{0, 1} < s", "s == frozenset({1, 2})", "s | {9} != s", "len(s - {0})", "sorted(s)[:1] == [1]",
         "isinstance(s, frozenset)", "min(s, default=9) == 1", "0 in s and 1 in s", "len(s ^ {1})"),
        (5, 14),
    ),
    Kind(
        "tuples of varying length", queues, (), "len(s)", "s.count(A)", "s[:1]", ("a",), ("b",),
        ("s[0] == 'a' if s else False", "s and s[0] == 'b'  or 0".replace("s and", "bool(s) and"), "'b' in s", "s[-1:] == ('a',)", "len(s) == 0", "not s",
         "s == ('a', 'b')", "s in (('a',), ('b', 'a'))", "s.index('b') if 'b' in s else -1", "''.join(s) == 'aba'", "s > ('a', 'b')",
         "all(c == 'a' for c in s)", "sum(c == 'b' for c in s)", "list(s) == sorted(s)", "s[::-1] == s", "len(set(s))", "isinstance(s, tuple)",
         "type(s) is tuple", "(len(s) > 1 and s[1] == 'b') + 0", "dict(enumerate(s)).get(1) == 'a'"),
        (4, 13),
    ),
    Kind(
        "mixed", mixtures, Mixed(St.IDLE, "hot", 0, True, frozenset(), ()), "s.n", "len(s.queue)", "s.mode", St.SLEEP, St.READ,
        ("s.up", "not s.up", "s.up is True", "s.up and s.n > 1", "s.name == 'hot'", "s.name is START.name", "s.name.startswith('c')", "'a' in s.tags",
         "bool(s.tags)", "s.tags <= {'b'}", "s.queue == (1,)", "s.queue[:1] == (1,)", "1 in s.queue", "not s.queue", "sum(s.queue)", "s.mode.asleep or s.up",
         "s.mode is St.READ and 'a' in s.tags and s.n < 3", "s.n + len(s.tags) + s.up", "s[1] == 'hot'", "s._asdict()['n']", "isinstance(s.queue, tuple)",
         "np.where(s.name == 'hot', s.n, 0)", "len(s.queue) > 1 or s.n == 2", "{'hot': 1, 'cold': 0}[s.name] * s.n"),
        (2, 300),
    ),
)  # fmt: skip

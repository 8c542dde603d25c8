"""Expressions with types and bounds, evaluated over many states at once.

Whole numbers stay whole: what might leave 63 bits, by the bounds of the variables, is looked at when it
is computed. Division is that of real numbers, as in PRISM, and 1/0 is infinite. The right side of &, |,
=> and of a choice is only evaluated in the states where it counts, if it may fail elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.columns import Columns
from markov.files.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COMPARISONS",
    "LARGE",
    "REAL",
    "Value",
    "boolean",
    "chained",
    "chosen",
    "constant",
    "function",
    "negated",
]

LARGE = 2**62
"""Whole numbers stay below."""
FACTORIALS = np.array([math.factorial(n) for n in range(171)], dtype=np.float64)
"""All that float64 holds."""


def _factorial(value: Any) -> Any:
    """Return factorials: infinite beyond float64, NaN of negative numbers and of fractions."""
    value = np.asarray(value, dtype=np.float64)
    whole = (value >= 0.0) & (value == np.floor(value))
    small = whole & (value < len(FACTORIALS))
    exact = FACTORIALS[np.where(small, value, 0.0).astype(np.int64)]
    return np.where(small, exact, np.where(whole, np.inf, np.nan))


REAL: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "ln": np.log, "log10": np.log10, "sqrt": np.sqrt, "factorial": _factorial,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan,
    "arcsinh": np.arcsinh, "arccosh": np.arccosh, "arctanh": np.arctanh,
}  # fmt: skip
"""Functions of one real number (SBML), of arrays: NaN where they are not defined."""
NOWHERE = Columns(np.zeros((0, 1), dtype=np.int64))
Run = Callable[[Columns], Any]


@dataclass(frozen=True)
class Value:
    """A typed expression.

    Attributes
    ----------
    kind
        ``"bool"``, ``"int"`` or ``"double"``.
    run
        Gives its values over states: an array of shape (states,), or one plain value for all.
    low, high
        Bounds of a whole number.
    fixed
        Whether it does not depend on the state.
    fails
        Whether it may fail in a state.
    reads
        Numbers of the variables that it depends on.
    """

    kind: str
    run: Run
    low: int = -LARGE
    high: int = LARGE
    fixed: bool = False
    fails: bool = False
    reads: frozenset[int] = frozenset()

    def single(self) -> Any:
        """Return the value of one that does not depend on the state."""
        return self.run(NOWHERE)


def constant(value: bool | float) -> Value:
    """Return a plain value as an expression."""
    if isinstance(value, bool):
        return Value("bool", lambda _c: value, fixed=True)
    if isinstance(value, int):
        return Value("int", lambda _c: value, value, value, fixed=True)
    return Value("double", lambda _c: value, fixed=True)


def boolean(value: Value, place: Any, what: str) -> Value:
    """Return the value, which must be a truth value."""
    if value.kind != "bool":
        raise FileError(place, f"{what} is a number: must be a truth value")
    return value


def _numbers(values: list[Value], place: Any, sign: str) -> None:
    if any(value.kind == "bool" for value in values):
        raise FileError(place, f"{sign!r} of a truth value: must be of numbers")


def _made(kind: str, parts: list[Value], run: Run, **about: Any) -> Value:
    """Return an expression of others; one of fixed parts is evaluated once for all."""
    fails = about.pop("fails", False) or any(part.fails for part in parts)
    reads = frozenset[int]().union(*(part.reads for part in parts))
    fixed = all(part.fixed for part in parts)
    made = Value(kind, run, fixed=fixed, fails=fails, reads=reads, **about)
    if not made.fixed:
        return made
    with np.errstate(all="ignore"):
        return constant(_plain(made.single(), kind))


def _plain(value: Any, kind: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return {"bool": bool, "int": int, "double": float}[kind](value)


def negated(sign: str, of: Value, place: Any) -> Value:
    """Return ``!x`` or ``-x``."""
    if sign == "!":
        boolean(of, place, "what ! applies to")
        return _made("bool", [of], lambda c: np.logical_not(of.run(c)))
    _numbers([of], place, "-")
    return _made(of.kind, [of], lambda c: -of.run(c), low=-of.high, high=-of.low)


def chained(first: Value, rest: list[tuple[str, Value]], place: Any) -> Value:
    """Return operands joined by operators of one rank, from the left."""
    sign = rest[0][0]
    if sign in ("&", "|"):
        return _all_or_any(sign, [first, *(value for _, value in rest)], place)
    return reduce(lambda left, step: _joined(step[0], left, step[1], place), rest, first)


def _all_or_any(sign: str, parts: list[Value], place: Any) -> Value:
    for part in parts:
        boolean(part, place, f"an operand of {sign}")
    stop = sign == "|"
    join = np.logical_or if stop else np.logical_and
    kept = [part for part in parts if not (part.fixed and part.single() != stop)]
    if any(part.fixed for part in kept):  # one that decides; those before it may fail all the same
        kept = kept[: next(k for k, part in enumerate(kept) if part.fixed) + 1]
    if not kept:
        return constant(not stop)

    def run(c: Columns) -> Any:
        found = kept[0].run(c)
        for part in kept[1:]:
            found = _where_open(found, part, c, stop=stop) if part.fails else join(found, part.run(c))
        return found

    return _made("bool", kept, run)


def _where_open(found: Any, part: Value, c: Columns, *, stop: bool) -> Any:
    """Evaluate a truth value only in the states where those before it have not decided."""
    known = np.broadcast_to(found, c.count)
    places = np.flatnonzero(known != stop)
    if not len(places):
        return found
    after = known.copy()
    after[places] = part.run(c.take(places))
    return after


COMPARISONS: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def _joined(sign: str, a: Value, b: Value, place: Any) -> Value:
    if sign in ("=>", "<=>"):
        boolean(a, place, f"an operand of {sign}")
        boolean(b, place, f"an operand of {sign}")
        if sign == "=>":
            return _all_or_any("|", [negated("!", a, place), b], place)
        return _made("bool", [a, b], lambda c: np.equal(a.run(c), b.run(c)))
    if sign in COMPARISONS:
        if (a.kind == "bool") != (b.kind == "bool") or (a.kind == "bool" and sign not in ("=", "!=")):
            raise FileError(place, f"{sign!r} of a {a.kind} and a {b.kind}")
        compare = COMPARISONS[sign]
        return _made("bool", [a, b], lambda c: compare(a.run(c), b.run(c)))
    _numbers([a, b], place, sign)
    if sign == "/":
        return _made("double", [a, b], lambda c: _quotient(_real(a.run(c)), _real(b.run(c))))
    if sign == "^":
        return function("pow", [a, b], place)
    if "double" in (a.kind, b.kind):
        real = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
        return _made("double", [a, b], lambda c: real(_real(a.run(c)), _real(b.run(c))))
    return _whole(sign, a, b, place)


def _quotient(a: Any, b: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # 1/0 is infinite
        return np.true_divide(a, b)


def _real(value: Any) -> Any:
    return np.asarray(value, dtype=np.float64) if isinstance(value, np.ndarray) else float(value)


def _whole(sign: str, a: Value, b: Value, place: Any) -> Value:
    """Return a sum, a difference or a product of whole numbers that cannot wrap unnoticed."""
    if sign == "*":
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    elif sign == "+":
        ends = [a.low + b.low, a.high + b.high]
    else:
        ends = [a.low - b.high, a.high - b.low]
    low, high = min(ends), max(ends)
    safe = low > -LARGE and high < LARGE
    run: Callable[[Any, Any], Any] = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]

    def looked_at(c: Columns) -> Any:
        x, y = a.run(c), b.run(c)
        with np.errstate(over="ignore"):
            about = np.abs(run(_real(x), _real(y)))
        if np.size(about) and float(np.max(about)) >= LARGE:
            raise FileError(place, f"{sign!r}: a whole number beyond 2^62")
        return run(x, y)

    if safe:
        return _made("int", [a, b], lambda c: run(a.run(c), b.run(c)), low=low, high=high)
    limits = {"low": max(low, -LARGE), "high": min(high, LARGE)}
    return _made("int", [a, b], looked_at, fails=True, **limits)


def chosen(cases: list[tuple[Value, Value]], otherwise: Value, place: Any) -> Value:
    """Return the value of the first condition that holds, or the last one."""
    values = [*(value for _, value in cases), otherwise]
    kinds = {value.kind for value in values}
    for condition, _ in cases:
        boolean(condition, place, "a condition")
    if len(kinds) > 1 and "bool" in kinds:
        raise FileError(place, "a choice between numbers and truth values")
    kind = "double" if "double" in kinds else kinds.pop()
    dtype = {"bool": np.bool_, "int": np.int64, "double": np.float64}[kind]

    def run(c: Columns) -> Any:
        found: NDArray[Any] = np.empty(c.count, dtype=dtype)
        left = np.arange(c.count)
        for condition, value in cases:
            part = c.take(left)
            holds = np.broadcast_to(condition.run(part), part.count)
            if (places := np.flatnonzero(holds)).size:
                found[left[places]] = value.run(part.take(places))
            left = left[~holds]
        if len(left):
            found[left] = otherwise.run(c.take(left))
        return found if c is not NOWHERE else found[0]

    low, high = min(value.low for value in values), max(value.high for value in values)
    return _made(kind, [*(c for c, _ in cases), *values], run, low=low, high=high)


def function(name: str, of: list[Value], place: Any) -> Value:
    """Return a function of numbers.

    Raises
    ------
    FileError
        When the number of arguments or their types are not what it takes.
    """
    _numbers(of, place, name)
    counts = {"pow": 2, "power": 2, "mod": 2, "log": 2, "min": None, "max": None}
    wanted = counts.get(name, 1)
    if (wanted is not None and len(of) != wanted) or not of:
        raise FileError(place, f"{name} takes {wanted or 'at least one'} argument(s), not {len(of)}")
    if name in ("min", "max"):
        return _extreme(name, of)
    if name in ("floor", "ceil", "round"):
        return _rounded(name, of[0], place)
    if name in REAL:
        real = REAL[name]
        return _made("double", of, lambda c: real(_array(of[0].run(c))))
    if name == "abs":
        high = max(abs(of[0].low), abs(of[0].high))
        return _made(of[0].kind, of, lambda c: np.abs(of[0].run(c)), low=0, high=high)
    if name == "whole":
        return _as_whole(of[0], place)
    if name == "log":
        return _made(
            "double",
            of,
            lambda c: np.divide(_log(of[0].run(c)), _log(of[1].run(c))),
        )
    if name == "power" or any(value.kind == "double" for value in of):
        if name == "mod":
            raise FileError(place, "mod of a real number: must be of whole numbers")
        a, b = of
        return _made("double", of, lambda c: np.power(_array(a.run(c)), _real(b.run(c))))
    return (_whole_power if name == "pow" else _modulo)(of[0], of[1], place)


def _array(value: Any) -> Any:
    return np.asarray(value, dtype=np.float64)


def _log(value: Any) -> Any:
    return np.log(_array(value))


def _extreme(name: str, of: list[Value]) -> Value:
    pick: Any = np.minimum if name == "min" else np.maximum
    kind = "double" if any(value.kind == "double" for value in of) else "int"
    best = min if name == "min" else max
    low, high = best(value.low for value in of), best(value.high for value in of)
    convert = _real if kind == "double" else (lambda value: value)
    return _made(kind, of, lambda c: reduce(pick, [convert(v.run(c)) for v in of]), low=low, high=high)


def _rounded(name: str, of: Value, place: Any) -> Value:
    if of.kind == "int":
        return of

    def run(c: Columns) -> Any:
        value = _array(of.run(c))
        found = {"floor": np.floor, "ceil": np.ceil}.get(name, lambda x: np.floor(x + 0.5))(value)
        if not (np.abs(found) < LARGE).all():
            raise FileError(place, f"{name} of {float(np.ravel(value)[0])}: no whole number")
        return found.astype(np.int64)

    return _made("int", [of], run, fails=True)


def _as_whole(of: Value, place: Any) -> Value:
    """Return a number that must be whole, as one (SBML: a plain ``cn`` is a real number)."""
    if of.kind == "int":
        return of

    def run(c: Columns) -> Any:
        value = _array(of.run(c))
        wrong = ~((np.abs(value) < LARGE) & (value == np.floor(value)))
        if wrong.any():
            first = float(np.ravel(value)[np.ravel(wrong)][0])
            raise FileError(place, f"{first:g}: must be a whole number")
        return value.astype(np.int64)

    return _made("int", [of], run, fails=True)


def _whole_power(base: Value, exponent: Value, place: Any) -> Value:
    def run(c: Columns) -> Any:
        x, n = np.asarray(base.run(c)), np.asarray(exponent.run(c))
        if (n < 0).any():
            raise FileError(place, "pow of whole numbers with an exponent below 0: write 1.0 * x")
        with np.errstate(over="ignore"):
            about = np.abs(np.power(_array(x), _array(n)))
        if not (about < LARGE).all():
            raise FileError(place, "pow: a whole number beyond 2^62")
        return np.power(x.astype(np.int64), n.astype(np.int64))

    return _made("int", [base, exponent], run, fails=True)


def _modulo(a: Value, b: Value, place: Any) -> Value:
    def run(c: Columns) -> Any:
        x, y = np.asarray(a.run(c)), np.asarray(b.run(c))
        if (y <= 0).any():
            raise FileError(place, "mod by a number that is not positive")
        return np.mod(x, y)

    high = min(b.high - 1, LARGE)
    return _made("int", [a, b], run, fails=b.low <= 0, low=0, high=max(high, 0))

"""Expressions with types and bounds, evaluated over many states at once.

Integers stay exact: an operation that might leave 63 bits, by the bounds of the variables, is checked when it is
computed. Division is real division, as in PRISM, and 1/0 is infinite. The right side of &, |, => and of a choice is
evaluated only in the states where it matters, if it may fail elsewhere.
"""

from __future__ import annotations

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
    "INT_LIMIT",
    "Value",
    "as_real",
    "boolean",
    "chain",
    "check_numbers",
    "choose",
    "combine",
    "constant",
    "negate",
]

INT_LIMIT = 2**62
"""Exclusive limit of the magnitude of integers."""
NO_STATE = Columns(np.zeros((0, 1), dtype=np.int64))
Run = Callable[[Columns], Any]


@dataclass(frozen=True)
class Value:
    """A typed expression.

    Attributes
    ----------
    kind
        ``"bool"``, ``"int"`` or ``"double"``.
    run
        Function from a batch of states to the values: an array of shape (states,), or one Python value for all.
    low, high
        Bounds of an integer.
    fixed
        Whether the value is the same in all states.
    fails
        Whether the evaluation may fail in a state.
    reads
        Indices of the variables that occur.
    """

    kind: str
    run: Run
    low: int = -INT_LIMIT
    high: int = INT_LIMIT
    fixed: bool = False
    fails: bool = False
    reads: frozenset[int] = frozenset()

    def single(self) -> Any:
        """Return the value of a fixed expression."""
        return self.run(NO_STATE)


def constant(value: bool | float) -> Value:
    """Return a Python value as an expression."""
    if isinstance(value, bool):
        return Value("bool", lambda _c: value, fixed=True)
    if isinstance(value, int):
        return Value("int", lambda _c: value, value, value, fixed=True)
    return Value("double", lambda _c: value, fixed=True)


def boolean(value: Value, location: Any, role: str) -> Value:
    """Return the value after a check that it is a truth value."""
    if value.kind != "bool":
        raise FileError(location, f"{role} is a number: must be a truth value")
    return value


def check_numbers(values: list[Value], location: Any, sign: str) -> None:
    """Raise FileError if an operand is a truth value."""
    if any(value.kind == "bool" for value in values):
        raise FileError(location, f"{sign!r} of a truth value: must be of numbers")


def combine(kind: str, parts: list[Value], run: Run, **options: Any) -> Value:
    """Return an expression of other expressions; with fixed parts alone it is evaluated at once."""
    fails = options.pop("fails", False) or any(part.fails for part in parts)
    reads = frozenset[int]().union(*(part.reads for part in parts))
    fixed = all(part.fixed for part in parts)
    value = Value(kind, run, fixed=fixed, fails=fails, reads=reads, **options)
    if not value.fixed:
        return value
    with np.errstate(all="ignore"):
        return constant(_to_python(value.single(), kind))


def _to_python(value: Any, kind: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return {"bool": bool, "int": int, "double": float}[kind](value)


def negate(sign: str, of: Value, location: Any) -> Value:
    """Return ``!x`` or ``-x``."""
    if sign == "!":
        boolean(of, location, "what ! applies to")
        return combine("bool", [of], lambda c: np.logical_not(of.run(c)))
    check_numbers([of], location, "-")
    return combine(of.kind, [of], lambda c: -of.run(c), low=-of.high, high=-of.low)


def chain(first: Value, rest: list[tuple[str, Value]], location: Any) -> Value:
    """Return operands joined by operators of one rank, from the left."""
    sign = rest[0][0]
    if sign in ("&", "|"):
        return _all_or_any(sign, [first, *(value for _, value in rest)], location)
    return reduce(lambda left, step: _binary(step[0], left, step[1], location), rest, first)


def _all_or_any(sign: str, parts: list[Value], location: Any) -> Value:
    for part in parts:
        boolean(part, location, f"an operand of {sign}")
    deciding = sign == "|"
    join = np.logical_or if deciding else np.logical_and
    undecided = [part for part in parts if not (part.fixed and part.single() != deciding)]
    if any(part.fixed for part in undecided):  # one that decides; those before it may fail all the same
        undecided = undecided[: next(k for k, part in enumerate(undecided) if part.fixed) + 1]
    if not undecided:
        return constant(not deciding)

    def run(c: Columns) -> Any:
        result = undecided[0].run(c)
        for part in undecided[1:]:
            result = _where_undecided(result, part, c, deciding=deciding) if part.fails else join(result, part.run(c))
        return result

    return combine("bool", undecided, run)


def _where_undecided(before: Any, part: Value, c: Columns, *, deciding: bool) -> Any:
    """Evaluate an operand only in the states that earlier operands have not decided."""
    truths = np.broadcast_to(before, c.count)
    indices = np.flatnonzero(truths != deciding)
    if not len(indices):
        return before
    result = truths.copy()
    result[indices] = part.run(c.take(indices))
    return result


COMPARISONS: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def _binary(sign: str, a: Value, b: Value, location: Any) -> Value:
    if sign in ("=>", "<=>"):
        boolean(a, location, f"an operand of {sign}")
        boolean(b, location, f"an operand of {sign}")
        if sign == "=>":
            return _all_or_any("|", [negate("!", a, location), b], location)
        return combine("bool", [a, b], lambda c: np.equal(a.run(c), b.run(c)))
    if sign in COMPARISONS:
        if (a.kind == "bool") != (b.kind == "bool") or (a.kind == "bool" and sign not in ("=", "!=")):
            raise FileError(location, f"{sign!r} of a {a.kind} and a {b.kind}")
        compare = COMPARISONS[sign]
        return combine("bool", [a, b], lambda c: compare(a.run(c), b.run(c)))
    check_numbers([a, b], location, sign)
    if sign == "/":
        return combine("double", [a, b], lambda c: _quotient(as_real(a.run(c)), as_real(b.run(c))))
    if "double" in (a.kind, b.kind):
        real = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
        return combine("double", [a, b], lambda c: real(as_real(a.run(c)), as_real(b.run(c))))
    return _int_operation(sign, a, b, location)


def _quotient(a: Any, b: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # 1/0 is infinite
        return np.true_divide(a, b)


def as_real(value: Any) -> Any:
    """Return an array or a number in float64."""
    return np.asarray(value, dtype=np.float64) if isinstance(value, np.ndarray) else float(value)


def _int_operation(sign: str, a: Value, b: Value, location: Any) -> Value:
    """Return a sum, a difference or a product of integers, with a check where it might overflow."""
    if sign == "*":
        extremes = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    elif sign == "+":
        extremes = [a.low + b.low, a.high + b.high]
    else:
        extremes = [a.low - b.high, a.high - b.low]
    low, high = min(extremes), max(extremes)
    fits = low > -INT_LIMIT and high < INT_LIMIT
    run: Callable[[Any, Any], Any] = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]

    def checked_run(c: Columns) -> Any:
        x, y = a.run(c), b.run(c)
        with np.errstate(over="ignore"):
            magnitude = np.abs(run(as_real(x), as_real(y)))
        if np.size(magnitude) and float(np.max(magnitude)) >= INT_LIMIT:
            raise FileError(location, f"{sign!r}: a whole number beyond 2^62")
        return run(x, y)

    if fits:
        return combine("int", [a, b], lambda c: run(a.run(c), b.run(c)), low=low, high=high)
    limits = {"low": max(low, -INT_LIMIT), "high": min(high, INT_LIMIT)}
    return combine("int", [a, b], checked_run, fails=True, **limits)


def choose(cases: list[tuple[Value, Value]], otherwise: Value, location: Any) -> Value:
    """Return the value of the first condition that holds, otherwise the last value."""
    values = [*(value for _, value in cases), otherwise]
    kinds = {value.kind for value in values}
    for condition, _ in cases:
        boolean(condition, location, "a condition")
    if len(kinds) > 1 and "bool" in kinds:
        raise FileError(location, "a choice between numbers and truth values")
    kind = "double" if "double" in kinds else kinds.pop()
    dtype = {"bool": np.bool_, "int": np.int64, "double": np.float64}[kind]

    def run(c: Columns) -> Any:
        result: NDArray[Any] = np.empty(c.count, dtype=dtype)
        remaining = np.arange(c.count)
        for condition, value in cases:
            part = c.take(remaining)
            holds = np.broadcast_to(condition.run(part), part.count)
            if (indices := np.flatnonzero(holds)).size:
                result[remaining[indices]] = value.run(part.take(indices))
            remaining = remaining[~holds]
        if len(remaining):
            result[remaining] = otherwise.run(c.take(remaining))
        return result if c is not NO_STATE else result[0]

    low, high = min(value.low for value in values), max(value.high for value in values)
    return combine(kind, [*(c for c, _ in cases), *values], run, low=low, high=high)

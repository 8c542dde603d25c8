"""Expressions with types and bounds, evaluated over many states at once.

Whole numbers stay whole: what might leave 63 bits, by the bounds of the variables, is looked at when it
is computed. Division is that of real numbers, as in PRISM, and 1/0 is infinite. The right side of &, |,
=> and of a choice is only evaluated in the states where it counts, if it may fail elsewhere.
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
    "LARGE",
    "Value",
    "as_real",
    "boolean",
    "chained",
    "check_numbers",
    "chosen",
    "combined",
    "constant",
    "negated",
]

LARGE = 2**62
"""Whole numbers stay below."""
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


def check_numbers(values: list[Value], place: Any, sign: str) -> None:
    """Raise FileError where an operand is a truth value."""
    if any(value.kind == "bool" for value in values):
        raise FileError(place, f"{sign!r} of a truth value: must be of numbers")


def combined(kind: str, parts: list[Value], run: Run, **about: Any) -> Value:
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
        return combined("bool", [of], lambda c: np.logical_not(of.run(c)))
    check_numbers([of], place, "-")
    return combined(of.kind, [of], lambda c: -of.run(c), low=-of.high, high=-of.low)


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

    return combined("bool", kept, run)


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
        return combined("bool", [a, b], lambda c: np.equal(a.run(c), b.run(c)))
    if sign in COMPARISONS:
        if (a.kind == "bool") != (b.kind == "bool") or (a.kind == "bool" and sign not in ("=", "!=")):
            raise FileError(place, f"{sign!r} of a {a.kind} and a {b.kind}")
        compare = COMPARISONS[sign]
        return combined("bool", [a, b], lambda c: compare(a.run(c), b.run(c)))
    check_numbers([a, b], place, sign)
    if sign == "/":
        return combined("double", [a, b], lambda c: _quotient(as_real(a.run(c)), as_real(b.run(c))))
    if "double" in (a.kind, b.kind):
        real = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
        return combined("double", [a, b], lambda c: real(as_real(a.run(c)), as_real(b.run(c))))
    return _whole(sign, a, b, place)


def _quotient(a: Any, b: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # 1/0 is infinite
        return np.true_divide(a, b)


def as_real(value: Any) -> Any:
    """Return an array or a number in float64."""
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
            about = np.abs(run(as_real(x), as_real(y)))
        if np.size(about) and float(np.max(about)) >= LARGE:
            raise FileError(place, f"{sign!r}: a whole number beyond 2^62")
        return run(x, y)

    if safe:
        return combined("int", [a, b], lambda c: run(a.run(c), b.run(c)), low=low, high=high)
    limits = {"low": max(low, -LARGE), "high": min(high, LARGE)}
    return combined("int", [a, b], looked_at, fails=True, **limits)


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
    return combined(kind, [*(c for c, _ in cases), *values], run, low=low, high=high)

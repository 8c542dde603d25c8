"""Stand-ins whose multiples are kept as functions of one component, in place of being read.

A rate in proportion to a count is another one for every count: read, it makes a region of each. Here what
the rules compute from one component and plain numbers by sums, products and quotients is computed for all of
its values at once, by the same operations in the same order, so that every value has the bits that plain Python
gives it. Comparisons keep the values with the same answer; whatever else is done with it uses its value.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.generators.tracing import Span, Traced

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Counted", "Curve", "kept", "now"]

EXACT = 2.0**53  # whole numbers below are float64
NUMBERS = (int, float, np.int64, np.float64)


class Curve:
    """A number that the rules computed from one component.

    Parameters
    ----------
    span
        The component: its value, and the values for which the rules do the same.
    number, first
        Which component it is, and its least value.
    values
        What the number is for each value of the component, from the least on: int64 or float64.
    """

    __slots__ = ("first", "number", "span", "values")

    def __init__(self, span: Span, number: int, first: int, values: NDArray[Any]) -> None:
        self.span, self.number, self.first, self.values = span, number, first, values

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for
        return int if self.values.dtype.kind == "i" else float

    @property
    def now(self) -> Any:
        """The number for the value that the component has."""
        return self.values[self.span.value - self.first].item()

    def read(self) -> Any:
        """Return the number, and keep this value of the component only."""
        self.span.fixed()
        return self.now

    def narrowed(self, alike: NDArray[np.bool_]) -> bool:
        """Answer with what is so for the value, and keep the values around it of which the same is so."""
        here, span = self.span.value - self.first, self.span
        answer = bool(alike[here])
        other = np.flatnonzero(alike != answer)
        place = int(np.searchsorted(other, here))
        if place:
            span.low = max(span.low, int(other[place - 1]) + 1 + self.first)
        if place < len(other):
            span.high = min(span.high, int(other[place]) - 1 + self.first)
        return answer

    def _operand(self, other: Any) -> Any:
        """Return the other number of an operation for each value of the component; None: it is to be read."""
        if type(other) in (Curve, Counted) and other.span is self.span:
            return as_curve(other).values
        if type(other) not in NUMBERS or not math.isfinite(other):
            return None
        return other if isinstance(other, float) or abs(other) < EXACT else None

    def _by_value(self, operation: Callable[..., Any], other: Any, reverse: bool) -> Any:
        pair = self.read(), read(other)
        return operation(*(reversed(pair) if reverse else pair))

    def combined(self, operation: Callable[..., Any], other: Any, *, reverse: bool = False) -> Any:
        """Return a sum, difference, product or quotient."""
        found = self._operand(other)
        if found is None:
            return self._by_value(operation, other, reverse)
        if operation is operator.truediv:
            divisor = self if reverse else other
            zero = divisor == 0  # where it is, plain Python raises: other values are apart
            if zero:
                return self._by_value(operation, other, reverse)
        pair = (found, self.values) if reverse else (self.values, found)
        with np.errstate(all="ignore"):
            values = np.asarray(operation(*pair))
            rough = operation(*(np.asarray(part, dtype=np.float64) for part in pair))
        whole = values.dtype.kind == "i"
        if values.dtype not in (np.int64, np.float64) or (whole and not np.abs(rough).max() < EXACT):
            return self._by_value(operation, other, reverse)
        return Curve(self.span, self.number, self.first, values)

    def compared(self, operation: Callable[..., Any], other: Any) -> Any:
        """Return the answer for the value, and keep those with the same answer."""
        found = self._operand(other)
        infinite = type(other) is float and abs(other) == np.inf
        if found is None and not infinite:
            return self._by_value(operation, other, reverse=False)
        return self.narrowed(operation(self.values, other if found is None else found))

    def __bool__(self) -> bool:
        return self.narrowed(self.values != 0)

    def __hash__(self) -> int:
        return hash(self.read())

    def __index__(self) -> int:
        return operator.index(self.read())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.read(), name)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        return np.array(self.read())

    def __format__(self, form: str) -> str:
        return format(self.read(), form)

    def __round__(self, *digits: Any) -> Any:
        return round(self.read(), *digits)


class Counted(Traced):
    """Stand-in for a component of the state, whose multiples, and sums with other numbers, are curves.

    Parameters
    ----------
    span
        Its value, and the values for which the rules do the same.
    offset
        What has been added to it.
    number, values
        Which component it is, and the values that it may have.
    """

    __slots__ = ("number", "values")

    def __init__(self, span: Span, number: int, values: range, offset: int = 0) -> None:
        super().__init__(span, offset)
        self.number, self.values = number, values

    def _moved(self, other: Any, sign: int) -> Any:
        if issubclass(type(other), (int, np.integer)):
            return Counted(self.span, self.number, self.values, self.offset + sign * int(other))
        return as_curve(self).combined(operator.add if sign > 0 else operator.sub, other)


def as_curve(value: Any) -> Curve:
    """Return a component with an offset, or a curve, as a curve."""
    if type(value) is Curve:
        return value
    values = np.arange(value.values[0], value.values[-1] + 1, dtype=np.int64) + value.offset
    return Curve(value.span, value.number, value.values[0], values)


def read(value: Any) -> Any:
    """Return a number that may be a stand-in as one that is not."""
    if type(value) is Curve:
        return value.read()
    return int(value) if issubclass(type(value), Traced) else value


def now(rate: Any) -> Any:
    """Return a rate that was kept as it is for the value that its component has."""
    return rate.now if type(rate) is Curve else rate


def kept(rate: Any) -> Any:
    """Return what is kept of a rate: a curve, or a number."""
    if type(rate) is Counted:
        return as_curve(rate)
    return rate if type(rate) is Curve else float(rate)


def _combined(operation: Callable[..., Any], *, reverse: bool = False) -> Any:
    def operate(self: Any, other: Any) -> Any:
        return as_curve(self).combined(operation, other, reverse=reverse)

    return operate


def _compared(operation: Callable[..., Any]) -> Any:
    def operate(self: Curve, other: Any) -> Any:
        return self.compared(operation, other)

    return operate


def _read(operation: Callable[..., Any], *, reverse: bool = False) -> Any:
    def operate(self: Curve, *others: Any) -> Any:
        values = [self.read(), *map(read, others)]
        return operation(*reversed(values) if reverse else values)

    return operate


for _name in ("mul", "truediv", "add", "sub"):
    _operation = getattr(operator, _name)
    setattr(Curve, f"__{_name}__", _combined(_operation))
    setattr(Curve, f"__r{_name}__", _combined(_operation, reverse=True))
for _name in ("mul", "truediv"):
    setattr(Counted, f"__{_name}__", getattr(Curve, f"__{_name}__"))
    setattr(Counted, f"__r{_name}__", getattr(Curve, f"__r{_name}__"))
Counted.__rsub__ = Curve.__rsub__  # type: ignore[attr-defined]
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Curve, f"__{_name}__", _compared(getattr(operator, _name)))
for _name in ("floordiv", "mod", "divmod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _operation = divmod if _name == "divmod" else getattr(operator, f"__{_name}__")
    setattr(Curve, f"__{_name}__", _read(_operation))
    setattr(Curve, f"__r{_name}__", _read(_operation, reverse=True))
_ONE_SIDED: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "trunc": math.trunc,
    "int": int,
    "float": float,
    "repr": repr,
    "str": str,
}
for _name, _operation in _ONE_SIDED.items():
    setattr(Curve, f"__{_name}__", _read(_operation))

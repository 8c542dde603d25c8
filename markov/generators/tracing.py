"""Stand-ins for whole numbers, which keep the range of values on which a rule would do the same."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Span", "Traced", "shift"]


class Span:
    """The values of a component for which everything that the rules asked has had the same answer."""

    def __init__(self, value: int, low: int, high: int) -> None:
        self.value, self.low, self.high = value, low, high
        self.read = False
        """Whether the rules used the value itself."""

    def below(self, bound: float) -> bool:
        """Answer whether the value is < bound, and keep the values with the same answer."""
        if not math.isfinite(bound):
            return self.value < bound
        if self.value < bound:
            self.high = min(self.high, math.ceil(bound) - 1)
            return True
        self.low = max(self.low, math.ceil(bound))
        return False

    def fixed(self) -> int:
        """Answer with the value itself, and keep no other."""
        self.low = self.high = self.value
        self.read = True
        return self.value


class Traced:
    """Stand-in for a component of the state in the rules: its value plus an offset.

    Comparisons with numbers and sums with whole numbers hold for a span of values; whatever else is
    done with it uses its value, and then the rules are those of one value only.
    """

    __slots__ = ("offset", "span")

    def __init__(self, span: Span, offset: int = 0) -> None:
        self.span, self.offset = span, offset

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for
        return int

    def _moved(self, other: Any, sign: int) -> Any:
        if isinstance(other, (int, np.integer)):
            return Traced(self.span, self.offset + sign * int(other))
        return int(self) + sign * (int(other) if isinstance(other, Traced) else other)

    def __add__(self, other: Any) -> Any:
        return self._moved(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._moved(other, -1)

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, Traced):
            same = other.span is self.span
            return self.offset < other.offset if same else int(self) < int(other)
        if not _is_real(other):
            return int(self) < other  # type: ignore[no-any-return]
        if not math.isfinite(other):
            return self.span.value < other  # type: ignore[no-any-return]
        return self.span.below(math.ceil(other) - self.offset)

    def __ge__(self, other: Any) -> bool:
        return not self < other if _is_ordered(other) else int(self) >= other

    def __le__(self, other: Any) -> bool:
        if isinstance(other, Traced):
            same = other.span is self.span
            return self.offset <= other.offset if same else int(self) <= int(other)
        if not _is_real(other):
            return int(self) <= other  # type: ignore[no-any-return]
        if not math.isfinite(other):
            return self.span.value <= other  # type: ignore[no-any-return]
        return self.span.below(math.floor(other) + 1 - self.offset)

    def __gt__(self, other: Any) -> bool:
        return not self <= other if _is_ordered(other) else int(self) > other

    def __eq__(self, other: object) -> bool:
        if not _is_ordered(other):
            return int(self) == other
        return self <= other and self >= other

    def __int__(self) -> int:
        return self.span.fixed() + self.offset

    __index__ = __hash__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __repr__(self) -> str:
        return repr(int(self))

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return format(int(self), form)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(int(self), name)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        return np.array(int(self))

    def __bool__(self) -> bool:
        return self != 0


def _is_real(other: Any) -> bool:
    return type(other) in (int, float, bool) or isinstance(other, numbers.Real)


def _is_ordered(other: Any) -> bool:
    """Whether a number is either below another one or at least that: not for NaN, nor for other values."""
    return isinstance(other, Traced) or (_is_real(other) and not math.isnan(other))


def _by_value(operation: Any, *, reverse: bool = False) -> Any:
    def operate(self: Traced, *others: Any) -> Any:
        values = [int(self), *(int(o) if isinstance(o, Traced) else o for o in others)]
        return operation(*reversed(values) if reverse else values)

    return operate


_TWO_SIDED = ["mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
for _name in (*_TWO_SIDED, "neg", "pos", "abs", "invert"):
    setattr(Traced, f"__{_name}__", _by_value(getattr(operator, f"__{_name}__")))
_BUILTIN: dict[str, Callable[..., Any]] = {
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "divmod": divmod,
}
for _name, _operation in _BUILTIN.items():
    setattr(Traced, f"__{_name}__", _by_value(_operation))
setattr(Traced, "__rdivmod__", _by_value(divmod, reverse=True))  # noqa: B010
for _name in (*_TWO_SIDED, "sub"):
    setattr(Traced, f"__r{_name}__", _by_value(getattr(operator, f"__{_name}__"), reverse=True))


def shift(target: Any, span: Span) -> int:
    """Return by how much a transition changes the component that a span is of."""
    if isinstance(target, Traced) and target.span is span:
        return target.offset
    return int(target) - span.fixed()

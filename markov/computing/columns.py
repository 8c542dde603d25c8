"""Numbers over a set of states that behave as Python's numbers do in each of them.

A `Column` stands for a component of the state in many states at once. What Python would decide
differently from state to state (a condition, an index, a division by zero) narrows the set to states
that agree; those that do not are left for another run. Whole numbers never wrap: what could leave 64
bits is computed with Python's own integers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.computing.selections import Selection

__all__ = ["OPERATORS_OF_UFUNCS", "Column", "UnsupportedError"]

EXACT = 2**53  # whole numbers up to here are floats without rounding
SAFE = 2**62  # and up to here they fit into 64 bits, as do their sums


class UnsupportedError(BaseException):
    """Something that columns do not do as Python does; no error of a rule, which might catch it.

    Attributes
    ----------
    raised
        How often: a rule may catch everything.
    """

    raised: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        UnsupportedError.raised += 1


class Column:
    """A number in each of the states of a selection: bool, int or float as Python has it.

    Parameters
    ----------
    selection
        The states.
    values
        Shape (states left,): of dtype bool, int64, float64, or object for Python's own integers.
    low, high
        Bounds of whole numbers.
    """

    __slots__ = ("_high", "_low", "_seen", "_values", "selection")

    def __init__(self, selection: Selection, values: NDArray[Any], low: int = 0, high: int = 0) -> None:
        self.selection, self._values, self._low, self._high = selection, values, low, high
        self._seen = len(selection.kept)

    def values(self) -> NDArray[Any]:
        """Return the numbers in the states that are left."""
        for keep in self.selection.kept[self._seen :]:
            self._values = self._values[keep]
        self._seen = len(self.selection.kept)
        return self._values

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for
        kind = self._values.dtype.kind
        return {"b": bool, "i": int, "f": float}.get(kind) or type(self.one())

    def one(self) -> Any:
        """Return the number of one state, and keep the states that have the same."""
        values = self.values()
        if values.dtype.kind == "O":
            raise UnsupportedError
        if values.min() != values.max():  # also where one is not a number
            self.selection.split(values)
        return self.values()[0].item()

    # ------------------------------------------------------------------ what takes one number

    def __bool__(self) -> bool:
        return self.selection.decide(np.asarray(self.values() != 0, dtype=bool))

    def __index__(self) -> int:
        return operator.index(self.one())

    def __int__(self) -> int:
        return int(self.one())

    def __float__(self) -> float:
        return float(self.one())

    def __hash__(self) -> int:
        return hash(self.one())

    def __repr__(self) -> str:
        return repr(self.one())

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return format(self.one(), form)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.one(), name)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise UnsupportedError

    def __array_function__(self, function: Any, _types: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        if function is np.where and len(arguments) == 3 and not keywords:
            condition, yes, no = arguments
            if all(isinstance(value, float) for value in (yes, no)):  # else NumPy makes one kind
                return yes if condition else no
        raise UnsupportedError

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        if method != "__call__" or keywords or not all(map(_is_number, inputs)):
            raise UnsupportedError
        if ufunc in OPERATORS_OF_UFUNCS:  # an operator with a scalar of NumPy's on the left
            return OPERATORS_OF_UFUNCS[ufunc](*(_plain(value) for value in inputs))
        if not self.selection.arrays:
            raise UnsupportedError
        if len(inputs) == 1:
            return self._tabulated(lambda value: ufunc(value).item())
        return self._elementwise(lambda *values: ufunc(*values).item(), *inputs)

    # ------------------------------------------------------------------ arithmetic

    def _bounds(self) -> tuple[int, int]:
        """Return bounds of the whole numbers, tightened where they are wide."""
        values = self.values()
        if values.dtype.kind == "b":
            return 0, 1
        if max(-self._low, self._high) >= EXACT:
            self._low, self._high = int(values.min()), int(values.max())
        return self._low, self._high

    def _whole(self) -> bool:
        return self._values.dtype.kind in "bi"

    def _made(self, values: NDArray[Any], low: int = 0, high: int = 0) -> Column:
        return Column(self.selection, values, low, high)

    def _elementwise(self, operation: Callable[..., Any], *operands: Any) -> Column:
        """Return the results of plain Python, state by state."""
        count = len(self.selection.states)
        lists = [o.values().tolist() if type(o) is Column else [o] * count for o in operands]
        try:
            return self._packed(list(map(operation, *lists)))
        except Exception:
            if count > 1:  # in some states Python raises, in others perhaps not: each by itself
                raise UnsupportedError from None
            raise

    def _packed(self, results: list[Any]) -> Column:
        kinds = set(map(type, results))
        if kinds == {float}:
            return self._made(np.array(results))
        if kinds == {int}:
            low, high = min(results), max(results)
            if low > -SAFE and high < SAFE:
                return self._made(np.array(results, dtype=np.int64), low, high)
        values = np.empty(len(results), dtype=object)
        values[:] = results
        return self._made(values)

    def _binary(self, operation: Callable[..., Any], left: Any, right: Any) -> Any:
        """Return the sum, difference or product of numbers, one of which is this column."""
        if not (_is_number(left) and _is_number(right)):
            return NotImplemented
        whole = _is_whole(left) and _is_whole(right)
        if not whole:
            if not (_is_exact(left) and _is_exact(right)):
                return self._elementwise(operation, left, right)
            with np.errstate(all="ignore"):  # Python's floats overflow without a warning
                return self._made(operation(_floats(left), _floats(right)))
        ends = [operation(a, b) for a in _ends(left) for b in _ends(right)]
        low, high = min(ends), max(ends)
        if operation is operator.sub:
            (a, b), (c, d) = _ends(left), _ends(right)
            low, high = a - d, b - c
        if low <= -SAFE or high >= SAFE:
            return self._elementwise(operation, left, right)
        return self._made(operation(_integers(left), _integers(right)), low, high)

    def _quotient(self, operation: Callable[..., Any], left: Any, right: Any) -> Any:
        """Return a quotient or remainder; where the divisor is zero Python raises."""
        if not (_is_number(left) and _is_number(right)):
            return NotImplemented
        if type(right) is Column and not right:
            return operation(left.one() if type(left) is Column else left, right.one())
        if type(right) is not Column and right == 0:
            return operation(left.one(), right)
        if operation is operator.truediv and _is_exact(left) and _is_exact(right):
            with np.errstate(all="ignore"):
                return self._made(_floats(left) / _floats(right))
        if _is_whole(left) and _is_whole(right) and operation is not operator.truediv:
            values = operation(_integers(left), _integers(right))
            if _is_exact(left) and _is_exact(right):
                bound = max(map(abs, (*_ends(left), *_ends(right))))
                return self._made(values, -bound, bound)
        return self._elementwise(operation, left, right)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def _tabulated(self, operation: Callable[[Any], Any]) -> Any:
        """Return a function of one whole number that is costly, once for each value that occurs."""
        if not self._whole():
            return self._elementwise(operation, self)
        values = _integers(self)
        low, high = int(values.min()), int(values.max())
        if high - low > len(values):
            return self._elementwise(operation, self)
        present = np.flatnonzero(np.bincount(values - low))
        try:
            column = self._packed([operation(int(k) + low) for k in present])
        except Exception:
            if len(present) > 1:
                raise UnsupportedError from None
            raise
        place = np.zeros(high - low + 1, dtype=np.int64)
        place[present] = np.arange(len(present))
        return self._made(column._values[place[values - low]], column._low, column._high)

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if not _is_number(other) or modulo is not None:
            return NotImplemented
        if type(other) is Column:
            return self._elementwise(operator.pow, self, other)
        return self._tabulated(lambda value: value**other)

    def __rpow__(self, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return self._tabulated(lambda value: other**value)

    def _bits(self, operation: Callable[..., Any], left: Any, right: Any) -> Any:
        if not (_is_whole(left) and _is_whole(right)):
            return NotImplemented
        logical = all(_is_bool(side) for side in (left, right))
        if operation in (operator.and_, operator.or_, operator.xor):
            if logical:
                return self._made(operation(_truths(left), _truths(right)))
            bound = 1 << max(abs(e) for side in (left, right) for e in _ends(side)).bit_length()
            return self._made(operation(_integers(left), _integers(right)), -bound, bound)
        shifts = _ends(right)
        if not 0 <= min(shifts) <= max(shifts) < 62:
            return self._elementwise(operation, left, right)
        ends = [operation(a, b) for a in _ends(left) for b in shifts]
        if min(ends) <= -SAFE or max(ends) >= SAFE:
            return self._elementwise(operation, left, right)
        return self._made(operation(_integers(left), _integers(right)), min(ends), max(ends))

    def __neg__(self) -> Any:
        return self._binary(operator.sub, 0, self) if self._whole() else self._unary(operator.neg)

    def __pos__(self) -> Any:
        return self._binary(operator.add, 0, self) if self._whole() else self._unary(operator.pos)

    def __invert__(self) -> Any:
        return self._binary(operator.sub, -1, self)

    def __abs__(self) -> Any:
        if self._whole():
            bound = max(map(abs, self._bounds()))
            return self._made(np.abs(_integers(self)), 0, bound)
        return self._unary(operator.abs)

    def _unary(self, operation: Callable[..., Any]) -> Column:
        if self._values.dtype.kind == "f":
            return self._made(operation(self.values()))
        return self._elementwise(operation, self)

    def __round__(self, digits: Any = None) -> Any:
        return self._elementwise(lambda value: round(value, digits), self)

    def __floor__(self) -> Any:
        return self._elementwise(math.floor, self)

    def __ceil__(self) -> Any:
        return self._elementwise(math.ceil, self)

    def __trunc__(self) -> Any:
        return self._elementwise(math.trunc, self)

    # ------------------------------------------------------------------ comparisons

    def _compared(self, operation: Callable[..., Any], other: Any) -> Any:
        if self.selection.closed or not _is_number(other):
            return NotImplemented
        if type(other) is Column and other.selection is not self.selection:
            return NotImplemented
        if _is_whole(self) and _is_whole(other) and (type(other) is Column or abs(other) < SAFE):
            return self._made(operation(_integers(self), _integers(other)))
        if _is_exact(self) and _is_exact(other):
            return self._made(operation(_floats(self), _floats(other)))
        return self._elementwise(operation, self, other)


def _forward(rule: str, operation: Callable[..., Any], *, reverse: bool = False) -> Any:
    def operate(self: Column, other: Any) -> Any:
        left, right = (other, self) if reverse else (self, other)
        return getattr(self, rule)(operation, left, right)

    return operate


def _comparison(operation: Callable[..., Any]) -> Any:
    return lambda self, other: self._compared(operation, other)


_TWO_SIDED = {
    "_binary": ("add", "sub", "mul"),
    "_quotient": ("truediv", "floordiv", "mod"),
    "_bits": ("and", "or", "xor", "lshift", "rshift"),
}
for _rule, _names in _TWO_SIDED.items():
    for _name in _names:
        _operation = getattr(operator, f"__{_name}__")
        setattr(Column, f"__{_name}__", _forward(_rule, _operation))
        setattr(Column, f"__r{_name}__", _forward(_rule, _operation, reverse=True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Column, f"__{_name}__", _comparison(getattr(operator, _name)))


# ---------------------------------------------------------------------- operands of both kinds


OPERATORS_OF_UFUNCS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}


def _plain(value: Any) -> Any:
    return float(value) if type(value) is np.float64 else value


def _is_number(value: Any) -> bool:
    """Whether a value is a column, or a number that counts as Python's do."""
    if type(value) in (Column, int, float, bool, np.float64):
        return True
    other = isinstance(value, (int, float, complex, np.generic, np.ndarray))
    if other or hasattr(value, "__float__"):
        raise UnsupportedError  # NumPy's integers, members of an IntEnum, fractions
    return False


def _is_whole(value: Any) -> bool:
    return value._whole() if type(value) is Column else isinstance(value, int)


def _is_bool(value: Any) -> bool:
    return value._values.dtype.kind == "b" if type(value) is Column else isinstance(value, bool)


def _is_exact(value: Any) -> bool:
    """Whether the numbers are floats without rounding."""
    if type(value) is not Column:
        return not isinstance(value, int) or abs(value) <= EXACT
    if value._values.dtype.kind == "O":
        return False
    return not value._whole() or max(map(abs, value._bounds())) <= EXACT


def _ends(value: Any) -> tuple[int, int]:
    return value._bounds() if type(value) is Column else (int(value), int(value))


def _integers(value: Any) -> Any:
    if type(value) is not Column:
        return int(value)
    values = value.values()
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def _truths(value: Any) -> Any:
    return value.values() if type(value) is Column else value


def _floats(value: Any) -> Any:
    return value.values().astype(np.float64) if type(value) is Column else float(value)

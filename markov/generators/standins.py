"""Stand-ins for the components of a state, with which plain Python runs for a range of values at once.

1. A `Traced` keeps the range of values for which everything that the rules asked has the same answer. Any other use
   reads its value, and then the run holds for this value only.
2. A rate in proportion to a count would be another one for every count. A `Counted` computes its multiples, and sums
   with other numbers, for all values of the component at once, by the same operations in the same order (`Curve`). So
   every value has the bits of plain Python.
3. ``is`` and ``type`` cannot be answered by a stand-in, nor noticed. `asks_for_identity` searches the bytecode for
   them, which covers rules without a source text.
"""

from __future__ import annotations

import dis
import functools
import inspect
import math
import numbers
import operator
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.array_functions import UNKNOWN, codes_in, value_of_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Counted",
    "Curve",
    "Span",
    "Traced",
    "as_rate",
    "asks_for_identity",
    "component_change",
    "current_value",
    "functions_used_by",
    "is_user_module",
    "names_in",
]


# A component for a range of values


class Span:
    """Range of the values of one component for which all comparisons in the rules have the same answers.

    Attributes
    ----------
    value
        The value that the rules run with.
    low, high
        First and last value with the same answers.
    read
        Whether the rules used the value itself, so that the range has this value only.
    """

    def __init__(self, value: int, low: int, high: int) -> None:
        self.value, self.low, self.high = value, low, high
        self.read = False

    def below(self, bound: float) -> bool:
        """Return whether the value is < ``bound``, and narrow the range to the values with the same answer."""
        if type(bound) is not int:
            if not math.isfinite(bound):
                return self.value < bound
            bound = math.ceil(bound)
        if self.value < bound:
            self.high = min(self.high, bound - 1)
            return True
        self.low = max(self.low, bound)
        return False

    def fix(self) -> int:
        """Return the value, and narrow the range to this value only."""
        self.low = self.high = self.value
        self.read = True
        return self.value


class Traced:
    """Stand-in for an integer component of the state, plus an offset, whose comparisons narrow a `Span`.

    Comparisons with numbers, and sums with whole numbers, hold for a span of values.
    """

    __slots__ = ("offset", "span")

    def __init__(self, span: Span, offset: int = 0) -> None:
        self.span, self.offset = span, offset

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Type ``int``, so that ``isinstance(x, int)`` holds for the stand-in."""
        return int

    def _shift_by(self, other: Any, sign: int) -> Any:
        """Return this component + ``sign`` * ``other``: a stand-in if ``other`` is an integer, otherwise a number."""
        if isinstance(other, (int, np.integer)):
            return Traced(self.span, self.offset + sign * int(other))
        return int(self) + sign * (int(other) if isinstance(other, Traced) else other)

    def __add__(self, other: Any) -> Any:
        return self._shift_by(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._shift_by(other, -1)

    # Most numbers are of type ``int``: each comparison begins with them, which takes half the time of its other cases.

    def __lt__(self, other: Any) -> bool:
        if type(other) is int:
            return self.span.below(other - self.offset)
        if isinstance(other, Traced):
            same = other.span is self.span
            return self.offset < other.offset if same else int(self) < int(other)
        if not _is_real(other):
            return int(self) < other  # type: ignore[no-any-return]
        if not math.isfinite(other):
            return self.span.value < other  # type: ignore[no-any-return]
        return self.span.below(math.ceil(other) - self.offset)

    def __ge__(self, other: Any) -> bool:
        if type(other) is int:
            return not self.span.below(other - self.offset)
        return not self < other if _is_ordered(other) else int(self) >= other

    def __le__(self, other: Any) -> bool:
        if type(other) is int:
            return self.span.below(other - self.offset + 1)
        if isinstance(other, Traced):
            same = other.span is self.span
            return self.offset <= other.offset if same else int(self) <= int(other)
        if not _is_real(other):
            return int(self) <= other  # type: ignore[no-any-return]
        if not math.isfinite(other):
            return self.span.value <= other  # type: ignore[no-any-return]
        return self.span.below(math.floor(other) + 1 - self.offset)

    def __gt__(self, other: Any) -> bool:
        if type(other) is int:
            return not self.span.below(other - self.offset + 1)
        return not self <= other if _is_ordered(other) else int(self) > other

    def __eq__(self, other: object) -> bool:
        if type(other) is int:
            bound = other - self.offset
            return self.span.below(bound + 1) and not self.span.below(bound)
        if not _is_ordered(other):
            return int(self) == other
        return self <= other and self >= other

    def __int__(self) -> int:
        """Return the current value plus the offset, and narrow the span to this value."""
        return self.span.fix() + self.offset

    __index__ = __hash__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __repr__(self) -> str:
        return repr(int(self))

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return format(int(self), form)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the current value as an ``int``."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(int(self), name)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return the current value as an array of shape ()."""
        return np.array(int(self))

    def __bool__(self) -> bool:
        return self != 0


def _is_real(other: Any) -> bool:
    """Return whether a value is a real number; infinities and NaN are."""
    return type(other) in (int, float, bool) or isinstance(other, numbers.Real)


def _is_ordered(other: Any) -> bool:
    """Return whether a value can be compared with integers: a stand-in, or a real number except NaN."""
    return isinstance(other, Traced) or (_is_real(other) and not math.isnan(other))


def _operation_on_values(operation: Any, *, reverse: bool = False) -> Any:
    """Return a method of `Traced` that applies an operation to the operands' values, which fixes their spans."""

    def operate(self: Traced, *others: Any) -> Any:
        """Return the result of the operation for the current values of the operands."""
        values = [int(self), *(int(o) if isinstance(o, Traced) else o for o in others)]
        return operation(*reversed(values) if reverse else values)

    return operate


_TWO_OPERANDS = ["mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
for _name in (*_TWO_OPERANDS, "neg", "pos", "abs", "invert"):
    setattr(Traced, f"__{_name}__", _operation_on_values(getattr(operator, f"__{_name}__")))
_BUILTINS: dict[str, Callable[..., Any]] = {
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "divmod": divmod,
}
for _name, _operation in _BUILTINS.items():
    setattr(Traced, f"__{_name}__", _operation_on_values(_operation))
setattr(Traced, "__rdivmod__", _operation_on_values(divmod, reverse=True))  # noqa: B010
for _name in (*_TWO_OPERANDS, "sub"):
    setattr(Traced, f"__r{_name}__", _operation_on_values(getattr(operator, f"__{_name}__"), reverse=True))


def component_change(target: Any, span: Span) -> int:
    """Return target minus source of the component of ``span``, which is fixed unless the target is an offset of it."""
    if isinstance(target, Traced) and target.span is span:
        return target.offset
    return int(target) - span.fix()


# A number computed from one component


MAX_EXACT = 2.0**53
"""Whole numbers below are exact in float64."""
NUMBERS = (int, float, np.int64, np.float64)


class Curve:
    """Stand-in for a number that rules computed from one component, as an array over the component's values.

    Parameters
    ----------
    span
        Range of the component.
    component, first
        Index of the component, and its first value.
    values
        The number for each value of the component, from the first one on: int64 or float64.
    """

    __slots__ = ("component", "first", "span", "values")

    def __init__(self, span: Span, component: int, first: int, values: NDArray[Any]) -> None:
        self.span, self.component, self.first, self.values = span, component, first, values

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Type ``int`` or ``float`` of the number, for ``isinstance``."""
        return int if self.values.dtype.kind == "i" else float

    @property
    def current(self) -> Any:
        """The number at the current value of the component."""
        return self.values[self.span.value - self.first].item()

    def read(self) -> Any:
        """Return the number at the component's current value, and narrow the span to this value."""
        self.span.fix()
        return self.current

    def narrow(self, answers: NDArray[np.bool_]) -> bool:
        """Return the answer at the current value, and narrow the span to adjacent values with the same answer."""
        index, span = self.span.value - self.first, self.span
        answer = bool(answers[index])
        others = np.flatnonzero(answers != answer)
        position = int(np.searchsorted(others, index))
        if position:
            span.low = max(span.low, int(others[position - 1]) + 1 + self.first)
        if position < len(others):
            span.high = min(span.high, int(others[position]) - 1 + self.first)
        return answer

    def _operand(self, other: Any) -> Any:
        """Return ``other`` for each value of the component, an array or a number; None if it has to be read."""
        if type(other) in (Curve, Counted) and other.span is self.span:
            return as_curve(other).values
        if type(other) not in NUMBERS or not math.isfinite(other):
            return None
        return other if isinstance(other, float) or abs(other) < MAX_EXACT else None

    def _operate_on_values(self, operation: Callable[..., Any], other: Any, reverse: bool) -> Any:
        """Return the result of an operation for the current values of this number and ``other``, which are fixed."""
        pair = self.read(), read_value(other)
        return operation(*(reversed(pair) if reverse else pair))

    def combine(self, operation: Callable[..., Any], other: Any, *, reverse: bool = False) -> Any:
        """Return this number +, -, * or / ``other`` as a `Curve`, or as a number if the operands must be read."""
        operand = self._operand(other)
        if operand is None:
            return self._operate_on_values(operation, other, reverse)
        if operation is operator.truediv:
            divisor = self if reverse else other
            zero = divisor == 0  # there plain Python raises: other values become another range
            if zero:
                return self._operate_on_values(operation, other, reverse)
        pair = (operand, self.values) if reverse else (self.values, operand)
        with np.errstate(all="ignore"):
            values = np.asarray(operation(*pair))
            rough = operation(*(np.asarray(part, dtype=np.float64) for part in pair))
        is_integer = values.dtype.kind == "i"
        if values.dtype not in (np.int64, np.float64) or (is_integer and not np.abs(rough).max() < MAX_EXACT):
            return self._operate_on_values(operation, other, reverse)
        return Curve(self.span, self.component, self.first, values)

    def compare(self, operation: Callable[..., Any], other: Any) -> Any:
        """Return the comparison with ``other`` at the current value, and narrow the span to the same answer."""
        operand = self._operand(other)
        infinite = type(other) is float and abs(other) == np.inf
        if operand is None and not infinite:
            return self._operate_on_values(operation, other, reverse=False)
        return self.narrow(operation(self.values, other if operand is None else operand))

    def __bool__(self) -> bool:
        """Return whether the number is not zero, and narrow the span to the values with the same answer."""
        return self.narrow(self.values != 0)

    def __hash__(self) -> int:
        return hash(self.read())

    def __index__(self) -> int:
        return operator.index(self.read())

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the number at the current value of the component."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.read(), name)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return the number at the current value of the component as an array of shape ()."""
        return np.array(self.read())

    def __format__(self, form: str) -> str:
        return format(self.read(), form)

    def __round__(self, *digits: Any) -> Any:
        return round(self.read(), *digits)


class Counted(Traced):
    """Stand-in for an integer component whose multiples, and sums with non-integers, are `Curve` of all its values.

    Parameters
    ----------
    span
        Range of the component.
    component, values
        Index of the component, and its possible values.
    offset
        The number that was added to it.
    """

    __slots__ = ("component", "values")

    def __init__(self, span: Span, component: int, values: range, offset: int = 0) -> None:
        super().__init__(span, offset)
        self.component, self.values = component, values

    def _shift_by(self, other: Any, sign: int) -> Any:
        """Return this component + ``sign`` * ``other``: a `Counted` if ``other`` is an integer, otherwise a `Curve`."""
        if issubclass(type(other), (int, np.integer)):
            return Counted(self.span, self.component, self.values, self.offset + sign * int(other))
        return as_curve(self).combine(operator.add if sign > 0 else operator.sub, other)


def as_curve(value: Any) -> Curve:
    """Return a `Counted` as a `Curve` of its values; a `Curve` is returned unchanged."""
    if type(value) is Curve:
        return value
    values = np.arange(value.values[0], value.values[-1] + 1, dtype=np.int64) + value.offset
    return Curve(value.span, value.component, value.values[0], values)


def read_value(value: Any) -> Any:
    """Return the current value of a stand-in, and fix its span; any other object is returned unchanged."""
    if type(value) is Curve:
        return value.read()
    return int(value) if issubclass(type(value), Traced) else value


def current_value(rate: Any) -> Any:
    """Return a `Curve` as its number at the current value of the component; any other rate unchanged."""
    return rate.current if type(rate) is Curve else rate


def as_rate(rate: Any) -> Any:
    """Return a rate as a `Curve` if it depends on a component, otherwise as a float."""
    if type(rate) is Counted:
        return as_curve(rate)
    return rate if type(rate) is Curve else float(rate)


def _arithmetic_method(operation: Callable[..., Any], *, reverse: bool = False) -> Any:
    """Return a method of `Curve` and `Counted` that combines them with a number by an arithmetic operation."""

    def operate(self: Any, other: Any) -> Any:
        """Return the result of the operation as a `Curve` or a number."""
        return as_curve(self).combine(operation, other, reverse=reverse)

    return operate


def _comparison_method(operation: Callable[..., Any]) -> Any:
    """Return a method of `Curve` for a comparison operator such as ``operator.lt``."""

    def operate(self: Curve, other: Any) -> Any:
        """Return the comparison at the current value, and narrow the span to the values with the same answer."""
        return self.compare(operation, other)

    return operate


def _reading_method(operation: Callable[..., Any], *, reverse: bool = False) -> Any:
    """Return a method of `Curve` that applies an operation to the operands' current values, which are fixed."""

    def operate(self: Curve, *others: Any) -> Any:
        """Return the result of the operation for the current values of the operands."""
        values = [self.read(), *map(read_value, others)]
        return operation(*reversed(values) if reverse else values)

    return operate


for _name in ("mul", "truediv", "add", "sub"):
    _operation = getattr(operator, _name)
    setattr(Curve, f"__{_name}__", _arithmetic_method(_operation))
    setattr(Curve, f"__r{_name}__", _arithmetic_method(_operation, reverse=True))
for _name in ("mul", "truediv"):
    setattr(Counted, f"__{_name}__", getattr(Curve, f"__{_name}__"))
    setattr(Counted, f"__r{_name}__", getattr(Curve, f"__r{_name}__"))
Counted.__rsub__ = Curve.__rsub__  # type: ignore[attr-defined]
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Curve, f"__{_name}__", _comparison_method(getattr(operator, _name)))
for _name in ("floordiv", "mod", "divmod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _operation = divmod if _name == "divmod" else getattr(operator, f"__{_name}__")
    setattr(Curve, f"__{_name}__", _reading_method(_operation))
    setattr(Curve, f"__r{_name}__", _reading_method(_operation, reverse=True))
_ONE_OPERAND: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "trunc": math.trunc,
    "int": int,
    "float": float,
    "repr": repr,
    "str": str,
}
for _name, _operation in _ONE_OPERAND.items():
    setattr(Curve, f"__{_name}__", _reading_method(_operation))


# Identity and type of numbers


_CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}
_NAMES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"}
_CALLS = {"PRECALL", "CALL", "CALL_KW", "KW_NAMES", "PUSH_NULL"}
_IDLE = {"CACHE", "RESUME"}


def asks_for_identity(rules: Callable[..., Any], q: Any = None) -> bool:
    """Return whether rules, or functions that they call, may compare numbers by ``is`` or ask for their ``type``.

    Comparisons with an object that is no number, such as None or a member of an Enum, are allowed.
    """
    visited: set[int] = set()
    stack = [(_python_function(rules), True)]
    while stack:
        function, is_rule = stack.pop()
        if function is None or id(function) in visited:
            continue
        visited.add(id(function))
        if any(_code_asks_for_identity(code, function, is_rule) for code in codes_in(function.__code__)):
            return True
        owners = (type(getattr(rules, "__self__", None)), type(q))
        stack += [(_python_function(value), False) for value in functions_used_by(function, owners)]
    return False


def functions_used_by(function: types.FunctionType, owners: Iterable[type] = ()) -> Iterator[Any]:
    """Yield the callables that names in a function's code refer to, those in the user's containers and modules too."""
    names = set(names_in(function.__code__))
    values = [value for name in names if (value := value_of_name(function, name)) is not UNKNOWN]
    for value in values:
        if isinstance(value, types.ModuleType) and is_user_module(value.__name__):
            yield from (member for name in names if callable(member := getattr(value, name, None)))
        elif isinstance(value, dict):
            yield from filter(callable, value.values())
        elif isinstance(value, (list, tuple)):
            yield from filter(callable, value)
        elif callable(value):
            yield value
    for owner in owners:
        yield from (member for name in names if callable(member := getattr(owner, name, None)))


def _python_function(value: Any) -> types.FunctionType | None:
    """Return the Python function behind a method, a partial or a decorator; None if there is none."""
    while isinstance(value, functools.partial):
        value = value.func
    value = getattr(value, "__func__", value)
    try:
        value = inspect.unwrap(value)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, types.FunctionType) else None


def is_user_module(module: str) -> bool:
    """Return whether a module name belongs to neither Python's standard library nor NumPy or SciPy."""
    top = module.partition(".")[0]
    return top not in sys.stdlib_module_names and top not in {"numpy", "scipy"}


@functools.lru_cache(maxsize=256)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """Return the global, attribute and closure names in a code object and in the code objects nested in it."""
    inner = [names_in(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return tuple({*code.co_names, *code.co_freevars, *(name for names in inner for name in names)})


def _code_asks_for_identity(code: types.CodeType, function: types.FunctionType, is_rule: bool) -> bool:
    """Return whether bytecode compares values that may be numbers by ``is``, or asks for a ``type`` but the state's."""
    comparisons, arguments_of_type = _identity_uses(code)
    for operands in comparisons:
        values = [operand.value(functools.partial(value_of_name, function)) for operand in operands]
        if not any(map(_is_no_number, values)):
            return True
    state = code.co_varnames[: code.co_argcount][:2] if is_rule and code is function.__code__ else ()
    return any(argument not in state for argument in arguments_of_type)


class _Operand(NamedTuple):
    """Operand of ``is`` in bytecode: a constant or a name that is not local, and the attributes read from it in turn.

    Attributes
    ----------
    name
        None for a constant and for a computed operand.
    constant
        `UNKNOWN` for a name and for a computed operand.
    attributes
        Names, the innermost first.
    """

    name: str | None = None
    constant: Any = UNKNOWN
    attributes: tuple[str, ...] = ()

    def value(self, look_up: Callable[[str], Any]) -> Any:
        """Return the object of the operand, or `UNKNOWN`; ``look_up`` returns the object of a name, or `UNKNOWN`."""
        value = self.constant if self.name is None else look_up(self.name)
        for attribute in self.attributes:
            value = UNKNOWN if value is UNKNOWN else getattr(value, attribute, UNKNOWN)
        return value


_COMPUTED = _Operand()


@functools.lru_cache(maxsize=256)
def _identity_uses(code: types.CodeType) -> tuple[list[tuple[_Operand, _Operand]], list[Any]]:
    """Return (left operand, right operand) of every ``is`` and ``is not`` in bytecode, and arguments of ``type``.

    An argument is None where ``type`` is not called at once with one name or constant.
    """
    steps = [step for step in dis.get_instructions(code) if step.opname not in _IDLE]
    comparisons: list[tuple[_Operand, _Operand]] = []
    arguments: list[Any] = []
    for k, step in enumerate(steps):
        if step.opname == "IS_OP":
            right, begin = _operand(steps, k)
            comparisons.append((_COMPUTED if begin is None else _operand(steps, begin)[0], right))
        elif step.argval == "type" and step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
            following = [s for s in steps[k + 1 : k + 4] if s.opname != "PUSH_NULL"]
            is_call = len(following) >= 2 and following[1].opname in _CALLS
            arguments.append(following[0].argval if is_call else None)
    return comparisons, arguments


def _operand(steps: Sequence[dis.Instruction], end: int) -> tuple[_Operand, int | None]:
    """Return the operand that the instructions before ``end`` push, and the index of their first, None if unknown."""
    k = end - 1
    attributes: list[str] = []
    while k >= 0 and steps[k].opname == "LOAD_ATTR":
        attributes.append(steps[k].argval)
        k -= 1
    if k < 0:
        return _COMPUTED, None
    step, path = steps[k], tuple(reversed(attributes))
    if step.opname in _CONSTANTS:
        return _Operand(constant=step.argval, attributes=path), k
    if step.opname in _NAMES:
        return _Operand(name=step.argval, attributes=path), k
    # a local variable is one step; calls and steps that push two values hide the end of the left operand
    is_local = step.opname.startswith("LOAD_FAST") and isinstance(step.argval, str)
    return _COMPUTED, k if is_local else None


def _is_no_number(value: Any) -> bool:
    """Return whether a value is certainly neither a number, a NumPy scalar nor a type."""
    return value is not UNKNOWN and not isinstance(value, (type, np.generic)) and type(value) not in NUMERIC


NUMERIC = (int, float, bool, complex)

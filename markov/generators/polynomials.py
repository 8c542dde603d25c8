"""Stand-ins for numbers that depend on a state: polynomials with coefficients in intervals.

In a box of states each component is its value in the corner plus an offset y >= 0. Rules that run on these
polynomials compute the rates and targets of all states of the box at once. As all monomials of y are >= 0, sums
and products of the limits of intervals bound the sums and products of the numbers.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import starmap
from typing import Any, NoReturn, Protocol

import numpy as np

from markov.computing.rounding import U

__all__ = ["FUNCTIONS", "Growing", "Polynomial", "Unfollowed", "as_fraction", "is_positive", "terms_of"]

Monomial = tuple[int, ...]
Interval = tuple[Fraction, Fraction]
Terms = dict[Monomial, Interval]

NUMPY = (np.generic, np.ndarray)
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
MAX_POWER = 8
MAX_DIVISOR = 60
MAX_FACTORIAL = 170
"""Largest number whose factorial is a float64."""
FASTER_THAN_POLYNOMIALS = "a number that grows faster than every polynomial"
FUNCTION_ROUNDING = Fraction(1, 10**12)
"""Relative error of a function of float64 numbers, with that of its argument."""
MIN_POWER_ERROR = 1e-12
"""Smallest relative error of a power."""
UNDERFLOW_ALLOWANCE = 5e-324
"""Largest absolute error of a power by underflow."""
ZERO = Fraction(0)


class Unfollowed(BaseException):  # not an Exception: no ``except`` of a rule may catch it
    """Raised where rules use an operation that stand-ins for infinitely many states do not support."""


class Comparisons(Protocol):
    """Interface of a run of the rules in a box of states, which compares polynomials in ``width`` offsets."""

    width: int

    def bounds(self, d: Terms) -> tuple[Fraction | float, Fraction | float]:
        """Return a lower and an upper bound on the polynomial ``d`` in the box; they may be infinite."""
        ...

    def nonnegative(self, d: Terms, *, strict: bool = False) -> bool:
        """Return whether the polynomial ``d`` is >= 0 (``strict``: > 0) in all states of the box."""
        ...

    def remainder(self, d: Terms, divisor: int) -> int:
        """Return the remainder of the integer polynomial ``d`` by ``divisor``, which all states of the box share."""
        ...

    def isolate(self, d: Terms) -> None:
        """Request a cut of the box, until the polynomial ``d`` is constant in it, if ``d`` has few values."""
        ...


class Polynomial:
    """Stand-in for a number that depends on the state: a polynomial in the offsets from the corner of a box.

    Parameters
    ----------
    run
        The run of the rules in which the number was computed, which answers comparisons.
    terms
        Smallest and largest possible coefficient of each monomial, by the powers of the offsets.
    positive
        Whether the number is positive in every state, which the terms alone may not show: 1/(1 + y) tends to zero.
    """

    __slots__ = ("positive", "run", "terms")

    def __init__(self, run: Comparisons, terms: Mapping[Monomial, Interval], *, positive: bool = False) -> None:
        self.run, self.terms, self.positive = run, dict(terms), positive

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """Type ``int``, so that ``isinstance(x, int)`` holds for the stand-in."""
        return int

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        if type(other) is Growing:
            return NotImplemented
        terms = self._terms_of_operand(other)
        positive = (self.positive and is_nonnegative(terms)) or (is_nonnegative(self.terms) and is_positive(other))
        return self._from_terms(add_terms(self.terms, terms), positive)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self._from_terms({m: (-high, -low) for m, (low, high) in self.terms.items()})

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        return self._from_terms(add_terms(self.terms, self._terms_of_operand(other), -1))

    def __rsub__(self, other: Any) -> Any:
        return self._from_terms(add_terms(self._terms_of_operand(other), self.terms, -1))

    def __mul__(self, other: Any) -> Any:
        if type(other) is Growing:
            return NotImplemented
        positive = is_positive(self) and is_positive(other)
        return self._from_terms(multiply_terms(self.terms, self._terms_of_operand(other)), positive)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is Growing:
            return NotImplemented
        return self._divide(self.terms, self._terms_of_operand(other), is_positive(self))

    def __rtruediv__(self, other: Any) -> Any:
        return self._divide(self._terms_of_operand(other), self.terms, is_positive(other))

    def _divide(self, top: Terms, bottom: Terms, positive: bool) -> Any:
        """Return the quotient of two terms as a polynomial; ZeroDivisionError if ``bottom`` may be zero."""
        if self.run.nonnegative(negate_terms(bottom), strict=True):
            top, bottom, positive = negate_terms(top), negate_terms(bottom), False
        elif not self.run.nonnegative(bottom, strict=True):
            raise ZeroDivisionError("division by zero")
        return self._from_terms(divide_terms(top, bottom), positive)

    def __pow__(self, power: Any) -> Any:
        """Return the power with a constant exponent, within bounds if that is a fraction."""
        exponent = as_fraction(power)
        if exponent is None:
            raise Unfollowed("a power whose exponent depends on the state as well")
        if exponent < 0:
            return 1 / self**-exponent
        integer_part, fractional_part = divmod(exponent, 1)
        if integer_part > MAX_POWER:
            raise Unfollowed(f"a power other than 0 to {MAX_POWER}")
        terms: Terms = {(0,) * self.run.width: (Fraction(1), Fraction(1))}
        for _ in range(integer_part):
            terms = multiply_terms(terms, self.terms)
        integer_power = self._from_terms(terms, is_positive(self))
        if not fractional_part:
            return integer_power
        if not self >= 0:
            raise Unfollowed("a root of a number that may be negative")
        fraction = float(fractional_part)
        root = self.bound_concave(
            lambda x: x**fraction, lambda x: fraction * x ** (fraction - 1.0), positive=is_positive(self)
        )
        return integer_power * root if integer_part else root

    def __rpow__(self, base: Any) -> Any:
        """Bound ``base ** self``, which may tend to zero, between its smallest and largest value."""
        number = as_fraction(base)
        if number is None or number <= 0:
            raise Unfollowed("a power whose base is not a positive number")
        low, high = self.run.bounds(self.terms)
        if number > 1 and high == math.inf:
            return Growing(self.__rpow__(1 / number))
        try:
            powers = sorted(_power_with_error(float(number), float(end)) for end in (low, high))
            (smallest, below), (largest, above) = powers
        except OverflowError:
            largest = math.inf
        if largest == math.inf:
            raise Unfollowed("a power that grows without bound")
        high = Fraction(largest * (1.0 + above) + UNDERFLOW_ALLOWANCE)
        return self.in_interval(Fraction(max(0.0, smallest * (1.0 - below))), high, positive=True)

    def in_interval(self, low: Fraction, high: Fraction, *, positive: bool = False) -> Any:
        """Return a number of the same box about which only the interval [low, high] is known in every state."""
        return self._from_terms({(0,) * self.run.width: (low, high)}, positive)

    def bound_concave(
        self, function: Callable[[float], float], slope: Callable[[float], float], *, positive: bool = False
    ) -> Any:
        """Return bounds on an increasing concave function of this number: its smallest value and a tangent.

        Parameters
        ----------
        function, slope
            The function and its derivative, defined for all values > 0 of this number.
        positive
            Whether the function is positive in every state.

        Raises
        ------
        Unfollowed
            If this number has no smallest value, or decreases in one component and is unbounded in another.
        """
        low, high = self.run.bounds(self.terms)
        constant = (0,) * self.run.width
        if low < 0 or (low == 0 and high == 0):
            raise Unfollowed("a function of a difference of components")
        first = function(float(low))
        lowest = Fraction(first) - Fraction(abs(first)) * FUNCTION_ROUNDING
        at = float(low) or 1.0
        rise = Fraction(slope(at)) * (1 + FUNCTION_ROUNDING)
        terms = {m: (ZERO, b * rise) for m, (_, b) in self.terms.items() if m != constant}
        if any(b < 0 for _, b in terms.values()):
            if high == math.inf:
                raise Unfollowed("a function of a difference of components")
            last = Fraction(function(float(high)))
            return self.in_interval(lowest, last + abs(last) * FUNCTION_ROUNDING, positive=positive)
        top = Fraction(function(at))
        offset = self.terms.get(constant, (ZERO, ZERO))[1] - Fraction(at)
        terms[constant] = (
            lowest,
            max(lowest, top + abs(top) * FUNCTION_ROUNDING + offset * rise) + abs(offset * rise) * FUNCTION_ROUNDING,
        )
        return self._from_terms(terms, positive)

    def __mod__(self, divisor: Any) -> int:
        """Return the remainder by a small integer, which all states of the box share (the run splits the box)."""
        if type(divisor) is not int or not 1 <= divisor <= MAX_DIVISOR:
            raise Unfollowed(f"% by another number than 1 to {MAX_DIVISOR}")
        return self.run.remainder(self._require_integral().terms, divisor)

    def __floordiv__(self, divisor: Any) -> Any:
        remainder = self % divisor
        return (self - remainder) * Fraction(1, divisor)

    def __divmod__(self, divisor: Any) -> tuple[Any, int]:
        return self // divisor, self % divisor

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def _require_integral(self) -> Any:
        """Return this number if it is an integer in every state; otherwise raise Unfollowed."""
        if not is_integral(self.terms):
            raise Unfollowed("rounding")
        return self

    __round__ = lambda self, *_: self._require_integral()

    def __floor__(self) -> Any:
        shared = math.lcm(*(end.denominator for interval in self.terms.values() for end in interval))
        if shared > MAX_DIVISOR or any(low != high for low, high in self.terms.values()):
            raise Unfollowed("rounding")
        return self * shared // shared if shared > 1 else self

    def __ceil__(self) -> Any:
        return -(-self).__floor__()

    def __trunc__(self) -> Any:
        return self.__floor__() if self >= 0 else self.__ceil__()

    # Comparisons

    def __ge__(self, other: Any) -> bool:
        return self._is_above(other, strict=False)

    def __gt__(self, other: Any) -> bool:
        return self._is_above(other, strict=True)

    def __le__(self, other: Any) -> bool:
        return self._is_above(other, strict=False, sign=-1)

    def __lt__(self, other: Any) -> bool:
        return self._is_above(other, strict=True, sign=-1)

    def _is_above(self, other: Any, *, strict: bool, sign: int = 1) -> bool:
        """Return whether self - other (sign 1) or other - self (-1) is at least zero, or above zero if ``strict``."""
        if (end := _as_infinity(other)) is not None:
            return end * sign < 0
        left, right = (self.terms, self._terms_of_operand(other))[::sign]
        return self.run.nonnegative(add_terms(left, right, -1), strict=strict)

    def __eq__(self, other: object) -> bool:
        if terms_of(other, self.run.width) is None:
            return False  # no number
        return bool(self >= other and self <= other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def may_be_positive(self) -> bool:
        """Return whether this number >= 0 may be positive; the box is cut at the states where it is certainly zero."""
        largest = {m: (high, high) for m, (_, high) in self.terms.items()}
        return self.run.nonnegative(largest, strict=True)

    # Operands and results

    def _from_terms(self, terms: Terms, positive: bool = False) -> Any:
        """Return terms as a polynomial of the same box, or as an ``int`` if they are one constant."""
        terms = {m: interval for m, interval in terms.items() if interval[0] or interval[1]}
        constant = (0,) * self.run.width
        if set(terms) <= {constant}:
            low, high = terms.get(constant, (ZERO, ZERO))
            if low == high and low.denominator == 1:
                return int(low)
        return Polynomial(self.run, terms, positive=positive)

    def _terms_of_operand(self, other: Any) -> Terms:
        """Return the terms of a number or polynomial ``other``; Unfollowed for any other object."""
        terms = terms_of(other, self.run.width)
        if terms is None:
            raise Unfollowed(f"arithmetic with {type(other).__name__}")
        return terms

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """Return a NumPy function of polynomials and scalars; Unfollowed if there is none for polynomials."""
        if method != "__call__" or ufunc not in UFUNCS or any(np.ndim(v) for v in inputs if type(v) is not Polynomial):
            raise Unfollowed(f"numpy.{ufunc.__name__}")
        return UFUNCS[ufunc](*(v.item() if isinstance(v, NUMPY) else v for v in inputs))

    def __getattr__(self, name: str) -> NoReturn:
        """Raise Unfollowed for an attribute of numbers that polynomials do not have."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unfollowed(f".{name}")


class Growing:
    """Stand-in for a number that grows faster than every polynomial (n!, 2 ** n): a bound on its reciprocal.

    Supported are divisions by it, and products with positive numbers.
    """

    __slots__ = ("reciprocal",)

    def __init__(self, reciprocal: Any) -> None:
        self.reciprocal = reciprocal

    def __rtruediv__(self, other: Any) -> Any:
        """Return ``other`` divided by this number, as ``other`` times the bound on the reciprocal."""
        return other * self.reciprocal

    def __mul__(self, other: Any) -> Any:
        """Return the product with a positive number as a `Growing`; Unfollowed for other numbers."""
        if type(other) is Growing:
            return Growing(self.reciprocal * other.reciprocal)
        if not is_positive(other):
            raise Unfollowed(FASTER_THAN_POLYNOMIALS)
        return Growing(self.reciprocal / other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Return the quotient by a positive number as a `Growing`; Unfollowed for other numbers."""
        if not is_positive(other):
            raise Unfollowed(FASTER_THAN_POLYNOMIALS)
        return Growing(self.reciprocal * other)

    def __add__(self, other: Any) -> Any:
        """Return the sum with a nonnegative number as a `Growing`; Unfollowed for other numbers."""
        width = self.reciprocal.run.width
        terms = {} if type(other) is Growing else terms_of(other, width)
        if terms is None or not is_nonnegative(terms):
            raise Unfollowed(FASTER_THAN_POLYNOMIALS)
        highest = {m: (ZERO, high) for m, (_, high) in self.reciprocal.terms.items()}
        return Growing(Polynomial(self.reciprocal.run, highest, positive=True))

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        """Return False for zero; Unfollowed for every other number."""
        if as_fraction(other) == 0:
            return False
        raise Unfollowed(FASTER_THAN_POLYNOMIALS)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """Return a NumPy operator applied to this number and scalars; Unfollowed for other functions of NumPy."""
        if method != "__call__" or ufunc not in OPERATORS_OF_UFUNCS:
            raise Unfollowed(FASTER_THAN_POLYNOMIALS)
        return OPERATORS_OF_UFUNCS[ufunc](*(v.item() if isinstance(v, NUMPY) else v for v in inputs))


# Functions


def logarithm(x: Any, base: Any = math.e) -> Any:
    """Return bounds on the logarithm of ``x`` to a base, one of which is a `Polynomial`, as a polynomial."""
    if type(base) is Polynomial:
        return (logarithm(x) if type(x) is Polynomial else math.log(x)) / logarithm(base)
    natural = _require_positive(x).bound_concave(math.log, lambda value: 1.0 / value)
    return natural if base == math.e else natural / math.log(base)


def _require_positive(x: Any) -> Any:
    """Return polynomial ``x`` after the box is cut so that log(x) has one sign; ValueError unless x > 0."""
    if not x > 0:
        raise ValueError("math domain error")
    if is_integral(x.terms) and len(x.terms) > 1:
        bool(x > 1)  # cuts the box
    return x


def _log1p(x: Any) -> Any:
    """Return bounds on log(1 + x) of a polynomial, marked as positive if x is positive."""
    if not is_positive(x):
        return logarithm(1 + x)
    return x.bound_concave(math.log1p, lambda value: 1.0 / (1.0 + value), positive=True)


def factorial(x: Any) -> Any:
    """Return bounds on the factorial of a polynomial with integer values, or a `Growing` if it exceeds float64."""
    if not is_integral(x.terms):
        raise Unfollowed("a factorial of a number that may not be whole")
    if not x >= 0:
        raise ValueError("factorial() not defined for negative values")
    low, high = x.run.bounds(x.terms)
    smallest = math.factorial(max(0, int(low)))
    if high <= MAX_FACTORIAL:
        return x.in_interval(Fraction(smallest), Fraction(math.factorial(int(high))))
    return Growing(x.in_interval(ZERO, Fraction(1, smallest), positive=True))


def _power_with_error(base: float, exponent: float) -> tuple[float, float]:
    """Return base ** exponent, base > 0, and a bound on its relative error, for rounding of base and exponent too.

    The error of a result of 0 or inf is returned as 0: the caller must refuse such a result.
    """
    value = base**exponent
    if value in (0.0, math.inf):
        return value, 0.0
    size = abs(exponent)
    return value, max(MIN_POWER_ERROR, math.expm1(U * (size * (1.0 + abs(math.log(base))) + 8.0)))


def _bound_monotonic(function: Callable[[float], float], *, positive: bool = False) -> Callable[[Any], Any]:
    """Return a function that bounds a bounded monotonic function of a polynomial by its values at the limits."""

    def bound(x: Any) -> Any:
        """Return a number in the interval of the function over all values of the polynomial ``x``."""
        low, high = sorted(Fraction(function(float(end))) for end in x.run.bounds(x.terms))
        low, high = low - abs(low) * FUNCTION_ROUNDING, high + abs(high) * FUNCTION_ROUNDING
        return x.in_interval(low, high, positive=positive)

    return bound


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": lambda x: math.e**x, "exp2": lambda x: 2.0**x, "expm1": lambda x: math.e**x - 1, "pow": operator.pow,
    "log": logarithm, "log2": lambda x: logarithm(x, 2), "log10": lambda x: logarithm(x, 10),
    "log1p": _log1p, "sqrt": lambda x: x**0.5, "factorial": factorial, "fabs": abs,
    "tanh": _bound_monotonic(math.tanh), "atan": _bound_monotonic(math.atan), "erf": _bound_monotonic(math.erf),
    "erfc": _bound_monotonic(math.erfc, positive=True), "float": lambda x: x, "int": math.trunc,
}  # fmt: skip
"""Functions of polynomials, by the name of the function in `math` or Python."""
UFUNCS: dict[Any, Callable[..., Any]] = {
    **OPERATORS_OF_UFUNCS,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.arctan: FUNCTIONS["atan"],
    np.float_power: operator.pow,
    np.floor: math.floor,
    np.ceil: math.ceil,
    np.trunc: math.trunc,
    **{
        getattr(np, name): FUNCTIONS[name]
        for name in ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "tanh"]
    },
}

UNSUPPORTED = {
    **{f"__{name}__": f"{name}()" for name in ("int", "complex", "hash", "format")},
    "__float__": "float() or a function that takes a float",
    **{f"__{name}__": "a value as text" for name in ("str", "repr")},
    "__index__": "range() or an index",
    "__array__": "an array",
    "__round__": "round()",
    "__iter__": "iteration",
    "__len__": "len()",
    "__reduce_ex__": "a copy",
}
UNSUPPORTED_TWO_OPERANDS = {
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod()",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}

SUPPORTED_BY_CONSTANTS = ("floordiv", "mod", "divmod")


def _make_unsupported(operation: str) -> Callable[..., NoReturn]:
    """Return a method for an operation that stand-ins do not support: it raises Unfollowed, or requests a cut."""

    def stop(self: Any, *_: Any, **__: Any) -> NoReturn:
        """Raise Unfollowed, or _Cut if the number has few values in the box."""
        if type(self) is Polynomial:
            self.run.isolate(self.terms)
        raise Unfollowed(operation)

    return stop


for _name, _operation in UNSUPPORTED.items():
    if _name != "__round__":
        setattr(Polynomial, _name, _make_unsupported(_operation))
for _name, _operation in UNSUPPORTED_TWO_OPERANDS.items():
    for _side in ("r",) if _name in SUPPORTED_BY_CONSTANTS else ("", "r"):
        setattr(Polynomial, f"__{_side}{_name}__", _make_unsupported(_operation))
setattr(Polynomial, "__invert__", _make_unsupported("~"))  # noqa: B010
UNSUPPORTED_OF_GROWING = (
    *UNSUPPORTED, "__lt__", "__le__", "__gt__", "__ge__", "__sub__", "__rsub__", "__neg__", "__abs__", "__bool__",
    "__pow__", "__rpow__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__",
)  # fmt: skip
for _name in UNSUPPORTED_OF_GROWING:
    setattr(Growing, _name, _make_unsupported(FASTER_THAN_POLYNOMIALS))


def as_fraction(value: Any) -> Fraction | None:
    """Return a finite real number as a `Fraction` without rounding; None for any other object."""
    if type(value) in (int, bool, Fraction):
        return Fraction(value)
    scalar: Any = value.item() if isinstance(value, np.generic) else value
    if isinstance(scalar, numbers.Real) and math.isfinite(scalar):
        real: Any = scalar
        return Fraction(real)
    return None


def _as_infinity(value: Any) -> float | None:
    """Return a float that is inf or -inf unchanged; None for any other object."""
    if isinstance(value, float) and math.isinf(value):
        return value
    return None


def terms_of(value: Any, width: int) -> Terms | None:
    """Return a polynomial or a number as terms, {powers of offsets: coefficient}; None for any other object."""
    if type(value) is Polynomial:
        return value.terms
    number = as_fraction(value)
    if number is None:
        return None
    return {(0,) * width: (number, number)} if number else {}


def add_terms(a: Terms, b: Terms, sign: int = 1) -> Terms:
    """Return the terms of a + b, or of a - b if ``sign`` is -1."""
    total = dict(a)
    for m, (low, high) in b.items():
        if sign < 0:
            low, high = -high, -low
        other = total.get(m)
        total[m] = (low, high) if other is None else (low + other[0], high + other[1])
    return total


def negate_terms(a: Terms) -> Terms:
    """Return the terms of -a."""
    return {m: (-high, -low) for m, (low, high) in a.items()}


def multiply_terms(a: Terms, b: Terms) -> Terms:
    """Return the terms of the product of a and b."""
    product_terms: Terms = {}
    for m, interval in a.items():
        for k, other in b.items():
            monomial = tuple(i + j for i, j in zip(m, k, strict=True))
            product = _multiply_intervals(interval, other)
            previous = product_terms.get(monomial)
            product_terms[monomial] = (
                product if previous is None else (previous[0] + product[0], previous[1] + product[1])
            )
    return product_terms


def _multiply_intervals(a: Interval, b: Interval) -> Interval:
    """Return the interval of all products of a number in ``a`` and a number in ``b``."""
    if a[0] == a[1] and b[0] == b[1]:
        product = a[0] * b[0]
        return product, product
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def divide_terms(top: Terms, bottom: Terms) -> Terms:
    """Return terms that bound the quotient top / bottom, for a ``bottom`` that is positive in all states.

    Terms with a monomial of the bottom b are bounded together, as a sum of fractions lies between the smallest and the
    largest ratio of its terms. Any other y^m / b is bounded by y^(m - k) / b_k.

    Raises
    ------
    Unfollowed
        When coefficients of the bottom may be negative, or it has no constant.
    """
    if any(low < 0 for low, _ in bottom.values()):
        raise Unfollowed("division by a difference of components")
    if len(bottom) == 1 and not any(next(iter(bottom))):
        ((low, high),) = bottom.values()
        return {m: _multiply_intervals(interval, (1 / high, 1 / low)) for m, interval in top.items()}
    certain = {m: low for m, (low, _) in bottom.items() if low > 0}
    shared = {m: interval for m, interval in top.items() if m in certain}
    lows = [interval[0] / (bottom[m][1] if interval[0] > 0 else certain[m]) for m, interval in shared.items()]
    highs = [interval[1] / (certain[m] if interval[1] > 0 else bottom[m][1]) for m, interval in shared.items()]
    if set(shared) != set(bottom):  # the ratio of the other terms is zero
        lows.append(ZERO)
        highs.append(ZERO)
    constant = (0,) * len(next(iter(bottom)))
    ratio: Terms = {constant: (min(lows), max(highs))} if shared else {}
    for m, interval in top.items():
        if m in shared:
            continue
        below = [k for k in certain if all(i <= j for i, j in zip(k, m, strict=True))]
        if not below:
            raise Unfollowed("division by a number that may be zero")
        k = max(below, key=sum)
        monomial = tuple(starmap(operator.sub, zip(m, k, strict=True)))
        part = min(interval[0] / certain[k], ZERO), max(interval[1] / certain[k], ZERO)
        ratio = add_terms(ratio, {monomial: part})
    return ratio


def is_nonnegative(terms: Terms) -> bool:
    """Return whether no coefficient of a polynomial's terms may be negative."""
    return all(low >= 0 for low, _ in terms.values())


def is_positive(value: Any) -> bool:
    """Return whether a number, or a stand-in for one, is certainly positive in every state of its box."""
    if type(value) is Growing:
        return True
    if type(value) is not Polynomial:
        number = as_fraction(value)
        return number is not None and number > 0
    if value.positive:
        return True
    constant = value.terms.get((0,) * value.run.width)
    return constant is not None and constant[0] > 0 and is_nonnegative(value.terms)


def is_integral(terms: Terms) -> bool:
    """Return whether a polynomial's terms have exact integer coefficients: it is an integer in every state."""
    return all(low == high and low.denominator == 1 for low, high in terms.values())

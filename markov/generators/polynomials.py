"""Stand-ins for numbers that depend on a state: polynomials with coefficients in intervals.

In a box of states each component is its value in the corner plus an offset y >= 0. Rules that run on these
polynomials compute the rates and targets of all states of the box at once. As all monomials of y are >= 0, sums
and products of the ends of intervals bound those of the numbers.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import starmap
from typing import Any, NoReturn, Protocol

import numpy as np

from markov.computing.rounding import U

__all__ = ["FUNCTIONS", "Growing", "Polynomial", "Unfollowed", "exact", "is_positive", "terms_of"]

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
FASTER = "a number that grows faster than every polynomial"
ROUNDING = Fraction(1, 10**12)
"""Relative error of a function of float64 numbers, with that of its argument."""
POWER_ERROR = 1e-12
"""Least relative error of a power."""
TINIEST = 5e-324
"""What underflow takes from a power."""
ZERO = Fraction(0)


class Unfollowed(BaseException):  # not an Exception: no ``except`` of a rule may catch it
    """Rules did something with a number that cannot be followed for infinitely many states."""


class Comparisons(Protocol):
    """Answers whether polynomials are positive in all states of a box of ``width`` components."""

    width: int

    def bounds(self, d: Terms) -> tuple[Fraction | float, Fraction | float]:
        """Return bounds on d in the box; infinite where there is none."""
        ...

    def nonnegative(self, d: Terms, *, strict: bool = False) -> bool:
        """Answer whether d >= 0, or d > 0."""
        ...

    def remainder(self, d: Terms, divisor: int) -> int:
        """Answer what remains of whole numbers."""
        ...

    def isolate(self, d: Terms) -> None:
        """Cut the box until d has one value in it, if it has few values."""
        ...


class Polynomial:
    """A number in each state of a box.

    Parameters
    ----------
    run
        The run of the rules that it belongs to, which answers comparisons.
    terms
        Coefficients by the powers of each offset, as the least and the largest value they may have.
    positive
        Whether the number is positive in every state, although the terms alone may not tell: 1/(1 + y) tends to zero.
    """

    __slots__ = ("positive", "run", "terms")

    def __init__(self, run: Comparisons, terms: Mapping[Monomial, Interval], *, positive: bool = False) -> None:
        self.run, self.terms, self.positive = run, dict(terms), positive

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # what isinstance asks for
        return int

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        if type(other) is Growing:
            return NotImplemented
        terms = self._operand(other)
        positive = (self.positive and is_nonnegative(terms)) or (is_nonnegative(self.terms) and is_positive(other))
        return self._made(added(self.terms, terms), positive)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self._made({m: (-high, -low) for m, (low, high) in self.terms.items()})

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        return self._made(added(self.terms, self._operand(other), -1))

    def __rsub__(self, other: Any) -> Any:
        return self._made(added(self._operand(other), self.terms, -1))

    def __mul__(self, other: Any) -> Any:
        if type(other) is Growing:
            return NotImplemented
        positive = is_positive(self) and is_positive(other)
        return self._made(multiplied(self.terms, self._operand(other)), positive)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if type(other) is Growing:
            return NotImplemented
        return self._divided(self.terms, self._operand(other), is_positive(self))

    def __rtruediv__(self, other: Any) -> Any:
        return self._divided(self._operand(other), self.terms, is_positive(other))

    def _divided(self, top: Terms, bottom: Terms, positive: bool) -> Any:
        if self.run.nonnegative(negated(bottom), strict=True):
            top, bottom, positive = negated(top), negated(bottom), False
        elif not self.run.nonnegative(bottom, strict=True):
            raise ZeroDivisionError("division by zero")
        return self._made(quotient(top, bottom), positive)

    def __pow__(self, power: Any) -> Any:
        exponent = exact(power)
        if exponent is None:
            raise Unfollowed("a power whose exponent depends on the state as well")
        if exponent < 0:
            return 1 / self**-exponent
        whole, part = divmod(exponent, 1)
        if whole > MAX_POWER:
            raise Unfollowed(f"a power other than 0 to {MAX_POWER}")
        terms: Terms = {(0,) * self.run.width: (Fraction(1), Fraction(1))}
        for _ in range(whole):
            terms = multiplied(terms, self.terms)
        found = self._made(terms, is_positive(self))
        if not part:
            return found
        if not self >= 0:
            raise Unfollowed("a root of a number that may be negative")
        fraction = float(part)
        root = self.concave(
            lambda x: x**fraction, lambda x: fraction * x ** (fraction - 1.0), positive=is_positive(self)
        )
        return found * root if whole else root

    def __rpow__(self, base: Any) -> Any:
        """Bound ``base ** self``, which may tend to zero, between its least and largest value."""
        number = exact(base)
        if number is None or number <= 0:
            raise Unfollowed("a power whose base is not a positive number")
        low, high = self.run.bounds(self.terms)
        if number > 1 and high == math.inf:
            return Growing(self.__rpow__(1 / number))
        try:
            (least, below), (largest, above) = sorted(_power(float(number), float(end)) for end in (low, high))
        except OverflowError:
            largest = math.inf
        if largest == math.inf:
            raise Unfollowed("a power that grows without bound")
        high = Fraction(largest * (1.0 + above) + TINIEST)
        return self.within(Fraction(max(0.0, least * (1.0 - below))), high, positive=True)

    def within(self, low: Fraction, high: Fraction, *, positive: bool = False) -> Any:
        """Return a number in an interval, in the same box."""
        return self._made({(0,) * self.run.width: (low, high)}, positive)

    def concave(
        self, function: Callable[[float], float], slope: Callable[[float], float], *, positive: bool = False
    ) -> Any:
        """Bound a rising concave function by its least value and by a tangent.

        Parameters
        ----------
        function, slope
            The function and its derivative, defined for all values > 0 that this number has.
        positive
            Whether the function is positive in every state.

        Raises
        ------
        Unfollowed
            If this number has no least value, or falls along one component and rises without bound along another.
        """
        low, high = self.run.bounds(self.terms)
        constant = (0,) * self.run.width
        if low < 0 or (low == 0 and high == 0):
            raise Unfollowed("a function of a difference of components")
        first = function(float(low))
        lowest = Fraction(first) - Fraction(abs(first)) * ROUNDING
        at = float(low) or 1.0
        rise = Fraction(slope(at)) * (1 + ROUNDING)
        terms = {m: (ZERO, b * rise) for m, (_, b) in self.terms.items() if m != constant}
        if any(b < 0 for _, b in terms.values()):
            if high == math.inf:
                raise Unfollowed("a function of a difference of components")
            last = Fraction(function(float(high)))
            return self.within(lowest, last + abs(last) * ROUNDING, positive=positive)
        top = Fraction(function(at))
        offset = self.terms.get(constant, (ZERO, ZERO))[1] - Fraction(at)
        terms[constant] = lowest, max(lowest, top + abs(top) * ROUNDING + offset * rise) + abs(offset * rise) * ROUNDING
        return self._made(terms, positive)

    def __mod__(self, divisor: Any) -> int:
        if type(divisor) is not int or not 1 <= divisor <= MAX_DIVISOR:
            raise Unfollowed(f"% by another number than 1 to {MAX_DIVISOR}")
        return self.run.remainder(self._whole().terms, divisor)

    def __floordiv__(self, divisor: Any) -> Any:
        rest = self % divisor
        return (self - rest) * Fraction(1, divisor)

    def __divmod__(self, divisor: Any) -> tuple[Any, int]:
        return self // divisor, self % divisor

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def _whole(self) -> Any:
        if not is_whole(self.terms):
            raise Unfollowed("rounding")
        return self

    __round__ = lambda self, *_: self._whole()

    def __floor__(self) -> Any:
        shared = math.lcm(*(end.denominator for ends in self.terms.values() for end in ends))
        if shared > MAX_DIVISOR or any(low != high for low, high in self.terms.values()):
            raise Unfollowed("rounding")
        return self * shared // shared if shared > 1 else self

    def __ceil__(self) -> Any:
        return -(-self).__floor__()

    def __trunc__(self) -> Any:
        return self.__floor__() if self >= 0 else self.__ceil__()

    # ------------------------------------------------------------------ comparisons

    def __ge__(self, other: Any) -> bool:
        if (end := _infinite(other)) is not None:
            return end < 0
        return self.run.nonnegative(added(self.terms, self._operand(other), -1))

    def __gt__(self, other: Any) -> bool:
        if (end := _infinite(other)) is not None:
            return end < 0
        return self.run.nonnegative(added(self.terms, self._operand(other), -1), strict=True)

    def __le__(self, other: Any) -> bool:
        if (end := _infinite(other)) is not None:
            return end > 0
        return self.run.nonnegative(added(self._operand(other), self.terms, -1))

    def __lt__(self, other: Any) -> bool:
        if (end := _infinite(other)) is not None:
            return end > 0
        return self.run.nonnegative(added(self._operand(other), self.terms, -1), strict=True)

    def __eq__(self, other: object) -> bool:
        if terms_of(other, self.run.width) is None:
            return False  # no number
        return bool(self >= other and self <= other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def may_be_positive(self) -> bool:
        """Whether a number >= 0 is positive, or may be: the box is cut where it is zero for certain."""
        largest = {m: (high, high) for m, (_, high) in self.terms.items()}
        return self.run.nonnegative(largest, strict=True)

    # ------------------------------------------------------------------ the rest

    def _made(self, terms: Terms, positive: bool = False) -> Any:
        """Return a polynomial, or the number where it is one that Python has."""
        terms = {m: ends for m, ends in terms.items() if ends[0] or ends[1]}
        constant = (0,) * self.run.width
        if set(terms) <= {constant}:
            low, high = terms.get(constant, (ZERO, ZERO))
            if low == high and low.denominator == 1:
                return int(low)
        return Polynomial(self.run, terms, positive=positive)

    def _operand(self, other: Any) -> Terms:
        found = terms_of(other, self.run.width)
        if found is None:
            raise Unfollowed(f"arithmetic with {type(other).__name__}")
        return found

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        if method != "__call__" or ufunc not in UFUNCS or any(map(np.ndim, _others(inputs))):
            raise Unfollowed(f"numpy.{ufunc.__name__}")
        return UFUNCS[ufunc](*(v.item() if isinstance(v, NUMPY) else v for v in inputs))

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unfollowed(f".{name}")


def _others(inputs: Iterable[Any]) -> list[Any]:
    return [value for value in inputs if type(value) is not Polynomial]


class Growing:
    """A positive number that grows faster than all polynomials, by a bound on its reciprocal: n!, 2 ** n.

    Only what divides by it, or multiplies it by a positive number, is followed.
    """

    __slots__ = ("reciprocal",)

    def __init__(self, reciprocal: Any) -> None:
        self.reciprocal = reciprocal

    def __rtruediv__(self, other: Any) -> Any:
        return other * self.reciprocal

    def __mul__(self, other: Any) -> Any:
        if type(other) is Growing:
            return Growing(self.reciprocal * other.reciprocal)
        if not is_positive(other):
            raise Unfollowed(FASTER)
        return Growing(self.reciprocal / other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not is_positive(other):
            raise Unfollowed(FASTER)
        return Growing(self.reciprocal * other)

    def __add__(self, other: Any) -> Any:
        width = self.reciprocal.run.width
        terms = {} if type(other) is Growing else terms_of(other, width)
        if terms is None or not is_nonnegative(terms):
            raise Unfollowed(FASTER)
        highest = {m: (ZERO, high) for m, (_, high) in self.reciprocal.terms.items()}
        return Growing(Polynomial(self.reciprocal.run, highest, positive=True))

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        if exact(other) == 0:
            return False
        raise Unfollowed(FASTER)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        if method != "__call__" or ufunc not in OPERATORS_OF_UFUNCS:
            raise Unfollowed(FASTER)
        return OPERATORS_OF_UFUNCS[ufunc](*(v.item() if isinstance(v, NUMPY) else v for v in inputs))


# ---------------------------------------------------------------------- functions


def logarithm(x: Any, base: Any = math.e) -> Any:
    """Return a logarithm, where the number or the base depends on the state."""
    if type(base) is Polynomial:
        return (logarithm(x) if type(x) is Polynomial else math.log(x)) / logarithm(base)
    found = _positive(x).concave(math.log, lambda value: 1.0 / value)
    return found if base == math.e else found / math.log(base)


def _positive(x: Any) -> Any:
    """Return a polynomial > 0, in a box where its logarithm has one sign."""
    if not x > 0:
        raise ValueError("math domain error")
    if is_whole(x.terms) and len(x.terms) > 1:
        bool(x > 1)  # cuts the box
    return x


def _logarithm_above_one(x: Any) -> Any:
    """Return log(1 + x), which is positive where x is."""
    if not is_positive(x):
        return logarithm(1 + x)
    return x.concave(math.log1p, lambda value: 1.0 / (1.0 + value), positive=True)


def factorial(x: Any) -> Any:
    """Return the factorial of a whole number."""
    if not is_whole(x.terms):
        raise Unfollowed("a factorial of a number that may not be whole")
    if not x >= 0:
        raise ValueError("factorial() not defined for negative values")
    low, high = x.run.bounds(x.terms)
    least = math.factorial(max(0, int(low)))
    if high <= MAX_FACTORIAL:
        return x.within(Fraction(least), Fraction(math.factorial(int(high))))
    return Growing(x.within(ZERO, Fraction(1, least), positive=True))


def _power(base: float, exponent: float) -> tuple[float, float]:
    """Return a power of two rounded numbers, base > 0, and a bound on its relative error."""
    value = base**exponent
    if value in (0.0, math.inf):
        return value, 0.0
    size = abs(exponent)
    return value, max(POWER_ERROR, math.expm1(U * (size * (1.0 + abs(math.log(base))) + 8.0)))


def _bounded(function: Callable[[float], float], *, positive: bool = False) -> Callable[[Any], Any]:
    """Return a bounded function that rises or falls everywhere, of polynomials."""

    def bounded(x: Any) -> Any:
        low, high = sorted(Fraction(function(float(end))) for end in x.run.bounds(x.terms))
        return x.within(low - abs(low) * ROUNDING, high + abs(high) * ROUNDING, positive=positive)

    return bounded


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": lambda x: math.e**x, "exp2": lambda x: 2.0**x, "expm1": lambda x: math.e**x - 1, "pow": operator.pow,
    "log": logarithm, "log2": lambda x: logarithm(x, 2), "log10": lambda x: logarithm(x, 10),
    "log1p": _logarithm_above_one, "sqrt": lambda x: x**0.5, "factorial": factorial, "fabs": abs,
    "tanh": _bounded(math.tanh), "atan": _bounded(math.atan), "erf": _bounded(math.erf),
    "erfc": _bounded(math.erfc, positive=True), "float": lambda x: x, "int": math.trunc,
}  # fmt: skip
"""Functions of numbers that depend on the state, under their names in `math` or Python."""
UFUNCS: dict[Any, Callable[..., Any]] = {
    **OPERATORS_OF_UFUNCS, np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow,
    np.arctan: FUNCTIONS["atan"], np.float_power: operator.pow, np.floor: math.floor, np.ceil: math.ceil, np.trunc: math.trunc,
    **{getattr(np, name): FUNCTIONS[name] for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "tanh")},
}  # fmt: skip

STOPPED = {
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
TWO_SIDED = {
    "floordiv": "//",
    "mod": "%",
    "divmod": "divmod()",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
}

FOLLOWED_BY_CONSTANTS = ("floordiv", "mod", "divmod")


def _stop(said: str) -> Callable[..., NoReturn]:
    def stopped(self: Any, *_: Any, **__: Any) -> NoReturn:
        if type(self) is Polynomial:
            self.run.isolate(self.terms)
        raise Unfollowed(said)

    return stopped


for _name, _said in STOPPED.items():
    if _name != "__round__":
        setattr(Polynomial, _name, _stop(_said))
for _name, _said in TWO_SIDED.items():
    for _side in ("r",) if _name in FOLLOWED_BY_CONSTANTS else ("", "r"):
        setattr(Polynomial, f"__{_side}{_name}__", _stop(_said))
setattr(Polynomial, "__invert__", _stop("~"))  # noqa: B010
STOPPED_GROWING = (
    *STOPPED, "__lt__", "__le__", "__gt__", "__ge__", "__sub__", "__rsub__", "__neg__", "__abs__", "__bool__",
    "__pow__", "__rpow__", "__floordiv__", "__rfloordiv__", "__mod__", "__rmod__",
)  # fmt: skip
for _name in STOPPED_GROWING:
    setattr(Growing, _name, _stop(FASTER))


def exact(value: Any) -> Fraction | None:
    """Return a finite real number as a fraction; None for all other values."""
    if type(value) in (int, bool, Fraction):
        return Fraction(value)
    own: Any = value.item() if isinstance(value, np.generic) else value
    if isinstance(own, numbers.Real) and math.isfinite(own):
        known: Any = own
        return Fraction(known)
    return None


def _infinite(value: Any) -> float | None:
    if isinstance(value, float) and math.isinf(value):
        return value
    return None


def terms_of(value: Any, width: int) -> Terms | None:
    """Return a polynomial or a number as its terms; None for all other values."""
    if type(value) is Polynomial:
        return value.terms
    number = exact(value)
    if number is None:
        return None
    return {(0,) * width: (number, number)} if number else {}


def added(a: Terms, b: Terms, sign: int = 1) -> Terms:
    """Return a + b, or a - b."""
    found = dict(a)
    for m, (low, high) in b.items():
        if sign < 0:
            low, high = -high, -low
        other = found.get(m)
        found[m] = (low, high) if other is None else (low + other[0], high + other[1])
    return found


def negated(a: Terms) -> Terms:
    """Return -a."""
    return {m: (-high, -low) for m, (low, high) in a.items()}


def multiplied(a: Terms, b: Terms) -> Terms:
    """Return a b."""
    found: Terms = {}
    for m, ends in a.items():
        for k, others in b.items():
            place = tuple(i + j for i, j in zip(m, k, strict=True))
            product = _interval_product(ends, others)
            before = found.get(place)
            found[place] = product if before is None else (before[0] + product[0], before[1] + product[1])
    return found


def _interval_product(a: Interval, b: Interval) -> Interval:
    if a[0] == a[1] and b[0] == b[1]:
        product = a[0] * b[0]
        return product, product
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def quotient(top: Terms, bottom: Terms) -> Terms:
    """Return a / b, for b that is positive everywhere.

    Terms whose monomial b has are bounded together, as a sum of fractions lies between the least and the
    largest of the ratios of its terms; others y^m / b by y^(m - k) / b_k.

    Raises
    ------
    Unfollowed
        Where coefficients of b may be negative, or b has no constant.
    """
    if any(low < 0 for low, _ in bottom.values()):
        raise Unfollowed("division by a difference of components")
    if len(bottom) == 1 and not any(next(iter(bottom))):
        ((low, high),) = bottom.values()
        return {m: _interval_product(ends, (1 / high, 1 / low)) for m, ends in top.items()}
    certain = {m: low for m, (low, _) in bottom.items() if low > 0}
    shared = {m: ends for m, ends in top.items() if m in certain}
    lows = [ends[0] / (bottom[m][1] if ends[0] > 0 else certain[m]) for m, ends in shared.items()]
    highs = [ends[1] / (certain[m] if ends[1] > 0 else bottom[m][1]) for m, ends in shared.items()]
    if set(shared) != set(bottom):  # there the ratio is zero
        lows.append(ZERO)
        highs.append(ZERO)
    constant = (0,) * len(next(iter(bottom)))
    found: Terms = {constant: (min(lows), max(highs))} if shared else {}
    for m, ends in top.items():
        if m in shared:
            continue
        below = [k for k in certain if all(i <= j for i, j in zip(k, m, strict=True))]
        if not below:
            raise Unfollowed("division by a number that may be zero")
        k = max(below, key=sum)
        place = tuple(starmap(operator.sub, zip(m, k, strict=True)))
        part = min(ends[0] / certain[k], ZERO), max(ends[1] / certain[k], ZERO)
        found = added(found, {place: part})
    return found


def is_nonnegative(terms: Terms) -> bool:
    """Whether no coefficient may be negative."""
    return all(low >= 0 for low, _ in terms.values())


def is_positive(value: Any) -> bool:
    """Whether a number is positive in every state for certain."""
    if type(value) is Growing:
        return True
    if type(value) is not Polynomial:
        number = exact(value)
        return number is not None and number > 0
    if value.positive:
        return True
    constant = value.terms.get((0,) * value.run.width)
    return constant is not None and constant[0] > 0 and is_nonnegative(value.terms)


def is_whole(terms: Terms) -> bool:
    """Whether a polynomial is a whole number in every state."""
    return all(low == high and low.denominator == 1 for low, high in terms.values())

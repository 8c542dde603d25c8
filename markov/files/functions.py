"""The functions of the expression languages, in one table: PRISM's, JANI's and SBML's names, and two rules for each.

One rule evaluates a function over many states at once (`markov.files.values`), the other one in a single state, whose
numbers may be stand-ins for a box of states (`markov.generators.unbounded`). The documentation's table is printed from
it. The exact reader of proofs is independent and has its own table (`markov.proofs.prism_expressions`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.errors import FileError
from markov.files.values import INT_LIMIT, Value, as_real, check_numbers, combine
from markov.generators.polynomials import FUNCTIONS as STAND_IN_FUNCTIONS
from markov.generators.polynomials import logarithm

if TYPE_CHECKING:
    from markov.files.columns import Columns

__all__ = ["FUNCTIONS", "ExpressionFunction", "function", "is_plain", "names_of_language", "quotient"]

ArrayRule = Callable[[list[Value], Any], Value]
FACTORIALS = np.array([math.factorial(n) for n in range(171)], dtype=np.float64)
"""Factorials below the overflow of float64."""


@dataclass(frozen=True, kw_only=True)
class ExpressionFunction:
    """A function of expressions.

    Attributes
    ----------
    arguments
        Number of arguments; None: one or more.
    meaning
        Description in the documentation.
    arrays
        Rule for many states: returns the typed value from typed arguments and a location for errors.
    single
        Rule for one state: returns the value from the arguments; ValueError if it is undefined.
    prism, jani, mathml
        Names in the languages; empty if the language does not have the function.
    """

    arguments: int | None
    meaning: str
    arrays: ArrayRule
    single: Callable[..., Any]
    prism: str = ""
    jani: str = ""
    mathml: str = ""


def function(name: str, arguments: list[Value], location: Any) -> Value:
    """Return a function of numbers.

    Raises
    ------
    FileError
        For a wrong number of arguments, or arguments of a wrong type.
    """
    check_numbers(arguments, location, name)
    arity = FUNCTIONS[name].arguments
    if (arity is not None and len(arguments) != arity) or not arguments:
        raise FileError(location, f"{name} takes {arity or 'at least one'} argument(s), not {len(arguments)}")
    return FUNCTIONS[name].arrays(arguments, location)


def names_of_language(language: str) -> dict[str, str]:
    """Return names in this table by the names of a language: ``"prism"``, ``"jani"`` or ``"mathml"``."""
    pairs = ((getattr(entry, language), name) for name, entry in FUNCTIONS.items())
    return {word: name for word, name in pairs if word}


def is_plain(value: Any) -> bool:
    """Whether a number is a number of Python; a stand-in for a box of states has terms."""
    return isinstance(value, (int, float)) and not hasattr(value, "terms")


def quotient(a: Any, b: Any) -> Any:
    """Return the quotient of two real numbers; 1/0 is infinite, as in PRISM."""
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a)
    return a / b


# ---------------------------------------------------------------------- over many states


def _array(value: Any) -> Any:
    return np.asarray(value, dtype=np.float64)


def _real_array(real: Callable[[Any], Any]) -> ArrayRule:
    return lambda arguments, _location: combine("double", arguments, lambda c: real(_array(arguments[0].run(c))))


def _factorial(value: Any) -> Any:
    """Return factorials: infinite beyond float64, NaN of negative numbers and of fractions."""
    value = np.asarray(value, dtype=np.float64)
    integer = (value >= 0.0) & (value == np.floor(value))
    small = integer & (value < len(FACTORIALS))
    exact = FACTORIALS[np.where(small, value, 0.0).astype(np.int64)]
    return np.where(small, exact, np.where(integer, np.inf, np.nan))


def _log_array(arguments: list[Value], _location: Any) -> Value:
    def run(c: Columns) -> Any:
        return np.divide(np.log(_array(arguments[0].run(c))), np.log(_array(arguments[1].run(c))))

    return combine("double", arguments, run)


def _abs_array(arguments: list[Value], _location: Any) -> Value:
    high = max(abs(arguments[0].low), abs(arguments[0].high))
    return combine(arguments[0].kind, arguments, lambda c: np.abs(arguments[0].run(c)), low=0, high=high)


def _sign_array(arguments: list[Value], location: Any) -> Value:
    def run(c: Columns) -> Any:
        value = np.asarray(arguments[0].run(c))
        if np.isnan(value).any():
            raise FileError(location, "sgn of a number that is none")
        return np.sign(value).astype(np.int64)

    return combine("int", arguments, run, low=-1, high=1, fails=arguments[0].kind == "double")


def _extreme(pick: Any, best: Callable[[Any], int]) -> ArrayRule:
    def extreme(arguments: list[Value], _location: Any) -> Value:
        kind = "double" if any(value.kind == "double" for value in arguments) else "int"
        low, high = best(value.low for value in arguments), best(value.high for value in arguments)
        convert = as_real if kind == "double" else (lambda value: value)
        return combine(
            kind, arguments, lambda c: reduce(pick, [convert(v.run(c)) for v in arguments]), low=low, high=high
        )

    return extreme


def _rounding(name: str, rounded: Callable[[Any], Any]) -> ArrayRule:
    def rule(arguments: list[Value], location: Any) -> Value:
        (argument,) = arguments
        if argument.kind == "int":
            return argument

        def run(c: Columns) -> Any:
            value = _array(argument.run(c))
            result = rounded(value)
            if not (np.abs(result) < INT_LIMIT).all():
                raise FileError(location, f"{name} of {float(np.ravel(value)[0])}: no whole number")
            return result.astype(np.int64)

        return combine("int", arguments, run, fails=True)

    return rule


def _integer_array(arguments: list[Value], location: Any) -> Value:
    """Return a real number that must be integral, as an integer (SBML: a plain ``cn`` is a real number)."""
    (argument,) = arguments
    if argument.kind == "int":
        return argument

    def run(c: Columns) -> Any:
        value = _array(argument.run(c))
        wrong = ~((np.abs(value) < INT_LIMIT) & (value == np.floor(value)))
        if wrong.any():
            first = float(np.ravel(value)[np.ravel(wrong)][0])
            raise FileError(location, f"{first:g}: must be a whole number")
        return value.astype(np.int64)

    return combine("int", arguments, run, fails=True)


def _real_power_array(arguments: list[Value], _location: Any) -> Value:
    a, b = arguments
    return combine("double", arguments, lambda c: np.power(_array(a.run(c)), as_real(b.run(c))))


def _power_array(arguments: list[Value], location: Any) -> Value:
    if any(value.kind == "double" for value in arguments):
        return _real_power_array(arguments, location)
    base, exponent = arguments

    def run(c: Columns) -> Any:
        x, n = np.asarray(base.run(c)), np.asarray(exponent.run(c))
        if (n < 0).any():
            raise FileError(location, "pow of whole numbers with an exponent below 0: write 1.0 * x")
        with np.errstate(over="ignore"):
            magnitude = np.abs(np.power(_array(x), _array(n)))
        if not (magnitude < INT_LIMIT).all():
            raise FileError(location, "pow: a whole number beyond 2^62")
        return np.power(x.astype(np.int64), n.astype(np.int64))

    return combine("int", arguments, run, fails=True)


def _modulo_array(arguments: list[Value], location: Any) -> Value:
    if any(value.kind == "double" for value in arguments):
        raise FileError(location, "mod of a real number: must be of whole numbers")
    a, b = arguments

    def run(c: Columns) -> Any:
        x, y = np.asarray(a.run(c)), np.asarray(b.run(c))
        if (y <= 0).any():
            raise FileError(location, "mod by a number that is not positive")
        return np.mod(x, y)

    high = min(b.high - 1, INT_LIMIT)
    return combine("int", arguments, run, fails=b.low <= 0, low=0, high=max(high, 0))


# ---------------------------------------------------------------------- in one state


def _power(a: Any, b: Any) -> Any:
    if not (is_plain(a) and is_plain(b)):
        return a ** int(b) if isinstance(b, float) and b.is_integer() else a**b
    plain = isinstance(a, int)
    if plain and abs(a) > 1 and b * math.log2(abs(a)) > 62:
        if isinstance(b, int):
            raise ValueError("a whole number beyond 2^62")
        a = float(a)  # others may be stand-ins, and are followed exactly
    if isinstance(b, float) and b.is_integer() and not isinstance(a, float):
        return a ** int(b) if b >= 0 else quotient(1.0, a ** int(-b))
    if isinstance(b, float) or isinstance(a, float):
        try:
            result = float(a) ** float(b)
        except (ZeroDivisionError, OverflowError):
            return math.inf
        return math.nan if isinstance(result, complex) else result
    if b < 0:
        raise ValueError("pow of whole numbers with an exponent below 0: write 1.0 * x")
    return a**b


def _real_power(a: Any, b: Any) -> Any:
    return _power(a, float(b) if isinstance(b, int) and b < 0 else b)


def _modulo(a: Any, b: Any) -> Any:
    if b <= 0:
        raise ValueError("mod by a number that is not positive")
    return a % b


def _logarithm(a: Any, b: Any) -> Any:
    if not (is_plain(a) and is_plain(b)):
        return logarithm(a, b)
    top, bottom = (math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan) for x in (a, b))
    return quotient(top, bottom)


def _integer(a: Any) -> Any:
    if isinstance(a, float) and not a.is_integer():
        raise ValueError(f"{a:g}: must be a whole number")
    return math.floor(a)


def _round(a: Any) -> Any:
    return math.floor(a + 0.5) if isinstance(a, float) else math.floor(a)


def _sign(a: Any) -> Any:
    if isinstance(a, float) and math.isnan(a):
        raise ValueError("a number that is none")
    return 1 if a > 0 else -1 if a < 0 else 0


def _real(name: str, real: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the rule for one number from a rule for arrays, with identical digits."""
    stand_in_rule = STAND_IN_FUNCTIONS.get({"ln": "log", "arctan": "atan"}.get(name, name))

    def call(a: Any) -> Any:
        if stand_in_rule is not None and not is_plain(a):
            return stand_in_rule(a)
        with np.errstate(all="ignore"):
            return float(real(float(a)))

    return call


# ---------------------------------------------------------------------- the table


def _real_function(name: str, real: Callable[[Any], Any], meaning: str, mathml: str = "") -> ExpressionFunction:
    return ExpressionFunction(
        arguments=1, meaning=meaning, arrays=_real_array(real), single=_real(name, real), mathml=mathml or name
    )


REAL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "exp": (np.exp, "exponential function"), "ln": (np.log, "natural logarithm"), "log10": (np.log10, "logarithm to the base of 10"),
    "sqrt": (np.sqrt, "square root"), "factorial": (_factorial, "factorial"), "sin": (np.sin, "sine"), "cos": (np.cos, "cosine"),
    "tan": (np.tan, "tangent"), "sinh": (np.sinh, "hyperbolic sine"), "cosh": (np.cosh, "hyperbolic cosine"),
    "tanh": (np.tanh, "hyperbolic tangent"), "arcsin": (np.arcsin, "inverse sine"), "arccos": (np.arccos, "inverse cosine"),
    "arctan": (np.arctan, "inverse tangent"), "arcsinh": (np.arcsinh, "inverse hyperbolic sine"),
    "arccosh": (np.arccosh, "inverse hyperbolic cosine"), "arctanh": (np.arctanh, "inverse hyperbolic tangent"),
}  # fmt: skip
"""Functions of one real number; NaN outside their domain."""
OTHER_MATHML = {"log10": "log", "sqrt": "root"}

FUNCTIONS: dict[str, ExpressionFunction] = {
    "min": ExpressionFunction(
        arguments=None, meaning="smallest", arrays=_extreme(np.minimum, min), single=min, prism="min", jani="min", mathml="min"
    ),
    "max": ExpressionFunction(
        arguments=None, meaning="largest", arrays=_extreme(np.maximum, max), single=max, prism="max", jani="max", mathml="max"
    ),
    "floor": ExpressionFunction(
        arguments=1, meaning="largest whole number not above", arrays=_rounding("floor", np.floor), single=math.floor,
        prism="floor", jani="floor", mathml="floor",
    ),
    "ceil": ExpressionFunction(
        arguments=1, meaning="smallest whole number not below", arrays=_rounding("ceil", np.ceil), single=math.ceil,
        prism="ceil", jani="ceil", mathml="ceiling",
    ),
    "round": ExpressionFunction(
        arguments=1, meaning="nearest whole number, halves upwards", arrays=_rounding("round", lambda x: np.floor(x + 0.5)),
        single=_round, prism="round",
    ),
    "trc": ExpressionFunction(
        arguments=1, meaning="whole number without the fraction", arrays=_rounding("trc", np.trunc), single=math.trunc, jani="trc"
    ),
    "abs": ExpressionFunction(arguments=1, meaning="absolute value", arrays=_abs_array, single=abs, jani="abs", mathml="abs"),
    "sgn": ExpressionFunction(arguments=1, meaning="sign: -1, 0 or 1", arrays=_sign_array, single=_sign, jani="sgn"),
    "pow": ExpressionFunction(
        arguments=2, meaning="power; a whole number of whole numbers", arrays=_power_array, single=_power, prism="pow", jani="pow"
    ),
    "power": ExpressionFunction(arguments=2, meaning="power, a real number", arrays=_real_power_array, single=_real_power, mathml="power"),
    "mod": ExpressionFunction(
        arguments=2, meaning="remainder of whole numbers, at least 0", arrays=_modulo_array, single=_modulo, prism="mod", jani="%"
    ),
    "log": ExpressionFunction(
        arguments=2, meaning="logarithm of the first to the base of the second", arrays=_log_array, single=_logarithm,
        prism="log", jani="log", mathml="log with logbase",
    ),
    "whole": ExpressionFunction(arguments=1, meaning="number that must be whole", arrays=_integer_array, single=_integer),
    **{name: _real_function(name, real, meaning, OTHER_MATHML.get(name, "")) for name, (real, meaning) in REAL.items()},
}  # fmt: skip
"""Functions by the name in a `Call`."""

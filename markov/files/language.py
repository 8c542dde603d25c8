"""The expression language of model files: errors, trees, functions, and evaluation over many states at once.

Integers stay exact: an operation that might leave 63 bits, by the bounds of the variables, is checked when it is
computed. Division is real division, as in PRISM, and 1/0 is infinite. The right side of &, |, => and of a choice is
evaluated only in the states where it matters, if it may fail elsewhere.

Operators stand in one table, `OPERATORS`, and functions in another, `FUNCTIONS`: PRISM's, JANI's and SBML's names, and
two rules for each. One rule evaluates a function over many states at once, the other one in a single state, whose
numbers may be stand-ins for a box of states (`markov.generators.unbounded`). The documentation's table is printed from
it. The exact reader of proofs is independent and has its own table (`markov.proofs.prism_expressions`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from markov.generators.polynomials import FUNCTIONS as STAND_IN_FUNCTIONS
from markov.generators.polynomials import logarithm
from markov.models.spaces import ROUNDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COMPARISONS",
    "FUNCTIONS",
    "INT_LIMIT",
    "NEGATION_RANK",
    "OPERATORS",
    "POWER_RANK",
    "Batch",
    "BinaryOperator",
    "Call",
    "Chain",
    "Choice",
    "Expression",
    "ExpressionFunction",
    "FileError",
    "Label",
    "Literal",
    "Location",
    "Name",
    "Negation",
    "Numbering",
    "Scope",
    "StateFunction",
    "Value",
    "apply_function",
    "apply_operators",
    "as_real",
    "check_boolean",
    "check_numbers",
    "choose",
    "combine",
    "constant",
    "is_plain",
    "map_parts",
    "names_in",
    "names_of_language",
    "negate",
    "quotient",
    "size_of",
]

# ---------------------------------------------------------------------------------------------- errors


Location = tuple[str, int]
"""Name of a file, or a word in its place, and a line counted from one."""


class FileError(RuleError):
    """Error with file and line for a model file or a property that cannot be used; a ValueError.

    It is a `RuleError`, since the commands of a file are rules: its message has the location in the file, and searches
    through states pass it on unchanged.

    Attributes
    ----------
    file
        Name of the file.
    line
        Line, counted from one; None if unknown.
    reason
        Description of the error, without the location.

    Examples
    --------
    >>> from markov.files import FileError
    >>> error = FileError(("queue.sm", 3), "'arival' is not defined")
    >>> str(error), error.line
    ("queue.sm, line 3: 'arival' is not defined", 3)
    """

    file: str

    def __init__(self, location: tuple[str, int | None], reason: str) -> None:
        self.file, self.line = location
        self.reason = reason
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        super().__init__(f"{where}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return FileError, ((self.file, self.line), self.reason)


# ----------------------------------------------------------------------------------------------- trees


@dataclass(frozen=True, slots=True)
class Literal:
    """Expression node: a truth value or a number."""

    value: bool | int | float
    line: int


@dataclass(frozen=True, slots=True)
class Name:
    """Expression node: the name of a constant, a variable or a formula."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Label:
    """Expression node: a name in quotes, of a set of states or, in properties, of another property."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Negation:
    """Expression node: ``!x`` or ``-x``."""

    sign: str
    of: Expression
    line: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Expression node: operands joined from the left by operators of equal rank, such as ``a - b + c``."""

    first: Expression
    rest: tuple[tuple[str, Expression], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Expression node: ``condition ? value : condition ? value : otherwise``."""

    cases: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression
    line: int


@dataclass(frozen=True, slots=True)
class Call:
    """Expression node: a function of the table `FUNCTIONS` with its arguments."""

    name: str
    of: tuple[Expression, ...]
    line: int


Expression = Literal | Name | Label | Negation | Chain | Choice | Call


def map_parts(tree: Expression, run: Callable[[Any], Any]) -> Expression:
    """Return the expression with each direct subexpression replaced by the result of ``run``."""
    match tree:
        case Negation(_, of):
            return replace(tree, of=run(of))
        case Chain(first, rest):
            return replace(tree, first=run(first), rest=tuple((s, run(part)) for s, part in rest))
        case Choice(cases, otherwise):
            pairs = tuple((run(a), run(b)) for a, b in cases)
            return replace(tree, cases=pairs, otherwise=run(otherwise))
        case Call(_, of):
            return replace(tree, of=tuple(run(part) for part in of))
    return tree


def names_in(tree: Expression) -> list[str]:
    """Return the names of constants, variables and formulas in an expression, repeated as often as they occur."""
    names: list[str] = [tree.name] if isinstance(tree, Name) else []

    def collect(part: Expression) -> Expression:
        """Add the names of a part."""
        names.extend(names_in(part))
        return part

    map_parts(tree, collect)
    return names


def size_of(tree: Any, sizes_by_id: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the numbers of nodes and of levels of an expression tree; ``sizes_by_id`` caches those of shared parts."""
    if isinstance(tree, tuple):
        sizes = [size_of(part, sizes_by_id) for part in tree]
        return sum(nodes for nodes, _ in sizes), max((levels for _, levels in sizes), default=0)
    if not isinstance(tree, Expression):
        return 0, 0
    if id(tree) not in sizes_by_id:
        parts = tuple(getattr(tree, f.name) for f in fields(tree))
        nodes, levels = size_of(parts, sizes_by_id)
        sizes_by_id[id(tree)] = nodes + 1, levels + 1
    return sizes_by_id[id(tree)]


# ----------------------------------------------------------------------------------- batches of states


class Numbering(Protocol):
    """Interface of a code that maps integers to states: the values of variables follow from a state's number."""

    def codes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of all variables in the states of these numbers, shape (variables, states)."""

    def code(self, k: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of variable ``k`` in the states of these numbers, shape (states,)."""


class Batch:
    """The states over which expressions are evaluated at once: values of the variables, decoded on first use.

    Parameters
    ----------
    codes
        Values, shape (variables, states), integers; None: computed from the numbers of the states on first use.
    states
        Numbers of the states in the product space, shape (states,), or None.
    numbering
        Decoder of the numbers; required without ``codes``.
    transient
        Values of the transient variables in the transitions into the states, shape (transient variables, states).
    """

    def __init__(
        self,
        codes: NDArray[np.int64] | None,
        states: NDArray[np.int64] | None = None,
        numbering: Numbering | None = None,
        transient: NDArray[np.float64] | None = None,
    ) -> None:
        self.states, self._numbering, self._transient = states, numbering, transient
        if codes is not None:
            self.codes = codes
            self.count = codes.shape[1]
        else:
            self.count = len(self._numbers()[1])
        self._variables: dict[int, NDArray[np.int64]] = {}
        self._cache: dict[Callable[[Batch], Any], Any] = {}

    def _numbers(self) -> tuple[Numbering, NDArray[np.int64]]:
        """Return the code of the numbers and the numbers of the states."""
        assert self._numbering is not None
        assert self.states is not None
        return self._numbering, self.states

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The values of all variables in the states, shape (variables, states)."""
        numbering, states = self._numbers()
        return numbering.codes(states)

    def variable(self, k: int) -> NDArray[np.int64]:
        """Return the values of variable ``k`` in the states, shape (states,)."""
        if "codes" in self.__dict__:
            values: NDArray[np.int64] = self.codes[k]
            return values
        if k not in self._variables:
            numbering, states = self._numbers()
            self._variables[k] = numbering.code(k, states)
        return self._variables[k]

    def take(self, indices: NDArray[np.int64]) -> Batch:
        """Return the batch of the states at these positions."""
        if len(indices) == self.count:
            return self
        states = None if self.states is None else self.states[indices]
        transient = None if self._transient is None else self._transient[:, indices]
        if self._numbering is not None:
            return Batch(None, states, self._numbering, transient)
        return Batch(self.codes[:, indices], states, None, transient)

    def transient(self, k: int) -> NDArray[np.float64]:
        """Return the values of transient variable ``k`` in the transitions into the states, shape (states,)."""
        assert self._transient is not None
        values: NDArray[np.float64] = self._transient[k]
        return values

    def memoize(self, rule: Callable[[Batch], Any]) -> Any:
        """Return ``rule(self)``, from a cache after the first call."""
        if rule not in self._cache:
            self._cache[rule] = rule(self)
        return self._cache[rule]


# ----------------------------------------------------------------------------- values over many states


INT_LIMIT = 2**62
"""Exclusive limit of the magnitude of integers."""
NO_STATE = Batch(np.zeros((0, 1), dtype=np.int64))
Run = Callable[[Batch], Any]


@dataclass(frozen=True)
class Value:
    """A typed expression, compiled to a function from a batch of states to the values in these states.

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
        """Return the value of an expression that is the same in all states."""
        return self.run(NO_STATE)


def constant(value: bool | float) -> Value:
    """Return the typed expression that has this Python value in all states."""
    if isinstance(value, bool):
        return Value("bool", lambda _c: value, fixed=True)
    if isinstance(value, int):
        return Value("int", lambda _c: value, value, value, fixed=True)
    return Value("double", lambda _c: value, fixed=True)


def check_boolean(value: Value, location: Any, role: str) -> Value:
    """Return the expression unchanged; FileError unless it is a truth value."""
    if value.kind != "bool":
        raise FileError(location, f"{role} is a number: must be a truth value")
    return value


def check_numbers(values: list[Value], location: Any, sign: str) -> None:
    """Raise FileError if an operand of the operator or function ``sign`` is a truth value."""
    if any(value.kind == "bool" for value in values):
        raise FileError(location, f"{sign!r} of a truth value: must be of numbers")


def combine(kind: str, parts: list[Value], run: Run, **options: Any) -> Value:
    """Return the typed expression that ``run`` computes from ``parts``; a constant if all parts are constants.

    If the constant cannot be computed, as ``mod(3, 0)``, the FileError is raised by each evaluation of the
    expression, not here: ``c = 0 | mod(3, c) = 0`` does not evaluate it.
    """
    fails = options.pop("fails", False) or any(part.fails for part in parts)
    reads = frozenset[int]().union(*(part.reads for part in parts))
    fixed = all(part.fixed for part in parts)
    value = Value(kind, run, fixed=fixed, fails=fails, reads=reads, **options)
    if not value.fixed:
        return value
    try:
        with np.errstate(all="ignore"):
            return constant(_to_python(value.single(), kind))
    except FileError:
        if fails:
            return value
        raise


def _to_python(value: Any, kind: str) -> Any:
    """Return a number of NumPy or Python as bool, int or float, by the kind of the expression."""
    value = value.item() if isinstance(value, np.generic) else value
    return {"bool": bool, "int": int, "double": float}[kind](value)


def negate(sign: str, of: Value, location: Any) -> Value:
    """Return the typed expression ``!x`` or ``-x``."""
    if sign == "!":
        check_boolean(of, location, "what ! applies to")
        return combine("bool", [of], lambda c: np.logical_not(of.run(c)))
    check_numbers([of], location, "-")
    return combine(of.kind, [of], lambda c: -of.run(c), low=-of.high, high=-of.low)


def as_real(value: Any) -> Any:
    """Return a number or an array in float64."""
    return np.asarray(value, dtype=np.float64) if isinstance(value, np.ndarray) else float(value)


def choose(cases: list[tuple[Value, Value]], otherwise: Value, location: Any) -> Value:
    """Return the typed expression with the value of the first condition that holds, or ``otherwise``."""
    values = [*(value for _, value in cases), otherwise]
    kinds = {value.kind for value in values}
    for condition, _ in cases:
        check_boolean(condition, location, "a condition")
    if len(kinds) > 1 and "bool" in kinds:
        raise FileError(location, "a choice between numbers and truth values")
    kind = "double" if "double" in kinds else kinds.pop()
    dtype = {"bool": np.bool_, "int": np.int64, "double": np.float64}[kind]

    def run(c: Batch) -> Any:
        """Return the values in a batch of states, each alternative evaluated only where it applies."""
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


# ------------------------------------------------------------------------------------------- operators


OperatorRule = Callable[[Value, Value, Any], Value]
StateFunction = Callable[[Any], Any]
"""A function of one state."""


@dataclass(frozen=True, kw_only=True)
class BinaryOperator:
    """A row of the table `OPERATORS`: rank, names in the languages, and evaluation rules of a binary operator.

    Attributes
    ----------
    rank
        Binding strength in the PRISM language; operators of one rank associate to the left, except for ``=>``.
    meaning
        Description in the documentation.
    arrays
        Rule for many states: returns the typed value of two typed operands and a location for errors.
    single
        Rule for one state: returns the function of the state from the operands, as functions of the state.
    truths
        Rule for three-valued truth (`markov.files.enclosures`); None: operands must be numbers.
    is_condition
        Whether the value is a truth value.
    jani, mathml
        Signs in the languages; empty if the language does not have the operator.
    """

    rank: int
    meaning: str
    arrays: OperatorRule
    single: Callable[[StateFunction, StateFunction], StateFunction]
    truths: Callable[[Any, Any], Any] | None = None
    is_condition: bool = True
    jani: str = ""
    mathml: str = ""


def apply_operators(first: Value, rest: list[tuple[str, Value]], location: Any) -> Value:
    """Return the typed expression of operands joined from the left by operators of equal rank."""
    sign = rest[0][0]
    if sign in ("&", "|"):
        return _all_or_any(sign, [first, *(value for _, value in rest)], location)
    return reduce(lambda left, step: OPERATORS[step[0]].arrays(left, step[1], location), rest, first)


def _all_or_any(sign: str, parts: list[Value], location: Any) -> Value:
    """Return the typed expression ``a & b & ...`` or ``a | b | ...``, which skips states already decided."""
    for part in parts:
        check_boolean(part, location, f"an operand of {sign}")
    deciding = sign == "|"
    join = np.logical_or if deciding else np.logical_and
    undecided: list[Value] = []
    for part in parts:
        if not part.fixed or part.fails:
            undecided.append(part)
        elif part.single() == deciding:  # it decides: only earlier operands are evaluated, and may fail
            undecided.append(part)
            break
    if not undecided:
        return constant(not deciding)

    def run(c: Batch) -> Any:
        """Return the truth values in a batch of states."""
        result = undecided[0].run(c)
        for part in undecided[1:]:
            result = _where_undecided(result, part, c, deciding=deciding) if part.fails else join(result, part.run(c))
        return result

    return combine("bool", undecided, run)


def _where_undecided(before: Any, part: Value, c: Batch, *, deciding: bool) -> Any:
    """Return truth values with ``part`` evaluated only in the states that earlier operands have not decided."""
    truths = np.broadcast_to(before, c.count)
    indices = np.flatnonzero(truths != deciding)
    if not len(indices):
        return before
    result = truths.copy()
    result[indices] = part.run(c.take(indices))
    return result


def _implication(a: Value, b: Value, location: Any) -> Value:
    """Array rule of ``a => b``."""
    check_boolean(a, location, "an operand of =>")
    check_boolean(b, location, "an operand of =>")
    return _all_or_any("|", [negate("!", a, location), b], location)


def _equivalence(a: Value, b: Value, location: Any) -> Value:
    """Array rule of ``a <=> b``."""
    check_boolean(a, location, "an operand of <=>")
    check_boolean(b, location, "an operand of <=>")
    return combine("bool", [a, b], lambda c: np.equal(a.run(c), b.run(c)))


COMPARISONS: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def _comparison(sign: str) -> OperatorRule:
    """Return the array rule of a comparison operator such as ``<``."""
    compare = COMPARISONS[sign]

    def rule(a: Value, b: Value, location: Any) -> Value:
        if (a.kind == "bool") != (b.kind == "bool") or (a.kind == "bool" and sign not in ("=", "!=")):
            raise FileError(location, f"{sign!r} of a {a.kind} and a {b.kind}")
        return combine("bool", [a, b], lambda c: compare(a.run(c), b.run(c)))

    return rule


def _arithmetic(sign: str, run: Callable[[Any, Any], Any]) -> OperatorRule:
    """Return the array rule of ``+``, ``-`` or ``*``, exact on integers."""

    def rule(a: Value, b: Value, location: Any) -> Value:
        check_numbers([a, b], location, sign)
        if "double" in (a.kind, b.kind):
            return combine("double", [a, b], lambda c: run(as_real(a.run(c)), as_real(b.run(c))))
        return _integer_arithmetic(sign, run, a, b, location)

    return rule


def _integer_arithmetic(sign: str, run: Callable[[Any, Any], Any], a: Value, b: Value, location: Any) -> Value:
    """Return the sum, difference or product of integer expressions, checked where it might exceed 62 bits."""
    if sign == "*":
        extremes = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    elif sign == "+":
        extremes = [a.low + b.low, a.high + b.high]
    else:
        extremes = [a.low - b.high, a.high - b.low]
    low, high = min(extremes), max(extremes)
    fits = low > -INT_LIMIT and high < INT_LIMIT

    def run_with_check(c: Batch) -> Any:
        """Return the values in a batch of states; FileError beyond 2^62."""
        x, y = a.run(c), b.run(c)
        with np.errstate(over="ignore"):
            magnitude = np.abs(run(as_real(x), as_real(y)))
        if np.size(magnitude) and float(np.max(magnitude)) >= INT_LIMIT:
            raise FileError(location, f"{sign!r}: a whole number beyond 2^62")
        return run(x, y)

    if fits:
        return combine("int", [a, b], lambda c: run(a.run(c), b.run(c)), low=low, high=high)
    limits = {"low": max(low, -INT_LIMIT), "high": min(high, INT_LIMIT)}
    return combine("int", [a, b], run_with_check, fails=True, **limits)


def _division(a: Value, b: Value, location: Any) -> Value:
    """Array rule of ``a / b``, a real number."""
    check_numbers([a, b], location, "/")

    def run(c: Batch) -> Any:
        top, bottom = as_real(a.run(c)), as_real(b.run(c))
        with np.errstate(divide="ignore", invalid="ignore"):  # 1/0 is infinite
            return np.true_divide(top, bottom)

    return combine("double", [a, b], run)


def quotient(a: Any, b: Any) -> Any:
    """Return the quotient of two real numbers; 1/0 is infinite, as in PRISM."""
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a)
    return a / b


def _evaluate_both(operation: Callable[[Any, Any], Any]) -> Callable[[StateFunction, StateFunction], StateFunction]:
    """Return the single-state rule of an operator that always evaluates both operands."""
    return lambda a, b: lambda s: operation(a(s), b(s))


NEGATION_RANK = 4
"""Rank of the prefix ``!``, which applies to comparisons."""
POWER_RANK = 9
"""Rank of ``^``, which the parser reads as the function ``pow``; it associates to the right, as in PRISM."""

OPERATORS: dict[str, BinaryOperator] = {
    "=>": BinaryOperator(
        rank=0,
        meaning="implication",
        arrays=_implication,
        single=lambda a, b: lambda s: not a(s) or b(s),
        truths=lambda a, b: ~a | b,
        jani="⇒",
        mathml="implies",
    ),
    "<=>": BinaryOperator(
        rank=1,
        meaning="equivalence",
        arrays=_equivalence,
        single=_evaluate_both(operator.eq),
        truths=lambda a, b: a.same_as(b),
    ),
    "|": BinaryOperator(
        rank=2,
        meaning="or",
        arrays=lambda a, b, location: _all_or_any("|", [a, b], location),
        single=lambda a, b: lambda s: a(s) or b(s),
        truths=operator.or_,
        jani="∨",
        mathml="or",
    ),
    "&": BinaryOperator(
        rank=3,
        meaning="and",
        arrays=lambda a, b, location: _all_or_any("&", [a, b], location),
        single=lambda a, b: lambda s: a(s) and b(s),
        truths=operator.and_,
        jani="∧",
        mathml="and",
    ),
    "=": BinaryOperator(
        rank=5,
        meaning="equal",
        arrays=_comparison("="),
        single=_evaluate_both(operator.eq),
        truths=lambda a, b: a.same_as(b),
        jani="=",
        mathml="eq",
    ),
    "!=": BinaryOperator(
        rank=5,
        meaning="different",
        arrays=_comparison("!="),
        single=_evaluate_both(operator.ne),
        truths=lambda a, b: ~a.same_as(b),
        jani="≠",
        mathml="neq",
    ),
    "<": BinaryOperator(
        rank=6, meaning="less", arrays=_comparison("<"), single=_evaluate_both(operator.lt), jani="<", mathml="lt"
    ),
    "<=": BinaryOperator(
        rank=6, meaning="at most", arrays=_comparison("<="), single=_evaluate_both(operator.le), jani="≤", mathml="leq"
    ),
    ">": BinaryOperator(
        rank=6, meaning="greater", arrays=_comparison(">"), single=_evaluate_both(operator.gt), jani=">", mathml="gt"
    ),
    ">=": BinaryOperator(
        rank=6, meaning="at least", arrays=_comparison(">="), single=_evaluate_both(operator.ge), jani="≥", mathml="geq"
    ),
    "+": BinaryOperator(
        rank=7,
        meaning="sum",
        arrays=_arithmetic("+", np.add),
        single=_evaluate_both(operator.add),
        is_condition=False,
        jani="+",
        mathml="plus",
    ),
    "-": BinaryOperator(
        rank=7,
        meaning="difference",
        arrays=_arithmetic("-", np.subtract),
        single=_evaluate_both(operator.sub),
        is_condition=False,
        jani="-",
        mathml="minus",
    ),
    "*": BinaryOperator(
        rank=8,
        meaning="product",
        arrays=_arithmetic("*", np.multiply),
        single=_evaluate_both(operator.mul),
        is_condition=False,
        jani="*",
        mathml="times",
    ),
    "/": BinaryOperator(
        rank=8,
        meaning="quotient, a real number; 1/0 is infinite",
        arrays=_division,
        single=_evaluate_both(quotient),
        is_condition=False,
        jani="/",
        mathml="divide",
    ),
}
"""Binary operators by their signs in the PRISM language and in a `Chain`."""


# ------------------------------------------------------------------------------------------- functions


ArrayRule = Callable[[list[Value], Any], Value]
FACTORIALS = np.array([math.factorial(n) for n in range(171)], dtype=np.float64)
"""Factorials below the overflow of float64."""


@dataclass(frozen=True, kw_only=True)
class ExpressionFunction:
    """A row of the table `FUNCTIONS`: arity, names in the languages, and evaluation rules of a function.

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
    sign
        Sign of the value, for laws of SBML that must not be negative: ``">= 0"``; ``"argument"``, the sign of the
        argument or 0; ``"any"``.
    """

    arguments: int | None
    meaning: str
    arrays: ArrayRule
    single: Callable[..., Any]
    prism: str = ""
    jani: str = ""
    mathml: str = ""
    sign: str = "any"


def apply_function(name: str, arguments: list[Value], location: Any) -> Value:
    """Return the typed expression of a function of `FUNCTIONS` applied to arguments.

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
    """Return the names in `FUNCTIONS` by a language's names for them: ``"prism"``, ``"jani"`` or ``"mathml"``."""
    pairs = ((getattr(entry, language), name) for name, entry in FUNCTIONS.items())
    return {word: name for word, name in pairs if word}


def is_plain(value: Any) -> bool:
    """Return whether a value is a Python number, not a symbolic stand-in for the numbers in a box of states."""
    return isinstance(value, (int, float)) and not hasattr(value, "terms")


# ---------------------------------------------------------------------- over many states


def _float_array(value: Any) -> Any:
    """Return a number or an array as an array of float64."""
    return np.asarray(value, dtype=np.float64)


def _real_array(real: Callable[[Any], Any]) -> ArrayRule:
    """Return the array rule of a function of one real number from a function of NumPy."""
    return lambda arguments, _location: combine("double", arguments, lambda c: real(_float_array(arguments[0].run(c))))


def _factorial_array(value: Any) -> Any:
    """Return the factorials of an array: inf beyond float64, NaN of negative numbers and of fractions."""
    value = np.asarray(value, dtype=np.float64)
    integer = (value >= 0.0) & (value == np.floor(value))
    small = integer & (value < len(FACTORIALS))
    exact = FACTORIALS[np.where(small, value, 0.0).astype(np.int64)]
    return np.where(small, exact, np.where(integer, np.inf, np.nan))


def _log_array(arguments: list[Value], _location: Any) -> Value:
    """Array rule of ``log(x, base)``."""

    def run(c: Batch) -> Any:
        return np.divide(np.log(_float_array(arguments[0].run(c))), np.log(_float_array(arguments[1].run(c))))

    return combine("double", arguments, run)


def _abs_array(arguments: list[Value], _location: Any) -> Value:
    """Array rule of ``abs(x)``."""
    high = max(abs(arguments[0].low), abs(arguments[0].high))
    return combine(arguments[0].kind, arguments, lambda c: np.abs(arguments[0].run(c)), low=0, high=high)


def _sign_array(arguments: list[Value], location: Any) -> Value:
    """Array rule of ``sgn(x)``: -1, 0 or 1; FileError for NaN."""

    def run(c: Batch) -> Any:
        value = np.asarray(arguments[0].run(c))
        if np.isnan(value).any():
            raise FileError(location, "sgn of a number that is none")
        return np.sign(value).astype(np.int64)

    return combine("int", arguments, run, low=-1, high=1, fails=arguments[0].kind == "double")


def _extreme_array(pick: Any, best: Callable[[Any], int]) -> ArrayRule:
    """Return the array rule of ``min`` or ``max``; ``best`` picks the bounds of integer results."""

    def extreme(arguments: list[Value], _location: Any) -> Value:
        kind = "double" if any(value.kind == "double" for value in arguments) else "int"
        low, high = best(value.low for value in arguments), best(value.high for value in arguments)
        convert = as_real if kind == "double" else (lambda value: value)
        return combine(
            kind, arguments, lambda c: reduce(pick, [convert(v.run(c)) for v in arguments]), low=low, high=high
        )

    return extreme


def _rounding_array(name: str, rounded: Callable[[Any], Any]) -> ArrayRule:
    """Return the array rule of a rounding to integers such as ``floor``; FileError beyond 2^62."""

    def rule(arguments: list[Value], location: Any) -> Value:
        (argument,) = arguments
        if argument.kind == "int":
            return argument

        def run(c: Batch) -> Any:
            value = _float_array(argument.run(c))
            result = rounded(value)
            if not (np.abs(result) < INT_LIMIT).all():
                raise FileError(location, f"{name} of {float(np.ravel(value)[0])}: no whole number")
            return result.astype(np.int64)

        return combine("int", arguments, run, fails=True)

    return rule


def nearest_whole(values: Any) -> tuple[Any, Any]:
    """Return the nearest whole numbers, and whether the values differ from them by rounding at most."""
    nearest = np.round(values)
    return nearest, np.abs(values - nearest) <= ROUNDING * np.abs(nearest)


def _integer_array(arguments: list[Value], location: Any) -> Value:
    """Array rule of ``whole(x)``: the real number as an integer; FileError if it is not integral."""
    (argument,) = arguments
    if argument.kind == "int":
        return argument

    def run(c: Batch) -> Any:
        value = _float_array(argument.run(c))
        nearest, is_whole = nearest_whole(value)
        wrong = ~((np.abs(value) < INT_LIMIT) & is_whole)
        if wrong.any():
            first = float(np.ravel(value)[np.ravel(wrong)][0])
            raise FileError(location, f"{first:.17g}: must be a whole number")
        return nearest.astype(np.int64)

    return combine("int", arguments, run, fails=True)


def _real_power_array(arguments: list[Value], _location: Any) -> Value:
    """Array rule of ``power(x, y)`` in real numbers."""
    a, b = arguments
    return combine("double", arguments, lambda c: np.power(_float_array(a.run(c)), as_real(b.run(c))))


def _power_array(arguments: list[Value], location: Any) -> Value:
    """Array rule of ``pow(x, y)``: an integer for integers, otherwise a real number."""
    if any(value.kind == "double" for value in arguments):
        return _real_power_array(arguments, location)
    base, exponent = arguments

    def run(c: Batch) -> Any:
        x, n = np.asarray(base.run(c)), np.asarray(exponent.run(c))
        if (n < 0).any():
            raise FileError(location, "pow of whole numbers with an exponent below 0: write 1.0 * x")
        with np.errstate(over="ignore"):
            magnitude = np.abs(np.power(_float_array(x), _float_array(n)))
        if not (magnitude < INT_LIMIT).all():
            raise FileError(location, "pow: a whole number beyond 2^62")
        return np.power(x.astype(np.int64), n.astype(np.int64))

    return combine("int", arguments, run, fails=True)


def _modulo_array(arguments: list[Value], location: Any) -> Value:
    """Array rule of ``mod(x, y)`` of integers; FileError unless y > 0."""
    if any(value.kind == "double" for value in arguments):
        raise FileError(location, "mod of a real number: must be of whole numbers")
    a, b = arguments

    def run(c: Batch) -> Any:
        x, y = np.asarray(a.run(c)), np.asarray(b.run(c))
        if (y <= 0).any():
            raise FileError(location, "mod by a number that is not positive")
        return np.mod(x, y)

    high = min(b.high - 1, INT_LIMIT)
    return combine("int", arguments, run, fails=b.low <= 0, low=0, high=max(high, 0))


# ---------------------------------------------------------------------- in one state


def _power(a: Any, b: Any) -> Any:
    """Single-state rule of ``pow(a, b)``, of numbers or of stand-ins for a box of states."""
    if not (is_plain(a) and is_plain(b)):
        return a ** int(b) if isinstance(b, float) and b.is_integer() else a**b
    plain = isinstance(a, int)
    if plain and abs(a) > 1 and b * math.log2(abs(a)) > 62:
        if isinstance(b, int):
            raise ValueError("a whole number beyond 2^62")
        a = float(a)  # stand-ins are followed exactly
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
    """Single-state rule of ``power(a, b)``, a real number."""
    return _power(a, float(b) if isinstance(b, int) and b < 0 else b)


def _modulo(a: Any, b: Any) -> Any:
    """Single-state rule of ``mod(a, b)``; ValueError unless b > 0."""
    if b <= 0:
        raise ValueError("mod by a number that is not positive")
    return a % b


def _logarithm(a: Any, b: Any) -> Any:
    """Single-state rule of ``log(a, b)``, the logarithm of a to the base b."""
    if not (is_plain(a) and is_plain(b)):
        return logarithm(a, b)
    top, bottom = (math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan) for x in (a, b))
    return quotient(top, bottom)


def _integer(a: Any) -> Any:
    """Single-state rule of ``whole(a)``: a as an integer; ValueError for a fraction."""
    if not isinstance(a, float):
        return math.floor(a)
    if not math.isfinite(a) or not nearest_whole(a)[1]:
        raise ValueError(f"{a:.17g}: must be a whole number")
    return round(a)


def _round(a: Any) -> Any:
    """Single-state rule of ``round(a)``: the nearest integer, halves upwards."""
    return math.floor(a + 0.5) if isinstance(a, float) else math.floor(a)


def _sign(a: Any) -> Any:
    """Single-state rule of ``sgn(a)``: -1, 0 or 1; ValueError for NaN."""
    if isinstance(a, float) and math.isnan(a):
        raise ValueError("a number that is none")
    return 1 if a > 0 else -1 if a < 0 else 0


def _real_single(name: str, real: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the single-state rule of a function of one real number, equal in all digits to its array rule."""
    stand_in_rule = STAND_IN_FUNCTIONS.get({"ln": "log", "arctan": "atan"}.get(name, name))

    def call(a: Any) -> Any:
        """Return the function's value for a number or a stand-in."""
        if stand_in_rule is not None and not is_plain(a):
            return stand_in_rule(a)
        with np.errstate(all="ignore"):
            return float(real(float(a)))

    return call


# ---------------------------------------------------------------------- the table


REAL: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "exp": (np.exp, "exponential function", ">= 0"),
    "ln": (np.log, "natural logarithm", "any"),
    "log10": (np.log10, "logarithm to the base of 10", "any"),
    "sqrt": (np.sqrt, "square root", ">= 0"),
    "factorial": (_factorial_array, "factorial", ">= 0"),
    "sin": (np.sin, "sine", "any"),
    "cos": (np.cos, "cosine", "any"),
    "tan": (np.tan, "tangent", "any"),
    "sinh": (np.sinh, "hyperbolic sine", "argument"),
    "cosh": (np.cosh, "hyperbolic cosine", ">= 0"),
    "tanh": (np.tanh, "hyperbolic tangent", "argument"),
    "arcsin": (np.arcsin, "inverse sine", "argument"),
    "arccos": (np.arccos, "inverse cosine", ">= 0"),
    "arctan": (np.arctan, "inverse tangent", "argument"),
    "arcsinh": (np.arcsinh, "inverse hyperbolic sine", "argument"),
    "arccosh": (np.arccosh, "inverse hyperbolic cosine", ">= 0"),
    "arctanh": (np.arctanh, "inverse hyperbolic tangent", "argument"),
}
"""NumPy function, meaning and sign of functions of one real number; NaN outside their domain."""
OTHER_MATHML = {"log10": "log", "sqrt": "root"}

FUNCTIONS: dict[str, ExpressionFunction] = {
    "min": ExpressionFunction(
        arguments=None,
        meaning="smallest",
        arrays=_extreme_array(np.minimum, min),
        single=min,
        prism="min",
        jani="min",
        mathml="min",
    ),
    "max": ExpressionFunction(
        arguments=None,
        meaning="largest",
        arrays=_extreme_array(np.maximum, max),
        single=max,
        prism="max",
        jani="max",
        mathml="max",
    ),
    "floor": ExpressionFunction(
        arguments=1,
        meaning="largest whole number not above",
        arrays=_rounding_array("floor", np.floor),
        single=math.floor,
        prism="floor",
        jani="floor",
        mathml="floor",
        sign="argument",
    ),
    "ceil": ExpressionFunction(
        arguments=1,
        meaning="smallest whole number not below",
        arrays=_rounding_array("ceil", np.ceil),
        single=math.ceil,
        prism="ceil",
        jani="ceil",
        mathml="ceiling",
        sign="argument",
    ),
    "round": ExpressionFunction(
        arguments=1,
        meaning="nearest whole number, halves upwards",
        arrays=_rounding_array("round", lambda x: np.floor(x + 0.5)),
        single=_round,
        prism="round",
        sign="argument",
    ),
    "trc": ExpressionFunction(
        arguments=1,
        meaning="whole number without the fraction",
        arrays=_rounding_array("trc", np.trunc),
        single=math.trunc,
        jani="trc",
        sign="argument",
    ),
    "abs": ExpressionFunction(
        arguments=1,
        meaning="absolute value",
        arrays=_abs_array,
        single=abs,
        jani="abs",
        mathml="abs",
        sign=">= 0",
    ),
    "sgn": ExpressionFunction(
        arguments=1, meaning="sign: -1, 0 or 1", arrays=_sign_array, single=_sign, jani="sgn", sign="argument"
    ),
    "pow": ExpressionFunction(
        arguments=2,
        meaning="power; a whole number of whole numbers",
        arrays=_power_array,
        single=_power,
        prism="pow",
        jani="pow",
    ),
    "power": ExpressionFunction(
        arguments=2, meaning="power, a real number", arrays=_real_power_array, single=_real_power, mathml="power"
    ),
    "mod": ExpressionFunction(
        arguments=2,
        meaning="remainder of whole numbers, at least 0",
        arrays=_modulo_array,
        single=_modulo,
        prism="mod",
        jani="%",
        sign=">= 0",
    ),
    "log": ExpressionFunction(
        arguments=2,
        meaning="logarithm of the first to the base of the second",
        arrays=_log_array,
        single=_logarithm,
        prism="log",
        jani="log",
        mathml="log with logbase",
    ),
    "whole": ExpressionFunction(
        arguments=1,
        meaning="number that must be whole",
        arrays=_integer_array,
        single=_integer,
        sign="argument",
    ),
    **{
        name: ExpressionFunction(
            arguments=1,
            meaning=meaning,
            arrays=_real_array(real),
            single=_real_single(name, real),
            mathml=OTHER_MATHML.get(name, name),
            sign=sign,
        )
        for name, (real, meaning, sign) in REAL.items()
    },
}
"""Functions by the name in a `Call`."""


# ---------------------------------------------------------------------------------------------- scopes


MAX_PARTS = 5_000_000
"""Maximum number of parts of expressions, formulas counted under each renaming."""


class Scope:
    """Table of names that compiles expression trees to typed expressions, with checks of names and types.

    Parameters
    ----------
    file
        Name of the file, in messages.
    symbols
        Meanings of constants and variables. May grow.
    formulas
        Expressions by name.
    labels
        Function from a name in quotes to its meaning; None: no labels.
    """

    def __init__(
        self,
        file: str,
        symbols: dict[str, Value],
        formulas: Mapping[str, Expression] | None = None,
        labels: Any = None,
    ) -> None:
        self.file, self.symbols = file, symbols
        self.formulas, self.labels = formulas or {}, labels
        self._formula_values: dict[Any, Value] = {}
        self._open_formulas: list[str] = []
        self._parts = [0]

    def value(self, expression: Any, renamed: Mapping[str, str] | None = None) -> Value:
        """Return the typed expression of a tree, after names are replaced by ``renamed``.

        Raises
        ------
        FileError
            With the line, for unknown names, circular formulas and wrong types.
        """
        location = self.file, expression.line
        self._parts[0] += 1
        if self._parts[0] > MAX_PARTS:
            raise FileError(location, f"expressions of more than {MAX_PARTS} parts")
        match expression:
            case Literal(literal):
                return constant(literal)
            case Name(name):
                return self._name_value((renamed or {}).get(name, name), location, renamed)
            case Label(name):
                meaning = None if self.labels is None else self.labels(name)
                if meaning is None:
                    raise FileError(location, f'"{name}" is not defined')
                value: Value = meaning
                return value
            case Negation(sign, of):
                return negate(sign, self.value(of, renamed), location)
            case Chain(first, rest):
                parts = [(sign, self.value(part, renamed)) for sign, part in rest]
                return apply_operators(self.value(first, renamed), parts, location)
            case Choice(cases, otherwise):
                pairs = [(self.value(c, renamed), self.value(v, renamed)) for c, v in cases]
                return choose(pairs, self.value(otherwise, renamed), location)
            case Call(name, of):
                return apply_function(name, [self.value(part, renamed) for part in of], location)
        raise FileError(location, "an operator of properties where a value is expected")

    def _name_value(self, name: str, location: Any, renamed: Mapping[str, str] | None) -> Value:
        """Return the typed expression of a constant, a variable or a formula by its name."""
        if name in self.symbols:
            return self.symbols[name]
        if name not in self.formulas:
            raise FileError(location, f"{name!r} is not defined")
        key = name, tuple(sorted((renamed or {}).items()))
        if key in self._formula_values:
            return self._formula_values[key]
        if name in self._open_formulas:
            raise FileError(location, f"{' -> '.join([*self._open_formulas, name])}: formulas in a circle")
        if len(self._open_formulas) > 100:
            raise FileError(location, "formulas nested more than 100 deep")
        self._open_formulas.append(name)
        plain = self.value(self.formulas[name], renamed)
        self._open_formulas.pop()
        self._formula_values[key] = _memoize(plain)
        return self._formula_values[key]


def _memoize(value: Value) -> Value:
    """Return the typed expression with its values cached in each batch of states."""
    if value.fixed:
        return value
    run = value.run
    return replace(value, run=lambda c: c.memoize(run))

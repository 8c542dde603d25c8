"""Evaluation of properties on a model: the value of an expression with P, S and R in each state.

An expression without these operators has exact values. Other expressions are enclosed: numbers have a bound on their
error, and truth values may be undecided, as may be the sets of states in operators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.files.errors import FileError
from markov.files.properties.csl import Checker
from markov.files.properties.enclosures import (
    ROUNDED_UP,
    Enclosure,
    Estimate,
    Truth,
    calculate,
    compare,
    select,
)
from markov.files.properties.filters import FilterValue, apply_filter
from markov.files.properties.operators import Operators
from markov.files.properties.queries import Filter, Operator
from markov.files.scopes import Scope
from markov.files.syntax import Call, Chain, Choice, Label, Negation
from markov.files.values import Value, boolean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.columns import Columns
    from markov.files.states.state_space import StateSpace

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["Definitions", "Evaluation", "Undecided"]


class Definitions(NamedTuple):
    """Expressions by their names in quotes: labels of the properties' file, and its properties."""

    file: str
    labels: Mapping[str, Any]
    properties: Mapping[str, Any]


class Undecided(NamedTuple):
    """A threshold within the error of the compared numbers, with the number of such states."""

    operator: str
    error: float
    states: int

    def text(self, states: int) -> str:
        """Return a description: the distance from the threshold and the number of states."""
        return f"within {self.error:.2g} of the threshold in {self.states} of {states} states"


class Evaluation(Scope):
    """Scope of a model's properties: values of names and of operators.

    Parameters
    ----------
    state_space
        The states of the model.
    checker
        Evaluator of operators on its generator.
    rewards
        Function from a name or number to rewards per second without and with rewards of transitions, shape (n,) each.
    constants
        Constants of the properties.
    definitions
        Labels and properties by name.
    labels
        Function from a name to the label of the model; None for other names.

    Attributes
    ----------
    undecided
        Thresholds within the error bound of the compared numbers, in the order of evaluation.
    requested
        An operator, and the only state in which its value is needed; None: in all states.
    """

    def __init__(
        self,
        state_space: StateSpace,
        checker: Checker,
        rewards: Callable[[Any, Any], tuple[Vector, Vector]],
        constants: Mapping[str, Value],
        definitions: Definitions,
        labels: Callable[[str], Value | None],
    ) -> None:
        scope = state_space.instance.scope
        super().__init__(definitions.file, {**scope.symbols, **constants}, scope.formulas)
        self.state_space, self.checker = state_space, checker
        self.operators = Operators(checker, rewards, self)
        self.definitions, self.model_labels = definitions, labels
        self.labels = self._label
        self.n = checker.n
        self.undecided: list[Undecided] = []
        self.requested: tuple[Operator, int] | None = None
        self._enclosures: dict[int, tuple[Any, Enclosure]] = {}
        self._open_names: list[str] = []

    # ------------------------------------------------------------------ without operators

    def _label(self, name: str) -> Value | None:
        meaning = self.model_labels(name)
        if meaning is not None:
            return meaning
        if name == "deadlock":
            stuck = (self.checker.Q.diagonal() == 0.0) & (self.checker.loops == 0.0)
            return self._vector(np.asarray(stuck), "bool")
        if name == "init":
            marks = np.zeros(self.n, dtype=bool)
            marks[self.state_space.initial] = True
            return self._vector(marks, "bool")
        definition = self._definition(name)
        return None if definition is None else self._definition_value(name, definition)

    def _definition_value(self, name: str, definition: Any) -> Value:
        self._enter(name, definition)
        value = self.value(definition)
        self._open_names.pop()
        if name in self.definitions.labels:
            boolean(value, (self.file, definition.line), f'"{name}"')
        return value

    def _enter(self, name: str, definition: Any) -> None:
        """Begin the evaluation of a definition."""
        if isinstance(definition, FileError):
            raise definition
        if name in self._open_names:
            circle = " -> ".join([*self._open_names, name])
            raise FileError((self.file, definition.line), f"{circle}: properties in a circle")
        self._open_names.append(name)

    def _definition(self, name: str) -> Any:
        """Return the definition of a name in the properties' file; None for labels of the model and unknown names."""
        if name in ("deadlock", "init") or self.model_labels(name) is not None:
            return None
        return self.definitions.labels.get(name, self.definitions.properties.get(name))

    def _vector(self, values: NDArray[Any], kind: str) -> Value:
        numbers = self.state_space.columns.states

        def run(c: Columns) -> Any:
            if c.count == self.n:
                return values
            assert c.states is not None
            assert numbers is not None
            return values[np.searchsorted(numbers, c.states)]

        return Value(kind, run)

    def over_states(self, expression: Any) -> NDArray[Any]:
        """Return the values of an expression without operators in all states, shape (n,)."""
        value = self.value(expression)
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(value.run(self.state_space.columns)), self.n)

    def step_rewards(self, name: str) -> Vector:
        """Return the reward per second of transitions, shape (n,), by its name in the program."""
        program = self.state_space.instance.program
        if name not in program.steps:
            return np.zeros(self.n)
        earned: Vector = self.state_space.gains[list(program.steps).index(name)]
        return earned

    def number(self, expression: Any, role: str) -> float:
        """Return the value of a constant expression."""
        if self.has_operator(expression):
            raise FileError((self.file, expression.line), f"{role}: must be a constant number")
        value = self.value(expression)
        if not value.fixed or value.kind == "bool":
            raise FileError((self.file, expression.line), f"{role}: must be a constant number")
        return float(value.single())

    def has_operator(self, expression: Any, names: tuple[str, ...] = ()) -> bool:
        """Whether P, S, R or a filter is part of an expression or of the definitions that it names."""
        if isinstance(expression, (Operator, Filter)):
            return True
        if isinstance(expression, Label):
            if expression.name in names:
                return False
            definition = self._definition(expression.name)
            return definition is not None and self.has_operator(definition, (*names, expression.name))
        return any(self.has_operator(part, names) for part in _parts(expression))

    # ------------------------------------------------------------------ with operators

    def enclosure(self, expression: Any) -> Enclosure:
        """Return the values of an expression in each state: numbers with errors, or truth values.

        Raises
        ------
        FileError
            With the line, for an expression that cannot be evaluated.
        """
        if isinstance(expression, FileError):
            raise expression
        if id(expression) not in self._enclosures:  # kept with the expression: its id stays its own
            self._enclosures[id(expression)] = expression, self._evaluate(expression)
        return self._enclosures[id(expression)][1]

    def _evaluate(self, expression: Any) -> Enclosure:
        if not self.has_operator(expression):
            values = self.over_states(expression)
            if values.dtype == bool:
                return Truth.exactly(np.array(values))
            return Estimate(np.array(values, dtype=np.float64), np.zeros(self.n))
        match expression:
            case Operator():
                operator, state = self.requested or (None, None)
                estimate = self.operators.values(expression, state if operator is expression else None)
                return estimate if expression.sign is None else self._compare_threshold(expression, estimate)
            case Filter():
                return self._constant(self.filter_value(expression))
            case Label(name):
                definition = self._definition(name)
                self._enter(name, definition)
                meaning = self.enclosure(definition)
                self._open_names.pop()
                return meaning
            case Negation("!", of):
                return ~self.truth(of, "what ! applies to")
            case Negation(_, of):
                return calculate("-", self._zero(), self.numbers(of, "-")) or self._zero()
            case Chain(first, rest):
                return self._chain(first, rest, expression.line)
            case Choice(cases, otherwise):
                return self._choice(cases, otherwise, expression.line)
            case Call(name, of):
                return self._call(name, of, expression.line)
        raise FileError((self.file, expression.line), "an operator where a value is expected")

    def _zero(self) -> Estimate:
        return Estimate(np.zeros(self.n), np.zeros(self.n))

    def _constant(self, filter_value: FilterValue) -> Enclosure:
        """Return the value of a filter as the same value in each state."""
        if filter_value.value is None or isinstance(filter_value.value, bool):
            none, every = np.zeros(self.n, dtype=bool), np.ones(self.n, dtype=bool)
            sure = every if filter_value.value else none
            return Truth(sure, every if filter_value.value is None else sure)
        return Estimate(np.full(self.n, float(filter_value.value)), np.full(self.n, filter_value.error))

    def _chain(self, first: Any, rest: Any, line: int) -> Enclosure:
        result, location = self.enclosure(first), (self.file, line)
        for sign, part in rest:
            other = self.enclosure(part)
            if isinstance(result, Truth) and isinstance(other, Truth):
                result = _logical(sign, result, other, location)
            elif isinstance(result, Estimate) and isinstance(other, Estimate):
                if sign in ("<", "<=", ">", ">=", "=", "!="):
                    result = self._record_undecided(compare(sign, result, other), sign, result, other)
                else:
                    result = self._number(sign, result, other)
            else:
                raise FileError(location, f"{sign!r} of a truth value and a number")
        return result

    def _choice(self, cases: Any, otherwise: Any, line: int) -> Enclosure:
        result = self.enclosure(otherwise)
        for condition, value in reversed(cases):
            chosen = self.enclosure(value)
            if type(chosen) is not type(result):
                message = "a choice between numbers and truth values"
                raise FileError((self.file, line), message)
            result = select(self.truth(condition, "a condition"), chosen, result)
        return result

    def _call(self, name: str, arguments: Any, line: int) -> Enclosure:
        if name in ("min", "max"):
            return self._number(name, *(self.numbers(part, name) for part in arguments))
        message = f"{name} of P, S or R: only + - * / min and max are evaluated with a bound"
        raise FileError((self.file, line), message)

    def _number(self, name: str, *operands: Estimate) -> Estimate:
        result = calculate(name, *operands)
        if result is None:
            raise FileError((self.file, 1), f"{name!r} of numbers: must be of truth values")
        return result

    def numbers(self, expression: Any, role: str) -> Estimate:
        """Return the numbers of an expression in each state."""
        enclosure = self.enclosure(expression)
        if isinstance(enclosure, Truth):
            location = self.file, expression.line
            raise FileError(location, f"{role!r} of a truth value: must be of numbers")
        return enclosure

    def truth(self, expression: Any, role: str = "a set of states") -> Truth:
        """Return in which states an expression is true."""
        if not self.has_operator(expression):
            value = self.value(expression)
            boolean(value, (self.file, getattr(expression, "line", 1)), role)
        enclosure = self.enclosure(expression)
        if not isinstance(enclosure, Truth):
            location = self.file, expression.line
            raise FileError(location, f"{role} is a number: must be a truth value")
        return enclosure

    def filter_value(self, query: Filter) -> FilterValue:
        """Return the value of a filter over the states."""
        chosen = None if query.states is None else self.truth(query.states, "a filter's states")
        initial, location = self.state_space.initial, (self.file, query.line)
        return apply_filter(query.how, self.enclosure(query.of), chosen, initial, location)

    def _compare_threshold(self, operator: Operator, estimate: Estimate) -> Truth:
        """Compare with a threshold; probabilities with zero and one by the graph."""
        assert operator.threshold is not None
        limit, sign = self.number(operator.threshold, "a threshold"), operator.sign or ""
        written = f"{operator.kind}{sign}{operator.written}"
        if math.isnan(limit) or (operator.kind != "R" and not 0.0 <= limit <= 1.0):
            raise FileError((self.file, operator.line), f"{written}: must be a probability")
        if estimate.positive is not None and estimate.partial is not None and limit in (0.0, 1.0):
            every = Truth.exactly(np.ones(self.n, dtype=bool))
            above = estimate.positive if limit == 0.0 else ~every
            reached = every if limit == 0.0 else ~estimate.partial
            return {">": above, ">=": reached, "<": ~reached, "<=": ~above}[sign]
        threshold = Estimate(np.full(self.n, limit), np.zeros(self.n))
        return self._record_undecided(compare(sign, estimate, threshold), written, estimate, threshold)

    def _record_undecided(self, truth: Truth, operator: str, a: Estimate, b: Estimate) -> Truth:
        """Return the result of a comparison; record the states in which the errors do not decide it."""
        if not truth.decided:
            error = float((a.error + b.error)[truth.undecided].max()) * ROUNDED_UP
            count = int(truth.undecided.sum())
            self.undecided.append(Undecided(operator, error, count))
        return truth


def _logical(sign: str, a: Truth, b: Truth, location: Any) -> Truth:
    if sign == "&":
        return a & b
    if sign == "|":
        return a | b
    if sign == "=>":
        return ~a | b
    if sign in ("<=>", "="):
        return a.same_as(b)
    if sign == "!=":
        return ~a.same_as(b)
    raise FileError(location, f"{sign!r} of truth values: must be of numbers")


def _parts(expression: Any) -> list[Any]:
    """Return the direct subexpressions."""
    unvisited: list[Any] = [getattr(expression, name) for name in getattr(expression, "__dataclass_fields__", ())]
    parts: list[Any] = []
    while unvisited:
        part = unvisited.pop()
        if isinstance(part, tuple):
            unvisited.extend(part)
        elif hasattr(part, "__dataclass_fields__"):
            parts.append(part)
    return parts

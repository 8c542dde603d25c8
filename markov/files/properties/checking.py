"""Evaluation of properties on a model: the value of an expression with P, S and R in each state.

An expression without these operators has exact values. One with them is enclosed: its numbers have a bound
on their error, and its truth values may be undecided, as may be the sets of states that operators are about.
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
    Known,
    Truth,
    calculated,
    compared,
    selected,
)
from markov.files.properties.filters import Filtered, filtered
from markov.files.properties.operators import Operators
from markov.files.properties.queries import Filter, Operator
from markov.files.scopes import Scope
from markov.files.syntax import Call, Chain, Choice, Label, Negation
from markov.files.values import Value, boolean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.columns import Columns
    from markov.files.states.state_space import Explored

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["Definitions", "Evaluation", "Undecided"]


class Definitions(NamedTuple):
    """Expressions by their names in quotes: labels of the properties' file, and its properties."""

    file: str
    labels: Mapping[str, Any]
    properties: Mapping[str, Any]


class Undecided(NamedTuple):
    """A threshold that lies within the error of what is compared with it, in some of the states."""

    operator: str
    error: float
    states: int

    def text(self, of: int) -> str:
        """Return how close it is, in how many of all states."""
        return f"within {self.error:.2g} of the threshold in {self.states} of {of} states"


class Evaluation(Scope):
    """Scope of a model's properties: values of names and of operators.

    Parameters
    ----------
    explored
        The states of the model.
    checker
        Of its generator.
    rewards
        Gives rewards by their name or number: those per second in states, shape (n,), and those with
        the ones on transitions.
    known
        Constants of the properties.
    defined
        Labels and properties that may be named.
    labels
        The model's labels by their names; None for others.

    Attributes
    ----------
    undecided
        Thresholds that lie within the error bound of what is compared with them, in the order met.
    asked
        An operator, and the only state in which its value is asked for; None: none is so.
    """

    def __init__(
        self,
        explored: Explored,
        checker: Checker,
        rewards: Callable[[Any, Any], tuple[Vector, Vector]],
        known: Mapping[str, Value],
        defined: Definitions,
        labels: Callable[[str], Value | None],
    ) -> None:
        scope = explored.bound.scope
        super().__init__(defined.file, {**scope.known, **known}, scope.formulas)
        self.explored, self.checker = explored, checker
        self.operators = Operators(checker, rewards, self)
        self.defined, self.model_labels = defined, labels
        self.labels = self._label
        self.n = checker.n
        self.undecided: list[Undecided] = []
        self.asked: tuple[Operator, int] | None = None
        self._enclosed: dict[int, tuple[Any, Enclosure]] = {}
        self._open_names: list[str] = []

    # ------------------------------------------------------------------ without operators

    def _label(self, name: str) -> Value | None:
        found = self.model_labels(name)
        if found is not None:
            return found
        if name == "deadlock":
            stuck = (self.checker.Q.diagonal() == 0.0) & (self.checker.loops == 0.0)
            return self._vector(np.asarray(stuck), "bool")
        if name == "init":
            marks = np.zeros(self.n, dtype=bool)
            marks[self.explored.initial] = True
            return self._vector(marks, "bool")
        definition = self._definition(name)
        return None if definition is None else self._named_value(name, definition)

    def _named_value(self, name: str, definition: Any) -> Value:
        self._enter(name, definition)
        value = self.value(definition)
        self._open_names.pop()
        if name in self.defined.labels:
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
        """Return what the properties' file defines by a name that is no label of the model, or None."""
        if name in ("deadlock", "init") or self.model_labels(name) is not None:
            return None
        return self.defined.labels.get(name, self.defined.properties.get(name))

    def _vector(self, values: NDArray[Any], kind: str) -> Value:
        places = self.explored.columns.states

        def run(c: Columns) -> Any:
            if c.count == self.n:
                return values
            assert c.states is not None
            assert places is not None
            return values[np.searchsorted(places, c.states)]

        return Value(kind, run)

    def over_states(self, expression: Any) -> NDArray[Any]:
        """Return the values of an expression without operators in all states, shape (n,)."""
        value = self.value(expression)
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(value.run(self.explored.columns)), self.n)

    def earned_in_steps(self, name: str) -> Vector:
        """Return the reward per second of transitions, shape (n,), by its name in the program."""
        program = self.explored.bound.program
        if name not in program.steps:
            return np.zeros(self.n)
        earned: Vector = self.explored.gains[list(program.steps).index(name)]
        return earned

    def number(self, expression: Any, what: str) -> float:
        """Return the value of an expression that does not depend on the state."""
        if self.has_operator(expression):
            raise FileError((self.file, expression.line), f"{what}: must be a constant number")
        value = self.value(expression)
        if not value.fixed or value.kind == "bool":
            raise FileError((self.file, expression.line), f"{what}: must be a constant number")
        return float(value.single())

    def has_operator(self, expression: Any, names: tuple[str, ...] = ()) -> bool:
        """Whether P, S, R or a filter is part of an expression, or of what its names stand for."""
        if isinstance(expression, (Operator, Filter)):
            return True
        if isinstance(expression, Label):
            if expression.name in names:
                return False
            definition = self._definition(expression.name)
            return definition is not None and self.has_operator(definition, (*names, expression.name))
        return any(self.has_operator(part, names) for part in _parts(expression))

    # ------------------------------------------------------------------ with operators

    def enclosed(self, expression: Any) -> Enclosure:
        """Return the values of an expression in each state: numbers with errors, or truth values.

        Raises
        ------
        FileError
            With the line, for what cannot be evaluated.
        """
        if isinstance(expression, FileError):
            raise expression
        if id(expression) not in self._enclosed:  # kept with the expression: its id stays its own
            self._enclosed[id(expression)] = expression, self._evaluated(expression)
        return self._enclosed[id(expression)][1]

    def _evaluated(self, expression: Any) -> Enclosure:
        if not self.has_operator(expression):
            values = self.over_states(expression)
            if values.dtype == bool:
                return Truth.exactly(np.array(values))
            return Known(np.array(values, dtype=np.float64), np.zeros(self.n))
        match expression:
            case Operator():
                operator, state = self.asked or (None, None)
                known = self.operators.values(expression, state if operator is expression else None)
                return known if expression.sign is None else self._compared(expression, known)
            case Filter():
                return self._constant(self.filtered(expression))
            case Label(name):
                definition = self._definition(name)
                self._enter(name, definition)
                meant = self.enclosed(definition)
                self._open_names.pop()
                return meant
            case Negation("!", of):
                return ~self.truth(of, "what ! applies to")
            case Negation(_, of):
                return calculated("-", self._zero(), self.numbers(of, "-")) or self._zero()
            case Chain(first, rest):
                return self._chain(first, rest, expression.line)
            case Choice(cases, otherwise):
                return self._choice(cases, otherwise, expression.line)
            case Call(name, of):
                return self._call(name, of, expression.line)
        raise FileError((self.file, expression.line), "an operator where a value is expected")

    def _zero(self) -> Known:
        return Known(np.zeros(self.n), np.zeros(self.n))

    def _constant(self, found: Filtered) -> Enclosure:
        """Return the value of a filter as one in each state."""
        if found.value is None or isinstance(found.value, bool):
            none, every = np.zeros(self.n, dtype=bool), np.ones(self.n, dtype=bool)
            sure = every if found.value else none
            return Truth(sure, every if found.value is None else sure)
        return Known(np.full(self.n, float(found.value)), np.full(self.n, found.error))

    def _chain(self, first: Any, rest: Any, line: int) -> Enclosure:
        found, place = self.enclosed(first), (self.file, line)
        for sign, part in rest:
            other = self.enclosed(part)
            if isinstance(found, Truth) and isinstance(other, Truth):
                found = _joined(sign, found, other, place)
            elif isinstance(found, Known) and isinstance(other, Known):
                if sign in ("<", "<=", ">", ">=", "=", "!="):
                    found = self._noted(compared(sign, found, other), sign, found, other)
                else:
                    found = self._number(sign, found, other)
            else:
                raise FileError(place, f"{sign!r} of a truth value and a number")
        return found

    def _choice(self, cases: Any, otherwise: Any, line: int) -> Enclosure:
        found = self.enclosed(otherwise)
        for condition, value in reversed(cases):
            chosen = self.enclosed(value)
            if type(chosen) is not type(found):
                said = "a choice between numbers and truth values"
                raise FileError((self.file, line), said)
            found = selected(self.truth(condition, "a condition"), chosen, found)
        return found

    def _call(self, name: str, of: Any, line: int) -> Enclosure:
        if name in ("min", "max"):
            return self._number(name, *(self.numbers(part, name) for part in of))
        said = f"{name} of P, S or R: only + - * / min and max are evaluated with a bound"
        raise FileError((self.file, line), said)

    def _number(self, name: str, *of: Known) -> Known:
        found = calculated(name, *of)
        if found is None:
            raise FileError((self.file, 1), f"{name!r} of numbers: must be of truth values")
        return found

    def numbers(self, expression: Any, what: str) -> Known:
        """Return the numbers of an expression in each state."""
        found = self.enclosed(expression)
        if isinstance(found, Truth):
            place = self.file, expression.line
            raise FileError(place, f"{what!r} of a truth value: must be of numbers")
        return found

    def truth(self, expression: Any, what: str = "a set of states") -> Truth:
        """Return in which states an expression is true."""
        if not self.has_operator(expression):
            value = self.value(expression)
            boolean(value, (self.file, getattr(expression, "line", 1)), what)
        found = self.enclosed(expression)
        if not isinstance(found, Truth):
            place = self.file, expression.line
            raise FileError(place, f"{what} is a number: must be a truth value")
        return found

    def filtered(self, query: Filter) -> Filtered:
        """Return the value that a filter makes of those in the states."""
        chosen = None if query.states is None else self.truth(query.states, "a filter's states")
        initial, place = self.explored.initial, (self.file, query.line)
        return filtered(query.how, self.enclosed(query.of), chosen, initial, place)

    def _compared(self, operator: Operator, known: Known) -> Truth:
        """Compare with a threshold; probabilities with zero and one by the graph."""
        assert operator.threshold is not None
        limit, sign = self.number(operator.threshold, "a threshold"), operator.sign or ""
        written = f"{operator.kind}{sign}{operator.written}"
        if math.isnan(limit) or (operator.kind != "R" and not 0.0 <= limit <= 1.0):
            raise FileError((self.file, operator.line), f"{written}: must be a probability")
        if known.positive is not None and known.partial is not None and limit in (0.0, 1.0):
            every = Truth.exactly(np.ones(self.n, dtype=bool))
            above = known.positive if limit == 0.0 else ~every
            reached = every if limit == 0.0 else ~known.partial
            return {">": above, ">=": reached, "<": ~reached, "<=": ~above}[sign]
        threshold = Known(np.full(self.n, limit), np.zeros(self.n))
        return self._noted(compared(sign, known, threshold), written, known, threshold)

    def _noted(self, found: Truth, operator: str, a: Known, b: Known) -> Truth:
        """Return the result of a comparison; remember where the errors do not decide it."""
        if not found.decided:
            error = float((a.error + b.error)[found.undecided].max()) * ROUNDED_UP
            count = int(found.undecided.sum())
            self.undecided.append(Undecided(operator, error, count))
        return found


def _joined(sign: str, a: Truth, b: Truth, place: Any) -> Truth:
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
    raise FileError(place, f"{sign!r} of truth values: must be of numbers")


def _parts(expression: Any) -> list[Any]:
    """Return the expressions that an expression is made of."""
    found: list[Any] = [getattr(expression, name) for name in getattr(expression, "__dataclass_fields__", ())]
    parts: list[Any] = []
    while found:
        part = found.pop()
        if isinstance(part, tuple):
            found.extend(part)
        elif hasattr(part, "__dataclass_fields__"):
            parts.append(part)
    return parts

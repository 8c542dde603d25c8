"""Values of properties on a model: evaluation in all states, or from the initial state alone.

An expression without P, S and R has exact values. Other expressions are enclosed: numbers have a bound on their error,
and truth values may be undecided, as may be the sets of states in operators.

For infinitely many states, or too many for a list, values are computed from the initial state: long-run means by
`stationary`, probabilities until a time on a set of states that moves with the distribution (`follow_distribution`),
or, for states without numbers, on a set that grows along the flow (`Flow`). Probability that has left the set counts as
zero for the lower and in full for the upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hopflow.callers import warn_caller
from hopflow.results import Result, Status, UndecidedError
from markov.files.csl import Checker, Operators
from markov.files.enclosures import (
    OPERATIONS,
    ROUNDED_UP,
    Enclosure,
    Estimate,
    FilterValue,
    Truth,
    apply_filter,
    calculate,
    compare,
    select,
)
from markov.files.growing import growing_rows
from markov.files.language import (
    COMPARISONS,
    OPERATORS,
    Call,
    Chain,
    Choice,
    FileError,
    Label,
    Negation,
    Scope,
    Value,
    check_boolean,
    constant,
    negate,
)
from markov.files.queries import Filter, InitialStates, Operator, Path
from markov.files.rules import FileRules, StateExpressions
from markov.generators.plain import Calls
from markov.models.rules import scope_row
from markov.time.moving import follow_distribution
from markov.time.transients import Flow
from markov.time.uniformization import Uniformized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.growing import GrowingRows, TargetConditions
    from markov.files.language import Batch
    from markov.files.program import Instance
    from markov.files.search import StateSpace
    from markov.proofs.bounded import Bounded

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["Definitions", "Evaluation", "InitialStateEvaluation", "PropertyResult", "Undecided", "answer_property"]

EQUAL_VALUES = 1e-9
"""Relative difference below which the values of two states count as one that was rounded."""

# ---------------------------------------------------------------------------- evaluation in all states


class Definitions(NamedTuple):
    """The labels and properties of a properties file: expression trees by the names in quotes that refer to them."""

    file: str
    labels: Mapping[str, Any]
    properties: Mapping[str, Any]


class Undecided(NamedTuple):
    """A comparison that the errors leave undecided, with the largest error and the number of undecided states."""

    operator: str
    error: float
    states: int

    def text(self, states: int) -> str:
        """Return a description for messages: the distance from the threshold and the number of undecided states."""
        return f"within {self.error:.2g} of the threshold in {self.states} of {states} states"


class Evaluation(Scope):
    """Scope that evaluates the properties of a model in all states, operators included.

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
        self.labels = self._resolve_label
        self.n = checker.n
        self.undecided: list[Undecided] = []
        self.requested: tuple[Operator, int] | None = None
        self._enclosures: dict[int, tuple[Any, Enclosure]] = {}
        self._open_names: list[str] = []

    # ------------------------------------------------------------------ without operators

    def _resolve_label(self, name: str) -> Value | None:
        """Return the typed expression of a label or of a property without operators; None for other names."""
        meaning = self.model_labels(name)
        if meaning is not None:
            return meaning
        if name == "deadlock":
            stuck = (self.checker.Q.diagonal() == 0.0) & (self.checker.loops == 0.0)
            return self._values_by_state(np.asarray(stuck), "bool")
        if name == "init":
            return self._values_by_state(self._initial_marks(), "bool")
        definition = self._definition(name)
        return None if definition is None else self._definition_value(name, definition)

    def _initial_marks(self) -> NDArray[np.bool_]:
        """Return which states are initial, booleans of shape (n,)."""
        marks = np.zeros(self.n, dtype=bool)
        marks[self.state_space.initial] = True
        return marks

    def _definition_value(self, name: str, definition: Any) -> Value:
        """Return the typed expression of a label or a property of the properties file."""
        self._enter(name, definition)
        value = self.value(definition)
        self._open_names.pop()
        if name in self.definitions.labels:
            check_boolean(value, (self.file, definition.line), f'"{name}"')
        return value

    def _enter(self, name: str, definition: Any) -> None:
        """Mark a definition as being evaluated; FileError if it is so already: definitions in a circle."""
        if isinstance(definition, FileError):
            raise definition
        if name in self._open_names:
            circle = " -> ".join([*self._open_names, name])
            raise FileError((self.file, definition.line), f"{circle}: properties in a circle")
        self._open_names.append(name)

    def _definition(self, name: str) -> Any:
        """Return the tree of a label or property of the properties file.

        None for "deadlock" and "init", for names of labels of the model, which take precedence, and for unknown names.
        """
        if name in ("deadlock", "init") or self.model_labels(name) is not None:
            return None
        return self.definitions.labels.get(name, self.definitions.properties.get(name))

    def _values_by_state(self, values: NDArray[Any], kind: str) -> Value:
        """Return the typed expression with these values in the states, shape (n,)."""
        numbers = self.state_space.batch.states

        def run(c: Batch) -> Any:
            """Return the values in a batch of states."""
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
            return np.broadcast_to(np.asarray(value.run(self.state_space.batch)), self.n)

    def step_rewards(self, name: str) -> Vector:
        """Return the reward per second earned on transitions out of each state, shape (n,), by name."""
        program = self.state_space.instance.program
        if name not in program.steps:
            return np.zeros(self.n)
        earned: Vector = self.state_space.gains[list(program.steps).index(name)]
        return earned

    def number(self, expression: Any, role: str) -> float:
        """Return the value of a constant expression as a float; FileError for other expressions."""
        if self.has_operator(expression):
            raise FileError((self.file, expression.line), f"{role}: must be a constant number")
        value = self.value(expression)
        if not value.fixed or value.kind == "bool":
            raise FileError((self.file, expression.line), f"{role}: must be a constant number")
        return float(value.single())

    def has_operator(self, expression: Any, names: tuple[str, ...] = ()) -> bool:
        """Return whether an expression has an operator P, S, R or a filter, also in definitions that it names."""
        if isinstance(expression, (Operator, Filter)):
            return True
        if isinstance(expression, Label):
            if expression.name in names:
                return False
            definition = self._definition(expression.name)
            return definition is not None and self.has_operator(definition, (*names, expression.name))
        return any(self.has_operator(part, names) for part in _subexpressions(expression))

    # ------------------------------------------------------------------ with operators

    def enclosure(self, expression: Any) -> Enclosure:
        """Return the values of an expression in each state: numbers with error bounds, or three-valued truth.

        Raises
        ------
        FileError
            With the line, for an expression that cannot be evaluated.
        """
        if isinstance(expression, FileError):
            raise expression
        if id(expression) not in self._enclosures:  # with the expression, so that its id is not reused
            self._enclosures[id(expression)] = expression, self._evaluate(expression)
        return self._enclosures[id(expression)][1]

    def _evaluate(self, expression: Any) -> Enclosure:
        """Return the values of an expression in each state, without the cache of `enclosure`."""
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
                filter_value = self.filter_value(expression)
                if filter_value.value is None or isinstance(filter_value.value, bool):
                    none, every = np.zeros(self.n, dtype=bool), np.ones(self.n, dtype=bool)
                    sure = every if filter_value.value else none
                    return Truth(sure, every if filter_value.value is None else sure)
                return Estimate(np.full(self.n, float(filter_value.value)), np.full(self.n, filter_value.error))
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
                return self._apply_operators(first, rest, expression.line)
            case Choice(cases, otherwise):
                return self._select_case(cases, otherwise, expression.line)
            case Call(name, of):
                return self._apply_function(name, of, expression.line)
        raise FileError((self.file, expression.line), "an operator where a value is expected")

    def _zero(self) -> Estimate:
        """Return the number 0 in each state, without error."""
        return Estimate(np.zeros(self.n), np.zeros(self.n))

    def _apply_operators(self, first: Any, rest: Any, line: int) -> Enclosure:
        """Return the values, in each state, of operands joined by binary operators."""
        result, location = self.enclosure(first), (self.file, line)
        for sign, part in rest:
            other = self.enclosure(part)
            if isinstance(result, Truth) and isinstance(other, Truth):
                rule = OPERATORS[sign].truths
                if rule is None:
                    raise FileError(location, f"{sign!r} of truth values: must be of numbers")
                result = rule(result, other)
            elif isinstance(result, Estimate) and isinstance(other, Estimate):
                if sign in COMPARISONS:
                    result = self._record_undecided(compare(sign, result, other), sign, result, other)
                else:
                    result = self._calculate(sign, result, other)
            else:
                raise FileError(location, f"{sign!r} of a truth value and a number")
        return result

    def _select_case(self, cases: Any, otherwise: Any, line: int) -> Enclosure:
        """Return the values, in each state, of a choice between expressions."""
        result = self.enclosure(otherwise)
        for condition, value in reversed(cases):
            chosen = self.enclosure(value)
            if type(chosen) is not type(result):
                message = "a choice between numbers and truth values"
                raise FileError((self.file, line), message)
            result = select(self.truth(condition, "a condition"), chosen, result)
        return result

    def _apply_function(self, name: str, arguments: Any, line: int) -> Enclosure:
        """Return the values, in each state, of a function of operators; FileError unless it is in `OPERATIONS`."""
        if name not in OPERATIONS:
            functions = " and ".join(filter(str.isalpha, OPERATIONS))
            message = f"{name} of P, S or R: only + - * / {functions} are evaluated with a bound"
            raise FileError((self.file, line), message)
        return self._calculate(name, *(self.numbers(part, name) for part in arguments))

    def _calculate(self, name: str, *operands: Estimate) -> Estimate:
        """Return the result of an operator or function of numbers; FileError if it takes truth values."""
        result = calculate(name, *operands)
        if result is None:
            raise FileError((self.file, 1), f"{name!r} of numbers: must be of truth values")
        return result

    def numbers(self, expression: Any, role: str) -> Estimate:
        """Return the numbers of an expression in each state with error bounds; FileError for truth values."""
        enclosure = self.enclosure(expression)
        if isinstance(enclosure, Truth):
            location = self.file, expression.line
            raise FileError(location, f"{role!r} of a truth value: must be of numbers")
        return enclosure

    def truth(self, expression: Any, role: str = "a set of states") -> Truth:
        """Return the set of states in which an expression is true, three-valued; FileError for numbers."""
        if not self.has_operator(expression):
            value = self.value(expression)
            check_boolean(value, (self.file, getattr(expression, "line", 1)), role)
        enclosure = self.enclosure(expression)
        if not isinstance(enclosure, Truth):
            location = self.file, expression.line
            raise FileError(location, f"{role} is a number: must be a truth value")
        return enclosure

    def filter_value(self, query: Filter) -> FilterValue:
        """Return the value of a filter over the states, with an error bound."""
        initial, location = self.state_space.initial, (self.file, query.line)
        if isinstance(query.states, InitialStates):
            chosen: Truth | None = Truth.exactly(self._initial_marks())
        else:
            chosen = None if query.states is None else self.truth(query.states, "a filter's states")
        return apply_filter(query.how, self.enclosure(query.of), chosen, initial, location)

    def _compare_threshold(self, operator: Operator, estimate: Estimate) -> Truth:
        """Return where an operator's value satisfies its threshold; 0 and 1 are compared by the graph."""
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
        """Return ``truth`` unchanged, and record its undecided states in ``self.undecided``."""
        if not truth.decided:
            error = float((a.error + b.error)[truth.undecided].max()) * ROUNDED_UP
            count = int(truth.undecided.sum())
            self.undecided.append(Undecided(operator, error, count))
        return truth


def _subexpressions(expression: Any) -> list[Any]:
    """Return the direct subexpressions of an expression."""
    unvisited: list[Any] = [getattr(expression, name) for name in getattr(expression, "__dataclass_fields__", ())]
    parts: list[Any] = []
    while unvisited:
        part = unvisited.pop()
        if isinstance(part, tuple):
            unvisited.extend(part)
        elif hasattr(part, "__dataclass_fields__"):
            parts.append(part)
    return parts


# --------------------------------------------------------------------------------------------- results


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PropertyResult(Result):
    """Value of a CSL property, with an error bound.

    Attributes
    ----------
    text
        The property.
    value
        A number or a truth value, in the initial state or by the filter. None if it is
        undecided: the number lies within its error of the threshold.
    error_bound
        Rigorous bound on the absolute error of a number; 0 for a decided truth value; the error of the compared number
        for an undecided one; inf if no bound is proved. `relative_bound` is the relative error.
    values, errors, undecided
        In each state, shape (states,): numbers with their errors; or whether a property surely holds, and whether it is
        undecided. The probability that a set is reached within a time of many jumps is computed for the initial state
        alone: other states have 0.5 with an error of 0.5.
    status
        CONVERGED; UNDECIDED; INACCURATE where the error bound is infinite.
    reason
        Distance from the threshold and number of undecided states; or the number of states followed at once and of
        jumps.
    uncovered
        Inputs that the error bound does not cover: limits of species (SBML).
    seconds
        Wall-clock time, in s.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     text = "ctmc module m x : [0..1] init 0; [] x = 0 -> 3 : (x' = 1); endmodule"
    ...     _ = path.write_text(text)
    ...     found = read_prism(path).property("P=? [ F<=1 x=1 ]")
    >>> round(found.value, 12), found.error_bound < 1e-12  # 1 - exp(-3)
    (0.950212931632, True)

    The truth value of a result is that of a property with a threshold:

    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     _ = path.write_text(text)
    ...     found = read_prism(path).property("P>=0.95 [ F<=1 x=1 ]")
    >>> bool(found)
    True
    """

    text: str
    value: Any
    error_bound: float
    values: NDArray[Any]
    errors: NDArray[np.float64]
    undecided: NDArray[np.bool_]
    status: Status
    reason: str = ""
    uncovered: tuple[str, ...] = ()
    seconds: float = 0.0
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "values": ("state",), "errors": ("state",), "undecided": ("state",),
    }  # fmt: skip

    @property
    def relative_bound(self) -> float:
        """Bound on the relative error of a number, which may be small for rare events as well.

        inf if the number may be zero; nan for a property that is no number.
        """
        if isinstance(self.value, (bool, list)) or self.value is None:
            return math.nan
        minimum = abs(self.value) - self.error_bound
        return self.error_bound / minimum if minimum > 0.0 else (math.inf if self.error_bound else 0.0)

    def __bool__(self) -> bool:
        """Return the truth value of the property.

        Raises
        ------
        UndecidedError
            If it is undecided.
        TypeError
            For a property whose value is a number or a list.
        """
        if self.status is Status.UNDECIDED:
            raise UndecidedError(self)
        if not isinstance(self.value, bool):
            message = "has no truth value: compare its value"
            raise TypeError(f"{self.text}: {type(self.value).__name__} {message}")
        return self.value

    def summary(self) -> dict[str, object]:
        """Return the rows of the printed table: status, property, value with its bound, states, time."""
        undecided = self.status is Status.UNDECIDED
        shown: Any = f"undecided ({self.reason})" if undecided else self.value
        if undecided and isinstance(self.value, list):
            shown = f"{['undecided' if value is None else value for value in self.value]}, {shown}"
        note = f" ({self.reason})" if self.reason and not undecided else ""
        rows = {"status": f"{self.status}{note}", "property": self.text, "value": shown}
        if not undecided and not isinstance(self.value, (bool, list)):
            rows["error bound"] = f"{self.error_bound:.1e}, {self.relative_bound:.1e} of the value"
        states = len(self.values) or "infinitely many, or too many for a list: the value is that of the initial one"
        return {**rows, **scope_row(self.uncovered), "states": states, "time": f"{self.seconds:.3f} s"}

    def plot(self, ax: Any = None) -> Any:
        """Draw the property's values over the states, in descending order, and return the axes."""
        from hopflow.results import figure

        if ax is None:
            _, ax = figure()
        ax.plot(np.sort(np.asarray(self.values, dtype=float))[::-1], drawstyle="steps-mid")
        ax.set(xlabel="states, by descending value", ylabel="value", title=self.text)
        return ax


def answer_property(evaluation: Evaluation, query: Any, text: str) -> PropertyResult:
    """Return the result of a property: its values in all states, and the value of its filter."""
    how, states, inner = "default", None, query
    if isinstance(query, Filter):
        how, states, inner = query.how, query.states, query.of
    if isinstance(inner, Operator) and (inner.start is not None or inner.how):
        how, states = (inner.how or ("state",))[0], inner.start
    initial = evaluation.state_space.initial
    if isinstance(inner, Operator) and how in ("default", "state") and states is None and len(initial) == 1:
        evaluation.requested = inner, int(initial[0])
    evaluation.checker.settled = False
    enclosure = evaluation.enclosure(inner)
    value, error, filter_reason = evaluation.filter_value(Filter(how, inner, states, getattr(query, "line", 1)))
    if how in ("default", "state") and states is None and evaluation.state_space.is_start_assumed:
        _warn_of_assumed_start(evaluation, enclosure)
    undecided = value is None or (isinstance(value, list) and None in value)
    n, notes = evaluation.n, evaluation.undecided
    reason = "" if math.isfinite(error) else "no bound was found"
    if evaluation.checker.settled and not reason:
        reason = "long-run values, which are reached within the bound before the time"
    if undecided:
        several = len(notes) > 1
        causes = [f"{note.operator}: {note.text(n)}" if several else note.text(n) for note in notes]
        reason = "; ".join([filter_reason, *causes] if filter_reason else causes)
        error = max([error, *(note.error for note in notes)])
    status = Status.CONVERGED if math.isfinite(error) else Status.INACCURATE
    return PropertyResult(
        text=text,
        value=value,
        error_bound=error,
        values=enclosure.surely if isinstance(enclosure, Truth) else enclosure.values,
        errors=np.zeros(n) if isinstance(enclosure, Truth) else enclosure.error,
        undecided=enclosure.undecided if isinstance(enclosure, Truth) else np.zeros(n, dtype=bool),
        status=Status.UNDECIDED if undecided else status,
        reason=reason,
    )


def _warn_of_assumed_start(evaluation: Evaluation, enclosure: Enclosure) -> None:
    """Warn of files that give no initial state, unless all states have the same value."""
    values = enclosure.surely if isinstance(enclosure, Truth) else enclosure.values
    if not np.allclose(values, values[0], rtol=EQUAL_VALUES, atol=0.0):
        message = "the files give no initial state, and the value is that of state 0"
        remedy = "give the initial state the label init in .lab, or choose a state by a filter"
        warn_caller(UserWarning(f"{evaluation.state_space.instance.program.file}: {message}: {remedy}"), "markov")


# ------------------------------------------------------------------- evaluation from the initial state


TOLERANCE = 1e-9
MAX_FLOW_STATES = 1_000_000
MAX_USEFUL_ERROR = 1e-6
SUM_ROUNDING = 1e-9  # relative error of a sum of up to five million probabilities


class InitialStateEvaluation:
    """Evaluation of properties from the initial state alone, for models whose states are infinitely or too many.

    Parameters
    ----------
    instance
        The program.
    names
        Constants of the properties.
    max_states
        Largest number of states.
    """

    def __init__(self, instance: Instance, names: Mapping[str, Value], max_states: int) -> None:
        self.rules, self.names = FileRules(instance.program, instance.constants), names
        self.instance, self.max_states = instance.with_names(names), min(max_states, MAX_FLOW_STATES)
        self.expressions = StateExpressions(self.instance)
        self.reason = ""

    def result(self, query: Any, text: str, stationary: Callable[[], Any]) -> PropertyResult:
        """Return the value of a property in the initial state, with a bound on its error.

        Parameters
        ----------
        query, text
            The property.
        stationary
            Returns the stationary distribution.

        Raises
        ------
        FileError
            For a property that is not read for such models.
        """
        if isinstance(query, Filter) or not isinstance(query, Operator) or query.sign is not None:
            raise self._refusal(query)
        low, high = self._bounds(query, stationary)
        value = 0.5 * (low + high)
        half = math.nextafter(max(high - value, value - low), math.inf) if low < high else 0.0
        is_useful = half <= MAX_USEFUL_ERROR * max(1.0, abs(value))
        none: Any = np.zeros(0)
        return PropertyResult(
            text=text,
            value=value,
            error_bound=half,
            values=none,
            errors=none,
            undecided=none.astype(bool),
            status=Status.CONVERGED if is_useful else Status.INACCURATE,
            reason=self.reason,
        )

    def _bounds(self, query: Operator, stationary: Callable[[], Any]) -> tuple[float, float]:
        """Return a lower and an upper bound on the value of an operator; FileError for unsupported operators."""
        if query.kind == "S":
            return _bounds_of(stationary().bound(self._function(query.of)))
        if query.kind == "R" and query.of.kind == "S":
            return _bounds_of(stationary().bound(self._reward(query.reward, query.line)))
        if query.kind != "P":
            raise self._refusal(query)
        path: Path = query.of
        first, last = self.times(path)
        if path.kind not in "UFG" or not math.isfinite(last) or first not in (0.0, last):
            raise self._refusal(query)
        low, high = self._until_bounds(path, first, last)
        if path.kind != "G":
            return low, high
        complement = math.nextafter(1.0 - high, 0.0), math.nextafter(1.0 - low, 1.0)
        return complement if low < high else (1.0 - high, 1.0 - low)

    def _until_bounds(self, path: Path, first: float, last: float) -> tuple[float, float]:
        """Return bounds (low, high) on the probability that a set is entered at a time from first to last.

        The set is the target of the path, or its complement for G. ``first`` is 0, or ``last``: then the chain
        continues in states of the set.
        """
        inner = self._function(path.right)
        right = (lambda s: not inner(s)) if path.kind == "G" else inner
        left = self._function(path.left) if path.kind == "U" else lambda _s: True
        at_once = first == 0.0

        def stops(state: Any) -> bool:
            """Return whether the path formula is decided in a state: paths are followed no further."""
            return not left(state) or (at_once and right(state))

        calls = Calls(self.rules, None)
        start = calls.as_state(self.rules.start())
        if last == 0.0 or stops(start):
            inside = float(bool(right(start)) and (at_once or last == 0.0))
            return inside, inside
        rows = growing_rows(self.instance, self.conditions(path, at_once))
        if rows is not None:
            return self._bounds_by_moving_set(rows, path, at_once, last)
        self.reason = f"in up to {self.max_states} states"
        flow = Flow(calls, start, self.max_states, stops)
        projection, start_vector, _ = flow.grow(last, 0.5 * TOLERANCE, partial=True)
        distribution = Uniformized(projection.Q).distribution(start_vector, last, 0.5 * TOLERANCE)
        states = [flow.sets.states[k] for k in projection.numbers[: projection.size]]
        counted = np.array([bool(right(s)) and (at_once or not stops(s)) for s in states])
        low = float(distribution.values[: projection.size][counted].sum()) * (1.0 - SUM_ROUNDING)
        outside = float(distribution.values[projection.size :].sum()) * (1.0 + SUM_ROUNDING)
        error = float(distribution.error)
        return max(low - error, 0.0), min(low * (1.0 + 3.0 * SUM_ROUNDING) + outside + error, 1.0)

    def _bounds_by_moving_set(self, rows: GrowingRows, path: Path, at_once: bool, last: float) -> tuple[float, float]:
        """Return bounds (low, high) on the probability of a path formula, by a set of states that moves with time."""
        result = follow_distribution(rows, last, self.max_states)
        counted = np.zeros(len(result.states), dtype=bool)
        if not at_once:
            right = self.conditions(path, True)(rows.instance)[0]
            counted |= np.asarray(right.run(rows.batch(result.states)))
        self.reason = f"in up to {result.max_size} states at once, {result.products} products"
        if result.time < last:
            self.reason += f", followed until {result.time:.3g} s"
        elif result.lost > MAX_USEFUL_ERROR:
            self.reason += f", which {result.lost:.2g} of the probability has left"
        return result.between(counted)

    def conditions(self, path: Path, at_once: bool) -> TargetConditions:
        """Return a function from an instance to two conditions on states: target reached, path may continue."""
        location = self.instance.location(path.line)

        def conditions(instance: Instance) -> tuple[Value, Value]:
            """Return both conditions for the ranges of an instance."""
            scope = instance.with_names(self.names).scope
            is_target, may_continue = constant(False), constant(True)
            if at_once:
                is_target = check_boolean(scope.value(path.right), location, "what is reached")
                is_target = negate("!", is_target, location) if path.kind == "G" else is_target
            if path.kind == "U":
                may_continue = check_boolean(scope.value(path.left), location, "what holds until then")
            return is_target, may_continue

        return conditions

    def times(self, path: Path) -> tuple[float, float]:
        """Return the bounds (low, high) on the time of a path formula in s, 0 and inf where it has none."""
        low, high = path.interval.low, path.interval.high
        return self._time(low, 0.0), self._time(high, math.inf)

    def _time(self, tree: Any, otherwise: float) -> float:
        """Return the value of a time's expression in s, or ``otherwise`` for None."""
        return otherwise if tree is None else float(self.instance.scope.value(tree).single())

    def _function(self, tree: Any) -> Any:
        """Return an expression as a function of one state."""
        return self.expressions.function(tree)

    def _reward(self, name: Any, line: int) -> Any:
        """Return a reward structure, by name or number, as a function of one state."""
        names = list(self.instance.program.rewards)
        location = self.instance.location(line)
        if not names:
            raise FileError(location, "the model has no rewards")
        number = (name if isinstance(name, int) else 1) - 1
        chosen = names[number] if name is None or isinstance(name, int) else name
        if not isinstance(chosen, str) or chosen not in names:
            raise FileError(location, f"rewards {name!r}: must be one of {', '.join(names)}")
        key = chosen or f"reward {names.index(chosen) + 1}"
        return lambda state: self.rules.rewards(state)[key]

    def _refusal(self, query: Any) -> FileError:
        """Return the FileError for properties that are not evaluated from the initial state alone."""
        message = (
            "the model's states are infinitely many, or too many for a list: properties are S=? [ ... ], "
            "R=? [ S ] and P=? of F<=t, G<=t and U<=t, or at one time, without operators in them"
        )
        return FileError((self.instance.program.file, getattr(query, "line", None)), message)


def _bounds_of(estimate: Bounded) -> tuple[float, float]:
    """Return the lower and the upper bound of a value with bounds."""
    return estimate.lower, estimate.upper

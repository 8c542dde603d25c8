"""Evaluation of properties on a model: the value of an expression with P, S and R in each state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.csl import Checker, Known
from markov.files.errors import FileError
from markov.files.queries import Interval, Operator, Path
from markov.files.scopes import Scope
from markov.files.values import Value, boolean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.columns import Columns
    from markov.files.states.state_space import Explored

__all__ = ["Evaluation"]


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
    file
        Of the properties, in messages.
    properties
        Other properties that may be named.

    Attributes
    ----------
    undecided
        Thresholds that lie within the error bound of what is compared with them.
    """

    def __init__(
        self,
        explored: Explored,
        checker: Checker,
        rewards: Callable[[Any, Any], tuple[NDArray[np.float64], NDArray[np.float64]]],
        known: Mapping[str, Value],
        file: str,
        properties: Mapping[str, Any],
        labels: Callable[[str], Value | None],
    ) -> None:
        scope = explored.bound.scope
        super().__init__(file, {**scope.known, **known}, scope.formulas)
        self.explored, self.checker, self.rewards = explored, checker, rewards
        self.properties, self.model_labels = properties, labels
        self.labels = self._label_or_property
        self.n = checker.n
        self.undecided: list[str] = []
        self._open_properties: list[str] = []

    def _label_or_property(self, name: str) -> Value | None:
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
        if name not in self.properties or name in self._open_properties:
            return None
        self._open_properties.append(name)
        value = self.value(self.properties[name])
        self._open_properties.pop()
        return value

    def value(self, expression: Any, renamed: Mapping[str, str] | None = None) -> Value:
        """Return the value of an expression in each state; operators are evaluated immediately."""
        if isinstance(expression, FileError):
            raise expression
        if not isinstance(expression, Operator):
            return super().value(expression, renamed)
        known = self.known_values(expression)
        if expression.sign is None:
            return self._vector(known.values, "double")
        return self._vector(self._compared(expression, known), "bool")

    def _vector(self, values: NDArray[Any], kind: str) -> Value:
        places = self.explored.columns.states

        def run(c: Columns) -> Any:
            if c.count == self.n:
                return values
            assert c.states is not None
            assert places is not None
            return values[np.searchsorted(places, c.states)]

        return Value(kind, run)

    def over_states(self, expression: Any, what: str) -> NDArray[Any]:
        """Return the values of an expression in all states, shape (n,)."""
        value = self.value(expression)
        del what
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(value.run(self.explored.columns)), self.n)

    def truth(self, expression: Any, what: str = "a set of states") -> NDArray[np.bool_]:
        """Return in which states an expression is true, shape (n,)."""
        value = self.value(expression)
        line = getattr(expression, "line", 1)
        boolean(value, (self.file, line), what)
        found = np.broadcast_to(np.asarray(value.run(self.explored.columns)), self.n)
        return np.array(found, dtype=bool)

    def number(self, expression: Any, what: str) -> float:
        """Return the value of an expression that does not depend on the state."""
        value = self.value(expression)
        if not value.fixed or value.kind == "bool":
            raise FileError((self.file, expression.line), f"{what}: must be a constant number")
        return float(value.single())

    def _times(self, interval: Interval, line: int) -> tuple[float, float]:
        low = 0.0 if interval.low is None else self.number(interval.low, "a time")
        high = math.inf if interval.high is None else self.number(interval.high, "a time")
        if not 0.0 <= low <= high:
            raise FileError(
                (self.file, line), f"times {low:g} to {high:g}: must be 0 <= low <= high"
            )
        return low, high

    def known_values(self, operator: Operator) -> Known:
        """Return the numbers that an operator is about, in each state."""
        if operator.kind == "SR":
            return self.checker.long_run(self._rewards_of(operator)[1])
        if operator.kind == "S":
            return self.checker.long_run(self.truth(operator.of).astype(float))
        if operator.kind == "P":
            return self._probability(operator.of)
        return self._reward(operator)

    def _probability(self, path: Path) -> Known:
        checker = self.checker
        low, high = self._times(path.interval, path.line)
        if path.kind == "X":
            inner = (
                self._probability(path.right)
                if isinstance(path.right, Path)
                else Known(self.truth(path.right).astype(float), np.zeros(self.n))
            )
            return checker.next(inner, low, high)
        right = self.truth(path.right)
        everywhere = np.ones(self.n, dtype=bool)
        if path.kind == "state":
            return Known(right.astype(float), np.zeros(self.n))
        if path.kind == "F":
            return self._until(everywhere, right, low, high)
        if path.kind == "G":
            return self._until(everywhere, ~right, low, high).negated()
        left = self.truth(path.left)
        if path.kind == "U":
            return self._until(left, right, low, high)
        if path.kind == "W":  # not: (left and not right) until neither
            return self._until(left & ~right, ~left & ~right, low, high).negated()
        return self._until(~left, ~right, low, high).negated()

    def _until(
        self, left: NDArray[np.bool_], right: NDArray[np.bool_], low: float, high: float
    ) -> Known:
        if low == 0.0 and math.isinf(high):
            return self.checker.until(left, right)
        return self.checker.until_between(left, right, low, high)

    def _reward(self, operator: Operator) -> Known:
        path: Path = operator.of
        states, total = self._rewards_of(operator)
        low, high = self._times(path.interval, path.line)
        if path.kind == "S":
            return self.checker.long_run(total)
        if path.kind == "I":
            return self.checker.reward_at(states, low)
        if path.kind == "C" and math.isinf(high):
            return self.checker.reward_in_all(total)
        if path.kind == "C":
            return self.checker.reward_within(total, high)
        return self.checker.reward_until(total, self.truth(path.right))

    def _rewards_of(self, operator: Operator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rewards per second in states, and with those on transitions, shape (n,) each."""
        place = self.file, operator.line
        if not isinstance(operator.reward, tuple):
            return self.rewards(operator.reward, place)
        tree, earned = operator.reward  # of JANI: an expression, and what transitions earn
        states = np.zeros(self.n)
        if tree is not None:
            states = np.array(self.over_states(tree, "a reward"), dtype=np.float64)
        if earned is None:
            return states, states
        mine, both = self.rewards(earned, place)
        return states, states + (both - mine)

    def _compared(self, operator: Operator, known: Known) -> NDArray[np.bool_]:
        """Compare with a threshold; note where the error bound does not decide."""
        assert operator.threshold is not None
        limit = self.number(operator.threshold, "a threshold")
        if math.isnan(limit) or (operator.kind != "R" and not 0.0 <= limit <= 1.0):
            said = f"{operator.kind}{operator.sign}{limit:g}: must be a probability"
            raise FileError((self.file, operator.line), said)
        values, error = known.values, known.error
        above = operator.sign in (">", ">=")
        strict = operator.sign in (">", "<")
        if operator.kind == "P" and limit == 0.0 and strict and above:
            return np.asarray((values > 0.0) | (error > 0.0))  # exact zeros come from the graph
        holds = {
            ">": values > limit,
            ">=": values >= limit,
            "<": values < limit,
            "<=": values <= limit,
        }[operator.sign or ""]
        close = (np.abs(values - limit) <= error) & (error > 0.0)
        if close.any():
            self.undecided.append(
                f"{operator.kind}{operator.sign}{limit:g} in {int(close.sum())} of {self.n} states"
            )
        return np.asarray(holds)

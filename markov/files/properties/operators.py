"""Values of the operators P, S and R in each state, for sets of states that may be undecided.

P and S are monotone in these sets: the minimum and the maximum possible set give the bounds of an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from markov.files.errors import FileError
from markov.files.properties.csl import Checker
from markov.files.properties.enclosures import Estimate, Truth
from markov.files.properties.queries import Accumulated, Interval, Operator, Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["Operators", "States"]


class States(Protocol):
    """Evaluation of the expressions in operators."""

    file: str

    def truth(self, expression: Any, what: str = ...) -> Truth:
        """Return the set of states in which an expression is true."""

    def number(self, expression: Any, what: str) -> float:
        """Return the value of a constant expression."""

    def over_states(self, expression: Any) -> NDArray[Any]:
        """Return the values of an expression without operators in all states, shape (n,)."""

    def step_rewards(self, name: str) -> NDArray[np.float64]:
        """Return the reward per second of transitions, shape (n,), by its name in `Program.steps`."""


class Operators:
    """Values of operators.

    Parameters
    ----------
    checker
        Evaluator on the generator.
    rewards
        Function from a name or number to rewards per second without and with rewards of transitions, shape (n,) each.
    scope
        Evaluates the expressions in the operators.
    """

    def __init__(
        self,
        checker: Checker,
        rewards: Callable[[Any, Any], tuple[Vector, Vector]],
        scope: States,
    ) -> None:
        self.checker, self.rewards, self.scope = checker, rewards, scope
        self.n = checker.n

    def values(self, operator: Operator, state: int | None = None) -> Estimate:
        """Return the numbers of an operator in each state.

        With a ``state``, other states may have wide bounds.
        """
        if operator.kind == "SR":
            return self.checker.long_run(self._rewards_of(operator)[1])
        if operator.kind == "S":
            return _monotone(self.checker.long_run_probability, self.scope.truth(operator.of))
        if operator.kind == "P":
            return self._probability(operator.of, state)
        return self._reward(operator)

    def long_run_function(self, operator: Operator) -> Vector | None:
        """Return the function, shape (n,), whose long-run mean an operator is; None for other operators."""
        if operator.kind == "SR":
            return self._rewards_of(operator)[1]
        if operator.kind == "S":
            states = self.scope.truth(operator.of)
            return states.surely.astype(np.float64) if states.decided else None
        if operator.kind == "R" and operator.of.kind == "S":
            return self._rewards_of(operator)[1]
        return None

    def _times(self, interval: Interval, line: int) -> tuple[float, float]:
        low = 0.0 if interval.low is None else self.scope.number(interval.low, "a time")
        high = math.inf if interval.high is None else self.scope.number(interval.high, "a time")
        if not 0.0 <= low <= high:
            raise FileError((self.scope.file, line), f"times {low:g} to {high:g}: must be 0 <= low <= high")
        return low, high

    def _probability(self, path: Path, state: int | None = None) -> Estimate:
        low, high = self._times(path.interval, path.line)
        if path.kind == "X":
            inner = self._probability(path.right) if isinstance(path.right, Path) else self._now(path.right)
            return self.checker.next(inner, low, high)
        if path.kind == "state":
            return self._now(path.right)
        right = self.scope.truth(path.right)
        everywhere = Truth.exactly(np.ones(self.n, dtype=bool))
        if path.kind == "F":
            return self._until(everywhere, right, (low, high), state)
        if path.kind == "G":
            return self._avoidance(everywhere, ~right, (low, high), state)
        left = self.scope.truth(path.left)
        if path.kind == "U":
            return self._until(left, right, (low, high), state)
        if path.kind == "W":  # not: (left and not right) until neither
            return self._avoidance(left & ~right, ~left & ~right, (low, high), state)
        return self._avoidance(~left, ~right, (low, high), state)

    def _now(self, states: Any) -> Estimate:
        """Return the probability that the first state belongs to a set: zero or one."""

        def indicator(marks: Marks) -> Estimate:
            positive = Truth.exactly(marks)
            return Estimate(marks.astype(float), np.zeros(self.n), positive, ~positive)

        return _monotone(indicator, self.scope.truth(states))

    def _until(self, left: Truth, right: Truth, times: tuple[float, float], state: int | None) -> Estimate:
        def until(left: Marks, right: Marks) -> Estimate:
            return self.checker.until_between(left, right, times, state)

        return _monotone(until, left, right)

    def _avoidance(self, left: Truth, right: Truth, times: tuple[float, float], state: int | None) -> Estimate:
        """Return one minus the probability of an until operator, directly for finite times: it may be small."""

        def avoidance(not_left: Marks, not_right: Marks) -> Estimate:
            return self.checker.until_between(~not_left, ~not_right, times, state, avoided=True)

        return _monotone(avoidance, ~left, ~right)

    def _reward(self, operator: Operator) -> Estimate:
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
        target = self.scope.truth(path.right)
        if not target.decided and (total < 0.0).any():
            estimate = self.checker.reward_until(total, target.surely)
            return Estimate(estimate.values, np.full(self.n, np.inf))
        return _monotone(lambda others: self.checker.reward_until(total, ~others), ~target)

    def _rewards_of(self, operator: Operator) -> tuple[Vector, Vector]:
        """Return rewards per second without and with rewards of transitions, shape (n,) each."""
        location = self.scope.file, operator.line
        if not isinstance(operator.reward, Accumulated):
            return self.rewards(operator.reward, location)
        reward = operator.reward
        states = self._over_states(reward.state)
        total = states
        if reward.leaving is not None:
            total = total + self._over_states(reward.leaving) * (self.checker.loops - self.checker.Q.diagonal())
        if reward.step is not None:
            total = total + self.scope.step_rewards(reward.step)
        return states, total

    def _over_states(self, tree: Any) -> Vector:
        """Return the numbers of an expression in all states, shape (n,); zeros for None."""
        if tree is None:
            return np.zeros(self.n)
        return np.array(self.scope.over_states(tree), dtype=np.float64)


def _monotone(function: Callable[..., Estimate], *sets: Truth) -> Estimate:
    """Return the values of a monotone function of sets of states."""
    low = function(*(states.surely for states in sets))
    if all(states.decided for states in sets):
        return low
    return Estimate.between(low, function(*(states.possibly for states in sets)))

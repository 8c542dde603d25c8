"""Values of P, S and R in every state, each with a bound on its error.

The graph alone gives the sets of states where a probability is exactly 0 or 1. In other states it follows from linear
equations or uniformization, both with rigorous bounds. Sets of states in operators may be undecided: P and S are
monotone in them, so that the minimum and the maximum possible set give the bounds of an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp

from hopflow.callers import warn_caller
from hopflow.fork_safety import cached_property
from markov.chains import MarkovChain
from markov.computing.matrices import leads_to, off_diagonal, stop_outside
from markov.computing.rounding import U
from markov.driver import Proof, stationary
from markov.files.enclosures import Estimate, Truth, calculate, probability
from markov.files.language import FileError
from markov.files.queries import Accumulated, Interval, Operator, Path
from markov.time.absorbing import Absorbing
from markov.time.endless_rewards import common_sign, total_rewards
from markov.time.exponentials import squaring_pays
from markov.time.passage_times import MIN_RELATIVE_PROBABILITY, PassageTime, stopping_rates
from markov.time.squaring import Evolution
from markov.time.uniformization import MIN_JUMPS_FOR_LIMIT, Limit, Uniformized

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    Marks = NDArray[np.bool_]

__all__ = ["Checker", "OperatorScope", "Operators"]

# --------------------------------------------------------------------------------- measures of a chain


TOLERANCE = 1e-13
MAX_RELATIVE_ERROR = 1e-11  # relative error above which the requested probability is computed separately
MAX_PRODUCTS = 2e9  # of uniformization, beyond which only the requested state has a probability


class Checker:
    """Values of CSL operators on a chain in every state, with bounds on their errors; it caches stationary solutions.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    loops
        Rates of the transitions from each state to itself, shape (n,): a jump may be one.
    proof
        Proof of stationary distributions, as for `stationary`.
    """

    def __init__(self, Q: sp.csr_matrix, loops: Vector, proof: Proof = True) -> None:
        self.Q, self.loops, self.proof = Q, loops, proof
        self._answers: dict[int, Any] = {}  # by the number of the class
        self.settled = False  # whether a value is a long-run value, reached before the time
        self.n = Q.shape[0]
        self.chain = MarkovChain(Q) if self.n else None
        self.rates = off_diagonal(Q)

    @cached_property
    def _rates_transposed(self) -> sp.csr_matrix:
        """The transposed rate matrix, shape (n, n): row y has the rates into state y."""
        return sp.csr_matrix(self.rates.T)

    def leads_to(self, target: Marks, within: Marks | None = None) -> Marks:
        """Return which states reach a target state through states of ``within`` (None: all states), shape (n,)."""
        return leads_to(self._rates_transposed, target, within)

    def until(self, left: Marks, right: Marks) -> Estimate:
        """Return P(left U right), the probability to reach ``right`` through ``left`` at any time, from each state."""
        possible = self.leads_to(right, left & ~right)
        certain = ~self.leads_to(~possible, left & ~right)  # states that cannot reach an impossible state
        certain &= possible
        uncertain = possible & ~certain
        values, error = certain.astype(float), np.zeros(self.n)
        if uncertain.any():
            system = Absorbing(self.Q, uncertain)
            values[uncertain], error[uncertain] = system.solve(system.rates_into(certain))
            values = np.clip(values, 0.0, 1.0)
        return self._with_exact_sets(values, error, possible, ~certain)

    def _with_exact_sets(self, values: Vector, error: Vector, positive: Marks, partial: Marks) -> Estimate:
        """Return probabilities with errors; they are positive, and below one, in exactly the marked states."""
        return probability(values, error, Truth.exactly(positive), Truth.exactly(partial))

    def until_within(
        self,
        left: Marks,
        right: Marks,
        time: float,
        state: int | None = None,
        avoided: bool = False,
    ) -> Estimate:
        """Return P(left U[0, time] right) from each state, for a finite time; with ``avoided``, one minus it.

        It is one in the right states only: in others no jump may happen until then. In ``state`` the error is relative
        to the probability, however small it is; over many jumps the other states have no better bounds than 0 and 1.
        """
        possible = self.leads_to(right, left & ~right) if time > 0.0 else right
        uncertain = possible & ~right
        values, error = (right != avoided).astype(float), np.zeros(self.n)
        if uncertain.any():
            part, into = stop_outside(self.rates, uncertain, right)
            rewards = 1.0 - into if avoided else into
            reached = self._until_probabilities((part, rewards), (uncertain, right), time, state)
            values[uncertain], error[uncertain] = reached
        sets = (~right, possible) if avoided else (possible, ~right)
        return self._with_exact_sets(values, error, *sets)

    def _until_probabilities(
        self,
        stopping: tuple[sp.csr_matrix, Vector],
        sets: tuple[Marks, Marks],
        time: float,
        state: int | None,
    ) -> tuple[Vector, Vector]:
        """Return the probability of an until formula within a time from each running state, and its error.

        ``stopping`` is the stopped chain, whose last two states stand for the right and all other states, with the
        function: one in the right state, or in all other states. ``sets`` are the running and the right states. For few
        states, or if uniformization needs many terms, the error is relative to each probability.
        """
        (part, rewards), (running, right) = stopping, sets
        jumps = Uniformized(part)
        if squaring_pays(len(rewards), jumps.rate * time, part.nnz):
            with suppress(ValueError):  # no bound is proved
                evolution = Evolution(stopping_rates(self.rates, running, right), time, time)
                evolved = evolution.backward(rewards, [time])
                reached = evolved.values[0, :-2]
                error = evolved.relative[0] * (1.0 + 8.0 * U) * reached + evolved.absolute[0]
                return np.clip(reached, 0.0, 1.0), error
        row = -1 if state is None or not running[state] else int(running[:state].sum())
        if is_long := row >= 0 and jumps.rate * time * part.nnz > MAX_PRODUCTS:
            separate = self._probability_from_state(row, sets, time, avoided=rewards[-2] == 0.0)
            if separate is not None:
                values, error = np.full((2, len(rewards) - 2), 0.5)
                values[row], error[row] = separate
                return values, error
        limit = None
        if jumps.rate * time > MIN_JUMPS_FOR_LIMIT:
            ever = self.until(running, right)
            ever = ever.complement() if rewards[-2] == 0.0 else ever
            if np.isfinite(ever.error).all():
                limit = Limit(
                    np.append(ever.values[running], rewards[-2:]), float(ever.error[running].max(initial=0.0))
                )
        result = jumps.expectation(rewards, time, TOLERANCE, limit)
        self.settled |= result.settled
        error = np.full(len(rewards) - 2, result.error + self._summation_error(result.steps))
        values = np.clip(result.values[:-2], 0.0, 1.0)
        if row >= 0 and not is_long and error[row] > MAX_RELATIVE_ERROR * values[row]:
            separate = self._probability_from_state(row, sets, time, avoided=rewards[-2] == 0.0)
            values[row], error[row] = separate or (values[row], error[row])
        return values, error

    def _probability_from_state(
        self, row: int, sets: tuple[Marks, Marks], time: float, avoided: bool
    ) -> tuple[float, float] | None:
        """Return the probability from one running state with a relative error; None if it takes too long."""
        running, right = sets
        Q = sp.csr_matrix(sp.diags(running.astype(np.float64)) @ self.Q)
        start = np.zeros(self.n)
        start[np.flatnonzero(running)[row]] = 1.0
        try:
            distribution = PassageTime(MarkovChain(Q), right, start).at(np.array([time]))
        except ValueError:  # no slowest decay is proved, and there are too many jumps
            return None
        value = float((distribution.survival if avoided else distribution.cdf)[0])
        relative = float(distribution.relative_error[0]) * value if value > MIN_RELATIVE_PROBABILITY else np.inf
        return value, min(float(distribution.error_bound[0]), relative)

    def _summation_error(self, steps: int) -> float:
        """Return a bound on the rounding errors of sums of rates into a set, over all uniformization steps."""
        return steps * int(np.diff(self.rates.indptr).max(initial=0)) * U

    def until_between(
        self,
        left: Marks,
        right: Marks,
        times: tuple[float, float],
        state: int | None = None,
        avoided: bool = False,
    ) -> Estimate:
        """Return P(left U[low, high] right) from each state; ``high`` may be inf, others as for `until_within`."""
        low, high = times
        if low == 0.0 and not np.isinf(high):
            return self.until_within(left, right, high, state, avoided)
        infinite = np.isinf(high)
        result = self.until(left, right) if infinite else self.until_within(left, right, high - low)
        if low > 0.0:
            result = self.value_while(left, low, result)
        return result.complement() if avoided else result

    def value_while(self, left: Marks, time: float, later: Estimate) -> Estimate:
        """Return E[later(X(time)); the chain stays in ``left`` until then] from each state, for time > 0.

        Every finite sequence of jumps has a positive probability. So the value is positive if a sequence through left
        states ends in a state where ``later`` is positive, and one if no sequence leads elsewhere.
        """
        assert later.positive is not None
        assert later.partial is not None
        values, error = np.zeros(self.n), np.zeros(self.n)
        if left.any():
            part, _ = stop_outside(self.rates, left, np.zeros(self.n, dtype=bool))
            rewards = np.append(later.values[left], [0.0, 0.0])
            jumps = Uniformized(part)
            limit = Checker(part, np.zeros(len(rewards)), self.proof)._long_run_limit(jumps, rewards, time)
            result = jumps.expectation(rewards, time, TOLERANCE, limit)
            self.settled |= result.settled
            values[left] = np.clip(result.values[:-2], 0.0, 1.0)
            error[left] = result.error + self._summation_error(result.steps) + float(later.error[left].max())
        positive = later.positive.map(lambda marks: self.leads_to(left & marks, left))
        partial = later.partial.map(lambda marks: self.leads_to(~left | marks))
        return probability(values, error, positive, partial)

    def next(self, later: Estimate, low: float, high: float) -> Estimate:
        """Return E[later(state after the first jump); the jump is between low and high] from each state.

        A state without transitions has a loop of rate one.
        """
        assert later.positive is not None
        assert later.partial is not None
        leaving = -np.asarray(self.Q.diagonal()) + self.loops
        moves = leaving > 0.0
        rate = np.where(moves, leaving, 1.0)
        mean = (self.rates @ later.values + self.loops * later.values) / rate
        errors = (self.rates @ later.error + self.loops * later.error) / rate
        mean, errors = np.where(moves, mean, later.values), np.where(moves, errors, later.error)
        span = np.exp(-rate * low) - (0.0 if np.isinf(high) else np.exp(-rate * high))
        max_terms = int(np.diff(self.rates.indptr).max(initial=0)) + 8

        def may_be_followed(marks: Marks) -> Marks:
            """Return the states with a marked successor."""
            jumped = (self.rates @ marks.astype(float) > 0.0) | ((self.loops > 0.0) & marks)
            return np.where(moves, jumped, marks)

        never, always = np.full(self.n, low == high), np.full(self.n, low == 0.0 and np.isinf(high))
        positive = later.positive.map(lambda marks: may_be_followed(marks) & ~never)
        partial = later.partial.map(lambda marks: may_be_followed(marks) | ~always)
        return probability(mean * span, errors + max_terms * U * np.abs(mean), positive, partial)

    def _reward_by_squaring(self, rewards: Vector, time: float) -> Estimate | None:
        """Return E[rewards(X(time))] from each state by squaring; None for many states, or without a proof."""
        lowest = float(rewards.min())
        if not squaring_pays(self.n, -float(self.Q.diagonal().min()) * time, self.Q.nnz):
            return None
        rates = np.zeros((2, self.n, self.n))
        rates[0] = self.rates.toarray()
        try:
            evolution = Evolution(rates, time, time)
        except ValueError:  # no bound is proved
            return None
        above = evolution.backward(rewards - lowest, [time])  # its terms are not negative
        values = above.values[0]
        errors = (above.relative[0] + 4.0 * U) * values + above.absolute[0] + 4.0 * U * abs(lowest)
        return Estimate(values + lowest, errors)

    def _long_run_limit(self, jumps: Uniformized, values: Vector, time: float) -> Limit | None:
        """Return long-run means of a function from each state, if ``time`` is far enough to need them; else None."""
        if jumps.rate * time <= MIN_JUMPS_FOR_LIMIT:
            return None
        mean = self.long_run(values)
        error = float(mean.error.max(initial=0.0))
        return Limit(mean.values, error) if np.isfinite(error) else None

    # ------------------------------------------------------------------ rewards

    def reward_until(self, rewards: Vector, target: Marks) -> Estimate:
        """Return the mean reward until a state of ``target`` is reached, from each state; inf where it may never be."""
        certain = ~self.leads_to(~self.leads_to(target), ~target)
        return self._reward_while(rewards, certain & ~target, ~certain)

    def _reward_while(self, rewards: Vector, running: Marks, infinite: Marks) -> Estimate:
        """Return the mean reward while the chain stays in ``running`` states; inf in those marked in ``infinite``."""
        values, error = np.where(infinite, np.inf, 0.0), np.zeros(self.n)
        if running.any():
            values[running], error[running] = Absorbing(self.Q, running).solve(rewards[running])
        return Estimate(values, error)

    def reward_within(self, rewards: Vector, time: float) -> Estimate:
        """Return the mean reward that is accumulated from time 0 to ``time``, from each state."""
        jumps = Uniformized(self.Q)
        result = jumps.accumulated(rewards, time, TOLERANCE, self._long_run_limit(jumps, rewards, time))
        self.settled |= result.settled
        estimate = Estimate(result.values, np.full(self.n, result.error))
        if result.error <= MAX_RELATIVE_ERROR * np.abs(result.values).max():
            return estimate
        ending = self._reward_before(rewards, time)
        if ending is None:
            return estimate
        is_closer = ending.error < estimate.error
        values = np.where(is_closer, ending.values, estimate.values)
        return Estimate(values, np.where(is_closer, ending.error, estimate.error))

    def _reward_before(self, rewards: Vector, time: float) -> Estimate | None:
        """Return the reward within a time as the total reward less that after it, whose error does not grow with time.

        None where rewards are earned for ever from a state.
        """
        total = self.total_reward(rewards)
        if not np.isfinite(total.values + total.error).all():
            return None
        later = self.reward_at(total.values, time)
        errors = np.nextafter(later.error + total.error.max(initial=0.0), np.inf)
        return calculate("-", total, Estimate(later.values, errors))

    def reward_at(self, rewards: Vector, time: float) -> Estimate:
        """Return the mean reward rate at ``time``, E[rewards(X(time))], from each state."""
        jumps = Uniformized(self.Q)
        try:
            result = jumps.expectation(rewards, time, TOLERANCE, self._long_run_limit(jumps, rewards, time))
        except ValueError:  # too many products
            evolved = self._reward_by_squaring(rewards, time)
            if evolved is None:
                raise
            return evolved
        self.settled |= result.settled
        return Estimate(result.values, np.full(self.n, result.error))

    def total_reward(self, rewards: Vector) -> Estimate:
        """Return the mean reward that is accumulated for ever, from each state.

        inf or -inf where it grows without bound; NaN where it has no limit.
        """
        assert self.chain is not None
        ends, signs = np.zeros(self.n, dtype=bool), np.zeros(self.n)
        for number, states in enumerate(self.chain.closed_classes):
            sign = common_sign(rewards[states])
            if np.isnan(sign):
                mean, mean_error = self._class_mean(number, rewards)
                sign = np.sign(mean) if abs(mean) > mean_error else np.nan
            ends[states], signs[states] = sign == 0.0, sign
        return Estimate(*total_rewards(self.Q, self._rates_transposed, rewards, ends, signs))

    def long_run_probability(self, marks: Marks) -> Estimate:
        """Return the long-run share of time in the marked states, from each state.

        It is positive if a closed class with a state of the set is reachable.
        """
        assert self.chain is not None
        estimate = self.long_run(marks.astype(float))
        class_kinds = np.zeros((2, self.n), dtype=bool)
        for states in self.chain.closed_classes:
            class_kinds[0, states], class_kinds[1, states] = marks[states].any(), not marks[states].all()
        return self._with_exact_sets(
            estimate.values, estimate.error, self.leads_to(class_kinds[0]), self.leads_to(class_kinds[1])
        )

    def long_run(self, rewards: Vector) -> Estimate:
        """Return the long-run mean of a reward rate, from each state, through all reachable closed classes."""
        assert self.chain is not None
        classes = self.chain.closed_classes
        values, error = np.zeros(self.n), np.zeros(self.n)
        means = [self._class_mean(number, rewards) for number in range(len(classes))]
        for states, (mean, mean_error) in zip(classes, means, strict=True):
            values[states], error[states] = mean, mean_error
        running = np.ones(self.n, dtype=bool)
        running[np.concatenate(classes)] = False
        if running.any():
            if len(classes) == 1:
                values[running], error[running] = means[0]
                return Estimate(values, error)
            system = Absorbing(self.Q, running)
            for states, (mean, mean_error) in zip(classes, means, strict=True):
                into = np.zeros(self.n, dtype=bool)
                into[states] = True
                if mean == 0.0 and mean_error == 0.0:
                    continue
                share, share_error = system.solve(system.rates_into(into))
                values[running] += share * mean
                error[running] += share_error * (abs(mean) + mean_error) + share * mean_error
            error[running] += U * len(classes) * np.abs(values[running])
        return Estimate(values, error)

    def _class_mean(self, number: int, rewards: Vector) -> tuple[float, float]:
        """Return the mean reward rate under a closed class's stationary distribution, and a bound on its error."""
        assert self.chain is not None
        states = self.chain.closed_classes[number]
        low, high = float(rewards[states].min()), float(rewards[states].max())
        if low == high:
            return low, 0.0
        if number not in self._answers:
            is_irreducible = len(states) == self.n
            part = self.chain if is_irreducible else MarkovChain(self.Q[states][:, states])
            self._answers[number] = stationary(part, proof=self.proof, on_failure="return")
        answer = self._answers[number]
        if not answer.status.ok:
            return float(answer.pi @ rewards[states]), np.inf
        bound = answer.bound(rewards[states])
        return bound.value, bound.error


# ----------------------------------------------------------------------------- operators of properties


class OperatorScope(Protocol):
    """Interface of a scope that evaluates the expressions inside operators: sets of states, constants, rewards."""

    file: str

    def truth(self, expression: Any, what: str = ...) -> Truth:
        """Return the set of states in which an expression is true."""

    def number(self, expression: Any, what: str) -> float:
        """Return the value of a constant expression as a float."""

    def over_states(self, expression: Any) -> NDArray[Any]:
        """Return the values of an expression without operators in all states, shape (n,)."""

    def step_rewards(self, name: str) -> NDArray[np.float64]:
        """Return the reward per second earned on transitions out of each state, shape (n,), by name."""


class Operators:
    """Evaluator of the operators P, S and R of parsed properties: it picks the method of `Checker` for each.

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
        scope: OperatorScope,
    ) -> None:
        self.checker, self.rewards, self.scope = checker, rewards, scope
        self.n = checker.n

    def values(self, operator: Operator, state: int | None = None) -> Estimate:
        """Return the numeric value of an operator in each state, with error bounds.

        With a ``state``, other states may have wide bounds.
        """
        if operator.kind == "SR":
            return self.checker.long_run(self._rewards_of(operator)[1])
        if operator.kind == "S":
            return _enclose_monotone(self.checker.long_run_probability, self.scope.truth(operator.of))
        if operator.kind == "P":
            return self._path_probability(operator.of, state)
        return self._reward_values(operator)

    def long_run_function(self, operator: Operator) -> Vector | None:
        """Return f, shape (n,), if the operator's value is the long-run mean of f; None for other operators."""
        if operator.kind == "SR":
            return self._rewards_of(operator)[1]
        if operator.kind == "S":
            states = self.scope.truth(operator.of)
            return states.surely.astype(np.float64) if states.decided else None
        if operator.kind == "R" and operator.of.kind == "S":
            return self._rewards_of(operator)[1]
        return None

    def _time_bounds(self, interval: Interval, line: int) -> tuple[float, float]:
        """Return the bounds (low, high) of a time interval in s, 0 and inf where it has none; FileError if invalid."""
        low = 0.0 if interval.low is None else self.scope.number(interval.low, "a time")
        high = math.inf if interval.high is None else self.scope.number(interval.high, "a time")
        if not 0.0 <= low <= high:
            raise FileError((self.scope.file, line), f"times {low:g} to {high:g}: must be 0 <= low <= high")
        return low, high

    def _path_probability(self, path: Path, state: int | None = None) -> Estimate:
        """Return the probability of a path formula from each state; ``state`` as for `values`."""
        low, high = self._time_bounds(path.interval, path.line)
        if path.kind == "X":
            inner = (
                self._path_probability(path.right)
                if isinstance(path.right, Path)
                else self._initial_probability(path.right)
            )
            return self.checker.next(inner, low, high)
        if path.kind == "state":
            return self._initial_probability(path.right)
        right = self.scope.truth(path.right)
        everywhere = Truth.exactly(np.ones(self.n, dtype=bool))
        if path.kind == "F":
            return self._until_probability(everywhere, right, (low, high), state)
        if path.kind == "G":
            return self._avoidance_probability(everywhere, ~right, (low, high), state)
        left = self.scope.truth(path.left)
        if path.kind == "U":
            return self._until_probability(left, right, (low, high), state)
        if path.kind == "W":  # the complement of (left and not right) until neither
            return self._avoidance_probability(left & ~right, ~left & ~right, (low, high), state)
        return self._avoidance_probability(~left, ~right, (low, high), state)

    def _initial_probability(self, states: Any) -> Estimate:
        """Return the probability that the first state is in a set: 1 in its states, otherwise 0."""

        def indicator(marks: Marks) -> Estimate:
            """Return 1 in the marked states and 0 in the others, without error."""
            positive = Truth.exactly(marks)
            return Estimate(marks.astype(float), np.zeros(self.n), positive, ~positive)

        return _enclose_monotone(indicator, self.scope.truth(states))

    def _until_probability(self, left: Truth, right: Truth, times: tuple[float, float], state: int | None) -> Estimate:
        """Return the probability of an until formula from each state, where both sets may be undecided."""

        def until(left: Marks, right: Marks) -> Estimate:
            """Return the probability of the until formula for decided sets."""
            return self.checker.until_between(left, right, times, state)

        return _enclose_monotone(until, left, right)

    def _avoidance_probability(
        self, left: Truth, right: Truth, times: tuple[float, float], state: int | None
    ) -> Estimate:
        """Return one minus the probability of an until formula, computed directly for finite times: it may be small."""

        def avoidance(not_left: Marks, not_right: Marks) -> Estimate:
            """Return one minus the probability for decided sets, passed as their complements."""
            return self.checker.until_between(~not_left, ~not_right, times, state, avoided=True)

        return _enclose_monotone(avoidance, ~left, ~right)

    def _reward_values(self, operator: Operator) -> Estimate:
        """Return the value of an R operator in each state."""
        path: Path = operator.of
        states, total = self._rewards_of(operator)
        low, high = self._time_bounds(path.interval, path.line)
        if path.kind == "S":
            return self.checker.long_run(total)
        if path.kind == "I":
            if not np.array_equal(states, total):
                message = "rewards of transitions do not count in R [ I=t ], as in PRISM"
                remedy = "for the mean per second at t, give each state its rate times the reward"
                warn_caller(UserWarning(f"{self.scope.file}: {message}: {remedy}"), "markov")
            return self.checker.reward_at(states, low)
        if path.kind == "C" and math.isinf(high):
            estimate = self.checker.total_reward(total)
            if np.isnan(estimate.values).any():
                reason = "the total reward has no limit: positive and negative rewards are earned for ever"
                raise FileError((self.scope.file, operator.line), f"{reason}; [ C<=t ] has a value")
            return estimate
        if path.kind == "C":
            return self.checker.reward_within(total, high)
        target = self.scope.truth(path.right)
        if not target.decided and (total < 0.0).any():
            estimate = self.checker.reward_until(total, target.surely)
            return Estimate(estimate.values, np.full(self.n, np.inf))
        return _enclose_monotone(lambda others: self.checker.reward_until(total, ~others), ~target)

    def _rewards_of(self, operator: Operator) -> tuple[Vector, Vector]:
        """Return an operator's reward rates in each state, without and with transition rewards, shape (n,) each."""
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
        """Return the values of an expression in all states as floats, shape (n,); zeros for None."""
        if tree is None:
            return np.zeros(self.n)
        return np.array(self.scope.over_states(tree), dtype=np.float64)


def _enclose_monotone(function: Callable[..., Estimate], *sets: Truth) -> Estimate:
    """Return the values of a monotone function of sets that may be undecided, from its values at their extremes."""
    low = function(*(states.surely for states in sets))
    if all(states.decided for states in sets):
        return low
    return Estimate.between(low, function(*(states.possibly for states in sets)))

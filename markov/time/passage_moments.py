"""Moments of the first-passage time into a set of states from every state, each with a bound.

T has the mean m = A^-1 1, A being -Q on the states that lead to the set for sure. The martingale
m(X(t)) + t has quadratic variation at the rate G(m)(x) = sum_y q(x, y) (m(y) - m(x))^2, so that
Var[T] = A^-1 G(m): no difference of large numbers, as in E[T^2] - E[T]^2, is taken.

Of an m that is off by e = m - x, with r = 1 - A x = A e: since G(f, g) = Q(f g) - f Q g - g Q f,
    Var[T] = A^-1 G(x) - 2 x e - e^2 + 2 A^-1 (x r + e).
With |r| <= s drift and |e| <= s w, where A w >= drift > 0, and A^-1 being positive, the change is at most
    2 x s w + (s w)^2 + 2 s w max(x + w / drift).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from hopflow.fork_safety import cached_property
from hopflow.results import WithoutCaches
from markov.computing.matrices import leads_to, off_diagonal
from markov.computing.rounding import U
from markov.elimination.structure import closed_classes
from markov.proofs.bounded import Bounded
from markov.time.absorbing import Absorbing
from markov.time.endless_rewards import common_sign, total_rewards

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.time.absorbing import Refined

    Vector = NDArray[np.float64]
    Truth = NDArray[np.bool_]

__all__ = ["Moments", "mean_over"]

VARIANCE_SOLVE_SHARE = 0.3  # of the error that the means cause: tolerance of the variance
ROUNDING_UP = 1.0 + 2.0**-40  # more than the roundings of a sum of errors


@dataclass(frozen=True, eq=False)
class Moments(WithoutCaches):
    """Probability, mean and variance of the time until a chain enters a set, from every state, with bounds.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    target
        The set, shape (n,).
    """

    Q: sp.csr_matrix
    target: Truth

    @cached_property
    def rates(self) -> sp.csr_matrix:
        """Rates between different states, shape (n, n): the generator without its diagonal."""
        return off_diagonal(self.Q)

    @cached_property
    def _backward(self) -> sp.csr_matrix:
        """Transpose of ``rates``."""
        return sp.csr_matrix(self.rates.T)

    @cached_property
    def possible(self) -> Truth:
        """Mask of the states from which the set can be entered, shape (n,)."""
        return leads_to(self._backward, self.target)

    @cached_property
    def certain(self) -> Truth:
        """Mask of the states from which the set is entered with probability one, shape (n,)."""
        running = self.possible & ~self.target
        return self.possible & ~leads_to(self._backward, ~self.possible, running)

    @cached_property
    def _open(self) -> Truth:
        """Mask of the states outside of the set from which it is entered with probability one, shape (n,)."""
        return self.certain & ~self.target

    @cached_property
    def _system_of_certain(self) -> Absorbing:
        """Equations on the states outside of the set from which it is entered with probability one."""
        return Absorbing(self.Q, self._open)

    @cached_property
    def _system_of_possible(self) -> Absorbing:
        """Equations on all states outside of the set from which it can be entered."""
        inside = self.possible & ~self.target
        same = np.array_equal(inside, self._open)
        return self._system_of_certain if same else Absorbing(self.Q, inside)

    @cached_property
    def _entry_probabilities(self) -> tuple[Vector, Vector]:
        """Probability of ever entering the set from each state, and bounds on the errors, shape (n,) each."""
        values, error = self.certain.astype(float), np.zeros(len(self.target))
        open_ = self.possible & ~self.certain
        if open_.any():
            system = Absorbing(self.Q, open_)
            values[open_], error[open_] = system.solve(system.rates_into(self.certain))
            values = np.clip(values, 0.0, 1.0)
        return values, error

    @property
    def probability(self) -> Vector:
        """Probability of ever entering the set from each state, shape (n,)."""
        return self._entry_probabilities[0]

    @property
    def probability_error(self) -> Vector:
        """Bound on the error of each probability, shape (n,); 0 for probabilities 0 and 1."""
        return self._entry_probabilities[1]

    @cached_property
    def _mean_times(self) -> Refined:
        """Mean times until the set is entered, from the `certain` states outside of it."""
        return self._system_of_certain.refine(np.ones(int(self._open.sum())))

    @cached_property
    def _means(self) -> tuple[Vector, Vector]:
        """E[T] from each state, in s, and bounds on the errors, shape (n,) each."""
        values, error = np.where(self.certain, 0.0, np.inf), np.zeros(len(self.target))
        if self._open.any():
            values[self._open], error[self._open] = self._mean_times.high, self._mean_times.error
        return values, error

    @property
    def mean(self) -> Vector:
        """E[T] from each state, in s, shape (n,); inf where the set may never be entered."""
        return self._means[0]

    @property
    def mean_error(self) -> Vector:
        """Bound on the error of each mean, in s, shape (n,)."""
        return self._means[1]

    @cached_property
    def _variances(self) -> tuple[Vector, Vector]:
        """Var[T] from each state, in s^2, and bounds on the errors, shape (n,) each."""
        values, error = np.where(self.certain, 0.0, np.inf), np.zeros(len(self.target))
        if self._open.any():
            means = self._mean_times
            with np.errstate(all="ignore"):
                square, n_roundings, low_part_error = self._quadratic_variation(means)
                x, error_of_means = np.abs(means.high), means.w * means.scaled
                largest = float(np.max(x + means.w / means.drift))
                mean_term = 2.0 * error_of_means * (x + largest) + error_of_means**2
                mean_term += means.w * float(np.max(low_part_error / means.drift))
                solution = self._system_of_certain.refine(square, VARIANCE_SOLVE_SHARE * mean_term)
                bound = solution.error + mean_term
                bound += n_roundings * U * (np.abs(solution.high) + solution.error)
            values[self._open] = solution.high
            error[self._open] = np.where(np.isfinite(bound), bound, np.inf) * ROUNDING_UP
        return values, error

    def _quadratic_variation(self, mean: Refined) -> tuple[Vector, int, Vector]:
        """Return G(m) in the open states for their means m, its number of roundings, and the error of m's low part.

        The error of the rate is at most as many roundings of itself, and the error of the low part, in open states.
        """
        m, low = np.zeros((2, len(self.target)))
        m[self._open], low[self._open] = mean.high, mean.low
        edges = sp.coo_matrix(self.rates[self._open])
        source, count = np.flatnonzero(self._open)[edges.row], int(self._open.sum())
        difference = (m[edges.col] - m[source]) + (low[edges.col] - low[source])
        low_rounding = 2.0 * U * (np.abs(low[edges.col]) + np.abs(low[source]))
        square = _by_row(edges.row, edges.data * difference**2, count)
        low_part_error = _by_row(
            edges.row, edges.data * (3.0 * np.abs(difference) + low_rounding) * low_rounding, count
        )
        return square, int(np.bincount(edges.row, minlength=1).max()) + 10, low_part_error * ROUNDING_UP

    @property
    def variance(self) -> Vector:
        """Var[T] from each state, in s^2, shape (n,); inf where the set may never be entered."""
        return self._variances[0]

    @property
    def variance_error(self) -> Vector:
        """Bound on the error of each variance, in s^2, shape (n,)."""
        return self._variances[1]

    def conditional_mean(self, start: Vector) -> Bounded:
        """Return E[T | T < inf] from the distribution ``start``, shape (n,): A^-1 h / h with h = P(T < inf).

        NaN if h is 0; without bounds if h is not proved to be positive.
        """
        h, h_error = self._entry_probabilities
        inside = self.possible & ~self.target
        total, error = np.zeros(len(h)), np.zeros(len(h))
        if inside.any():
            total[inside], error[inside] = self._system_of_possible.solve(h[inside])
            if h_error.any():
                shift, shift_error = self._system_of_possible.solve(h_error[inside])
                error[inside] += np.abs(shift) + shift_error
        return _ratio(mean_over(start, total, error), mean_over(start, h, h_error))

    def rewards(self, rewards: Vector, *, certain: bool = True) -> tuple[Vector, Vector]:
        """Return mean rewards until the set is entered, from each state, and bounds on the errors, shape (n,) each.

        ``certain``: from the states that enter it for sure; False: from all that lead to it, until it is entered or
        never can be. 0 from others.
        """
        system, states = (
            (self._system_of_certain, self._open)
            if certain
            else (self._system_of_possible, self.possible & ~self.target)
        )
        values, error = np.zeros(len(rewards)), np.zeros(len(rewards))
        if states.any():
            values[states], error[states] = system.solve(rewards[states])
        return values, error

    def reward(self, rewards: Vector, start: Vector) -> Bounded:
        """Return the mean reward from the distribution ``start`` until the set is entered, or for ever if it never is.

        Infinite where a reward goes on for ever. ValueError where the total has no limit.
        """
        if start[~self.certain].sum() > 0.0:
            value, bound = mean_over(start, *self._rewards_without_end(rewards, start))
        else:
            value, bound = mean_over(start, *self.rewards(rewards))
        if math.isinf(value):
            return Bounded(value, value, value)
        return Bounded(value, value - bound, value + bound)

    def _rewards_without_end(self, rewards: Vector, start: Vector) -> tuple[Vector, Vector]:
        """Return `rewards` for states from which the set may never be entered; 0 from states of other starts."""
        ends, signs = self.target.copy(), np.zeros(len(rewards))
        never = np.flatnonzero(~self.possible)
        for inside in closed_classes(sp.csr_matrix(self.Q[never][:, never])):
            states = never[inside]
            signs[states] = common_sign(rewards[states])
            ends[states] = signs[states[0]] == 0.0
        values, error = total_rewards(self.Q, self._backward, rewards, ends, signs)
        from_start = values[start > 0.0]
        if np.isnan(from_start).any() or (np.isposinf(from_start).any() and np.isneginf(from_start).any()):
            message = "rewards: positive and negative ones are earned for ever where the set is never entered"
            raise ValueError(f"{message}; their total has a value if all have one sign there")
        return values, error

    def from_start(self, start: Vector) -> dict[str, float]:
        """Return the probability to enter the set from ``start`` and the mean time, with error bounds, by name."""
        answers: dict[str, float] = {}
        answers["probability"], answers["probability_error"] = mean_over(start, *self._entry_probabilities)
        if start[~self.certain].sum() > 0.0:
            return {**answers, "mean": math.inf, "mean_error": 0.0}
        mean, mean_error = mean_over(start, *self._means)
        return {**answers, "mean": mean, "mean_error": mean_error}

    def variance_from(self, start: Vector) -> tuple[float, float]:
        """Return Var[T] from the distribution ``start``, shape (n,), in s^2, and a bound on its error."""
        if start[~self.certain].sum() > 0.0:
            return math.inf, 0.0
        mean, mean_error = mean_over(start, *self._means)
        inner, error = mean_over(start, *self._variances)
        positive = start > 0.0
        gap, gap_error = self.mean[positive] - mean, self.mean_error[positive] + mean_error
        with np.errstate(over="ignore", invalid="ignore"):
            between, slack = mean_over(start[positive], gap**2, (2.0 * np.abs(gap) + gap_error) * gap_error)
        bound = error + slack
        return (
            inner + between,
            bound if bound < math.inf else math.inf,
        )  # of a variance beyond float64


def mean_over(start: Vector, values: Vector, error: Vector) -> tuple[float, float]:
    """Return the mean of ``values`` over the distribution ``start``, and its error bound from that of each value."""
    positive = start > 0.0
    terms = start[positive] * values[positive]
    bound = float(start[positive] @ error[positive]) * ROUNDING_UP
    rounding = 0.0 if len(terms) == 1 and start[positive][0] == 1.0 else 2.0 * U
    return math.fsum(terms), bound + rounding * float(np.abs(terms).sum())


def _by_row(rows: NDArray[np.int32], values: Vector, count: int) -> Vector:
    """Return the sum of ``values`` per row number, shape (count,)."""
    return np.asarray(np.bincount(rows, values, minlength=count), dtype=np.float64)


def _ratio(above: tuple[float, float], below: tuple[float, float]) -> Bounded:
    """Return the interval of the ratio of two positive numbers, each a pair of a value and an error bound.

    The interval is infinite unless the divisor is proved to be positive; the value is NaN if the divisor is 0.
    """
    value = above[0] / below[0] if below[0] > 0.0 else math.nan
    if below[0] - below[1] <= 0.0:
        return Bounded(value, -math.inf, math.inf)
    low = (above[0] - above[1]) / (below[0] + below[1])
    high = (above[0] + above[1]) / (below[0] - below[1])
    return Bounded(value, low * (1.0 - 4 * U), high * (1.0 + 4 * U))

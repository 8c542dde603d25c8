"""Probability, mean and variance of the time until a set is entered, from every state.

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
from markov.computing.graphs import leads_to
from markov.computing.matrices import off_diagonal
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.time.passages.absorbing import Absorbing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.time.passages.absorbing import Refined

    Vector = NDArray[np.float64]
    Truth = NDArray[np.bool_]

__all__ = ["Moments", "mean_over"]

SHARE = 0.3  # of what the error of the means makes: to which a variance is solved
UP = 1.0 + 2.0**-40  # more than the roundings of a sum of errors


@dataclass(frozen=True, eq=False)
class Moments(WithoutCaches):
    """Moments of the time until a set is entered.

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
        """Rates between different states, shape (n, n)."""
        return off_diagonal(self.Q)

    @cached_property
    def _backward(self) -> sp.csr_matrix:
        return sp.csr_matrix(self.rates.T)

    @cached_property
    def possible(self) -> Truth:
        """The states that lead to the set, shape (n,)."""
        return leads_to(self._backward, self.target)

    @cached_property
    def certain(self) -> Truth:
        """The states from which the set is entered with probability one, shape (n,)."""
        running = self.possible & ~self.target
        return self.possible & ~leads_to(self._backward, ~self.possible, running)

    @cached_property
    def _open(self) -> Truth:
        return self.certain & ~self.target

    @cached_property
    def _system(self) -> Absorbing:
        return Absorbing(self.Q, self._open)

    @cached_property
    def _leaking(self) -> Absorbing:
        """Equations on all states that lead to the set, whether for sure or not."""
        inside = self.possible & ~self.target
        same = np.array_equal(inside, self._open)
        return self._system if same else Absorbing(self.Q, inside)

    @cached_property
    def _reached(self) -> tuple[Vector, Vector]:
        values, error = self.certain.astype(float), np.zeros(len(self.target))
        open_ = self.possible & ~self.certain
        if open_.any():
            system = Absorbing(self.Q, open_)
            values[open_], error[open_] = system.solve(system.rates_into(self.certain))
            values = np.clip(values, 0.0, 1.0)
        return values, error

    @property
    def probability(self) -> Vector:
        """Of ever entering the set from each state, shape (n,)."""
        return self._reached[0]

    @property
    def probability_error(self) -> Vector:
        """Bound on the error of each probability, shape (n,); 0 of those that are 0 or 1."""
        return self._reached[1]

    @cached_property
    def _mean_times(self) -> Refined:
        return self._system.refined(np.ones(int(self._open.sum())))

    @cached_property
    def _means(self) -> tuple[Vector, Vector]:
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
        values, error = np.where(self.certain, 0.0, np.inf), np.zeros(len(self.target))
        if self._open.any():
            known = self._mean_times
            with np.errstate(all="ignore"):
                square, terms, lost = self._quadratic_variation(known)
                x, off = np.abs(known.high), known.w * known.scaled
                most = float(np.max(x + known.w / known.drift))
                change = 2.0 * off * (x + most) + off**2
                change += known.w * float(np.max(lost / known.drift))
                found = self._system.refined(square, SHARE * change)
                bound = found.error + change
                bound += terms * U * (np.abs(found.high) + found.error)
            values[self._open] = found.high
            error[self._open] = np.where(np.isfinite(bound), bound, np.inf) * UP
        return values, error

    def _quadratic_variation(self, mean: Refined) -> tuple[Vector, int, Vector]:
        """Return its rate for a mean in two parts, how many roundings it has, and what else is lost.

        The rate is right to so many roundings of itself, and to ``lost``, both in states that are open.
        """
        m, low = np.zeros((2, len(self.target)))
        m[self._open], low[self._open] = mean.high, mean.low
        edges = sp.coo_matrix(self.rates[self._open])
        own, count = np.flatnonzero(self._open)[edges.row], int(self._open.sum())
        gap = (m[edges.col] - m[own]) + (low[edges.col] - low[own])
        off = 2.0 * U * (np.abs(low[edges.col]) + np.abs(low[own]))
        square = _by_row(edges.row, edges.data * gap**2, count)
        lost = _by_row(edges.row, edges.data * (3.0 * np.abs(gap) + off) * off, count)
        return square, int(np.bincount(edges.row, minlength=1).max()) + 10, lost * UP

    @property
    def variance(self) -> Vector:
        """Var[T] from each state, in s^2, shape (n,); inf where the set may never be entered."""
        return self._variances[0]

    @property
    def variance_error(self) -> Vector:
        """Bound on the error of each variance, in s^2, shape (n,)."""
        return self._variances[1]

    def conditional_mean(self, start: Vector) -> Bounded:
        """Return E[T | T < inf] from a distribution of shape (n,): A^-1 h / h with h = P(T < inf)."""
        h, wrong = self._reached
        inside = self.possible & ~self.target
        total, error = np.zeros(len(h)), np.zeros(len(h))
        if inside.any():
            total[inside], error[inside] = self._leaking.solve(h[inside])
            if wrong.any():
                more, rest = self._leaking.solve(wrong[inside])
                error[inside] += np.abs(more) + rest
        return _ratio(mean_over(start, total, error), mean_over(start, h, wrong))

    def rewards(self, rewards: Vector, *, certain: bool = True) -> tuple[Vector, Vector]:
        """Return the mean reward until the set is entered from each state, and a bound on its error, shape (n,) each.

        ``certain``: from the states that enter it for sure; False: from all that lead to it, until it is entered or never
        can be. 0 from others.
        """
        system, states = (self._system, self._open) if certain else (self._leaking, self.possible & ~self.target)
        values, error = np.zeros(len(rewards)), np.zeros(len(rewards))
        if states.any():
            values[states], error[states] = system.solve(rewards[states])
        return values, error

    def reward(self, rewards: Vector, start: Vector) -> Bounded:
        """Return the mean reward until the set is entered; inf where it may never be."""
        if start[~self.certain].sum() > 0.0:
            return Bounded(math.inf, -math.inf, math.inf)
        value, bound = mean_over(start, *self.rewards(rewards))
        return Bounded(value, value - bound, value + bound)

    def from_start(self, start: Vector) -> dict[str, float]:
        """Return probability and mean from a distribution of shape (n,), and their bounds."""
        found: dict[str, float] = {}
        found["probability"], found["probability_error"] = mean_over(start, *self._reached)
        if start[~self.certain].sum() > 0.0:
            return {**found, "mean": math.inf, "mean_error": 0.0}
        mean, wrong = mean_over(start, *self._means)
        return {**found, "mean": mean, "mean_error": wrong}

    def variance_from(self, start: Vector) -> tuple[float, float]:
        """Return the variance from a distribution of shape (n,), in s^2, and a bound on its error."""
        if start[~self.certain].sum() > 0.0:
            return math.inf, 0.0
        mean, wrong = mean_over(start, *self._means)
        inner, error = mean_over(start, *self._variances)
        used = start > 0.0
        gap, off = self.mean[used] - mean, self.mean_error[used] + wrong
        with np.errstate(over="ignore", invalid="ignore"):
            between, slack = mean_over(start[used], gap**2, (2.0 * np.abs(gap) + off) * off)
        bound = error + slack
        return (
            inner + between,
            bound if bound < math.inf else math.inf,
        )  # of a variance beyond float64


def mean_over(start: Vector, values: Vector, error: Vector) -> tuple[float, float]:
    """Return the mean over a distribution and its error bound; states of zero mass do not count."""
    used = start > 0.0
    parts = start[used] * values[used]
    bound = float(start[used] @ error[used]) * UP
    rounded = 0.0 if len(parts) == 1 and start[used][0] == 1.0 else 2.0 * U
    return math.fsum(parts), bound + rounded * float(np.abs(parts).sum())


def _by_row(rows: NDArray[np.int32], values: Vector, count: int) -> Vector:
    return np.asarray(np.bincount(rows, values, minlength=count), dtype=np.float64)


def _ratio(above: tuple[float, float], below: tuple[float, float]) -> Bounded:
    value = above[0] / below[0] if below[0] > 0.0 else math.nan
    if below[0] - below[1] <= 0.0:
        return Bounded(value, -math.inf, math.inf)
    low = (above[0] - above[1]) / (below[0] + below[1])
    high = (above[0] + above[1]) / (below[0] - below[1])
    return Bounded(value, low * (1.0 - 4 * U), high * (1.0 + 4 * U))

"""First-passage times of chains with infinitely many states, with bounds by a Lyapunov function.

With T the time until a set B is entered, and A finitely many states: a chain that is stopped where it leaves A gives a
lower bound on E[T]. With V as for `stationary`, QV <= -1 outside of A and B, and u = V + b there, u >= E[T] wherever
Qu <= -1 outside of B (Foster). In A that is u = m + v + b o, with m the mean time until B is entered or A is left, v
the mean of V where A is left, zero in B, and o the probability to leave A before B; b is the smallest number with
u <= V + b in A. The probability to enter B lies between that without leaving A, and that plus o.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from hopflow.checks import format_value
from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from hopflow.results import short_text
from markov.chains import MarkovChain
from markov.computing.matrices import leads_to, off_diagonal
from markov.computing.resources import TooLargeError
from markov.computing.rounding import U
from markov.generators.polynomials import Unfollowed
from markov.infinite.lyapunov import Drift, find_lyapunov, user_basis
from markov.infinite.members import membership, start_of
from markov.infinite.truncations import (
    FIRST_STATES,
    LEVEL_GROWTH,
    MIN_SET_GROWTH,
    Truncations,
    include_inner,
    next_level,
)
from markov.proofs.bounded import Bounded
from markov.time.absorbing import Absorbing
from markov.time.passage_results import Passage, passage_status
from markov.time.passage_times import PassageTime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from markov.exploration import InfiniteChain
    from markov.infinite.lyapunov import Basis, Lyapunov
    from markov.infinite.truncations import Projection
    from markov.time.passage_results import Question
    from markov.time.passage_times import Distribution

    Vector = NDArray[np.float64]

__all__ = ["InfiniteMoments", "InfinitePassage", "finite_until", "passage_of_infinite"]

RELATIVE_ROUNDING = 2.0**-52


@dataclass(frozen=True, eq=False)
class InfiniteMoments:
    """Probability and mean time to enter a set from each state of a finite part of an infinite chain, with bounds.

    Attributes
    ----------
    probability, probability_error
        To ever enter the set.
    mean, mean_error
        E[T], in s; inf where the set may never be entered.
    """

    probability: Vector
    probability_error: Vector
    mean: Vector
    mean_error: Vector

    @classmethod
    def from_bounds(cls, probability: Vector, mean: Vector) -> InfiniteMoments:
        """Return the midpoints of lower and upper bounds, shape (2, n) each, with half their distances as errors."""
        with np.errstate(invalid="ignore"):
            return cls(*_midpoints(probability), *_midpoints(mean))


def _midpoints(intervals: Vector) -> tuple[Vector, Vector]:
    """Return the midpoints of intervals, shape (2, n), and half their widths rounded up; inf and 0 for [inf, inf]."""
    low, high = intervals
    value = np.where(np.isfinite(high), low + 0.5 * (high - low), low)
    error = np.maximum(high - value, value - low)
    error = np.where(low == high, 0.0, error + RELATIVE_ROUNDING * np.abs(value))
    return value, error


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfinitePassage(Passage):
    """Result of `passage` for a chain with infinitely many states: T is the time until it first enters a set.

    ``chain`` has finitely many of the states, the states of the set entered from them, and the rates between
    them. ``means`` and ``probabilities`` are of these states. ``variance`` and ``standard_deviation`` are not computed:
    NaN. In `distribution` ``cdf`` is a lower and ``survival`` an upper value; the density has no bound.

    Attributes
    ----------
    moments
        Probabilities and means from the states of ``chain``.
    infinite
        The chain.
    lyapunov
        V, whose drift was verified in all states but finitely many.
    left
        Upper bound on the probability to leave the states of ``chain`` before the set is entered.

    Examples
    --------
    >>> from markov import explore, passage
    >>> def queue(n):
    ...     yield n + 1, 1.0
    ...     if n > 0:
    ...         yield n - 1, 2.0
    >>> result = passage(explore(queue, start=0), to=0, start=5)
    >>> round(result.mean, 8), result.mean_error < 1e-8
    (5.0, True)
    """

    moments: InfiniteMoments  # type: ignore[assignment]
    infinite: InfiniteChain
    lyapunov: str
    left: float

    @cached_property
    def _variance_and_error(self) -> tuple[float, float]:
        """NaN and an infinite error, since no variance is computed for infinitely many states."""
        return math.nan, math.inf

    @cached_property
    def conditional_mean(self) -> Bounded:
        """E[T | T < inf], in s; ValueError if the set may never be entered.

        Raises
        ------
        ValueError
            Where it is not.
        """
        if self.probability != 1.0 or self.probability_error:
            self._refuse("conditional_mean of a set that may never be entered")
        return Bounded(self.mean, self.mean - self.mean_error, self.mean + self.mean_error)

    def reward(self, rewards: str | ArrayLike) -> Bounded:  # noqa: ARG002
        """Raise ValueError: rewards are not computed for infinitely many states."""
        self._refuse("reward")

    def sensitivity(self, *_: Any, **__: Any) -> Any:
        """Raise ValueError: sensitivities are not computed for infinitely many states."""
        self._refuse("sensitivity")

    def _distribution(self, times: Vector) -> Distribution:
        """Return `distribution` with bounds that include the mass that leaves the states of ``chain``."""
        inside = super()._distribution(times)
        unproved = np.full_like(inside.relative_error, math.inf)
        return replace(inside, error_bound=inside.error_bound + self.left, relative_error=unproved)

    def _quantile(self, q: float) -> Bounded:
        """Return `quantile` with an interval that includes the mass that leaves the states of ``chain``."""
        upper = super()._quantile(q)
        if q <= self.left:
            return Bounded(upper.value, 0.0, upper.upper)
        if upper == PassageTime.never:
            return upper
        lower = self._passage_time.quantile((q - self.left) * (1.0 - RELATIVE_ROUNDING), max(upper.value, 1e-300))
        return Bounded(upper.value, min(lower.lower, upper.lower), upper.upper)

    def _refuse(self, what: str) -> NoReturn:
        """Raise ValueError: ``what`` is not computed for infinitely many states."""
        raise ValueError(f"{what} is not computed for a chain with infinitely many states")

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: status, chain, probability, mean and cost."""
        rows = super().summary()
        rows["standard deviation"] = "not computed for infinitely many states"
        model = self.infinite.model
        infinite_rows = {
            "chain": short_text(model),
            "states": f"infinitely many; values in {self.chain.size}",
            "Lyapunov function": self.lyapunov,
        }
        return {**rows, **infinite_rows}


TOLERANCE = 1e-9  # half the distance of the bounds, relative to the mean
MAX_STATES_FOR_FINITE = 2_000  # of the search for finitely many states in which the chain stops
MAX_LEVEL_GROWTH = 2.5
MAX_STAGNANT_STEPS = 4
LYAPUNOV_ROUNDING = 1e-9  # relative, of V: more than its rounding
MIN_ROUNDED_UP = 1.0 + 1e-12  # at least


class Bracket(NamedTuple):
    """Lower and upper bounds on the probability and mean time to enter a target, in n states of an infinite chain.

    Attributes
    ----------
    projection
        The set.
    probability, mean
        Lower and upper bounds, shape (2, n).
    left
        Upper bounds on the probability to leave the set before the target is entered, shape (n,).
    """

    projection: Projection
    probability: Vector
    mean: Vector
    left: Vector

    def width(self, state: int) -> float:
        """Return half the distance of the bounds from a state: of the mean, relative to it, or of the probability."""
        low, high = self.mean[:, state]
        if high == 0.0:
            return 0.0
        relative = math.inf if high == math.inf else 0.5 * (high - low) / low
        if low == math.inf:
            low, high = self.probability[:, state]
            return float(0.5 * (high - low))
        return float(relative)


def bracket(projection: Projection, V: Vector, lyapunov: Lyapunov | None) -> Bracket:
    """Return bounds on a passage from the states of a finite set, outside of which the drift of V is verified.

    Parameters
    ----------
    projection
        The set and the k states beside it.
    V
        In all n + k states, shape (n + k,).
    lyapunov
        V; None: no state is beside the set.
    """
    Q, n = projection.Q, projection.size
    size = Q.shape[0]
    up = max(MIN_ROUNDED_UP, 1.0 + (int(np.diff(Q.indptr).max(initial=0)) + 16) * U)
    inside = np.append(projection.inside, np.zeros(size - n, dtype=bool))
    outside = np.arange(size) >= n
    target = ~inside & ~outside
    backward = sp.csr_matrix(off_diagonal(Q).T)
    open_ = leads_to(backward, ~inside) & inside
    leaving = np.where(outside, 1.0, 0.0)
    probability = np.tile(np.where(target, 1.0, 0.0), (2, 1))
    if open_.any():
        system = Absorbing(Q, open_)
        reached, error = system.solve(system.rates_into(target))
        leaving_values, gone_error = system.solve(system.rates_into(outside))
        leaving[open_] = np.clip((leaving_values + gone_error) * up, 0.0, 1.0)
        probability[:, open_] = (reached - error) / up, (reached + error) * up + leaving[open_]
    mean = np.where(inside, np.inf, np.zeros((2, size)))
    certain = open_ & ~leads_to(backward, inside & ~open_, inside)
    if certain.any():
        system = Absorbing(Q, certain)
        times, error = system.solve(np.ones(int(certain.sum())))
        mean[0, certain] = np.maximum((times - error) / up, 0.0)
        top = V + LYAPUNOV_ROUNDING * np.abs(V)
        values = np.where(outside, top, 0.0)
        sums: Vector = np.asarray(sp.csr_matrix(Q[np.flatnonzero(certain)]) @ values)
        means = system.solve(sums)
        upper_times = (times + error + means[0] + means[1]) * up
        mean[1, certain] = _upper_means(upper_times, leaving[certain], (V[certain], lyapunov), up)
    if outside.any() and not certain[inside].all():
        mean[1, inside & (leaving > 0.0)] = (
            math.inf
        )  # mass that left may return to states from which B is never entered
    never_left = certain & np.isfinite(mean[1])
    probability[:, never_left] = 1.0
    return Bracket(projection, np.clip(probability[:, :n], 0.0, 1.0), mean[:, :n], leaving[:n])


def _upper_means(
    upper_times: Vector, leaving: Vector, lyapunov_values: tuple[Vector, Lyapunov | None], up: float
) -> Vector:
    """Return upper bounds m + v + b o on mean times, times ``up``; inf where no b exists.

    ``lyapunov_values`` is V in the states, and the function itself.
    """
    V, lyapunov = lyapunov_values
    if lyapunov is None or not leaving.any():
        return upper_times
    if leaving.max() >= 1.0:
        return np.full_like(upper_times, np.inf)
    low = V - LYAPUNOV_ROUNDING * np.abs(V)
    b = max(float(np.max((upper_times - low) / (1.0 - leaving))), -lyapunov.lower_bound, 0.0) * (
        1.0 + LYAPUNOV_ROUNDING
    )
    return (upper_times + b * leaving) * up


class _Search(NamedTuple):
    """Search for bounds on a passage of an infinite chain, from a start until the condition ``stops`` holds."""

    infinite: InfiniteChain
    stops: Callable[[Any], bool]
    start: Any

    def truncations(
        self, seeds: Sequence[Any], heights: Callable[[Sequence[Any]], Vector], max_states: int
    ) -> Truncations:
        """Return finite sets of states that grow by ``heights`` from ``seeds`` and end where the chain stops."""
        calls = self.infinite.hull.layout.calls
        return Truncations(calls, seeds, heights, max_states, self.stops)

    def enclose_finite(self, max_states: int) -> Bracket | None:
        """Return bounds if the chain passes at most ``max_states`` states before it stops; otherwise None."""
        sets = self.truncations([self.start], lambda states: np.zeros(len(states)), max_states)
        try:
            sets.reach(0.0)
        except TooLargeError:
            return None
        projection = sets.projection()
        return bracket(projection, np.zeros(len(projection.numbers)), None)

    def enclose(self, lyapunov: Lyapunov) -> Bracket:
        """Return bounds in a set below a level of V, which grows until they are tight or improve no more."""
        sets = self.truncations([self.start], lyapunov.at, self.infinite.most)
        include_inner(sets, lyapunov)
        level = max(float(lyapunov.at([self.start])[0]), lyapunov.at_inner(), 1.0)
        while sets.reach(level) < FIRST_STATES and not sets.is_closed:
            level *= LEVEL_GROWTH
        best_step: Bracket | None = None
        history: list[tuple[float, float]] = []
        width, stagnant = math.inf, 0
        while True:
            projection = sets.projection()
            V = lyapunov.at([sets.states[number] for number in projection.numbers])
            step = bracket(projection, V, lyapunov)
            step_width = step.width(self.start_index(sets, projection))
            stagnant = stagnant + 1 if step_width >= width else 0
            if best_step is None or step_width < width:
                best_step, width = step, step_width
            if step_width <= TOLERANCE or sets.is_closed or (stagnant >= MAX_STAGNANT_STEPS):
                return best_step
            history.append((level, step_width))
            level = next_level(history, TOLERANCE, useful=math.inf, largest=MAX_LEVEL_GROWTH)
            count = len(projection.inside)
            while sets.reach(level) < MIN_SET_GROWTH * count and not sets.is_closed:
                level *= LEVEL_GROWTH

    def solve(self, basis: Basis | None) -> tuple[Bracket, Lyapunov]:
        """Return the bounds, and the Lyapunov function that proves them; its drift counts outside of the target.

        Raises
        ------
        RuleError
            Without such a function, or where the rules cannot be followed.
        """
        hull = self.infinite.hull
        try:
            lyapunov = find_lyapunov(hull, basis, Drift(stops=self.stops))
        except Unfollowed:
            try:  # the target may be the reason, and not the rules
                lyapunov = find_lyapunov(hull, basis)
            except Unfollowed as stop:
                message = f"{self.infinite.model.name}: the states have no end: {stop}"
                raise RuleError(message) from None
        return self.enclose(lyapunov), lyapunov

    def start_index(self, sets: Truncations, projection: Projection) -> int:
        """Return the index of the start state among the states of ``projection``."""
        number = sets.number_of(self.start)
        return int(np.flatnonzero(projection.numbers[: projection.size] == number)[0])


def finite_until(
    infinite: InfiniteChain, to: Any, start: Any, max_states: int = MAX_STATES_FOR_FINITE
) -> tuple[MarkovChain, NDArray[np.bool_], Any] | None:
    """Return chain, target mask and start if the chain enters a set within ``max_states`` states; otherwise None.

    Returns
    -------
    MarkovChain, numpy.ndarray, object
        The chain that stops in the set, the set, and the start; None of more than ``max_states`` states.
    """
    search = _Search(infinite, membership(infinite, to, "to"), start_of(infinite, start))
    bracket_ = search.enclose_finite(max_states)
    if bracket_ is None:
        return None
    built = bracket_.projection.built
    return MarkovChain.of_built(infinite.model, built), ~bracket_.projection.inside, search.start


def passage_of_infinite(infinite: InfiniteChain, question: Question) -> InfinitePassage:
    """Return the time until an infinite chain first enters a set, with bounds by a Lyapunov function.

    Raises
    ------
    RuleError
        Without a Lyapunov function, or where the rules cannot be followed.
    """
    to, start, function = question.to, question.start, question.lyapunov
    basis = None if function is None else user_basis(function)
    search = _Search(infinite, membership(infinite, to, "to"), start_of(infinite, start))
    step, lyapunov = search.solve(basis)
    projection = step.projection
    chain = MarkovChain.of_built(infinite.model, projection.built)
    moments = InfiniteMoments.from_bounds(step.probability, step.mean)
    state = chain.number_of(search.start)
    first = np.zeros(chain.size)
    first[state] = 1.0
    mean, error = float(moments.mean[state]), float(moments.mean_error[state])
    probability_error = float(moments.probability_error[state])
    if not (math.isfinite(error) and (math.isfinite(mean) or mean == math.inf)):
        reason = "it was not proved that the set is entered within a finite mean time"
        hint = f"{reason}, or that it may never be: values in {chain.size} states"
        raise RuleError(f"to = {format_value(to)}: {infinite.model.name}: {hint}")
    return InfinitePassage(
        chain=chain,
        target=~projection.inside,
        start=first,
        moments=moments,
        probability=float(moments.probability[state]),
        probability_error=probability_error,
        mean=mean,
        mean_error=error,
        status=passage_status(probability_error, mean, error),
        infinite=infinite,
        lyapunov=str(lyapunov),
        left=float(step.left[state]),
        question=question,
    )

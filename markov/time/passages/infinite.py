"""First passages of a chain with infinitely many states, between two bounds from a finite set of them.

With T the time until a set B is entered, and A finitely many states: what leaves A and is taken for arrived gives a
lower bound on E[T]. With V as for `stationary`, QV <= -1 outside of A and B, and u = V + b there, u >= E[T] wherever
Qu <= -1 outside of B (Foster). In A that is u = m + v + b o, with m the mean time until B is entered or A is left, v the
mean of V where A is left, zero in B, and o the probability to leave A before B; b is the least number with u <= V + b in A.
The probability to enter B lies between that without leaving A, and that plus o.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import format_value
from hopflow.errors import RuleError
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver
from markov.chains import MarkovChain
from markov.computing.graphs import leads_to
from markov.computing.matrices import off_diagonal
from markov.computing.memory import TooLargeError
from markov.computing.rounding import U
from markov.generators.unbounded.polynomials import Unfollowed
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
from markov.time.passages.absorbing import Absorbing
from markov.time.passages.infinite_results import InfiniteMoments, InfinitePassage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from markov.exploration import InfiniteChain
    from markov.infinite.lyapunov import Basis, Lyapunov
    from markov.infinite.truncations import Projection
    from markov.time.passages.sensitivities import Question

    Vector = NDArray[np.float64]

__all__ = ["finite_until", "passage_of_infinite"]

TOLERANCE = 1e-9  # half the distance of the bounds, relative to the mean
USEFUL = 1e-6
FEW_STATES = 2_000  # in which it is looked whether the chain stops in finitely many states
LARGEST_GROWTH = 2.5
STAGNANT = 4
SLACK = 1e-9  # relative, of V: more than its rounding
UP = 1.0 + 1e-12  # at least


class Bracket(NamedTuple):
    """Bounds in a set of n states.

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

    def width(self, place: int) -> float:
        """Return half the distance of the bounds from a state: of the mean, relative; or of the probability."""
        low, high = self.mean[:, place]
        if high == 0.0:
            return 0.0
        known = math.inf if high == math.inf else 0.5 * (high - low) / low
        if low == math.inf:
            low, high = self.probability[:, place]
            return float(0.5 * (high - low))
        return float(known)


def bracket(projection: Projection, V: Vector, lyapunov: Lyapunov | None) -> Bracket:
    """Return bounds in a set of states that has all in which the drift of V was not verified.

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
    up = max(UP, 1.0 + (int(np.diff(Q.indptr).max(initial=0)) + 16) * U)
    inside = np.append(projection.inside, np.zeros(size - n, dtype=bool))
    outside = np.arange(size) >= n
    target = ~inside & ~outside
    backward = sp.csr_matrix(off_diagonal(Q).T)
    open_ = leads_to(backward, ~inside) & inside
    left = np.where(outside, 1.0, 0.0)
    probability = np.tile(np.where(target, 1.0, 0.0), (2, 1))
    if open_.any():
        system = Absorbing(Q, open_)
        reached, error = system.solve(system.rates_into(target))
        gone, off = system.solve(system.rates_into(outside))
        left[open_] = np.clip((gone + off) * up, 0.0, 1.0)
        probability[:, open_] = (reached - error) / up, (reached + error) * up + left[open_]
    mean = np.where(inside, np.inf, np.zeros((2, size)))
    certain = open_ & ~leads_to(backward, inside & ~open_, inside)
    if certain.any():
        system = Absorbing(Q, certain)
        times, error = system.solve(np.ones(int(certain.sum())))
        mean[0, certain] = np.maximum((times - error) / up, 0.0)
        top = V + SLACK * np.abs(V)
        means = system.solve(_weighted(Q, certain, np.where(outside, top, 0.0)))
        most = (times + error + means[0] + means[1]) * up
        mean[1, certain] = _upper(most, left[certain], (V[certain], lyapunov), up)
    if outside.any() and not certain[inside].all():
        mean[1, inside & (left > 0.0)] = math.inf  # what left may come back to where B is never entered
    never_left = certain & np.isfinite(mean[1])
    probability[:, never_left] = 1.0
    return Bracket(projection, np.clip(probability[:, :n], 0.0, 1.0), mean[:, :n], left[:n])


def _weighted(Q: sp.csr_matrix, rows: NDArray[np.bool_], values: Vector) -> Vector:
    """Return the sums of rates times values, zero inside, over the transitions out of some states."""
    found: Vector = np.asarray(sp.csr_matrix(Q[np.flatnonzero(rows)]) @ values)
    return found


def _upper(most: Vector, left: Vector, beyond: tuple[Vector, Lyapunov | None], up: float) -> Vector:
    """Return upper bounds m + v + b o on means, times ``up``; inf where there is no b.

    ``beyond`` is V in the states and the function itself.
    """
    V, lyapunov = beyond
    if lyapunov is None or not left.any():
        return most
    if left.max() >= 1.0:
        return np.full_like(most, np.inf)
    low = V - SLACK * np.abs(V)
    b = max(float(np.max((most - low) / (1.0 - left))), -lyapunov.lower_bound, 0.0) * (1.0 + SLACK)
    return (most + b * left) * up


class _Search(NamedTuple):
    """What a passage is looked for of."""

    infinite: InfiniteChain
    stops: Callable[[Any], bool]
    start: Any

    def states(self, seeds: Sequence[Any], heights: Callable[[Sequence[Any]], Vector], most: int) -> Truncations:
        """Return sets that end where the chain stops."""
        calls = self.infinite.hull.layout.calls
        return Truncations(calls, seeds, heights, most, self.stops)

    def finite(self, most: int) -> Bracket | None:
        """Return bounds where the chain stops before it has left finitely many states, else None."""
        sets = self.states([self.start], lambda states: np.zeros(len(states)), most)
        try:
            sets.reach(0.0)
        except TooLargeError:
            return None
        found = sets.projection()
        return bracket(found, np.zeros(len(found.numbers)), None)

    def between(self, lyapunov: Lyapunov) -> Bracket:
        """Return bounds in a set below a level of V, which grows until they are near to each other."""
        sets = self.states([self.start], lyapunov.at, self.infinite.most)
        include_inner(sets, lyapunov)
        level = max(float(lyapunov.at([self.start])[0]), lyapunov.at_inner(), 1.0)
        while sets.reach(level) < FIRST_STATES and not sets.is_closed:
            level *= LEVEL_GROWTH
        best: Bracket | None = None
        history: list[tuple[float, float]] = []
        width, stagnant = math.inf, 0
        while True:
            projection = sets.projection()
            V = lyapunov.at([sets.states[number] for number in projection.numbers])
            step = bracket(projection, V, lyapunov)
            own = step.width(self.place(sets, projection))
            stagnant = stagnant + 1 if own >= width else 0
            if best is None or own < width:
                best, width = step, own
            if own <= TOLERANCE or sets.is_closed or (stagnant >= STAGNANT):
                return best
            history.append((level, own))
            level = next_level(history, TOLERANCE, useful=math.inf, largest=LARGEST_GROWTH)
            count = len(projection.inside)
            while sets.reach(level) < MIN_SET_GROWTH * count and not sets.is_closed:
                level *= LEVEL_GROWTH

    def answered(self, given: Basis | None) -> tuple[Bracket, Lyapunov]:
        """Return bounds with the function that proves them, whose drift counts outside of the target at least.

        Raises
        ------
        RuleError
            Where there is none, or the rules cannot be followed.
        """
        hull = self.infinite.hull
        try:
            lyapunov = find_lyapunov(hull, given, Drift(stops=self.stops))
        except Unfollowed:
            try:  # the target, not the rules, may be what cannot be followed
                lyapunov = find_lyapunov(hull, given)
            except Unfollowed as stop:
                said = f"{self.infinite.model.name}: the states have no end: {stop}"
                raise RuleError(said) from None
        return self.between(lyapunov), lyapunov

    def place(self, sets: Truncations, projection: Projection) -> int:
        """Return the place of the start in a set."""
        number = sets.number_of(self.start)
        return int(np.flatnonzero(projection.numbers[: projection.size] == number)[0])


def finite_until(
    infinite: InfiniteChain, to: Any, start: Any, most: int = FEW_STATES
) -> tuple[MarkovChain, NDArray[np.bool_], Any] | None:
    """Return the states that are passed before a set is entered, where they are finitely many.

    Returns
    -------
    MarkovChain, numpy.ndarray, object
        The chain that stops in the set, the set, and the start; None where there are more than ``most``.
    """
    search = _Search(infinite, membership(infinite, to, "to"), start_of(infinite, start))
    found = search.finite(most)
    if found is None:
        return None
    built = found.projection.built
    return MarkovChain.of_built(infinite.model, built), ~found.projection.inside, search.start


def passage_of_infinite(infinite: InfiniteChain, question: Question, on_failure: OnFailure) -> InfinitePassage:
    """Return the time until an infinite chain first enters a set.

    Raises
    ------
    RuleError
        Where there is no Lyapunov function, or the rules cannot be followed.
    """
    watch = Stopwatch()
    _, _, to, start, function = question
    given = None if function is None else user_basis(function)
    search = _Search(infinite, membership(infinite, to, "to"), start_of(infinite, start))
    step, lyapunov = search.answered(given)
    projection = step.projection
    chain = MarkovChain.of_built(infinite.model, projection.built)
    moments = InfiniteMoments.between(step.probability, step.mean)
    place = chain.number_of(search.start)
    first = np.zeros(chain.size)
    first[place] = 1.0
    mean, error = float(moments.mean[place]), float(moments.mean_error[place])
    off = float(moments.probability_error[place])
    if not (math.isfinite(error) and (math.isfinite(mean) or mean == math.inf)):
        said = "it was not proved that the set is entered within a finite mean time"
        hint = f"{said}, or that it may never be: values in {chain.size} states"
        raise RuleError(f"to = {format_value(to)}: {infinite.model.name}: {hint}")
    good = off <= USEFUL and (math.isinf(mean) or error <= USEFUL * mean)
    result = InfinitePassage(
        chain=chain,
        target=~projection.inside,
        start=first,
        moments=moments,
        probability=float(moments.probability[place]),
        probability_error=off,
        mean=mean,
        mean_error=error,
        status=Status.CONVERGED if good else Status.INACCURATE,
        seconds=watch.seconds(),
        infinite=infinite,
        lyapunov=str(lyapunov),
        left=float(step.left[place]),
        question=question,
    )
    return deliver(result, on_failure)

"""Bounds on the stationary distribution of an infinite chain from its values in finitely many states.

The theorem of ``docs/markov-bound.md``: h is computed in a finite set of states, and is V + b in all others,
where QV <= -w was verified.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.double_double import DoubleDouble, excess, pair_sum
from markov.computing.matrices import inner
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import solved

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = ["LEFT", "FiniteSet", "Height", "Sides", "distance", "mean_between", "most_merged", "sides_of"]

REFINEMENTS = 3
PLAIN_CYCLES = 12  # of multigrid
SHARP = 0.5
SLACK = 1e-9  # relative, of V and of b: more than their rounding
ROUNDED_UP = 1.0 + 16.0 * U


class FiniteSet(NamedTuple):
    """Rates in a finite set of states.

    Attributes
    ----------
    Q
        Generator, shape (n, n), with what leaves the set led to one state.
    leaving
        Rate out of the set from each state, shape (n,), 1/s.
    anchor
        That state.
    merged
        Largest number of rates from one state that were added up, in ``leaving`` or with one to the anchor.
    """

    Q: sp.csr_matrix
    leaving: Vector
    anchor: int
    merged: int


class Height(NamedTuple):
    """V outside of a set, for costs w.

    Attributes
    ----------
    inside
        V in each state, shape (n,).
    highest
        Largest V of a state that is entered from the set.
    least
        A lower bound on V.
    weights
        w in each state, shape (n,), at least one.
    """

    inside: Vector
    highest: float
    least: float
    weights: Vector


class Sides(NamedTuple):
    """Bounds on sum r+ h / c and sum r- h / c, with r = pi Q on all states; inf where nothing is proved."""

    up: float
    down: float


NOTHING = Sides(math.inf, math.inf)
LEFT = Sides(math.inf, math.inf)
"""Nothing is proved, as the chain is expected to leave the set more than once before the reference."""


def sides_of(states: FiniteSet, pi: Vector, solver: Solver, height: Height) -> Sides:
    """Return the bounds that pi, zero outside of a set of states, has by a verified h.

    Parameters
    ----------
    states
        The set, n states.
    pi
        Shape (n,), >= 0.
    solver
        Of Q g = -f, with the generator of the set.
    height
        V, with QV <= -w verified outside.
    """
    Q, leaving, anchor, count = states
    products = DoubleDouble(Q)
    merged = count * U * leaving_entries(Q, leaving)
    with np.errstate(all="ignore"):  # what is not finite proves nothing
        found = _height_inside(products, solver, height, leaving, merged)
        if found is None:
            return LEFT
        if not found:
            return NOTHING
        h, top, c = found
        net, error = products.net_flow(pi)
        error = error + merged * pi
        outflow = inner(pi, leaving)
        up = inner(np.maximum(net + error, 0.0), h) + outflow * top
        down = inner(np.maximum(error - net, 0.0), h)
        at_anchor = float(h[anchor])
        back = inner(merged, pi) * at_anchor
        up, down = up + back, down + back + outflow * at_anchor
        rounded = 1.0 + (len(pi) + count + 16) * U
        sides = up / c * rounded, down / c * rounded
    return Sides(*sides) if all(map(math.isfinite, sides)) else NOTHING


def most_merged(sources: NDArray[Any], into_anchor: NDArray[np.bool_], out: NDArray[np.bool_]) -> int:
    """Return the largest number of rates that were added to one, from a state with a rate out of the set.

    Of each transition, shape (transitions,): its source, whether it leads to the anchor at last, and whether it left the set.
    """
    counts = np.bincount(sources[into_anchor])
    return int(counts[sources[out]].max(initial=1))


def leaving_entries(Q: sp.csr_matrix, leaving: Vector) -> Vector:
    """Return the exit rates of the states that lead out of the set, and zero for others."""
    return np.where(leaving > 0.0, -np.asarray(Q.diagonal()), 0.0)


def _height_inside(
    products: DoubleDouble, solver: Solver, height: Height, leaving: Vector, merged: Vector
) -> tuple[Vector, float, float] | tuple[()] | None:
    """Return h in the states of the set, its largest value beside it, and c; () where nothing is proved.

    None where the chain is expected to leave the set at least once before the reference.
    With h = V + b outside, and no smaller value there than the largest V + b of a state that is entered.
    """
    reference, n, weights = solver.reference, len(leaving), height.weights
    highest = height.highest + SLACK * abs(height.highest)

    def solve(f: Vector, target: Vector) -> tuple[Vector, Vector]:
        """Return g with Q g <= -target, nearly -f."""

        def enough(rest: Vector) -> bool:
            drift = rest - f + (f - target)
            drift[reference] = -math.inf
            return float((drift + SHARP * target).max()) < 0.0

        return solved(solver, f, enough, PLAIN_CYCLES)

    first, _ = solve(weights + leaving * max(highest, 0.0), weights)
    out, _ = solve(leaving, leaving)
    low = height.inside - SLACK * np.abs(height.inside)
    away = out < 1.0
    if not away.all():
        return None
    b = float(np.max((first - low) / (1.0 - out)))
    b = max(b, -height.least, 0.0)
    b += SLACK * abs(b) + SLACK
    top = max(highest + b, 0.0) * ROUNDED_UP
    h, rest = (np.zeros(n), np.zeros(n)), weights + leaving * top
    best: tuple[Vector, float, float] | None = None
    for _ in range(REFINEMENTS):
        h = pair_sum(h, solve(rest, weights))
        missing = float(np.max(((h[0] + h[1]) * ROUNDED_UP - low - b) / (1.0 - out)))
        if best is None and 0.0 < missing < math.inf:  # what an inaccurate solution takes
            more = missing * (1.0 + SLACK) + SLACK
            b, top = b + more, (top + more) * ROUNDED_UP
            h = pair_sum(h, (more * ROUNDED_UP * out, np.zeros(n)))
        drift, error = products.drift(*h)
        size = (h[0] + h[1]) * ROUNDED_UP
        lost = U * 8.0 * (np.abs(drift) + leaving * top) + merged * (float(np.abs(h[0]).max()) + top)
        worst = (drift + leaving * top + error + lost) / weights
        worst[reference] = -math.inf
        c = min(-float(worst.max()), 1.0)
        proved = bool(np.all(size <= low + b) and size.min() >= 0.0 and np.all(np.isfinite(size)))
        if not (proved and c > (0.0 if best is None else best[2])):
            break
        best = size, top, c
        if c > SHARP:
            break
        rest = weights + leaving * top + drift
    return best or ()


def distance(sides: Sides, pi: Vector) -> float:
    """Return a bound on |pi(A) - exact(A)| for every set A of states, at most one."""
    mass, rounding = excess(pi, np.zeros_like(pi))
    return min(max(sides) + abs(mass) + rounding, 1.0) if math.isfinite(max(sides)) else math.inf


def mean_between(sides: Sides, pi: Vector, f: Vector) -> Bounded:
    """Return the mean of f, shape (n,), whose size is at most w - 1 in all states.

    With g the mean sum of f, or of 1, until the reference is reached, r g = -x f + s pi f and r 1-sum =
    s - m, for s = x(0) / pi(0); both are within the sides.
    """
    value, rounding = inner(pi, f), (len(pi) + 8) * U * inner(pi, np.abs(f))
    mass, off = excess(pi, np.zeros_like(pi))
    half = (sides.up + sides.down) * ROUNDED_UP + rounding
    low, high = 1.0 + mass - off - sides.down - 8.0 * U, (1.0 + mass + off + sides.up) * (1.0 + 6.0 * U)
    if not (math.isfinite(half) and low > 0.0):
        return Bounded(value, -math.inf, math.inf)
    ends = [(value + sign * half) / share for sign in (-1.0, 1.0) for share in (low, high)]
    lower, upper = math.nextafter(min(ends), -math.inf), math.nextafter(max(ends), math.inf)
    return Bounded(min(max(value, lower), upper), lower, upper)

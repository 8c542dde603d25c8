"""Bounds on the stationary distribution of an infinite chain from its values in finitely many states.

The theorem of ``docs/markov-bound.md``: h is computed in a finite set of states, and is V + b in all other states, in
which QV <= -w was verified. With r = pi Q for pi that is zero outside of the set, and Qh <= -c w except in a reference
state, sums of r+ h / c and r- h / c bound the error of the probability of any set of states.

1. Two solutions of Poisson's equation in the set give h for the cost w, and the mean number of exits before the
   reference. With one exit or more from any state, no b exists (`LEAVES_SET`).
2. b is the smallest number with h <= V + b in the set. It is raised once if the solution is inaccurate.
3. The drift of h is evaluated in double-double arithmetic, with an allowance for every rounding. Its largest value
   gives c. If c is small, h is refined by the residual.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.double_double import DoubleDouble, excess, pair_sum
from markov.computing.matrices import inner
from markov.computing.rounding import U
from markov.proofs.bounded import Bounded
from markov.proofs.certificates import solve_poisson

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = [
    "LEAVES_SET",
    "NOTHING",
    "FiniteSet",
    "Height",
    "Sides",
    "bounded_mean",
    "distance",
    "max_merged_rates",
    "sides_of",
]

MAX_REFINEMENTS = 3
MAX_MULTIGRID_CYCLES = 12
SUFFICIENT_C = 0.5  # c from which on h is not refined
SLACK = 1e-9  # relative, of V and of b: more than their rounding
ROUNDED_UP = 1.0 + 16.0 * U


class FiniteSet(NamedTuple):
    """A finite set of states of an infinite chain: rates within it, rates out of it, and an anchor state.

    Attributes
    ----------
    Q
        Generator, shape (n, n), in which transitions out of the set lead to the anchor.
    leaving
        Rate out of the set by state, shape (n,), 1/s.
    anchor
        A state of the set.
    merged
        Largest number of rates from one state that were added up, in ``leaving`` or with a rate to the anchor.
    """

    Q: sp.csr_matrix
    leaving: Vector
    anchor: int
    merged: int


class Height(NamedTuple):
    """Values of a Lyapunov function V in a finite set of states and just outside of it, with its cost w.

    Attributes
    ----------
    inside
        V in the states of the set, shape (n,).
    highest
        Largest V of a state that is entered from the set.
    lower_bound
        A lower bound on V.
    weights
        w in the states of the set, shape (n,), at least one.
    """

    inside: Vector
    highest: float
    lower_bound: float
    weights: Vector


class Sides(NamedTuple):
    """Upper bounds on the sums of r+ h / c and of r- h / c for the residual r = pi Q; inf if nothing is proved."""

    up: float
    down: float


NOTHING = Sides(math.inf, math.inf)
LEAVES_SET = Sides(math.inf, math.inf)
"""Nothing is proved, since the chain is expected to leave the set at least once before the reference."""


def sides_of(states: FiniteSet, pi: Vector, solver: Solver, height: Height) -> Sides:
    """Return upper bounds on the sums of the positive and of the negative residual pi Q, weighted by a verified h.

    Parameters
    ----------
    states
        The set, n states.
    pi
        Probabilities in the set, shape (n,), >= 0.
    solver
        Solver of Q g = -f, with the generator of the set.
    height
        V, with QV <= -w verified outside of the set.
    """
    Q, leaving, anchor, count = states
    products = DoubleDouble(Q)
    merged = count * U * leaving_entries(Q, leaving)
    with np.errstate(all="ignore"):  # numbers that are not finite prove nothing
        result = _height_inside(products, solver, height, leaving, merged)
        if result is None:
            return LEAVES_SET
        if not result:
            return NOTHING
        h, top, c = result
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


def max_merged_rates(sources: NDArray[Any], into_anchor: NDArray[np.bool_], out: NDArray[np.bool_]) -> int:
    """Return the largest number of rates that were added up for one state with a rate out of the set.

    Arrays over transitions: the source, whether the transition leads to the anchor now, and whether it left the set
    before.
    """
    counts = np.bincount(sources[into_anchor])
    return int(counts[sources[out]].max(initial=1))


def leaving_entries(Q: sp.csr_matrix, leaving: Vector) -> Vector:
    """Return the exit rate of each state with a rate out of the set, and 0 for others, shape (n,)."""
    return np.where(leaving > 0.0, -np.asarray(Q.diagonal()), 0.0)


def _height_inside(
    products: DoubleDouble, solver: Solver, height: Height, leaving: Vector, merged: Vector
) -> tuple[Vector, float, float] | tuple[()] | None:
    """Return h in the states of the set, its largest value just outside, and the drift margin c.

    h = V + b outside of the set. Returns () if nothing is proved, and None if the chain is expected to leave the set at
    least once before the reference.
    """
    reference, n, weights = solver.reference, len(leaving), height.weights
    highest = height.highest + SLACK * abs(height.highest)

    def solve(f: Vector, target: Vector) -> tuple[Vector, Vector]:
        """Return g, in two parts, with Q g nearly -f and at most -SUFFICIENT_C target."""

        def is_sufficient(residual: Vector) -> bool:
            """Return whether this residual leaves the drift below -SUFFICIENT_C times the target."""
            drift = residual - f + (f - target)
            drift[reference] = -math.inf
            return float((drift + SUFFICIENT_C * target).max()) < 0.0

        return solve_poisson(solver, f, is_sufficient, MAX_MULTIGRID_CYCLES)

    first, _ = solve(weights + leaving * max(highest, 0.0), weights)
    out, _ = solve(leaving, leaving)
    low = height.inside - SLACK * np.abs(height.inside)
    if not (out < 1.0).all():
        return None
    b = float(np.max((first - low) / (1.0 - out)))
    b = max(b, -height.lower_bound, 0.0)
    b += SLACK * abs(b) + SLACK
    top = max(highest + b, 0.0) * ROUNDED_UP
    h, residual = (np.zeros(n), np.zeros(n)), weights + leaving * top
    best: tuple[Vector, float, float] | None = None
    for _ in range(MAX_REFINEMENTS):
        h = pair_sum(h, solve(residual, weights))
        excess_h = float(np.max(((h[0] + h[1]) * ROUNDED_UP - low - b) / (1.0 - out)))
        if best is None and 0.0 < excess_h < math.inf:  # the solution is inaccurate
            rise = excess_h * (1.0 + SLACK) + SLACK
            b, top = b + rise, (top + rise) * ROUNDED_UP
            h = pair_sum(h, (rise * ROUNDED_UP * out, np.zeros(n)))
        drift, error = products.drift(*h)
        size = (h[0] + h[1]) * ROUNDED_UP
        rounding = U * 8.0 * (np.abs(drift) + leaving * top) + merged * (float(np.abs(h[0]).max()) + top)
        worst = (drift + leaving * top + error + rounding) / weights
        worst[reference] = -math.inf
        c = min(-float(worst.max()), 1.0)
        proved = bool(np.all(size <= low + b) and size.min() >= 0.0 and np.all(np.isfinite(size)))
        if not (proved and c > (0.0 if best is None else best[2])):
            break
        best = size, top, c
        if c > SUFFICIENT_C:
            break
        residual = weights + leaving * top + drift
    return best or ()


def distance(sides: Sides, pi: Vector) -> float:
    """Return a bound on |pi(A) - exact(A)| for every set A of states, at most 1; inf if nothing is proved."""
    mass, rounding = excess(pi, np.zeros_like(pi))
    return min(max(sides) + abs(mass) + rounding, 1.0) if math.isfinite(max(sides)) else math.inf


def bounded_mean(sides: Sides, pi: Vector, f: Vector) -> Bounded:
    """Return the mean of f over all states with bounds, from f in the set, shape (n,), and `sides_of` pi.

    With x the given probabilities (``pi``), p the exact distribution and g the mean sum of f until the reference 0 is
    reached, r g = -x f + s p f with s = x(0) / p(0). For f = 1 that is s less the mass of x. Both lie within the sides.
    """
    value, rounding = inner(pi, f), (len(pi) + 8) * U * inner(pi, np.abs(f))
    mass, off = excess(pi, np.zeros_like(pi))
    half = (sides.up + sides.down) * ROUNDED_UP + rounding
    low, high = 1.0 + mass - off - sides.down - 8.0 * U, (1.0 + mass + off + sides.up) * (1.0 + 6.0 * U)
    if not (math.isfinite(half) and low > 0.0):
        return Bounded(value, -math.inf, math.inf)
    limits = [(value + sign * half) / share for sign in (-1.0, 1.0) for share in (low, high)]
    lower, upper = math.nextafter(min(limits), -math.inf), math.nextafter(max(limits), math.inf)
    return Bounded(min(max(value, lower), upper), lower, upper)

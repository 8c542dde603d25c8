"""Proof that an approximate stationary vector is close to the exact vector.

1. A solver of Poisson's equation, the method's factors first, yields h near the mean costs until a reference state.
   (Q h)(x) <= -c is then verified in every other state, in double-double (`supersolution`).
2. The residual r = x Q is evaluated in double-double, and with it the inequality

       c * half of sum |x - m pi| <= max(sum r+ h, sum r- h),

   m being the mass of x (`Certificate._prove`). Any h with a negative drift and any x serve: no error of a solver
   matters.
3. With factors the vector is corrected by its residual as long as the bound falls by half, and the distance to the
   corrected vector is added (`Certificate._judge`).
4. The next solver follows where c is small, or where the reference is unlikely and the vector cannot be corrected.

Rounding enters in both products, whose bounds are part of r and of the drift, and in sums of n positive terms, by
``rounded_up``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.double_double import DoubleDouble, excess, pair_sum
from markov.computing.matrices import inner, row_numbers
from markov.computing.rounding import U
from markov.proofs.poisson import MultigridPoisson, candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.methods.solution import Solution
    from markov.proofs.poisson import Solver

    Vector = NDArray[np.float64]

__all__ = [
    "REFINEMENTS",
    "SUFFICIENT_DRIFT",
    "Certificate",
    "Supersolution",
    "error_bound",
    "net_flow",
    "relative_residual",
    "solve_balance",
    "solve_poisson",
    "solvers",
    "supersolution",
]

SUFFICIENT_DRIFT = 0.5  # c above which no other h is computed
MAX_PLAIN_CYCLES = 12  # of multigrid
HEIGHT_ROUNDING = 1.0 + 8.0 * U  # h, and c with it
REFINEMENTS = 3  # of a solution, by the equation of its residual
NEGLIGIBLE_SHARE = 0.2  # of the bound: deviation of a corrected vector that does not matter
TIGHT_RESIDUAL_SHARE = 0.02  # of the deviation: target for a corrected vector, and
DISTANCE_SHARE = 10.0  # the same over its distance from pi
WEIGHT_EXPONENT = 0.1  # weights grow as this power of 1 / pi
MIN_PROBABILITY = 1e-300
MAX_UNIT_MASS = 1.0 + 1e-9  # mass of a distribution, with rounding
MIN_REFERENCE_SHARE = 1e-3  # of the largest probability: another reference may prove more


def net_flow(Q: sp.csr_matrix, pi: Vector) -> Vector:
    """Return pi Q: the flow into each state minus the flow out of it, shape (n,), for Q of shape (n, n)."""
    flows = row_numbers(Q.indptr, pi) * Q.data
    return np.asarray(np.bincount(Q.indices, flows, len(pi)), dtype=np.float64)


def relative_residual(Q: sp.csr_matrix, pi: Vector, net: Vector | None = None) -> float:
    """Return ||pi Q||_1 over the probability flow ||pi |Q|||_1, for Q of shape (n, n).

    ``net`` is the `net_flow`; None: it is computed.
    """
    flow = 2.0 * inner(np.abs(pi), np.abs(Q.diagonal()))
    net = net_flow(Q, pi) if net is None else net
    return float(np.abs(net).sum()) / flow if flow > 0 else 0.0


def error_bound(Q: sp.csr_matrix, pi: Vector, components: Mapping[str, NDArray[np.int64]] | None = None) -> float:
    """Return an upper bound on the total-variation distance of ``pi`` to the stationary vector.

    Parameters as for `Certificate`.

    Returns
    -------
    float
        At most one for a distribution; inf when no bound could be verified. It bounds
        |pi(A) - exact(A)| for every set A of states; half of sum |pi - exact| is at most that, and
        less by half of the difference of the sum of ``pi`` from one. See `Certificate`.
    """
    return Certificate(Q, pi, components).distance


def solvers(
    Q: sp.csr_matrix,
    pi: Vector,
    weights: Vector,
    components: Mapping[str, NDArray[np.int64]] | None,
    solution: Solution | None,
) -> Iterator[Solver]:
    """Yield solvers of Poisson's equation Q g = -f: the factors of the method, then others by predicted cost."""
    if solution is not None and solution.factors is not None:
        yield solution.factors
    hierarchy = None if solution is None else solution.hierarchy
    yield from candidates(Q, pi, weights, components, hierarchy)


def solve_poisson(
    solver: Solver, f: Vector, is_accurate: Callable[[Vector], bool], uncombined_cycles: int = 0
) -> tuple[Vector, Vector]:
    """Return g with Q g = -f approximately, a sum of two vectors, shape (n,) each; see `MultigridPoisson.poisson`."""
    if isinstance(solver, MultigridPoisson):
        return solver.poisson(f, is_accurate, uncombined_cycles), np.zeros_like(f)
    return solver.poisson(f)


def solve_balance(solver: Solver, r: Vector, is_accurate: Callable[[Vector], bool]) -> Vector:
    """Return d with d Q = -r approximately, shape (n,); see `MultigridPoisson.balance`.

    With factors it is as near as these.
    """
    if isinstance(solver, MultigridPoisson):
        return solver.balance(r, is_accurate)
    return solver.balance(r)


class Supersolution(NamedTuple):
    """A function h of the state with a proved drift Q h <= -c in all states but the reference, where h is 0.

    Verified except in the reference: (Q h)(x) <= -c and (Q h)(x) <= -relative w(x).

    Attributes
    ----------
    h
        Shape (n,), rounded up; positive except in the reference, where it is smallest: Q h is not negative
        in a minimum.
    c, relative
        Proved drifts; values up to 0 prove nothing.
    """

    h: Vector
    c: float
    relative: float


def supersolution(products: DoubleDouble, solver: Solver, weights: Vector) -> Supersolution:
    """Return a function h near the mean costs until the reference is entered, with the drift proved for it.

    Parameters
    ----------
    products
        Products of the generator with h.
    solver
        A solver of Q g = -f.
    weights
        w, the costs per second, shape (n,), at least one.
    """
    reference, n = solver.reference, len(weights)

    def is_accurate(residual: Vector) -> bool:
        """Return whether a residual leaves a sufficient drift in all states but the reference."""
        drift = residual - weights
        drift[reference] = -math.inf
        return float(drift.max()) < -SUFFICIENT_DRIFT

    h = np.zeros(n), np.zeros(n)
    residual, best = weights, Supersolution(h[0], 0.0, 0.0)
    for _ in range(REFINEMENTS):
        h = pair_sum(h, solve_poisson(solver, residual, is_accurate, MAX_PLAIN_CYCLES))
        drift, error = products.drift(*h)
        upper = drift + error
        upper[reference] = -math.inf
        c = -float(upper.max())
        if not (c > best.c and np.all(np.isfinite(h[0]))):
            break
        upper /= weights
        best = Supersolution((h[0] + h[1]) * HEIGHT_ROUNDING, c, -float(upper.max()))
        if c > SUFFICIENT_DRIFT:
            break
        residual = weights + drift
    return best


class Certificate:
    """Error bounds of an approximate stationary vector, and refinement of the bounds of means.

    Parameters
    ----------
    Q
        Irreducible generator, shape (n, n); its off-diagonals are taken as exact.
    pi
        Approximate stationary vector, shape (n,), non-negative.
    components
        The value of each component of a model's state, shape (n,) each.
    solution
        A method's solution: factors, levels, and its bound on entries.
    tight
        Whether the vector is corrected by multigrid as well.

    Attributes
    ----------
    distance
        Upper bound on |pi(A) - exact(A)| for every set A of states, hence on half of
        sum |pi - exact| as well; at most one for a distribution, inf without a verified bound.
    entry_error
        Bound on |pi(x) - exact| / exact for all states x; inf without such a bound.
    low
        Shape (n,): ``pi + low`` is better than ``pi``.
    rest, defect
        Bounds on half the sum of sizes of pi + low less its mass times the exact vector, and of the
        mass from one.
    sides
        Bounds on sum r+ h and sum r- h, with r = (pi + low) Q and h of the supersolution.
    solver, supersolution
        The solver and the supersolution of the best bound, or None.

    Notes
    -----
    With a reference state 0, let h >= 0 and (Q h)(x) <= -c < 0 for x != 0. Let x have the mass m and
    r = x Q, and let p be the positive or the negative part of x - m pi, whichever is zero in 0; both
    have the same sum, half of sum |x - m pi|. Then p Q >= -r- or -r+, whence
    c sum p <= -p Q h <= max(sum r+ h, sum r- h) (``docs/markov-bound.md``). An approximate h is
    found by factors or by multigrid, for costs per second that are large in unlikely states,
    (max pi / pi)^0.1; c is verified. Where there are factors, x is ``pi`` with one correction, as two
    float64, and the distance from ``pi`` to it is added. All products are evaluated in double-double,
    with every rounding error bounded.
    """

    def __init__(
        self,
        Q: sp.csr_matrix,
        pi: Vector,
        components: Mapping[str, NDArray[np.int64]] | None = None,
        solution: Solution | None = None,
        tight: bool = False,
    ) -> None:
        self.Q, self.pi = Q, pi
        self.entry_error = math.inf if solution is None else solution.entry_error
        self.products = DoubleDouble(Q)
        self.weights = (np.maximum(pi, MIN_PROBABILITY) / pi.max()) ** -WEIGHT_EXPONENT
        self.low = self._net = np.zeros_like(pi)
        self.rest = self.defect = math.inf
        self.sides = math.inf, math.inf
        self.solver: Solver | None = None
        self.supersolution: Supersolution | None = None
        self.rounded_up = 1.0 + (len(pi) + 16) * U
        self.distance = sum(excess(pi, self.low)) if len(pi) == 1 else math.inf
        if len(pi) > 1:
            with np.errstate(all="ignore"):  # infinite and NaN values bound nothing, and are compared
                self._search(components, solution, tight)
        self.distance = min(self.distance, self.entry_error)
        if self.distance < math.inf:
            mass = float(pi.sum())
            self.distance = min(self.distance, 1.0 if mass <= MAX_UNIT_MASS else mass * self.rounded_up)

    def _search(
        self,
        components: Mapping[str, NDArray[np.int64]] | None,
        solution: Solution | None,
        tight: bool,
    ) -> None:
        """Store the best error bound of several solvers of Poisson's equation; ``tight``: each bound is refined."""
        for solver in solvers(self.Q, self.pi, self.weights, components, solution):
            self.solver = self.solver or solver
            proof = supersolution(self.products, solver, self.weights)
            if proof.c > 0.0 and self._judge(solver, proof, tight):
                break

    def _judge(self, solver: Solver, proof: Supersolution, tight: bool) -> bool:
        """Adopt the error bound that a supersolution proves if it is smaller; return whether it is sharp."""
        vector = _CorrectedVector(np.zeros_like(self.pi), *self._prove(np.zeros_like(self.pi), proof))
        best_vector, distance = vector, self._distance(vector)
        for _ in range(0 if isinstance(solver, MultigridPoisson) else REFINEMENTS):
            previous, vector = vector, self._correct(solver, vector, proof)
            if vector.rest < best_vector.rest:
                best_vector, distance = vector, min(distance, self._distance(vector))
            if vector.rest <= NEGLIGIBLE_SHARE * distance or not vector.rest < 0.5 * previous.rest:
                break
        if distance < self.distance:
            self.solver, self.supersolution = solver, proof
            self._adopt(best_vector)
            self.distance = distance
            if tight:
                self.sharpen(TIGHT_RESIDUAL_SHARE)
                self.sharpen(DISTANCE_SHARE * self._distance_to_corrected(self.low) / self.rest)
        likely = self.pi[solver.reference] >= MIN_REFERENCE_SHARE * self.pi.max()
        return proof.c > SUFFICIENT_DRIFT and (likely or best_vector.rest <= 0.5 * distance)

    def sharpen(self, share: float) -> None:
        """Reduce ``rest``, the bound on the error of the corrected vector, by the factor ``share`` if possible."""
        solver, proof = self.solver, self.supersolution
        if solver is None or proof is None:
            return
        goal = share * self.rest
        with np.errstate(all="ignore"):  # infinite and NaN vectors are not adopted
            vector = _CorrectedVector(self.low, self.rest, self.defect, self.sides, self._net)
            while self.rest > goal:
                vector = self._correct(solver, vector, proof, goal)
                if not vector.rest < 0.5 * self.rest:
                    break
                self._adopt(vector)

    def _adopt(self, better: _CorrectedVector) -> None:
        """Store a corrected vector with its bounds, and the smaller of the bounds on the distance."""
        self.low, self.rest, self.defect, self.sides, self._net = better
        self.distance = min(self.distance, self._distance(better))

    def _distance(self, better: _CorrectedVector) -> float:
        """Return the bound on the error of ``pi`` that a corrected vector and its bounds give."""
        return self._distance_to_corrected(better.low) + better.rest + better.defect

    def _distance_to_corrected(self, low: Vector) -> float:
        """Return a bound on the difference of any event's probability under pi and under pi + low."""
        gain, loss = float(low.sum(where=low > 0.0)), -float(low.sum(where=low < 0.0))
        return max(gain, loss) * self.rounded_up

    def _prove(self, low: Vector, proof: Supersolution) -> tuple[float, float, tuple[float, float], Vector]:
        """Return bounds on the error and the mass of pi + low, both ``sides``, and (pi + low) Q, shape (n,)."""
        net, error = self.products.net_flow(self.pi, low)
        sides = self._side(net, error, proof), self._side(-net, error, proof)
        deviation = max(sides) / proof.c * self.rounded_up
        mass, rounding = excess(self.pi, low)
        return deviation, abs(mass) + rounding, sides, net

    def _side(self, net: Vector, error: Vector, proof: Supersolution) -> float:
        """Return a bound on the sum over the states of the positive part of net +- error, times h."""
        total = inner(np.maximum(net + error, 0.0), proof.h) * self.rounded_up
        return total if math.isfinite(total) else math.inf

    def _correct(
        self, solver: Solver, vector: _CorrectedVector, proof: Supersolution, goal: float = 0.0
    ) -> _CorrectedVector:
        """Return the vector corrected by its residual, of mass one, with its bounds."""

        def is_accurate(net: Vector) -> bool:
            positive, negative = np.maximum(net, 0.0), np.maximum(-net, 0.0)
            return max(inner(positive, proof.h), inner(negative, proof.h)) <= goal * proof.c

        low = vector.low + solve_balance(solver, vector.net, is_accurate)
        low -= excess(self.pi, low)[0] * self.pi
        return _CorrectedVector(low, *self._prove(low, proof))


class _CorrectedVector(NamedTuple):
    """A corrected vector pi + low, its ``rest``, ``defect`` and ``sides`` as for `Certificate`, and (pi + low) Q."""

    low: Vector
    rest: float
    defect: float
    sides: tuple[float, float]
    net: Vector

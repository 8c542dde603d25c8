"""Proof that an approximate stationary vector is close to the true one."""

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
    "SHARP",
    "Certificate",
    "Supersolution",
    "balanced",
    "error_bound",
    "net_flow",
    "relative_residual",
    "solved",
    "solvers",
    "supersolution",
]

SHARP = 0.5  # of c: an h that proves more is not looked for
PLAIN_CYCLES = 12  # of multigrid
ROUNDED_UP = 1.0 + 8.0 * U  # h, and c with it
REFINEMENTS = 3
NEGLIGIBLE_SHARE = 0.2  # of the whole bound: what is left for a better vector and does not matter
TIGHT = 0.02  # of what plain residuals prove: what a better vector is to leave, and
LOOSE = 10.0  # of its distance from the first one
TAIL = 0.1  # weights grow as this power of 1 / pi
FLOOR = 1e-300
UNIT = 1.0 + 1e-9  # a mass that is one, with rounding
UNLIKELY = 1e-3  # of the largest probability: another reference may prove more


def net_flow(Q: sp.csr_matrix, pi: Vector) -> Vector:
    """Return pi Q, shape (n,), for Q of shape (n, n)."""
    flows = row_numbers(Q.indptr, pi) * Q.data
    return np.asarray(np.bincount(Q.indices, flows, len(pi)), dtype=np.float64)


def relative_residual(Q: sp.csr_matrix, pi: Vector, net: Vector | None = None) -> float:
    """Return ||pi Q||_1 over the probability flow ||pi |Q|||_1, for Q of shape (n, n).

    ``net`` is the `net_flow`, where it is known.
    """
    flow = 2.0 * inner(np.abs(pi), np.abs(Q.diagonal()))
    net = net_flow(Q, pi) if net is None else net
    return float(np.abs(net).sum()) / flow if flow > 0 else 0.0


def error_bound(Q: sp.csr_matrix, pi: Vector, components: Mapping[str, NDArray[np.int64]] | None = None) -> float:
    """Return an upper bound on the total-variation distance of ``pi`` to the stationary vector.

    Parameters are those of `Certificate`.

    Returns
    -------
    float
        At most one for a distribution; inf when no bound could be verified. It bounds
        |pi(A) - exact(A)| for every set A of states; half of sum |pi - exact| is at most that, and
        less by half of what the sum of ``pi`` differs from one. See `Certificate`.
    """
    return Certificate(Q, pi, components).distance


def solvers(
    Q: sp.csr_matrix,
    pi: Vector,
    weights: Vector,
    components: Mapping[str, NDArray[np.int64]] | None,
    solution: Solution | None,
) -> Iterator[Solver]:
    """Yield solvers of Poisson's equation Q g = -f for a chain: the factors that a method left, then others by predicted cost."""
    if solution is not None and solution.factors is not None:
        yield solution.factors
    hierarchy = None if solution is None else solution.hierarchy
    yield from candidates(Q, pi, weights, components, hierarchy)


def solved(solver: Solver, f: Vector, enough: Callable[[Vector], bool], plain: int = 0) -> tuple[Vector, Vector]:
    """Return g with Q g = -f, nearly, as a sum of two vectors; see `MultigridPoisson.poisson`."""
    if isinstance(solver, MultigridPoisson):
        return solver.poisson(f, enough, plain), np.zeros_like(f)
    return solver.poisson(f)


def balanced(solver: Solver, r: Vector, enough: Callable[[Vector], bool]) -> Vector:
    """Return d with d Q = -r, nearly; see `MultigridPoisson.balance`. With factors it is as near as they are."""
    if isinstance(solver, MultigridPoisson):
        return solver.balance(r, enough)
    return solver.balance(r)


class Supersolution(NamedTuple):
    """h with h(reference) = 0 and, verified elsewhere, (Q h)(x) <= -c and (Q h)(x) <= -relative w(x).

    Attributes
    ----------
    h
        Shape (n,), rounded up; positive but in the reference, as it has its least value there: where
        else it had, Q h would not be negative.
    c, relative
        What is not positive proves nothing.
    """

    h: Vector
    c: float
    relative: float


def supersolution(products: DoubleDouble, solver: Solver, weights: Vector) -> Supersolution:
    """Return an h near the mean costs until the solver's reference, and the bound it proves.

    Parameters
    ----------
    products
        What multiplies the generator by h.
    solver
        Of Q g = -f.
    weights
        w, the costs per second, shape (n,), at least one.
    """
    reference, n = solver.reference, len(weights)

    def enough(rest: Vector) -> bool:
        drift = rest - weights
        drift[reference] = -math.inf
        return float(drift.max()) < -SHARP

    h = np.zeros(n), np.zeros(n)
    rest, best = weights, Supersolution(h[0], 0.0, 0.0)
    for _ in range(REFINEMENTS):
        h = pair_sum(h, solved(solver, rest, enough, PLAIN_CYCLES))
        drift, error = products.drift(*h)
        worst = drift + error
        worst[reference] = -math.inf
        c = -float(worst.max())
        if not (c > best.c and np.all(np.isfinite(h[0]))):
            break
        worst /= weights
        best = Supersolution((h[0] + h[1]) * ROUNDED_UP, c, -float(worst.max()))
        if c > SHARP:
            break
        rest = weights + drift
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
        What a method left: factors, levels, and its own bound on entries.
    tight
        True looks for a better vector also where only levels are known.

    Attributes
    ----------
    distance
        Upper bound on |pi(A) - exact(A)| for every set A of states, hence on half of
        sum |pi - exact| as well; at most one for a distribution, inf where none could be verified.
    entry_error
        Bound on |pi(x) - exact| / exact for all states x; inf where there is none.
    low
        Shape (n,): ``pi + low`` is better than ``pi``.
    rest, defect
        Bounds on half the sum of sizes of pi + low less its mass times the exact vector, and of the
        mass from one.
    sides
        Bounds on sum r+ h and sum r- h, with r = (pi + low) Q and h of the supersolution.
    solver, supersolution
        What they were found by, or None.

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
        self.weights = (np.maximum(pi, FLOOR) / pi.max()) ** -TAIL
        self.low = self._net = np.zeros_like(pi)
        self.rest = self.defect = math.inf
        self.sides = math.inf, math.inf
        self.solver: Solver | None = None
        self.supersolution: Supersolution | None = None
        self.rounded_up = 1.0 + (len(pi) + 16) * U
        self.distance = sum(excess(pi, self.low)) if len(pi) == 1 else math.inf
        if len(pi) > 1:
            with np.errstate(all="ignore"):  # what is not finite bounds nothing, and is looked for
                self._search(components, solution, tight)
        self.distance = min(self.distance, self.entry_error)
        if self.distance < math.inf:
            mass = float(pi.sum())
            self.distance = min(self.distance, 1.0 if mass <= UNIT else mass * self.rounded_up)

    def _search(
        self,
        components: Mapping[str, NDArray[np.int64]] | None,
        solution: Solution | None,
        tight: bool,
    ) -> None:
        """Try one solver after the other, the fastest first."""
        for solver in solvers(self.Q, self.pi, self.weights, components, solution):
            self.solver = self.solver or solver
            proof = supersolution(self.products, solver, self.weights)
            if proof.c > 0.0 and self._judge(solver, proof, tight):
                break

    def _judge(self, solver: Solver, proof: Supersolution, tight: bool) -> bool:
        """Adopt the bound of a supersolution if it is better; return whether it is sharp."""
        found = _Better(np.zeros_like(self.pi), *self._proved(np.zeros_like(self.pi), proof))
        best, distance = found, self._distance(found)
        for _ in range(0 if isinstance(solver, MultigridPoisson) else REFINEMENTS):
            before, found = found, self._corrected(solver, found, proof)
            if found.rest < best.rest:
                best, distance = found, min(distance, self._distance(found))
            if found.rest <= NEGLIGIBLE_SHARE * distance or not found.rest < 0.5 * before.rest:
                break
        if distance < self.distance:
            self.solver, self.supersolution = solver, proof
            self._take(best)
            self.distance = distance
            if tight:
                self.sharpen(TIGHT)
                self.sharpen(LOOSE * self._moved(self.low) / self.rest)
        likely = self.pi[solver.reference] >= UNLIKELY * self.pi.max()
        return proof.c > SHARP and (likely or best.rest <= 0.5 * distance)

    def sharpen(self, share: float) -> None:
        """Reduce ``rest`` by the factor ``share`` with a better vector, as far as possible."""
        solver, proof = self.solver, self.supersolution
        if solver is None or proof is None:
            return
        goal = share * self.rest
        with np.errstate(all="ignore"):  # what is not finite is not taken
            found = _Better(self.low, self.rest, self.defect, self.sides, self._net)
            while self.rest > goal:
                found = self._corrected(solver, found, proof, goal)
                if not found.rest < 0.5 * self.rest:
                    break
                self._take(found)

    def _take(self, better: _Better) -> None:
        self.low, self.rest, self.defect, self.sides, self._net = better
        self.distance = min(self.distance, self._distance(better))

    def _distance(self, better: _Better) -> float:
        """Return the bound on the distance that a better vector gives."""
        return self._moved(better.low) + better.rest + better.defect

    def _moved(self, low: Vector) -> float:
        """Return how far the probability of any event is from that under pi + low."""
        up, down = float(low.sum(where=low > 0.0)), -float(low.sum(where=low < 0.0))
        return max(up, down) * self.rounded_up

    def _proved(self, low: Vector, proof: Supersolution) -> tuple[float, float, tuple[float, float], Vector]:
        """Return the bound for pi + low up to its mass, that for its mass, both sides, and (pi + low) Q."""
        net, error = self.products.net_flow(self.pi, low)
        sides = self._side(net, error, proof), self._side(-net, error, proof)
        rest = max(sides) / proof.c * self.rounded_up
        mass, rounding = excess(self.pi, low)
        return rest, abs(mass) + rounding, sides, net

    def _side(self, net: Vector, error: Vector, proof: Supersolution) -> float:
        """Return a bound on the sum of the positive part of net +- error, times h."""
        found = inner(np.maximum(net + error, 0.0), proof.h) * self.rounded_up
        return found if math.isfinite(found) else math.inf

    def _corrected(self, solver: Solver, found: _Better, proof: Supersolution, goal: float = 0.0) -> _Better:
        """Return a better vector, of mass one."""

        def enough(net: Vector) -> bool:
            up, down = np.maximum(net, 0.0), np.maximum(-net, 0.0)
            return max(inner(up, proof.h), inner(down, proof.h)) <= goal * proof.c

        low = found.low + balanced(solver, found.net, enough)
        low -= excess(self.pi, low)[0] * self.pi
        return _Better(low, *self._proved(low, proof))


class _Better(NamedTuple):
    """A vector pi + low, with ``rest``, ``defect``, ``sides`` as for `Certificate`, and (pi + low) Q."""

    low: Vector
    rest: float
    defect: float
    sides: tuple[float, float]
    net: Vector

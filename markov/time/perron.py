"""The slowest decay among transient states: Perron vectors, their eigenvalue, the quasi-stationary distribution.

With A = -Q on the states that are not absorbing, v A = alpha v: the left Perron vector of an M-matrix (J. N. Darroch,
E. Seneta, On quasi-stationary distributions in absorbing continuous-time finite Markov chains, Journal of Applied
Probability 4, 1967).

1. Inverse iteration without a subtraction (`PositiveFactors`), then one step whose result is refined to twice the
   digits, for rows and for columns (`slowest_decay`). It converges where the next eigenvalue is far.
2. Otherwise shifts by the smallest ratio (v A)(x) / v(x) keep A an M-matrix, the iterates positive, and converge
   quadratically (T. Noda, Numerische Mathematik 17, 1971).

Either is proved in the same way: for any v > 0, alpha lies between the smallest and the largest (v A)(x) / v(x)
(L. Collatz, H. Wielandt). Rounding enters in these products, evaluated in double-double, and their bound widens the
interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver, figure
from markov.computing.matrices import strong_components
from markov.computing.resources import TooLargeError
from markov.computing.rounding import U
from markov.elimination.bands import PositiveFactors, band
from markov.models.rules import scope_of_bound
from markov.proofs.bounded import Bounded
from markov.selections import as_chain, select_target
from markov.time.absorbing import Absorbing
from markov.time.results import TimeResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]
    Solve = Callable[[Vector], Vector]
    Ratios = Callable[[Vector, Vector], tuple[Vector, Vector]]

__all__ = ["QuasiStationary", "SlowestDecay", "decay_seconds", "quasi_stationary", "slowest_decay"]

MAX_STEPS = 60
REFINEMENTS = 2
MIN_RATIO_SPREAD = 8.0 * U  # relative spread of ratios that more steps do not make smaller
SECONDS_PER_PRODUCT = 1.5e-9
SECONDS_PER_STATE = 1e-4  # of an elimination and some ten solves
MAX_RELATIVE_WIDTH = 1e-9  # relative width of the interval beyond which vectors are of no use


class SlowestDecay(NamedTuple):
    """Left and right Perron vectors of transient states, and an interval for their eigenvalue, in 1/s.

    Attributes
    ----------
    left, right
        Shape (m,) each, > 0, rounded from the vectors whose products were evaluated.
    low, high
        v A and A u lie between ``low`` and ``high`` times v and u in every entry, of those vectors.
    """

    left: Vector
    right: Vector
    low: float
    high: float

    @property
    def rate(self) -> float:
        """Midpoint of the interval for the eigenvalue, in 1/s."""
        return 0.5 * (self.low + self.high)


def decay_seconds(system: Absorbing) -> float:
    """Return the predicted time of `slowest_decay` for these states, in s."""
    return SECONDS_PER_PRODUCT * band(system.F).work + SECONDS_PER_STATE * len(system.states)


def slowest_decay(system: Absorbing) -> SlowestDecay | None:
    """Return both Perron vectors and an interval for their eigenvalue; None if not proved to 1e-9 in 60 steps.

    Such chains have states that do not all lead to each other, or a next eigenvalue that is near.
    """
    count, _ = strong_components(system.F)
    if count > 1:
        return None
    try:
        factors = PositiveFactors(system.F, system.rates_into(~system.inside).astype(np.float64))
    except TooLargeError:
        return None
    vectors = []
    with np.errstate(all="ignore"):  # the iteration checks for infinite and for negative entries
        sides: tuple[tuple[Solve, Ratios], ...] = (
            (factors.left, system.row_products),
            (factors.right, system.column_products),
        )
        for solve, products in sides:
            eigenvector = _eigenvector(np.ones(len(system.states)), solve, products)
            if eigenvector is None:
                return None
            vectors.append(eigenvector)
    (left, *row_interval), (right, *column_interval) = vectors
    low, high = max(row_interval[0], column_interval[0]), min(row_interval[1], column_interval[1])
    return SlowestDecay(left, right, low, high) if low <= high else None


def _eigenvector(v: Vector, solve: Solve, products: Ratios) -> tuple[Vector, float, float] | None:
    """Return a positive eigenvector by inverse iteration from ``v``, and bounds on its eigenvalue.

    None if the iteration does not converge, leaves the positive vectors, or proves no bounds that are near enough.
    """
    spread = math.inf
    for _ in range(MAX_STEPS):
        next_v = solve(v)
        if not (np.isfinite(next_v).all() and next_v.min() > 0.0):
            return None
        ratios = v / next_v
        width = float(ratios.max() / ratios.min()) - 1.0
        v = next_v / next_v.max()
        if width <= MIN_RATIO_SPREAD or (width < MAX_RELATIVE_WIDTH and width >= 0.5 * spread):
            break
        spread = width
    else:
        return None
    eigenvalue = float(ratios.mean())
    target, x = v * eigenvalue, v
    low = np.zeros_like(v)
    for _ in range(REFINEMENTS):
        product, _ = products(x, low)
        low = low + solve(target - product)
        total = x + low
        low, x = low + (x - total), total
    product, error = products(x, low)
    rounded_up = 1.0 + 8.0 * U
    smallest, largest = (
        float(((product - error) / x).min()) / rounded_up,
        float(((product + error) / x).max()) * rounded_up,
    )
    if not (x.min() > 0.0 and 0.0 < smallest <= largest <= (1.0 + MAX_RELATIVE_WIDTH) * smallest):
        return None
    return x, smallest, largest


MAX_ELIMINATION_SECONDS = 5.0  # of an elimination on band storage, which sparse factors may beat
USEFUL_RELATIVE_WIDTH = 1e-6  # of the interval for the rate, up to which the answer counts as converged


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class QuasiStationary(TimeResult):
    """Result of `quasi_stationary`: the limit distribution over states not absorbed, and the rate of its decay.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    pi
        Shape (states,): the limit of P(X(t) = x | not absorbed until t); zero in absorbing states.
    decay_rate
        alpha in 1/s, with an interval that holds it: from pi the time to absorption is exponential with
        the mean 1 / alpha.
    status
        CONVERGED; INACCURATE where the interval is wider than a millionth of alpha.
    steps
        Factorizations.
    seconds
        Wall-clock time, in s.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import quasi_stationary
    >>> result = quasi_stationary(np.array([[-1.0, 1.0, 0.0], [1.0, -2.0, 1.0], [0.0, 0.0, 0.0]]))
    >>> round(result.decay_rate.value, 10)  # (3 - sqrt 5) / 2
    0.3819660113
    """

    pi: Vector
    decay_rate: Bounded
    steps: int

    @property
    def mean_time(self) -> float:
        """Mean time to absorption from pi, in s."""
        return 1.0 / self.decay_rate.value

    def _answers(self) -> dict[str, object]:
        """Return the rows of the summary on states, decay rate with its bound, mean time and factorizations."""
        return {
            "states": f"{self.chain.size}, {int((self.pi > 0.0).sum())} of them not absorbing",
            "decay rate": f"{self.decay_rate.value:.10g} +- {self.decay_rate.error:.1e}",
            **scope_of_bound(self.chain.model),
            "mean time": f"{self.mean_time:.10g}",
            "factorizations": self.steps,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the probabilities over the numbers of the states, and return the Axes."""
        if ax is None:
            _, ax = figure()
        ax.plot(self.pi, drawstyle="steps-mid")
        ax.set(xlabel="state", ylabel="probability", ylim=(0.0, None))
        return ax


def quasi_stationary(model: Any, to: Any = None, *, on_failure: OnFailure = "raise") -> QuasiStationary:
    """Return the quasi-stationary distribution of a chain that is absorbed in the end.

    Parameters
    ----------
    model
        As for `passage`.
    to
        The absorbing states, as for `passage`; None: all closed classes.
    on_failure
        ``"raise"`` or ``"return"``.

    Raises
    ------
    ValueError
        For bad input; when no state is left, or those left do not all lead to each other: the limit
        depends on the start then.
    ConvergenceError
        Carrying the partial result.

    Examples
    --------
    A queue that has never been empty: the busy period's tail.

    >>> from markov import MM1K, quasi_stationary
    >>> result = quasi_stationary(MM1K(capacity=20), to=(0,))
    >>> result.decay_rate.error < 1e-9 * result.decay_rate.value, float(result.pi[0])
    (True, 0.0)
    """
    watch = Stopwatch()
    chain = as_chain(model)
    inside = _transient_states(chain, to)
    system = Absorbing(chain.Q, inside)
    count, _ = strong_components(system.F)
    if count > 1:
        message = f"{count} classes that do not all lead to each other: must be one"
        raise ValueError(f"the {len(system.states)} states that are not absorbing are {message}")
    v, interval, steps = _perron_vector(system)
    middle = 0.5 * (interval[0] + interval[1])
    pi = np.zeros(chain.size)
    pi[inside] = v
    width = interval[1] - interval[0]
    useful = math.isfinite(width) and interval[0] > 0.0 and width <= USEFUL_RELATIVE_WIDTH * middle
    result = QuasiStationary(
        chain=chain,
        pi=pi,
        decay_rate=Bounded(middle, *interval),
        status=Status.CONVERGED if useful else Status.INACCURATE,
        steps=steps,
        seconds=watch.seconds(),
    )
    return deliver(result, on_failure)


def _transient_states(chain: MarkovChain, to: Any) -> NDArray[np.bool_]:
    """Return the mask of the states outside of ``to``, or of all closed classes if it is None, shape (states,)."""
    if to is not None:
        inside = ~select_target(chain, to)
        if not inside.any():
            raise ValueError(f"to = {to!r}: no state is left")
        return inside
    inside = np.ones(chain.size, dtype=bool)
    for states in chain.closed_classes:
        inside[states] = False
    if not inside.any():
        raise ValueError("model: no state is left for good; say in to= which states end it")
    return inside


def _perron_vector(system: Absorbing) -> tuple[Vector, tuple[float, float], int]:
    """Return the left Perron vector, an interval for its eigenvalue in 1/s, and the number of factorizations.

    Without a subtraction where that is as cheap and converges; shifts are for an eigenvalue that is near to the next.
    """
    if decay_seconds(system) <= MAX_ELIMINATION_SECONDS:
        decay = slowest_decay(system)
        if decay is not None:
            return decay.left / decay.left.sum(), (decay.low, decay.high), 1
    # inverse iteration with shifts (Noda)
    m = len(system.states)
    v, smallest_width, interval, steps = np.full(m, 1.0 / m), math.inf, (0.0, math.inf), 0
    best_v, transposed, identity = v, sp.csc_matrix(system.A.T), sp.identity(m, format="csc")
    for _ in range(MAX_STEPS):
        low, high = _ratio_range(system, v)
        if high - low < smallest_width:
            smallest_width, interval, best_v = high - low, (low, high), v
        elif steps > 2:  # rounding is reached
            break
        if smallest_width <= 4.0 * np.finfo(float).eps * abs(high):
            break
        shift = max(low, 0.0) * (1.0 - 1e-15)
        try:
            lu = splu(sp.csc_matrix(transposed - shift * identity), diag_pivot_thresh=0.0)
            v = lu.solve(v)
        except RuntimeError:  # the shift is the eigenvalue to rounding
            break
        steps += 1
        v = np.abs(v)
        if not np.isfinite(v).all() or not v.min() > 0.0:
            break
        v = v / v.sum()
    return best_v, interval, steps


def _ratio_range(system: Absorbing, v: Vector) -> tuple[float, float]:
    """Return the smallest and the largest entry of (v A) / v, rounded outwards."""
    product, error = system.row_products(v)
    rounded_up = 1.0 + 6.0 * U
    low = float(((product - error) / v).min())
    high = float(((product + error) / v).max())
    return float(low / rounded_up if low > 0.0 else low * rounded_up), float(
        high * rounded_up if high > 0.0 else high / rounded_up
    )

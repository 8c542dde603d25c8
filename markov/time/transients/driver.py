"""From a model and times to distributions: segments between the times, one after the other."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import ascending, one_number
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver
from hopflow.units import quantities
from markov.chains import MarkovChain
from markov.computing.rate_range import rates_in_range
from markov.computing.time_limits import MAX_SECONDS, time_limit
from markov.exploration import InfiniteChain
from markov.selections import as_any_chain, distribution
from markov.time.exponentials.squaring import MAX_STATES, Evolution, worthwhile
from markov.time.transients.infinite import transient_of_infinite
from markov.time.transients.limits import limit_of
from markov.time.transients.rational import Resolvents, cheaper_order
from markov.time.transients.results import Transient
from markov.time.transients.timed_jumps import TimedJump, through
from markov.time.transients.uniformization import (
    MOST_JUMPS,
    Limit,
    Uniformized,
)

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike, NDArray

__all__ = ["transient"]

TOLERANCE = 1e-12
LAYER, LONGER = 2_000.0, 4.0  # powers before the first attempt at a Krylov space, and their growth
EARLY = 0.9  # of the powers of a time: fewer were enough
LOOSEST = 1e-8  # bound that is taken, or the tolerance
WORSE = 2.8  # than the rounding of uniformization: a bound that is still taken
SHARE = 0.3  # of all powers, that such attempts may cost


@quantities(times="time", max_seconds="time")
def transient(
    model: Any,
    times: ArrayLike,
    *,
    start: Any = None,
    tolerance: float = TOLERANCE,
    max_seconds: float = MAX_SECONDS,
    on_failure: OnFailure = "raise",
) -> Transient:
    """Return the distribution of a chain at some times, with a bound on its error.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, what `explore` found, a model read from a file, or a
        generator matrix. One with events at given times (`read_sbml`) goes through them.
    times
        In s (or the unit of the rates), >= 0, ascending, shape (times,); or one time.
    start
        The state at time 0, or a distribution of shape (states,); None: the start of the model.
    tolerance
        Of the total-variation distance at each time, for truncation; rounding comes on top, and
        both are in the bound.
    max_seconds
        In s: a computation that is predicted to take longer is refused, with the time that it would take.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose bound is above 1000 tolerances
        and above 1e-6, as with many millions of jumps.

    Raises
    ------
    ValueError
        For bad input.
    ConvergenceError
        Carrying the partial result.

    Notes
    -----
    Uniformization, at a cost of about q times the last time products with the matrix, q being the
    largest exit rate; fewer where the chain settles before. Over long times, where factors of the
    matrix are predicted to be cheaper, only as long as fast changes last, then a rational Krylov space;
    if its bound is not as small, uniformization alone. Where a time has too many jumps for both, or their bound is
    useless, chains of at most 500 states are solved by squaring, at any stiffness and time: every entry then has
    a proved relative error. Where the distribution has reached its long-run one within the bound, that is the answer at
    all later times, and ``method`` says so: the distance between the two does not grow.

    Of infinitely many states as many are used as needed: what leaves them is missing, and is in the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import transient
    >>> found = transient(np.array([[-1.0, 1.0], [0.0, 0.0]]), [1.0, 2.0], start=0)
    >>> found.pi[:, 0].round(6).tolist()  # e^-1, e^-2
    [0.367879, 0.135335]
    """
    watch = Stopwatch()
    moments = ascending("times", times)
    tolerance = one_number("tolerance", tolerance, above=0.0, below=1.0)
    timed: tuple[TimedJump, ...] = getattr(model, "timed_jumps", ())
    seconds = one_number("max_seconds", max_seconds, above=0.0)
    chain = as_any_chain(model.chain_between_events if timed else model)
    if isinstance(chain, InfiniteChain):
        with time_limit(seconds):
            return transient_of_infinite(chain, moments, start, tolerance, on_failure, _of_chain)
    begins = distribution(chain, start)
    acceptable = max(1000.0 * tolerance, 1e-6)
    with rates_in_range(chain.Q), time_limit(seconds):
        found, squared = _solved(chain, timed, begins, moments, tolerance, acceptable)
    good = found.errors[-1] <= acceptable
    result = Transient(
        chain=chain,
        start=begins,
        times=moments,
        pi=found.pi,
        error_bound=found.errors,
        relative_error=squared.relative if squared else None,
        tolerance=tolerance,
        status=Status.CONVERGED if good else Status.INACCURATE,
        steps=found.steps,
        method=found.method,
        timed=bool(timed),
        seconds=watch.seconds(),
        max_seconds=seconds,
    )
    deliver(result, on_failure)
    return result


def _solved(
    chain: MarkovChain,
    timed: tuple[TimedJump, ...],
    begins: NDArray[np.float64],
    moments: NDArray[np.float64],
    tolerance: float,
    acceptable: float,
) -> tuple[_Found, _Squared | None]:
    """Return the distributions at some times, and how they were found by squaring if they were."""
    jumps = Uniformized(chain.Q)
    count = jumps.rate * float(moments[-1])
    quick = not timed and (count > MOST_JUMPS or worthwhile(chain.size, count, chain.Q.nnz))
    squared = _by_squaring(chain.Q, begins, moments) if quick else None

    def solve(first: NDArray[np.float64], later: NDArray[np.float64]) -> _Found:
        return _between(chain, jumps, first, later, tolerance / (len(timed) + 1))

    if timed:
        found = _Found(*through(timed, begins, moments, solve))
    else:
        found = squared.found if squared else solve(begins, moments)
        if squared is None and found.errors[-1] > acceptable:
            squared = _by_squaring(chain.Q, begins, moments)
            found = squared.found if squared else found
    return found, squared


def _between(
    chain: MarkovChain,
    jumps: Uniformized,
    start: NDArray[np.float64],
    moments: NDArray[np.float64],
    tolerance: float,
) -> _Found:
    """Return the distributions at some times, as is cheaper."""
    limit = limit_of(chain, start, jumps.rate * float(moments[-1]))
    found = _by_resolvents(jumps, chain.Q, start, moments, tolerance, limit)
    return _by_powers(jumps, start, moments, tolerance, limit) if found is None else found


def _of_chain(chain: MarkovChain, start: NDArray[np.float64], moments: NDArray[np.float64], tolerance: float) -> _Found:
    """Return the distributions of a chain at some times, as is cheaper."""
    return _between(chain, Uniformized(chain.Q), start, moments, tolerance)


class _Found(NamedTuple):
    pi: NDArray[np.float64]
    errors: NDArray[np.float64]
    steps: int
    method: str


class _Squared(NamedTuple):
    """What was found by squaring, with the relative errors of entries at each time."""

    found: _Found
    relative: NDArray[np.float64]


def _by_squaring(Q: sp.csr_matrix, start: NDArray[np.float64], moments: NDArray[np.float64]) -> _Squared | None:
    """Return the distributions by squaring, from time 0 to each; None of too many states, or where nothing is proved."""
    n, last = Q.shape[0], float(moments[-1])
    if n > MAX_STATES or last == 0.0:
        return None
    rates = np.zeros((2, n, n))
    rates[0] = Q.toarray()
    np.fill_diagonal(rates[0], 0.0)
    try:
        evolution = Evolution(rates, float(moments[moments > 0.0][0]), last)
    except ValueError:  # nothing is proved
        return None
    found = evolution.forward(start, moments.tolist())
    errors = np.array([found.error(row) for row in range(len(moments))])
    return _Squared(_Found(found.values, errors, evolution.products, "squaring"), found.relative)


def _by_powers(
    jumps: Uniformized,
    start: NDArray[np.float64],
    moments: NDArray[np.float64],
    tolerance: float,
    limit: Limit | None,
) -> _Found:
    """Return the distributions at some times by uniformization from each to the next."""
    pi, errors = np.empty((len(moments), len(start))), np.empty(len(moments))
    vector, error, steps, before, method = start, 0.0, 0, 0.0, "uniformization"
    for k, moment in enumerate(moments.tolist()):
        found = jumps.distribution(vector, moment - before, tolerance / len(moments), limit)
        vector, error, steps = found.values, error + found.error, steps + found.steps
        pi[k], errors[k], before = vector, error, moment
        if found.settled:
            method = "uniformization until the long-run distribution, within the bound"
    return _Found(pi, errors, steps, method)


def _by_resolvents(
    jumps: Uniformized,
    Q: sp.csr_matrix,
    start: NDArray[np.float64],
    moments: NDArray[np.float64],
    tolerance: float,
    limit: Limit | None,
) -> _Found | None:
    """Return them by uniformization until a time, and a rational Krylov space from there on.

    The time is longer and longer, until the bound is that of the tolerance, or near to what
    rounding leaves of that of uniformization; None where it would be too long.
    """
    powers = jumps.rate * float(moments[-1])
    order = cheaper_order(Q, powers)
    if order is None:
        return None
    with suppress(RuntimeError):  # a factor is singular: the time is too far for float64
        return _until_a_layer(Resolvents(Q, float(moments[-1]), order), jumps, start, moments, tolerance, limit)
    return None


def _until_a_layer(
    resolvents: Resolvents,
    jumps: Uniformized,
    start: NDArray[np.float64],
    moments: NDArray[np.float64],
    tolerance: float,
    limit: Limit | None,
) -> _Found | None:
    """Return the distributions by uniformization until some time, and by resolvents after it; None where it would be too long."""
    powers = jumps.rate * float(moments[-1])
    layer, before, error, steps, vector = LAYER / jumps.rate, 0.0, 0.0, 0, start
    while jumps.rate * layer <= SHARE * powers:
        part = jumps.distribution(vector, layer - before, 0.1 * tolerance, limit)
        vector, error, steps = part.values, error + part.error, steps + part.steps
        if part.steps < EARLY * jumps.rate * (layer - before):
            return None  # settled: uniformization is as quick, and its bound is better
        late = moments > layer
        rounded = np.minimum(WORSE * jumps.rounding * jumps.rate * moments[late], LOOSEST)
        allowed = np.maximum(tolerance, rounded) - error
        found = resolvents.distributions(vector, moments[late] - layer, allowed)
        if found is not None:
            early = _by_powers(jumps, start, moments[~late], 0.1 * tolerance, limit)
            pi = np.concatenate([early.pi.reshape(-1, len(start)), found.values])
            errors = np.concatenate([early.errors, found.errors + error])
            method = f"uniformization until {layer:.3g}, then a rational Krylov space"
            return _Found(pi, errors, steps + early.steps + found.solves, method)
        layer, before = LONGER * layer, layer
    return None

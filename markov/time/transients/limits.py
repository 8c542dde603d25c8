"""The limit of a chain's distribution, from a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.chains import MarkovChain
from markov.computing.rounding import U
from markov.driver import stationary
from markov.time.passages.absorbing import Absorbing
from markov.time.transients.uniformization import FAR_JUMPS, Limit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["limit_of"]

MIN_POWERS_FOR_LIMIT = 5_000.0  # powers from which on the limit is worth finding


def limit_of(chain: MarkovChain, start: NDArray[np.float64], powers: float) -> Limit | None:
    """Return the limit of a long horizon, if it is worthwhile.

    That is where all states lead to one recurrent class, or the start is inside of recurrent classes; over a far time
    also where several classes are reached with probabilities that are computed.
    """
    if powers < MIN_POWERS_FOR_LIMIT:
        return None
    classes = chain.closed_classes
    shares, error = np.array([start[states].sum() for states in classes]), 0.0
    if len(classes) == 1:
        shares = np.ones(1)
    elif shares.sum() < 1.0 - 1e-15:
        if powers <= FAR_JUMPS:
            return None
        more, error = _absorbed(chain, start)
        shares += more
    if not np.isfinite(error):
        return None
    values = np.zeros(chain.size)
    for states, share in zip(classes, shares.tolist(), strict=True):
        if share > 0.0:
            whole = len(states) == chain.size
            part = chain if whole else MarkovChain(chain.Q[states][:, states])
            answer = stationary(part, on_failure="return")
            if not np.isfinite(answer.error_bound):
                return None
            values[states] += share * answer.pi
            error += share * answer.error_bound
    return Limit(values, error)


def _absorbed(chain: MarkovChain, start: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the probabilities with which each recurrent class is reached from the other states, and a bound on their errors."""
    classes = chain.closed_classes
    open_ = np.ones(chain.size, dtype=bool)
    open_[np.concatenate(classes)] = False
    system, first = Absorbing(chain.Q, open_), start[open_]
    shares, error = np.zeros(len(classes)), 0.0
    for k, states in enumerate(classes):
        inside = np.zeros(chain.size, dtype=bool)
        inside[states] = True
        values, wrong = system.solve(system.rates_into(inside))
        shares[k] = float(first @ values)
        error += float(first @ wrong)
    return shares, error + (len(first) + 4) * U

"""pi Q = 0: one driver that takes a model, chain or matrix and a method object."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from hopflow.status import OnFailure, Status, deliver
from markov.certificates import error_bound, relative_residual
from markov.chains import MarkovChain
from markov.methods import GTH, Method, SparseLU
from markov.results import Stationary

__all__ = ["stationary", "stationary_by_class"]

TOLERANCE = 1e-12
DENSE_LIMIT = 1500


def stationary(
    chain: Any, method: Method | None = None, *, on_failure: OnFailure = "raise"
) -> Stationary:
    """Return the stationary distribution of a chain that has exactly one.

    Parameters
    ----------
    chain
        A `ChainModel`, a `MarkovChain`, or a generator matrix.
    method
        `GTH()`, `SparseLU()`; None chooses by size and says why.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose status is not CONVERGED.

    Raises
    ------
    ValueError
        For bad input, or a chain with several recurrent classes.
    NotSolvedError
        Carrying the partial result.
    """
    chain = chain if isinstance(chain, MarkovChain) else MarkovChain(chain)
    classes = chain.recurrent_classes
    if len(classes) > 1:
        msg = (
            f"{chain!r}: the stationary distribution is not unique; use stationary_by_class(chain)"
        )
        raise ValueError(msg)
    return _solve(chain, classes[0], method, on_failure)


def stationary_by_class(
    chain: Any, method: Method | None = None, *, on_failure: OnFailure = "raise"
) -> list[Stationary]:
    """Return one stationary distribution per recurrent class; arguments as for `stationary`."""
    chain = chain if isinstance(chain, MarkovChain) else MarkovChain(chain)
    return [_solve(chain, states, method, on_failure) for states in chain.recurrent_classes]


def _solve(
    chain: MarkovChain, states: Any, method: Method | None, on_failure: OnFailure
) -> Stationary:
    start = time.perf_counter()
    reason = "as asked"
    if method is None:
        dense = len(states) <= DENSE_LIMIT
        method = GTH() if dense else SparseLU()
        reason = (
            f"{len(states)} recurrent states, {'at most' if dense else 'more than'} {DENSE_LIMIT}"
        )
    Q = chain.Q[states][:, states] if len(states) < chain.size else chain.Q
    part = method.solve(Q)
    finite = bool(np.all(np.isfinite(part)))
    residual = relative_residual(Q, part) if finite else float("inf")
    if not finite:
        status = Status.NOT_FINITE
    elif part.min() < 0:
        status = Status.NEGATIVE
    else:
        status = Status.CONVERGED if residual <= TOLERANCE else Status.INACCURATE
    pi = np.zeros(chain.size)
    pi[states] = part
    result = Stationary(
        chain=chain,
        pi=pi,
        method=method,
        reason=reason,
        status=status,
        residual=residual,
        error_bound=error_bound(Q, part) if status.ok else float("inf"),
        seconds=time.perf_counter() - start,
    )
    deliver(result, on_failure)
    return result

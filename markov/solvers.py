"""pi Q = 0: one driver that takes a model, chain or matrix and a method object."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from hopflow.status import OnFailure, Status, deliver
from markov.certificates import error_bound, net_flow, relative_residual
from markov.chains import MarkovChain
from markov.levels import Levels, partition
from markov.methods import DENSE_LIMIT, GTH, Method, SparseLU
from markov.multilevel import Multilevel
from markov.progress import watched
from markov.results import Stationary

__all__ = ["choose", "stationary", "stationary_by_class"]

TOLERANCE = 1e-12
LEVELS_WORK = 1e10
BAND_SHARE = 0.5  # of the work of levels, whose products of matrices are as much faster
MEMORY = 2e9
LU_LIMIT = 20_000


def stationary(
    chain: Any, method: Method | None = None, *, on_failure: OnFailure = "raise"
) -> Stationary:
    """Return the stationary distribution of a chain that has exactly one.

    Parameters
    ----------
    chain
        A `ChainModel`, a `MarkovChain`, what `explore` found, or a generator matrix.
    method
        `GTH()`, `Levels()`, `SparseLU()`, `Multilevel()`, `GaussSeidel()`, `Krylov()`, `Power()`;
        None chooses by structure and size and says why.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose status is not CONVERGED.

    Raises
    ------
    ValueError
        For bad input, or a chain with several recurrent classes.
    ConvergenceError, NotSolvedError
        Carrying the partial result.
    """
    chain = _checked(chain, method)
    classes = chain.recurrent_classes
    if len(classes) > 1:
        msg = (
            f"{chain!r}: the stationary distribution is not unique; use stationary_by_class(chain)"
        )
        raise ValueError(msg)
    return _solve(chain, 0, method, on_failure)


def stationary_by_class(
    chain: Any, method: Method | None = None, *, on_failure: OnFailure = "raise"
) -> list[Stationary]:
    """Return one stationary distribution per recurrent class; arguments as for `stationary`."""
    chain = _checked(chain, method)
    numbers = range(len(chain.recurrent_classes))
    return [_solve(chain, number, method, on_failure) for number in numbers]


def _checked(chain: Any, method: Method | None) -> MarkovChain:
    if method is not None and (isinstance(method, type) or not hasattr(method, "solve")):
        raise ValueError(f"method = {method!r}: must be a method object such as GTH(), or None")
    chain = getattr(chain, "chain", chain)  # of what `explore` found
    return chain if isinstance(chain, MarkovChain) else MarkovChain(chain)


def _solve(
    chain: MarkovChain, number: int, method: Method | None, on_failure: OnFailure
) -> Stationary:
    start = time.perf_counter()
    states, Q = chain.recurrent_classes[number], chain.irreducible(number)
    plain = method is None and len(states) <= DENSE_LIMIT  # solved and proved by Q alone
    components = None if plain else chain.components_of(states)
    method, reason = choose(Q, components) if method is None else (method, "as asked")
    tolerance = getattr(method, "tolerance", None)
    with watched(tolerance) as history:
        part, iterations, memory, poisson = method.solve(Q, components)
    tolerance = TOLERANCE if tolerance is None else tolerance
    finite = bool(np.all(np.isfinite(part)))
    net = net_flow(Q, part) if finite else part
    residual = relative_residual(Q, part, net) if finite else float("inf")
    if not finite:
        status = Status.NOT_FINITE
    elif part.min() < 0:
        status = Status.NEGATIVE
    else:
        status = Status.CONVERGED if residual <= tolerance else Status.INACCURATE
    pi = np.zeros(chain.size)
    pi[states] = part
    result = Stationary(
        chain=chain,
        pi=pi,
        method=method,
        reason=reason,
        status=status,
        residual=residual,
        error_bound=error_bound(Q, part, components, poisson, net) if status.ok else float("inf"),
        seconds=time.perf_counter() - start,
        iterations=iterations,
        memory=memory,
        history=tuple(history),
    )
    deliver(result, on_failure)
    return result


def choose(Q: sp.csr_matrix, components: Any) -> tuple[Method, str]:
    """Return a method for an irreducible generator, and why this one.

    ``components`` has the value of each component of a model's state, shape (n,) each, or is None.
    """
    n = Q.shape[0]
    if n <= DENSE_LIMIT:
        return GTH(), f"{n} recurrent states, at most {DENSE_LIMIT}"
    size = f"{n} recurrent states, more than {DENSE_LIMIT}"
    levels = partition(Q, components, most=LEVELS_WORK)
    if levels.work <= LEVELS_WORK:
        band = GTH().band(Q)
        if band.work <= BAND_SHARE * levels.work and band.memory <= MEMORY:
            return GTH(), f"{size}, in an order where none leads further than {band.span} states"
    if levels.work <= LEVELS_WORK and levels.memory <= MEMORY:
        shape = f"{len(levels.sizes)} levels of at most {levels.sizes.max()} states"
        return Levels(), f"{size}, block-tridiagonal by {levels.origin} with {shape}"
    if n <= LU_LIMIT:
        return SparseLU(), f"{size} and at most {LU_LIMIT}, levels too large to reduce"
    return Multilevel(), f"{n} recurrent states, more than {LU_LIMIT}: elimination would fill in"

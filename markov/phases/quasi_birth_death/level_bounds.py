"""The error of the probabilities of infinitely many levels, by the theorem of infinite chains.

Above the boundary all levels have the same rows: V = a (level + v of the phase) has the same drift in each of them, which is
-a times the mean drift down where v solves the Poisson equation of the phases. h is computed in the levels below some
level, and is V + b above (`markov.infinite.bounds`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.matrices import from_edges
from markov.computing.rounding import U
from markov.infinite.bounds import FiniteSet, Height, distance, most_merged, sides_of
from markov.methods.sparse_lu import LUFactors, best_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.methods.block_reduction import Rows
    from markov.phases.quasi_birth_death.chains import QuasiBirthDeath

    Vector = NDArray[np.float64]

__all__ = ["NO_BOUND", "LevelBound", "level_bound"]

MAX_STATES = 100_000  # of the levels that are listed
MAX_PHASES = 100
MAX_TRANSITIONS = 2_000_000
TAIL = 1e-18  # probability of the first level that is not listed
MARGIN = 4.0 * U  # relative, by which the drift is below -1: a sum, a quotient and the number itself are rounded


class LevelBound(NamedTuple):
    """What is proved of the probabilities of the levels up to one of them, those above taken as zero.

    Attributes
    ----------
    error
        Bound on the error of the probability of any set of states; inf where nothing is proved.
    highest
        That level.
    """

    error: float
    highest: int


NO_BOUND = LevelBound(math.inf, 0)


def level_bound(chain: QuasiBirthDeath, decay_rate: float, values: Callable[[range], list[Vector]]) -> LevelBound:
    """Return the bound of some probabilities of a chain with infinitely many levels.

    `NO_BOUND` where too many states would be listed, or nothing is proved.

    Parameters
    ----------
    chain
        The levels.
    decay_rate
        The ratio of the probabilities of neighbouring levels far up.
    values
        Returns the probabilities of a range of levels, shape (m,) each.
    """
    run = chain.levels[-1]
    phases = len(run.rows.local)
    if phases > MAX_PHASES or not 0.0 <= decay_rate < 1.0:
        return NO_BOUND
    more = math.ceil(math.log(TAIL) / math.log(decay_rate)) if decay_rate > TAIL else 1
    highest = run.low + more
    below = sum((each.length or 0) * len(each.rows.local) for each in chain.levels)
    transitions = more * sum(np.count_nonzero(block) for block in run.rows)
    if below + more * phases > MAX_STATES or transitions > MAX_TRANSITIONS:
        return NO_BOUND
    drift = _lyapunov(run.rows)
    if drift is None:
        return NO_BOUND
    a, v = drift
    pi = np.concatenate(values(range(chain.levels[0].low, highest + 1)))
    anchor = int(np.argmax(pi))
    states = _listed(chain, highest, anchor)
    lowest = chain.levels[0].low
    inside = a * (_levels(chain, highest) - lowest)
    inside[-phases * (more + 1) :] += a * np.tile(v, more + 1)  # below the run any value is right
    top = a * (highest + 1 - lowest + float(v.max()))
    height = Height(inside, top, 0.0, np.ones(len(pi)))
    try:
        solver = LUFactors(states.Q, anchor, best_order(states.Q))
    except (RuntimeError, MemoryError):  # singular to rounding, or too large
        return NO_BOUND
    error = distance(sides_of(states, pi, solver, height), pi)
    return LevelBound(error, highest) if math.isfinite(error) else NO_BOUND


def _lyapunov(rows: Rows) -> tuple[float, Vector] | None:
    """Return a and v >= 0, so that a (level + v) falls by more than one per second in each phase; None: not found."""
    down, local, up = rows
    rates = down + local + up
    rise = up.sum(axis=1) - down.sum(axis=1)
    m = len(rise)
    A = rates - np.diag(rates.sum(axis=1))
    equations = np.block([[A, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    solution, *_ = np.linalg.lstsq(equations, np.append(-rise, 0.0), rcond=None)
    v = solution[:m] - solution[:m].min()
    apart = v[None, :] - v[:, None]
    terms = [down * (apart - 1.0), local * apart, up * (apart + 1.0)]
    sizes = (down + up) * (np.abs(apart) + 1.0) + local * np.abs(apart)
    rounding = (m + 8) * U * sizes.sum(axis=1)
    worst = float((sum(terms).sum(axis=1) + rounding).max())
    if not worst < 0.0:
        return None
    return (1.0 + MARGIN) / -worst, v


def _levels(chain: QuasiBirthDeath, highest: int) -> Vector:
    """Return the level of each state of the levels up to one."""
    parts = []
    for run in chain.levels:
        levels = np.arange(run.low, 1.0 + (highest if run.high is None else run.high))
        parts.append(np.repeat(levels, len(run.rows.local)))
    return np.concatenate(parts)


def _listed(chain: QuasiBirthDeath, highest: int, anchor: int) -> FiniteSet:
    """Return the levels up to one of them as a set of states, what leaves it led back to one state."""
    first, edges = 0, []
    for run in chain.levels:
        rows, size = run.rows, len(run.rows.local)
        count = (highest if run.high is None else run.high) - run.low + 1
        starts = first + size * np.arange(count)
        for at, block in (
            (starts - rows.down.shape[1], rows.down),
            (starts, rows.local),
            (starts + size, rows.up),
        ):
            here, there = np.nonzero(block)
            sources, targets = np.add.outer(starts, here), np.add.outer(at, there)
            edges.append((sources, targets, np.broadcast_to(block[here, there], sources.shape)))
        first += size * count
    sources, targets, rates = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*edges, strict=True))
    out = targets >= first
    leaving = np.bincount(sources[out], rates[out], first).astype(np.float64)
    targets[out] = anchor
    merged = most_merged(sources, targets == anchor, out)
    return FiniteSet(from_edges(sources, targets, rates, first), leaving, anchor, merged)

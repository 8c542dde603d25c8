"""Simulated paths of a PRISM file, to compare proved bounds on a probability with: none of their code but the file's reading.

Gillespie's direct method, all paths at once: rates by NumPy from the expressions of the file, for each state anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta

from markov.files.language import Batch
from markov.files.properties import InitialStateEvaluation
from markov.files.queries import Operator
from markov.files.search import OutsideError, batch_transitions
from markov.files.transitions import moves_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files import FileModel
    from markov.files.program import Instance

__all__ = ["agrees", "hits"]

WINDOWS = tuple(1 << k for k in range(20, 5, -1))
"""Distances from the initial values that are tried for variables without bounds."""
MAX_JUMPS = 20_000
"""Of the longest path: with more, paths are not simulated."""


def numbered(bound: Instance) -> Instance | None:
    """Return a program whose states have numbers; None where the ranges of its variables are too wide."""
    for width in WINDOWS:
        if bound.shifts is not None:
            return bound
        bound = bound.narrow(width)
    return None


def hits(model: FileModel, text: str, paths: int, seed: int = 1) -> int | None:
    """Return how many of some paths satisfy the formula of P=? [ ... ]: F, U or G until a time, or at one time.

    None for other properties, and where a path has too many jumps, or leaves the numbers.
    """
    query, given = model._parse_query(text)
    if not isinstance(query, Operator) or query.kind != "P":
        return None
    unlisted = InitialStateEvaluation(model.instance, model._constants_of_properties(given, None), 1)
    path = query.of
    begin, end = unlisted.times(path)
    at_once = begin == 0.0
    bound = numbered(unlisted.instance)
    if bound is None:
        return None
    reached, goes_on = unlisted.conditions(path, at_once)(bound)
    inside = reached if at_once else unlisted.conditions(path, True)(bound)[0]
    start = bound.numbers(np.array([[r.start] for r in bound.ranges]))
    found = _Paths(bound, np.repeat(start, paths), end, np.random.default_rng(seed))
    try:
        counted = found.run(reached, goes_on)
    except OutsideError:
        return None
    if counted is None:
        return None
    if not at_once:
        ended = Batch(bound.codes(found.states), found.states)
        counted += int(np.count_nonzero(_truth(inside, ended) & (found.times >= end)))
    return paths - counted if path.kind == "G" else counted


def _truth(value: Any, columns: Batch) -> NDArray[np.bool_]:
    assert columns.states is not None
    return np.broadcast_to(np.asarray(value.run(columns), dtype=bool), len(columns.states))


class _Paths:
    """Paths of a program, each at its own time."""

    def __init__(self, bound: Instance, states: NDArray[np.int64], end: float, random: np.random.Generator) -> None:
        self.bound, self.states, self.end, self.random = bound, states, end, random
        self.times = np.zeros(len(states))
        self.moves = moves_of(bound)

    def run(self, reached: Any, goes_on: Any) -> int | None:
        """Move all paths until the end, the target or a stop; return how many have reached the target."""
        going, count = np.arange(len(self.states)), 0
        for _jump in range(MAX_JUMPS):
            here = self.states[going]
            columns = Batch(self.bound.codes(here), here)
            there = _truth(reached, columns)
            count += int(np.count_nonzero(there))
            on = ~there & _truth(goes_on, columns)
            going, here = going[on], here[on]
            if not len(going):
                return count
            moving = self._jump(here, going)
            going = going[moving]
        return None

    def _jump(self, here: NDArray[np.int64], going: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Let each of some paths jump once; mark those that jump before the end."""
        columns = Batch(self.bound.codes(here), here)
        sources, targets, rates = batch_transitions(self.bound, self.moves, columns)
        order = np.argsort(sources, kind="stable")
        sources, targets, sums = sources[order], targets[order], np.cumsum(rates[order])
        ends = np.searchsorted(sources, np.arange(len(here)), side="right")
        totals = np.append(0.0, sums)[ends]
        before = np.append(0.0, totals[:-1])
        exits = totals - before
        with np.errstate(divide="ignore"):
            times = self.times[going] + self.random.exponential(1.0, len(here)) / exits
        moving = times < self.end
        self.times[going] = np.minimum(times, self.end)
        chosen = np.searchsorted(sums, before + self.random.random(len(here)) * exits, side="right")
        first = np.append(0, ends[:-1])
        chosen = np.clip(chosen, first, np.maximum(ends - 1, first))
        self.states[going[moving]] = targets[chosen[moving]]
        return moving


def agrees(ends: tuple[float, float], count: int, paths: int, level: float) -> bool:
    """Return whether some number of hits is compatible with a probability between two ends.

    The interval of Clopper and Pearson with the error ``level`` meets the one between them.
    """
    low, high = ends
    least = beta.ppf(0.5 * level, count, paths - count + 1) if count else 0.0
    most = beta.ppf(1.0 - 0.5 * level, count + 1, paths - count) if count < paths else 1.0
    return bool(low <= most and least <= high)

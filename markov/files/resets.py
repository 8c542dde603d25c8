"""Events at given times: the states that they lead to, and where each state goes."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from markov.computing.graphs import leads_to
from markov.files.binding import BITS
from markov.files.errors import FileError
from markov.files.states.state_space import Explored, explored
from markov.files.syntax import names_in
from markov.time.exponentials import TimedJump

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.binding import Bound
    from markov.files.program import Reset

__all__ = ["explored_with_resets"]


def explored_with_resets(bound: Bound, most: int) -> tuple[Explored, tuple[TimedJump, ...]]:
    """Return the states that the start and the events lead to, and the events as jumps between them.

    Each event happens once: its values are those of the states that are possible at its time, in which the
    earlier events have happened.

    Raises
    ------
    FileError
        When a time is not a positive number, two events at one time assign the same variable or their order
        matters, or a value is out of its range.
    TooLargeError
        When there are more than ``most`` states.
    """
    if any(r.is_window for r in bound.ranges):
        said = f"events at given times: the variables have more than 2^{BITS} combinations"
        raise FileError((bound.program.file, None), said)
    together: dict[tuple[float, bool], list[Reset]] = {}
    for reset in bound.program.resets:
        together.setdefault((_time(reset, bound), reset.after), []).append(reset)
    for (time, _), resets in together.items():
        _check_order(bound, time, resets)
    result = explored(bound, most)
    numbers = result.columns.states
    assert numbers is not None
    possible, more = numbers[result.initial], numbers[:0]
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # states before an event, and after it
    ordered = sorted(together)
    for when in ordered:
        before = _led_to(result, possible)
        after = _goals(result, before, together[when])
        steps.append((before, after))
        possible = np.unique(after)
        new = np.setdiff1d(possible, numbers)
        if len(new):
            more = np.union1d(more, new)
            result = explored(bound, most, more)
            assert result.columns.states is not None
            numbers = result.columns.states
    jumps = []
    for when, (before, after) in zip(ordered, steps, strict=True):
        targets = np.full(len(numbers), -1, dtype=np.int64)
        targets[np.searchsorted(numbers, before)] = np.searchsorted(numbers, after)
        jumps.append(TimedJump(*when, targets))
    return result, tuple(jumps)


def _check_order(bound: Bound, time: float, resets: list[Reset]) -> None:
    """Refuse events at one time whose result depends on their order, which SBML leaves open without priorities."""
    place = bound.program.file, None
    names = [change.name for reset in resets for change in reset.changes]
    if len(names) > len(set(names)):
        raise FileError(place, f"events at time {time:g} assign the same variable: their order is not given")
    formulas = bound.program.formulas
    for late, other in permutations(resets, 2):
        assigned = {change.name for change in other.changes}
        used: set[str] = set()
        fresh = {name for change in late.changes for name in names_in(change.value)}
        while fresh:
            used |= fresh
            fresh = {part for name in fresh & formulas.keys() for part in names_in(formulas[name])} - used
        if late.at_execution and used & assigned:
            said = f"{late.name} has useValuesFromTriggerTime = false and uses {min(used & assigned)!r}"
            raise FileError(place, f"{said}, which {other.name} assigns at the same time: their order is not given")


def _time(reset: Reset, bound: Bound) -> float:
    value = bound.scope.value(reset.time)
    time = float(value.single()) if value.fixed and value.kind != "bool" else math.nan
    if not 0.0 < time < math.inf:
        said = f"an event at time {time:g}: must be > 0, and finite"
        raise FileError((bound.program.file, None), said)
    return time


def _led_to(result: Explored, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the states that some states lead to."""
    numbers = result.columns.states
    assert numbers is not None
    marks = np.zeros(len(numbers), dtype=bool)
    marks[np.searchsorted(numbers, first)] = True
    reached: NDArray[np.int64] = numbers[leads_to(result.Q, marks)]
    return reached


def _goals(result: Explored, before: NDArray[np.int64], resets: list[Reset]) -> NDArray[np.int64]:
    """Return the numbers of the states to which events lead from some states.

    A value of a formula above the limit leads to the state outside of the limits, as a reaction would.
    """
    bound = result.bound
    assert result.columns.states is not None
    c = result.columns.take(np.searchsorted(result.columns.states, before))
    index = {r.name: k for k, r in enumerate(bound.ranges)}
    codes = c.codes.copy()
    stays, exceeds = _outside(codes, index), np.zeros(c.count, dtype=bool)
    for reset in resets:
        for change in reset.changes:
            k = index[change.name]
            r = bound.ranges[k]
            assigned = bound.scope.value(change.value)
            values = np.broadcast_to(np.asarray(assigned.run(c), dtype=float), c.count)
            above = (values > r.ends[1]) & bool(reset.exceeding) & ~stays
            wrong = ~((values >= r.ends[0]) & ((values <= r.ends[1]) | above) & (values == np.floor(values))) & ~stays
            if assigned.kind == "bool" or wrong.any():
                said = f"an event assigns {values[wrong][:1]} to {r.name!r}: "
                said += f"must be a whole number from {r.low} to {r.high}"
                raise FileError((bound.program.file, None), said)
            exceeds |= above
            codes[k] = np.where(stays | above, codes[k], values)
    for reset in resets:
        for change in reset.exceeding:
            codes[index[change.name], exceeds] = bound.scope.value(change.value).single()
    return bound.numbers(codes)


def _outside(codes: NDArray[np.int64], index: dict[str, int]) -> NDArray[np.bool_]:
    """Return in which states limits have been exceeded: those stay as they are."""
    if "outside" not in index:
        return np.zeros(codes.shape[1], dtype=bool)
    return np.asarray(codes[index["outside"]] == 1)

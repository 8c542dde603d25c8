"""Events at given times: their states, and the state to which each state jumps."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from markov.computing.graphs import leads_to
from markov.files.binding import NUMBER_BITS
from markov.files.errors import FileError
from markov.files.states.state_space import StateSpace, explore
from markov.files.syntax import names_in
from markov.time.exponentials import TimedJump

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.binding import Instance
    from markov.files.program import Reset

__all__ = ["explore_with_resets"]


def explore_with_resets(instance: Instance, max_states: int) -> tuple[StateSpace, tuple[TimedJump, ...]]:
    """Return the states reachable from the start and the events, and the events as jumps between them.

    Each event happens once. Its values are computed in the states that are possible at its time, after the earlier
    events.

    Raises
    ------
    FileError
        If a time is not a positive number, two events at one time assign the same variable or their order
        matters, or a value is out of its range.
    TooLargeError
        If there are more than ``max_states`` states.
    """
    if any(r.is_window for r in instance.ranges):
        message = f"events at given times: the variables have more than 2^{NUMBER_BITS} combinations"
        raise FileError((instance.program.file, None), message)
    simultaneous: dict[tuple[float, bool], list[Reset]] = {}
    for reset in instance.program.resets:
        simultaneous.setdefault((_time(reset, instance), reset.after), []).append(reset)
    for (time, _), resets in simultaneous.items():
        _check_order(instance, time, resets)
    result = explore(instance, max_states)
    numbers = result.columns.states
    assert numbers is not None
    sources, extra = numbers[result.initial], numbers[:0]
    steps: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []  # states before an event, and after it
    ordered = sorted(simultaneous)
    for moment in ordered:
        before = _reachable(result, sources)
        after = _targets(result, before, simultaneous[moment])
        steps.append((before, after))
        sources = np.unique(after)
        new = np.setdiff1d(sources, numbers)
        if len(new):
            extra = np.union1d(extra, new)
            result = explore(instance, max_states, extra)
            assert result.columns.states is not None
            numbers = result.columns.states
    jumps = []
    for moment, (before, after) in zip(ordered, steps, strict=True):
        targets = np.full(len(numbers), -1, dtype=np.int64)
        targets[np.searchsorted(numbers, before)] = np.searchsorted(numbers, after)
        jumps.append(TimedJump(*moment, targets))
    return result, tuple(jumps)


def _check_order(instance: Instance, time: float, resets: list[Reset]) -> None:
    """Refuse simultaneous events whose result depends on their order, which SBML does not define without priorities."""
    location = instance.program.file, None
    names = [change.name for reset in resets for change in reset.changes]
    if len(names) > len(set(names)):
        raise FileError(location, f"events at time {time:g} assign the same variable: their order is not given")
    formulas = instance.program.formulas
    for first, other in permutations(resets, 2):
        assigned = {change.name for change in other.changes}
        used: set[str] = set()
        unvisited = {name for change in first.changes for name in names_in(change.value)}
        while unvisited:
            used |= unvisited
            unvisited = {part for name in unvisited & formulas.keys() for part in names_in(formulas[name])} - used
        if first.at_execution and used & assigned:
            message = f"{first.name} has useValuesFromTriggerTime = false and uses {min(used & assigned)!r}"
            raise FileError(
                location, f"{message}, which {other.name} assigns at the same time: their order is not given"
            )


def _time(reset: Reset, instance: Instance) -> float:
    value = instance.scope.value(reset.time)
    time = float(value.single()) if value.fixed and value.kind != "bool" else math.nan
    if not 0.0 < time < math.inf:
        message = f"an event at time {time:g}: must be > 0, and finite"
        raise FileError((instance.program.file, None), message)
    return time


def _reachable(result: StateSpace, first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the states reachable from the first states."""
    numbers = result.columns.states
    assert numbers is not None
    marks = np.zeros(len(numbers), dtype=bool)
    marks[np.searchsorted(numbers, first)] = True
    reached: NDArray[np.int64] = numbers[leads_to(result.Q, marks)]
    return reached


def _targets(result: StateSpace, before: NDArray[np.int64], resets: list[Reset]) -> NDArray[np.int64]:
    """Return the numbers of the states after events.

    A value of a formula above its limit leads to the state outside of the limits, as a reaction would.
    """
    instance = result.instance
    assert result.columns.states is not None
    c = result.columns.take(np.searchsorted(result.columns.states, before))
    index = {r.name: k for k, r in enumerate(instance.ranges)}
    codes = c.codes.copy()
    is_outside, exceeds = _beyond_limits(codes, index), np.zeros(c.count, dtype=bool)
    for reset in resets:
        for change in reset.changes:
            k = index[change.name]
            r = instance.ranges[k]
            assigned = instance.scope.value(change.value)
            values = np.broadcast_to(np.asarray(assigned.run(c), dtype=float), c.count)
            above = (values > r.limits[1]) & bool(reset.exceeding) & ~is_outside
            wrong = (
                ~((values >= r.limits[0]) & ((values <= r.limits[1]) | above) & (values == np.floor(values)))
                & ~is_outside
            )
            if assigned.kind == "bool" or wrong.any():
                message = f"an event assigns {values[wrong][:1]} to {r.name!r}: "
                message += f"must be a whole number from {r.low} to {r.high}"
                raise FileError((instance.program.file, None), message)
            exceeds |= above
            codes[k] = np.where(is_outside | above, codes[k], values)
    for reset in resets:
        for change in reset.exceeding:
            codes[index[change.name], exceeds] = instance.scope.value(change.value).single()
    return instance.numbers(codes)


def _beyond_limits(codes: NDArray[np.int64], index: dict[str, int]) -> NDArray[np.bool_]:
    """Return whether limits have been exceeded in each state: such a state does not change."""
    if "outside" not in index:
        return np.zeros(codes.shape[1], dtype=bool)
    return np.asarray(codes[index["outside"]] == 1)

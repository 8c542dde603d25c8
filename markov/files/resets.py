"""Events at given times: the states that they lead to, and where each state goes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from markov.files.binding import BITS
from markov.files.errors import FileError
from markov.files.states.state_space import Explored, explored
from markov.time.transients.timed_jumps import TimedJump

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.binding import Bound
    from markov.files.program import Reset

__all__ = ["explored_with_resets"]


def explored_with_resets(bound: Bound, most: int) -> tuple[Explored, tuple[TimedJump, ...]]:
    """Return the states that the start and the events lead to, and the events as jumps between them.

    Raises
    ------
    FileError
        When a time is not a positive number, two events at one time assign the same variable, or a
        value is out of its range.
    TooLargeError
        When there are more than ``most`` states.
    """
    if any(r.is_window for r in bound.ranges):
        said = f"events at given times: the variables have more than 2^{BITS} combinations"
        raise FileError((bound.program.file, None), said)
    times = [_time(reset, bound) for reset in bound.program.resets]
    together: dict[tuple[float, bool], list[Reset]] = {}
    for reset, time in zip(bound.program.resets, times, strict=True):
        together.setdefault((time, reset.after), []).append(reset)
    for (time, _), resets in together.items():
        names = [change.name for reset in resets for change in reset.changes]
        if len(names) > len(set(names)):
            said = f"events at time {time:g} assign the same variable: their order is not given"
            raise FileError((bound.program.file, None), said)
    more: NDArray[np.int64] | None = None
    while True:
        found = explored(bound, most, more)
        numbers = found.columns.states
        assert numbers is not None
        goals = {when: _goals(found, resets) for when, resets in together.items()}
        new = np.setdiff1d(np.concatenate([numbers[:0], *goals.values()]), numbers)
        if not len(new):
            jumps = [TimedJump(*when, np.searchsorted(numbers, g)) for when, g in goals.items()]
            return found, tuple(jumps)
        more = new if more is None else np.union1d(more, new)


def _time(reset: Reset, bound: Bound) -> float:
    value = bound.scope.value(reset.time)
    time = float(value.single()) if value.fixed and value.kind != "bool" else math.nan
    if not 0.0 < time < math.inf:
        said = f"an event at time {time:g}: must be > 0, and finite"
        raise FileError((bound.program.file, None), said)
    return time


def _goals(found: Explored, resets: list[Reset]) -> NDArray[np.int64]:
    """Return the number of the state to which each state goes."""
    bound, c = found.bound, found.columns
    index = {r.name: k for k, r in enumerate(bound.ranges)}
    codes = c.codes.copy()
    stays = codes[index["outside"]] == 1 if "outside" in index else np.zeros(c.count, dtype=bool)
    for change in (change for reset in resets for change in reset.changes):
        k = index[change.name]
        r = bound.ranges[k]
        given = bound.scope.value(change.value)
        values = np.broadcast_to(np.asarray(given.run(c), dtype=float), c.count)
        wrong = ~((values >= r.low) & (values <= r.high) & (values == np.floor(values))) & ~stays
        if given.kind == "bool" or wrong.any():
            said = f"an event assigns {values[wrong][:1]} to {r.name!r}: "
            said += f"must be a whole number from {r.low} to {r.high}"
            raise FileError((bound.program.file, None), said)
        codes[k] = np.where(stays, codes[k], np.where(wrong, r.low, values))
    return bound.numbers(codes)

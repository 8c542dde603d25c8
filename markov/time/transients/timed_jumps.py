"""Distributions of a chain whose state jumps at given times, from one such time to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["TimedJump", "through"]


class TimedJump(NamedTuple):
    """At a time every state jumps to another.

    Attributes
    ----------
    time
        In the unit of the rates, > 0.
    after
        Whether the state at that very time is the one before the jump.
    targets
        Where each state goes, shape (states,); -1 where that is not known, since the start does not lead there by then.
    """

    time: float
    after: bool
    targets: NDArray[np.int64]


def through(
    jumps: Sequence[TimedJump],
    start: NDArray[np.float64],
    moments: NDArray[np.float64],
    solve: Callable[
        [NDArray[np.float64], NDArray[np.float64]],
        tuple[NDArray[np.float64], NDArray[np.float64], int, str],
    ],
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, str]:
    """Return distributions, bounds on their errors, the cost and the method.

    Parameters
    ----------
    jumps
        In any order.
    start
        The distribution at time 0, shape (states,).
    moments
        Times, ascending, shape (times,).
    solve
        Returns the same for the chain between jumps, from a distribution and times since then.

    Notes
    -----
    A jump moves probability together and never apart, so that the distance of two distributions does not
    grow: errors add up from jump to jump.
    """
    pi, errors = np.empty((len(moments), len(start))), np.zeros(len(moments))
    vector, error, steps, begin, done = start, 0.0, 0, 0.0, 0
    words: list[str] = []
    ends: list[TimedJump | None] = [*sorted(jumps, key=lambda jump: jump[:2]), None]
    for jump in ends:
        if jump is None:
            last = len(moments)
        else:
            last = int(np.searchsorted(moments, jump.time, "right" if jump.after else "left"))
        if done == len(moments):
            break
        last = max(last, done)
        asked = [*moments[done:last].tolist(), *([] if jump is None else [jump.time])]
        found, wrong, cost, how = solve(vector, np.array(asked) - begin)
        pi[done:last], errors[done:last] = found[: last - done], wrong[: last - done] + error
        steps, done = steps + cost, last
        words += [how] if how not in words else []
        if jump is not None:
            if found[-1][jump.targets < 0].any():
                raise ValueError("start: must be the initial state of a model with events, or one that it leads to")
            vector = np.bincount(np.maximum(jump.targets, 0), found[-1], minlength=len(start)).astype(np.float64)
            error, begin = error + float(wrong[-1]), jump.time
    return pi, errors, steps, "; ".join(words) + f"; {len(jumps)} jumps at given times"

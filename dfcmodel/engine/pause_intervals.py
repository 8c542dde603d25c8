"""From pauses that were turned on and off in a run to the times at which links stood still."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dfcmodel.engine.plans import Plan

__all__ = ["PAUSED", "intervals_of", "table_of"]

PAUSED = np.dtype(
    [("link", np.int64), ("by", np.int64), ("begin", np.float64), ("end", np.float64)]
)
"""A time in which a link was paused: its place in the scenario's links (-1 - flow: the access link of a
host), that of the link whose queue asked for it, and when it took effect and ended in s (inf: it had not
ended when the run did)."""


def intervals_of(plan: Plan, switches: Any, end: float) -> Any:
    """Return the pauses that took effect before ``end`` in s, in the order in which they began.

    Parameters
    ----------
    plan
        Whose run it was.
    switches
        What was turned on and off, in order (`kernel.records.SWITCH`).
    end
        When the run ended, s.

    Returns
    -------
    numpy.ndarray
        Of `PAUSED`.
    """
    order, pauses = plan.layout.order, plan.feedback.pauses
    found = []
    for n in range(len(pauses)):
        paused, by = int(pauses["paused"][n]), order[pauses["pausing"][n]]
        link = order[paused] if paused >= 0 else paused
        way = float(pauses["wait"][n]) + float(pauses["part"][n])
        times = (switches["time"][switches["pause"] == n] + way) * plan.step
        found.append((link, by, times))
    return table_of(found, end)


def table_of(switches: Iterable[tuple[int, int, Any]], end: float) -> Any:
    """Return the pauses that took effect before ``end`` in s, in the order in which they began.

    Parameters
    ----------
    switches
        Of each pair of links, the paused one and the one that asks for it, the times in s at which pauses
        took effect, ended, took effect ...
    end
        When the run ended, s.

    Returns
    -------
    numpy.ndarray
        Of `PAUSED`.
    """
    found: list[tuple[int, int, float, float]] = []
    for link, by, times in switches:
        for begin, until in zip(times[::2], [*times[1::2], np.inf], strict=False):
            if begin < end:
                found.append((link, by, begin, until if until < end else np.inf))
    found.sort(key=lambda each: (each[2], each[0], each[1]))
    return np.array(found, dtype=PAUSED)

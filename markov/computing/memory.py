"""Memory limits: arrays that would not fit are rejected before they are allocated."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

__all__ = ["InfiniteStatesError", "StateLimitError", "TooLargeError", "available", "check_room"]


class TooLargeError(MemoryError):
    """More memory is needed than available.

    Attributes
    ----------
    predicted, available
        Needed and available bytes.

    Examples
    --------
    >>> from markov import MM1K, generator
    >>> from markov.errors import TooLargeError
    >>> try:
    ...     generator(MM1K(capacity=10**9), reachable=False)
    ... except TooLargeError as error:
    ...     print(error.predicted > 1e10)
    True
    """

    def __init__(self, what: str, predicted: float, available: float) -> None:
        self.predicted, self.available = predicted, available
        super().__init__(f"{what}: {predicted:.3g} bytes, of {available:.3g} that are available")


class StateLimitError(TooLargeError):
    """A model has more states than allowed.

    Attributes
    ----------
    most
        Largest allowed number of states.
    """

    def __init__(self, name: str, most: int) -> None:
        self.most, self.predicted, self.available = most, math.inf, available()
        message = f"more than {most} reachable states (most={most}): give most= a larger number"
        MemoryError.__init__(self, f"{name}: {message}")


class GrowingStatesError(StateLimitError):
    """A search by plain Python is stopped: a component grows, and it is unknown whether it is bounded.

    Attributes
    ----------
    component, low, high
        Its name and its values so far.
    """

    def __init__(self, name: str, component: str, low: int, high: int, states: int, reason: str) -> None:
        super().__init__(name, states)
        self.component, self.low, self.high = component, low, high
        message = f"{states} states were found, in which {component} is {low} to {high} and still grows"
        cause = f"whether it has an end is not known, because {reason}"
        hint = f"give {component} a largest value, or give most= the number of states to search"
        MemoryError.__init__(self, f"{name}: {message}; {cause}; {hint}")


class InfiniteStatesError(TooLargeError):
    """A start leads to infinitely many states.

    Attributes
    ----------
    hull
        A closed set that contains them, in parts with the transitions of each.
    most
        Largest allowed number of states.
    """

    def __init__(self, name: str, hull: Any, most: int) -> None:
        self.hull, self.most = hull, most
        self.predicted, self.available = math.inf, available()
        message = "the start leads to infinitely many states, which stationary(), passage() and transient() take"
        MemoryError.__init__(self, f"{name}: {message} alone: give components a last value otherwise")


def available() -> float:
    """Return the bytes that this process may still allocate; inf if unknown.

    The minimum of the free memory, the limit of the control group, and the limits of the process on its address space
    and its data (``ulimit -v``, ``ulimit -d``).
    """
    return max(min(_free(), _below_limits()), 0.0)


def _free() -> float:
    """Return the free memory of this machine or control group, in bytes."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = 1024.0 * next(int(x.split()[1]) for x in lines if x.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, OSError, ValueError):
            return float("inf")
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        free = min(free, limit - int((group / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):  # no control group, or one without a limit
        pass
    return free


def _below_limits() -> float:
    """Return the bytes below the limits of this process; inf without limits."""
    try:
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except (ImportError, OSError):  # other systems do not report the used part of a limit
        return math.inf
    used = {resource.RLIMIT_AS: int(pages[0]), resource.RLIMIT_DATA: int(pages[5])}
    limits = {kind: resource.getrlimit(kind)[0] for kind in used}
    return min(
        (
            float(limits[kind] - count * resource.getpagesize())
            for kind, count in used.items()
            if limits[kind] != resource.RLIM_INFINITY
        ),
        default=math.inf,
    )


def check_room(what: str, predicted: float) -> None:
    """Raise TooLargeError unless the predicted number of bytes is available."""
    if predicted > MIN_CHECKED_BYTES and predicted > (free := available()):
        raise TooLargeError(what, predicted, free)


MIN_CHECKED_BYTES = 1e8
"""Smallest prediction in bytes that is compared with the available memory."""

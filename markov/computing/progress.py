"""Progress of iterative methods: reports, the active monitor, and a progress bar."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from hopflow.progress import DELAY, progress_bar

__all__ = ["Counter", "report", "watched"]

REFRESH = 0.2  # s between two looks of it
FORM = "{desc}: {percentage:3.0f} % of the digits [{elapsed}<{remaining}{postfix}]"
_watching: ContextVar[_Watch | None] = ContextVar("_watching", default=None)


class Counter:
    """A bar that counts things found or done, of a total if that is known, where it lasts; a context manager."""

    def __init__(self, name: str, total: int | None = None) -> None:
        self.name, self.total = name, total
        self.bar: Any = None
        self.begin = time.time()
        self.next = time.perf_counter() + DELAY

    def show(self, count: int) -> None:
        """Show that so many have been found."""
        if time.perf_counter() < self.next:
            return
        if self.bar is None:
            self.bar = progress_bar(desc=self.name, total=self.total, unit="", delay=0.0)
            self.bar.start_t = self.begin  # by which the time left is estimated
        self.bar.n = count
        self.bar.refresh()
        self.next = time.perf_counter() + REFRESH

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


class _Watch:
    """The history of one solution, and its bar."""

    def __init__(self, tolerance: float | None) -> None:
        self.history: list[tuple[int, float]] = []
        self.tolerance = tolerance
        self.bar: Any = None
        self.begin = math.nan
        self.next = time.perf_counter() + DELAY

    def look(self, iteration: int, residual: float) -> None:
        """Note a residual; now and then show how many of the digits asked for are there."""
        self.history.append((iteration, residual))
        if len(self.history) == 1:
            self.begin = time.time()
        if self.tolerance is None or time.perf_counter() < self.next:
            return
        if not 0.0 < residual < math.inf:
            return
        first = self.history[0][1]
        if self.bar is None:
            digits = max(math.log10(first / self.tolerance), 0.0)
            self.bar = progress_bar(total=digits, bar_format=FORM, desc="pi Q = 0", delay=0.0)
            self.bar.start_t = self.begin  # digits count from the first residual on
        self.bar.n = min(max(math.log10(first / residual), 0.0), self.bar.total)
        self.bar.set_postfix_str(f"iteration {iteration}, residual {residual:.1e}", refresh=False)
        self.bar.refresh()
        self.next = time.perf_counter() + REFRESH


@contextmanager
def watched(tolerance: float | None) -> Iterator[list[tuple[int, float]]]:
    """Record reported (iteration, residual) pairs; show a progress bar for long runs.

    Parameters
    ----------
    tolerance
        The relative residual at which the method is to stop; None: it does not iterate.
    """
    watch = _Watch(tolerance)
    token = _watching.set(watch)
    try:
        yield watch.history
    finally:
        _watching.reset(token)
        if watch.bar is not None:
            watch.bar.close()


def report(iteration: int, residual: float) -> None:
    """Report the relative residual to the active progress monitor; called by iterative methods."""
    watch = _watching.get()
    if watch is not None:
        watch.look(iteration, residual)

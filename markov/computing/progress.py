"""Progress of iterative methods: reports, the active monitor, and a progress bar."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

from hopflow.progress import DELAY, progress_bar

__all__ = ["Counter", "report", "watch_residuals"]

REFRESH_SECONDS = 0.2
BAR_FORMAT = "{desc}: {percentage:3.0f} % of the digits [{elapsed}<{remaining}{postfix}]"
_active_watch: ContextVar[_Watch | None] = ContextVar("_active_watch", default=None)


class Counter:
    """Progress bar of a count, with or without a total, for long runs; use as a context manager."""

    def __init__(self, name: str, total: int | None = None) -> None:
        self.name, self.total = name, total
        self.bar: Any = None
        self.begin = time.time()
        self.next = time.perf_counter() + DELAY

    def show(self, count: int) -> None:
        """Show the count."""
        if time.perf_counter() < self.next:
            return
        if self.bar is None:
            self.bar = progress_bar(desc=self.name, total=self.total, unit="", delay=0.0)
            self.bar.start_t = self.begin  # for the estimate of the remaining time
        self.bar.n = count
        self.bar.refresh()
        self.next = time.perf_counter() + REFRESH_SECONDS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


class _Watch:
    """History of residuals of one solution, with its progress bar."""

    def __init__(self, tolerance: float | None) -> None:
        self.history: list[tuple[int, float]] = []
        self.tolerance = tolerance
        self.bar: Any = None
        self.begin = math.nan
        self.next = time.perf_counter() + DELAY

    def update(self, iteration: int, residual: float) -> None:
        """Record a residual; update the bar with the share of the required digits."""
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
            self.bar = progress_bar(total=digits, bar_format=BAR_FORMAT, desc="pi Q = 0", delay=0.0)
            self.bar.start_t = self.begin  # digits count from the first residual on
        self.bar.n = min(max(math.log10(first / residual), 0.0), self.bar.total)
        self.bar.set_postfix_str(f"iteration {iteration}, residual {residual:.1e}", refresh=False)
        self.bar.refresh()
        self.next = time.perf_counter() + REFRESH_SECONDS


@contextmanager
def watch_residuals(tolerance: float | None) -> Iterator[list[tuple[int, float]]]:
    """Record reported (iteration, residual) pairs; show a progress bar for long runs.

    Parameters
    ----------
    tolerance
        The relative residual at which the method stops; None: it does not iterate.
    """
    watch = _Watch(tolerance)
    token = _active_watch.set(watch)
    try:
        yield watch.history
    finally:
        _active_watch.reset(token)
        if watch.bar is not None:
            watch.bar.close()


def report(iteration: int, residual: float) -> None:
    """Report the relative residual to the active progress monitor, from iterative methods."""
    watch = _active_watch.get()
    if watch is not None:
        watch.update(iteration, residual)

"""Wall times of computations without loading and compilation of kernels, which occur once per process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from hopflow.fork_safety import ForkSafeLock

__all__ = ["Stopwatch", "loading"]


class _Intervals:
    """Total wall time during which at least one thread loads or compiles."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._depth = 0
        self._since = self._total = 0.0

    def begin(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._since = time.perf_counter()
            self._depth += 1

    def end(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._total += time.perf_counter() - self._since

    def seconds(self) -> float:
        with self._lock:
            return self._total + (time.perf_counter() - self._since if self._depth else 0.0)


_intervals = _Intervals()


@contextmanager
def loading() -> Iterator[None]:
    """Count the time inside the context as loading."""
    _intervals.begin()
    try:
        yield
    finally:
        _intervals.end()


class Stopwatch:
    """Wall time since construction, less the time in which this process loaded or compiled kernels.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> with loading():
    ...     time.sleep(0.05)
    >>> watch.seconds() < 0.05 <= watch.loading()
    True
    """

    def __init__(self) -> None:
        self._began, self._loaded = time.perf_counter(), _intervals.seconds()

    def seconds(self) -> float:
        """Return the wall time in s without loading and compilation of kernels."""
        return max(0.0, time.perf_counter() - self._began - self.loading())

    def loading(self) -> float:
        """Return the time in s of loading and compilation."""
        return _intervals.seconds() - self._loaded

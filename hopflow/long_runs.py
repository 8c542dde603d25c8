"""Long runs in parts of a quarter of a second, with progress and a check for cancellation between them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_GROWTH", "check_stop", "parts", "thread"]

thread = threading.local()
"""``stop`` of a thread of `hopflow.execution.executing.run_tasks`: the event that ends its work."""
PART_SECONDS = 0.25
"""Target duration of a part, s."""
MAX_GROWTH = 8
"""Maximum ratio of the samples of consecutive parts."""


def check_stop() -> None:
    """Raise CancelledError on a thread of `hopflow.execution.executing.run_tasks` that was cancelled; long runs call it between parts.

    >>> from hopflow.long_runs import check_stop
    >>> check_stop()  # nothing was cancelled
    """
    stop = getattr(thread, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


class Sampled(Protocol):
    """A run that counts its completed samples, with a progress bar or None."""

    done: int
    bar: Any


def parts(run: Sampled, until: int, first: int, max_samples: int | None = None) -> Iterator[int]:
    """Yield the last sample of each part of a run.

    Parameters
    ----------
    run
        The caller updates its ``done`` after each part.
    until
        Last sample of the run.
    first
        Samples of the first part, and minimum of all parts.
    max_samples
        Maximum samples of a part; None: `MAX_GROWTH` times as many as in the part before.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    """
    size = first
    while run.done < until:
        check_stop()
        before, start = run.done, time.perf_counter()
        yield min(before + size, until)
        seconds = max(time.perf_counter() - start, 1e-6)
        fits = int(PART_SECONDS * max(1, run.done - before) / seconds)
        size = min(max(first, fits), MAX_GROWTH * size if max_samples is None else max_samples)
        if run.bar is not None:
            run.bar.update(run.done - before)

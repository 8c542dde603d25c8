"""Progress bars, and long runs in parts, with a check for cancellation between them."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import cache
from multiprocessing import parent_process
from typing import TYPE_CHECKING, Any, Protocol

from hopflow.fork_safety import ForkSafeLock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "announce",
    "announcing",
    "check_stop",
    "in_notebook",
    "is_visible",
    "may_show_bar",
    "parts",
    "progress_bar",
    "thread",
]


DELAY = 1.0
"""Time in s before a bar is shown."""
_importing = ForkSafeLock()


def progress_bar(iterable: Any = None, **settings: Any) -> Any:
    """Return tqdm's bar over an iterable: text on a terminal, a widget in a notebook, else nothing.

    Parameters
    ----------
    iterable, settings
        As for ``tqdm.tqdm``. The environment variable ``TQDM_DISABLE=1`` switches all bars off.

    Examples
    --------
    >>> list(progress_bar(range(3), desc="runs"))
    [0, 1, 2]
    """
    options = {"delay": DELAY, "leave": False, "disable": not is_visible(), **settings}
    bar = _tqdm()(iterable, **options)
    return bar if iterable is None or not getattr(thread, "announce", ()) else _announced(bar, iterable, settings)


def _announced(bar: Any, iterable: Any, settings: dict[str, Any]) -> Iterator[Any]:
    """Yield the items of a bar, and announce each."""
    total, unit = len(iterable) if hasattr(iterable, "__len__") else "?", settings.get("unit", "part")
    for number, item in enumerate(bar, 1):
        announce(f"{settings.get('desc', '')}: {unit} {number} of {total}")
        yield item


def announce(text: str) -> None:
    """Report how far a computation has come to the functions of `announcing`; without one do nothing."""
    for function in getattr(thread, "announce", ()):
        function(text)


@contextmanager
def announcing(function: Callable[[str], object]) -> Iterator[None]:
    """Call a function with lines on the progress of this thread inside the context, such as those of its bars.

    Functions of enclosing contexts are called as well.

    >>> lines = []
    >>> with announcing(lines.append):
    ...     list(progress_bar([7, 8], desc="runs", unit="run"))
    [7, 8]
    >>> lines
    ['runs: run 1 of 2', 'runs: run 2 of 2']
    """
    before: list[Callable[[str], object]] = getattr(thread, "announce", [])
    thread.announce = [*before, function]
    try:
        yield
    finally:
        thread.announce = before


@cache
def _tqdm() -> Any:
    """Import tqdm's class of bars. Warning filters are global to all threads, so they change for one import only."""
    with _importing, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets a notebook has a bar of text
        from tqdm.auto import tqdm

    return tqdm


def may_show_bar() -> bool:
    """Return whether this is the main thread of the main process: workers of an ensemble show no bars."""
    return threading.current_thread() is threading.main_thread() and parent_process() is None


def is_visible() -> bool:
    """Return whether a bar would be visible."""
    if os.environ.get("TQDM_DISABLE", "0") not in ("", "0"):
        return False
    return in_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config


thread = threading.local()
"""``stop`` of a thread of `hopflow.sweeps.executors.run_tasks`: the event that ends its work; ``announce``: the
functions of `announcing`."""


def check_stop() -> None:
    """Raise CancelledError on a cancelled thread of `hopflow.sweeps.executors.run_tasks`.

    Long runs call it between parts.

    >>> from hopflow.progress import check_stop
    >>> check_stop()  # nothing was cancelled
    """
    stop = getattr(thread, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


class Sampled(Protocol):
    """A run that counts its completed samples, with a progress bar or None."""

    done: int
    bar: Any


def parts(run: Sampled, until: int, size: int) -> Iterator[int]:
    """Yield the last sample of each part of a run.

    Parameters
    ----------
    run
        The caller updates its ``done`` after each part.
    until
        Last sample of the run.
    size
        Samples of a part. It follows from the scenario, not from the clock: the same run has the same parts.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    """
    while run.done < until:
        check_stop()
        before = run.done
        yield min(before + size, until)
        if run.bar is not None:
            run.bar.update(run.done - before)

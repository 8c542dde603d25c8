"""Progress bars on terminals and in notebooks, for computations longer than a second."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from functools import cache
from multiprocessing import parent_process
from typing import Any

from hopflow.fork_safety import ForkSafeLock

__all__ = ["in_notebook", "is_visible", "may_show_bar", "progress_bar"]

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
    return _tqdm()(iterable, **options)


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

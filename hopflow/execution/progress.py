"""Progress bars: on terminals and in notebooks, for what takes longer than a second."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from functools import cache
from multiprocessing import parent_process
from typing import Any

from hopflow.fork_safety import ForkSafeLock

__all__ = ["alone", "in_notebook", "progress_bar", "shown"]

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
    given = {"delay": DELAY, "leave": False, "disable": not shown(), **settings}
    return _tqdm()(iterable, **given)


@cache
def _tqdm() -> Any:
    """Return tqdm's class of bars. Filters of warnings are those of all threads: they are changed for one import only."""
    with _importing, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets a notebook has a bar of text
        from tqdm.auto import tqdm

    return tqdm


def alone() -> bool:
    """Return whether no other thread or process, as an ensemble has, may show a bar of what this is a part of."""
    return threading.current_thread() is threading.main_thread() and parent_process() is None


def shown() -> bool:
    """Return whether anybody would see a bar."""
    if os.environ.get("TQDM_DISABLE", "0") not in ("", "0"):
        return False
    return in_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def in_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook, whose output is no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config

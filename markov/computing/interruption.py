"""Ctrl-C during calls of libraries that do not handle it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["interruptible"]

Value = TypeVar("Value")
MIN_SECONDS = 0.2
"""Shortest predicted time in s of a call in a thread."""
POLL_SECONDS = 0.1


def interruptible(call: Callable[[], Value], seconds: float) -> Value:
    """Return the result of a call that Ctrl-C can interrupt at once.

    Python handles signals between its own instructions only, never inside a library's call. A long
    call that lets other threads run meanwhile, as SuperLU's factorizations do, is therefore made by
    a thread. Ctrl-C ends the wait for that thread: the thread ends by itself or with the process,
    and only then releases its memory.

    Parameters
    ----------
    call
        Function without arguments; its exceptions are raised again.
    seconds
        Predicted time in s.
    """
    if seconds < MIN_SECONDS:
        return call()
    results: list[Value] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 (raised again by the waiting thread)
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
    if errors:
        raise errors[0]
    return results[0]

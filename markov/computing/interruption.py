"""Ctrl-C during calls that do not look for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["interruptible"]

Value = TypeVar("Value")
MIN_SECONDS = 0.2  # s: a call that is predicted to be shorter runs where it is
LOOK = 0.1  # s between two looks at the thread


def interruptible(call: Callable[[], Value], seconds: float) -> Value:
    """Return the result of a call that Ctrl-C can interrupt at once.

    Python handles signals between its own instructions only, never inside a library's call. A long
    call that lets other threads run meanwhile, as SuperLU's factorizations do, is therefore made by
    a thread. Ctrl-C ends the wait for that thread: the thread ends by itself or with the process,
    and only then releases its memory.

    Parameters
    ----------
    call
        Takes no arguments; its exceptions are raised here.
    seconds
        How long it is predicted to take.
    """
    if seconds < MIN_SECONDS:
        return call()
    found: list[Value] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:  # noqa: BLE001 (it is raised by the thread that waits)
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(LOOK)
    if failed:
        raise failed[0]
    return found[0]

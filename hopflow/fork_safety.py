"""Cached properties and locks that a fork beside a computing thread leaves usable.

A child process copies every lock but only the forking thread. A lock that another thread held at the fork is never
released in the child, so that acquiring it there blocks forever.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["ForkSafeLock", "cached_property"]

_MISSING = object()


if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # as in functools
        """A property that is computed once per object, as in Python 3.12: without a lock.

        Python 3.11 holds one lock per class during the computation. The lock serializes threads that work on different
        objects, and blocks a child process that was forked meanwhile. Without a lock, two threads may compute the value
        of an object twice; both return the value that was stored first.

        Examples
        --------
        >>> class Squares:
        ...     @cached_property
        ...     def first(self):
        ...         return [n**2 for n in range(3)]
        >>> squares = Squares()
        >>> squares.first, squares.first is squares.first
        ([0, 1, 4], True)
        """

        def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
            """Return the value for an object; the property itself for a class."""
            if instance is None:
                return self
            name = self.attrname
            if name is None:
                raise TypeError("a cached_property needs a name: assign it in the body of a class")
            values = instance.__dict__
            value = values.get(name, _MISSING)
            if value is _MISSING:
                value = values.setdefault(name, self.func(instance))
            return value


class ForkSafeLock:
    """A reentrant lock, used as a context manager, that is released in a newly forked child process.

    Examples
    --------
    >>> lock = ForkSafeLock()
    >>> with lock, lock:
    ...     print("held")
    held
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.RLock()


_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


def _renew_locks() -> None:
    for lock in list(_locks):
        lock._renew()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_renew_locks)

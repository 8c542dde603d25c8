"""Pool of worker processes that are terminated on an error or Ctrl-C."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.context import BaseContext

__all__ = ["processes"]


@contextlib.contextmanager
def processes(
    jobs: int, context: BaseContext, initializer: Callable[[], None] | None = None
) -> Iterator[Executor]:
    """Return a process pool; an error or Ctrl-C terminates the workers and cancels pending tasks.

    >>> with processes(1, multiprocessing.get_context("spawn")) as pool:
    ...     pool.submit(abs, -3).result()
    3
    """
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(jobs, context, functools.partial(_begin, initializer)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()  # its result is not needed any more
            raise


def _begin(initializer: Callable[[], None] | None) -> None:
    """Give tqdm a lock of this process only: a shared lock held by a terminated process is never released."""
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())
    if initializer is not None:
        initializer()

"""Many independent tasks on any executor: processes, threads, Dask, MPI.

Tasks go out in parts of about a second's work, a few for each worker, so that neither memory nor a
cluster's scheduler holds all of them. Tasks assigned to a worker that died are recomputed.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any, Generic, NamedTuple, TypeVar

from hopflow.checks import instance
from hopflow.execution.progress import progress_bar

__all__ = ["Bar", "check_executor", "check_stop", "completed", "cores"]

T = TypeVar("T")
R = TypeVar("R")

SECONDS = 1.0
"""What a part is to take."""
AHEAD = 2
"""Parts for each worker that are under way or next."""
WORKERS = 32
"""Workers of an executor that does not say how many it has."""
LOSSES = 3
"""A part that so many workers died on, or so many pools that broke before any part was done, end all."""
_thread = threading.local()
"""``stop`` of a thread of `completed`: the event that ends its work."""


class Bar(NamedTuple):
    """A progress bar: what is done, and what one of its steps is called."""

    desc: str
    unit: str


def cores() -> int:
    """Return the number of cores available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_executor(executor: object) -> None:
    """Raise TypeError for what is neither an Executor nor None.

    >>> check_executor(2)
    Traceback (most recent call last):
    ...
    TypeError: executor = 2: must be an Executor of concurrent.futures, or None
    """
    if executor is not None:
        instance("executor", executor, Executor, "an Executor of concurrent.futures, or None")


def check_stop() -> None:
    """Raise CancelledError on a thread of `completed` whose work was ended; long work calls it between its parts.

    >>> from hopflow.execution.executing import check_stop
    >>> check_stop()  # nothing has been ended
    """
    stop = getattr(_thread, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


def completed(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    executor: Executor | None = None,
    *,
    threads: bool = False,
    most: int | None = None,
    bar: Bar | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each task when it is done, in any order.

    Parameters
    ----------
    function
        Yields the results of some consecutive tasks. It must not depend on which tasks come together.
    tasks
        Indexed from 0; a task is looked up only when it is sent.
    executor
        Any `concurrent.futures.Executor`. It stays open, and belongs to the caller. None: this process.
    threads
        Without an executor: whether to use a thread per core, after a first task that compiles what all
        share.
    most
        Tasks of a part at most; None: as many as take a second.
    bar
        The progress bar over all tasks; None shows none.

    Raises
    ------
    BrokenExecutor
        When three pools in a row broke before any part was done, or three workers died on one part.
    Exception
        What the function raises; other tasks are cancelled, as on Ctrl-C.

    Notes
    -----
    A broken ``ProcessPoolExecutor`` is replaced by a new one with the same settings, another executor
    that breaks by this process, with a warning. Dask moves tasks to other workers by itself; what it
    gives up after several lost workers is submitted again.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from hopflow.execution.executing import completed
    >>> with ThreadPoolExecutor(2) as pool:
    ...     found = dict(completed(lambda part: [n * n for n in part], range(5), pool))
    >>> [found[n] for n in range(5)]
    [0, 1, 4, 9, 16]
    """
    found = _completed(function, tasks, executor, threads, most or len(tasks))
    if bar is None:
        yield from found
        return
    yield from progress_bar(found, total=len(tasks), desc=bar.desc, unit=bar.unit)


def _completed(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    executor: Executor | None,
    threads: bool,
    most: int,
) -> Iterator[tuple[int, R]]:
    if executor is not None:
        yield from _Parts(function, tasks, executor, most).results()
    elif not threads:
        yield from enumerate(function(tasks))
    elif len(tasks):
        yield from enumerate(function([tasks[0]]))
        stop = threading.Event()
        own = ThreadPoolExecutor(cores(), initializer=setattr, initargs=(_thread, "stop", stop))
        try:
            yield from _Parts(function, tasks, own, most, first=1).results()
        finally:
            stop.set()
            own.shutdown(cancel_futures=True)


class _Parts(Generic[T, R]):
    """The tasks in parts, each of them waiting, under way on an executor, or done."""

    def __init__(
        self,
        function: Callable[[Sequence[T]], Iterable[R]],
        tasks: Sequence[T],
        executor: Executor,
        most: int,
        first: int = 0,
    ) -> None:
        self.function, self.tasks, self.most = function, tasks, most
        self.executor: Executor | None = executor
        self.own: Executor | None = None
        self.workers = _workers(executor)
        self.next = first
        self.again: deque[tuple[range, int]] = deque()
        self.under_way: dict[Future[tuple[list[R], float]], tuple[range, int]] = {}
        self.per_task: float | None = None
        self.broken = 0

    def results(self) -> Iterator[tuple[int, R]]:
        """Yield the numbers and results of all tasks."""
        try:
            while self.under_way or self.again or self.next < len(self.tasks):
                if self.executor is None:
                    yield from self._here()
                    continue
                self._submit(self.executor)
                done, _ = wait(self.under_way, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from self._received(future)
        finally:
            for future in self.under_way:
                future.cancel()
            if self.own is not None:
                self.own.shutdown(wait=False, cancel_futures=True)

    def _submit(self, executor: Executor) -> None:
        """Keep a few parts for each worker under way."""
        while len(self.under_way) < AHEAD * self.workers and (part := self._part()):
            numbers, lost = part
            some = [self.tasks[n] for n in numbers]
            try:  # the count of losses makes Dask take it for another task
                future = executor.submit(_timed, self.function, some, lost)
            except BrokenExecutor as error:
                self.again.append(part)
                if not self.under_way:
                    self._replace(error)
                return
            self.under_way[future] = part

    def _part(self) -> tuple[range, int] | None:
        """Return the numbers of the tasks to send next, and how often they were lost.

        A part whose worker died is under way alone: Dask blames whatever the worker had before it.
        """
        suspect = any(lost for _, lost in self.under_way.values())
        if suspect or (self.again and self.again[0][1] and self.under_way):
            return None
        if self.again:
            return self.again.popleft()
        left = len(self.tasks) - self.next
        if not left:
            return None
        size = 1
        if self.per_task is not None:
            fair = -(-left // (AHEAD * self.workers))
            size = max(1, min(int(SECONDS / max(self.per_task, 1e-6)), fair, self.most))
        numbers = range(self.next, self.next + min(size, left))
        self.next = numbers.stop
        return numbers, 0

    def _received(self, future: Future[tuple[list[R], float]]) -> Iterator[tuple[int, R]]:
        """Yield the results of a part, or put it back when its worker was lost."""
        numbers, lost = self.under_way.pop(future)
        try:
            found, seconds = future.result()
        except (BrokenExecutor, CancelledError) as error:
            self.again.append((numbers, lost))
            if not self.under_way:  # all others broke as well, and are put back
                self._replace(error)
            return
        except Exception as error:
            if not _worker_died(error):
                raise
            if lost + 1 == LOSSES:
                raise BrokenExecutor(_gave_up(numbers, lost + 1)) from error
            self.again.append((numbers, lost + 1))
            return
        self.broken = 0
        self.per_task = seconds / len(numbers)
        yield from zip(numbers, found, strict=True)

    def _replace(self, error: BaseException) -> None:
        """Take a new pool for one that broke, or this process."""
        self.broken += 1
        if self.broken == LOSSES:
            numbers = min((part for part, _ in self.again), key=lambda part: part.start)
            raise BrokenExecutor(_gave_up(numbers, self.broken)) from error
        if self.own is not None:
            self.own.shutdown(wait=False)
        self.own = self.executor = _like(self.executor)
        if self.executor is None:
            left = len(self.tasks) - self.next + sum(len(part) for part, _ in self.again)
            said = f"the executor broke ({error!r}): its {left} tasks run in this process"
            warnings.warn(said, RuntimeWarning, stacklevel=2)

    def _here(self) -> Iterator[tuple[int, R]]:
        while part := self._part():
            numbers, _ = part
            some = [self.tasks[n] for n in numbers]
            yield from zip(numbers, self.function(some), strict=True)


def _timed(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    lost: int,  # noqa: ARG001
) -> tuple[list[R], float]:
    """Return the results of a part and the seconds that they took; runs on a worker."""
    began = time.perf_counter()
    found = list(function(tasks))
    return found, time.perf_counter() - began


def _workers(executor: Any) -> int:
    """Return how many workers an executor has, as far as it says so."""
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None and hasattr(client, "nthreads"):
        return max(int(sum(client.nthreads().values())), WORKERS)  # others may join
    for name in ("num_workers", "_max_workers"):  # of mpi4py, of the standard library
        if isinstance(count := getattr(executor, name, None), int) and count > 0:
            return count
    return WORKERS


def _like(broken: Executor | None) -> Executor | None:
    """Return a new pool of processes in place of a broken one; None for other executors."""
    from concurrent.futures import ProcessPoolExecutor  # Python in a browser has none

    if type(broken) is not ProcessPoolExecutor:
        return None
    settings = vars(broken)  # they have no public names
    return ProcessPoolExecutor(
        settings["_max_workers"],
        mp_context=settings["_mp_context"],
        initializer=settings["_initializer"],
        initargs=settings["_initargs"],
    )


def _worker_died(error: Exception) -> bool:
    """Whether Dask gave a task up because several workers died that had it."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(error, distributed.KilledWorker)


def _gave_up(numbers: range, times: int) -> str:
    which = f"task {numbers[0]}" if len(numbers) == 1 else f"tasks {numbers[0]} to {numbers[-1]}"
    return (
        f"{which}: {times} workers died one after the other before it was done; is there memory enough? "
        'A script that uses processes begins its work under `if __name__ == "__main__":`'
    )

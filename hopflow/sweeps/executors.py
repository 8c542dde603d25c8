"""Tasks in batches on any executor."""

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
from hopflow.progress import progress_bar, thread

__all__ = ["Bar", "check_executor", "cores", "run_tasks"]

R = TypeVar("R")
T = TypeVar("T")


BATCH_SECONDS = 1.0
"""Target duration of a batch in s."""
BATCHES_PER_WORKER = 2
"""Batches in flight per worker."""
DEFAULT_WORKERS = 32
"""Workers assumed for an executor that does not report their number."""
MAX_LOSSES = 3
"""Worker deaths on one batch, or broken pools in a row without a finished batch, after which the run ends."""


class Bar(NamedTuple):
    """A progress bar: description and name of a step."""

    desc: str
    unit: str


def cores() -> int:
    """Return the number of cores available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def check_executor(executor: object) -> None:
    """Raise TypeError unless ``executor`` is an Executor or None.

    >>> check_executor(2)
    Traceback (most recent call last):
    ...
    TypeError: executor = 2: must be an Executor of concurrent.futures, or None
    """
    if executor is not None:
        instance("executor", executor, Executor, "an Executor of concurrent.futures, or None")


def run_tasks(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    executor: Executor | None = None,
    *,
    threads: bool = False,
    max_batch: int | None = None,
    bar: Bar | None = None,
) -> Iterator[tuple[int, R]]:
    """Yield the number and the result of each task as it completes, in any order.

    Parameters
    ----------
    function
        Yields the results of consecutive tasks. The results must not depend on the partition into batches.
    tasks
        Indexed from 0; a task is looked up when it is submitted.
    executor
        Any `concurrent.futures.Executor`. It belongs to the caller and stays open. None: this process.
    threads
        Without an executor: use one thread per core, after a first task that compiles the shared kernels.
    max_batch
        Maximum number of tasks per batch; None: as many as take one second.
    bar
        Progress bar over all tasks; None: no bar.

    Raises
    ------
    BrokenExecutor
        When three pools in a row broke before any batch was done, or three workers died on one batch.
    Exception
        Any exception of the function; other tasks are cancelled, as on Ctrl-C.

    Notes
    -----
    A broken ``ProcessPoolExecutor`` is replaced by a new one with the same settings, any other broken
    executor by this process, with a warning. Dask itself moves tasks to other workers; a task that it
    drops after several lost workers is submitted again.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from hopflow.sweeps.executors import run_tasks
    >>> with ThreadPoolExecutor(2) as pool:
    ...     results = dict(run_tasks(lambda part: [n * n for n in part], range(5), pool))
    >>> [results[n] for n in range(5)]
    [0, 1, 4, 9, 16]
    """
    results = _dispatch(function, tasks, executor, threads, max_batch or len(tasks))
    if bar is None:
        yield from results
        return
    yield from progress_bar(results, total=len(tasks), desc=bar.desc, unit=bar.unit)


def _dispatch(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    executor: Executor | None,
    threads: bool,
    max_batch: int,
) -> Iterator[tuple[int, R]]:
    if executor is not None:
        yield from _Batches(function, tasks, executor, max_batch).results()
    elif not threads:
        yield from enumerate(function(tasks))
    elif len(tasks):
        yield from enumerate(function([tasks[0]]))
        stop = threading.Event()
        pool = ThreadPoolExecutor(cores(), initializer=setattr, initargs=(thread, "stop", stop))
        try:
            yield from _Batches(function, tasks, pool, max_batch, first=1).results()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


class _Batches(Generic[T, R]):
    """Batches of tasks, each waiting, in flight on an executor, or done."""

    def __init__(
        self,
        function: Callable[[Sequence[T]], Iterable[R]],
        tasks: Sequence[T],
        executor: Executor,
        max_batch: int,
        first: int = 0,
    ) -> None:
        self.function, self.tasks, self.max_batch = function, tasks, max_batch
        self.executor: Executor | None = executor
        self.replacement: Executor | None = None
        self.workers = _workers(executor)
        self.next_task = first
        self.retries: deque[tuple[range, int]] = deque()
        self.pending: dict[Future[tuple[list[R], float]], tuple[range, int]] = {}
        self.seconds_per_task: float | None = None
        self.broken_pools = 0

    def results(self) -> Iterator[tuple[int, R]]:
        """Yield the numbers and results of all tasks."""
        try:
            while self.pending or self.retries or self.next_task < len(self.tasks):
                if self.executor is None:
                    yield from self._run_locally()
                    continue
                self._submit(self.executor)
                done, _ = wait(self.pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from self._collect(future)
        finally:
            for future in self.pending:
                future.cancel()
            if self.replacement is not None:
                self.replacement.shutdown(wait=False, cancel_futures=True)

    def _submit(self, executor: Executor) -> None:
        """Submit batches until each worker has a few in flight."""
        while len(self.pending) < BATCHES_PER_WORKER * self.workers and (batch := self._next_batch()):
            numbers, lost = batch
            tasks = [self.tasks[n] for n in numbers]
            try:  # with the count of losses Dask does not identify it with the lost task
                future = executor.submit(_run_timed, self.function, tasks, lost)
            except BrokenExecutor as error:
                self.retries.append(batch)
                if not self.pending:
                    self._replace(error)
                return
            self.pending[future] = batch

    def _next_batch(self) -> tuple[range, int] | None:
        """Return the numbers of the next tasks, and how often they were lost.

        A batch whose worker died is submitted alone: Dask blames every task that the dead worker held.
        """
        suspect = any(lost for _, lost in self.pending.values())
        if suspect or (self.retries and self.retries[0][1] and self.pending):
            return None
        if self.retries:
            return self.retries.popleft()
        remaining = len(self.tasks) - self.next_task
        if not remaining:
            return None
        size = 1
        if self.seconds_per_task is not None:
            fair = -(-remaining // (BATCHES_PER_WORKER * self.workers))
            size = max(1, min(int(BATCH_SECONDS / max(self.seconds_per_task, 1e-6)), fair, self.max_batch))
        numbers = range(self.next_task, self.next_task + min(size, remaining))
        self.next_task = numbers.stop
        return numbers, 0

    def _collect(self, future: Future[tuple[list[R], float]]) -> Iterator[tuple[int, R]]:
        """Yield the results of a batch, or queue it again if its worker was lost."""
        numbers, lost = self.pending.pop(future)
        try:
            results, seconds = future.result()
        except (BrokenExecutor, CancelledError) as error:
            self.retries.append((numbers, lost))
            if not self.pending:  # all others broke too, and are queued again
                self._replace(error)
            return
        except Exception as error:
            if not _worker_died(error):
                raise
            if lost + 1 == MAX_LOSSES:
                raise BrokenExecutor(_loss_message(numbers, lost + 1)) from error
            self.retries.append((numbers, lost + 1))
            return
        self.broken_pools = 0
        self.seconds_per_task = seconds / len(numbers)
        yield from zip(numbers, results, strict=True)

    def _replace(self, error: BaseException) -> None:
        """Replace a broken executor by a new pool or by this process."""
        self.broken_pools += 1
        if self.broken_pools == MAX_LOSSES:
            numbers = min((batch for batch, _ in self.retries), key=lambda batch: batch.start)
            raise BrokenExecutor(_loss_message(numbers, self.broken_pools)) from error
        if self.replacement is not None:
            self.replacement.shutdown(wait=False)
        self.replacement = self.executor = _new_pool(self.executor)
        if self.executor is None:
            remaining = len(self.tasks) - self.next_task + sum(len(batch) for batch, _ in self.retries)
            message = f"the executor broke ({error!r}): its {remaining} tasks run in this process"
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    def _run_locally(self) -> Iterator[tuple[int, R]]:
        while batch := self._next_batch():
            numbers, _ = batch
            tasks = [self.tasks[n] for n in numbers]
            yield from zip(numbers, self.function(tasks), strict=True)


def _run_timed(
    function: Callable[[Sequence[T]], Iterable[R]],
    tasks: Sequence[T],
    lost: int,  # noqa: ARG001
) -> tuple[list[R], float]:
    """Run a batch on a worker; return the results and the wall time in s."""
    start = time.perf_counter()
    results = list(function(tasks))
    return results, time.perf_counter() - start


def _workers(executor: Any) -> int:
    """Return the number of workers of an executor, if it reports it."""
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None and hasattr(client, "nthreads"):
        return max(int(sum(client.nthreads().values())), DEFAULT_WORKERS)  # others may join
    for name in ("num_workers", "_max_workers"):  # of mpi4py, of the standard library
        if isinstance(count := getattr(executor, name, None), int) and count > 0:
            return count
    return DEFAULT_WORKERS


def _new_pool(broken: Executor | None) -> Executor | None:
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
    """Whether Dask dropped a task after the death of several workers that had it."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(error, distributed.KilledWorker)


def _loss_message(numbers: range, times: int) -> str:
    label = f"task {numbers[0]}" if len(numbers) == 1 else f"tasks {numbers[0]} to {numbers[-1]}"
    return (
        f"{label}: {times} workers died one after the other before it was done; is there memory enough? "
        'A script that uses processes begins its work under `if __name__ == "__main__":`'
    )

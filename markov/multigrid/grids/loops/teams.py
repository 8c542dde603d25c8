"""Blocks of rows of a grid that threads may do at the same time.

The blocks depend on the grid alone, and so does the order in which states are swept: results have the
same bits whatever the number of threads.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from hopflow.sweeps.executors import cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.multigrid.grids.grids import Grid

    Span = tuple[np.uint64, np.uint64]

__all__ = ["ALONE", "RowBlocks", "Team", "row_blocks"]

BLOCKS = 4
MIN_DIVIDED_STATES = 100_000
"""States of a grid from which on its rows are divided: below, calls would take longer than loops."""
MIN_BLOCK_RATIO = 8  # times as many rows in a block as between two blocks, at least


class RowBlocks(NamedTuple):
    """Ranges of rows, each with the row after its last one.

    Attributes
    ----------
    blocks
        So far apart that no transition leads from one to another, nor from two of them to one state.
    borders
        The rows between them, to be done afterwards.
    """

    blocks: tuple[Span, ...]
    borders: tuple[Span, ...]


def row_blocks(grid: Grid) -> RowBlocks:
    """Return the blocks of a grid's rows: one, if it is small or its transitions lead far."""
    rows, row = len(grid.row_kind), grid.shape[-1] * grid.width
    ahead = (grid.strides[:-1] // row).astype(np.int64)
    gap = 2 * int(np.abs(grid.steps[:, :-1] @ ahead).max(initial=0))
    if grid.size < MIN_DIVIDED_STATES or rows < BLOCKS * (1 + MIN_BLOCK_RATIO) * max(gap, 1):
        return RowBlocks(((np.uint64(0), np.uint64(rows)),), ())
    begins_after = [rows * n // BLOCKS for n in range(1, BLOCKS)]
    begins = np.array([0, *begins_after], dtype=np.uint64)
    until = np.array([*(end - gap for end in begins_after), rows], dtype=np.uint64)
    borders = zip(until[:-1], begins[1:], strict=True) if gap else ()
    return RowBlocks(tuple(zip(begins, until, strict=True)), tuple(borders))


class Team:
    """Threads that do calls together; to be closed, as a context.

    Parameters
    ----------
    threads
        At most so many, and never more than the process may use; None: as many as that.
    """

    def __init__(self, threads: int | None = None) -> None:
        self.threads = min(cores(), threads or BLOCKS, BLOCKS)
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def do(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the results of some calls, done in any order, one by each thread at a time."""
        if self._pool is None or len(calls) == 1:
            return [call() for call in calls]
        results: list[Any] = [None] * len(calls)
        queue = deque(enumerate(calls))

        def work() -> None:
            while queue:
                try:
                    n, call = queue.popleft()
                except IndexError:  # another thread took the last one
                    return
                results[n] = call()

        others = [  # with what is set here for floating-point errors
            self._pool.submit(copy_context().run, work) for _ in range(min(self.threads, len(calls)) - 1)
        ]
        try:
            work()
            wait(others)
        finally:  # after Ctrl-C nothing may go on
            queue.clear()
            wait(others)
        for other in others:
            other.result()
        return results


ALONE = Team(1)

"""Processes side by side: an error ends them."""

from __future__ import annotations

import signal
import time
from multiprocessing import get_context

import pytest

from hopflow.worker_processes import processes


def test_processes_end_at_once_on_ctrl_c() -> None:
    """Neither what they do nor what waits goes on: each sleep is a minute."""
    waiting, workers = [], []

    def interrupted() -> None:
        with processes(1, get_context("spawn")) as pool:
            waiting.extend(pool.submit(time.sleep, 60.0) for _ in range(4))
            workers.extend(pool._processes.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (worker,) = workers
    worker.join()
    assert worker.exitcode == -signal.SIGTERM
    assert all(each.cancelled() or each.exception() for each in waiting)

"""Processes side by side: an error ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

import hopflow
from hopflow.worker_processes import processes

ROOT = str(Path(hopflow.__file__).parents[1])


def test_processes_end_at_once_on_ctrl_c() -> None:
    """Neither what they do nor what waits goes on: each sleep is a minute."""
    waiting, workers, threads = [], [], []

    def interrupted() -> None:
        with processes(1, get_context("spawn")) as pool:
            waiting.extend(pool.submit(time.sleep, 60.0) for _ in range(4))
            workers.extend(pool._processes.values())
            threads.append(pool._executor_manager_thread)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    (worker,), (thread,) = workers, threads
    thread.join()  # it alone waits for the process: of two threads that do, one sees no exit code
    assert worker.exitcode == -signal.SIGTERM
    assert all(each.cancelled() or each.exception() for each in waiting)


ENDED = """
import multiprocessing
import time
from hopflow.progress import progress_bar
from hopflow.worker_processes import processes

def counted():
    return sum(progress_bar(range(3)))

if __name__ == "__main__":
    with processes(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(counted).result() == 3
        pool.submit(time.sleep, 60.0)
        raise KeyboardInterrupt
"""


def test_processes_that_end_leave_no_semaphore_behind(tmp_path) -> None:
    """A lock of tqdm for several processes is one, and Python warns of it."""
    script = tmp_path / "ended.py"
    script.write_text(ENDED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": ROOT},
    )
    assert "KeyboardInterrupt" in done.stderr
    assert "leaked" not in done.stderr

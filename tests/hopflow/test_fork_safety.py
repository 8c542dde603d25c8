"""Cached properties without a lock, and locks that are free after a fork."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import cached_property as locked_property

import pytest

from hopflow.fork_safety import ForkSafeLock, cached_property

CHILDREN = 8
TIME_LIMIT = 60.0
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")


class Slow:
    """An object whose property is computed until it is told to end."""

    def __init__(self) -> None:
        self.begun, self.end = threading.Event(), threading.Event()

    @cached_property
    def value(self) -> list[int]:
        self.begun.set()
        self.end.wait(TIME_LIMIT)
        return [1, 2]


def exit_codes(pids: list[int]) -> list[int | None]:
    """Return the exit codes of child processes; None for those that do not end in time, which are killed."""
    deadline, codes = time.monotonic() + TIME_LIMIT, []
    for pid in pids:
        status = None
        while status is None and time.monotonic() < deadline:
            ended, code = os.waitpid(pid, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if ended else time.sleep(0.01)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        codes.append(status)
    return codes


def test_a_value_is_computed_once_and_can_be_set_and_deleted() -> None:
    slow = Slow()
    slow.end.set()
    first = slow.value
    assert slow.value is first
    del slow.value
    assert slow.value is not first
    slow.__dict__["value"] = [3]
    assert slow.value == [3]
    assert isinstance(Slow.value, locked_property)


def test_threads_that_compute_a_value_twice_get_the_same_object() -> None:
    slow, results = Slow(), []
    threads = [threading.Thread(target=lambda: results.append(slow.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    slow.begun.wait(TIME_LIMIT)
    slow.end.set()
    for thread in threads:
        thread.join(TIME_LIMIT)
    assert len(results) == 4
    assert all(each is results[0] for each in results)


def test_another_object_does_not_wait() -> None:
    slow, other = Slow(), Slow()
    other.end.set()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    slow.begun.wait(TIME_LIMIT)
    assert other.value == [1, 2]
    slow.end.set()
    thread.join(TIME_LIMIT)


@forks
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::RuntimeWarning"
)  # of Python and JAX: forks beside threads
def test_a_child_process_does_not_wait_for_what_another_thread_held() -> None:
    slow, lock = Slow(), ForkSafeLock()

    def compute() -> None:
        with lock:
            assert slow.value

    thread = threading.Thread(target=compute)
    thread.start()
    slow.begun.wait(TIME_LIMIT)
    pid = os.fork()
    if pid == 0:
        other = Slow()
        other.end.set()
        with lock, lock:
            os._exit(0 if other.value == [1, 2] else 1)
    assert exit_codes([pid]) == [0]
    slow.end.set()
    thread.join(TIME_LIMIT)


@forks
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_children_beside_a_thread_that_simulates_all_finish() -> None:
    import dfcmodel as dm
    from responsefn import Reno

    def run() -> None:
        dm.coexist([Reno(), Reno()], 0.05, 1000.0, 50, options=dm.PathOptions(duration=5))

    run()  # kernels are loaded
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            run()

    thread = threading.Thread(target=compute)
    thread.start()
    pids = []
    for _ in range(CHILDREN):
        time.sleep(0.05)
        pid = os.fork()
        if pid == 0:
            try:
                run()
                os._exit(0)
            finally:
                os._exit(1)
        pids.append(pid)
    codes = exit_codes(pids)
    stop.set()
    thread.join(TIME_LIMIT)
    assert codes == [0] * CHILDREN

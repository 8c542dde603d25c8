"""Functions over points on executors and in processes, which an error ends."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import hopflow
from hopflow.processes import process_pool
from hopflow.progress import check_stop
from hopflow.sweeps import executors
from hopflow.sweeps.executors import BATCHES_PER_WORKER, cores, run_tasks
from tests.dask_clusters import dask_client
from tests.surface import HANG, python

# Tasks on executors: all of them, each once, also where workers die.


WORK = '''
import os, signal
from pathlib import Path

def squares(numbers):
    for n in numbers:
        yield n * n

def dying_once(folder, numbers):
    """Kill the process at task 3, the first time."""
    for n in numbers:
        if n == 3:
            try:
                Path(folder, "died").mkdir()
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        yield n * n

def dying(numbers):
    for n in numbers:
        if n == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        yield n * n
'''
SQUARES = {n: n * n for n in range(8)}


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A module that other processes can import."""
    (tmp_path / "hopflow_work.py").write_text(WORK, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    import hopflow_work

    yield hopflow_work
    del sys.modules["hopflow_work"]


def squares(numbers):
    return (n * n for n in numbers)


def two_processes(workers=1):
    return ProcessPoolExecutor(workers, get_context("spawn"))


def test_here_and_on_threads():
    assert list(run_tasks(squares, range(8))) == list(SQUARES.items())
    assert dict(run_tasks(squares, range(8), threads=True)) == SQUARES
    assert list(run_tasks(squares, (), threads=True)) == []
    with ThreadPoolExecutor(2) as pool:
        assert dict(run_tasks(squares, range(8), pool)) == SQUARES
        assert pool.submit(int).result() == 0  # it is the caller's


def test_threads_begin_when_the_first_task_is_done():
    """It compiles what all others use."""
    running = []

    def work(tasks):
        for n in tasks:
            running.append((n, threading.current_thread() is threading.main_thread()))
            yield n

    assert len(list(run_tasks(work, range(4), threads=True))) == 4
    assert running[0] == (0, True)
    assert not any(here for _, here in running[1:])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGALRM")
def test_ctrl_c_ends_long_work_of_threads_that_looks_for_it(monkeypatch):
    """The signal comes when one of the threads works and this one waits for results.

    It comes again after some seconds: an exception of a handler is lost where Python happens to run a finalizer.
    """
    ended, first, waits = [], iter([True]), threading.Event()

    def work(tasks):
        for n in tasks:
            try:
                sends = n > 0 and next(first, False)
                for turn in itertools.count() if n > 0 else ():
                    if sends and turn % 2500 == 0:
                        assert waits.wait(HANG)
                        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
                    check_stop()
                    time.sleep(0.002)
            except CancelledError:
                ended.append(n)
                raise
            yield n

    def ctrl_c(*_):
        raise KeyboardInterrupt

    def wait(*given, **options):
        waits.set()
        return futures.wait(*given, **options)

    monkeypatch.setattr(executors, "wait", wait)
    before = signal.signal(signal.SIGALRM, ctrl_c)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(run_tasks(work, range(40), threads=True))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert 1 <= len(ended) <= cores()
    assert not [each for each in threading.enumerate() if "ThreadPool" in each.name]


class Counted(Executor):
    """Runs a task when it is asked for a second one, and counts what it holds."""

    _max_workers = 2

    def __init__(self):
        self.held, self.most, self.parts = [], 0, []

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        self.held.append((future, fn, args))
        self.parts.append(len(args[1]))
        self.most = max(self.most, len(self.held))
        if len(self.held) == BATCHES_PER_WORKER * self._max_workers or sum(self.parts) == 1000:
            for each, function, given in self.held:
                each.set_result(function(*given))
            self.held.clear()
        return future


def test_few_parts_are_under_way_and_short_tasks_go_together():
    executor = Counted()
    found = dict(run_tasks(squares, range(1000), executor))
    assert found == {n: n * n for n in range(1000)}
    assert executor.most == BATCHES_PER_WORKER * 2
    assert executor.parts[0] == 1
    assert max(executor.parts) > 100
    one = Counted()
    assert len(dict(run_tasks(squares, range(1000), one, max_batch=1))) == 1000
    assert set(one.parts) == {1}


def test_what_a_killed_worker_had_is_run_again(work, tmp_path):
    from functools import partial

    with two_processes() as pool:
        found = dict(run_tasks(partial(work.dying_once, str(tmp_path)), range(8), pool))
    assert (tmp_path / "died").is_dir()
    assert found == SQUARES


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_named(work):
    done = {}

    def run(pool):
        for n, found in run_tasks(work.dying, range(8), pool):
            done[n] = found

    with two_processes(2) as pool, pytest.raises(BrokenExecutor, match=r"^task 3: 3 workers died"):
        run(pool)
    assert done == {n: n * n for n in range(8) if n != 3}  # nothing else is lost


class Breaking(Executor):
    """Breaks at the third task, with what it has."""

    _max_workers = 4

    def __init__(self):
        self.futures = []

    def submit(self, fn, /, *args, **kwargs):
        if len(self.futures) == 3:
            for each in self.futures[1:]:
                if not each.done():
                    each.set_exception(BrokenExecutor("no more"))
            raise BrokenExecutor("no more")
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_result(fn(*args))
        return self.futures[-1]


def test_this_process_takes_over_from_another_executor_that_breaks():
    with pytest.warns(RuntimeWarning, match="its 7 tasks run in this process"):
        found = dict(run_tasks(squares, range(8), Breaking()))
    assert found == SQUARES


def fail(n):
    if n == 1:
        raise ArithmeticError("no")


def interrupt(n):
    if n == 1:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("on_worker", "here", "error"),
    [(fail, bool, ArithmeticError), (bool, interrupt, KeyboardInterrupt)],
    ids=["error", "Ctrl-C"],
)
def test_an_error_or_ctrl_c_cancels_what_has_not_begun(on_worker, here, error):
    """Tasks after the second wait until the error has reached the caller: at most one of them has begun."""
    begun, raised = [], threading.Event()

    def work(tasks):
        for n in tasks:
            begun.append(n)
            on_worker(n)
            assert n < 2 or raised.wait(HANG)
            yield n

    def consume(pool):
        for n, _ in run_tasks(work, range(100), pool, max_batch=1):
            here(n)

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(error):
            consume(pool)
        raised.set()
    assert begun in ([0, 1], [0, 1, 2])


@pytest.mark.slow
def test_on_dask_workers_of_which_one_dies(work, tmp_path):
    with dask_client() as client:
        function = partial(work.dying_once, str(tmp_path))
        found = dict(run_tasks(function, range(8), client.get_executor()))
    assert (tmp_path / "died").is_dir()
    assert found == SQUARES


@pytest.mark.slow
def test_a_task_that_kills_every_dask_worker_is_named(work):
    """Dask gives it up after some workers (one here), and so do we after it came back."""
    dask = pytest.importorskip("dask", reason="needs hopflow[scale]")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        dask_client() as client,
        pytest.raises(BrokenExecutor, match=r"^task 3: 3 workers died"),
    ):
        list(run_tasks(work.dying, range(8), client.get_executor()))


@pytest.mark.slow
def test_on_a_scheduler_and_workers_started_by_their_commands(work, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs hopflow[scale]")
    file, dask = tmp_path / "scheduler.json", [sys.executable, "-m", "distributed.cli"]
    dask = [sys.executable, "-m", "dask"]
    commands = [
        [*dask, "scheduler", "--scheduler-file", str(file), "--port", "0", "--no-dashboard"],
        *[[*dask, "worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard"] for _ in range(2)],
    ]
    log = (tmp_path / "log").open("w")
    started = []
    try:
        for command in commands:
            started.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path))
            while not file.exists():
                assert started[0].poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.05)
        with distributed.Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2, timeout=HANG)
            found = dict(run_tasks(work.squares, range(8), client.get_executor(), max_batch=1))
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(HANG)
        log.close()
    assert found == SQUARES


MPI = """
from mpi4py.futures import MPIPoolExecutor
from hopflow.sweeps.executors import run_tasks
import hopflow_work

if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        print(sorted(run_tasks(hopflow_work.squares, range(8), pool)))
"""


@pytest.mark.slow
def test_on_ranks_of_mpi(work, tmp_path):
    pytest.importorskip("mpi4py", reason="needs mpi4py and an MPI library", exc_type=ImportError)
    if shutil.which("mpiexec") is None:
        pytest.skip("needs mpiexec")
    script = Path(tmp_path, "on_ranks.py")
    script.write_text(MPI, encoding="utf-8")
    run = subprocess.run(
        ["mpiexec", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)],
        env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        capture_output=True, text=True, check=False, timeout=HANG,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(list(SQUARES.items()))


# Processes side by side: an error ends them.


ROOT = str(Path(hopflow.__file__).parents[1])


def test_processes_end_at_once_on_ctrl_c() -> None:
    """Neither what they do nor what waits goes on: each sleep is a minute."""
    waiting, workers, threads = [], [], []

    def interrupted() -> None:
        with process_pool(1, get_context("spawn")) as pool:
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


@pytest.mark.parametrize("initializer", [None, partial(gc.set_threshold, 50_000, 20, 100)])
def test_a_process_is_initialized_before_its_first_task(initializer: Any) -> None:
    with process_pool(1, get_context("spawn"), initializer) as pool:
        found = pool.submit(gc.get_threshold).result()
    assert (found == (50_000, 20, 100)) == (initializer is not None)


ENDED = """
import multiprocessing
import time
from hopflow.progress import progress_bar
from hopflow.processes import process_pool

def counted():
    return sum(progress_bar(range(3)))

if __name__ == "__main__":
    with process_pool(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(counted).result() == 3
        pool.submit(time.sleep, 60.0)
        raise KeyboardInterrupt
"""


def test_processes_that_end_leave_no_semaphore_behind(tmp_path) -> None:
    """A lock of tqdm for several processes is one, and Python warns of it."""
    script = tmp_path / "ended.py"
    script.write_text(ENDED, encoding="utf-8")
    done = python(script, env={"PYTHONPATH": ROOT})
    assert "KeyboardInterrupt" in done.stderr
    assert "leaked" not in done.stderr

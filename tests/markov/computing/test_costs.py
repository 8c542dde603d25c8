"""What is spent on compilation and memory, progress, and computations that are interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

import markov
import markov.computing.resources
from markov import GTH, Levels, MarkovChain, PauseTandem, explore, generator, stationary
from markov.computing import costs, resources
from markov.computing.compilation import bound_kernel
from markov.computing.double_double_kernels import variation
from markov.computing.resources import Counter, interruptible, report_residual, watch_residuals
from markov.errors import TooLargeError
from tests.surface import HANG, printed_by

# Predicted seconds: what they may not depend on, and what is compared with what.


def test_work_of_levels_is_the_inverse_of_their_seconds() -> None:
    assert costs.level_reduction_work(costs.level_reduction(0, 7e9)) == pytest.approx(7e9, rel=1e-14)


def test_a_proof_with_levels_of_the_solution_is_cheaper_than_with_others() -> None:
    assert costs.multigrid_proof(100, 400, shared=True) < costs.multigrid_proof(100, 400, shared=False)


# What does not fit is refused, with a prediction that covers what is held.


def test_too_large_is_predicted(monkeypatch):
    model = PauseTandem(buffers=(10**6, 10**6), high_threshold=15)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: a matrix on 4\d* states") as caught:
        generator(model, reachable=False)
    assert caught.value.predicted > 4e12 * 24 > caught.value.available
    monkeypatch.setattr(markov.computing.resources, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.resources, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(TooLargeError, match=r"^PauseTandem: more than \d+ reachable states: "):
        explore(PauseTandem(buffers=(100, 100)))


LIMITED = """
import resource
from markov import MM1K, generator
from markov.computing.resources import available
from markov.errors import TooLargeError

free = available()
for kind in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
    before = resource.getrlimit(kind)
    used = next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith(("VmData" if kind == resource.RLIMIT_DATA else "VmSize")))
    resource.setrlimit(kind, (1024 * used + 2 * 10**8, before[1]))
    print(available() <= 2 * 10**8 < free)
    try:
        generator(MM1K(capacity=10**7), reachable=False)
    except TooLargeError as error:
        print(error.available <= 2e8)
    resource.setrlimit(kind, before)
"""


def test_the_limits_of_a_process_are_its_memory():
    """As after ``ulimit -v``: refused before NumPy fails."""
    assert printed_by("-c", LIMITED).split() == ["True"] * 4


@pytest.mark.parametrize("method", [GTH(), Levels(), Levels(cyclic=False)], ids=repr)
def test_filled_in_too_large_is_predicted(monkeypatch, method):
    """The prediction covers what the method then holds, and is of its order."""
    chain = MarkovChain(PauseTandem())
    used = stationary(chain, method).memory
    monkeypatch.setattr(markov.computing.resources, "available", lambda: 1e5)
    monkeypatch.setattr(markov.computing.resources, "MIN_CHECKED_BYTES", 0.0)
    with pytest.raises(TooLargeError, match=rf"^{type(method).__name__}\(\) o.* states: ") as caught:
        stationary(chain, method)
    assert used <= caught.value.predicted <= 2 * used


# Templates bound to their arguments.

ARGUMENTS = (
    np.array([0, 1, 2]), np.array([1, 0]), np.array([2.0, 3.0]), np.array([0.25, 0.75]),
    np.array([1.0, 5.0]),
)  # fmt: skip
VALUE = 0.25 * 2.0 * 4.0 + 0.75 * 3.0 * 4.0


def test_a_bound_kernel_returns_what_its_template_returns_in_python() -> None:
    short = tuple(array.astype(np.int32) for array in ARGUMENTS[:2])
    for arguments in (ARGUMENTS, (*short, *ARGUMENTS[2:])):
        assert bound_kernel(variation, *arguments)() == variation(*arguments) == VALUE


# Ctrl-C ends long calls into libraries and kernels: a process is really sent SIGINT.


STARTS = '__import__("os").write(1, b"starts\\n")'
"""Not by ``print``: a thread that still holds the lock of stdout when the interpreter ends would abort the process."""
SCRIPT = """
from markov import {method}, PauseTandem, explore, stationary
import markov.{module} as module
from markov import Kanban, Polling

def told(call, seconds):
    {STARTS}
    return interruptible(call, seconds)

interruptible, module.interruptible = module.interruptible, told
chain = explore({model}).chain
stationary(chain, {method}({arguments}), proof=False)
print("ended", flush=True)
"""
LONG = [
    ("methods.krylov", "Krylov", "drop_tolerance=1e-10, fill_factor=100.0", "Polling(stations=12)"),
    ("elimination.bands", "GTH", "block=10**6", "PauseTandem(buffers=(223, 223), high_threshold=150)"),
]
"""Incomplete factors that drop little, and one call of a kernel: 0.9 s or more on a fast machine, 8 s on others."""


PROLOGUE = """
import atexit, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(lambda: print("spent", time.process_time()))
"""
"""Where the tests run in the background of a shell, processes ignore SIGINT from the start."""


def interrupted(script, seconds):
    """Return the errors of a process that is sent SIGINT when it has started, after some seconds of its CPU time.

    It must end before its call does, and before it has spent 4 s more.
    """
    command = [sys.executable, "-c", PROLOGUE + script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "starts\n"
        begin = cpu_of(process)
        while cpu_of(process) < begin + seconds:
            assert process.poll() is None
            time.sleep(0.01)
        before = cpu_of(process)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=HANG)
    finally:
        process.kill()
    assert "ended" not in out
    assert process.returncode == -signal.SIGINT
    assert float(out.split()[-1]) < before + 4.0
    return error


def cpu_of(process):
    """Return the CPU seconds that a process has spent."""
    times = psutil.Process(process.pid).cpu_times()
    return times.user + times.system


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(("module", "method", "arguments", "model"), LONG)
def test_a_factorization_is_interrupted(module, method, arguments, model):
    script = SCRIPT.format(STARTS=STARTS, module=module, method=method, arguments=arguments, model=model)
    assert "KeyboardInterrupt" in interrupted(script, 0.3)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_a_call_that_never_looks_is_interrupted():
    """A call that waits for ever, without holding the interpreter's lock."""
    script = "import threading, markov.computing.resources as m\n"
    script += f"def call():\n    {STARTS}\n    threading.Event().wait()\n"
    script += "m.interruptible(call, 60.0)"
    assert "KeyboardInterrupt" in interrupted(script, 0.0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_an_order_is_interrupted():
    """An order of minimum degree takes a quarter of a minute here."""
    script = SCRIPT.format(
        STARTS=STARTS,
        module="elimination.lu",
        method="SparseLU",
        arguments="",
        model="Kanban(tickets=3)",
    )
    assert "KeyboardInterrupt" in interrupted(script, 3.0)


def failing():
    raise MemoryError("in the call")


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_what_a_call_returns_and_raises(seconds):
    assert interruptible(lambda: 7, seconds) == 7
    with pytest.raises(MemoryError, match="in the call"):
        interruptible(failing, seconds)


# Reports of iterations: collected, and shown on a terminal.


def test_reports_are_collected():
    report_residual(1, 1.0)  # nobody looks on
    with watch_residuals(1e-6) as history:
        for n in range(4):
            report_residual(n, 10.0**-n)
        with watch_residuals(None) as inner:
            report_residual(7, 0.5)
        report_residual(4, 0.0)
    report_residual(9, 1.0)
    assert history == [(0, 1.0), (1, 0.1), (2, 0.01), (3, 0.001), (4, 0.0)]
    assert inner == [(7, 0.5)]


def test_a_long_solve_shows_digits_and_residual(monkeypatch, capsys):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr("markov.computing.resources.DELAY", 0.0)
    monkeypatch.setattr("markov.computing.resources.REFRESH_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with watch_residuals(1e-4):
        for n in range(5):
            report_residual(n, 10.0**-n)
    shown = capsys.readouterr().err
    assert "pi Q = 0: 100 % of the digits" in shown
    assert "iteration 4, residual 1.0e-04" in shown


def test_the_time_left_counts_from_the_beginning(monkeypatch, capsys):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    monkeypatch.setattr("markov.computing.resources.DELAY", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Counter("levels", total=100) as counter:
        counter.begin -= 50.0  # as if it had taken as long
        counter.show(50)
        assert 45.0 < counter.bar.format_dict["elapsed"] < 60.0
    assert "50/100" in capsys.readouterr().err
    with watch_residuals(1e-4):
        report_residual(0, 1.0)
        resources._active_watch.get().begin -= 50.0
        monkeypatch.setattr("markov.computing.resources.REFRESH_SECONDS", 0.0)
        resources._active_watch.get().bar = None  # not shown until now
        resources._active_watch.get().next = 0.0
        report_residual(10, 1e-2)
        assert "50 % of the digits [00:50<00:" in capsys.readouterr().err

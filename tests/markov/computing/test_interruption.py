"""Ctrl-C ends long calls into libraries and kernels: a process is really sent SIGINT."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from markov.computing.interruption import interruptible

STARTS = 'print("starts", time.process_time(), flush=True)'
SCRIPT = """
import time

from markov import {method}, PauseTandem, explore, stationary
import markov.methods.{module} as module
from markov import Polling

def told(call, seconds):
    {STARTS}
    return interruptible(call, seconds)

interruptible, module.interruptible = module.interruptible, told
chain = explore({model}).chain
stationary(chain, {method}({arguments}), proof=False)
print("ended", flush=True)
"""
LONG = [
    ("krylov", "Krylov", "drop_tolerance=1e-10, fill_factor=100.0", "Polling(stations=12)"),
    ("elimination", "GTH", "block=10**6", "PauseTandem(buffers=(223, 223), high_threshold=150)"),
]
"""Incomplete factors that drop little, and one call of a kernel: some 8 s or more."""


HANDLED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""Where the tests run in the background of a shell, processes ignore SIGINT from the start."""


def interrupted(script, seconds):
    """Return what a process that is sent SIGINT some seconds after it printed when it starts says of it.

    Told by its CPU time, whatever else the machine does: what goes on for 8 s has spent them. A call that
    sleeps for a minute would exceed the time limit.
    """
    command = [sys.executable, "-c", HANDLED + script]
    before = cpu_of_children()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        name, spent = process.stdout.readline().split()
        assert name == "starts"
        time.sleep(seconds)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=40)
    finally:
        process.kill()
    assert "ended" not in out
    assert process.returncode == -signal.SIGINT
    after = cpu_of_children() - before - float(spent)
    assert after < seconds + 4.0  # what it did would have taken longer
    return error


def cpu_of_children():
    """Return the CPU seconds of all child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(("module", "method", "arguments", "model"), LONG)
def test_a_factorization_is_interrupted(module, method, arguments, model):
    script = SCRIPT.format(
        STARTS=STARTS, module=module, method=method, arguments=arguments, model=model
    )
    assert "KeyboardInterrupt" in interrupted(script, 1.0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_a_call_that_never_looks_is_interrupted():
    """A call that waits for longer than the test, without holding the interpreter's lock."""
    script = f"import os, time, markov.computing.interruption as m; {STARTS}; "
    script += "m.interruptible(lambda: time.sleep(60), 60.0)"
    assert "KeyboardInterrupt" in interrupted(script, 0.3)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_an_order_is_interrupted():
    """An order of minimum degree takes a quarter of a minute here."""
    script = "import time; from markov import *; chain = explore(Kanban(tickets=3)).chain; "
    script += f"{STARTS}; stationary(chain, SparseLU(), proof=False)"
    assert "KeyboardInterrupt" in interrupted(script, 3.0)


def failing():
    raise MemoryError("in the call")


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_what_a_call_returns_and_raises(seconds):
    assert interruptible(lambda: 7, seconds) == 7
    with pytest.raises(MemoryError, match="in the call"):
        interruptible(failing, seconds)

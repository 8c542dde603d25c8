"""Ctrl-C ends long calls into libraries and kernels: a process is really sent SIGINT."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from markov.computing.interruption import interruptible

SCRIPT = """
from markov import {method}, PauseTandem, explore, stationary
import markov.{module} as module
from markov import Polling

def told(call, seconds):
    print("starts", flush=True)
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


def interrupted(script, line, seconds):
    """Return what a process that is sent SIGINT some seconds after it printed a line says of it."""
    command = [sys.executable, "-c", HANDLED + script]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == line
        time.sleep(seconds)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        start = time.perf_counter()
        out, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "ended" not in out
    assert process.returncode == -signal.SIGINT
    assert time.perf_counter() - start < 5.0  # to leave: what it did would have taken longer
    return error


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(("module", "method", "arguments", "model"), LONG)
def test_a_factorization_is_interrupted(module, method, arguments, model):
    script = SCRIPT.format(module=module, method=method, arguments=arguments, model=model)
    assert "KeyboardInterrupt" in interrupted(script, "starts\n", 1.0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_a_call_that_never_looks_is_interrupted():
    """A call that waits for longer than the test, without holding the interpreter's lock."""
    script = "import os, time, markov.computing.interruption as m; print(1, flush=True); "
    script += "m.interruptible(lambda: time.sleep(60), 60.0)"
    assert "KeyboardInterrupt" in interrupted(script, "1\n", 0.3)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_an_order_is_interrupted():
    """An order of minimum degree takes a quarter of a minute here."""
    script = "from markov import *; chain = explore(Kanban(tickets=3)).chain; "
    script += "print(1, flush=True); stationary(chain, SparseLU(), proof=False)"
    assert "KeyboardInterrupt" in interrupted(script, "1\n", 3.0)


def failing():
    raise MemoryError("in the call")


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_what_a_call_returns_and_raises(seconds):
    assert interruptible(lambda: 7, seconds) == 7
    with pytest.raises(MemoryError, match="in the call"):
        interruptible(failing, seconds)

"""``python -m benchmarks.peers.cell PROGRAM SIZE RTT CPU_S BYTES FILE``: one cell, by itself.

Writes what it found to FILE as JSON, and nothing when it is ended by a limit: on CPU time, which
counts from when its libraries and the matrix are loaded, or on address space beyond what it has then.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import memory
from benchmarks.peers.solvers import SOLVERS
from markov import GTH, Levels, MarkovChain, Multilevel, PauseTandem, stationary
from markov.proofs.certificates import relative_residual

BUFFERS = {10_000: (50, 100), 100_000: (160, 320), 1_000_000: (500, 1000)}
SMALL, LARGER = (10, 20), (60, 120)


def pause_chain(buffers: tuple[int, int], rtt: float) -> tuple[Any, Any, PauseTandem]:
    """Return Q of the recurrent class, the components of its states, and the model."""
    model = PauseTandem(buffers=buffers, high_threshold=buffers[1] * 3 // 4, rtt=rtt)
    chain = MarkovChain(model)
    return chain.irreducible(0), chain.components_of(chain.recurrent_classes[0]), model


def warm_up(program: str) -> None:
    """Compile: the paper's chain by the program; a larger one by all that hopflow may choose."""
    SOLVERS[program](*pause_chain(SMALL, 1.0))()
    if program.startswith("hopflow"):
        Q, _, model = pause_chain(LARGER, 1.0)
        for method in (None, GTH(), Levels(), Multilevel()):
            stationary(model, method)
            stationary(Q, method)


def main(program: str, size: str, rtt: str, seconds: str, room: str, file: str) -> None:
    """Warm up, then solve under the limits."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        warm_up(program)
        Q, *rest = pause_chain(BUFFERS[int(size)], float(rtt))
        solve = SOLVERS[program](Q, *rest)
        ctypes.CDLL(None).malloc_trim(0)  # what is free already must not be taken unseen
        limit = int(time.process_time() + float(seconds)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        most = memory("VmSize") + int(float(room))
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before, start, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
        pi = solve()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - start
        found: dict[str, Any] = {"seconds": cpu, "wall": wall, "memory": memory("VmHWM") - before}
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        found |= {"states": len(pi), "transitions": Q.nnz - len(pi)}
        found |= {"residual": relative_residual(Q, pi), "smallest": float(np.min(pi))}
    except MemoryError as error:
        found = {"failure": f"out of memory: {error}".rstrip(": ")}
    except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
        found = {"failure": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    found["date"] = dt.datetime.now(dt.UTC).date().isoformat()
    Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""``python -m benchmarks.peers.cell NAME SIZE RTT CPU_S BYTES FILE``: one cell of the table, by itself.

Writes what it found to FILE as JSON, and nothing when it is ended by a limit: on CPU time, which
counts from when its libraries and the matrix are loaded, or on address space.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.solvers import SOLVERS
from markov import GTH, Levels, MarkovChain, Multilevel, PauseTandem
from markov.certificates import relative_residual

BUFFERS = {10_000: (50, 100), 100_000: (160, 320), 1_000_000: (500, 1000)}


def pause_chain(buffers: tuple[int, int], rtt: float) -> tuple[Any, Any, PauseTandem]:
    """Return Q of the recurrent class, the components of its states, and the model."""
    model = PauseTandem(buffers=buffers, high_threshold=buffers[1] * 3 // 4, rtt=rtt)
    chain = MarkovChain(model)
    states = chain.recurrent_classes[0]
    values = model.states()
    components = {name: getattr(values, name)[states] for name in values._fields}
    return chain.irreducible(0), components, model


def main(name: str, size: str, rtt: str, seconds: str, room: str, file: str) -> None:
    """Load, compile and warm up on the paper's chain; then solve under the limits."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    small = pause_chain((10, 20), 1.0)
    if name.startswith("hopflow"):
        for method in (GTH(), Levels(), Multilevel()):
            method.solve(*small[:2])
    try:
        SOLVERS[name](*small)()
        chain = pause_chain(BUFFERS[int(size)], float(rtt))
        solve = SOLVERS[name](*chain)
        limit = int(time.process_time() + float(seconds)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (int(float(room)), resource.RLIM_INFINITY))
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before, start, cpu = _memory("VmRSS"), time.perf_counter(), time.process_time()
        pi = solve()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - start
        found = {"seconds": cpu, "wall": wall, "memory": _memory("VmHWM") - before}
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        found |= {"residual": relative_residual(chain[0], pi), "smallest": float(np.min(pi))}
    except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
        found = {"failure": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    Path(file).write_text(json.dumps(found))


def _memory(kind: str) -> int:
    """Return the resident memory now (VmRSS) or its peak (VmHWM), in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(kind))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What a benchmark ran on: processor, memory bandwidth, versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

TRIAD = 10_000_000  # numbers
PACKAGES = ("numpy", "scipy", "numba", "jax", "sympy")


@dataclass(frozen=True)
class Machine:
    """A machine and its software; ``triad`` is STREAM's on one core, bytes/s, and ``load`` the mean of a minute."""

    processor: str
    cores: int
    load: float
    triad: float
    python: str
    packages: dict[str, str]

    @property
    def slug(self) -> str:
        """The name of its file of results."""
        words = re.sub(r"\([^)]*\)|@.*|processor|cpu", " ", self.processor.lower())
        return "-".join([*re.findall(r"[a-z0-9]+", words), f"{self.cores}-cores"])

    def to_dict(self) -> dict[str, object]:
        """Return the fields by name."""
        return asdict(self)


def this_machine() -> Machine:
    """Describe this machine, with its bandwidth measured now."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return Machine(_processor(), cores or 1, load, triad(), platform.python_version(), found)


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = re.findall(r"model name\s*: (.*)", information.read_text(encoding="utf-8"))
        if names:
            return str(names[0]).strip()
    return platform.processor() or platform.machine()


def triad() -> float:
    """Return the bytes per second of a[i] = b[i] + 3 c[i], the best of five."""
    from numba import njit

    @njit
    def run(a, b, c):
        for i in range(len(a)):
            a[i] = b[i] + 3.0 * c[i]

    a, b, c = np.ones((3, TRIAD))
    run(a[:8], b[:8], c[:8])
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        run(a, b, c)
        best = min(best, time.process_time() - start)
    return 24.0 * TRIAD / best

"""Memory of this process, as Linux counts it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def memory(kind: Literal["VmRSS", "VmHWM", "VmSize"]) -> int:
    """Return the resident memory now (VmRSS), its peak (VmHWM) or the address space, in bytes.

    `resource.getrusage` has another peak: a child begins with that of the process which started it.
    """
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(kind))

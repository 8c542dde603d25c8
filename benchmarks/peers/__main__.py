"""``python -m benchmarks.peers``: the pause chain of three sizes, solved by all programs.

Each cell is a process of its own on one core, with a limit on its CPU time (it grows with the size)
and on its memory. What a program could not do is not tried again at a larger size. A cell is printed
when it is there and kept in build/peers: a later call goes on where an earlier one stopped, and
``make clean`` forgets. All of it takes about an hour on an idle core, most of that for what fails. The
table goes to benchmarks/results/peers.md, what it is made of to peers.json beside it.
"""

from __future__ import annotations

import json
import os
import platform
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers.cell import BUFFERS
from benchmarks.peers.runs import CPU_LIMITS, MEMORY_LIMIT, REPEATS, SHORT, find
from benchmarks.peers.solvers import PACKAGES, SOLVERS
from benchmarks.peers.table import HEAD, line, power, verdict

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def main() -> None:
    """Run all cells, print each, write the table."""
    text, chains = [], []
    given_up: dict[str, tuple[int, str]] = {}
    for size, buffers in BUFFERS.items():
        for rtt in (1.0, buffers[0] / 10.0):
            title = f"{power(size)} recurrent states, RTT {rtt:g} s"
            lines, cells = [f"## {title}", "", *HEAD], {}
            print("\n".join(lines), flush=True)
            for program in SOLVERS:
                before, why = given_up.get(program, (size, ""))
                found = {"failure": why} if before < size else find(program, size, rtt)
                if "seconds" not in found and program not in given_up:
                    given_up[program] = size, f"not tried: failed at {title}"
                cells[program] = found
                lines.append(line(program, found, next(iter(cells.values()))))
                print(lines[-1], flush=True)
            lines += ["", verdict(cells), ""]
            print("\n".join(lines[-2:]), flush=True)
            text += lines
            chains.append({"size": size, "buffers": buffers, "rtt": rtt, "cells": cells})
    origin = _origin(chains)
    RESULTS.mkdir(exist_ok=True)
    data = json.dumps({**origin, "chains": chains}, indent=1)
    (RESULTS / "peers.json").write_text(f"{data}\n", encoding="utf-8")
    table = "\n".join([_head(origin), "", *text])
    (RESULTS / "peers.md").write_text(table, encoding="utf-8")
    print(f"written to {RESULTS / 'peers.md'}")


def _origin(chains: list[dict[str, Any]]) -> dict[str, Any]:
    """Return where, when and by what versions the cells were found."""
    names = [row for row in _lines("/proc/cpuinfo") if row.startswith("model name")]
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = ("numpy", "scipy", "numba", *PACKAGES)
    dates = sorted({c["date"] for chain in chains for c in chain["cells"].values() if "date" in c})
    return {
        "machine": names[0].split(": ")[1] if names else platform.machine(),
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()}, Python {platform.python_version()}",
        "dates": dates,
        "versions": {"hopflow": about["version"], **{p: version(p) for p in packages}},
    }


def _lines(file: str) -> list[str]:
    return Path(file).read_text(encoding="utf-8").splitlines() if Path(file).exists() else []


def _head(origin: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in origin["versions"].items())
    limits = ", ".join(f"{limit} s at {power(size)}" for size, limit in CPU_LIMITS.items())
    return f"""\
{" to ".join(dict.fromkeys([origin["dates"][0], origin["dates"][-1]]))}, {origin["machine"]}, \
{origin["cores"]} virtual cores, {origin["memory"] / 2**30:.0f} GiB, {origin["system"]}; {versions}.
Every program on one core, in a process of its own, under limits: CPU time {limits} states; memory
{MEMORY_LIMIT / 1e9:.0f} GB. What takes less than {SHORT:g} s runs {REPEATS} times, and the least CPU time counts."""


if __name__ == "__main__":
    main()

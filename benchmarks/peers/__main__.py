"""``python -m benchmarks.peers``: the pause chain of three sizes, solved by everyone.

Each cell is a process of its own on one core, with a limit on its CPU time (it grows with the size)
and on its memory. What a program could not do is not tried again at a larger size, so that all takes
a quarter of an hour on an idle core. A cell is printed when it is there and kept in build/peers: a
later call goes on where an earlier one stopped, and ``make clean`` forgets. The table is written to
benchmarks/results/peers.md.
"""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.peers.cell import BUFFERS
from benchmarks.peers.solvers import PACKAGES, SOLVERS

LIMITS = {10_000: 30, 100_000: 60, 1_000_000: 200}  # CPU seconds
PATIENCE = 30  # times that: where others use the machine
MEMORY = 12e9
CONVERGED = 1e-10
ONE_CORE = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
RESULT = Path(__file__).parents[1] / "results" / "peers.md"
KEPT = Path(__file__).parents[2] / "build" / "peers"


def main() -> None:
    """Run all cells, print each, write the table."""
    text = [_head()]
    for size, buffers in BUFFERS.items():
        for rtt in (1.0, buffers[0] / 10.0):
            text += _table(size, rtt)
    RESULT.write_text("\n".join(text) + "\n", encoding="utf-8")
    print(f"written to {RESULT}")


_given_up: dict[str, str] = {}


def _table(size: int, rtt: float) -> list[str]:
    """Return one chain's lines, the first program's time being the unit."""
    title = f"### {_power(size)} recurrent states, RTT {rtt:g} s"
    columns = "| program | CPU time | ratio | memory | ratio | residual | smallest entry | |"
    lines = ["", title, "", columns, "|:--|--:|--:|--:|--:|--:|--:|:--|"]
    print("\n".join(lines[1:]), flush=True)
    unit: dict[str, Any] = {}
    for name in SOLVERS:
        if name in _given_up:
            found = {"failure": _given_up[name]}
        else:
            found = _cell(name, size, rtt)
            if "seconds" not in found:
                said = f"{_power(size)} states, RTT {rtt:g} s: {found['failure']}"
                _given_up[name] = f"not tried, after {said}"
        unit = unit or found
        line = _line(name, found, unit)
        print(line, flush=True)
        lines.append(line)
    return lines


def _power(number: float) -> str:
    return f"{number:.0e}".replace("e+0", "e")


def _line(name: str, found: dict[str, Any], unit: dict[str, Any]) -> str:
    if "seconds" not in found:
        return f"| {name} | | | | | | | {found['failure']} |"
    said = []
    if not found["residual"] <= CONVERGED:
        said.append("not converged" if math.isfinite(found["residual"]) else "not finite")
    if found["smallest"] < 0:
        said.append("negative entries")
    ratios = found["seconds"] / unit["seconds"], found["memory"] / unit["memory"]
    return (
        f"| {name} | {found['seconds']:.3g} s | {ratios[0]:.2g} | {found['memory'] / 1e6:.0f} MB "
        f"| {ratios[1]:.2g} | {found['residual']:.0e} | {found['smallest']:.0e} | {', '.join(said)} |"
    )


def _cell(name: str, size: int, rtt: float) -> dict[str, Any]:
    """Return what a process of its own finds, or what one has found before."""
    limit, file = LIMITS[size], KEPT / f"{name}-{size}-{rtt:g}.json".replace(" ", "-")
    KEPT.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        cell = [name, str(size), str(rtt), str(limit), str(MEMORY), str(file)]
        command = [sys.executable, "-m", "benchmarks.peers.cell", *cell]
        wait, environment = PATIENCE * limit, {**os.environ, **ONE_CORE}
        try:
            ended = subprocess.run(
                command, check=False, env=environment, capture_output=True, timeout=wait
            )
        except subprocess.TimeoutExpired:
            return {"failure": f"no answer within {wait} s"}
        if not file.exists():
            said = ended.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
            why = f"ended with {ended.returncode}, saying {said[-1][:120]}"
            if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
                why = f"no answer within {limit} s of CPU time"
            file.write_text(json.dumps({"failure": why}))
    return json.loads(file.read_text())


def _head() -> str:
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            machine = f"{line.split(': ')[1]}, {os.cpu_count()} virtual cores"
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{package} {version(package)}" for package in ("scipy", *PACKAGES))
    limits = ", ".join(f"{limit} s at {_power(size)}" for size, limit in LIMITS.items())
    return f"""\
Machine: {machine}, {memory:.0f} GiB; every program on one core, in a process of its own. {versions}.

CPU time from the generator in each program's own form to $\\pi$, compiled before; memory is the peak
of the process beyond what it held before. Both beside their ratio to the first line. The residual is
$\\lVert\\pi Q\\rVert_1 / \\lVert\\pi |Q|\\rVert_1$. Limits: CPU time {limits}
states, memory {MEMORY / 1e9:.0f} GB; what a program could not do is not tried at a larger size.
One line of hopflow's goes from the rules to $\\pi$ with its error bound, matrix and structure included."""


if __name__ == "__main__":
    main()

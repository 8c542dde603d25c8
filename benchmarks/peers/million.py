"""``python -m benchmarks.peers.million [PROGRAM ...]``: a million states of the pause chain, in one run.

`MatrixFree` from the rules, and the others from the matrix, which is made before and not timed. Each program
in a process of its own on one core, one after the other in `ROUNDS` rounds (one for those that take more than
`SHORT` seconds): the median of the CPU seconds, the peak of the process above what it held before, and how far
pi is from that of `MatrixFree`: the largest difference relative to entries above 1e-9, and in the 1-norm. PETSc's MUMPS runs by the interpreter in ``PETSC_PYTHON`` (Debian: ``/usr/bin/python3`` with
``PYTHONPATH`` as in tests/markov/test_machine_scripts.py). The table goes to benchmarks/results/peers_million.md.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.memory import memory

HERE = Path(__file__)
MATRIX = HERE.parents[2] / "build" / "peers" / "million.npz"
OURS, MUMPS = "MatrixFree", "MUMPS by PETSc"
MODEL = {"buffers": (500, 1000), "high_threshold": 750, "rtt": 50.0}
SMALL = {"buffers": (500, 1001), "high_threshold": 750, "rtt": 50.0}  # as large: the same kernels
LIMIT = 600.0  # CPU seconds
ROUNDS, SHORT = 3, 20.0
FASTER, SMALLER = 25.0, 20.0

Solve = Callable[[], np.ndarray]


def matrix_free(proof: bool) -> Solve:
    """Return a solution from the rules."""
    from markov import MatrixFree, PauseTandem, stationary

    solver = MatrixFree(threads=1)
    stationary(PauseTandem(**SMALL), solver, proof=proof)  # type: ignore[arg-type]  # it compiles
    return lambda: stationary(PauseTandem(**MODEL), solver, proof=proof).pi  # type: ignore[arg-type]


def multilevel(Q: sp.csr_matrix) -> Solve:
    """Return `Multilevel` from the matrix alone."""
    from markov import Multilevel, PauseTandem, generator, stationary

    stationary(generator(PauseTandem()), Multilevel(), proof=False)
    return lambda: stationary(Q, Multilevel(), proof=False).pi


def mumps(Q: sp.csr_matrix) -> Solve:
    """Return PETSc's interface to MUMPS, LU."""
    from petsc4py import PETSc

    right, rows = -Q[0].toarray().ravel()[1:], Q.T.tocsr()[1:, 1:].tocsr()
    parts = rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data
    matrix = PETSc.Mat().createAIJ(size=rows.shape, csr=parts)
    b, x = matrix.createVecs()
    b.setArray(right)

    def solve() -> np.ndarray:
        solver = PETSc.KSP().create()
        solver.setOperators(matrix)
        solver.setType("preonly")
        solver.getPC().setType("lu")
        solver.getPC().setFactorSolverType("mumps")
        solver.solve(b, x)
        pi = np.insert(x.getArray(), 0, 1.0)
        return pi / pi.sum()

    return solve


def peer(name: str, Q: sp.csr_matrix) -> Solve:
    """Return one of the solvers of `benchmarks.peers.solvers`."""
    from benchmarks.peers import solvers

    return getattr(solvers, name)(Q, {}, None)


PROGRAMS: dict[str, Callable[[sp.csr_matrix], Solve]] = {
    OURS: lambda _: matrix_free(proof=False),
    "MatrixFree with its bound": lambda _: matrix_free(proof=True),
    "Multilevel, from the matrix": multilevel,
    "MKL PARDISO": lambda Q: peer("pardiso", Q),
    MUMPS: mumps,
    "SuperLU by SciPy": lambda Q: peer("spsolve", Q),
    "PyAMG (AIR, GMRES)": lambda Q: peer("pyamg", Q),
    "GMRES + ILU by SciPy": lambda Q: peer("gmres_ilu", Q),
}


def cell(name: str) -> dict[str, Any]:
    """Return the figures of one program, measured in this process."""
    Q = sp.load_npz(MATRIX).tocsr()
    try:
        solve = PROGRAMS[name](Q)
        limit = int(time.process_time() + LIMIT)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
        before, start = memory("VmRSS"), time.process_time()
        pi = solve()
        seconds = time.process_time() - start
    except (ImportError, MemoryError) as error:
        return {"program": name, "failure": f"{type(error).__name__}: {error}"}
    found = {"program": name, "seconds": seconds, "memory": memory("VmHWM") - before}
    if len(pi) != Q.shape[0]:
        pi = pi[pi > 0.0]
    off = np.abs(pi @ Q).sum() / (pi @ np.abs(Q.diagonal())) / 2.0
    if name == OURS:
        np.save(MATRIX.with_name("pi.npy"), pi)
    ours = np.load(MATRIX.with_name("pi.npy"))
    large = ours > 1e-9
    return found | {
        "states": len(pi),
        "residual": float(off),
        "smallest": float(pi.min()),
        "relative": float(np.abs(pi[large] / ours[large] - 1.0).max()),
        "distance": float(np.abs(pi - ours).sum()),
    }


def run(name: str) -> dict[str, Any]:
    """Return the figures of one program, measured in a process of its own."""
    python = os.environ.get("PETSC_PYTHON", "/usr/bin/python3") if name == MUMPS else ""
    own = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}
    if python:
        places = Path("/usr/lib/petscdir").glob("*/*-real/lib/python3/dist-packages")
        own["PYTHONPATH"] = os.pathsep.join([str(HERE.parents[2]), *map(str, places)])
    command = [python or sys.executable, "-m", "benchmarks.peers.million", "--only", name]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.splitlines() or [f"signal {-done.returncode}"])[-1]
        return {"program": name, "failure": said[:120]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(cells: list[dict[str, Any]]) -> str:
    """Return the cells as a table in Markdown, with ratios to the first."""
    unit = cells[0]
    head = ["program", "CPU s", "ratio", "memory, MB", "ratio", "residual", "smallest entry"]
    head += ["largest relative difference", "difference in the 1-norm"]
    lines = [f"| {' | '.join(head)} |", "|:--|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for c in cells:
        if "failure" in c:
            lines.append(f"| {c['program']} | {c['failure']} | | | | | | | |")
            continue
        lines.append(
            f"| {c['program']} | {c['seconds']:.2f} | {c['seconds'] / unit['seconds']:.1f} | "
            f"{c['memory'] / 1e6:.0f} | {c['memory'] / unit['memory']:.1f} | {c['residual']:.0e} | "
            f"{c['smallest']:.0e} | {c['relative']:.0e} | {c['distance']:.0e} |"
        )
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    """Make the matrix, run the programs, and write the table after each."""
    from benchmarks.records import RESULTS
    from markov import MarkovChain, PauseTandem

    MATRIX.parent.mkdir(parents=True, exist_ok=True)
    sp.save_npz(MATRIX, MarkovChain(PauseTandem(**MODEL)).irreducible(0), compressed=False)  # type: ignore[arg-type]
    cells: dict[str, list[dict[str, Any]]] = {name: [] for name in names or PROGRAMS}
    for turn in range(ROUNDS):
        for name, found in cells.items():
            if turn == 0 or found[0].get("seconds", LIMIT) < SHORT:
                found.append(run(name))
                print(turn + 1, name, found[-1].get("seconds", found[-1].get("failure")), flush=True)
    rows = [{**found[0], **_median(found)} for found in cells.values()]
    (RESULTS / "peers_million.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))


def _median(found: list[dict[str, Any]]) -> dict[str, float]:
    """Return the median of the CPU seconds of the rounds, if all came to an end."""
    times = [cell["seconds"] for cell in found if "seconds" in cell]
    return {"seconds": statistics.median(times)} if len(times) == len(found) else {}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(cell(sys.argv[2])))
    else:
        main(sys.argv[1:])

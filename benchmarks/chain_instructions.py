"""Instructions that the solution of some chains takes, counted by Valgrind: the same at any load.

As `benchmarks.instructions`: kernels for x86-64-v3, instrumentation on during one solution only, the second one, when
all is compiled and loaded. Beside the count stands a hash of the answer, its bound and its cycles, so that two states of
the code are compared in both ways: ``python -m benchmarks.chain_instructions [CASE ...]`` in each of them.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.instructions import START, STOP, ask, callgrind
from markov import (
    Cluster,
    Kanban,
    Krylov,
    MatrixFree,
    Multilevel,
    PauseChain,
    PauseTandem,
    explore,
    passage,
    read_prism,
    stationary,
)
from markov.proofs.checker import check

MEDIUM = PauseTandem(buffers=(50, 100), high_threshold=80, low_threshold=60)
LARGE = PauseTandem(buffers=(150, 220), high_threshold=180, low_threshold=90)
STATIONS = "\n".join(
    f"module station{n}\n x{n} : [0..9] init 0;\n [go{n}] x{n} < 9 -> 1 : (x{n}'=x{n}+1);\n"
    f" [go{n + 1}] x{n} > 0 -> 2 : (x{n}'=x{n}-1);\nendmodule"
    for n in range(4)
)
"""Four queues in series, in PRISM's language."""


def searched() -> Any:
    """Return the generator of a model in PRISM's language, 10^4 states."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stations.prism"
        path.write_text(f"ctmc\n{STATIONS}")
        return SimpleNamespace(pi=read_prism(path).chain.Q.data)


def kanban(tickets: int) -> str:
    """Return the Kanban system of four cells (G. Ciardo, M. Tilgner, ICASE 96-35, 1996) in PRISM's language."""
    enter = {1: "in", 2: "split", 3: "split", 4: "join"}
    leave = {1: "split", 2: "join", 3: "join", 4: "out"}
    cells = [
        f"module cell{n}\n w{n} : [0..{tickets}]; x{n} : [0..{tickets}]; y{n} : [0..{tickets}];\n"
        f" [{enter[n]}] w{n} + x{n} + y{n} < {tickets} -> {1.0 if n != 3 else 0.4} : (w{n}'=w{n}+1);\n"
        f" [] w{n} > 0 & x{n} < {tickets} -> 0.36 : (w{n}'=w{n}-1) & (x{n}'=x{n}+1);\n"
        f" [] x{n} > 0 & w{n} < {tickets} -> 0.3 : (x{n}'=x{n}-1) & (w{n}'=w{n}+1);\n"
        f" [] w{n} > 0 & y{n} < {tickets} -> 0.84 : (w{n}'=w{n}-1) & (y{n}'=y{n}+1);\n"
        f" [{leave[n]}] y{n} > 0 -> {1.0 if n != 3 else 0.5} : (y{n}'=y{n}-1);\nendmodule"
        for n in enter
    ]
    return "ctmc\n" + "\n".join(cells)


def searched_kanban() -> Any:
    """Return the generator of a model in PRISM's language, 58,400 states."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kanban.prism"
        path.write_text(kanban(3))
        return SimpleNamespace(pi=read_prism(path).state_space.Q.data)


def certified() -> Any:
    """Write the certificate of a chain of 4,600 states, and check it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kanban.cert"
        stationary(explore(Kanban(tickets=2))).certificate(path)
        return SimpleNamespace(error_bound=float(check(path).bound))


def disks(s: Any, q: Any) -> Any:  # noqa: ARG001
    """Rules of two disks that fail once in 1e5 hours and are repaired within two minutes."""
    if s.up > 0:
        yield s._replace(up=s.up - 1), 1e-5 * s.up
    if s.up == 1:
        yield s._replace(up=2), 30.0


CASES: dict[str, Callable[[], Any]] = {
    "states of a file": searched,
    "Kanban of a file": searched_kanban,
    "states reached, compiled": lambda: SimpleNamespace(pi=explore(Kanban(tickets=2), compiled=True).chain.Q.data),
    "multilevel": lambda: stationary(MEDIUM, Multilevel()),
    "multilevel, by flows": lambda: stationary(MEDIUM, Multilevel(geometric=False)),
    "multilevel, proved tightly": lambda: stationary(MEDIUM, Multilevel(), proof="tight"),
    "krylov": lambda: stationary(MEDIUM, Krylov()),
    "grid, small": lambda: stationary(MEDIUM, MatrixFree()),
    "grid": lambda: stationary(LARGE, MatrixFree()),
    "grid, three hops": lambda: stationary(PauseChain(hops=2, buffers=(6, 60, 90), high_threshold=60), MatrixFree()),
    "certificate, written and checked": certified,
    "reliability over a long time": lambda: SimpleNamespace(
        pi=passage(explore(disks, start={"up": 2}), to=lambda s: s.up == 0).distribution([1e11]).cdf
    ),
    "grid, rates by counts": lambda: stationary(Cluster(workstations=24), MatrixFree()),
}
"""What is solved, by name."""
NUMBERS = ("pi", "residual", "error_bound", "iterations")
"""Attributes of an answer that are hashed."""


def digest(answer: Any, names: tuple[str, ...] = NUMBERS) -> str:
    """Return a hash of the numbers of an answer: every bit of them counts."""
    found = [np.asarray(getattr(answer, name)).tobytes() for name in names if hasattr(answer, name)]
    if not found:
        raise ValueError(f"answer = {answer!r}: has no numbers of a known name")
    return hashlib.sha256(b"".join(found)).hexdigest()[:12]


def run_counted(solve: Callable[[], Any], names: tuple[str, ...] = NUMBERS) -> str:
    """Solve twice, the second time counted; return the hash of the answer."""
    solve()
    ask(START)
    answer = solve()
    ask(STOP)
    return digest(answer, names)


def count(case: str, module: str = "benchmarks.chain_instructions") -> tuple[int, str]:
    """Return the instructions of a module's case and the hash of its answer; FileNotFoundError without Valgrind."""
    words, (totals,) = callgrind(module, ["--one", case], caches=False)
    return totals["Ir"], words[-1]


def show(cases: list[str], module: str) -> None:
    """Print the instructions of a module's cases, and the hashes of their answers."""
    print("| case | million instructions | answer |\n|---|--:|---|")
    for case in tqdm(cases, desc="cases", leave=False):
        instructions, answer = count(case, module)
        print(f"| {case} | {instructions / 1e6:.1f} | {answer} |", flush=True)


def main(
    cases: Annotated[list[str] | None, typer.Argument(help=" or ".join(CASES))] = None,
    one: Annotated[str, typer.Option(help="Solve this case in this process, uncounted.")] = "",
) -> None:
    """Count the instructions that the solution of some chains takes."""
    if one:
        print(run_counted(CASES[one]))
        return
    show(cases or list(CASES), "benchmarks.chain_instructions")


if __name__ == "__main__":
    typer.run(main)

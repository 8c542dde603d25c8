"""``python -m benchmarks.large_models [NAME ...]``: other models of about a million states and more.

Pause tandems with many TCP states, a chain of three hops, and PRISM's models, from rules and, with
``HOPFLOW_SUITES``, from the files of the comparison of 2023 (QComp). Each by the default method and by
`MatrixFree`, in a process of its own, which builds and solves it twice: the first time compiles, or loads what
is compiled. CPU seconds from rules or file to states and rates, and to pi with its bound.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machines import triad
from benchmarks.outside.rows import VARIABLE
from benchmarks.records import measure_cell
from markov import (
    Cluster,
    CoxTandem,
    Kanban,
    MatrixFree,
    PauseChain,
    PauseTandem,
    Polling,
    explore,
    read_prism,
    stationary,
)

METHODS = ("default", "MatrixFree")
SEARCHED = (Kanban, Polling)
"""Models whose states are found from the start by default: most of the product space is never entered."""


def tandem(levels: int, first: int, second: int) -> PauseTandem:
    """Return a pause tandem with so many TCP states, rates from 25 down to 1 packets/s."""
    rates = tuple(25.0 - 24.0 * n / (levels - 1) for n in range(levels))
    high = 3 * second // 4
    return PauseTandem(buffers=(first, second), high_threshold=high, arrival_rates=rates)


def chain(size: int) -> PauseChain:
    """Return three hops with buffers of so many packets."""
    return PauseChain(hops=3, buffers=(size,) * 4, high_threshold=3 * size // 4)


def from_file(folder: str, name: str, **constants: int) -> Any:
    """Return a model of the suite."""
    root = Path(os.environ[VARIABLE]) / "qcomp" / "benchmarks" / "ctmc"
    return read_prism(root / folder / name, constants=constants)


CASES: dict[str, Callable[[], Any]] = {
    "pause tandem, N = 3": lambda: tandem(3, 408, 816),
    "pause tandem, N = 8": lambda: tandem(8, 250, 500),
    "pause tandem, N = 32": lambda: tandem(32, 125, 250),
    "pause tandem, N = 128": lambda: tandem(128, 62, 124),
    "PauseChain(hops=3), B = 25": lambda: chain(25),
    "PauseChain(hops=3), B = 46": lambda: chain(46),
    "tandem": lambda: CoxTandem(capacity=707),
    "cluster": lambda: Cluster(workstations=168),
    "cluster, 372 each": lambda: Cluster(workstations=372),
    "kanban": lambda: Kanban(tickets=5),
    "polling": lambda: Polling(stations=16),
    "tandem, file": lambda: from_file("tandem", "tandem.prism", c=707),
    "cluster, file": lambda: from_file("cluster", "cluster.prism", N=168),
    "kanban, file": lambda: from_file("kanban", "kanban.prism", t=5),
    "polling, file": lambda: from_file("polling", "polling.16.prism"),
    "fms, file": lambda: from_file("fms", "fms.prism", n=7),
}


def solved(model: Any, method: str) -> dict[str, Any]:
    """Return CPU seconds and figures of one solution; of a refusal the reason."""
    start = time.process_time()
    try:
        if method == "MatrixFree":
            built, answer = 0.0, stationary(model, MatrixFree(threads=1), on_failure="return")
        else:
            if isinstance(model, SEARCHED):
                model = explore(model)
            own = getattr(model, "chain", None)
            built = time.process_time() - start if own is not None else 0.0
            answer = stationary(model, on_failure="return")
    except ValueError as error:
        return {"refused": str(error)}
    return {
        "states": answer.chain.size,
        "used": type(answer.method).__name__,
        "built": built,
        "seconds": time.process_time() - start,
        "memory": answer.memory,
        "cycles": answer.iterations,
        "residual": answer.residual,
        "error_bound": answer.error_bound,
        "status": str(answer.status),
    }


def cell(name: str, method: str) -> dict[str, Any]:
    """Return the figures of one model and method, measured in this process."""
    for _ in range(2):
        found = solved(CASES[name](), method)
    return {"model": name, "method": method, **found, "triad": triad()}


def table(cells: list[dict[str, Any]]) -> str:
    """Return the cells as a table in Markdown."""
    columns = ["model", "states", "method", "us per state", "of them built", "bytes per state"]
    lines = [f"| {' | '.join([*columns, 'cycles', 'error bound'])} |", f"|{'---|' * 8}"]
    for c in cells:
        if "refused" in c:
            lines.append(f"| {c['model']} | | `{c['method']}` | refused | | | | |")
            continue
        n = c["states"]
        built = f"{1e6 * c['built'] / n:.2f}" if c["built"] else ""
        lines.append(
            f"| {c['model']} | {n:,} | `{c['used']}` | {1e6 * c['seconds'] / n:.2f} | {built} | "
            f"{c['memory'] / n:.0f} | {c['cycles']} | {c['error_bound']:.1e} |"
        )
    return "\n".join(lines) + "\n"


def merged(held: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return cells in the order of the cases, those found in place of the ones held."""
    cells = {(c["model"], c["method"]): c for c in [*held, *found]}
    every = [(name, method) for name in CASES for method in METHODS]
    return [cells[key] for key in every if key in cells]


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Models; all by default.")] = None,
    only: Annotated[str | None, typer.Option(help="One cell: model;method.")] = None,
) -> None:
    """Measure every model by both methods, and write the table after each."""
    if only is not None:
        sys.stdout.write("\n" + json.dumps(cell(*only.split(";"))))
        return
    for name in names or CASES:
        if name not in CASES:
            raise typer.BadParameter(f"{name!r}: must be one of {', '.join(CASES)}")
        for method in METHODS[: 1 if name.endswith("file") else None]:
            only = f"{name};{method}"
            measure_cell("benchmarks.large_models", only, "large_models", merged, table)


if __name__ == "__main__":
    typer.run(main)

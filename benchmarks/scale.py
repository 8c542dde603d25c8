"""``python -m benchmarks.scale``: the pause chain from 1e4 states on, with and without a matrix.

Each cell is a process of its own. It solves the chain once to load what is compiled, then without and
with the bound on the error, and writes CPU seconds (of all threads), seconds by the clock, bytes that the
solution held by the size of its arrays, and the process's peak. Beside them the bandwidth of one core by the
STREAM triad, a[i] = b[i] + 3 c[i], and a Gauss-Seidel sweep of the finest grid, which reads and writes 16 bytes per
state, as a share of it, measured in the same process. ``--sweep 1e7`` measures that alone. The tables go to
``benchmarks/results/scale.json`` and ``scale.md`` after each cell; cells not measured again stay.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.machines import triad
from benchmarks.memory import memory
from benchmarks.records import keep, measure_cell
from markov import MatrixFree, Multilevel, PauseTandem, stationary
from markov.multigrid.levels import MIN_UNROLLED_STATES, Finest, Team
from markov.multigrid.model import GridModel

SIZES = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
MOST_WITH_MATRIX = 1e6  # 0.7 kilobytes per state
THREADED = 1e6  # states from which on it is solved by two threads as well
TWICE = 1e7  # states up to which the chain is solved without the bound as well
SWEPT = 16.0  # bytes per state that a sweep reads and writes


def model_of(states: float) -> PauseTandem:
    """Return the pause chain with about so many recurrent states: B1 = B2 / 2, T = 3/4 B2."""
    second = round(np.sqrt(states) / 4.0) * 4
    return PauseTandem(buffers=(second // 2, second), high_threshold=3 * second // 4)


def sweep(states: float, threads: int = 1) -> dict[str, float]:
    """Return the seconds of a forward sweep of the finest grid, the best of five, and its share of the triad.

    Seconds are of CPU time for one thread, by the clock for several.
    """
    layout = GridModel(model_of(states)).layout
    grid, rates = layout.into
    x = np.full(grid.size, 1.0 / grid.size)
    clock = time.process_time if threads == 1 else time.perf_counter
    best = np.inf
    with Team(threads) as team:
        unroll = grid.size >= MIN_UNROLLED_STATES
        finest = Finest(grid, rates, layout.combinations >= 0, x, unroll=unroll, team=team)
        for _ in range(6):  # the first one loads what is compiled
            start = clock()
            finest.forward()
            best = min(best, clock() - start)
    bandwidth = triad()
    return {
        "sweep_ns_per_state": 1e9 * best / grid.size,
        "sweep_share_of_triad": SWEPT * grid.size / best / bandwidth,
        "triad_bytes_per_second": bandwidth,
    }


def cell(states: float, method: str, checkpoint: Path | None = None, threads: int = 1) -> dict[str, Any]:
    """Return the figures of one size and one method, measured in this process."""
    model = model_of(states)
    solver = MatrixFree(threads=threads) if method == "MatrixFree" else Multilevel()
    swept = sweep(states, threads) if method == "MatrixFree" else {}
    bandwidth = swept.get("triad_bytes_per_second") or triad()
    stationary(model_of(min(states, 1.1e6)), solver)
    if checkpoint is not None:
        solver = MatrixFree(checkpoint=checkpoint, threads=threads)
    seconds, elapsed = {}, {}
    for proof in (False, True) if states <= TWICE else (True,):
        start, clock = time.process_time(), time.perf_counter()
        answer = stationary(model, solver, proof=proof)
        seconds[proof] = time.process_time() - start
        elapsed[proof] = time.perf_counter() - clock
    n = answer.chain.size
    return {
        "states": n,
        "method": method,
        "threads": threads,
        "us_per_state": 1e6 * seconds.get(False, np.nan) / n,
        "us_per_state_with_bound": 1e6 * seconds[True] / n,
        "bytes_per_state": answer.memory / n,
        "peak_bytes_per_state": memory("VmHWM") / n,
        "us_by_the_clock": 1e6 * elapsed.get(False, np.nan) / n,
        "us_by_the_clock_with_bound": 1e6 * elapsed[True] / n,
        "throughput": float(answer.throughput),
        "cycles": answer.iterations,
        "residual": answer.residual,
        "error_bound": answer.error_bound,
        **swept,
        "triad_bytes_per_second": bandwidth,
    }


def merged(held: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return cells in order of size, those found in place of the ones held of the same size and method."""
    cells = {(c["states"], c["method"], c.get("threads", 1)): c for c in [*held, *found]}
    order = sorted(cells, key=lambda key: (key[0], key[1] == "MatrixFree", key[2]))
    return [cells[key] for key in order]


def table(cells: list[dict[str, Any]]) -> str:
    """Return the cells as a table in Markdown."""
    columns = ["states", "method", "threads", "CPU us per state", "with the bound"]
    columns += ["with the bound by the clock", "bytes per state"]
    columns += ["peak of the process, MB", "cycles", "error bound", "triad, GB/s"]
    columns += ["fine sweep, ns per state", "of the triad"]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for c in cells:
        alone = "" if np.isnan(c["us_per_state"]) else f"{c['us_per_state']:.2f}"
        clock = c.get("us_by_the_clock_with_bound")
        lines.append(
            f"| {c['states']:,} | `{c['method']}` | {c.get('threads', 1)} | {alone} | "
            f"{c['us_per_state_with_bound']:.2f} | {'' if clock is None else f'{clock:.2f}'} | "
            f"{c['bytes_per_state']:.0f} | {c['peak_bytes_per_state'] * c['states'] / 1e6:.0f} | {c['cycles']} | "
            f"{c['error_bound']:.1e} | {c['triad_bytes_per_second'] / 1e9:.1f} | "
            f"{_number(c, 'sweep_ns_per_state', '.2f')} | {_number(c, 'sweep_share_of_triad', '.0%')} |"
        )
    return "\n".join(lines) + "\n"


def _number(cell: dict[str, Any], name: str, form: str) -> str:
    """Return a number of a cell; nothing where it was not measured."""
    return format(cell[name], form) if name in cell else ""


def main(
    largest: Annotated[
        float,
        typer.Option(help="Largest number of states, up to 1e9: 18 GiB, a quarter of an hour."),
    ] = 1e8,
    only: Annotated[str | None, typer.Option(help="One cell: states,method[,threads].")] = None,
    save: Annotated[bool, typer.Option(help="Write the one cell into the tables, too.")] = False,
    checkpoint: Annotated[Path | None, typer.Option(help="File of a cell to go on from.")] = None,
    swept: Annotated[
        float | None,
        typer.Option("--sweep", help="States: a fine sweep alone, by one thread and by two."),
    ] = None,
) -> None:
    """Measure every size up to the largest, and write the tables after each."""
    if swept is not None:
        for threads in (1, 2):
            sys.stdout.write(json.dumps({"threads": threads, **sweep(swept, threads)}) + "\n")
        return
    if only is not None:
        states, method, *threads = only.split(",")
        found = cell(float(states), method, checkpoint, *map(int, threads))
        if save:
            keep([found], "scale", merged, table)
        sys.stdout.write(json.dumps(found))
        return
    for size in SIZES:
        for method in ("Multilevel", "MatrixFree"):
            if size > largest or (method == "Multilevel" and size > MOST_WITH_MATRIX):
                continue
            for threads in (1, 2) if method == "MatrixFree" and size >= THREADED else (1,):
                only = f"{size},{method},{threads}"
                measure_cell("benchmarks.scale", only, "scale", merged, table)


if __name__ == "__main__":
    typer.run(main)

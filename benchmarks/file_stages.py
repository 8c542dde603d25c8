"""What the generator of a file's chain takes, stage by stage, per transition: CPU time, instructions, cache misses.

``python -m benchmarks.file_stages [MODEL ...]``: the Kanban system in PRISM's language with 2 to 5 tickets, and the files of
the benchmark set where they are at hand (`benchmarks.time_and_passage`). CPU times are the minimum of several runs.
``--counted`` counts instructions and cache misses with Callgrind instead, as `benchmarks.instructions`: the same at any load.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.budgets import DUMP
from benchmarks.chain_instructions import kanban
from benchmarks.instructions import START, STOP, ask, callgrind
from benchmarks.outside.rows import suites
from benchmarks.time_and_passage import FILES
from markov import read_prism
from markov.files.search import TableSearch
from markov.files.tables import tabulate
from markov.files.transitions import moves_of

RUNS = 5
KANBAN = {f"kanban {tickets}": tickets for tickets in (2, 3, 4, 5)}
STAGES = ("file read", "tables", "states found", "rows written", "from file to generator", "values")


class Stages:
    """The stages of one model, each with what it needs from those before it.

    Parameters
    ----------
    path, constants
        The file.
    """

    def __init__(self, path: Path, constants: dict[str, int]) -> None:
        self.path, self.constants = path, constants
        self.found: Any = None

    def read(self) -> None:
        """Read the file and give its constants values."""
        self.model = read_prism(self.path, constants=self.constants)

    def tabulate(self) -> None:
        """Tabulate the transitions, over blocks of variables where the product space is large."""
        bound = self.model.instance
        made = tabulate(moves_of(bound), bound, ())
        if made is None:
            raise ValueError(f"model = {self.path.name!r}: must have commands that are tabulated")
        starts = np.array([[r.start] for r in bound.ranges])
        self.search = TableSearch(made, bound.numbers(starts), 0)

    def find(self) -> None:
        """Find the states."""
        self.search.run(lambda *_: None)

    def write(self) -> None:
        """Write the rows of the generator."""
        self.found = self.search.assemble()

    def whole(self) -> None:
        """Do all of that, as users do."""
        self.state_space = read_prism(self.path, constants=self.constants).state_space

    def values(self) -> None:
        """Compute the values of all variables, which a `MarkovChain` has."""
        self.found = self.state_space.instance.codes(self.state_space.batch.states)

    @property
    def steps(self) -> list[Callable[[], None]]:
        """In the order of `STAGES`."""
        return [self.read, self.tabulate, self.find, self.write, self.whole, self.values]

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of states and transitions."""
        Q = self.state_space.Q
        return Q.shape[0], Q.nnz - Q.shape[0]


def stages_of(model: str, folder: Path) -> Stages:
    """Return the stages of a model by its name."""
    if model in KANBAN:
        path = folder / "kanban.prism"
        path.write_text(kanban(KANBAN[model]), encoding="utf-8")
        return Stages(path, {})
    root = suites()
    if model not in FILES or root is None:
        names = (*KANBAN, *(FILES if root is not None else ()))
        raise ValueError(f"model = {model!r}: must be one of {', '.join(names)}")
    return Stages(root / "qcomp/benchmarks/ctmc" / model, FILES[model])


def seconds(stages: Stages) -> list[float]:
    """Return the minimum of the CPU times of each stage, of some runs after one to warm up."""
    found: list[list[float]] = [[] for _ in STAGES]
    for _ in range(RUNS + 1):
        for taken, step in zip(found, stages.steps, strict=True):
            start = time.process_time()
            step()
            taken.append(time.process_time() - start)
    return [min(taken[1:]) for taken in found]


def run_counted(stages: Stages) -> None:
    """Do all stages twice, the second time counted, and print the numbers of states and transitions."""
    for step in stages.steps:
        step()
    gc.collect()
    gc.freeze()
    for step in stages.steps:
        ask(START)
        step()
        ask(STOP)
        ask(DUMP)
    print(*stages.size)


def main(
    models: Annotated[list[str] | None, typer.Argument(help="Names of models.")] = None,
    counted: Annotated[bool, typer.Option(help="Count instructions and cache misses.")] = False,
    one: Annotated[str, typer.Option(help="Run this model in this process, uncounted.")] = "",
) -> None:
    """Show what each stage takes per transition."""
    with tempfile.TemporaryDirectory() as folder:
        if one:
            run_counted(stages_of(one, Path(folder)))
            return
        units = "instructions | misses of 32 KiB | misses of 8 MiB" if counted else "CPU s | ns"
        print(f"| model | stage | {units} |\n|---|---|{'--:|' * (3 if counted else 2)}")
        for model in models or ["kanban 3", "kanban 4"]:
            rows = _counts(model) if counted else _times(stages_of(model, Path(folder)))
            for stage, row in zip(STAGES, rows, strict=True):
                print(f"| {model} | {stage} | {row} |", flush=True)


def _counts(model: str) -> list[str]:
    """Return instructions and misses per transition of each stage, as cells of a table."""
    words, totals = callgrind("benchmarks.file_stages", ["--one", model], dumps=len(STAGES))
    m = int(words[-1])
    return [
        f"{each['Ir'] / m:.1f} | {(each['D1mr'] + each['D1mw']) / m:.2f} | {(each['DLmr'] + each['DLmw']) / m:.3f}"
        for each in totals
    ]


def _times(stages: Stages) -> list[str]:
    """Return seconds, and nanoseconds per transition, of each stage, as cells of a table."""
    taken = seconds(stages)
    n, m = stages.size
    cells = [f"{each:.3f} | {each / m * 1e9:.1f}" for each in taken]
    cells[4] += f", {n / taken[4]:.2e} states/s"
    return cells


if __name__ == "__main__":
    typer.run(main)

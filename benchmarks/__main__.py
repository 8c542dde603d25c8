"""``python -m benchmarks [SUITE ...] [--quick] [--long] [--save] [--check]``: run suites and print their rows.

``python -m benchmarks coverage`` measures intervals in place of times, with options of its own (`benchmarks.coverage`).
``python -m benchmarks shipped`` holds the congestion control of QUIC stacks to suites of cases (`benchmarks.shipped`).
"""

from __future__ import annotations

import importlib
import math
import sys
import time
import traceback
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.machines import this_machine
from benchmarks.records import below_floors, save
from benchmarks.timing import Row

SUITES = (
    "lossless", "laws", "responses", "rate_checks", "fabrics", "fabric_table", "fabric_costs", "htsim", "packets", "many_flows", "gradients", "chains",
    "fluid", "first_answers", "choice", "startup", "interval_coverage",
)  # fmt: skip
"""In the order in which they run."""
QUICK = ("laws", "lossless", "responses", "startup")
"""Suites that take minutes together."""
LONG = ("fluid", "first_answers")
"""Suites that have more repetitions than a whole run can take."""


def main(
    suites: Annotated[list[str] | None, typer.Argument(help=" or ".join(SUITES))] = None,
    quick: Annotated[bool, typer.Option(help=f"Only {', '.join(QUICK)}.")] = False,
    keep: Annotated[
        bool,
        typer.Option(
            "--save",
            help="Write results/<machine>.json after each suite, and the tables of suites that are complete.",
        ),
    ] = False,
    long: Annotated[bool, typer.Option(help=f"All repetitions of {' and '.join(LONG)}.")] = False,
    check: Annotated[bool, typer.Option(help="Fail where a ratio is below its floor (floors.toml).")] = False,
) -> None:
    """Time hopflow and its peers; ratios are to the first line of each task.

    A suite that fails is named at the end; the others run.
    """
    unknown = set(suites or ()) - set(SUITES)
    if unknown:
        raise typer.BadParameter(f"{unknown.pop()!r}: must be one of {', '.join(SUITES)}")
    machine = this_machine()
    found: dict[str, list[Row]] = {}
    wrong = []
    for suite in suites or (QUICK if quick else SUITES):
        began = time.perf_counter()
        try:
            given = {"long": True} if long and suite in LONG else {}
            found[suite] = importlib.import_module(f"benchmarks.{suite}").rows(**given)
        except Exception as error:  # noqa: BLE001  # whatever it is, the next suite can run
            traceback.print_exc()
            wrong.append(f"{suite} failed: {type(error).__name__}: {error}")
            continue
        Console().print(table(suite, found[suite]))
        Console().print(f"{suite} took {time.perf_counter() - began:.0f} s")
        if keep:
            Console().print(f"written to {save(machine, {suite: found[suite]})}")
    if keep and "packets" in found:
        packets = importlib.import_module("benchmarks.packets")
        if packets.write_table(found, machine):
            Console().print(f"written to {packets.TABLE}")
    wrong += below_floors(found) if check else []
    for line in wrong:
        Console().print(line)
    raise typer.Exit(1 if wrong else 0)


def table(suite: str, rows: list[Row]) -> Table:
    """Return the rows of a suite as a table."""
    made = Table("task", "alternative", "median", "range", "ratio", "note", title=suite)
    for row in rows:
        if math.isnan(row.seconds):  # what follows from other rows
            made.add_row(row.task, row.name)
            continue
        times = f"{row.fastest:.4f} to {row.slowest:.4f} s"
        made.add_row(row.task, row.name, f"{row.seconds:.4f} s", times, f"{row.ratio:.2f}", row.note)
    return made


if __name__ == "__main__":
    if sys.argv[1:2] in (["coverage"], ["shipped"]):
        typer.run(importlib.import_module(f"benchmarks.{sys.argv.pop(1)}").main)
    else:
        typer.run(main)

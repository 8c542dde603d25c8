"""``python -m benchmarks [chains] [choice] [fluid] [laws] [lossless] [packets] [responses]``: run them and print the table."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

SUITES = ("chains", "choice", "fluid", "laws", "lossless", "packets", "responses")


def main(
    suites: Annotated[list[str] | None, typer.Argument(help=" or ".join(SUITES))] = None,
) -> None:
    """Time hopflow and its peers; ratios are to the first line of each task."""
    unknown = set(suites or ()) - set(SUITES)
    if unknown:
        raise typer.BadParameter(f"{unknown.pop()!r}: must be one of {', '.join(SUITES)}")
    table = Table("task", "alternative", "median", "range", "ratio", "note")
    for suite in suites or SUITES:
        for row in importlib.import_module(f"benchmarks.{suite}").rows():
            times = f"{row.fastest:.4f} to {row.slowest:.4f} s"
            table.add_row(
                row.task, row.name, f"{row.seconds:.4f} s", times, f"{row.ratio:.2f}", row.note
            )
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)

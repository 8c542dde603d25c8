"""The table of `validation.networks.further_seeds`: its columns, and how a call's lines become rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.cases import Calls, Column, Rows, Run, Table

RUNS = Table(
    {
        "function": Column("", "of validation.claims"),
        "arguments": Column("", "of the function"),
        "seed": Column("1", "of the run"),
        "number": Column("1", "place in what the function returns"),
    },
    {"value": Column("", "in the unit that the function's docstring names")},
)


def calls(run: Run) -> Calls:
    """Return the words of the module, for all settings of a function at once."""
    return [[run["function"], *(str(word) for setting in run["settings"] for word in setting)]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the numbers that each seed measures, all digits as printed."""
    rows = []
    for line in printed[0].splitlines():
        place, seed, number, value = line.split(",")
        about = {"function": run["function"], "arguments": run["settings"][int(place)][2]}
        rows.append({**about, "seed": int(seed), "number": int(number), "value": value})
    return {"runs": rows}

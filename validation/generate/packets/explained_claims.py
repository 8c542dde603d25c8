"""The step from the fluid to packets on the scenarios of claims: `dfcmodel.explain`, by hopflow itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dfcmodel import default_refinements
from validation.claims.explained import arguments
from validation.display.waterfalls import ABOUT
from validation.generate.case_tables import Driver, load, tables_of
from validation.generate.cases import Calls, Rows, Run
from validation.generate.programs import Hopflow

RUNS = 8
MODULE = "validation/claims/explained.py"


def calls(run: Run) -> Calls:
    """Return the words of ``hopflow explain``."""
    return [["explain", run["claim"], "--runs", str(RUNS), "--seed", "0", "--table", "table.csv"]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of the waterfalls of a claim."""
    table = pd.read_csv(folder / "table.csv", keep_default_na=False)
    rows = table.assign(claim=run["claim"], runs=RUNS).to_dict("records")
    return {"waterfalls": [{str(name): value for name, value in row.items()} for row in rows]}


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of all runs of a claim, s: every subset of the refinements of each level."""
    asked = arguments(run["claim"])
    scenario = asked["scenario"]
    levels = [each.level for each in default_refinements(scenario)]
    settings = sum(2 ** levels.count(level) for level in ("fluid", "packets"))
    return RUNS * settings * float(asked.get("duration", scenario.duration))


TABLES = load(__file__)
DRIVER = Driver(
    *("packets", Hopflow((MODULE,)), calls, read, simulated_seconds),
    {"parameters": {"runs of each setting": (RUNS, "1"), "seed": (0, "1")}},
)
CASES = (
    DRIVER.case(TABLES, [{"claim": id} for id in ABOUT], tables_of(TABLES["tables"], {})),
)  # fmt: skip

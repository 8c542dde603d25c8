"""kaneko2007's pairs of flows at settings of a Sobol sequence over what the slides leave open, by hopflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.generate.case_tables import Driver, load, tables_of
from validation.generate.cases import Calls, Rows, Run, Table
from validation.generate.programs import Module, pairs
from validation.generate.settings import SETTING, setting_columns, setting_parameters
from validation.inference.designs import KANEKO2007, SEEDS, settings
from validation.inference.rule_pairs import experiments


def calls(run: Run) -> Calls:
    """Return the words of the module."""
    return [pairs({"seed": run["seed"], **run["chosen"]})]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the goodput of both flows of each pair, and the setting."""
    key = {"setting": run["setting"]}
    rows: Rows = []
    for line in printed[0].splitlines():
        experiment, first, second, one, other = line.split(",")
        both = {"goodput_first": float(one), "goodput_second": float(other)}
        rows.append(key | {"experiment": experiment, "first": first, "second": second} | both)
    return {"pairs": rows, "settings": [key | run["chosen"]]}


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of all experiments of a setting, s."""
    chosen = run["chosen"]
    each = 0.1 + sum(float(chosen[name]) for name in ("later", "warm", "measured"))
    return each * len(list(experiments(chosen)))


TABLES = load(__file__)
PARAMETERS = setting_parameters(KANEKO2007, SEEDS["kaneko2007"])
DRIVER = Driver(
    *("kaneko2007", Module("validation.inference.rule_pairs"), calls, read, simulated_seconds),
    {"parameters": PARAMETERS},
)
CASES = (
    DRIVER.case(
        TABLES,
        [{"setting": n, "seed": n, "chosen": dict(setting)} for n, setting in enumerate(settings("kaneko2007"), 1)],
        tables_of(TABLES["tables"], SETTING) | {"settings": Table(SETTING, setting_columns(KANEKO2007))},
    ),
)

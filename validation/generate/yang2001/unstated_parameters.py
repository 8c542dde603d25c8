"""yang2001's Table 4 at settings of a Sobol sequence over what the paper leaves open, by ns-2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from validation.generate.case_tables import Driver, load, tables_of
from validation.generate.cases import Calls, Rows, Run, Table
from validation.generate.programs import Ns2, pairs
from validation.generate.settings import SETTING, setting_columns, setting_parameters
from validation.generate.yang2001 import priority
from validation.inference.designs import SEEDS, YANG2001, settings

PROGRAM = Ns2("priority_min_rto.tcl", sourced=("priority.tcl",))
ENVIRONMENTS = ("be/be", "cc/be", "ts/be")
"""Those with best effort: 144 of the 240 cells of Table 4."""
TCP_FLOWS = 90
"""Of each source: the middle of the paper's 81 to 99."""
LIMIT = 30_000.0
"""Simulated time at which a run ends at the latest, s."""
INDEX = {**SETTING, **{name: priority.INDEX[name] for name in ("environment", "discipline")}}


def runs(environments: Sequence[str], count: int | None = None) -> list[Run]:
    """Return a run for each of the first settings (None: all) and row of Table 4; the seed is the setting's number."""
    return [
        {
            "setting": n, "environment": environment, "discipline": discipline,
            "size": priority.MEGABYTE, "tcp_flows": TCP_FLOWS, "seed": n, "chosen": dict(setting),
        }
        for n, setting in enumerate(settings("yang2001")[:count], 1)
        for environment in environments
        for discipline in priority.DISCIPLINES
    ]  # fmt: skip


def calls(run: Run) -> Calls:
    """Return the options of ``priority_min_rto.tcl``; RED's upper threshold is three times the lower."""
    own = {key: value for key, value in run.items() if key not in ("setting", "chosen")}
    chosen = dict(run["chosen"])
    chosen["red_max"] = 3 * chosen["red_min"]
    return [pairs({**chosen, **priority.options(own)})]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:
    """Return the mean transfer time of each class of each source, and the setting once."""
    found = priority.read(run, folder, printed)
    frame = pd.DataFrame(found["flows"])
    frame["kind"] = frame["protocol"] + frame["priority"].astype(str)
    rows: Rows = []
    for (source, mechanism, kind), flows in frame.groupby(["source", "mechanism", "kind"]):
        times = flows["transfer_time"].astype(float)
        rows.append(
            {name: run[name] for name in INDEX}
            | {
                "source": source, "mechanism": mechanism, "kind": kind,
                "time": round(float(times.fillna(LIMIT).mean()), 3), "flows": len(times),
                "unfinished": int(times.isna().sum()),
            }
        )  # fmt: skip
    first = (run["environment"], run["discipline"]) == (ENVIRONMENTS[0], priority.DISCIPLINES[0])
    return {"times": rows, "settings": [{"setting": run["setting"], **run["chosen"]}] * first}


def simulated_seconds(run: Run) -> float:
    """Estimate the simulated time of a run by the time that its load needs, s."""
    return 8.0 * 200 * float(run["size"]) / priority.BANDWIDTH + priority.DRAIN


TABLES = load(__file__)
PARAMETERS = {
    **priority.TABLES["parameters"],
    **setting_parameters(YANG2001, SEEDS["yang2001"]),
    "red_max": (3, "1 (multiple of red_min)"),
}
DRIVER = Driver(
    *("yang2001", PROGRAM, calls, read, simulated_seconds),
    {"parameters": PARAMETERS, "notes": priority.TABLES["notes"]},
    own_notes_first=True,
)
CASES = (
    DRIVER.case(
        TABLES,
        runs(ENVIRONMENTS),
        tables_of(TABLES["tables"], INDEX) | {"settings": Table(SETTING, setting_columns(YANG2001))},
    ),
)

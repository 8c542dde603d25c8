"""takano2006's chain with the hosts that the paper describes, by hopflow's packet level (`validation.networks.own_links`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfcmodel import takano2006
from validation.generate.case_tables import Driver, load, tables_of
from validation.generate.cases import Calls, Rows, Run
from validation.generate.programs import Module, pairs
from validation.networks.own_links import DFC_DURATION, PACKET_JITTER, SAMPLE, SPREAD, runs

LOSSES = ("dropped", "dropped_at_first", "dropped_at_merge", "dropped_first")


def calls(run: Run) -> Calls:
    """Return the words of the module."""
    return [pairs(run)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the efficiencies in bins, and the means and losses of both flows."""
    tables: dict[str, Rows] = {"efficiency": [], "flows": []}
    for line in printed[0].splitlines():
        table, flow, *values = line.split(",")
        names = ("time", "efficiency") if table == "efficiency" else ("mean_efficiency", *LOSSES)
        numbers = dict(zip(names, map(float, values), strict=True))
        counts = {name: int(numbers[name]) for name in LOSSES if name in numbers}
        tables[table].append({**run, "flow": flow, **numbers, **counts})
    return tables


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of a run, s."""
    return DFC_DURATION if run["dfc"] else float(takano2006(run["scenario"]).duration)


TABLES = load(__file__)
DRIVER = Driver(
    *("takano2006", Module("validation.networks.own_links"), calls, read, simulated_seconds),
    {
        "parameters": {
            "jitter of the starts without DFC": (SPREAD, "s"),
            "random time before a packet without DFC": (PACKET_JITTER, "s"),
            "interval of the efficiency": (SAMPLE, "s"),
        }
    },
)
CASES = (DRIVER.case(TABLES, list(runs()), tables_of(TABLES["tables"], {})),)

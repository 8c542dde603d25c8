"""A hundred random networks in ns-2: ACKs and windows of each flow, drops of each link, and the Tcl programs.

`dfcmodel.to_ns2` writes the programs; `validation.networks.random_packet_networks` draws the networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from validation.generate.case_tables import Driver, columns, load, tables_of
from validation.generate.cases import Calls, Rows, Run
from validation.generate.packets.exported import drops_of, flows_of, program
from validation.generate.programs import Ns2Export
from validation.networks.random_packet_networks import TOPOLOGIES, random_network

TABLES = load(__file__)
SEEDS = range(100)
TIMES = 10
"""At which the ACKs of each flow are bundled, at equal distances until the end."""


def calls(run: Run) -> Calls:
    """Return the Tcl program of the network of a seed."""
    return [[program(*random_network(run["seed"]))]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run."""
    scenario, method = random_network(run["seed"])
    recoveries: Any = method.recovery  # by flow
    flows = flows_of(scenario, folder)
    samples = np.loadtxt(folder / "samples.txt", ndmin=2)
    ends = [round(k * len(samples) / TIMES) - 1 for k in range(1, TIMES + 1)]
    acks = [
        {
            **run, "flow": flow["flow"], "time": float(samples[n, 0]),
            "acknowledged": int(samples[n, 2 + 2 * column]),
        }
        for column, flow in enumerate(flows)
        for n in ends
    ]  # fmt: skip
    about = {
        "duration": scenario.duration,
        "links": len(scenario.links),
        "flows": len(scenario.flows),
        "program": (folder / "program.tcl").read_text(encoding="utf-8"),
    }
    return {
        "flows": [{**run, **flow, "recovery": recoveries[scenario.flows[flow["flow"]].name]} for flow in flows],
        "acks": acks,
        "links": [{**run, **link} for link in drops_of(folder)],
        "networks": [{**run, **about}],
    }


def _seconds(run: Run) -> float:
    """Return the simulated time of a run in s."""
    return float(random_network(run["seed"])[0].duration)


DRIVER = Driver(
    "packets",
    Ns2Export(("validation/networks/random_packet_networks.py",)),
    *(calls, read, _seconds, TABLES),
)
CASES = (
    DRIVER.case(
        TABLES["case"],
        [{"topology": TOPOLOGIES[seed % len(TOPOLOGIES)], "seed": seed} for seed in SEEDS],
        tables_of(TABLES["tables"], columns(TABLES["columns"], topologies=", ".join(TOPOLOGIES))),
    ),
)

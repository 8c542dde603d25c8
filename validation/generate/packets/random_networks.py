"""A hundred random networks in ns-2: ACKs and windows of each flow, drops of each link, and the Tcl programs.

`dfcmodel.to_ns2` writes the programs; `validation.networks.random_packet_networks` draws the networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.packets.exported import drops_of, flows_of, program
from validation.generate.programs import Ns2Export
from validation.networks.packet_networks import SAMPLE
from validation.networks.random_packet_networks import TOPOLOGIES, random_network

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
        "flows": [
            {**run, **flow, "recovery": recoveries[scenario.flows[flow["flow"]].name]}
            for flow in flows
        ],
        "acks": acks,
        "links": [{**run, **link} for link in drops_of(folder)],
        "networks": [{**run, **about}],
    }


RUN = {
    "topology": Column("", ", ".join(TOPOLOGIES)),
    "seed": Column(
        "1", "of validation.networks.random_packet_networks; ns-2's generator has one more"
    ),
}
FLOW = Column("1", "number of the flow, from 0; CBR flows have no row")
TABLES = {
    "flows": Table(
        {**RUN, "flow": FLOW},
        {
            "recovery": Column("", "tahoe, reno, newreno or sack"),
            "acknowledged": Column("packets", "number of the last packet acknowledged, ack_"),
            "sent": Column("packets", "ndatapack_"),
            "timeouts": Column("1", "nrexmit_"),
            "samples": Column(
                "",
                "SHA-256 (16 digits) of cwnd_ and ack_ at every sample until all is acknowledged",
            ),
        },
    ),
    "acks": Table(
        {**RUN, "flow": FLOW, "time": Column("s", "ten times, the last at the end")},
        {"acknowledged": Column("packets", "number of the last packet acknowledged, ack_")},
    ),
    "links": Table(
        {**RUN, "from": Column("1", "node"), "to": Column("1", "node")},
        {"drops": Column("packets", "packets and ACKs dropped; links without drops are left out")},
    ),
    "networks": Table(
        RUN,
        {
            "duration": Column("s", "simulated time"),
            "links": Column("1", "of the scenario, without the mirrors that carry ACKs alone"),
            "flows": Column("1", "of all kinds"),
            "program": Column("", "Tcl program, written by dfcmodel.to_ns2"),
        },
    ),
}


def _seconds(run: Run) -> float:
    """Return the simulated time of a run in s."""
    return float(random_network(run["seed"])[0].duration)


CASES = (
    Case(
        name="packets/random-networks-ns2",
        title="100 random networks of four topologies with mixed senders, every link FIFO",
        claims=(),
        program=Ns2Export(("validation/networks/random_packet_networks.py",)),
        parameters={
            "rates of the links": ("1 to 100, log-uniform", "Mb/s"),
            "delays of the links": ("0.05 to 50, log-uniform", "ms"),
            "buffers": ("2 to 39; access links of dumbbells 5 to 199", "packets"),
            "queues": ("FIFO, drop-tail", ""),
            "senders": ("Tahoe, Reno, NewReno, SACK; one in ten is CBR", ""),
            "receivers that delay ACKs": (0.3, "of the flows"),
            "largest windows": ("5, 20, 64 or 1000", "packets"),
            "sizes": ("20 to 1999 packets for four in ten flows; otherwise unlimited", "packets"),
            "least timeouts": ("0.2 or 1", "s"),
            "interval of the samples": (SAMPLE, "s"),
        },
        tables=TABLES,
        runs=[{"topology": TOPOLOGIES[seed % len(TOPOLOGIES)], "seed": seed} for seed in SEEDS],
        calls=calls,
        read=read,
        simulated_seconds=_seconds,
        notes=(
            "The seeds are the first hundred; none was left out.",
            "ACKs of 40 bytes queue on the way back, over explicit links or mirrors of the forward links.",
        ),
    ),
)

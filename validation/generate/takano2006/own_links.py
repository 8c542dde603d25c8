"""takano2006's chain with the hosts that the paper describes, by hopflow's packet level (`validation.networks.own_links`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dfcmodel import takano2006
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Module, pairs
from validation.networks.own_links import DFC_DURATION, PACKET_JITTER, SAMPLE, SPREAD, runs

NAME = "takano2006/own-links"
ABOUT = {
    "scenario": Column("", "of Tables 1 to 4"),
    "dfc": Column("1", "1: with DFC, hosts shaped; 0: FIFO, hosts with a link of their own"),
    "clocks": Column("1", "largest relative difference of the rate of a link from the paper's"),
    "convention": Column("", "of the packet level: which of two simultaneous events is first"),
    "seed": Column("1", "of starts, times before packets, rates and feedback clocks"),
}
FLOW = {"flow": Column("", "target or background")}
LOSSES = {
    "dropped": Column("packets", "in all nodes"),
    "dropped_at_first": Column("packets", "in node 1"),
    "dropped_at_merge": Column("packets", "in the node where the background flow enters"),
    "dropped_first": Column("packets", "there, in the first 50 ms in which there are losses"),
}


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


CASES = (
    Case(
        name=NAME,
        title="ten scenarios with the hosts that the paper describes: shaped with DFC, a link of their own without",
        claims=("D04", "D05", "D06", "D07", "D08", "D09", "D12", "D13", "D14", "D15"),
        program=Module("validation.networks.own_links"),
        parameters={
            "jitter of the starts without DFC": (SPREAD, "s"),
            "random time before a packet without DFC": (PACKET_JITTER, "s"),
            "interval of the efficiency": (SAMPLE, "s"),
        },
        tables={
            "efficiency": Table(
                {**ABOUT, **FLOW, "time": Column("s", "end of the interval")},
                {"efficiency": Column("1", "over all links of the flow's path")},
            ),
            "flows": Table(
                {**ABOUT, **FLOW},
                {
                    "mean_efficiency": Column("1", "after the start of the background flow"),
                    **LOSSES,
                },
            ),
        },
        runs=list(runs()),
        calls=calls,
        read=read,
        simulated_seconds=simulated_seconds,
        notes=(
            (
                "A link of a host has the rate and the delay of the first link of the path. Where all rates are "
                "equal, packets of the target arrive at a busy node exactly when another one leaves it."
            ),
            "100 ppm is the tolerance of the clocks of Ethernet's transmitters (IEEE 802.3).",
        ),
    ),
)

"""Input files of htsim's program for RoCE, and what it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Column, Rows, Run, Table

__all__ = [
    "MTU",
    "TABLES",
    "calls",
    "connection_matrix",
    "finish_times",
    "read",
    "rows_of",
    "simulated_seconds",
]

MTU = 4096
RUN = {"run": Column("", "name of the run")}
TABLES = {
    "runs": Table(
        RUN,
        {
            "leaves": Column("1", "leaf switches, each connected to the one spine"),
            "hosts": Column("1", "hosts at each leaf; host h is at leaf h // hosts"),
            "access": Column("bit/s", "rate of the links between hosts and leaves"),
            "trunk": Column("bit/s", "rate of the links between leaves and the spine"),
            "xoff": Column("packets", "of one ingress in a switch, above which it is paused"),
            "xon": Column("packets", "below which the pause ends"),
        },
    ),
    "flows": Table(
        {**RUN, "flow": Column("1", "in the order of the connection matrix")},
        {
            "source": Column("1", "number of the sending host"),
            "target": Column("1", "number of the receiving host"),
            "packets": Column("packets", "of 4096 bytes, and a header of 64"),
            "finish": Column("s", "when the sender has the last ACK"),
        },
    ),
}
FINISHED = re.compile(r"Flow Roce_(\d+)_(\d+) (\d+) finished at ([\d.]+) total")


def topology(run: Run) -> str:
    """Return the fabric as htsim reads it: leaves and spines, 1 us per link, no time in a switch."""
    latency = "Downlink_Latency_ns 1000\nSwitch_Latency_ns 0\n"
    total = run["leaves"] * run["hosts"]
    access, trunk = (f"Downlink_speed_Gbps {run[each] / 1e9:g}\n" for each in ("access", "trunk"))
    return (
        f"Nodes {total}\nTiers 2\nPodsize {total}\n\n"
        f"Tier 0\nRadix_Down {run['hosts']}\nRadix_Up {run['spines']}\n"
        f"Oversubscribed {run['hosts'] // run['spines']}\n{access}{latency}\n"
        f"Tier 1\nRadix_Down {run['leaves']}\n{trunk}{latency}"
    )


def connections(run: Run) -> str:
    """Return the flows as htsim reads them, all from the beginning."""
    return connection_matrix(run, [f"start 0 size {packets * MTU}" for *_, packets in run["flows"]])


def connection_matrix(run: Run, options: Sequence[str]) -> str:
    """Return the flows of a run, each with its options, as htsim reads them."""
    lines = [
        f"{source}->{target} id {n} {said}"
        for n, ((source, target, *_), said) in enumerate(zip(run["flows"], options, strict=True), 1)
    ]
    total = run["leaves"] * run["hosts"]
    return "\n".join([f"Nodes {total}", f"Connections {len(lines)}", *lines]) + "\n"


def calls(run: Run) -> Calls:
    """Return the texts of both files and the options of a run."""
    options: Mapping[str, Any] = {
        "nodes": run["leaves"] * run["hosts"],
        "linkspeed": round(run["access"] / 1e6),
        "mtu": MTU,
        "q": 1000,
        "queue_type": "lossless_input",
        "strat": "ecmp_host",
        "paths": run["spines"],
        "end": round(run["end"] * 1e6),
        "o": "log",
    }
    words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
    thresholds = ("-pfc_thresholds", str(run["xon"]), str(run["xoff"]))
    return [[topology(run), connections(run), *words, *thresholds]]


def finish_times(text: str) -> dict[tuple[int, int], float]:
    """Return when flows are complete, s, by their hosts, from what htsim prints in us.

    Examples
    --------
    >>> finish_times("Flow Roce_1_0 9 finished at 4793.5 total bytes 2002944")
    {(1, 0): 0.0047935}
    """
    found = FINISHED.findall(text)
    return {(int(source), int(target)): float(time) / 1e6 for source, target, _, time in found}


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run.

    Raises
    ------
    RuntimeError
        If a flow is not complete at the end, or several are between the same hosts.
    """
    ends = finish_times(printed[0])
    wanted = [(source, target) for source, target, *_ in run["flows"]]
    if sorted(ends) != sorted(wanted):
        raise RuntimeError(
            f"run {run['run']}: {len(ends)} of {len(wanted)} flows are complete at {run['end']} s, "
            "or several are between the same hosts"
        )
    return rows_of(run, [ends[each] for each in wanted])


def rows_of(run: Run, finish: Sequence[float]) -> dict[str, Rows]:
    """Return the rows of a run by when each of its flows is complete, s."""
    about = {name: run[name] for name in TABLES["runs"].values}
    rows = [
        {
            "run": run["run"], "flow": n, "source": source, "target": target, "packets": packets,
            "finish": finish[n],
        }
        for n, (source, target, packets) in enumerate(run["flows"])
    ]  # fmt: skip
    return {"runs": [{"run": run["run"], **about}], "flows": rows}


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of a run, s."""
    return float(run["end"])

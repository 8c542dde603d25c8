"""Options of htsim's program for Ultra Ethernet Transport, and what it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Column, Rows, Run, Table
from validation.generate.htsim.inputs import connection_matrix, topology

__all__ = ["HEADER", "MTU", "SEEDS", "TABLES", "calls", "finish_times", "read", "simulated_seconds"]

MTU, HEADER = 4096, 64
"""Bytes of a packet, and those of them that are its header (uec.cpp: _hdr_size)."""
SEEDS = (1, 2, 3)
RUN = {"run": Column("", "name of the run")}
TABLES = {
    "runs": Table(
        RUN,
        {
            "control": Column("", "congestion control: nscc of senders, rccc of receivers"),
            "balancing": Column(
                "", "how packets take spines: one (there is one), hashed (of 64 entropies in turn), turns (of each switch)"
            ),
            "leaves": Column("1", "leaf switches, each connected to all spines"),
            "spines": Column("1", "spine switches"),
            "hosts": Column("1", "hosts at each leaf; host h is at leaf h // hosts"),
            "access": Column("bit/s", "rate of the links between hosts and leaves"),
            "trunk": Column("bit/s", "rate of the links between leaves and spines"),
            "buffer": Column("packets", "of each queue of a switch"),
            "low": Column("packets", "from which on packets are marked"),
            "high": Column("packets", "from which on every packet is marked"),
        },
    ),
    "flows": Table(
        {**RUN, "seed": Column("1", "of htsim"), "flow": Column("1", "in the order of the connection matrix")},
        {
            "source": Column("1", "number of the sending host"),
            "target": Column("1", "number of the receiving host"),
            "packets": Column("packets", "of 4096 bytes, a header of 64 among them"),
            "start": Column("s", "when the sender begins"),
            "finish": Column("s", "when the sender has the last ACK"),
            "repeated": Column("packets", "that senders of the run sent again, of all flows"),
        },
    ),
}  # fmt: skip
FINISHED = re.compile(r"Flow Uec_(\d+)_(\d+) flowId .* finished at ([\d.]+) total messages")
REPEATED = re.compile(r"^New: \d+ Rtx: (\d+) ", re.MULTILINE)
CONTROLS = {"nscc": ("-sender_cc_only", "-disable_trim"), "rccc": ("-receiver_cc_only",)}
BALANCINGS = {
    "one": ("-paths", "16", "-load_balancing_algo", "oblivious"),
    "hashed": ("-paths", "64", "-load_balancing_algo", "oblivious"),
    "turns": ("-strat", "ecmp_rr", "-load_balancing_algo", "oblivious"),
}


def connections(run: Run) -> str:
    """Return the flows as htsim reads them, with starts in us; its packets carry what is left beside their headers."""
    options = [f"start {round(1e6 * start)} size {packets * (MTU - HEADER)}" for *_, packets, start in run["flows"]]
    return connection_matrix(run, options)


def calls(run: Run) -> Calls:
    """Return the texts of both files and the options of a run, for each seed."""
    options: Mapping[str, Any] = {
        "nodes": run["leaves"] * run["hosts"],
        "linkspeed": round(run["access"] / 1e6),
        "mtu": MTU,
        "q": run["buffer"],
        "sack_threshold": MTU - 96,
        "end": round(run["end"] * 1e6),
        "o": "log",
    }
    words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
    words += ["-ecn", str(run["low"]), str(run["high"])]
    words += [*CONTROLS[run["control"]], *BALANCINGS[run["balancing"]]]
    return [[topology(run), connections(run), *words, "-seed", str(seed)] for seed in SEEDS]


def finish_times(text: str) -> dict[tuple[int, int], float]:
    """Return when flows are complete, s, by their hosts, from what htsim prints in us.

    Examples
    --------
    >>> finish_times("Flow Uec_1_0 flowId 7 uecSrc 0 finished at 332.0 total messages 1 total packets 500")
    {(1, 0): 0.000332}
    """
    found = FINISHED.findall(text)
    return {(int(source), int(target)): float(time) / 1e6 for source, target, time in found}


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run.

    Raises
    ------
    RuntimeError
        If a flow is not complete at the end, or several are between the same hosts.
    """
    rows = []
    for seed, text in zip(SEEDS, printed, strict=True):
        ends, repeated = finish_times(text), REPEATED.search(text)
        wanted = [(source, target) for source, target, *_ in run["flows"]]
        if sorted(ends) != sorted(wanted) or repeated is None:
            raise RuntimeError(
                f"run {run['run']}, seed {seed}: {len(ends)} of {len(wanted)} flows are complete at {run['end']} s, "
                "or several are between the same hosts"
            )
        rows += [
            {
                "run": run["run"], "seed": seed, "flow": n, "source": source, "target": target, "packets": packets,
                "start": start, "finish": ends[source, target], "repeated": int(repeated[1]),
            }
            for n, (source, target, packets, start) in enumerate(run["flows"])
        ]  # fmt: skip
    about = {name: run[name] for name in TABLES["runs"].values}
    return {"runs": [{"run": run["run"], **about}], "flows": rows}


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of a run, s."""
    return len(SEEDS) * float(run["end"])

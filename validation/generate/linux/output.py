"""Reads the link emulator's output: totals of flows, samples of windows, drops, bytes received in each second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Column, Rows, Run, Table

__all__ = ["OPTIONS", "TABLES", "calls", "read", "simulated_seconds"]

OPTIONS = (
    *("rate", "delay", "buffer", "seconds", "loss", "every", "seed", "sample"),
    *("min_tso_segs", "quickack"),
)
"""Options of the emulator, which a run may have under the same names."""
LIMITS = ("rwnd_limited", "sndbuf_limited")
RUN = {"run": Column("", "name of the run")}
FLOW = {**RUN, "flow": Column("1", "0 or 1, in the order of the rules")}
TABLES = {
    "runs": Table(
        FLOW,
        {
            "rule": Column("", "congestion control as Linux names it"),
            "start": Column("s", "of the flow"),
            "buffer": Column("packets", "that wait besides the one in transmission"),
            "loss": Column("1", "probability that a data packet is discarded before the queue"),
            "every": Column(
                "packets", "each data packet with a multiple of this number is discarded; 0: none"
            ),
            "seed": Column("1", "of the discarded packets"),
            "seconds": Column("s", "simulated"),
            "bytes": Column("bytes", "read by the receiver"),
            "data_packets": Column("packets", "with data that reached the link, sent again or not"),
            "queue_drops": Column("packets", "dropped by the full buffer"),
            "losses": Column("packets", "discarded by loss or every"),
            "retransmissions": Column("packets", "tcpi_total_retrans"),
            "timeouts": Column("1", "tcpi_total_rto"),
            "min_rtt": Column("us", "tcpi_min_rtt"),
            "mss": Column("bytes", "tcpi_snd_mss"),
            "dsacks": Column("1", "tcpi_dsack_dups"),
            "reordered": Column("1", "tcpi_reord_seen"),
            "lateness": Column(
                "ns", "of the packet of the run that was delivered latest after its due time"
            ),
            "digest": Column(
                "", "FNV-1a of arrival time, flow and size of all packets at the link, 64 bits"
            ),
        },
    ),
    "windows": Table(
        {**FLOW, "time": Column("s", "since the start of the run")},
        {
            "cwnd": Column("packets", "tcpi_snd_cwnd"),
            "ssthresh": Column("packets", "tcpi_snd_ssthresh; 2147483647: none"),
            "srtt": Column("us", "tcpi_rtt"),
            "state": Column("", "tcpi_ca_state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss"),
        },
    ),
    "drops": Table(
        {**FLOW, "time": Column("s", "of arrival at the link")},
        {"cause": Column("", "queue: buffer full; loss: discarded by loss or every")},
    ),
    "seconds": Table(
        {**FLOW, "time": Column("s", "end of the second")},
        {"bytes": Column("bytes", "read by the receiver in this second")},
    ),
    "settings": Table(
        {**RUN, "name": Column("", "of the kernel's setting below net in /proc/sys")},
        {"value": Column("", "as the kernel writes it")},
    ),
}


def calls(run: Run) -> Calls:
    """Return the words of the emulator for a run: its options and its flows."""
    options = [f"{name}={run[name]}" for name in OPTIONS if name in run]
    flows = [
        f"flow={rule}@{start}" for rule, start in zip(run["rules"], run["starts"], strict=True)
    ]
    return [[*options, *flows]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Return the rows of one run.

    Raises
    ------
    RuntimeError
        If the emulator failed, or if a sender was limited by the receiver's window or by its own buffer.
    """
    lines = [line.split() for line in printed[0].splitlines()]
    if failed := [line for line in lines if line[0] == "failed"]:
        raise RuntimeError(f"run {run['run']}: {' '.join(failed[0])}")
    rows: dict[str, Rows] = {name: [] for name in TABLES}
    link = _pairs(next(line for line in lines if line[0] == "link")[1:])
    for kind, *words in lines:
        if kind == "window":
            rows["windows"].append(_window(run, words))
        elif kind == "drop":
            rows["drops"].append({**_at(run, words), "cause": words[2]})
        elif kind == "second":
            own = {"run": run["run"], "flow": int(words[1]), "time": int(words[0])}
            rows["seconds"].append({**own, "bytes": int(words[2])})
        elif kind == "sysctl":
            rows["settings"].append(
                {"run": run["run"], "name": words[0], "value": " ".join(words[1:])}
            )
        elif kind == "flow":
            rows["runs"].append(_totals(run, int(words[0]), _pairs(words[1:]), link))
    return rows


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Return words ``key=value`` by their keys."""
    return dict(word.split("=") for word in words)


def _at(run: Run, words: Sequence[str]) -> dict[str, Any]:
    """Return the index of a row from its time in ns and its flow."""
    return {"run": run["run"], "flow": int(words[1]), "time": int(words[0]) / 1e9}


def _window(run: Run, words: Sequence[str]) -> dict[str, Any]:
    """Return a sample of a flow's window."""
    names = ("cwnd", "ssthresh", "srtt", "state")
    return {**_at(run, words), **dict(zip(names, map(int, words[2:]), strict=True))}


def _totals(
    run: Run, flow: int, found: Mapping[str, str], link: Mapping[str, str]
) -> dict[str, Any]:
    """Return the totals of a flow; refuse a run in which something other than the path limited it."""
    for name in LIMITS:
        if int(found[name]):
            raise RuntimeError(
                f"run {run['run']}: {name} = {found[name]} us in flow {flow}, must be 0"
            )
    counted = (
        *("bytes", "data_packets", "queue_drops", "losses", "retransmissions", "timeouts"),
        *("min_rtt", "mss", "dsacks", "reordered"),
    )
    return {
        "run": run["run"],
        "flow": flow,
        "rule": run["rules"][flow],
        "start": run["starts"][flow],
        **{name: run.get(name, 0) for name in ("buffer", "loss", "every", "seed", "seconds")},
        **{name: int(found[name]) for name in counted},
        "lateness": int(link["worst_lateness"]),
        "digest": f"fnv1a-{link['digest']}",
    }


def simulated_seconds(run: Run) -> float:
    """Return the simulated time of a run, s."""
    return float(run["seconds"])

"""Reads the link emulator's output: totals of flows, samples of windows and of the kernel's queue, drops, bytes received in each second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.generate.cases import Calls, Column, Rows, Run, Table

OPTIONS = (
    *("rate", "delay", "buffer", "seconds", "loss", "every", "seed", "sample"),
    *("min_tso_segs", "quickack", "discipline", "ecn", "since"),
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
QUANTILES = ("least", "tenth", "median", "ninth", "percentile_99", "most")
"""Of a flow's delays, as the emulator prints them."""
DELAY = "in the queue of the packets that left it from the time `since` on: "
_ALWAYS = ("rule", "start", "seconds", "bytes", "data_packets", "queue_drops")
_ALSO = ("retransmissions", "timeouts", "min_rtt", "mss", "dsacks", "lateness", "digest")
QUEUE_TABLES = {
    "runs": Table(
        FLOW,
        {
            **{
                name: column
                for name, column in TABLES["runs"].values.items()
                if name in (*_ALWAYS, *_ALSO)
            },
            "extra": Column("s", "longer delay of the flow's reverse path"),
            "message": Column("bytes", "of the messages that the flow sends; 0: unlimited"),
            "interval": Column("s", "from one message to the next"),
            "marks": Column("packets", "that left the queue with the mark CE"),
            "delayed": Column("packets", f"{DELAY}how many"),
            "delay": Column("ns", f"{DELAY}mean"),
            "least": Column("ns", f"{DELAY}the shortest"),
            "tenth": Column("ns", f"{DELAY}that of a tenth is at most this"),
            "median": Column("ns", f"{DELAY}median"),
            "ninth": Column("ns", f"{DELAY}that of nine tenths is at most this"),
            "percentile_99": Column("ns", f"{DELAY}that of 99 % is at most this"),
            "most": Column("ns", f"{DELAY}the longest"),
        },
    ),
    "queues": Table(
        {**RUN, "time": Column("s", "since the start of the run")},
        {
            "packets": Column("packets", "in the queue, as the kernel reports"),
            "backlog": Column("bytes", "in the queue, as the kernel reports"),
            "drops": Column("packets", "until then, as the kernel reports"),
            "marks": Column("packets", "until then, as the kernel reports"),
            "control": Column("1", "drop probability of PIE; count of CoDel; 0: others"),
            "left": Column("packets", "that left the queue since the last sample"),
            "delay": Column("ns", "mean delay of these in the queue"),
            "least": Column("ns", "shortest of these"),
            "most": Column("ns", "longest of these"),
        },
    ),
    **{name: TABLES[name] for name in ("drops", "seconds")},
    "settings": Table(
        {**RUN, "name": Column("", "of a setting below net in /proc/sys, or queue/ and an option")},
        {"value": Column("", "as the kernel writes it; of options numbers, times in us")},
    ),
}
"""Of runs with a queue discipline of the kernel."""


def calls(run: Run) -> Calls:
    """Return the words of the emulator for a run: its options and its flows."""
    options = [f"{name}={run[name]}" for name in OPTIONS if name in run]
    return [[*options, *(word for flow in range(len(run["rules"])) for word in _flow(run, flow))]]


def _flow(run: Run, flow: int) -> list[str]:
    """Return the words of a flow."""
    extra, (message, interval) = _path_and_messages(run, flow)
    return [
        f"flow={run['rules'][flow]}@{run['starts'][flow]}",
        *([f"extra={extra}"] if extra else []),
        *([f"message={message}", f"interval={interval}"] if message else []),
    ]


def _path_and_messages(run: Run, flow: int) -> tuple[float, tuple[int, float]]:
    """Return the longer delay of a flow, s, and the bytes and interval, s, of its messages."""
    no_message = (0, 0.0)
    messages = run.get("messages", {})
    return run.get("extras", {}).get(flow, 0.0), messages.get(flow, no_message)


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
        elif kind == "delays":
            rows["runs"][-1] |= _delays(run, list(map(int, words)))
        elif kind == "queue":
            rows.setdefault("queues", []).append(_queue(run, words))
    return rows


def _delays(run: Run, words: Sequence[int]) -> dict[str, Any]:
    """Return what a flow has besides where the queue is the kernel's."""
    flow, marks, delayed, mean, *quantiles = words
    extra, (message, interval) = _path_and_messages(run, flow)
    return {
        "extra": extra,
        "message": message,
        "interval": interval,
        "marks": marks,
        "delayed": delayed,
        "delay": mean,
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }


def _queue(run: Run, words: Sequence[str]) -> dict[str, Any]:
    """Return a sample of the queue."""
    time, packets, backlog, drops, marks, control, left, total, least, most = words
    return {
        "run": run["run"],
        "time": int(time) / 1e9,
        "packets": int(packets),
        "backlog": int(backlog),
        "drops": int(drops),
        "marks": int(marks),
        "control": float(control),
        "left": int(left),
        "delay": round(int(total) / max(1, int(left))),
        "least": int(least),
        "most": int(most),
    }


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

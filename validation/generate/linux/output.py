"""Reads the link emulator's output: totals of flows, samples of windows and of the kernel's queue, drops, bytes received in each second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from validation.generate.case_tables import load, tables_of
from validation.generate.cases import Calls, Rows, Run, Table

OPTIONS = (
    *("rate", "delay", "buffer", "seconds", "loss", "every", "seed", "sample"),
    *("min_tso_segs", "quickack", "discipline", "ecn", "since"),
)
"""Options of the emulator, which a run may have under the same names."""
LIMITS = ("rwnd_limited", "sndbuf_limited")
QUANTILES = ("least", "tenth", "median", "ninth", "percentile_99", "most")
"""Of a flow's delays, as the emulator prints them."""
_READ = load(__file__)
TABLES = tables_of(_READ["tables"], {})


def _queue_tables() -> dict[str, Table]:
    """Return the tables of runs with a queue discipline of the kernel."""
    about = dict(_READ["queue"])
    shared = {name: TABLES["runs"].values[name] for name in about.pop("shared")}
    own = tables_of(about, {})
    runs = Table(own["runs"].index, {**shared, **own["runs"].values})
    others = {name: TABLES[name] for name in ("drops", "seconds")}
    return {"runs": runs, "queues": own["queues"], **others, "settings": own["settings"]}


QUEUE_TABLES = _queue_tables()


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
            rows["settings"].append({"run": run["run"], "name": words[0], "value": " ".join(words[1:])})
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


def _totals(run: Run, flow: int, found: Mapping[str, str], link: Mapping[str, str]) -> dict[str, Any]:
    """Return the totals of a flow; refuse a run in which something other than the path limited it."""
    for name in LIMITS:
        if int(found[name]):
            raise RuntimeError(f"run {run['run']}: {name} = {found[name]} us in flow {flow}, must be 0")
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

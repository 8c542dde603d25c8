"""Flows over bottlenecks in a row, in both simulators (kaneko2007).

ns-2 has Linux's congestion controls (``linux.tcl``), ns-3 its own and five of ours
(``congestion.cc``). Both leave the same three files, from which the rows are made:
``samples.txt`` (counters every 0.1 s), ``drops.txt`` and ``lost.txt`` (one line per packet that the
queue refused, or that was lost at random).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from validation.generate.case_tables import columns, load, tables_of
from validation.generate.cases import Calls, Column, Rows, Run, Table
from validation.generate.outputs import loss_events
from validation.generate.programs import NS3_TCP, Ns2, Ns3, flags, pairs

PACKET_BITS = 1500 * 8
STEP = 0.1
DRAIN, NS3_DRAIN = 60.0, 120.0
"""Time in s in which the network empties after the sources stop, in ns-2 and in ns-3."""
FEW_EVENTS = 50

NS2 = Ns2("linux.tcl")
NS3 = Ns3("congestion", NS3_TCP, ("rules.h",))
TYPES = {
    "reno": "ns3::TcpNewReno",
    "fusion": "ns3::TcpFusion",
    "rate_estimate": "ns3::TcpRateEstimate",
    "areno": "ns3::TcpAdaptiveReno",
    "compound": "ns3::TcpCompound",
    "fast": "ns3::TcpFast",
    "highspeed": "ns3::TcpHighSpeed",
    "bic": "ns3::TcpBic",
    "cubic": "ns3::TcpCubic",
}
FAST_QUEUE = 200 / 1e9
"""FAST's alpha: packets per bit/s of the bottleneck."""

TABLES = load(__file__)
SEED = columns(TABLES.pop("run"))
"""Column of the seed, which every table has."""


def tables(factors: Mapping[str, Column], series: bool = False) -> dict[str, Table]:
    """Give the CSV files of a case whose runs differ in ``factors``."""
    found = tables_of(TABLES, {**factors, **SEED})
    return found if series else {name: found[name] for name in ("flows", "links")}


def _drops(file: Path, flows: int) -> list[NDArray[np.float64]]:
    """Read the times of the drops of each flow, in s; ns-2's trace format or ``time flow``."""
    times: list[list[float]] = [[] for _ in range(flows)]
    for line in file.read_text().splitlines():
        words = line.split()
        time, flow = (words[1], words[7]) if words[0] == "d" else (words[0], words[1])
        times[int(flow) - 1].append(float(time))
    return [np.array(one) for one in times]


def _at(samples: NDArray[np.float64], time: float) -> int:
    """Row of the sample at ``time``."""
    row = int(np.argmin(np.abs(samples[:, 0] - time)))
    if abs(samples[row, 0] - time) > STEP / 2:
        msg = f"no sample at {time:g} s"
        raise RuntimeError(msg)
    return row


def queue(before: NDArray[np.float64], after: NDArray[np.float64], duration: float) -> dict[str, float]:
    """Return the counts of a queue from its arrivals, departures, drops and area at two times."""
    arrivals, departures, drops, area = after - before
    return {
        "arrivals": int(arrivals),
        "departures": int(departures),
        "drops": int(drops),
        "queued_begin": int(before @ (1, -1, -1, 0)),
        "queued_end": int(after @ (1, -1, -1, 0)),
        "mean_queue": float(area / duration),
    }


def measure(run: Run, folder: Path) -> dict[str, Rows]:
    """Make the rows of one run from the files that it left in ``folder``.

    Each line of samples.txt: time, then arrivals, departures, drops and area of the bottleneck, then
    sent, received, lost at random, acknowledged and cwnd of each flow; the last line comes after
    the network has drained.
    """
    samples = np.loadtxt(folder / "samples.txt", ndmin=2)
    flows = len(run["rules"])
    if samples.shape[1] != 5 + 5 * flows:
        msg = f"samples.txt has {samples.shape[1]} columns"
        raise RuntimeError(msg)
    first, last = _at(samples, run["begin"]), _at(samples, run["end"])
    duration = float(samples[last, 0] - samples[first, 0])
    seconds = run["buffer"] * PACKET_BITS / run["rate"]
    refused, lost = _drops(folder / "drops.txt", flows), _drops(folder / "lost.txt", flows)
    keys = {**run["factors"], "seed": run["seed"]}
    rows: dict[str, Rows] = {"flows": [], "links": []}
    # ns-2 counts the last acknowledged number from 0 and starts at -1.
    counts = samples[last] - samples[first]
    for i in range(flows):
        sent, received, random, acked = (int(n) for n in counts[5 + 5 * i : 9 + 5 * i])
        total = [int(n) for n in samples[-1, 5 + 5 * i : 8 + 5 * i]]
        window = samples[first : last + 1, 9 + 5 * i]
        batch = np.diff(samples[np.linspace(first, last, 11).astype(int), 8 + 5 * i])
        begin, end = samples[first, 0], samples[last, 0]
        inside = [one[(one > begin) & (one <= end)] for one in (refused[i], lost[i])]
        events = loss_events(np.sort(np.concatenate(inside)), run["rtts"][i] + seconds)
        if len(lost[i]) != total[2]:
            msg = f"flow {i + 1}: {len(lost[i])} random drops traced, {total[2]} counted"
            raise RuntimeError(msg)
        rows["flows"].append(
            {
                **keys,
                "flow": i + 1,
                "flow_rule": run["rules"][i],
                "start": run["starts"][i],
                "base_rtt": run["rtts"][i],
                "begin": begin,
                "duration": duration,
                "sent": sent,
                "queue_drops": len(inside[0]),
                "random_drops": random,
                "delivered": received,
                "acked": acked,
                "loss_events": events,
                "few_events": int(events < FEW_EVENTS),
                "goodput": acked / duration,
                "goodput_bits": acked * PACKET_BITS / duration,
                "goodput_half_width": float(2.262 * batch.std(ddof=1) / np.sqrt(10) / (duration / 10)),
                "mean_cwnd": float(window.mean()),
                "total_sent": total[0],
                "total_queue_drops": len(refused[i]),
                "total_random_drops": total[2],
                "total_delivered": total[1],
                "total_stored": total[0] - total[1] - total[2] - len(refused[i]),
            }
        )
    link = queue(samples[first, 1:5], samples[last, 1:5], duration)
    rows["links"].append(
        {
            **keys,
            **{name: run[name] for name in ("rate", "buffer", "loss")},
            "begin": float(samples[first, 0]),
            "duration": duration,
            **link,
            "utilisation": link["departures"] * PACKET_BITS / (run["rate"] * duration),
            "goodput_share": sum(row["goodput_bits"] for row in rows["flows"]) / run["rate"],
        }
    )
    if bin_length := run.get("bin"):
        rows["series"] = _series(run, keys, samples, bin_length)
    return rows


def _series(run: Run, keys: Mapping[str, object], samples: NDArray[np.float64], bin_length: float) -> Rows:
    at = [_at(samples, t) for t in np.arange(0.0, run["end"] + STEP / 2, bin_length)[1:]]
    rows: Rows = []
    for i, rule in enumerate(run["rules"]):
        before = samples[0] * 0
        before[8 + 5 * i] = samples[0, 8 + 5 * i]
        for row in samples[at]:
            length = row[0] - before[0]
            rows.append(
                {
                    **keys,
                    "flow": i + 1,
                    "time": round(float(row[0]), 6),
                    "flow_rule": rule,
                    "goodput": round(float((row[8 + 5 * i] - before[8 + 5 * i]) / length), 2),
                    "cwnd": round(float(row[9 + 5 * i]), 2),
                    "queue": round(float((row[4] - before[4]) / length), 2),
                }
            )
            before = row
    return rows


def path_of(run: Run) -> dict[str, Any]:
    """Return the path: one bottleneck with the shortest RTT, unless the run defines a path."""
    flows = len(run["rules"])
    return {
        "from": [0] * flows,
        "to": [1] * flows,
        "delay": min(run["rtts"]) / 2,
        "back_buffer": 1_000_000,
        **run.get("path", {}),
    }


def ns2_calls(run: Run) -> Calls:
    """Return the options of ``linux.tcl``."""
    path = path_of(run)
    lists = {**{name: run[name] for name in ("rules", "starts", "rtts")}, **path}
    words = {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in lists.items()}
    names = ["rate", "buffer", "loss", "overhead", "seed", "begin", "end", "ssthresh", "window"]
    chosen = {name: run[name] for name in names}
    return [pairs({**words, **chosen, "drain": DRAIN, "step": STEP})]


def ns3_calls(run: Run) -> Calls:
    """Return the options of ``congestion.cc``: those of ``linux.tcl``, and its own names of the rules."""
    path = path_of(run)
    options = {
        "rules": ",".join(TYPES[rule] for rule in run["rules"]),
        "starts": ",".join(f"{start:g}" for start in run["starts"]),
        "rtts": ",".join(f"{rtt:g}" for rtt in run["rtts"]),
        "from": ",".join(map(str, path["from"])),
        "to": ",".join(map(str, path["to"])),
        "hops": path.get("hops", 1),
        "delay": f"{path['delay']:g}",
        "back-buffer": path["back_buffer"],
        **{name: run[name] for name in ("buffer", "seed", "ssthresh", "window")},
        **{name: f"{run[name]:g}" for name in ("rate", "loss", "overhead", "begin", "end")},
        "drain": f"{NS3_DRAIN:g}",
        "step": f"{STEP:g}",
        "fast-alpha": f"{FAST_QUEUE * run['rate']:g}",
    }
    return [flags(options)]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run from the files that it left."""
    return measure(run, folder)


def ns2_seconds(run: Run) -> float:
    """Add the draining to the run in ns-2."""
    return float(run["end"]) + DRAIN


def ns3_seconds(run: Run) -> float:
    """Add the draining to the run in ns-3."""
    return float(run["end"]) + NS3_DRAIN

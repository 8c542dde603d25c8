"""``python -m benchmarks.linux_queues``: the queue managers of the packet level beside those of Linux 6.12 in virtual time.

It writes ``results/linux_queues.csv``, a row for each quantity of each run, and ``results/linux_queues.md``, the tables of the
documentation. Every number follows from the bundled runs (``linux/queue-...``).

The expectations (`TOLERANCES`) were written down before the runs on the drawn paths. Those on the path of 20 Mb/s and 40 ms were seen before, and
nothing was fitted to them: each manager has its defaults, each flow ``stack="linux-6.12"``. Of a quantity that misses, the tables have what it
is with one part at a time switched (`SWITCHES`), which shows what it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.linux_agreement import Tolerance
from dfcmodel import (
    FIFO,
    PIE,
    RED,
    CoDel,
    Flow,
    FlowQueueCoDel,
    Link,
    Packets,
    PacketTrace,
    Replay,
    Scenario,
    StepMarking,
    trace_packets,
)
from dfcmodel.network.disciplines import Discipline
from responsefn import DCTCP, NewReno
from responsefn.linux import LinuxCUBIC
from validation import evidence
from validation.generate.cases import Run
from validation.generate.linux.queue_cases import (
    CASES,
    PACKET,
    SECONDS,
    SINCE,
    thresholds,
)

__all__ = ["TOLERANCES", "QueueMeasures", "compared", "measures_of_linux", "measures_of_trace"]

Floats = NDArray[np.float64]
FOLDER = Path(__file__).parent / "results"
DATA_BITS = 8 * 1448
RULES = {"cubic": LinuxCUBIC(), "reno": NewReno(), "dctcp": DCTCP()}
INTERVAL = 0.1
"""s from one sample of Linux's queue to the next: the interval of CoDel."""
PREFIX = "linux/queue-"
TOLERANCES: dict[str, Tolerance] = {
    "goodput": Tolerance(0.02),
    "delay": Tolerance(0.15, 1.0),
    "standing": Tolerance(0.15, 1.0),
    "sparse": Tolerance(0.15, 1.0),
    "signals": Tolerance(0.2, 8.0),
    "share": Tolerance(by=0.05),
}
"""Of Mb/s, ms, packets, and of the share of the first flow."""


@dataclass(frozen=True)
class QueueMeasures:
    """What is compared of a run, from `SINCE` on.

    Attributes
    ----------
    goodput
        Data of all flows that passed the queue, Mb/s.
    share
        Of the first flow in the goodput of all flows with data without end.
    delay
        Mean in the queue, ms.
    standing
        Median of the shortest delay in each `INTERVAL`, ms.
    sparse
        The delay that 99 % of the packets of the sparse flow do not exceed, ms; nan without one.
    signals
        Packets that were dropped or marked.
    """

    goodput: float
    share: float
    delay: float
    standing: float
    sparse: float
    signals: float


def run_of(name: str, run: str) -> Run:
    """Return the parameters of a run of a discipline."""
    (case,) = (case for case in CASES if case.name == PREFIX + name)
    (found,) = (each for each in case.runs if each["run"] == run)
    return found


def measures_of_linux(name: str, run: str) -> QueueMeasures:
    """Return the measures of a bundled run."""
    tables = {table: _of_run(PREFIX + name, table, run) for table in ("runs", "queues")}
    flows = tables["runs"].sort_values("flow")
    before = tables["queues"][tables["queues"]["time"] <= SINCE].iloc[-1]
    queue = tables["queues"][tables["queues"]["time"] > SINCE]
    ended = queue.iloc[-1]
    endless, sparse = flows[flows["message"] == 0], flows[flows["message"] > 0]
    left = queue["left"].to_numpy(float)
    return QueueMeasures(
        goodput=float(flows["delayed"].sum() * DATA_BITS / (SECONDS - SINCE) / 1e6),
        share=float(endless["delayed"].iloc[0] / endless["delayed"].sum()),
        delay=float((queue["delay"] * left).sum() / left.sum() / 1e6),
        standing=float(queue.loc[left > 0, "least"].median() / 1e6),
        sparse=float(sparse["percentile_99"].iloc[0] / 1e6) if len(sparse) else np.nan,
        signals=float(ended[["drops", "marks"]].sum() - before[["drops", "marks"]].sum()),
    )


def _of_run(case: str, table: str, run: str) -> pd.DataFrame:
    rows = evidence.table(case, table)
    return rows[rows["run"] == run]


def discipline_of(name: str, rate: float, delay: float) -> Discipline:
    """Return the manager for a discipline of the kernel, on a link with a rate in bit/s and a delay in s."""
    queue = thresholds(rate, delay)
    if name == "red":
        return RED(queue["low"], queue["high"], weight=2.0**-9, max_p=0.1, gentle=False, ecn=True)
    if name == "step":
        return StepMarking(float(queue["step"]))
    return {"pfifo": FIFO(), "codel": CoDel(), "pie": PIE(), "fq-codel": FlowQueueCoDel()}[name]


def traced(
    name: str, run: Run, discipline: Discipline | None = None, **options: Any
) -> PacketTrace:
    """Simulate a run at packet level; return the packets at its queue.

    ``discipline``: in place of that of `discipline_of`; ``options``: of the flows.
    """
    rate, delay = run["rate"], run["delay"]
    per_second = rate / (8 * PACKET)
    buffer = thresholds(rate, delay)["buffer"] if name == "pfifo" else 1000
    manager = discipline or discipline_of(name, rate, delay)
    links = [
        Link("left", "right", per_second, delay, buffer, manager),
        Link("right", "left", per_second, delay, 1000),
    ]
    flows = list[Flow]()
    for n, (rule, start) in enumerate(zip(run["rules"], run["starts"], strict=True)):
        path = ("left", "right")
        if extra := run.get("extras", {}).get(n):
            path = (f"far {n}", *path)
            links.append(Link(path[0], "left", 1e3 * per_second, extra / 2.0, 1e5))
        given = dict(options)
        if n in run.get("messages", {}):
            _, interval = run["messages"][n]
            times = np.arange(interval, SECONDS - start, interval)
            given["arrivals"] = Replay(times=tuple(times.tolist()))
        flows.append(Flow(str(n), path, RULES[rule], start=start, stack="linux-6.12", **given))
    scenario = Scenario(name, tuple(links), tuple(flows), duration=float(SECONDS))
    return trace_packets(scenario, "left->right", Packets(seed=1, ack_delay=0.04))


def measures_of_trace(trace: PacketTrace, run: Run) -> QueueMeasures:
    """Return the measures of a simulated run from the packets at its queue."""
    packets = trace.events[~trace.events["ack"]]
    late = packets[packets["sent"] >= SINCE]
    waited = 1e3 * (late["sent"] - late["arrived"])
    sparse = list(run.get("messages", {}))
    counts = np.bincount(late["flow"], minlength=len(run["rules"])).astype(float)
    endless = np.delete(counts, sparse)
    least = pd.Series(waited).groupby(np.floor(late["sent"] / INTERVAL)).min()
    dropped = np.sum(packets["drop_time"] >= SINCE)
    of_sparse = waited[np.isin(late["flow"], sparse)]
    return QueueMeasures(
        goodput=float(counts.sum() * DATA_BITS / (SECONDS - SINCE) / 1e6),
        share=float(endless[0] / endless.sum()),
        delay=float(waited.mean()),
        standing=float(least.median()),
        sparse=float(np.quantile(of_sparse, 0.99)) if sparse else np.nan,
        signals=float(dropped + late["marked"].sum()),
    )


def compared(only: Mapping[str, Any] | None = None, **options: Any) -> Iterator[dict[str, Any]]:
    """Yield the quantities of all runs, Linux's beside ours; ``only``: of these disciplines."""
    for case in CASES:
        name = case.name.removeprefix(PREFIX)
        if only is not None and name not in only:
            continue
        for run in case.runs:
            linux = measures_of_linux(name, run["run"])
            ours = measures_of_trace(traced(name, run, **options), run)
            for quantity, tolerance in TOLERANCES.items():
                found = getattr(linux, quantity), getattr(ours, quantity)
                yield {
                    "discipline": name,
                    "run": run["run"],
                    "quantity": quantity,
                    "linux": found[0],
                    "hopflow": found[1],
                    "tolerance": str(tolerance),
                    "holds": None if np.isnan(found).all() else tolerance.allows(*found),
                }

"""``python -m benchmarks.linux_queues``: the queue managers of the packet level beside those of Linux 6.12 in virtual time.

It writes ``results/linux_queues.csv``, a row for each quantity of each run, and ``results/linux_queues.md``, the tables of the
documentation. Every number follows from the bundled runs (``linux/queue-...``).

The expectations (`TOLERANCES`) were written down before the runs over the drawn paths. Runs over the path of 20 Mb/s and 40 ms were seen before;
nothing was fitted to them. Each manager has its defaults, each flow ``stack="linux-6.12"``. Of a run with a miss, the tables have each quantity
with one part at a time switched (`SWITCHES`), which shows what the miss depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

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
from validation.generate.cases import Run
from validation.generate.linux.queue_cases import CASES, PACKET, SECONDS, SINCE, thresholds
from validation.queue_measures import PREFIX, QueueMeasures, measures_of_linux

__all__ = ["TOLERANCES", "compared", "discipline_of", "measures_of_trace", "traced"]

FOLDER = Path(__file__).parent / "results"
RULES = {"cubic": LinuxCUBIC(), "reno": NewReno(), "dctcp": DCTCP()}
INTERVAL = 0.1
"""s from one sample of Linux's queue to the next: the interval of CoDel."""
UNLIMITED = 1000
"""Packets of a buffer that none of the managers fills."""
TOLERANCES: dict[str, Tolerance] = {
    "used": Tolerance(0.02),
    "delay": Tolerance(0.15, 1.0),
    "standing": Tolerance(0.15, 1.0),
    "sparse": Tolerance(0.15, 1.0),
    "signals": Tolerance(0.2, 8.0),
    "share": Tolerance(by=0.05),
}
"""Of parts, ms, packets."""


def discipline_of(name: str, run: Run) -> Discipline:
    """Return the manager for a discipline of the kernel in a run."""
    queue = thresholds(run["rate"], run["delay"])
    if name == "red":
        return RED(queue["low"], queue["high"], weight=2.0**-9, max_p=0.1, gentle=False, ecn=True)
    if name == "step":
        return StepMarking(float(queue["step"]))
    return {"pfifo": FIFO(), "codel": CoDel(), "pie": PIE(), "fq-codel": FlowQueueCoDel()}[name]


def traced(
    name: str,
    run: Run,
    manager: Callable[[str, Run], Discipline] = discipline_of,
    **options: Any,
) -> PacketTrace:
    """Simulate a run at packet level; return the packets at its queue. ``options``: of the flows."""
    rate, delay = run["rate"], run["delay"]
    per_second = rate / (8 * PACKET)
    buffer = thresholds(rate, delay)["buffer"] if name == "pfifo" else UNLIMITED
    links = [
        Link("left", "right", per_second, delay, buffer, manager(name, run)),
        Link("right", "left", per_second, delay, UNLIMITED),
    ]
    flows = list[Flow]()
    for n, (rule, start) in enumerate(zip(run["rules"], run["starts"], strict=True)):
        path: tuple[str, ...] = ("left", "right")
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
    seconds = SECONDS - SINCE
    rates = np.bincount(late["flow"], minlength=len(run["rules"])) / seconds
    least = pd.Series(waited).groupby(np.floor(late["sent"] / INTERVAL)).min()
    of_sparse = waited[np.isin(late["flow"], sparse)]
    return QueueMeasures(
        rates=tuple(np.delete(rates, sparse).tolist()),
        used=float(rates.sum() * 8 * PACKET / run["rate"]),
        delay=float(waited.mean()),
        standing=float(least.median()),
        sparse=float(np.quantile(of_sparse, 0.99)) if sparse else np.nan,
        drops=float(np.sum(packets["drop_time"] >= SINCE)),
        marks=float(late["marked"].sum()),
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

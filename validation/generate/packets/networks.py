"""Dumbbells and parking lots under Tahoe, Reno, NewReno and SACK in ns-2, packet by packet.

`dumbbell_scenario` and `parking_lot_scenario` are the same networks as scenarios.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dfcmodel import Flow, Scenario, dumbbell, parking_lot
from responsefn import NewReno, Reno, Tahoe, WindowRule
from validation.generate.cases import Calls, Case, Column, Rows, Run, Table
from validation.generate.programs import Ns2

__all__ = ["CASES", "dumbbell_scenario", "parking_lot_scenario", "sample_hash", "scenario_of"]

BITS = 8 * 1500
AGENTS = {"tahoe": "", "reno": "/Reno", "newreno": "/Newreno", "sack": "/Sack1"}
RULES: dict[str, WindowRule] = {
    "tahoe": Tahoe(), "reno": Reno(), "newreno": NewReno(), "sack": NewReno(),
}  # fmt: skip
"""NewReno's rule halves the window once per loss event, as ns-2's Sack1 does."""
SEEDS = tuple(range(1, 9))
PAIRS = (2, 8, 32, 128)
HOPS, LONG = 3, (1, 4, 16)
DURATION, SAMPLE, WINDOW = 3.0, 0.01, 1000.0
RATE, ACCESS_RATE, ACCESS_DELAY, BUFFER = 100e6, 1e9, 1e-3, 100
DELAY = {"dumbbell": 10e-3, "parking lot": 5e-3}
ENDS: dict[str, Any] = {
    "rate": RATE / BITS, "access_rate": ACCESS_RATE / BITS, "access_delay": ACCESS_DELAY,
    "buffer": BUFFER,
}  # fmt: skip


def _starts(seed: int, size: int, count: int) -> list[float]:
    """Return random start times below 0.5 s, in microseconds."""
    return [float(t) for t in np.random.default_rng([seed, size]).uniform(0, 0.5, count).round(6)]


def dumbbell_scenario(recovery: str, pairs: int, seed: int) -> Scenario:
    """Return a dumbbell of one flow per pair, with the random starts of a seed."""
    starts = _starts(seed, pairs, pairs)
    flows = (
        Flow(f"flow{n}", (f"s{n}", "left", "right", f"d{n}"), RULES[recovery], WINDOW, start)
        for n, start in enumerate(starts, 1)
    )
    links = dumbbell(pairs, delay=DELAY["dumbbell"], **ENDS)
    return Scenario(f"dumbbell {pairs}", links, tuple(flows), duration=DURATION)


def parking_lot_scenario(recovery: str, long: int, seed: int) -> Scenario:
    """Return a parking lot of three hops: ``long`` flows over all, as many over each hop."""
    starts = iter(_starts(seed, long, long * (HOPS + 1)))
    flows = []
    for n in range(1, long + 1):
        paths = [("s1", *range(1, HOPS + 2), f"d{HOPS + 1}")]
        paths += [(f"s{h}", h, h + 1, f"d{h + 1}") for h in range(1, HOPS + 1)]
        for path, kind in zip(paths, ("long", "first", "second", "third"), strict=True):
            flows.append(Flow(f"{kind}{n}", path, RULES[recovery], WINDOW, next(starts)))
    links = parking_lot(HOPS, delay=DELAY["parking lot"], **ENDS)
    return Scenario(f"parking lot {long}", links, tuple(flows), duration=DURATION)


SCENARIOS = {"dumbbell": dumbbell_scenario, "parking lot": parking_lot_scenario}


def scenario_of(run: Run) -> Scenario:
    """Return the scenario of a run."""
    scenario = SCENARIOS[run["topology"]](run["recovery"], run["size"], run["seed"])
    late = bool(run.get("delayed"))
    flows = tuple(replace(flow, delayed_acks=late) for flow in scenario.flows)
    return replace(scenario, flows=flows)


def sample_hash(windows: Iterable[float], acknowledged: Iterable[int]) -> str:
    """Return the SHA-256 of a flow's windows, in the six digits that Tcl prints, and its ACKs."""
    lines = (f"{w:.6g} {a:d}" for w, a in zip(windows, acknowledged, strict=True))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def calls(run: Run) -> Calls:
    """Return the options of network.tcl: every link with its mirror, the flows."""
    scenario = scenario_of(run)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    links, flows = [], []
    for link in scenario.links:
        ends = (nodes[link.source], nodes[link.target])
        about = f"{round(link.rate * BITS)} {link.delay:.17g} {link.buffer:.0f}"
        links += [f"{a} {b} {about}" for a, b in (ends, ends[::-1])]
    for flow in scenario.flows:
        first, last = nodes[flow.path[0]], nodes[flow.path[-1]]
        flows.append(f"{first} {last} {flow.start:.17g} {flow.max_window:.0f}")
    sink = "Agent/TCPSink" + ("/Sack1" if run["recovery"] == "sack" else "")
    sink += "/DelAck" if run.get("delayed") else ""
    options = {
        "agent": f"Agent/TCP{AGENTS[run['recovery']]}", "sink": sink,
        "nodes": len(nodes), "links": " ".join(links), "flows": " ".join(flows),
        "duration": DURATION, "sample": SAMPLE, "seed": run["seed"],
    }  # fmt: skip
    return [[str(word) for pair in options.items() for word in pair]]


def read(run: Run, folder: Path, printed: Sequence[str]) -> dict[str, Rows]:  # noqa: ARG001
    """Make the rows of one run."""
    keys = {name: run[name] for name in ("recovery", "size", "seed")}
    samples = np.loadtxt(folder / "samples.txt", ndmin=2)
    flows: Rows = []
    for row in np.loadtxt(folder / "flows.txt", ndmin=2):
        f, acknowledged, sent, again, timeouts = map(int, row)
        acks = samples[:, 2 + 2 * f].astype(int)
        flows.append(
            {
                **keys, "flow": f, "acknowledged": acknowledged, "sent": sent, "sent_again": again,
                "timeouts": timeouts, "samples": sample_hash(samples[:, 1 + 2 * f], acks),
            }
        )  # fmt: skip
    links: Rows = []
    for row in np.loadtxt(folder / "links.txt", ndmin=2):
        a, b, drops = map(int, row)
        if drops > 0:
            links.append({**keys, "from": a, "to": b, "drops": drops})
    return {"flows": flows, "links": links}


RUN = {
    "recovery": Column("", "tahoe, reno, newreno or sack"),
    "size": Column("1", "pairs of a dumbbell; long flows of a parking lot"),
    "seed": Column("1", "seed of ns-2's default generator and of the start times"),
}
TABLES = {
    "flows": Table(
        {**RUN, "flow": Column("1", "number of the flow, from 0")},
        {
            "acknowledged": Column("packets", "number of the last packet acknowledged, ack_"),
            "sent": Column("packets", "ndatapack_"),
            "sent_again": Column("packets", "nrexmitpack_"),
            "timeouts": Column("1", "nrexmit_"),
            "samples": Column("", "SHA-256 (16 digits) of cwnd_ and ack_ at every sample"),
        },
    ),
    "links": Table(
        {**RUN, "from": Column("1", "node"), "to": Column("1", "node")},
        {"drops": Column("packets", "packets and ACKs dropped; links without drops are left out")},
    ),
}


def _runs(topology: str, sizes: tuple[int, ...], delayed: bool) -> list[Run]:
    """Return the runs of a topology; those with delayed ACKs are of two seeds."""
    return [
        {"topology": topology, "recovery": recovery, "size": size, "seed": seed}
        | ({"delayed": True} if delayed else {})
        for recovery in AGENTS
        for size in sizes
        for seed in (SEEDS[:2] if delayed or size > 100 else SEEDS)
    ]


def _case(
    name: str, topology: str, title: str, sizes: tuple[int, ...], *, delayed: bool = False
) -> Case:
    return Case(
        name=name,
        title=title,
        claims=(),
        program=Ns2("network.tcl"),
        parameters={
            "rate of the bottlenecks": (RATE, "bit/s"),
            "delay of the bottlenecks": (DELAY[topology], "s"),
            "rate of the access links": (ACCESS_RATE, "bit/s"),
            "delay of the access links": (ACCESS_DELAY, "s"),
            "buffer of each, both directions": (BUFFER, "packets"),
            "largest window": (WINDOW, "packets"),
            "duration": (DURATION, "s"),
            "interval of the samples": (SAMPLE, "s"),
        },
        tables=TABLES,
        runs=_runs(topology, sizes, delayed),
        calls=calls,
        read=read,
        simulated_seconds=lambda _: DURATION,
        notes=(
            "Random starts below 0.5 s; acknowledgements of 40 bytes queue on the way back.",
            *(("Receivers delay ACKs by up to 100 ms, ns-2's default.",) if delayed else ()),
        ),
    )


CASES = (
    _case(
        "packets/dumbbells-ns2", "dumbbell", "2 to 128 flows over one bottleneck, 8 seeds, 2 of 128 flows", PAIRS
    ),
    _case(
        "packets/parking-lots-ns2", "parking lot",
        "1 to 16 flows over three bottlenecks and as many over each, 8 seeds", LONG,
    ),
    _case(
        "packets/delayed-acks-ns2", "dumbbell",
        "2 to 32 flows over one bottleneck whose receivers delay ACKs, 2 seeds", PAIRS[:3], delayed=True,
    ),
)  # fmt: skip

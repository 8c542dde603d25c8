"""Dumbbells, parking lots and takano2006's chains under Tahoe, Reno, NewReno and SACK: runs of ns-2 as scenarios."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import Flow, Scenario, dumbbell, parking_lot, takano2006
from responsefn import NewReno, Reno, Tahoe, WindowRule

BITS = 8 * 1500
RULES: dict[str, WindowRule] = {
    "tahoe": Tahoe(), "reno": Reno(), "newreno": NewReno(), "sack": NewReno(),
}  # fmt: skip
"""NewReno's rule halves the window once per loss event, as ns-2's Sack1 does."""
HOPS = 3
DURATION, SAMPLE, WINDOW = 3.0, 0.01, 1000.0
RATE, ACCESS_RATE, ACCESS_DELAY, BUFFER = 100e6, 1e9, 1e-3, 100
SPREAD = 1e-3
"""Of the starts of takano2006's flows, in s."""
CHAIN_SEEDS = {1: range(9), 2: range(9), 3: range(1), 4: range(1), 5: range(1), 6: range(1)}
"""Seeds of the bundled runs of takano2006's scenarios; 0: the paper's starts, and no seed. A run of 3 to 6 takes ns-2 4 to 14 s
of CPU, SACK in scenario 5 115 s."""
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


def chain_scenario(recovery: str, number: int, seed: int) -> Scenario:
    """Return a scenario of takano2006 without DFC, 1 to 6; starts are the paper's for seed 0, up to 1 ms later else."""
    rule = "newreno" if recovery == "sack" else recovery
    scenario = takano2006(str(number), dfc=False, tcp=rule)
    later = np.random.default_rng([seed, number]).uniform(0, SPREAD if seed else 0.0, 2).round(9)
    flows = zip(scenario.flows, later, strict=True)
    return replace(scenario, flows=tuple(replace(flow, start=flow.start + float(t)) for flow, t in flows))


SCENARIOS = {
    "dumbbell": dumbbell_scenario,
    "parking lot": parking_lot_scenario,
    "takano2006": chain_scenario,
}


def scenario_of(run: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a run: topology, recovery, size, seed, and whether ACKs are ``delayed``."""
    scenario = SCENARIOS[run["topology"]](run["recovery"], run["size"], run["seed"])
    late = bool(run.get("delayed"))
    flows = tuple(replace(flow, delayed_acks=late) for flow in scenario.flows)
    return replace(scenario, flows=flows)


def sample_hash(windows: Iterable[float], acknowledged: Iterable[int], size: float = math.inf) -> str:
    """Return the SHA-256 of a flow's windows, in the six digits that Tcl prints, and its ACKs.

    Samples after the one at which ``size`` packets are acknowledged are left out: ns-2's timer then resets the
    window of the idle sender, which has nothing to send.
    """
    lines = []
    for w, a in zip(windows, acknowledged, strict=True):
        lines.append(f"{w:.6g} {a:d}")
        if a >= size:
            break
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

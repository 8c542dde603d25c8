"""Random fabrics that pause: leaves and a spine, with every kind of source, host and counting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import CBR, PFC, Flow, Link, OnOff, Pause, RampMarking, Scenario
from responsefn import CUBIC, DCQCN, TIMELY, NewReno

__all__ = ["in_turns", "random_fabric"]


def random_fabric(seed: int, host: str | None = None) -> Scenario:
    """Return 1 to 3 leaves with 2 to 5 hosts each, links of unequal rates, and 3 to 24 flows in both directions."""
    rng = np.random.default_rng([2043, seed])
    leaves, per = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    hosts = leaves * per
    rate = float(10 ** rng.uniform(5.5, 7.0))
    near, far = rng.uniform(1.0, 60.0, 2) / rate  # delays in packet times
    classes = [(0,), (3,), (0, 3)][rng.integers(3)]
    xoff = float(rng.integers(2, 40))
    xon = float(rng.integers(0, int(xoff) + 1))
    acks = "class" if rng.integers(4) == 0 else "control"
    counts = ["output", "switch"][rng.integers(2)]
    rule = PFC(classes, xoff=xoff, xon=xon, counts=counts, acks=acks)
    lines = rate * rng.uniform(0.7, 1.3, hosts)
    flows = []
    for f in range(int(rng.integers(3, 25))):
        a, b = rng.choice(hosts, 2, replace=False).tolist()
        between = () if a // per == b // per else ("spine", f"leaf{b // per}")
        source = _source(rng, lines[a])
        flows.append(
            Flow(
                f"{f}: {a} to {b}",
                (f"h{a}", f"leaf{a // per}", *between, f"h{b}"),
                source,
                max_window=200.0,
                start=float(rng.uniform(0.0, 200.0)) / rate,
                size=float(rng.integers(10, 400)) if rng.integers(2) else np.inf,
                priority=int(rng.choice(classes)),
                delayed_acks=bool(rng.integers(2)) and isinstance(source, (NewReno, CUBIC)),
                host=host,
            )
        )
    if all(isinstance(flow.source, (DCQCN, TIMELY)) for flow in flows) and acks == "control":
        rule = replace(rule, manager=RampMarking())
    given = Pause(high=xoff, low=xon) if rng.integers(4) == 0 else rule
    ends = [(f"h{i}", f"leaf{i // per}", lines[i], near) for i in range(hosts)]
    if leaves > 1:
        up = rate * rng.uniform(0.5, 4.0)
        ends += [(f"leaf{n}", "spine", up, far) for n in range(leaves)]
    links = [
        Link(*way, line * rng.uniform(0.9, 1.1), delay * rng.uniform(0.8, 1.2), 20_000.0, given)
        for a, b, line, delay in ends
        for way in ((a, b), (b, a))
    ]
    size = float(rng.choice([1000.0, 1500.0, 4096.0]))
    return Scenario(f"fabric {seed}", links, flows, duration=600.0 / rate, packet_size=size)


def _source(rng: np.random.Generator, line: float) -> object:
    """Return a source of any kind, at most at the rate of its line."""
    on, off = rng.uniform(100.0, 1000.0, 2) / line
    return [
        CBR(line * rng.uniform(0.2, 1.0)),
        OnOff(line, on, off, random=bool(rng.integers(2))),
        NewReno(),
        CUBIC(),
        DCQCN(),
        TIMELY(),
    ][rng.integers(6)]


def in_turns(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with flows of a few packets, most of which wait for one or two others."""
    rng = np.random.default_rng([48, seed])
    flows = []
    for f, flow in enumerate(scenario.flows):
        own: dict[str, Any] = {"size": float(rng.integers(1, 30))}
        if f > 0 and rng.integers(3):
            own["after"] = tuple(rng.choice(f, min(f, int(rng.integers(1, 3))), replace=False).tolist())
            own["start"] = float(rng.choice([0.0, 0.0, 1e-6, 2e-5]))
            again = np.random.default_rng([49, seed, f])
            if again.integers(2):
                own["delays"] = tuple(again.choice([0.0, 1e-6, 5e-5], len(own["after"])).tolist())
                own["start"] += float(again.choice([0.0, 3e-5]))
        flows.append(replace(flow, **own))
    return replace(scenario, flows=tuple(flows))

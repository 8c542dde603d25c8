"""The ring of four switches (L02 to L04), routes without cycles (L05), and the routing loop (L01)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from dfcmodel import CBR, PFC, Cable, Fabric, Flow, FlowOptions, Fluid, Link, Packets, Scenario, incast, simulate
from dfcmodel.lossless import buffer_cycles, deadlock, fat_tree, leaf_spine
from hopflow import gbps
from responsefn import FixedRate
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.judgements.keeping import kept
from validation.statistics import Estimate

C = fabric_runs.line(40)
DELAY = 1e-6
END = 4e-3
COUNTS = ("output", "switch")
"""What a switch counts of an ingress."""
LIMIT = float(gbps(2, fabric_runs.PACKET))
PATHS = (("h1", *"ABCD", "d1"), ("h2", *"CDAB", "d2"), ("h3", *"BC", "d3"))
"""The two flows of Fig. 3 and the third one of Fig. 4."""
LOW_LIMIT = float(gbps(0.2, fabric_runs.PACKET))
TWO, THREE, LIMITED, LOW = (
    "two flows",
    "three flows",
    "third flow limited",
    "limited to a tenth of that",
)


def ring(case: str, counts: str, seed: int) -> Scenario:
    """Return the flows of a case on the ring; they start within half a microsecond of each other."""
    paths = PATHS[:2] if case == TWO else PATHS
    rates = [C, C, {LIMITED: LIMIT, LOW: LOW_LIMIT}.get(case, C)]
    rule = PFC((0,), xoff=40, xon=38, counts=counts)
    ends = dict.fromkeys(pair for path in PATHS for pair in itertools.pairwise(path))
    links = [Link(*each, C, DELAY, 5000, rule) for each in (*ends, ("D", "A"))]
    links = list(dict.fromkeys(links))
    begins = np.random.default_rng(seed).uniform(0.0, 5e-7, 3).tolist()
    flows = [
        Flow(path[0], path, CBR(rate), host="unshaped", start=start)
        for path, rate, start in zip(paths, rates, begins, strict=False)
    ]
    return Scenario(case, links, flows, duration=END, packet_size=fabric_runs.PACKET)


class Outcome(NamedTuple):
    """Whether a run was deadlocked, and the least rate of its first two flows in its second half over the link's."""

    deadlocked: bool
    rate: float


@kept
def outcomes(case: str, level: str) -> list[list[Outcome]]:
    """Return how runs of a case end, for each seed one of each rule in `COUNTS`."""
    packets = level == "packets"
    return [
        [_outcome(ring(case, counts, seed), Packets(seed=seed) if packets else Fluid(steps_per_delay=16)) for counts in COUNTS]
        for seed in (fabric_runs.EIGHT_SEEDS if packets else fabric_runs.SEEDS[:1])
    ]  # fmt: skip


def _outcome(scenario: Scenario, method: Packets | Fluid) -> Outcome:
    run = simulate(scenario, method, sample=5e-5)
    half = len(run.time) // 2
    rates = (run.delivered[:2, -1] - run.delivered[:2, half]) / (run.time[-1] - run.time[half]) / C
    return Outcome(bool(run.status.label == "deadlocked"), float(rates.min()))


def deadlocked(case: str, level: str, wanted: bool) -> list[bool]:
    """Return for each seed whether all of its runs are deadlocked, or none."""
    return [all(run.deadlocked is wanted for run in runs) for runs in outcomes(case, level)]


def deadlocks(case: str, wanted: bool) -> Statement:
    """Return the statement that a case ends in a deadlock, or does not, by fluid and packets."""
    return Statement(
        model=in_all(deadlocked(case, "fluid", wanted)),
        level=fabric_runs.in_most_runs(deadlocked(case, "packets", wanted)),
    )


def in_all(holds: Sequence[bool]) -> Any:
    """Return an exact quantity that is positive where all runs of a model hold."""
    return fabric_runs.exact(1.0 if all(holds) else -1.0)


def part(case: str, level: str) -> float:
    """Return the part of the runs of a case that are deadlocked."""
    return float(np.mean([run.deadlocked for runs in outcomes(case, level) for run in runs]))


def cycles(*paths: tuple[str, ...]) -> set[frozenset[Any]]:
    """Return the buffers of each cycle of dependencies among those of some routes."""
    graph = nx.DiGraph([pair for path in PATHS for pair in itertools.pairwise(path)])
    found = buffer_cycles(graph, [list(path) for path in paths])
    return {frozenset(map(tuple, each)) for each in found}


def _curve(*cases: str) -> dict[str, Curve]:
    return {
        "deadlocked": Curve(
            cases,
            model=[part(case, "fluid") for case in cases],
            level=[Estimate(part(case, "packets"), 0.0) for case in cases],
        )
    }


AXES = ("flows on the ring", "part of the runs")


@fabric_runs.on_fabrics("L02")
def two_flows() -> Effects:
    """Run two flows on the ring, and count the cycles of their buffers."""
    own, model = (
        [all(run.rate > 0.0 and not run.deadlocked for run in runs) for runs in outcomes(TWO, level)]
        for level in ("packets", "fluid")
    )
    return Effects(
        {
            "cycle": Statement(model=fabric_runs.exact(len(cycles(*PATHS[:2])))),
            "moves": deadlocks(TWO, wanted=False),
            "flowing": Statement(model=in_all(model), level=fabric_runs.in_most_runs(own)),
        },
        _curve(TWO, THREE),
        AXES,
        values={"rate": min(run.rate for runs in outcomes(TWO, "packets") for run in runs)},
    )


@fabric_runs.on_fabrics("L03")
def three_flows() -> Effects:
    """Run three flows on the ring, and compare the cycles of their buffers."""
    same = cycles(*PATHS) == cycles(*PATHS[:2])
    return Effects(
        {
            "deadlock": deadlocks(THREE, wanted=True),
            "dependency": Statement(model=fabric_runs.exact(1.0 if same else -1.0)),
        },
        _curve(TWO, THREE),
        AXES,
    )


@fabric_runs.on_fabrics("L04")
def limited_flow() -> Effects:
    """Run the ring with the third flow limited."""
    limited, low = (deadlocks(case, wanted=False) for case in (LIMITED, LOW))
    return Effects(
        {"limited": limited},
        _curve(THREE, LIMITED, LOW),
        AXES,
        values={case: part(case, "fluid") for case in (LIMITED, LOW)},
        readings={"a limit of 0.2 Gb/s": {"limited": low}},
    )


@kept
def overloaded() -> list[float]:
    """Return for each run of an incast on a leaf-spine fabric whether it was deadlocked, 1 or 0."""
    cable = Cable("40Gbps", "100m")
    fabric = Fabric(
        leaf_spine(4, 2, hosts=4),
        cable,
        cable,
        buffer="1 MB",
        packet_size=fabric_runs.PACKET,
        discipline=fabric_runs.pfc(40.0),
    )
    found = []
    for seed in fabric_runs.EIGHT_SEEDS:
        target, *others = np.random.default_rng(seed).permutation(16).tolist()
        hosts = fabric.hosts
        flows = incast(
            [hosts[n] for n in others], hosts[target], sizes=2000, source=FixedRate(), links=fabric.links,
            routes="ecmp",
            options=FlowOptions(host="nic"),
        )  # fmt: skip
        run = simulate(fabric.scenario("incast", flows, END), Packets(seed=seed), sample=5e-5)
        found.append(float(run.status.label == "deadlocked"))
    return found


@fabric_runs.on_fabrics("L05")
def without_cycles() -> Effects:
    """Look for cycles in trees, and overload a fabric without one."""
    graphs = {"leaf-spine": leaf_spine(4, 2, hosts=4), "fat tree": fat_tree(4)}
    free = {name: deadlock(graph).is_free for name, graph in graphs.items()}
    return Effects(
        {
            "free": Statement(model=fabric_runs.exact(*(1.0 if each else -1.0 for each in free.values()))),
            "moves": Statement(level=fabric_runs.in_most_runs([not each for each in overloaded()])),
        },
        {
            "free of cycles": Curve(list(free), model=[float(each) for each in free.values()]),
            "incast deadlocked": Curve(["leaf-spine"], level=[Estimate(float(np.mean(overloaded())), 0.0)]),
        },
        ("network", "part"),
    )


LOOP, TTL = 2, 16
"""Links of the loop, and packets' time to live, of the paper."""
LOADS = 0.8, 1.25
"""Rates into the loop over n B / TTL."""


@kept
def caught(load: float) -> list[list[float]]:
    """Return for each rule in `COUNTS`, and each run of a flow that is caught in the loop, whether it was deadlocked, 1 or 0."""
    return [[_caught(load * LOOP * C / TTL, counts, seed) for seed in fabric_runs.EIGHT_SEEDS] for counts in COUNTS]


def _caught(rate: float, counts: str, seed: int) -> float:
    rule = PFC((0,), xoff=40, xon=38, counts=counts)
    links = [Link(*ends, C, DELAY, 5000, rule) for ends in (("h", "A"), ("A", "B"), ("B", "A"))]
    begin = float(np.random.default_rng(seed).uniform(0.0, 5e-7))
    flow = Flow("caught", tuple("hABA"), CBR(rate), host="nic", start=begin, ttl=TTL)
    scenario = Scenario("routing loop", links, [flow], duration=END, packet_size=fabric_runs.PACKET)
    run = simulate(scenario, Packets(seed=seed), sample=5e-5)
    return float(run.status.label == "deadlocked")


@fabric_runs.on_fabrics("L01")
def routing_loop() -> Effects:
    """Run a flow into the paper's loop, below and above n B / TTL."""
    below, above = (np.array(caught(load)) for load in LOADS)
    holds = ((below == 0.0) & (above == 1.0)).all(axis=0).tolist()
    return Effects(
        {"rate": Statement(level=fabric_runs.in_most_runs(holds))},
        {
            "deadlocked": Curve(
                [load * LOOP * 40.0 / TTL for load in LOADS],
                level=[Estimate(float(np.mean(each)), 0.0) for each in (below, above)],
            )
        },
        ("rate into the loop (Gb/s)", "part of the runs"),
    )

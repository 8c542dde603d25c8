"""Flows over one to three bottlenecks, with and without reverse traffic (K10)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pandas as pd

from dfcmodel import Flow, Fluid, Link, Packets, Scenario, simulate
from hopflow.units import mbps, ms
from validation.claims.effect_claims import by, effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement
from validation.claims.kaneko2007.runs import NAMES, PACKET_BITS, RULES, of_cases, seeds_of
from validation.judgements.keeping import kept
from validation.statistics import Estimate, difference, of_runs, weakest

if TYPE_CHECKING:
    from numpy.typing import NDArray

CASES = {
    "ns-3": ("kaneko2007/parking-lot-ns3",),
    "ns-2": ("kaneko2007/parking-lot-ns2", "kaneko2007/parking-lot-more-seeds-ns2"),
}
HOPS, RATE, DELAY, BUFFER = 3, 100.0, 10.0, 167.0
"""Bottlenecks in a row; Mb/s, ms and packets of each, in both directions."""
WINDOW = 7000.0
"""Largest window of all flows, packets."""
BEGIN, END, SAMPLE = 15.0, 50.0, 5.0
"""Seconds between which goodput is measured, those of ns-3; length of a sample, which divides both."""
METHODS: dict[str, Fluid | Packets] = {
    "fluid": Fluid(recovery="sack"),
    "packets": Packets(recovery="sack", seed=1),
}
"""Both levels; Linux's modules and ns-3's sockets repair losses by SACK."""
SEEDS = {"fluid": 12, "packets": 4}
"""Runs of each: over 8 of the fluid a step was open. Those of packets are of one rule."""


def lot(rule: str, reverse: int, starts: NDArray[Any]) -> Scenario:
    """Return the parking lot: a flow of the rule and one of Reno over each number of last links.

    ``reverse`` Reno flows go back over each link. ``starts`` are in s, those of the forward flows first.
    """
    links = (
        Link(*ends, rate=mbps(RATE), delay=ms(DELAY), buffer=BUFFER)
        for h in range(HOPS)
        for ends in ((h, h + 1), (h + 1, h))
    )
    ways = [tuple(range(HOPS - h, HOPS + 1)) for h in range(1, HOPS + 1) for _ in range(2)]
    names = [rule, "reno"] * HOPS + ["reno"] * (HOPS * reverse)
    ways += [(h + 1, h) for h in range(HOPS) for _ in range(reverse)]
    flows = (
        Flow(str(n), way, RULES[name], WINDOW, float(start))
        for n, (name, way, start) in enumerate(zip(names, ways, starts, strict=True), 1)
    )
    return Scenario("parking lot", tuple(links), tuple(flows), duration=END)


@kept
def runs(level: str, rule: str, reverse: int) -> pd.DataFrame:
    """Return the forward flows of runs of a level: seed, flow, hops, flow_rule, goodput_bits.

    As in the bundled runs, starts are random within 0.1 s, and each packet waits up to the time of one.
    """
    import numpy as np

    found = []
    for seed in range(1, SEEDS[level] + 1):
        starts = np.random.default_rng([seed, reverse]).uniform(0.0, 0.1, HOPS * (2 + reverse))
        run = simulate(
            lot(rule, reverse, starts), METHODS[level], packet_jitter=1.0 / mbps(RATE), seed=seed,
            sample=SAMPLE,
        )  # fmt: skip
        for n in range(2 * HOPS):
            first, last = np.interp([BEGIN, END], run.time, run.delivered[n])
            found.append(
                {
                    "seed": seed, "flow": n + 1, "hops": 1 + n // 2,
                    "flow_rule": "reno" if n % 2 else rule,
                    "goodput_bits": PACKET_BITS * (last - first) / (END - BEGIN),
                }
            )  # fmt: skip
    return pd.DataFrame(found)


def by_hops(frame: pd.DataFrame, rule: str) -> dict[int, Estimate]:
    """Return the mean throughput of the rule's flows by the number of bottlenecks, Mb/s."""
    flows = frame[frame["flow_rule"] == rule]
    return by(flows.assign(rate=1e-6 * flows["goodput_bits"]), "hops", "rate", (0.0, RATE))


def falls(found: dict[int, Estimate]) -> Estimates:
    """Return by how much the throughput falls with each bottleneck more."""
    return tuple(difference(found[a], found[b]) for a, b in itertools.pairwise(found))


def far(frame: pd.DataFrame, rule: str) -> Estimate:
    """Return the rule's throughput over all bottlenecks over that over one."""
    flows = frame[frame["flow_rule"] == rule]
    return of_runs((seeds_of(flows, hops=HOPS) / seeds_of(flows, hops=1)).to_numpy())


@effects("K10", cases=(*CASES["ns-3"], *CASES["ns-2"]))
def parking_lot() -> Effects:
    """Measure the throughput by the number of bottlenecks, with and without reverse traffic."""
    curves = {}
    seen: dict[str, list[Estimate]] = {name: [] for name in ("ns-3", "ns-2")}
    modelled: list[Estimate] = []
    level: list[Estimate] = []
    reno: dict[int, list[Estimate]] = {}
    for name, cases in CASES.items():
        frame = of_cases(*cases)
        frame = frame[(frame["direction"] == "forward") & frame["rule"].isin(list(NAMES))]
        for (rule, reverse), group in frame.groupby(["rule", "reverse"]):
            rule, back = str(rule), int(str(reverse))
            found, own = by_hops(group, rule), by_hops(runs("fluid", rule, back), rule)
            seen[name] += falls(found)
            modelled += falls(own)
            curves[f"{NAMES[rule]}, {name}, {'with' if back else 'no'} reverse traffic"] = Curve(
                list(found),
                list(found.values()),
                [e.value for e in own.values()],
            )
            if rule == "reno":
                level += falls(by_hops(runs("packets", rule, back), rule))
                levels = (runs(level, rule, back) for level in METHODS)
                reno[back] = [far(each, rule) for each in (*levels, group)]
            if rule == "fusion" and not back:
                fusion = far(group, rule)
    return Effects(
        {"hops": Statement({tool: tuple(each) for tool, each in seen.items()}, tuple(modelled), level=tuple(level))},
        curves,
        ("bottlenecks", "throughput of a flow (Mb/s)"),
        values={
            "down": {tool: sum(e.value > 0.0 for e in each) for tool, each in seen.items()},
            "steps": {tool: len(each) for tool, each in seen.items()},
            "model_down": sum(e.value > 0.0 for e in modelled),
            "alone": reno[0], "reverse": reno[max(reno)], "fusion": fusion,
            "certain": {tool: weakest(each) for tool, each in seen.items()},
        },
    )  # fmt: skip

"""Active flows at a switch with fair queueing (B01), and bytes of flows within a round trip (B02)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dfcmodel import Fair, Flow, FlowSizes, Link, Packets, Scenario, flow_sizes, simulate
from responsefn import FixedRate
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement
from validation.networks.further_seeds import CASE, LATER, over_seeds
from validation.statistics import Estimate, difference, of_runs, ratio

LOADS = (0.5, 0.7)
HEAVY = 0.9
SPEEDS = (10.0, 100.0)
"""Gb/s."""
MEAN = 20
"""Packets of a flow, geometric."""
FLOWS, MANY_FLOWS = 800, 2000
MOST_ACTIVE = 50.0
ROUND_TRIP = 12e-6
RATES = (10.0, 40.0, 100.0, 400.0)
"""Gb/s, of links whose product of bandwidth and delay flows are compared with."""


@over_seeds(fabric_runs.SEEDS)
def active(seed: int, load: float, speed: float) -> float:
    """Return the mean number of unfinished flows at a link with fair queueing; the flows of a seed are the same at each speed.

    Flows come as a Poisson process from hosts of their own, whose links are as fast. A flow counts from its first packet to its last one at the link, by Little's law.
    """
    return _active(seed, load, speed, FLOWS, np.random.default_rng(seed))


@over_seeds(fabric_runs.EIGHT_SEEDS)
def active_of_own_flows(seed: int, load: float, speed: float) -> float:
    """Return the same of `MANY_FLOWS` flows, which are drawn for each speed independently."""
    return _active(seed, load, speed, MANY_FLOWS, np.random.default_rng((seed, round(speed))))


def _active(seed: int, load: float, speed: float, count: int, random: np.random.Generator) -> float:
    rate = fabric_runs.line(speed)
    begins = np.cumsum(random.exponential(MEAN / (load * rate), count))
    sizes = random.geometric(1.0 / MEAN, count)
    links = [Link("switch", "receiver", rate, 1e-9, 10 * MEAN * count, Fair())]
    flows = [
        Flow(
            str(n),
            ("switch", "receiver"),
            FixedRate(),
            size=int(size),
            start=float(start),
            host="unshaped",
        )
        for n, (size, start) in enumerate(zip(sizes, begins, strict=True))
    ]
    end = 2.0 * float(begins[-1])
    scenario = Scenario("fair", links, flows, duration=end, packet_size=fabric_runs.PACKET, min_rto=end)
    run = simulate(scenario, Packets(seed=seed, recovery="none"), sample=end / 10)
    return float((run.finished - begins).sum() / begins[-1])


def geometric_quantile(load: float, part: float) -> float:
    """Return the quantile of the number of jobs at a server that they share, whose law is geometric."""
    return math.ceil(math.log1p(-part) / math.log(load)) - 1.0


@fabric_runs.on_fabrics("B01", cases=(CASE, LATER), equal=0.2)
def active_flows() -> Effects:
    """Measure how many flows are active at a link with fair queueing."""
    found = {load: np.array(active(load, SPEEDS[0])) for load in LOADS}
    fast = np.array(active(LOADS[1], SPEEDS[1]))
    slow_and_fast = [of_runs(active_of_own_flows(LOADS[0], speed)) for speed in SPEEDS]
    independent = difference(ratio(*slow_and_fast[::-1]), Estimate(1.0, 0.0))
    wanted = {load: load / (1.0 - load) for load in LOADS}
    quantile = geometric_quantile(HEAVY, 0.99)
    return Effects(
        {
            "load": Statement(
                level=tuple(e for load in LOADS for e in fabric_runs.deviations(found[load], wanted[load])),
                equal=True,
            ),
            "speed": Statement(level=fabric_runs.deviations(fast / found[LOADS[1]], 1.0), equal=True),
            "few": Statement(model=fabric_runs.exact(MOST_ACTIVE - quantile)),
            "speeds": Statement(level=(independent,), equal=True),
        },
        {
            "10 Gb/s": Curve(LOADS, model=list(wanted.values()), level=[of_runs(e) for e in found.values()]),
            "10 Gb/s, more flows": Curve(LOADS[:1], level=slow_and_fast[:1]),
            "100 Gb/s, as many other flows": Curve(LOADS[:1], level=slow_and_fast[1:]),
        },
        ("load", "active flows"),
        values={"quantile": quantile},
    )  # fmt: skip


def bytes_within(sizes: FlowSizes, limit: float) -> float:
    """Return the part of the bytes that flows of at most ``limit`` bytes have, of sizes that are uniform between points."""
    points, shares = np.array(sizes.sizes, dtype=np.float64), np.array(sizes.shares)

    def of(upper: Any) -> float:
        inside = np.append(points[points < upper], upper)
        below = np.interp(inside, points, shares)
        return float(points[0] * shares[0] + (np.diff(below) * (inside[1:] + inside[:-1]) / 2.0).sum())

    return of(min(limit, points[-1])) / of(points[-1])


@fabric_runs.on_fabrics("B02")
def within_a_round_trip() -> Effects:
    """Compute the part of the bytes in flows within a product of bandwidth and delay."""
    names = ("web search", "hadoop")
    parts = {name: [bytes_within(flow_sizes(name), rate * 1e9 / 8.0 * ROUND_TRIP) for rate in RATES] for name in names}
    return Effects(
        {"grows": Statement(model=fabric_runs.steps([parts[names[0]]]) + fabric_runs.steps([parts[names[1]]]))},
        {name: Curve(RATES, model=each) for name, each in parts.items()},
        ("link (Gb/s)", "part of the bytes"),
        log="x",
    )

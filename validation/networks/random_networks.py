"""Random networks like those of `validation.networks.unseen_networks`, as many as anyone wants.

`DEVELOPMENT` is what work on the fluid looks at, `FRESH` what it is judged by afterwards: they come from
two seeds that were fixed, as this module was, before a model was compared on either.
Rates, round-trip times and buffers are log-uniform; buffers are 0.4 to 2 times the product of bandwidth
and round-trip time. A run is long enough for some 10^5 packets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hopflow.units import mbps
from responsefn import AIMD, CUBIC, NewReno, Reno, Tahoe, WindowRule
from validation.networks.unseen_networks import (
    Group,
    Hop,
    Network,
    Run,
    chain_network,
    parking_lot,
    shared_bottleneck,
)

RULES: tuple[tuple[WindowRule, str | None], ...] = (
    (Tahoe(), None), (Reno(), None), (NewReno(), None), (NewReno(), "sack"),
)  # fmt: skip
MIXED: tuple[tuple[str, WindowRule], ...] = (
    ("Tahoe", Tahoe()), ("Reno", Reno()), ("NewReno", NewReno()), ("AIMD", AIMD(0.2, 0.125)),
    ("CUBIC", CUBIC()),
)  # fmt: skip
PACKETS = 1.2e5
"""Packets that the bottleneck sends in a run, where that takes neither too short nor too long."""


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform, with three digits."""
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")


def _drawn(rng: np.random.Generator, rtt: float) -> tuple[Hop, float]:
    """Return a bottleneck and a duration in s for a round-trip time in ms."""
    rate = log_uniform(rng, 20.0, 150.0)
    product = mbps(rate) * rtt / 1000.0
    buffer = max(30.0, round(log_uniform(rng, 0.4, 2.0) * product))
    duration = float(np.clip(round(PACKETS / mbps(rate)), 6.0, 24.0))
    return Hop(rate, buffer), duration


def _random_chain(name: str, rng: np.random.Generator) -> Network:
    rule, _ = RULES[int(rng.integers(3))]
    nodes = round(log_uniform(rng, 5.0, 80.0))
    rtt = log_uniform(rng, 10.0, 40.0)
    hop, duration = _drawn(rng, rtt)
    room = mbps(hop.rate) * rtt / 1000.0 + hop.buffer
    window = float(rng.choice([5000.0, round(0.75 * room)]))
    inner = np.arange(2 + nodes // 8, nodes - nodes // 8)
    entries = sorted(map(int, rng.choice(inner, min(len(inner), int(rng.integers(1, 3))), False)))
    hop = hop._replace(delay=rtt / 2.0 / (nodes - 1))
    return chain_network(rule, nodes, hop, window, Run(name, duration), entries)


def _random_round_trips(name: str, rng: np.random.Generator) -> Network:
    rule, recovery = RULES[int(rng.integers(4))]
    shortest, ratio = log_uniform(rng, 10.0, 40.0), log_uniform(rng, 1.5, 4.0)
    trips = [float(f"{shortest * ratio**n:.3g}") for n in range(int(rng.integers(2, 4)))]
    count = int(rng.integers(1, 4))
    groups: list[Group] = [(f"{rtt:g} ms", rule, rtt, count, 0.1 * n) for n, rtt in enumerate(trips)]
    hop, duration = _drawn(rng, float(np.mean(trips)))
    return shared_bottleneck("round trips", groups, hop, Run(name, duration, recovery))


def _random_lot(name: str, rng: np.random.Generator) -> Network:
    rule, recovery = RULES[int(rng.integers(4))]
    hops, long = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    delay = log_uniform(rng, 2.0, 8.0)
    hop, duration = _drawn(rng, 2.0 * (2.0 + delay * (1.0 + hops) / 2.0))
    hop = hop._replace(delay=delay)
    return parking_lot(rule, hops, long, hop, Run(name, duration, recovery))


def _random_dumbbell(name: str, rng: np.random.Generator) -> Network:
    rule, recovery = RULES[int(rng.integers(4))]
    half = round(log_uniform(rng, 1.0, 64.0))
    rtt = log_uniform(rng, 15.0, 80.0)
    groups: list[Group] = [("early", rule, rtt, half, 0.0), ("late", rule, rtt, half, 1.0)]
    hop, duration = _drawn(rng, rtt)
    hop = hop._replace(rate=max(hop.rate, 2.0 * half))
    return shared_bottleneck("dumbbell", groups, hop, Run(name, duration, recovery))


def _random_mixture(name: str, rng: np.random.Generator) -> Network:
    """Return flows of two or three rules none of which can fill path and buffer by itself."""
    chosen = sorted(map(int, rng.choice(len(MIXED), int(rng.integers(2, 4)), replace=False)))
    rtt, count = log_uniform(rng, 20.0, 60.0), int(rng.integers(1, 4))
    hop, duration = _drawn(rng, rtt)
    room = mbps(hop.rate) * rtt / 1000.0 + hop.buffer
    flows = count * len(chosen)
    window = float(round(room * max(0.4, 1.6 / flows)))
    groups: list[Group] = [(*MIXED[n], rtt, count, 0.02 * k) for k, n in enumerate(chosen)]
    return shared_bottleneck("mixed rules", groups, hop, Run(name, duration), window)


KINDS = {
    "chain": _random_chain, "round-trips": _random_round_trips, "parking-lot": _random_lot,
    "dumbbell": _random_dumbbell, "mixed-rules": _random_mixture,
}  # fmt: skip


def draw_network(kind: str, number: int, seed: int) -> Network:
    """Return one of the random networks of a kind, named by kind, seed and number.

    Examples
    --------
    >>> draw_network("chain", 0, seed=1).name
    'chain-1-0'
    """
    rng = np.random.default_rng([seed, number, *kind.encode()])
    return KINDS[kind](f"{kind}-{seed}-{number}", rng)


def draw_networks(seed: int, numbers: Mapping[str, int]) -> dict[str, Network]:
    """Return random networks by name, ``numbers`` of each kind.

    Examples
    --------
    >>> list(draw_networks(1, {"chain": 2, "dumbbell": 1}))
    ['chain-1-0', 'chain-1-1', 'dumbbell-1-0']
    """
    found = (draw_network(kind, n, seed) for kind, count in numbers.items() for n in range(count))
    return {network.name: network for network in found}


DEVELOPMENT: dict[str, Network]
"""60 networks that work on the fluid looks at."""
FRESH: dict[str, Network]
"""30 networks that were run once, when the work was done."""
SETS = {
    "DEVELOPMENT": (
        1, {"chain": 16, "round-trips": 12, "parking-lot": 10, "dumbbell": 12, "mixed-rules": 10},
    ),
    "FRESH": (2, {"chain": 8, "round-trips": 6, "parking-lot": 5, "dumbbell": 6, "mixed-rules": 5}),
}  # fmt: skip
"""Seed and numbers of each set, which is drawn when it is first asked for."""


def __getattr__(name: str) -> dict[str, Network]:
    """Draw a set of networks."""
    if name not in SETS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = draw_networks(*SETS[name])
    found: dict[str, Network] = globals()[name]
    return found

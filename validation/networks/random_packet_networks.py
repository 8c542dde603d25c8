"""Random networks for packet-by-packet comparisons with ns-2.

Four topologies: dumbbells, parking lots, dumbbells with flows in both directions, and trees with explicit links in both
directions. All queues are FIFO. Rates of 1 to 100 Mb/s and delays of 0.05 to 50 ms are log-uniform. Buffers hold 2 to 39
packets, those of the access links of dumbbells 5 to 199. Senders mix the recoveries of ns-2, delayed ACKs, window limits,
finite sizes and CBR. A seed draws the same network, bit for bit, on every machine.
"""

from __future__ import annotations

import itertools
from decimal import Context, Decimal
from typing import Any

import numpy as np

from dfcmodel import CBR, Flow, Link, Packets, Scenario
from validation.networks.packet_networks import BITS, RULES

__all__ = ["TOPOLOGIES", "random_network"]

TOPOLOGIES = ("dumbbell", "parking lot", "two ways", "tree")
MAX_PACKETS = 30_000.0
"""Packets that the links of a network send at most in a run, so that ns-2 takes seconds."""


def random_network(seed: int) -> tuple[Scenario, Packets]:
    """Return the network of a seed and the method with the recovery of each flow.

    Examples
    --------
    >>> scenario, method = random_network(3)
    >>> method.convention, len(scenario.flows) > 0
    ('ns2', True)
    """
    rng = np.random.default_rng([2026, seed])
    topology = TOPOLOGIES[seed % len(TOPOLOGIES)]
    links, paths = _TOPOLOGIES[topology](rng)
    slowest = min(link.rate for link in links)
    duration = round(float(min(20.0, max(2.0, MAX_PACKETS / slowest / len(links)))), 2)
    flows, recoveries = [], {}
    for f, path in enumerate(paths):
        start = _uniform(rng, 0.0, 0.2 * duration)
        if rng.random() < 0.1:
            rate = _uniform(rng, 0.05, 0.6) * min(_rate(links, path))
            flows.append(Flow(f"f{f}", path, CBR(rate), start=start))
            continue
        recovery = str(rng.choice(list(RULES)))
        window = float(rng.choice([5.0, 20.0, 64.0, 1000.0]))
        size = float(rng.integers(20, 2000)) if rng.random() < 0.4 else np.inf
        delayed = bool(rng.random() < 0.3)
        flows.append(Flow(f"f{f}", path, RULES[recovery], window, start, size, delayed_acks=delayed))
        recoveries[f"f{f}"] = recovery
    min_rto = float(rng.choice([0.2, 1.0]))
    scenario = Scenario(f"{topology} {seed}", tuple(links), tuple(flows), duration=duration, min_rto=min_rto)
    return scenario, Packets(convention="ns2", recovery=recoveries, seed=1 + seed)


def _rate(links: list[Link], path: tuple[Any, ...]) -> list[float]:
    hops = set(itertools.pairwise(path))
    return [link.rate for link in links if (link.source, link.target) in hops]


def _link(rng: Any, a: Any, b: Any, *, buffer: tuple[int, int] = (2, 40)) -> Link:
    """Return a link of a random rate, delay and buffer."""
    rate = _log_uniform(rng, 1e6, 1e8) / BITS
    delay = _log_uniform(rng, 5e-5, 5e-2)
    return Link(a, b, rate, round(delay, 7), int(rng.integers(*buffer)))


def _uniform(rng: Any, low: float, high: float) -> float:
    """Return a uniform number; ``rng.uniform`` may round once where the processor multiplies and adds at once."""
    return low + (high - low) * float(rng.random())


def _log_uniform(rng: Any, low: float, high: float) -> float:
    """Return a log-uniform number; `decimal` rounds correctly, where ``np.exp`` depends on the processor."""
    exact = Context(prec=40)
    ends = (float(exact.ln(Decimal(value))) for value in (low, high))
    return float(exact.exp(Decimal(_uniform(rng, *ends))))


def _dumbbell(rng: Any) -> tuple[list[Link], list[tuple[Any, ...]]]:
    n = int(rng.integers(2, 7))
    links = [_link(rng, "l", "r")]
    for f in range(n):
        links += [_link(rng, f"s{f}", "l", buffer=(5, 200)), _link(rng, "r", f"d{f}")]
    return links, [(f"s{f}", "l", "r", f"d{f}") for f in range(n)]


def _parking_lot(rng: Any) -> tuple[list[Link], list[tuple[Any, ...]]]:
    n = int(rng.integers(2, 6))
    links = [_link(rng, k, k + 1) for k in range(n)]
    paths: list[tuple[Any, ...]] = [tuple(range(n + 1))]
    for k in range(n):
        links += [_link(rng, f"s{k}", k), _link(rng, k + 1, f"d{k}")]
        paths.append((f"s{k}", k, k + 1, f"d{k}"))
    return links, paths


def _two_ways(rng: Any) -> tuple[list[Link], list[tuple[Any, ...]]]:
    n = int(rng.integers(2, 6))
    links, paths = [_link(rng, "l", "r"), _link(rng, "r", "l")], []
    for f in range(n):
        a, b = f"s{f}", f"d{f}"
        for ends in ((a, "l"), ("l", a), (b, "r"), ("r", b)):
            links.append(_link(rng, *ends))
        paths.append((a, "l", "r", b) if f % 2 == 0 else (b, "r", "l", a))
    return links, paths


def _tree(rng: Any) -> tuple[list[Link], list[tuple[Any, ...]]]:
    n = int(rng.integers(4, 9))
    parent = {k: int(rng.integers(0, k)) for k in range(1, n)}
    links = [_link(rng, *ends) for k in parent for ends in ((k, parent[k]), (parent[k], k))]

    def up(k: int) -> list[int]:
        return [k, *up(parent[k])] if k else [0]

    paths = []
    for _ in range(int(rng.integers(2, 7))):
        a, b = (int(k) for k in rng.choice(n, 2, replace=False))
        one, other = up(a), up(b)
        meet = next(k for k in one if k in other)
        paths.append((*one[: one.index(meet) + 1], *reversed(other[: other.index(meet)])))
    return links, paths


_TOPOLOGIES = {
    "dumbbell": _dumbbell, "parking lot": _parking_lot, "two ways": _two_ways, "tree": _tree,
}  # fmt: skip

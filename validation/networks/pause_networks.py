"""Random networks with pauses: rings, and fabrics of leaves and spines with detours, below and above their critical load.

Routes go round a ring, or back up from a leaf to another spine, so that buffers may wait for each other in a circle.
Whether they do depends on the load, on the thresholds and on what the switches count. `draw_pause_network` draws one
network, `compare_verdicts` runs it at both levels.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dfcmodel import CBR, PFC, Flow, Fluid, Link, Packets, Pause, Scenario, simulate
from hopflow import Status

RATE = 5e6
"""Of all links, packets/s: 40 Gb/s in packets of 1000 bytes."""
BUFFER = 5000.0
"""Of all links, packets: more than all rooms of a network drawn here."""
PHASES = 10
SHIFT = 20e-6
"""By how much starts of flows are shifted at most, s: 100 packets of a link."""
KINDS = ("ring", "fabric")
RULES = ("output", "switch", "pause")
"""PFC that counts by output or by switch, and 802.3x pauses."""

Route = tuple[str, ...]


def draw_pause_network(seed: int, number: int, *, duration: float = 0.02) -> Scenario:
    """Return network ``number`` of a seed: a ring or a fabric of links with pauses, and flows of constant rate.

    Parameters
    ----------
    seed, number
        Each pair gives one network.
    duration
        Simulated time in s.

    Examples
    --------
    >>> drawn = draw_pause_network(1, 0)
    >>> drawn.name, len(drawn.flows), type(drawn.links[0].discipline).__name__
    ('ring 1/0', 4, 'PFC')
    """
    rng = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    rule = _rule(rng, RULES[number // len(KINDS) % len(RULES)])
    delay = _log_uniform(rng, 0.5e-6, 4e-6)
    routes = _ring(rng) if kind == "ring" else _fabric(rng)
    routes = [(f"h{n}", *route, f"d{n}") for n, route in enumerate(routes)]
    hops = dict.fromkeys(hop for route in routes for hop in itertools.pairwise(route))
    links = tuple(Link(*hop, RATE, delay, BUFFER, rule) for hop in hops)
    crowd = max(sum(hop in itertools.pairwise(r) for r in routes) for hop in hops)
    load = _log_uniform(rng, 0.8, 4.0) if rng.random() < 0.5 else crowd
    shares = rng.uniform(0.5, 1.5, len(routes)) if load < crowd else np.ones(len(routes))
    flows = tuple(
        Flow(
            f"{n}", route, CBR(min(RATE, RATE * load * share / crowd)), host="unshaped",
            start=rng.uniform(0.0, 20e-6),
        )
        for n, (route, share) in enumerate(zip(routes, shares.tolist(), strict=True))
    )  # fmt: skip
    return Scenario(f"{kind} {seed}/{number}", links, flows, duration=duration, packet_size=1000.0)


@dataclass(frozen=True)
class Verdicts:
    """How a network ended at both levels.

    Attributes
    ----------
    name
        Of the network.
    fluid, packets
        Labels of the statuses.
    phases
        Where the statuses differ, in how many runs of `PHASES` each level is deadlocked (fluid, packets) when the starts of
        flows are shifted at random by up to `SHIFT`: the order of single packets decides where this is neither 0 nor all.
    """

    name: str
    fluid: str
    packets: str
    phases: tuple[int, int] | None = None

    @property
    def agree(self) -> bool:
        """Whether both levels have the same status."""
        return self.fluid == self.packets


def compare_verdicts(scenario: Scenario) -> Verdicts:
    """Run a network as a fluid and in packets; where they end differently, again with other starts of the flows.

    Examples
    --------
    >>> compare_verdicts(draw_pause_network(1, 4)).agree
    True
    """

    def deadlocked(method: Fluid | Packets, seed: int) -> bool:
        run = simulate(scenario, method, jitter=SHIFT, seed=seed)
        return run.status is Status.DEADLOCKED

    fluid, packets = (simulate(scenario, method).status for method in (Fluid(), Packets(seed=1)))
    phases = None
    if fluid is not packets:
        phases = (
            sum(deadlocked(Fluid(), seed) for seed in range(PHASES)),
            sum(deadlocked(Packets(seed=seed + 1), seed) for seed in range(PHASES)),
        )
    return Verdicts(scenario.name, fluid.label, packets.label, phases)


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def _rule(rng: np.random.Generator, kind: str) -> PFC | Pause:
    """Return a discipline with random thresholds."""
    high = float(round(_log_uniform(rng, 20.0, 200.0)))
    near = rng.random() < 0.5
    low = high - float(rng.integers(1, 5)) if near else float(round(high * rng.uniform(0.3, 1.0)))
    if kind == "pause":
        return Pause(high=high, low=low)
    return PFC(classes=(0,), xoff=high, xon=low, counts=kind)


def _ring(rng: np.random.Generator) -> list[Route]:
    """Return routes round a ring of 3 to 8 switches, one from each, and some more."""
    n = int(rng.integers(3, 9))
    starts = [*range(n), *rng.integers(0, n, int(rng.integers(0, 3))).tolist()]
    chosen = [start for start in starts if rng.random() < 0.9] or starts
    hops = rng.integers(2, n, len(chosen)).tolist()
    return [tuple(f"s{(start + k) % n}" for k in range(count + 1)) for start, count in zip(chosen, hops, strict=True)]


def _fabric(rng: np.random.Generator) -> list[Route]:
    """Return routes between leaves, by one spine or with a detour: down to a leaf and up to another spine."""
    leaves, spines = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    routes = []
    for _ in range(int(rng.integers(leaves, 3 * leaves))):
        a, b, c = rng.choice(leaves, 3, replace=False).tolist()
        up, again = rng.choice(spines, 2, replace=False).tolist()
        detour = rng.random() < 0.6
        inside = (f"p{up}", f"l{b}", f"p{again}") if detour else (f"p{up}",)
        routes.append((f"l{a}", *inside, f"l{c}"))
    return routes

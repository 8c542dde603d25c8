"""Networks that no paper has and no constant was set by: what the fluid engine is judged by.

24 networks: chains of 5 to 80 nodes whose second flow enters anywhere, one bottleneck under flows of
different round-trip times, parking lots, dumbbells of 2 to 128 flows, and mixed window rules. ns-2 and
the fluid run the same random instances of each: every link is longer by up to 1 %, every flow starts
up to 20 ms later, and each packet waits up to the time of one packet at its sender. Exact delays would
let packets of two flows meet in the same order at every departure (phase effects), which no network does.

Half of each topology is `SET_ASIDE`, chosen by the hash of the names before anything was run: whoever
works on the fluid looks at the other half. Rates, delays, buffers, and the largest windows are round
numbers, chosen once, for durations of seconds to tens of seconds.

Mixed rules compare windows in congestion avoidance, and not in which way an overshoot of hundreds of
packets is repaired: no flow has a window that could fill path and buffer by itself (``max_window``, in
both), so that slow start ends before or shortly after the first loss.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dfcmodel import Flow, Link, Scenario, chain
from hopflow.units import mbps, ms
from responsefn import AIMD, CUBIC, NewReno, Reno, Tahoe, WindowRule

SEEDS = tuple(range(1, 17))
LONGER, LATER = 0.01, 0.02
"""Largest relative addition to a link's delay; latest start of a flow after its nominal one, s."""
ROOM = 100_000.0
"""Packets: the buffers of access links, which drop nothing."""

Group = tuple[str, WindowRule, float, int, float]
"""Name, rule, round-trip time in ms, number of flows, and start of the first one in s."""


class Hop(NamedTuple):
    """A link between routers: rate in Mb/s, buffer in packets, delay in ms."""

    rate: float
    buffer: float
    delay: float = 2.0


@dataclass(frozen=True)
class Network:
    """A network to be judged by, before random delays and starts.

    Attributes
    ----------
    topology
        ``"chain"``, ``"round trips"``, ``"parking lot"``, ``"dumbbell"`` or ``"mixed rules"``.
    scenario
        Its links, flows and duration.
    groups
        For each flow the name of its group; flows of a group differ by chance only.
    since
        Time from which goodput is measured, s.
    recovery
        ``"sack"`` if all senders repair losses by RFC 6675; None: as their rules say.
    """

    topology: str
    scenario: Scenario
    groups: tuple[str, ...]
    since: float
    recovery: str | None = None

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return self.scenario.name

    @property
    def rate(self) -> float:
        """Rate of the bottlenecks, packets/s; its inverse is the longest wait before a packet."""
        return min(link.rate for link in self.scenario.links)

    @property
    def rules(self) -> str:
        """The window rules in the order of their first flows, and SACK where losses are so repaired."""
        names = dict.fromkeys(type(flow.source).__name__ for flow in self.scenario.flows)
        return " + ".join(names) + (" with SACK" if self.recovery else "")


def instance(network: Network, seed: int) -> Scenario:
    """Return a network with the delays and starts of a seed."""
    rng = np.random.default_rng([seed, *network.name.encode()])
    scenario = network.scenario
    links = (replace(link, delay=link.delay * (1.0 + rng.uniform(0.0, LONGER))) for link in scenario.links)
    flows = (replace(flow, start=flow.start + rng.uniform(0.0, LATER)) for flow in scenario.flows)
    return replace(scenario, links=tuple(links), flows=tuple(flows))


class Run(NamedTuple):
    """The name of a network, how long it is run in s, and the recovery of its flows; None: that of their rules."""

    name: str
    duration: float
    recovery: str | None = None


def chain_network(
    rule: WindowRule,
    nodes: int,
    hop: Hop,
    window: float,
    run: Run,
    entries: Sequence[int] = (),
) -> Network:
    """Return a chain: a flow from node 1 at once, another from each of ``entries`` every 0.2 s."""
    links = chain(nodes, rate=mbps(hop.rate), delay=ms(hop.delay), buffer=hop.buffer)
    flows = [
        Flow(f"from {first}", tuple(range(first, nodes + 1)), rule, window, 0.2 * n)
        for n, first in enumerate((1, *entries))
    ]
    return _network("chain", run, links, flows)


def shared_bottleneck(topology: str, groups: Sequence[Group], hop: Hop, run: Run, window: float = 5000.0) -> Network:
    """Return one bottleneck with an access link of 1 ms per flow.

    The last link completes the round-trip time; the flows of a group start every 50 ms.
    """
    fast: dict[str, Any] = {"rate": 10.0 * mbps(hop.rate), "buffer": ROOM}
    links, flows = [Link("left", "right", mbps(hop.rate), ms(hop.delay), hop.buffer)], []
    for label, rule, rtt, count, start in groups:
        for n in range(count):
            source, target = f"s {label} {n}", f"d {label} {n}"
            links.append(Link(source, "left", delay=ms(1.0), **fast))
            links.append(Link("right", target, delay=ms(rtt / 2 - 1.0 - hop.delay), **fast))
            path = (source, "left", "right", target)
            flows.append(Flow(f"{label} {n}", path, rule, window, start + 0.05 * n))
    return _network(topology, run, links, flows)


def parking_lot(rule: WindowRule, hops: int, long: int, hop: Hop, run: Run) -> Network:
    """Return a parking lot: ``long`` flows over all hops, and one over each."""
    fast: dict[str, Any] = {"rate": 10.0 * mbps(hop.rate), "buffer": ROOM, "delay": ms(1.0)}
    line = chain(hops + 1, rate=mbps(hop.rate), delay=ms(hop.delay), buffer=hop.buffer)
    links, flows = [*line], []
    ways = [(f"long {n}", 1, hops + 1) for n in range(long)]
    ways += [(f"hop {h}", h, h + 1) for h in range(1, hops + 1)]
    for n, (label, first, last) in enumerate(ways):
        links += [Link(f"s {label}", first, **fast), Link(last, f"d {label}", **fast)]
        path = (f"s {label}", *range(first, last + 1), f"d {label}")
        flows.append(Flow(label, path, rule, 5000.0, 0.1 * n))
    return _network("parking lot", run, links, flows)


def _network(topology: str, run: Run, links: Sequence[Link], flows: Sequence[Flow]) -> Network:
    """Return a network whose groups are the flows' names without their numbers."""
    grouped = topology not in ("chain", "parking lot")
    groups = tuple(
        flow.name.rpartition(" ")[0] if grouped or flow.name.startswith("long") else flow.name for flow in flows
    )
    scenario = Scenario(run.name, tuple(links), tuple(flows), duration=run.duration)
    return Network(topology, scenario, groups, run.duration / 4, run.recovery)


def _all() -> Iterable[Network]:
    """Yield the networks; rates in Mb/s, delays in ms, buffers and windows in packets."""
    each: list[Group]
    yield chain_network(Tahoe(), 5, Hop(50, 60, 2.0), 1000, Run("chain-5", 8.0), [3])
    yield chain_network(NewReno(), 8, Hop(100, 100, 1.0), 1000, Run("chain-8", 6.0), [6])
    yield chain_network(Reno(), 12, Hop(150, 250, 0.3), 2000, Run("chain-12", 4.0), [4])
    yield chain_network(CUBIC(), 20, Hop(100, 80, 0.5), 1000, Run("chain-20", 4.0), [12])
    yield chain_network(Tahoe(), 30, Hop(120, 400, 0.2), 300, Run("chain-30", 4.0), [21])
    yield chain_network(NewReno(), 40, Hop(80, 150, 0.2), 1000, Run("chain-40", 4.0), [11, 26])
    yield chain_network(Reno(), 60, Hop(80, 300, 0.1), 1500, Run("chain-60", 3.0), [20])
    yield chain_network(NewReno(), 80, Hop(80, 600, 0.15), 3000, Run("chain-80", 3.0), [41])
    each = [("20 ms", NewReno(), 20.0, 1, 0.0), ("80 ms", NewReno(), 80.0, 1, 0.3)]
    yield shared_bottleneck("round trips", each, Hop(40, 100), Run("round-trips-1-4", 20.0))
    each = [("30 ms", Reno(), 30.0, 2, 0.0), ("60 ms", Reno(), 60.0, 2, 0.3)]
    yield shared_bottleneck("round trips", each, Hop(60, 150), Run("round-trips-1-2", 16.0))
    each = [(f"{rtt:g} ms", Tahoe(), rtt, 1, rtt / 100.0) for rtt in (10.0, 30.0, 90.0)]
    yield shared_bottleneck("round trips", each, Hop(30, 80), Run("round-trips-1-3-9", 20.0))
    each = [(f"{rtt:g} ms", NewReno(), rtt, 2, rtt / 200.0) for rtt in (20.0, 40.0, 80.0, 160.0)]
    yield shared_bottleneck("round trips", each, Hop(80, 200), Run("round-trips-1-2-4-8", 20.0, "sack"))
    yield parking_lot(NewReno(), 2, 1, Hop(50, 80, 5.0), Run("parking-lot-2", 12.0))
    yield parking_lot(Reno(), 3, 2, Hop(50, 120, 4.0), Run("parking-lot-3", 12.0))
    yield parking_lot(NewReno(), 4, 2, Hop(40, 60, 3.0), Run("parking-lot-4", 12.0, "sack"))
    yield parking_lot(Tahoe(), 5, 1, Hop(40, 100, 2.0), Run("parking-lot-5", 12.0))
    for name, rule, half, rtt, rate, buffer, duration in (
        ("dumbbell-2", Tahoe(), 1, 24.0, 30, 50, 16.0),
        ("dumbbell-8", Reno(), 4, 40.0, 80, 120, 16.0),
        ("dumbbell-32", NewReno(), 16, 60.0, 100, 250, 12.0),
        ("dumbbell-128", NewReno(), 64, 50.0, 200, 400, 8.0),
    ):
        each = [("early", rule, rtt, half, 0.0), ("late", rule, rtt, half, 1.0)]
        yield shared_bottleneck("dumbbell", each, Hop(rate, buffer), Run(name, duration))
    each = [("Reno", Reno(), 40.0, 2, 0.0), ("NewReno", NewReno(), 40.0, 2, 0.025)]
    yield shared_bottleneck("mixed rules", each, Hop(60, 100), Run("reno-newreno", 16.0), 150)
    each = [("NewReno", NewReno(), 30.0, 2, 0.0), ("AIMD", AIMD(0.2, 0.125), 30.0, 2, 0.025)]
    yield shared_bottleneck("mixed rules", each, Hop(50, 80), Run("newreno-aimd", 16.0), 100)
    each = [("NewReno", NewReno(), 50.0, 2, 0.0), ("CUBIC", CUBIC(), 50.0, 2, 0.025)]
    yield shared_bottleneck("mixed rules", each, Hop(60, 150), Run("newreno-cubic", 20.0), 200)
    rules = (("Tahoe", Tahoe()), ("Reno", Reno()), ("NewReno", NewReno()))
    each = [(name, rule, 36.0, 2, 0.015 * n) for n, (name, rule) in enumerate(rules)]
    yield shared_bottleneck("mixed rules", each, Hop(60, 90), Run("tahoe-reno-newreno", 16.0), 90)


def _half_by_hash(networks: Iterable[Network]) -> frozenset[str]:
    """Return the names of half of the networks of each topology: those of the smallest SHA-256."""
    by_topology = defaultdict(list)
    for network in networks:
        digest = hashlib.sha256(network.name.encode()).hexdigest()
        by_topology[network.topology].append((digest, network.name))
    halves = (sorted(each)[: len(each) // 2] for each in by_topology.values())
    return frozenset(name for half in halves for _, name in half)


NETWORKS = {network.name: network for network in _all()}
SET_ASIDE = _half_by_hash(NETWORKS.values())
"""Names of the networks to be looked at last."""

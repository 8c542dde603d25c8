"""Small networks with every discipline and sender, and what the tests of the packet level share."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.packets.plan import PacketPlan
from dfcmodel.packets.recoveries.base import ACTIONS, RecoveryEvent
from dfcmodel.recoveries import LossRecovery
from responsefn import NewReno, Reno, Tahoe
from tests.oracles.engines import plan_scenario

DISCIPLINES: dict[str, Any] = {
    "fifo": dfc.FIFO(),
    "red": dfc.RED(low=2.0, high=6.0, weight=0.05),
    "ecn": dfc.RED(low=2.0, high=6.0, weight=0.05, gentle=False, ecn=True, mean_packet=1000.0),
    "pause": dfc.Pause(high=6.0, low=3.0),
    "slow pause": dfc.Pause(high=4.0, low=2.0, signalling=1e-4),
    "pause quanta": dfc.Pause(high=6.0, low=3.0, quanta=20, signalling=1e-4),
    "pause by short quanta": dfc.Pause(high=5.0, low=2.0, quanta=1),
    "fair": dfc.Fair(),
    "priority": dfc.Priority(),
}


@dataclass(frozen=True)
class Own(dfc.QueueManager):
    """A user's manager with memory: it drops parts of packets that add up, and marks long queues."""

    part: float = 0.05

    class State(NamedTuple):
        """The sum of all it saw, so that every field of an arrival counts."""

        drop: float = 0.0
        mark: float = 0.0
        seen: float = 0.0

    @staticmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Drop ``part`` where the head of the queue waited for 1 ms."""
        seen = s.seen + e.time * e.step + e.capacity * e.delay + e.random
        dropped = q.part * e.arrivals if e.delay > 1e-3 and seen > 0.0 else 0.0
        return s._replace(drop=dropped, mark=0.1 * e.backlog, seen=seen)


MANAGED: dict[str, Any] = {
    "codel": dfc.CoDel(target=2e-3, interval=0.02),
    "pie": dfc.PIE(target=3e-3, update=4e-3, alpha=2.0, beta=20.0, burst=0.02),
    "pi2": dfc.PI2(target=3e-3, update=4e-3, alpha=2.0, beta=20.0),
    "dualpi2": dfc.DualPI2(target=3e-3, update=4e-3, alpha=2.0, beta=20.0),
    "fair pi2": dfc.Fair(dfc.PI2(target=3e-3, update=4e-3, alpha=2.0, beta=20.0, ecn=True)),
    "step marking": dfc.StepMarking(4.0),
    "ramp marking": dfc.RampMarking(2.0, 8.0, 0.5),
    "own": Own(),
    "fair codel": dfc.Fair(dfc.CoDel(target=2e-3, interval=0.02)),
    "priority pie": dfc.Priority(dfc.PIE(target=3e-3, update=4e-3, burst=0.02)),
    "pause red": dfc.Pause(high=6.0, low=3.0, manager=dfc.RED(low=2.0, high=6.0, weight=0.05, ecn=True)),
}
RECOVERIES = ("tahoe", "reno", "newreno", "sack")
RULES = (Tahoe(), Reno(), NewReno())
"""They share one kernel."""


def random_scenario(discipline: str, seed: int) -> dfc.Scenario:
    """Return a random tree of links under a discipline, with three to six flows on random paths."""
    rng = np.random.default_rng([seed, len(discipline)])
    kinds = {**DISCIPLINES, **MANAGED}
    nodes = int(rng.integers(4, 8))
    parent = {n: int(rng.integers(0, n)) for n in range(1, nodes)}
    links: dict[tuple[int, int], dfc.Link] = {}
    for child, up in parent.items():
        for ends in ((child, up), (up, child)):
            rate = float(rng.choice([500.0, 1000.0, 2000.0, 4000.0]))
            delay = float(rng.choice([1e-3, 2e-3, 3.7e-3]))
            buffer = float(rng.integers(8 if "pause" in discipline else 3, 20))
            links[ends] = dfc.Link(*ends, rate, delay, buffer, kinds[discipline])
    flows = []
    for f in range(int(rng.integers(3, 7))):
        first, last = (int(n) for n in rng.choice(nodes, 2, replace=False))
        if "pause" in discipline and seed % 2:  # pause in both directions of a link can deadlock
            first, last = max(first, 1), 0
        path = _path(parent, first, last)
        source: Any = RULES[int(rng.integers(0, 3))]
        if rng.random() < 0.25:
            source = dfc.CBR(400.0) if rng.random() < 0.5 else dfc.OnOff(900.0, 0.05, 0.04, random=True)
        size = float(rng.choice([40.0, 400.0, np.inf]))
        start = float(rng.choice([0.0, 0.013, rng.uniform(0.0, 0.1)]))
        flows.append(dfc.Flow(f"flow{f}", path, source, 40.0, start, size, priority=int(rng.integers(0, 3))))
    used = {ends for flow in flows for ends in zip(flow.path, flow.path[1:], strict=False)}
    return dfc.Scenario(
        f"{discipline} {seed}", tuple(links[ends] for ends in sorted(used)), tuple(flows),
        duration=1.0,
    )  # fmt: skip


def random_classes(seed: int) -> dfc.Scenario:
    """Return a random network whose links pause by class of traffic, and a few links as a whole.

    Buffers have room for all ingress queues of lossless classes and for a few packets of the others.
    """
    rng = np.random.default_rng([seed, 77])
    kinds = (
        dfc.PFC((0, 1), 3.3, 1.9, headroom=float(rng.integers(0, 4))),
        dfc.PFC((1,), 4.7, 4.1, signalling=1e-3, manager=dfc.RampMarking(2.0, 5.0, 0.2)),
        dfc.PFC((0, 1, 2), 2.9, 1.3, headroom=6.5, manager=dfc.RED(low=2.0, high=6.0, weight=0.02)),
        dfc.PFC((0, 2), 6.0, 3.0, manager=dfc.CoDel(target=4e-3, interval=0.02)),
        dfc.PFC((1, 2), 5.0, 2.0, manager=dfc.PIE(target=5e-3, update=4e-3, burst=0.02)),
        dfc.PFC((0, 1), 4.0, 2.0, manager=Own()),
        dfc.PFC((5,)),
        dfc.Pause(6.0, 3.0),
    )
    scenario = random_scenario("pause", seed)
    first = int(rng.integers(0, len(kinds)))
    links = tuple(
        replace(link, buffer=1e3, discipline=kinds[(first + n * (seed % 3)) % len(kinds)])
        for n, link in enumerate(scenario.links)
    )
    hosts = [str(rng.choice(["unshaped", "direct"])) for _ in scenario.flows]
    flows = tuple(replace(flow, host=host) for flow, host in zip(scenario.flows, hosts, strict=True))
    try:
        wide = replace(scenario, links=links, flows=flows)
    except ValueError:  # a queue of several classes cannot stop one of them
        links = tuple(replace(each, discipline=kinds[first % 7]) for each in links)
        wide = replace(scenario, links=links, flows=flows)
    tight = [
        float(np.ceil(sum(room for _, _, room in wide.ingress(n)) + rng.integers(7, 12)))
        for n in range(len(wide.links))
    ]
    return replace(wide, links=tuple(replace(u, buffer=b) for u, b in zip(wide.links, tight, strict=True)))


def random_switches(seed: int) -> dfc.Scenario:
    """Return a random network whose nodes count what waits for all their links together, by ingress and class."""
    rng = np.random.default_rng([seed, 78])
    rule = dfc.PFC((0, 1), 3.3, 1.9, headroom=float(rng.integers(0, 4)), counts="switch")
    managers = (None, dfc.RampMarking(2.0, 5.0, 0.2), dfc.CoDel(target=4e-3, interval=0.02), Own())
    of_one = (None, dfc.RampMarking(1.0, 2.0, 0.9), dfc.RED(low=1.0, high=2.5, weight=0.2), Own())
    scenario = random_scenario("pause", seed)
    links = tuple(
        replace(link, buffer=1e3, discipline=replace(rule, manager=managers[(seed + n) % 4]))
        if seed % 3 or (seed + n) % 4 == 0
        else replace(
            link,
            buffer=1e3,
            discipline=replace(rule, manager=of_one[(seed + n) % 4], managed=n % 3),
        )
        for n, link in enumerate(scenario.links)
    )
    hosts = ("unshaped", "direct")
    flows = tuple(replace(flow, host=hosts[int(rng.integers(0, 2))], size=np.inf) for flow in scenario.flows)
    wide = replace(scenario, links=links, flows=flows)
    tight = [float(np.ceil(wide.reserved(n) + rng.integers(7, 12))) for n in range(len(links))]
    return replace(wide, links=tuple(replace(u, buffer=b) for u, b in zip(links, tight, strict=True)))


def random_diffusive(seed: int) -> dfc.Scenario:
    """Return a random network with diffusion-type flow control on all links, or on all but every third."""
    rng = np.random.default_rng([seed, 2006])
    rules = (
        dfc.DFC(),
        dfc.DFC(diffusion=0.3, phases="synchronous"),
        dfc.DFC(diffusion=0.02, intensity=1.2),
    )
    scenario = random_scenario("fifo", seed)
    links = tuple(
        replace(link, discipline=dfc.FIFO() if seed % 2 and n % 3 == 2 else rules[seed % 3])
        for n, link in enumerate(scenario.links)
    )
    wide = replace(scenario, links=links)
    flows = tuple(
        replace(
            flow,
            host=str(rng.choice(["unshaped", "direct", "shaped"]))
            if isinstance(wide.path(flow)[0].discipline, dfc.DFC)
            else "unshaped",
        )
        for flow in wide.flows
    )
    return replace(wide, flows=flows)


def _path(parent: dict[int, int], first: int, last: int) -> tuple[int, ...]:
    """Return the path between two nodes of a tree."""
    up, down = [first], [last]
    while up[-1] != down[-1]:
        if up[-1] > down[-1]:
            up.append(parent[up[-1]])
        else:
            down.append(parent[down[-1]])
    return (*up, *down[-2::-1])


def random_method(seed: int, **changed: Any) -> dfc.Packets:
    """Return a method with a random recovery for each of the flows."""
    rng = np.random.default_rng(seed)
    return dfc.Packets(seed=seed, recovery=str(rng.choice(RECOVERIES)), **changed)


def plan_of(scenario: dfc.Scenario, method: dfc.Packets, jitter: float = 0.0) -> PacketPlan:
    """Return the plan of a scenario in samples of 10 ms."""
    return plan_scenario(scenario, method, duration=scenario.duration, sample=0.01, packet_jitter=jitter)


@pytest.fixture
def one_link() -> dfc.Scenario:
    """Return one NewReno flow over one link of 1000 packets/s."""
    link = dfc.Link("a", "b", 1000.0, 0.01, 20.0)
    return dfc.Scenario("one link", (link,), (dfc.Flow("flow", ("a", "b"), NewReno(), 64.0),), duration=2.0)


@pytest.fixture(scope="session")
def ns3() -> Path:
    """Return the folder of ns-3; a test that asks for it is skipped where there is none, or no compiler."""
    from validation.generate.programs import ns3_folder

    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    try:
        return ns3_folder()
    except FileNotFoundError:
        pytest.skip("ns-3 is not installed: `make data-tools` does it")


def recovering_sender(kind: type[LossRecovery], **fields: float) -> Any:
    """Return a sender as a recovery sees it: a window of 20 packets, of which 10 to 29 are in flight."""
    zero = dict.fromkeys(kind.Sender._fields, 0.0)
    usual = {"cwnd": 20.0, "ssthresh": 20.0, "snd_una": 10.0, "snd_nxt": 30.0, "snd_max": 30.0,
             "recover": -2.0, "pipe_limit": -1.0, "timing": 1.0, "backoff": 1.0,
             "highest_sacked": -1.0, **ACTIONS, **kind.State._field_defaults}  # fmt: skip
    return kind.Sender(**{**zero, **usual, **fields})


def recovery_event(**fields: float) -> RecoveryEvent:
    """Return an ACK as a recovery sees it, of the standard convention."""
    return RecoveryEvent(**{**dict.fromkeys(RecoveryEvent._fields, 0.0), **fields})

"""What both packet engines run: ports, routes and senders of a scenario, in numbers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.disciplines import FIFO, Discipline, Fair, Pause, Priority
from dfcmodel.packets import ns2_random
from hopflow.checks import number
from responsefn import WindowRule

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

    Floats = NDArray[np.float64]

__all__ = ["Plan", "Port", "plan_packets"]

HEADER = 40.0
"""Bytes of an ACK without blocks, and of the first packet of a connection in ns-2."""
BLOCK = 8.0
"""Bytes of a selective acknowledgement's block."""
SIZES = 5
"""Classes of sizes: 0 data; 1 to 4 HEADER and up to three blocks."""
ENDLESS = 2**31 - 2
"""Packets of a transfer without end: the space of sequence numbers."""
UNBOUNDED = 2**40


@dataclass(frozen=True)
class Port:
    """A directed link of the packet level and the queue before it.

    Attributes
    ----------
    source, target
        Its ends.
    bits
        Rate in bit/s.
    delay
        Propagation delay in s.
    room
        Packets that may wait besides the one in transmission.
    discipline
        How they wait.
    link
        Its place in the scenario's links; -1 for mirrors and access links.
    mirror
        Whether it stands for the way back over a link, for ACKs alone.
    """

    source: Hashable
    target: Hashable
    bits: float
    delay: float
    room: int
    discipline: Discipline
    link: int
    mirror: bool = False

    @property
    def has_lanes(self) -> bool:
        """Whether it needs to know at each beginning of a transmission which packets wait."""
        return isinstance(self.discipline, (Pause, Fair, Priority))


@dataclass(frozen=True)
class Plan:
    """A scenario in numbers: F flows, P ports.

    Attributes
    ----------
    forward, backward
        Per flow, the ports that its packets and its ACKs cross, in order.
    transmission
        Time on the wire in s, shape (P, SIZES).
    passage
        The same and the propagation delay in s, shape (P, SIZES).
    ranks
        Order of the ports by which packets that arrive at equal times are taken, (P,): their own
        order; in ns-2, whose events of equal times go as they were scheduled, the longest passage
        first.
    sizes
        Bytes of the classes of sizes, (SIZES,).
    starts
        When flows start, s, (F,).
    phases
        Tick phases in s, (F,); 0 unless the convention is ns-2's.
    seeds
        Of the streams of random numbers of ports and flows, (P + F,).
    end, sample, samples
        Simulated time, interval of the records in s, and how many.
    """

    scenario: Scenario
    method: Packets
    ports: tuple[Port, ...]
    forward: tuple[tuple[int, ...], ...]
    backward: tuple[tuple[int, ...], ...]
    recoveries: tuple[str, ...]
    transmission: Floats
    passage: Floats
    ranks: NDArray[np.int64]
    sizes: Floats
    starts: Floats
    jitter: float
    phases: Floats
    seeds: NDArray[np.uint64]
    end: float
    sample: float
    samples: int

    def feeders(self, p: int) -> tuple[int, ...]:
        """Return the ports that a port pauses: the links and access links over which its flows come."""
        return self._feeders.get(p, ())

    @cached_property
    def _feeders(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, set[int]] = {}
        for before, p in (hop for route in self.forward for hop in itertools.pairwise(route)):
            if isinstance(self.ports[p].discipline, Pause):
                found.setdefault(p, set()).add(before)
        return {p: tuple(sorted(ports)) for p, ports in found.items()}


def plan_packets(
    scenario: Scenario,
    method: Packets,
    *,
    end: float,
    sample: float,
    starts: Floats,
    jitter: float = 0.0,
) -> Plan:
    """Return the plan of a scenario.

    Parameters
    ----------
    end, sample
        Simulated time and interval of the records, s; the records are whole intervals.
    starts
        When the flows start, s, (F,).
    jitter
        Largest random time before each packet, s.

    Raises
    ------
    ValueError
        For what the packet level cannot run, naming it.
    """
    from dfcmodel.packets.refusals import check_scenario

    check_scenario(scenario, method)
    ports = _Ports(scenario, method)
    forward, backward = [], []
    for f, flow in enumerate(scenario.flows):
        out = list(scenario.path_index(flow))
        if flow.host != "direct":
            out.insert(0, ports.access(f))
        forward.append(tuple(out))
        back = [ports.reverse(p) for p in reversed(out)] if _listens(scenario, f) else []
        backward.append(tuple(back))
    sizes = np.array([scenario.packet_size, *(HEADER + BLOCK * n for n in range(SIZES - 1))])
    bits = np.array([port.bits for port in ports.all])
    transmission = 8.0 * sizes[np.newaxis, :] / bits[:, np.newaxis]
    delays = np.array([port.delay for port in ports.all])
    F, P = len(scenario.flows), len(ports.all)
    seeds = np.random.SeedSequence(method.seed or 0).generate_state(P + F, np.uint64) | np.uint64(1)
    return Plan(
        scenario=scenario,
        method=method,
        ports=tuple(ports.all),
        forward=tuple(forward),
        backward=tuple(backward),
        recoveries=method.recovery_of(scenario),
        transmission=transmission,
        passage=transmission + delays[:, np.newaxis],
        ranks=_ranks(method, transmission[:, 0] + delays),
        sizes=sizes,
        starts=starts,
        jitter=jitter,
        phases=_phases(scenario, method),
        seeds=seeds,
        end=end,
        sample=sample,
        samples=max(1, math.ceil(round(end / sample, 6))),
    )


def _ranks(method: Packets, passage: Floats) -> NDArray[np.int64]:
    """Return each port's place among arrivals at equal times, (P,)."""
    ranks = np.arange(len(passage))
    if method.is_ns2:
        ranks[np.argsort(-passage, kind="stable")] = np.arange(len(passage))
    return ranks


def _listens(scenario: Scenario, f: int) -> bool:
    return isinstance(scenario.flows[f].source, WindowRule)


def _phases(scenario: Scenario, method: Packets) -> Floats:
    """Return the tick phases of the flows, s."""
    F = len(scenario.flows)
    if not method.is_ns2:
        return np.zeros(F)
    if method.phases is not None:
        if len(method.phases) != F:
            raise ValueError(
                f"phases: {len(method.phases)} of them, must be one for each of {F} flows"
            )
        return np.array(method.phases)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    return ns2_random.tick_phases(
        [nodes[flow.path[0]] for flow in scenario.flows], len(nodes), method.seed
    )


def bits_of(rate: float, size: float) -> float:
    """Return a rate in bit/s: the whole number that was meant, where rounding hides it."""
    bits = rate * 8.0 * size
    return float(round(bits)) if abs(bits - round(bits)) <= 1e-9 * bits else bits


class _Ports:
    """The ports of a scenario: its links, then access links and mirrors as they are needed."""

    def __init__(self, scenario: Scenario, method: Packets) -> None:
        self.scenario, self.method = scenario, method
        self.all = [
            Port(
                link.source, link.target, bits_of(link.rate, scenario.packet_size), link.delay,
                self._room(link.buffer, link.discipline), link.discipline, n,
            )
            for n, link in enumerate(scenario.links)
        ]  # fmt: skip
        self.at = {(port.source, port.target): p for p, port in enumerate(self.all)}

    def _room(self, buffer: float, discipline: Discipline) -> int:
        places = int(buffer)
        return places - 1 if self.method.is_ns2 and type(discipline) is FIFO else places

    def _add(self, port: Port) -> int:
        number(f"buffer of {port.source}->{port.target}", float(port.room), at_least=1.0)
        self.all.append(port)
        self.at[port.source, port.target] = len(self.all) - 1
        return len(self.all) - 1

    def access(self, f: int) -> int:
        """Return the access link of a flow's host, like its path's first link."""
        first = self.all[self.scenario.path_index(self.scenario.flows[f])[0]]
        host: Any = ("host", self.scenario.flows[f].name)
        return self._add(Port(host, first.source, first.bits, first.delay, UNBOUNDED, FIFO(), -1))

    def reverse(self, p: int) -> int:
        """Return the port from the target of a port to its source."""
        port = self.all[p]
        found = self.at.get((port.target, port.source))
        if found is not None:
            return found
        room = port.room
        if port.link >= 0:
            room = self._room(self.scenario.links[port.link].buffer, FIFO())
        return self._add(
            Port(port.target, port.source, port.bits, port.delay, room, FIFO(), -1, mirror=True)
        )

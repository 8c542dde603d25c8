"""Plan of a packet-level run, common to both engines: ports, routes and senders of a scenario."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.class_pauses import ALL, PFC
from dfcmodel.network.coupled import DualPI2
from dfcmodel.network.disciplines import DFC, FIFO, Discipline, Fair, Pause, Priority, manager_of
from dfcmodel.network.managers import RED
from dfcmodel.packets import ns2_random
from hopflow.checks import number, one_number
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.base import answers_marks

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

    Floats = NDArray[np.float64]

__all__ = ["Clock", "Plan", "Port", "plan_packets"]

HEADER = 40.0
"""Bytes of an ACK without blocks, and of the first packet of a connection in ns-2."""
BLOCK = 8.0
"""Bytes of a block of a selective acknowledgement."""
PHASES = 2006
"""What tells the random phases of clocks from all other random numbers."""
QUANTUM = 512.0
"""Bits of the paused link in a pause quantum (IEEE 802.3, 31B.2)."""
SIZES = 5
"""Number of size classes: 0 is a data packet; 1 to 4 are HEADER bytes with 0 to 3 blocks."""
ENDLESS = 2**31 - 2
"""Packets of an unlimited transfer: the range of sequence numbers."""
UNBOUNDED = 2**40
SHORTEST = 1e-12
"""Least duration and sample in s: the kernel counts times of up to 1e5 s in samples, in 64 bits."""
PARTS = 32
"""Most parts of a sample that engines record, so that a run ends with one of them."""


PACES = (2.0, 1.2)
"""Windows per round trip at which window senders are paced in slow start and after, as in Linux."""


@dataclass(frozen=True)
class Port:
    """A directed link at packet level and the queue in front of it.

    Attributes
    ----------
    source, target
        The nodes at its ends.
    bits
        Rate in bit/s.
    delay
        Propagation delay in s.
    room
        Packets that can be queued in addition to the one in transmission.
    discipline
        Queueing discipline.
    link
        Index in the scenario's links; -1 for mirrors and access links.
    mirror
        Whether it is the reverse direction of a link, used by ACKs only.
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
    def name(self) -> str:
        """``source->target``, as of a link."""
        return f"{self.source}->{self.target}"

    @cached_property
    def has_lanes(self) -> bool:
        """Whether the queued packets must be known at the start of each transmission."""
        manager = manager_of(self.discipline)
        managed = manager is not None and type(manager).on_step is not RED.on_step
        return managed or isinstance(self.discipline, (DFC, Pause, PFC, Fair, Priority, DualPI2))


class Clock(NamedTuple):
    """A clock of diffusion-type flow control: the node after port ``to`` reports about port ``of``, which it feeds.

    It reports first at time ``first`` and then once per ``period``, s, for which the report is under way;
    ``keys`` are the flows that go over both ports, each with whether it is its ACKs. Without a
    port that reports, ``of`` is -1, and port ``to`` merely adjusts its rates at these times.
    """

    of: int
    to: int
    first: float
    period: float
    keys: tuple[tuple[int, bool], ...]


@dataclass(frozen=True)
class Plan:
    """Numerical form of a scenario with F flows and P ports.

    Attributes
    ----------
    forward, backward
        Ports on the path of each flow's packets and of its ACKs, in order.
    delayed
        Whether the receiver of each flow delays ACKs, (F,).
    transmission
        Transmission times in s, shape (P, SIZES).
    passage
        Transmission time plus propagation delay in s, shape (P, SIZES).
    ranks
        Rank of each port among arrivals at equal times, (P,): the order of the ports; for ns-2,
        which processes simultaneous events in the order of scheduling, the longest passage first.
    sizes
        Bytes of the size classes, (SIZES,).
    losses
        Probability that a packet is lost at random at each port, (P,).
    starts
        Start times of the flows, s, (F,).
    phases
        Tick phases in s, (F,); 0 except with ``convention="ns2"``.
    seeds
        Seeds of the random number streams of ports and flows, (P + F,).
    end, sample, samples, every
        Simulated time in s, sampling interval of the engine in s, number of these, and how many make one of
        the run's; the last one may have fewer.
    """

    scenario: Scenario
    method: Packets
    ports: tuple[Port, ...]
    forward: tuple[tuple[int, ...], ...]
    backward: tuple[tuple[int, ...], ...]
    recoveries: tuple[str, ...]
    delayed: tuple[bool, ...]
    transmission: Floats
    passage: Floats
    ranks: NDArray[np.int64]
    sizes: Floats
    losses: Floats
    starts: Floats
    jitter: float
    phases: Floats
    seeds: NDArray[np.uint64]
    end: float
    sample: float
    samples: int
    every: int = 1

    def feeders(self, p: int) -> tuple[int, ...]:
        """Return the ports paused by port p: the links and access links over which its flows arrive."""
        return self._feeders.get(p, ())

    @cached_property
    def _feeders(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, set[int]] = {}
        for before, p in (hop for route in self.forward for hop in itertools.pairwise(route)):
            if isinstance(self.ports[p].discipline, Pause):
                found.setdefault(p, set()).add(before)
        return {p: tuple(sorted(ports)) for p, ports in found.items()}

    def pausable(self, p: int) -> tuple[int, ...]:
        """Return the ports that port p may pause, with all that they carry or by class."""
        return self._pausable.get(p, ())

    @cached_property
    def _pausable(self) -> dict[int, tuple[int, ...]]:
        found = dict(self._feeders)
        for p, port in enumerate(self.ports):
            if isinstance(port.discipline, PFC):
                found[p] = tuple(sorted({q for q, _ in self.ingress(p) if q >= 0}))
        return found

    @cached_property
    def with_lanes(self) -> tuple[bool, ...]:
        """Whether each port has lanes: of its own, or because it can be paused, (P,)."""
        paused = {q for p in range(len(self.ports)) for q in self.pausable(p)}
        return tuple(port.has_lanes or p in paused for p, port in enumerate(self.ports))

    def users(self, p: int) -> tuple[tuple[int, bool], ...]:
        """Return the flows at port p, each with whether it is its ACKs that come there."""
        return self._users.get(p, ())

    @cached_property
    def _users(self) -> dict[int, tuple[tuple[int, bool], ...]]:
        found: dict[int, list[tuple[int, bool]]] = {}
        for f, routes in enumerate(zip(self.forward, self.backward, strict=True)):
            for is_ack, route in zip((False, True), routes, strict=True):
                for p in route:
                    found.setdefault(p, []).append((f, is_ack))
        return {p: tuple(keys) for p, keys in found.items()}

    def clocks(self) -> list[Clock]:
        """Return the clocks of all ports with diffusion-type flow control; phases are those of nodes."""
        if not any(isinstance(port.discipline, DFC) for port in self.ports):
            return []
        nodes = self.scenario.nodes
        drawn = np.random.default_rng([self.method.seed or 0, PHASES]).random(len(nodes))
        phases = dict(zip(nodes, drawn.tolist(), strict=True))
        found = []
        for p, port in enumerate(self.ports):
            if not isinstance(port.discipline, DFC):
                continue
            first = phases[port.target] * port.delay if port.discipline.phases == "random" else 0.0
            fed: dict[int, list[tuple[int, bool]]] = {}
            for f, is_ack in self.users(p):
                route = (self.backward if is_ack else self.forward)[f]
                after = route[route.index(p) + 1 :][:1]
                if after and isinstance(self.ports[after[0]].discipline, DFC):
                    fed.setdefault(after[0], []).append((f, is_ack))
            found += [
                Clock(q, p, first, port.delay, tuple(fed.get(q, ()))) for q in sorted(fed) or [-1]
            ]
        return found

    def pause_time(self, p: int, q: int) -> float:
        """Return for how long a message of port p pauses port q, s; 0: until the next message."""
        quanta = getattr(self.ports[p].discipline, "quanta", None)
        return (quanta or 0) * QUANTUM / self.ports[q].bits

    @cached_property
    def scalable(self) -> tuple[bool, ...]:
        """Whether each flow's packets carry ECT(1): its sender answers each mark, (F,)."""
        return tuple(
            isinstance(flow.source, RateRule)
            or (isinstance(flow.source, WindowRule) and answers_marks(type(flow.source)))
            for flow in self.scenario.flows
        )

    @cached_property
    def paced(self) -> tuple[bool, ...]:
        """Whether a window sender spaces its packets: where its flow or its rule says so, (F,)."""
        return tuple(flow.pacing or _own_pace(flow.source) for flow in self.scenario.flows)

    def paces(self, f: int) -> tuple[float, float]:
        """Return windows per round trip in slow start and above; 0 where the rule sets a rate, or none."""
        own = not self.paced[f] or _own_pace(self.scenario.flows[f].source)
        return (0.0, 0.0) if own else PACES

    def storms(self) -> list[tuple[int, int, int, float]]:
        """Return pauses for ever of ports with a fault: asking port, paused one, class, and when they take effect, s."""
        found = []
        for p, port in enumerate(self.ports):
            begin = getattr(port.discipline, "storm", None)
            if begin is not None:
                found += [(p, q, c, begin + way) for q, c, way in self.faulty_pauses(p)]
        return found

    def faulty_pauses(self, p: int) -> list[tuple[int, int, float]]:
        """Return what port p pauses by a fault: port, class, and the time until it takes effect, s."""
        rule = self.ports[p].discipline
        paused: list[tuple[int, int]] = []
        if isinstance(rule, Pause):
            paused = [(q, ALL) for q in self.feeders(p)]
        elif isinstance(rule, PFC):
            paused = [key for key in self.ingress(p) if key[0] >= 0]
        else:
            return []
        return [(q, c, self.ports[q].delay + rule.signalling) for q, c in paused]

    def ingress(self, p: int) -> dict[tuple[int, int], float]:
        """Return for how many packets port p has room, by the port over which they come and class.

        Of a host without access link it is -1 - flow.
        """
        return self._ingress.get(p, {})

    @cached_property
    def _ingress(self) -> dict[int, dict[tuple[int, int], float]]:
        found: dict[int, dict[tuple[int, int], float]] = {}
        for p, port in enumerate(self.ports):
            if port.link < 0 or not isinstance(port.discipline, PFC):
                continue
            found[p] = {}
            for u, priority, room in self.scenario.ingress(port.link):
                own = u < 0 and self.scenario.flows[-1 - u].host != "direct"
                found[p][self.forward[-1 - u][0] if own else u, priority] = room
        return found

    @cached_property
    def counting(self) -> tuple[tuple[int, ...], ...]:
        """Ports whose packets of an ingress each port counts, itself among them, (P,)."""
        place = {port.link: p for p, port in enumerate(self.ports) if port.link >= 0}
        alone = [(p,) for p in range(len(self.ports))]
        return tuple(
            tuple(place[n] for n in self.scenario.counted_together(port.link))
            if port.link >= 0 and isinstance(port.discipline, PFC)
            else alone[p]
            for p, port in enumerate(self.ports)
        )

    def pool(self, p: int) -> float:
        """Return for how many packets of classes that are never paused port p has room."""
        together = self.counting[p]
        rooms = {key: room for m in together for key, room in self.ingress(m).items()}
        part = self.ports[p].room / sum(self.ports[m].room for m in together)
        return float(self.ports[p].room - part * sum(rooms.values()))


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
        Simulated time and sampling interval, s. The last interval may be shorter.
    starts
        Start times of the flows, s, (F,).
    jitter
        Upper end of the random delay of each packet at its sender, s.

    Raises
    ------
    ValueError
        For a feature that the packet level does not support; the message names it.
    """
    from dfcmodel.packets.refusals import check_scenario

    check_scenario(scenario, method)
    one_number("duration", end, at_least=SHORTEST, hint="in s")
    one_number("sample", sample, at_least=SHORTEST, hint="in s")
    sample, samples, every = _division(end, sample)
    ports = _Ports(scenario, method)
    forward, backward = [], []
    for f, flow in enumerate(scenario.flows):
        out = list(scenario.path_index(flow))
        if flow.host != "direct":
            out.insert(0, ports.access(f))
        forward.append(tuple(out))
        back = [ports.reverse(p) for p in reversed(out)] if _listens(scenario, f) else []
        backward.append(tuple(back))
    acks = HEADER + BLOCK * np.arange(SIZES - 1)
    sizes = np.array([scenario.packet_size, *(acks if method.ack_transmission else 0.0 * acks)])
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
        delayed=tuple(
            flow.delayed_acks and isinstance(flow.source, WindowRule) for flow in scenario.flows
        ),
        transmission=transmission,
        passage=transmission + delays[:, np.newaxis],
        ranks=_ranks(method, transmission[:, 0] + delays),
        sizes=sizes,
        losses=np.array([_loss(scenario, method, port) for port in ports.all]),
        starts=starts,
        jitter=jitter,
        phases=_phases(scenario, method),
        seeds=seeds,
        end=end,
        sample=sample,
        samples=samples,
        every=every,
    )


def _division(end: float, sample: float) -> tuple[float, int, int]:
    """Return an interval of which a run has a whole number, that number, and how many make a sample.

    They are the 1st to `PARTS`-th part of a sample; where none divides the run samples are shorter, so that
    they do.
    """
    times = Fraction(end / sample).limit_denominator(PARTS)
    if times > 0 and abs(times * sample / end - 1.0) <= 1e-9:
        part = sample if times.denominator == 1 else end / times.numerator
        return part, times.numerator, times.denominator
    samples = math.ceil(end / sample)
    return end / samples, samples, 1


def _loss(scenario: Scenario, method: Packets, port: Port) -> float:
    """Return the probability of random loss at a port; ACKs are never lost."""
    if port.link < 0 or method.loss is None:
        return 0.0
    return float(method.loss.get(scenario.links[port.link].name, 0.0))


def _ranks(method: Packets, passage: Floats) -> NDArray[np.int64]:
    """Return the rank of each port among arrivals at equal times, (P,)."""
    ranks = np.arange(len(passage))
    if method.is_ns2:
        ranks[np.argsort(-passage, kind="stable")] = np.arange(len(passage))
    return ranks


def _listens(scenario: Scenario, f: int) -> bool:
    return isinstance(scenario.flows[f].source, (WindowRule, RateRule))


def _own_pace(source: Any) -> bool:
    """Return whether a rule sets a rate at which its window is sent."""
    names: tuple[str, ...] = source.State._fields if isinstance(source, DeliveryRule) else ()
    return names[2:3] == ("pacing_rate",)


def _phases(scenario: Scenario, method: Packets) -> Floats:
    """Return the tick phases of the flows, s."""
    F = len(scenario.flows)
    if not method.is_ns2:
        return np.zeros(F)
    if method.phases is not None:
        if len(method.phases) != F:
            raise ValueError(
                f"phases: {len(method.phases)} values, must be one for each of {F} flows"
            )
        return np.array(method.phases)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    return ns2_random.tick_phases(
        [nodes[flow.path[0]] for flow in scenario.flows], len(nodes), method.seed
    )


def bits_of(rate: float, size: float) -> float:
    """Return a rate in bit/s, rounded to a whole number if it differs by rounding errors only."""
    bits = rate * 8.0 * size
    return float(round(bits)) if abs(bits - round(bits)) <= 1e-9 * bits else bits


class _Ports:
    """The ports of a scenario: its links, then access links and mirrors, added on demand."""

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
        self.for_acks: dict[int, int] = {}

    def _room(self, buffer: float, discipline: Discipline) -> int:
        places = int(buffer)
        return places - 1 if self.method.is_ns2 and type(discipline) is FIFO else places

    def _add(self, port: Port) -> int:
        number(f"buffer of {port.name}", float(port.room), at_least=1.0)
        self.all.append(port)
        self.at.setdefault((port.source, port.target), len(self.all) - 1)
        return len(self.all) - 1

    def access(self, f: int) -> int:
        """Add the access link of a flow's host, equal to its first link; return the index."""
        first = self.all[self.scenario.path_index(self.scenario.flows[f])[0]]
        host: Any = ("host", self.scenario.flows[f].name)
        shaped = self.scenario.flows[f].host == "shaped"
        rule = first.discipline if shaped else FIFO()
        return self._add(Port(host, first.source, first.bits, first.delay, UNBOUNDED, rule, -1))

    def reverse(self, p: int) -> int:
        """Return the port from the target of port p to its source, adding a mirror if needed.

        ACKs that take no time have mirrors to themselves, in which nothing waits.
        """
        port = self.all[p]
        if not self.method.ack_transmission:
            if p not in self.for_acks:
                self.for_acks[p] = self._mirror(port)
            return self.for_acks[p]
        found = self.at.get((port.target, port.source))
        return self._mirror(port) if found is None else found

    def _mirror(self, port: Port) -> int:
        room = port.room
        if port.link >= 0:
            room = self._room(self.scenario.links[port.link].buffer, FIFO())
        return self._add(
            Port(port.target, port.source, port.bits, port.delay, room, FIFO(), -1, mirror=True)
        )

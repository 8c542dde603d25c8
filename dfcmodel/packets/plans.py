"""Plan of a packet-level run, common to the engine and its oracle: ports, routes and senders of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from dfcmodel.network.columns import among, distinct, present
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, CLASSES, CONTROL, PFC, ByClass
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import DFC, FIFO, Pause, manager_of
from dfcmodel.packets.hops import (
    FlowEnds,
    Hops,
    Hosts,
    Ingresses,
    arrivals_of,
    ends_of,
    hops_of,
    hosts_of,
)
from dfcmodel.packets.paths import PathPlan, path_of
from dfcmodel.packets.ports import UNBOUNDED, Interface, has_lanes
from dfcmodel.packets.random_streams import first_states
from dfcmodel.packets.recoveries import recovery_named
from dfcmodel.packets.routing import choices_of, routing_ports
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.base import answers_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dfcmodel.network.columns import Routes
    from dfcmodel.network.networks import Scenario
    from dfcmodel.network.queueing.disciplines import Discipline
    from dfcmodel.packets.methods import Packets
    from dfcmodel.packets.ports import PortTable
    from dfcmodel.packets.recoveries import LossRecovery
    from dfcmodel.packets.repairs import SelectiveRepair
    from dfcmodel.packets.spraying import Spraying
    from dfcmodel.packets.watchdogs import Fault, PortWatchdog

    Floats = NDArray[np.float64]

__all__ = ["Clock", "Plan"]

Value = TypeVar("Value")

PHASES = 2006
"""What tells the random phases of clocks from all other random numbers."""
QUANTUM = 512.0
"""Bits of the paused link in a pause quantum (IEEE 802.3, 31B.2)."""
SIZES = 7
"""Number of size classes: 0 is a data packet; 1 to 4 are HEADER bytes with 0 to 3 blocks; 5 the answer to a rate rule;
6 a data packet that was cut to its header."""
ENDLESS = 2**31 - 2
"""Packets of an unlimited transfer: the range of sequence numbers."""
MOST_KEPT_HOPS = 1 << 16
"""Hops of all packets up to which what follows from them is kept for further runs of a scenario."""
LATE = 1.0 + 1e-9
"""Of the end of a run: flows that start after it are idle, whatever was rounded."""
FEW_HOPS = 64
"""Hops of all flows up to which no flows are chosen among them: that takes longer than what it saves."""
PACES = (2.0, 1.2)
"""Windows per round trip at which window senders are paced in slow start and after, as in Linux."""


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


class kept(Generic[Value]):
    """A cached property of a plan that is kept for further runs of its scenario: see `Plan.once`."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, plan: None, owner: type) -> kept[Value]: ...

    @overload
    def __get__(self, plan: Plan, owner: type) -> Value: ...

    def __get__(self, plan: Plan | None, owner: type) -> kept[Value] | Value:
        """Return the value, which stands in the dictionary of the plan from then on."""
        if plan is None:
            return self
        found: Value = plan.once(self.name, partial(self.make, plan))
        plan.__dict__[self.name] = found
        return found


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
    sizes
        Bytes of the size classes, (SIZES,).
    losses, errors
        Probability that a packet is lost at random at each port, and that a frame which it sends has an error and is sent
        again by the link, (P,).
    starts, earliest
        Start times of the flows, s, inf of those that wait for others, and before what time these do not start, (F,).
    delays_after
        Of each pair of flows of which one waits for the other the time between, s, (E,), see `Followers`.
    phases
        Tick phases in s, (F,); 0 except with ``convention="ns2"``.
    spraying
        How packets of sprayed flows are led; None: there are none.
    faults, watchdogs
        Faults that end, and the watchdogs of ports.
    end, sample, samples, every
        Simulated time in s, sampling interval of the engine in s, number of these, and how many make one of
        the run's; the last one may have fewer.
    """

    scenario: Scenario
    method: Packets
    ports: PortTable
    forward: Routes
    backward: Routes
    recoveries: Sequence[str | LossRecovery]
    repairs: Sequence[str | SelectiveRepair]
    delayed: NDArray[np.bool_]
    transmission: Floats
    passage: Floats
    sizes: Floats
    losses: Floats
    errors: Floats
    starts: Floats
    earliest: Floats
    delays_after: Floats
    jitter: float
    phases: Floats
    end: float
    sample: float
    samples: int
    every: int = 1
    faults: tuple[Fault, ...] = ()
    watchdogs: tuple[PortWatchdog, ...] = ()
    spraying: Spraying | None = None

    @kept
    def ranks(self) -> NDArray[np.int64]:
        """Order of simultaneous arrivals by the link and size class with which they came, (P, SIZES)."""
        return self.arrival_order(range(SIZES))

    def arrival_order(self, classes: Sequence[int]) -> NDArray[np.int64]:
        """Return the order of simultaneous arrivals by the link and size class with which they came, of C classes, (P, C).

        The longest passage is first, as it was scheduled first; at equal ones the order of the ports decides.
        """
        kind = self.ports.kind
        example = np.zeros(len(self.ports.examples), dtype=np.int64)
        example[kind] = np.arange(len(kind))
        lengths = self.passage[example][:, classes]
        code = np.unique(-lengths, return_inverse=True)[1].reshape(lengths.shape)
        if code.size < 2**15:
            code = code.astype(np.int16)  # sorted by radix
        order = np.argsort(code.take(kind, axis=0), axis=None, kind="stable")
        found = np.empty(len(order), dtype=np.int64)
        found[order] = np.arange(len(order))
        return found.reshape(-1, len(classes))

    @cached_property
    def seeds(self) -> NDArray[np.uint64]:
        """First states of the streams of random numbers of ports and flows, (P + F,)."""
        return first_states(self.method.seed or 0, len(self.ports) + len(self.starts))

    @cached_property
    def recovery_kinds(self) -> tuple[type[LossRecovery], ...]:
        """Classes of the loss recoveries of window senders, each once."""
        named = dict.fromkeys(given for given in among(self.recoveries) if given != "")
        return tuple(dict.fromkeys(type(recovery_named(given)) for given in named))

    @kept
    def own_receivers(self) -> NDArray[np.bool_]:
        """Whether receivers have events of their own in a calendar queue: they delay ACKs, or are agents, (F,)."""
        agents = self.scenario.table.given("receiver")
        return np.asarray(self.delayed | agents, dtype=np.bool_)

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what follows from the scenario and its ports, made in the first of several runs.

        It is kept with the scenario, unless its flows have so many hops that the memory matters.
        """
        if len(self.forward.places) > MOST_KEPT_HOPS:
            return make()
        kept = self.scenario.derived
        key = name, id(self.ports)  # they are kept, too, so that no others have their place
        if key not in kept:
            kept[key] = self.ports, make()
        return kept[key][1]

    @kept
    def hops(self) -> Hops:
        """All hops of the flows, as columns."""
        return hops_of(self.forward, self.backward)

    def release(self) -> None:
        """Give up what follows from the plan and is computed again where it is read."""
        for name in vars(self).keys() - self.__dataclass_fields__.keys():
            del self.__dict__[name]

    @cached_property
    def idle(self) -> NDArray[np.bool_]:
        """Whether each flow starts after the end of the run, (F,): its sender and its receiver have no state."""
        if self.spraying is not None:  # which lends the hops of flows that do not start
            return np.zeros(len(self.starts), dtype=np.bool_)
        late: NDArray[np.bool_] = self.starts > self.end * LATE
        return late & ~self.scenario.table.waits if late.any() else late

    @cached_property
    def begun(self) -> NDArray[np.int64] | slice:
        """The flows that are not `idle`, ascending; a slice of all where none is."""
        return np.flatnonzero(~self.idle) if self.idle.any() else slice(None)

    @cached_property
    def ends(self) -> FlowEnds:
        """Rows of hops at the ends of the flows."""
        return ends_of(self.forward.counts, self.backward.counts)

    @cached_property
    def stops(self) -> Floats:
        """When the flows end sending, s, (F,): not before they start; inf: never."""
        return np.maximum(self.starts, self.scenario.table.numbers("stop"))

    @kept
    def turns(self) -> Hops:
        """Return the hops of as few flows as have all turns from one port to the next that there are.

        Whatever follows from the ports before and after a hop is that of these flows: times between ports among them, as
        a port without a queue of its own has one port before it.
        """
        hops, P = self.hops, len(self.ports)
        if len(hops.port) <= FEW_HOPS:
            return hops
        keys = hops.port * (P + 1) + hops.before + 1
        span = P * (P + 1)
        kinds = 2 * self.delayed + (self.backward.counts > 0)
        if kinds.any():
            keys, span = 4 * keys + kinds[hops.flow], 4 * span
        return hops.of(present(hops.flow[distinct(keys, span)[1]], len(self.forward)))

    @kept
    def all_packets(self) -> Floats:
        """Packets of each flow in all, (F,): `dfcmodel.Flow.all_packets`."""
        table = self.scenario.table
        return np.where(table.numbers("idle") == np.inf, table.numbers("size"), np.inf)

    @kept
    def priorities(self) -> NDArray[np.int64]:
        """Class of traffic of each flow, (F,)."""
        return self.scenario.table.numbers("priority").astype(np.int64)

    @kept
    def classes(self) -> NDArray[np.int64]:
        """Class of traffic at each hop, (H,): its flow's, or `CONTROL` for ACKs where these are set apart."""
        ranks = self.priorities[self.hops.flow]
        apart = self.by_discipline(lambda each: getattr(each, "acks", "class") == "control")
        return np.where(self.hops.is_ack & apart[self.hops.port], CONTROL, ranks)

    @kept
    def base_rtts(self) -> Floats:
        """Round-trip times without queue, s, (F,): transmission times and propagation, of a packet and its ACK."""
        return self.hops.round_trips(self.passage)

    @kept
    def _disciplines(self) -> tuple[list[Discipline], NDArray[np.int64]]:
        """Return the disciplines, and the place of that of each port among them: ports share them."""
        place: dict[Any, int] = {}
        found: list[Discipline] = []
        own = []
        for port in self.ports.examples:
            rule = port.discipline
            key = FIFO if type(rule) is FIFO else id(rule)
            if key not in place:
                place[key] = len(found)
                found.append(rule)
            own.append(place[key])
        return found, self.ports.of_kinds(own)

    @property
    def disciplines(self) -> list[Discipline]:
        """The disciplines of the ports, each once."""
        return self._disciplines[0]

    def by_discipline(self, value: Callable[[Any], Any]) -> NDArray[Any]:
        """Return a value that follows from the discipline of each port, (P,)."""
        disciplines, own = self._disciplines
        return np.array([value(each) for each in disciplines]).take(own, axis=0)

    @cached_property
    def has_managers(self) -> bool:
        """Whether any port has a queue manager."""
        return self.has(DualPI2) or any(map(manager_of, self.disciplines))

    def has(self, *kinds: type) -> bool:
        """Return whether any port has a discipline of some kinds."""
        return any(isinstance(each, kinds) for each in self.disciplines)

    def under(self, *kinds: type) -> list[int]:
        """Return the ports with disciplines of some kinds."""
        if not self.has(*kinds):
            return []
        return np.flatnonzero(self.by_discipline(lambda each: isinstance(each, kinds))).tolist()

    @kept
    def rooms(self) -> NDArray[np.int64]:
        """Packets, or bytes at ports with a cell, that can be queued at each port, (P,)."""
        return self.ports.each(lambda port: min(port.room, UNBOUNDED)).astype(np.int64)

    @kept
    def cells(self) -> NDArray[np.int64]:
        """Bytes of a cell of the buffer of each port, (P,): 1 where it counts bytes, 0 where it counts packets."""
        return self.ports.each(lambda port: port.cell).astype(np.int64)

    @kept
    def taken(self) -> Floats:
        """Bytes that packets of each size class take in the queue of each port, (P, SIZES)."""
        found = np.tile(self.sizes, (len(self.ports), 1))
        for p in np.flatnonzero(self.cells).tolist():
            found[p] = [self.ports[p].taken(size) for size in self.sizes.tolist()]
        return found

    @kept
    def units(self) -> Floats:
        """Bytes of a data packet in the queue of each port that counts bytes, (P,); 0 of others."""
        found: Floats = np.where(self.cells > 0, self.taken[:, 0], 0.0)
        return found

    @kept
    def places(self) -> NDArray[np.int64]:
        """Upper bound of the packets that can be queued at each port, (P,)."""
        if not self.cells.any():
            return self.rooms
        least = np.maximum(self.taken.min(axis=1), 1.0)  # ACKs without transmission have no bytes
        found: NDArray[np.int64] = np.where(
            self.cells > 0, np.minimum(self.rooms / least, UNBOUNDED), self.rooms
        ).astype(np.int64)
        return found

    @kept
    def drains(self) -> Floats:
        """How long what fills a queue that counts bytes takes to be sent, s, (P,); inf of others."""
        if not self.cells.any():
            return np.full(len(self.ports), np.inf)
        found: Floats = np.where(self.cells > 0, 8.0 * self.rooms / self.bits, np.inf)
        return found

    @kept
    def bits(self) -> Floats:
        """Rates of the ports in bit/s, (P,)."""
        return self.ports.each(lambda port: port.bits)

    @kept
    def delays(self) -> Floats:
        """Propagation delays of the ports in s, (P,)."""
        return self.ports.each(lambda port: port.delay)

    def pausable(self, p: int) -> tuple[int, ...]:
        """Return the ports that port p may pause, with all that they carry or by class.

        They are the links and access links over which its flows arrive.
        """
        return self._pausable.get(p, ())

    @cached_property
    def _pausable(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for p, q in zip(*(each.tolist() for each in self.pauses), strict=True):
            found.setdefault(p, []).append(q)
        return {p: tuple(paused) for p, paused in found.items()}

    @kept
    def pauses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ports that pause others, and which ones, each pair once and in order, (N,) each."""
        if not self.has(Pause, ByClass, BFC):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        P, hops, table = len(self.ports), self.hops, self.ingresses
        counted = table.before >= 0
        pairs = table.port[counted] * P + table.before[counted]
        if self.under(Pause):
            whole = self.by_discipline(lambda each: each.pauses == "link")[hops.port]
            rows = np.flatnonzero(whole & ~hops.is_ack & ~hops.begins)
            pairs = np.append(pairs, hops.port[rows] * P + hops.before[rows])
        if self.under(BFC):
            stops = self.by_discipline(lambda each: each.pauses == "flow")[hops.port]
            rows = np.flatnonzero(stops & ~hops.is_ack & ~hops.begins)
            pairs = np.append(pairs, hops.port[rows] * P + hops.before[rows])
        asks, paused = np.divmod(present(pairs, P * P), P)
        return asks, paused

    @kept
    def signalling(self) -> Floats:
        """Delay of the pause messages of each port besides propagation, s, (P,)."""
        return self.by_discipline(lambda each: float(getattr(each, "signalling", 0.0)))

    @kept
    def thresholds(self) -> Floats:
        """Above which and down to which ports pause others, (P, 2).

        They are in bytes under PFC and where buffers count bytes, in packets elsewhere.
        """
        if not self.has(Pause, PFC):
            return np.zeros((len(self.ports), 2))
        limits = self.by_discipline(lambda each: each.thresholds)
        unit = self.by_discipline(lambda each: self.sizes[0] if each.pauses == "class" else 1.0)
        found: Floats = limits * np.where(self.cells > 0, self.units, unit)[:, np.newaxis]
        return found

    @kept
    def with_lanes(self) -> NDArray[np.bool_]:
        """Whether each port has lanes: of its own, or because it can be paused, (P,)."""
        found = self.by_discipline(has_lanes)
        found[self.pauses[1]] = True
        found[self.errors > 0.0] = True
        if self.scenario.elements:
            found |= self.path.at_ports(self.hops.port)
        found[[p for p, times in enumerate(self.down_times) if times]] = True
        found[list(self.routing)] = True
        return found

    @cached_property
    def down_times(self) -> list[tuple[tuple[float, float], ...]]:
        """When the link of each port is down, from and until in s, (P,)."""
        given, P = self.method.failures or {}, len(self.ports)
        names = self.scenario.link_table.names if given else []
        found = [tuple(given.get(name, ())) for name in names]
        return [*found, *[()] * (P - len(found))]

    @kept
    def choices(self) -> dict[int, tuple[int, ...]]:
        """Rows of the hops among which a switch chooses, besides the one of the key; none at that where a time to live is over."""
        limited = self.scenario.table.given("ttl").any()
        return choices_of(self) if limited or self.spraying is not None else {}

    @kept
    def routing(self) -> dict[int, tuple[int, ...]]:
        """Ports at which switches route packets, each with all those that are processed with it as one, in order."""
        return routing_ports(self) if self.choices else {}

    @kept
    def path(self) -> PathPlan:
        """Return what stands in front of the queues of ports."""
        return path_of(self)

    @property
    def retry_loops(self) -> Floats:
        """Time from the end of a frame until its link acts on a request that it causes, s, (P,)."""
        return 2.0 * self.delays + self.method.retry_delay

    @cached_property
    def telemetry(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return how many ports before each hop write telemetry into packets, (H,), and how many on each path, (F,)."""
        hops = self.hops
        writes = self.by_discipline(lambda each: bool(getattr(each, "telemetry", False)))
        here = (writes[hops.port] & ~hops.is_ack).astype(np.int64)
        most = np.bincount(hops.flow, here, minlength=len(self.forward)).astype(np.int64)
        before = np.cumsum(here) - here
        return before - (np.cumsum(most) - most)[hops.flow], most

    @kept
    def at_senders(self) -> NDArray[np.bool_]:
        """Whether each port is an interface of a host, whose events are in one queue with those of its senders, (P,)."""
        return self.by_discipline(lambda each: isinstance(each, Interface))

    @kept
    def shares_access(self) -> NDArray[np.bool_]:
        """Whether each flow's first port is an interface that is no link of the scenario, a queue per flow, (F,)."""
        first = self.forward.first
        return np.asarray(self.at_senders[first] & (first >= len(self.scenario.links)))

    @kept
    def hosts(self) -> Hosts:
        """Whose calendar queue the events of hosts are in."""
        return hosts_of(self.hops, self.at_senders, self.scenario.table)

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

    @cached_property
    def clocks(self) -> list[Clock]:
        """The clocks of all ports with diffusion-type flow control; phases are those of nodes."""
        rated = self.under(DFC)
        if not rated:
            return []
        nodes = self.scenario.nodes
        drawn = np.random.default_rng([self.method.seed or 0, PHASES]).random(len(nodes))
        phases = dict(zip(nodes, drawn.tolist(), strict=True))
        found = []
        for p in rated:
            port: Any = self.ports[p]
            first = phases[port.target] * port.delay if port.discipline.phases == "random" else 0.0
            fed: dict[int, list[tuple[int, bool]]] = {}
            for f, is_ack in self.users(p):
                route = (self.backward if is_ack else self.forward)[f]
                after = route[route.index(p) + 1 :][:1]
                if after and self.ports[after[0]].discipline.diffuses:
                    fed.setdefault(after[0], []).append((f, is_ack))
            found += [
                Clock(q, p, first, port.delay, tuple(fed.get(q, ()))) for q in sorted(fed) or [-1]
            ]
        return found

    def pause_time(self, p: int, q: int) -> float:
        """Return for how long a message of port p pauses port q, s; 0: until the next message."""
        quanta = getattr(self.ports[p].discipline, "quanta", None)
        return (quanta or 0) * QUANTUM / self.ports[q].bits

    @kept
    def scalable(self) -> NDArray[np.bool_]:
        """Whether each flow's packets carry ECT(1): its sender answers each mark, (F,)."""
        return self.scenario.table.each("source", lambda source: _answers(type(source)))

    @kept
    def opening(self) -> NDArray[np.int64]:
        """Packets without data with which each flow begins, (F,): the SYN, or ns-2's packet of 40 bytes."""
        table = self.scenario.table
        if self.method.is_ns2:
            return table.of_kind(WindowRule).astype(np.int64)
        return table.each("handshake", lambda given: given is True).astype(np.int64)

    @kept
    def paced(self) -> NDArray[np.bool_]:
        """Whether a window sender spaces its packets: where its flow or its rule says so, (F,)."""
        table = self.scenario.table
        return np.asarray(table.each("pacing", bool) | table.each("source", _own_pace))

    def paces(self, f: int) -> tuple[float, float]:
        """Return windows per round trip in slow start and above; 0 where the rule sets a rate, or none."""
        own = not self.paced[f] or _own_pace(self.scenario.flows[f].source)
        return (0.0, 0.0) if own else PACES

    @property
    def scheduled(self) -> int:
        """Number of pause messages by faults and of polls of watchdogs that are scheduled before a run."""
        return len(self.storms()) + len(self.fault_messages()) + len(self.watchdogs)

    def fault_messages(self) -> list[tuple[int, int, int, float, bool]]:
        """Return messages of faults that end: asking port, port, class, time of effect in s, and whether to pause."""
        return [
            (fault.port, q, c, time + way, pause)
            for fault in self.faults
            for q, c, way in self.faulty_pauses(fault.port)
            for time, pause in ((fault.begin, True), (fault.end, False))
        ]

    def storms(self) -> list[tuple[int, int, int, float]]:
        """Return pauses for ever of ports with a fault: asking port, paused one, class, and when they take effect, s."""
        found: list[tuple[int, int, int, float]] = []
        if all(getattr(each, "storm", None) is None for each in self.disciplines):
            return found
        begins = self.by_discipline(lambda each: getattr(each, "storm", None))
        for p, begin in enumerate(begins.tolist()):
            if begin is not None:
                found += [(p, q, c, begin + way) for q, c, way in self.faulty_pauses(p)]
        return found

    def faulty_pauses(self, p: int) -> list[tuple[int, int, float]]:
        """Return what port p pauses by a fault: port, class, and the time until it takes effect, s."""
        rule: Any = self.ports[p].discipline
        if not any(rule.thresholds):
            return []
        if rule.pauses == "class":
            paused = [key for key in self.ingress(p) if key[0] >= 0]
        else:
            paused = [(q, ALL) for q in self.pausable(p)]
        return [(q, c, self.ports[q].delay + rule.signalling) for q, c in paused]

    def ingress(self, p: int) -> dict[tuple[int, int], float]:
        """Return for how many packets port p has room, by the port over which they come and class.

        Of a host without access link it is -1 - flow.
        """
        return self._ingress.get(p, {})

    @cached_property
    def _ingress(self) -> dict[int, dict[tuple[int, int], float]]:
        found: dict[int, dict[tuple[int, int], float]] = {}
        for p, before, priority, room in zip(*map(np.ndarray.tolist, self.ingresses), strict=True):
            found.setdefault(p, {})[before, priority] = room
        return found

    @kept
    def counted(self) -> NDArray[np.bool_]:
        """Whether the port at each hop counts the packets that take it, those of a lossless class, (H,)."""
        rules: list[Any] = self.disciplines
        lossless = [rule.classes if rule.queue_per == "class" else () for rule in rules]
        hops, own = self.hops, self._disciplines[1]
        if not any(lossless):
            return np.zeros(len(hops.port), dtype=np.bool_)
        table = np.zeros((len(rules), CLASSES + 1), dtype=np.bool_)  # the last of no class
        for row, classes in zip(table, lossless, strict=True):
            row[list(classes)] = True
        ranks, rows = self._lossless_ranks, own[hops.port]
        of_class = ranks[0] if (ranks == ranks[0]).all() else ranks[hops.flow]
        is_link = hops.port < len(self.scenario.links)
        return np.asarray(table[rows, of_class] & is_link & ~hops.is_ack)

    @property
    def _lossless_ranks(self) -> NDArray[np.int64]:
        """Class of each flow among those that can be lossless; `CLASSES`: it is none of them, (F,)."""
        ranks = self.priorities
        return np.where((ranks >= 0) & (ranks < CLASSES), ranks, CLASSES)

    @kept
    def ingresses(self) -> Ingresses:
        """Return what ports with lossless classes count, each ingress and class once."""
        rules: list[Any] = self.disciplines
        if not any(rule.queue_per == "class" for rule in rules):
            none = np.empty(0, dtype=np.int64)
            return Ingresses(none, none, none, np.empty(0))
        links, own = self.scenario.link_table, self._disciplines[1]
        port, before, priority = arrivals_of(self.hops, self.counted, self._lossless_ranks)
        over = np.where((before < 0) | (before >= len(links)), port, before)  # access like first
        by_link, size = self.scenario.by_link, self.scenario.packet_size
        rate, delay = by_link(lambda link: link.rate)[over], by_link(lambda link: link.delay)[over]
        room = np.empty(len(port))
        buffers = list(dict.fromkeys(link.buffer for link in links.kinds))
        place = {buffer: k for k, buffer in enumerate(buffers)}
        kind = own[port] * len(buffers) + by_link(lambda link: place[link.buffer])[port]
        for key in present(kind, len(rules) * len(buffers)).tolist():
            rows, (n, k) = kind == key, divmod(key, len(buffers))
            room[rows] = rules[n].room(rate[rows], delay[rows], size, buffers[k])
        return Ingresses(port, before, priority, room)

    @kept
    def counting(self) -> tuple[tuple[int, ...], ...]:
        """Ports whose packets of an ingress each port counts, itself among them, (P,)."""
        if self._counts_apart:
            return tuple((p,) for p in range(len(self.ports)))
        place = {port.link: p for p, port in enumerate(self.ports) if port.link >= 0}
        return tuple(
            tuple(place[n] for n in self.scenario.counted_together(port.link))
            if port.link >= 0
            else (p,)
            for p, port in enumerate(self.ports)
        )

    @kept
    def counters(self) -> NDArray[np.int64]:
        """Port that counts the packets of an ingress for each port: the first of those of `counting`, (P,)."""
        if self._counts_apart:
            return np.arange(len(self.ports))
        return np.array([ports[0] for ports in self.counting])

    @kept
    def counts_together(self) -> NDArray[np.bool_]:
        """Whether several ports count the packets of an ingress together with each port, (P,)."""
        if self._counts_apart:
            return np.zeros(len(self.ports), dtype=np.bool_)
        return np.array([len(ports) > 1 for ports in self.counting])

    @property
    def _counts_apart(self) -> bool:
        """Whether each port counts its own packets."""
        return all(getattr(each, "counts", "output") == "output" for each in self.disciplines)

    def pool(self, p: int) -> float:
        """Return for how many packets of classes that are never paused port p has room."""
        port = self.ports[p]
        room = port.room / self.units[p] if port.cell else float(port.room)
        return room - (self.scenario.reserved(port.link) if port.link >= 0 else 0.0)


def _answers(kind: type) -> bool:
    """Return whether sources of a class answer each mark."""
    return issubclass(kind, RateRule) or (issubclass(kind, WindowRule) and answers_marks(kind))


def _own_pace(source: Any) -> bool:
    """Return whether a rule sets a rate at which its window is sent."""
    names: tuple[str, ...] = source.State._fields if isinstance(source, DeliveryRule) else ()
    return names[2:3] == ("pacing_rate",)

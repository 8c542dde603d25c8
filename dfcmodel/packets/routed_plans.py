"""Ports, routes and senders of a scenario as arrays, for a packet-level run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from dfcmodel.network.columns import among, distinct, present
from dfcmodel.network.queueing.class_pauses import CONTROL
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import FIFO, manager_of
from dfcmodel.packets.hops import FlowEnds, Hops, Hosts, ends_of, hops_of, hosts_of
from dfcmodel.packets.ports import UNBOUNDED, Interface
from dfcmodel.packets.recoveries import recovery_named
from hopflow.fork_safety import cached_property
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.deliveries.delivery_rule import answers_marks

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

__all__ = ["ENDLESS", "MOST_KEPT_HOPS", "SIZES", "RoutedPlan", "first_states", "kept"]

Value = TypeVar("Value")

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
HOPS_OF_PART = 3_000_000
"""Hops of packets in a part of a run: about 0.2 s."""
PACES = (2.0, 1.2)
"""Windows per round trip at which window senders are paced in slow start and after, as in Linux."""
HASH, MULTIPLIER = 0x8B51F9DD, 0x58F38DED
"""First value and factor of the hash by which a seed sequence makes its state (O'Neill 2015, as in NumPy)."""


class kept(Generic[Value]):
    """A cached property of a plan that is kept for further runs of its scenario: see `RoutedPlan.once`."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, plan: None, owner: type) -> kept[Value]: ...

    @overload
    def __get__(self, plan: RoutedPlan, owner: type) -> Value: ...

    def __get__(self, plan: RoutedPlan | None, owner: type) -> kept[Value] | Value:
        """Return the value, which stands in the dictionary of the plan from then on."""
        if plan is None:
            return self
        found: Value = plan.once(self.name, partial(self.make, plan))
        plan.__dict__[self.name] = found
        return found


@dataclass(frozen=True)
class RoutedPlan:
    """Numerical form of a scenario with F flows and P ports: routes, buffers and senders.

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

    @kept
    def hop_rate(self) -> float:
        """Return the hops of packets per second if all flows send, with an equal share of each link."""
        routes = self.forward
        used = np.flatnonzero(routes.counts)
        shares = self.transmission[:, 0] * np.bincount(routes.places, minlength=len(self.ports))  # s per packet
        longest = np.zeros(len(routes))  # of a flow at the link where its share is least
        longest[used] = np.maximum.reduceat(shares[routes.places], routes.begin[used])
        counts = routes.counts + self.backward.counts
        sends = longest > 0.0
        return float((counts[sends] / longest[sends]).sum())

    @property
    def samples_of_part(self) -> int:
        """Samples of a part of a run: `HOPS_OF_PART` hops at the `hop_rate`."""
        return max(1, int(HOPS_OF_PART / max(self.hop_rate * self.sample, 1.0)))

    def release(self, *names: str) -> None:
        """Free properties, all by default, which are computed again where they are read."""
        for name in names or vars(self).keys() - self.__dataclass_fields__.keys():
            self.__dict__.pop(name, None)

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

    @property
    def crosses_port(self) -> NDArray[np.bool_]:
        """Whether each row of hops crosses a port: it is not that of a receiver or a sender, (H + 2 F,)."""
        crosses = np.ones(len(self.forward.places) + len(self.backward.places) + 2 * len(self.starts), dtype=np.bool_)
        crosses[self.ends.receiver] = crosses[self.ends.sender] = False
        return crosses

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


def _answers(kind: type) -> bool:
    """Return whether sources of a class answer each mark."""
    return issubclass(kind, RateRule) or (issubclass(kind, WindowRule) and answers_marks(kind))


def _own_pace(source: Any) -> bool:
    """Return whether a rule sets a rate at which its window is sent."""
    names: tuple[str, ...] = source.State._fields if isinstance(source, DeliveryRule) else ()
    return names[2:3] == ("pacing_rate",)


def first_states(seed: int, count: int) -> NDArray[np.uint64]:
    """Return odd numbers for ``count`` streams, those of NumPy's `SeedSequence`, shape (count,).

    Its own function takes a thousand instructions for each.

    >>> own = np.random.SeedSequence(7).generate_state(5, np.uint64) | np.uint64(1)
    >>> np.array_equal(first_states(7, 5), own)
    True
    """
    pool = np.random.SeedSequence(seed).pool
    factors = np.full(2 * count + 1, MULTIPLIER, dtype=np.uint32)
    factors[:1] = HASH
    hashes = np.multiply.accumulate(factors, dtype=np.uint32)
    words = np.resize(pool, 2 * count) ^ hashes[:-1]
    words *= hashes[1:]
    words ^= words >> np.uint32(16)
    found = words[::2].astype(np.uint64)
    found |= words[1::2].astype(np.uint64) << np.uint64(32)
    found |= np.uint64(1)
    return found

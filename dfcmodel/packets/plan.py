"""Plan of a packet-level run, for the engine and its oracle: hops, senders, buffers, pauses, routing and faults."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from dfcmodel.network.elements.base import MAX_COPIES, PathElement
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.frame_sizes import BLOCK, HEADER, SHORTEST_FRAME
from dfcmodel.network.links import Routes, among, distinct, present
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.buffers import cell_bytes
from dfcmodel.network.queueing.class_pauses import ALL, CLASSES, CONTROL, PFC, ByClass
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import DFC, Pause, manager_of
from dfcmodel.network.queueing.pause_responses import QUANTUM
from dfcmodel.packets.kernel.layout import CLASSES as EVENT_CLASSES
from dfcmodel.packets.kernel.links.path_elements import RELEASED
from dfcmodel.packets.methods import recovery_named
from dfcmodel.packets.ports import UNBOUNDED, Interface, has_lanes
from hopflow.checks import count_of
from hopflow.fork_safety import cached_property
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.deliveries.delivery_rule import answers_marks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets
    from dfcmodel.packets.ports import Ports
    from dfcmodel.packets.recoveries import LossRecovery
    from dfcmodel.packets.repairs import SelectiveRepair
    from dfcmodel.packets.sprayed import Spraying

    Booleans = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "ENDLESS",
    "EXPIRES",
    "SIZES",
    "Clock",
    "Fault",
    "FlowEnds",
    "Hops",
    "Hosts",
    "PacketPlan",
    "PathPlan",
    "PortWatchdog",
    "hops_of",
]

Value = TypeVar("Value")

SIZES = 7
"""Number of size classes: 0 is a data packet; 1 to 4 are HEADER bytes with 0 to 3 blocks; 5 the answer to a rate rule;
6 a data packet that was cut to its header."""
ENDLESS = 2**31 - 2
"""Packets of an unlimited transfer: the range of sequence numbers."""
EXPIRES: tuple[int, ...] = (-1,)
"""The choices where a time to live is over."""
IDLE_START = 1.0 + 1e-9
"""Of the end of a run: flows that start after it are idle, in spite of rounding errors."""
HOPS_OF_PART = 3_000_000
"""Hops of packets in a part of a run: about 0.2 s."""
PACES = (2.0, 1.2)
"""Windows per round trip at which window senders are paced in slow start and after, as in Linux."""
CLOCK_PHASES = 2006
"""Sets the random phases of clocks apart from all other random numbers."""
MAX_CHAINS = 1 << 20
"""Most elements of all chains: the key of a packet that is held contains its position."""
HASH, MULTIPLIER = 0x8B51F9DD, 0x58F38DED
"""First value and factor of the hash by which a seed sequence makes its state (O'Neill 2015, as in NumPy)."""


class Hops(NamedTuple):
    """Hops of all flows as columns, (H,) each; flow by flow, first of its packets, then of its ACKs.

    Attributes
    ----------
    flow, port
        The flow of the hop, and the port that it uses.
    is_ack
        Whether it is a hop of ACKs.
    begins
        Whether it is the first hop from the sender, or of ACKs from the receiver.
    """

    flow: Integers
    port: Integers
    is_ack: Booleans
    begins: Booleans

    @property
    def before(self) -> Integers:
        """The port of the previous hop, for a first hop of ACKs the port of the packets' last hop; -1: none, (H,)."""
        ports = np.empty_like(self.port)
        ports[1:] = self.port[:-1]
        ports[self.begins & ~self.is_ack] = -1
        return ports

    @property
    def row(self) -> Integers:
        """Row, (H,), of each hop in tables with a receiver's row after those of packets, a sender's after ACKs'."""
        rows = np.arange(len(self.flow))
        rows += self.is_ack
        rows += 2 * self.flow
        return rows

    def of(self, flows: Integers) -> Hops:
        """Return the hops of these flows alone, in the order of the flows."""
        is_chosen = np.zeros(int(self.flow.max(initial=-1)) + 1, dtype=np.bool_)
        is_chosen[flows] = True
        if is_chosen.all():
            return self
        rows = is_chosen[self.flow]
        return Hops(self.flow[rows], self.port[rows], self.is_ack[rows], self.begins[rows])

    def round_trips(self, passage: Floats) -> Floats:
        """Return the passage times of a packet and its ACK over all hops of each flow, without queues, s, (F,).

        Parameters
        ----------
        passage
            Transmission time plus propagation delay of the size classes at each port, s, (P, SIZES).

        Examples
        --------
        >>> hops = hops_of([(0, 1), (1,)], [(2,), ()])
        >>> hops.round_trips(np.array([[0.3, 0.2], [0.5, 0.4], [0.7, 0.6]])).round(3).tolist()
        [1.4, 0.5]
        """
        durations = passage[self.port, self.is_ack.astype(np.int64)]
        times: Floats = np.bincount(self.flow, weights=durations).astype(np.float64)
        return times


def hops_of(forward: Sequence[Sequence[int]], backward: Sequence[Sequence[int]]) -> Hops:
    """Return the hops of flows from the ports on each path of packets, ``forward``, and of ACKs, ``backward``.

    Examples
    --------
    >>> hops = hops_of([(0, 1), (1,)], [(2,), ()])
    >>> hops.port.tolist(), hops.before.tolist(), hops.row.tolist()
    ([0, 1, 2, 1], [-1, 0, 1, -1], [0, 1, 3, 5])
    """
    out, back = Routes.of(forward), Routes.of(backward)
    counts = out.counts + back.counts
    flow = np.repeat(np.arange(len(counts)), counts)
    port = np.asarray(out.places, dtype=np.int64)
    is_ack, begins = np.zeros(len(flow), dtype=np.bool_), np.zeros(len(flow), dtype=np.bool_)
    start = np.cumsum(counts) - counts
    begins[start[out.counts > 0]] = True
    if len(back.places):
        is_ack = np.repeat(np.tile([False, True], len(counts)), np.transpose([out.counts, back.counts]).ravel())
        begins[(start + out.counts)[back.counts > 0]] = True
        port = np.empty(len(flow), dtype=np.int64)
        port[~is_ack], port[is_ack] = out.places, back.places
    return Hops(flow, port, is_ack, begins)


class FlowEnds(NamedTuple):
    """Rows, in tables of hops, of each flow's first hop, receiver and sender, (F,) each."""

    first: Integers
    receiver: Integers
    sender: Integers


class Hosts(NamedTuple):
    """Indices of calendar queues: one for each port, then one for all senders without an interface.

    Attributes
    ----------
    queue
        The queue of the arrivals at each port, (P,).
    sender, receiver
        The queues of the events of each flow at its ends, (F,).
    """

    queue: Integers
    sender: Integers
    receiver: Integers


class Ingresses(NamedTuple):
    """Classes that ports with PFC count by the port before, and reserved packets: a row per port, ingress, class, (N,).

    Attributes
    ----------
    port
        Port that counts packets.
    before
        Port over which the counted packets come; -1 - flow for a host without access link.
    priority
        Class of the counted packets.
    room
        Room for the counted packets, packets.
    """

    port: Integers
    before: Integers
    priority: Integers
    room: Floats


class PathPlan(NamedTuple):
    """Elements of a scenario as chains at the hops of a plan, and rates over time of its ports.

    Attributes
    ----------
    elements
        Elements of the scenario, each once.
    chains
        The chains of elements that packets pass one after the other: numbers of elements, -1 behind the last of each.
    first
        Index in ``chains`` of the first element at each hop, -1: none, (H,).
    rates
        The element with the rate of each port; -1: its rate is constant, (P,).
    """

    elements: Sequence[PathElement]
    chains: tuple[int, ...]
    first: Integers
    rates: Integers

    @property
    def largest_hold(self) -> float:
        """Upper bound of the time for which all elements together hold a packet, s."""
        return sum(element.largest_hold for element in self.elements)

    @property
    def largest_copies(self) -> float:
        """Upper bound of the packets that leave all elements together per arriving packet."""
        return float((1 + MAX_COPIES) ** sum("copies" in element.State._fields for element in self.elements))

    def at_ports(self, ports: Integers) -> Booleans:
        """Return flags, (P,), of ports with elements; ``ports`` are the ports of the hops."""
        has_element: Booleans = self.rates >= 0
        has_element[ports[self.first >= 0]] = True
        return has_element


class Clock(NamedTuple):
    """A clock of DFC, times in s: the node after port ``to`` reports to port ``to``, each period, about port ``of``.

    It reports first at time ``first`` and then once per ``period``, s, for which the report is under way;
    ``keys`` are the flows that go over both ports, each with whether it is its ACKs. Without a
    port that reports, ``of`` is -1, and port ``to`` merely adjusts its rates at these times.
    """

    of: int
    to: int
    first: float
    period: float
    keys: tuple[tuple[int, bool], ...]


class PortWatchdog(NamedTuple):
    """A watchdog of a port, or of one class at it: times of polls, s, and counts that declare a storm.

    Attributes
    ----------
    port, priority
        The port and the class of traffic that it polls; `dfcmodel.network.queueing.class_pauses.ALL` for all classes.
    first, period
        Time of the first poll, and time between polls, s.
    min_paused
        Minimum paused time of a bad interval, s.
    bad_polls, good_polls
        Consecutive bad intervals that declare a storm, and consecutive intervals without a pause that end it.
    """

    port: int
    priority: int
    first: float
    period: float
    min_paused: float
    bad_polls: int
    good_polls: int


class Fault(NamedTuple):
    """A faulty port that requests pauses from ``begin`` to ``end``, s, for any length of its queue."""

    port: int
    begin: float
    end: float


class shared(Generic[Value]):
    """Cached property of a plan whose value later runs of the scenario reuse: see `PacketPlan.share`."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make, self.name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, plan: None, owner: type) -> shared[Value]: ...

    @overload
    def __get__(self, plan: PacketPlan, owner: type) -> Value: ...

    def __get__(self, plan: PacketPlan | None, owner: type) -> shared[Value] | Value:
        """Return the value, and store it in the dictionary of the plan."""
        if plan is None:
            return self
        value: Value = plan.share(self.name, partial(self.make, plan))
        plan.__dict__[self.name] = value
        return value


@dataclass(frozen=True)
class PacketPlan:
    """A scenario in numbers for packet-level runs, with F flows, P ports and H hops.

    Attributes
    ----------
    ports
        The ports, and the routes of packets and ACKs over them.
    recoveries, repairs
        Loss recoveries of window senders, and repairs of senders at the rate of a rule, F of each; "" for others.
    starts, earliest
        Start times of the flows, s, inf for flows that wait for others, and earliest starts of these, s, (F,) each.
    delays_after
        Time from the end of a flow to the start of a flow that waits for it, by pair, s, (E,); see `Followers`.
    jitter
        Upper end of the random delay of each packet at its sender, s.
    phases
        Tick phases in s, (F,); 0 except with ``convention="ns2"``.
    end, sample, samples, every
        Simulated time in s, sampling interval of the engine in s, number of these, and how many make one of
        the run's; the last one may have fewer.
    faults, watchdogs
        Faults that end, and the watchdogs of ports.
    spraying
        Paths of sprayed flows; None: there are no sprayed flows.
    """

    scenario: Scenario
    method: Packets
    ports: Ports
    recoveries: Sequence[str | LossRecovery]
    repairs: Sequence[str | SelectiveRepair]
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

    def share(self, name: str, make: Callable[[], Value]) -> Value:
        """Return make(), cached by ``name`` for all runs with these ports; it must not depend on the run."""
        derived = self.ports.derived
        if derived is None:
            return make()
        if name not in derived:
            derived[name] = make()
        value: Value = derived[name]
        return value

    def release(self, *names: str) -> None:
        """Drop cached properties, all by default; they are computed again when they are read."""
        for name in names or vars(self).keys() - self.__dataclass_fields__.keys():
            self.__dict__.pop(name, None)

    # Routes and hops.

    @property
    def forward(self) -> Routes:
        """Ports on the path of each flow's packets, in order, as `Routes`."""
        return self.ports.forward

    @property
    def backward(self) -> Routes:
        """Ports on the path of each flow's ACKs, in order, as `Routes`; empty for flows without ACKs."""
        return self.ports.backward

    @shared
    def hops(self) -> Hops:
        """The hops of the packets and of the ACKs of all flows, as columns."""
        return hops_of(self.forward, self.backward)

    @cached_property
    def end_rows(self) -> FlowEnds:
        """Rows of first hops, receivers and senders in tables of hops."""
        forward = self.forward.counts
        count = forward + self.backward.counts + 2
        after = np.cumsum(count)
        return FlowEnds(after - count, after - count + forward, after - 1)

    @property
    def crosses_port(self) -> Booleans:
        """Whether each row in tables of hops is a hop, not a receiver or a sender, (H + 2 F,)."""
        crosses = np.ones(len(self.forward.places) + len(self.backward.places) + 2 * len(self.starts), dtype=np.bool_)
        crosses[self.end_rows.receiver] = crosses[self.end_rows.sender] = False
        return crosses

    @shared
    def representative_hops(self) -> Hops:
        """Hops of some flows that together have every pair of consecutive ports.

        Whatever follows from the ports before and after a hop is that of these flows: times between ports among them,
        as a port without a queue of its own has one port before it.
        """
        hops, P = self.hops, len(self.ports)
        keys = hops.port * (P + 1) + hops.before + 1
        span = P * (P + 1)
        kinds = 2 * self.delays_acks + (self.backward.counts > 0)
        if kinds.any():
            keys, span = 4 * keys + kinds[hops.flow], 4 * span
        return hops.of(present(hops.flow[distinct(keys, span)[1]], len(self.forward)))

    @cached_property
    def flows_at(self) -> Mapping[int, list[tuple[int, bool]]]:
        """By port, (flow, is ACK) of all packets and ACKs that cross it, in the order of the flows."""
        users: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for f, routes in enumerate(zip(self.forward, self.backward, strict=True)):
            for is_ack, route in zip((False, True), routes, strict=True):
                for p in route:
                    users[p].append((f, is_ack))
        return users

    @cached_property
    def telemetry(self) -> tuple[Integers, Integers]:
        """Number of ports that write telemetry, before each hop, (H,), and on each path, (F,)."""
        hops = self.hops
        writes = self.by_discipline(lambda rule: bool(getattr(rule, "telemetry", False)))
        writes_at_hop = (writes[hops.port] & ~hops.is_ack).astype(np.int64)
        on_path = np.bincount(hops.flow, writes_at_hop, minlength=len(self.forward)).astype(np.int64)
        before = np.cumsum(writes_at_hop) - writes_at_hop
        return before - (np.cumsum(on_path) - on_path)[hops.flow], on_path

    # Times at ports, and samples.

    @shared
    def sizes(self) -> Floats:
        """Bytes of a packet of each size class, (SIZES,): data first."""
        acks = np.append(HEADER + BLOCK * np.arange(SIZES - 3), SHORTEST_FRAME)
        acks = acks if self.method.ack_transmission else 0.0 * acks
        data = self.scenario.packet_size
        return np.array([data, *acks, min(data, SHORTEST_FRAME)])

    @shared
    def bits(self) -> Floats:
        """Rates of the ports, bit/s, (P,)."""
        return self.ports.column("bits")

    @shared
    def delays(self) -> Floats:
        """Propagation delays of the ports, s, (P,)."""
        return self.ports.column("delay")

    @shared
    def transmission(self) -> Floats:
        """Transmission times of each size class at each port, s, (P, SIZES)."""
        return np.asarray(8.0 * self.sizes / self.bits[:, np.newaxis])

    @shared
    def passage(self) -> Floats:
        """Transmission time plus propagation delay of each size class, s, (P, SIZES)."""
        return np.asarray(self.transmission + self.delays[:, np.newaxis])

    @shared
    def arrival_ranks(self) -> Integers:
        """Rank, among simultaneous arrivals, of packets that come over a port in a size class, (P, SIZES)."""
        return self.arrival_order(range(SIZES))

    def arrival_order(self, classes: Sequence[int]) -> Integers:
        """Return the rank, among simultaneous arrivals, of packets by port and size class, (P, C).

        The longest passage is first, as it was scheduled first; at ties the order of the ports decides.
        """
        kind = self.ports.kind
        example = np.zeros(len(self.ports.examples), dtype=np.int64)
        example[kind] = np.arange(len(kind))
        lengths = self.passage[example][:, classes]
        index = np.unique(-lengths, return_inverse=True)[1].reshape(lengths.shape)
        kinds = np.int16 if lengths.size < 2**15 else np.int64  # the former are sorted by radix
        order = np.argsort(index.astype(kinds).take(kind, axis=0), axis=None, kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks.reshape(-1, len(classes))

    @shared
    def base_rtts(self) -> Floats:
        """Round-trip times of a packet and its ACK without queues, with transmission times, s, (F,)."""
        return self.hops.round_trips(self.passage)

    @shared
    def hop_rate(self) -> float:
        """Estimate of hops per second, of packets and ACKs, if each flow has an equal share of its links."""
        routes = self.forward
        used = np.flatnonzero(routes.counts)
        shares = self.transmission[:, 0] * np.bincount(routes.places, minlength=len(self.ports))  # s per packet
        longest = np.zeros(len(routes))  # of a flow at the link with its smallest share
        longest[used] = np.maximum.reduceat(shares[routes.places], routes.begin[used])
        counts = routes.counts + self.backward.counts
        sends = longest > 0.0
        return float((counts[sends] / longest[sends]).sum())

    @property
    def samples_of_part(self) -> int:
        """Samples per part of a run, between which results are checked: about `HOPS_OF_PART` hops."""
        return max(1, int(HOPS_OF_PART / max(self.hop_rate * self.sample, 1.0)))

    @cached_property
    def seeds(self) -> NDArray[np.uint64]:
        """First states of the streams of random numbers of ports and flows, (P + F,)."""
        return first_states(self.method.seed or 0, len(self.ports) + len(self.starts))

    # Flows, senders and receivers.

    @cached_property
    def idle(self) -> Booleans:
        """Whether flows start after the run's end, (F,), not flows that wait for others; all False with spraying."""
        if self.spraying is not None:  # which lends the hops of flows that do not start
            return np.zeros(len(self.starts), dtype=np.bool_)
        is_late: Booleans = self.starts > self.end * IDLE_START
        return is_late & ~self.scenario.table.waits if is_late.any() else is_late

    @cached_property
    def active(self) -> Integers | slice:
        """The indices of the flows that are not `idle`, ascending; a slice of all if none is idle."""
        return np.flatnonzero(~self.idle) if self.idle.any() else slice(None)

    @cached_property
    def stops(self) -> Floats:
        """Times at which the flows stop sending, s, (F,), not before their starts; inf: never."""
        return np.maximum(self.starts, self.scenario.table.numbers("stop"))

    @shared
    def all_packets(self) -> Floats:
        """Packets that each flow has to send in total, (F,): `dfcmodel.Flow.all_packets`; inf with idle periods."""
        table = self.scenario.table
        return np.where(table.numbers("idle") == np.inf, table.numbers("size"), np.inf)

    @shared
    def priorities(self) -> Integers:
        """Class of traffic of each flow, (F,)."""
        return self.scenario.table.numbers("priority").astype(np.int64)

    @shared
    def classes(self) -> Integers:
        """Class of traffic at each hop, (H,): the flow's priority, or `CONTROL` for ACKs of the control class."""
        priorities = self.priorities[self.hops.flow]
        apart = self.by_discipline(lambda rule: getattr(rule, "acks", "class") == "control")
        return np.where(self.hops.is_ack & apart[self.hops.port], CONTROL, priorities)

    @shared
    def delays_acks(self) -> Booleans:
        """Whether the receiver of each flow delays ACKs, (F,)."""
        table = self.scenario.table
        return np.asarray(table.each("delayed_acks", bool) & table.of_kind(WindowRule))

    @shared
    def has_receiver_events(self) -> Booleans:
        """Whether each receiver has events: it delays ACKs, or has an agent, (F,)."""
        agents = self.scenario.table.given("receiver")
        return np.asarray(self.delays_acks | agents, dtype=np.bool_)

    @cached_property
    def recovery_kinds(self) -> tuple[type[LossRecovery], ...]:
        """Distinct classes of the loss recoveries of window senders."""
        recoveries = dict.fromkeys(among(self.recoveries))
        recoveries.pop("", None)  # of sources without a window
        return tuple(dict.fromkeys(map(type, map(recovery_named, recoveries))))

    @shared
    def scalable(self) -> Booleans:
        """Whether each flow's sender answers each mark, so that its packets carry ECT(1), (F,)."""

        def answers(source: Any) -> bool:
            kind = type(source)
            return issubclass(kind, RateRule) or (issubclass(kind, WindowRule) and answers_marks(kind))

        return self.scenario.table.each("source", answers)

    @shared
    def opening(self) -> Integers:
        """Packets without data before each flow's first data, (F,): a SYN, or ns-2's packet of 40 bytes."""
        table = self.scenario.table
        if self.method.is_ns2:
            return table.of_kind(WindowRule).astype(np.int64)
        return table.each("handshake", lambda handshake: handshake is True).astype(np.int64)

    @shared
    def is_paced(self) -> Booleans:
        """Whether each flow is a window sender that paces its packets, by its own or its rule's choice, (F,)."""
        table = self.scenario.table
        return np.asarray(table.each("pacing", bool) | table.each("source", _sets_pace))

    def pacing_rates(self, f: int) -> tuple[float, float]:
        """Return pacing rates in windows per round trip, in slow start and after it; (0, 0): not paced by these."""
        is_plain = not self.is_paced[f] or _sets_pace(self.scenario.flows[f].source)
        return (0.0, 0.0) if is_plain else PACES

    @shared
    def hosts(self) -> Hosts:
        """Indices of the calendar queues of ports, senders and receivers.

        Each interface has a queue of its own, for the senders and receivers of its host too. Flows to one receiver
        agent share its state: where they answer over several links, all hosts share one queue, in which events are in
        order.
        """
        hops, interfaces, table = self.hops, self.at_senders, self.scenario.table
        senders = len(interfaces)
        queue = np.arange(senders)
        queues = np.full((2, len(table)), senders)  # of the senders and receivers
        if not interfaces.any():
            return Hosts(queue, *queues)
        first = np.flatnonzero(hops.begins & interfaces[hops.port])
        queues[hops.is_ack[first].astype(np.int64), hops.flow[first]] = hops.port[first]
        answers = dict[object, int]()
        for f in np.flatnonzero(table.given("receiver")).tolist():
            agent = table.path(f)[-1], table.columns["receiver"][f]
            if answers.setdefault(agent, int(queues[1, f])) != queues[1, f]:
                queue[interfaces] = senders
                queues[:] = senders
                break
        return Hosts(queue, *queues)

    # Disciplines and buffers.

    def by_discipline(self, value: Callable[[Any], Any]) -> NDArray[Any]:
        """Return ``value`` applied to each port's discipline, (P, ...), with one call per discipline."""
        return np.array([value(rule) for rule in self.ports.disciplines]).take(self.ports.discipline_of, axis=0)

    def has_discipline(self, *kinds: type) -> bool:
        """Return whether the discipline of any port is an instance of one of ``kinds``."""
        return any(isinstance(rule, kinds) for rule in self.ports.disciplines)

    def ports_under(self, *kinds: type) -> list[int]:
        """Return the indices of the ports whose disciplines are instances of one of ``kinds``."""
        if not self.has_discipline(*kinds):
            return []
        return np.flatnonzero(self.by_discipline(lambda rule: isinstance(rule, kinds))).tolist()

    @cached_property
    def has_managers(self) -> bool:
        """Whether any port has a queue manager."""
        return self.has_discipline(DualPI2) or any(map(manager_of, self.ports.disciplines))

    @shared
    def at_senders(self) -> Booleans:
        """Whether each port is an interface of a host, in the calendar queue of its senders, (P,)."""
        return self.by_discipline(lambda rule: isinstance(rule, Interface))

    @shared
    def rooms(self) -> Integers:
        """Capacity of each port's queue, (P,): packets, or bytes at ports with cells (`cells`); 2**40 if unlimited."""
        return np.asarray(np.minimum(self.ports.column("room"), UNBOUNDED))

    @shared
    def cells(self) -> Integers:
        """Bytes of a cell of each port's buffer, (P,): 1 for buffers in bytes, 0 for buffers in packets."""
        return self.ports.column("cell")

    @shared
    def sizes_in_queue(self) -> Floats:
        """Bytes that packets of each size class take in the queue of each port, (P, SIZES): whole cells of a buffer."""
        if not self.cells.any():
            return np.broadcast_to(self.sizes, (len(self.ports), SIZES))
        cells = self.cells[:, np.newaxis]
        return np.where(cells > 0, cell_bytes(self.sizes, np.maximum(cells, 1)), self.sizes)

    @shared
    def data_bytes_in_queue(self) -> Floats:
        """Bytes that a data packet takes in the queue of each port that counts bytes, (P,); 0 at other ports."""
        units: Floats = np.where(self.cells > 0, self.sizes_in_queue[:, 0], 0.0)
        return units

    @shared
    def max_queued(self) -> Integers:
        """Upper bound of the packets that can be queued at each port, (P,)."""
        if not self.cells.any():
            return self.rooms
        smallest = np.maximum(self.sizes_in_queue.min(axis=1), 1.0)  # ACKs without transmission have no bytes
        bounds = np.where(self.cells > 0, np.minimum(self.rooms / smallest, UNBOUNDED), self.rooms)
        return np.asarray(bounds.astype(np.int64))

    @shared
    def drain_times(self) -> Floats:
        """Transmission times of full queues of ports that count bytes, s, (P,); inf at other ports."""
        if not self.cells.any():
            return np.full(len(self.ports), np.inf)
        times: Floats = np.where(self.cells > 0, 8.0 * self.rooms / self.bits, np.inf)
        return times

    def lossy_room(self, p: int) -> float:
        """Return the number of packets, of classes that are never paused, for which port p has room."""
        port = self.ports[p]
        room = port.room / self.data_bytes_in_queue[p] if port.cell else float(port.room)
        return room - (self.scenario.reserved(port.link) if port.link >= 0 else 0.0)

    @shared
    def with_lanes(self) -> Booleans:
        """Whether each port has lanes, (P,): by its discipline, pauses, errors, elements, failures or routes."""
        lanes = self.by_discipline(has_lanes)
        lanes[self.pauses[1]] = True
        lanes[self.errors > 0.0] = True
        if self.scenario.all_elements:
            lanes |= self.path.at_ports(self.hops.port)
        lanes[list(self.outages)] = True
        lanes[list(self.routing)] = True
        return lanes

    # Pauses, and the packets that ports with PFC count.

    @shared
    def pauses(self) -> tuple[Integers, Integers]:
        """Pairs of a port and a port that it pauses, as two arrays, each pair once and in order, (N,) each."""
        if not self.has_discipline(Pause, ByClass, BFC):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        P, hops, table = len(self.ports), self.hops, self.ingresses
        is_link = table.before >= 0
        pairs = table.port[is_link] * P + table.before[is_link]
        asks = self.by_discipline(lambda rule: rule.pauses in ("link", "flow"))
        if asks.any():
            rows = np.flatnonzero(asks[hops.port] & ~hops.is_ack & ~hops.begins)
            pairs = np.append(pairs, hops.port[rows] * P + hops.before[rows])
        port, paused = np.divmod(present(pairs, P * P), P)
        return port, paused

    def pausable(self, p: int) -> tuple[int, ...]:
        """Return the ports that port p may pause, as a whole or by class.

        They are the links and access links over which its flows arrive.
        """
        return self._pausable.get(p, ())

    @cached_property
    def _pausable(self) -> dict[int, tuple[int, ...]]:
        """`pausable` of each port that pauses others, by index."""
        pausable: dict[int, list[int]] = {}
        for p, q in zip(*(ports.tolist() for ports in self.pauses), strict=True):
            pausable.setdefault(p, []).append(q)
        return {p: tuple(paused) for p, paused in pausable.items()}

    @shared
    def signalling(self) -> Floats:
        """Delay of each port's pause messages beyond propagation, s, (P,)."""
        return self.by_discipline(lambda rule: float(getattr(rule, "signalling", 0.0)))

    @shared
    def thresholds(self) -> Floats:
        """Queues, packets or bytes, above which a port pauses and down to which it resumes feeders, (P, 2).

        They are in bytes under PFC and where buffers count bytes, in packets elsewhere.
        """
        if not self.has_discipline(Pause, PFC):
            return np.zeros((len(self.ports), 2))
        limits = self.by_discipline(lambda rule: rule.thresholds)
        unit = self.by_discipline(lambda rule: self.sizes[0] if rule.pauses == "class" else 1.0)
        thresholds: Floats = limits * np.where(self.cells > 0, self.data_bytes_in_queue, unit)[:, np.newaxis]
        return thresholds

    def pause_time(self, p: int, q: int) -> float:
        """Return the time for which a message of port p pauses port q, s; 0: until the next message."""
        quanta = getattr(self.ports[p].discipline, "quanta", None)
        return (quanta or 0) * QUANTUM / self.ports[q].bits

    @shared
    def is_counted(self) -> Booleans:
        """Whether the port at each hop counts the flow's packets, because its class is lossless there, (H,)."""
        rules: list[Any] = self.ports.disciplines
        lossless = [rule.classes if rule.queue_per == "class" else () for rule in rules]
        hops, discipline = self.hops, self.ports.discipline_of
        if not any(lossless):
            return np.zeros(len(hops.port), dtype=np.bool_)
        table = np.zeros((len(rules), CLASSES + 1), dtype=np.bool_)  # the last of no class
        for row, classes in zip(table, lossless, strict=True):
            row[list(classes)] = True
        priorities = self._lossless_priorities
        is_one = (priorities == priorities[0]).all()
        counts = table[discipline[hops.port], priorities[0] if is_one else priorities[hops.flow]]
        return np.asarray(counts & (hops.port < len(self.scenario.links)) & ~hops.is_ack)

    @property
    def _lossless_priorities(self) -> Integers:
        """Priority of each flow, `CLASSES` if it is outside the range of classes, (F,)."""
        priorities = self.priorities
        return np.where((priorities >= 0) & (priorities < CLASSES), priorities, CLASSES)

    @shared
    def ingresses(self) -> Ingresses:
        """Rows (port, port before it, class, reserved packets) that ports with lossless classes count."""
        if not any(rule.queue_per == "class" for rule in self.ports.disciplines):
            none = np.empty(0, dtype=np.int64)
            return Ingresses(none, none, none, np.empty(0))
        port, feeder, priority, room = self.scenario.lossless_ingresses
        before, hosts = feeder.copy(), np.flatnonzero(feeder < 0)
        first = self.forward.first[-1 - feeder[hosts]]  # their access links, which flows may share
        before[hosts] = np.where(first == port[hosts], feeder[hosts], first)
        flows = len(self.forward)
        keys = (port * (flows + len(self.ports)) + before + flows) * CLASSES + priority
        rows = np.unique(keys, return_index=True)[1]
        return Ingresses(port[rows], before[rows], priority[rows], room[rows])

    def ingress(self, p: int) -> dict[tuple[int, int], float]:
        """Return the packets that port p reserves by the port before it and class; a host is -1 - flow.

        Of a host without access link it is -1 - flow.
        """
        return self._ingress.get(p, {})

    @cached_property
    def _ingress(self) -> dict[int, dict[tuple[int, int], float]]:
        """`ingress` of each port with lossless classes, by index."""
        rooms: dict[int, dict[tuple[int, int], float]] = {}
        for p, before, priority, room in zip(*map(np.ndarray.tolist, self.ingresses), strict=True):
            rooms.setdefault(p, {})[before, priority] = room
        return rooms

    @shared
    def counting(self) -> tuple[tuple[int, ...], ...]:
        """By port, the ports that count packets of an ingress together with it, itself among them, P tuples."""
        groups = self.scenario.count_groups
        return tuple(groups.get(p, (p,)) for p in range(len(self.ports)))

    @shared
    def counting_port(self) -> Integers:
        """First of the ports that count packets of an ingress together with each port, (P,); its row has the counts."""
        first = np.arange(len(self.ports))
        if self.has_discipline(ByClass):
            for p, ports in self.scenario.count_groups.items():
                first[p] = ports[0]
        return first

    @shared
    def counts_together(self) -> Booleans:
        """Whether each port counts packets of an ingress together with other ports, (P,)."""
        together = np.zeros(len(self.ports), dtype=np.bool_)
        for p, ports in self.scenario.count_groups.items():
            together[p] = len(ports) > 1
        return together

    # Losses, failures, and switches that choose the next hop.

    @cached_property
    def losses(self) -> Floats:
        """Probability of random loss of a packet at each port, (P,); ACKs are never lost."""
        return self._by_link_name(self.method.loss)

    @cached_property
    def errors(self) -> Floats:
        """Probability that a frame of each port has an error, after which the link repeats it, (P,)."""
        return self._by_link_name(self.method.frame_errors)

    def _by_link_name(self, values: Mapping[str, float] | None) -> Floats:
        """Return values of links, by name, as an array over ports, (P,); 0 for ports without a value."""
        numbers = np.zeros(len(self.ports))
        if values:
            numbers[: len(self.scenario.links)] = [values.get(name, 0.0) for name in self.scenario.link_table.names]
        return numbers

    @property
    def retry_loops(self) -> Floats:
        """Time from the end of a frame with an error until the link acts on the request for it, s, (P,)."""
        return 2.0 * self.delays + self.method.retry_delay

    @cached_property
    def outages(self) -> dict[int, tuple[tuple[float, float], ...]]:
        """Times at which links are down, as pairs (from, until), s, by port in ascending order; without other ports."""
        if not self.method.failures:
            return {}
        names, failures = self.scenario.link_table.names, self.method.failures
        return {p: tuple(failures[name]) for p, name in enumerate(names) if name in failures}

    @shared
    def choices(self) -> dict[int, tuple[int, ...]]:
        """Rows of the other hops among which a switch chooses, by row of a hop; `EXPIRES` where a time to live ends.

        A choice is among the links that continue what paths of a flow have in common up to there. Of the paths that go
        on over a link path k gets that of number k, modulo how many there are: with the first one for all, switches
        behind would prefer its links at ties.
        """
        choices: dict[int, tuple[int, ...]] = {}
        table, spraying = self.scenario.table, self.spraying
        has_ttl = table.given("ttl")
        if spraying is None and not has_ttl.any():
            return choices
        starts = self.hops.row[self.hops.begins & ~self.hops.is_ack]
        for f in np.flatnonzero(has_ttl).tolist():
            links, ttl = len(table.paths[f]) - 1, int(table.columns["ttl"][f])
            if ttl < links:
                choices[int(starts[f]) + int(self.forward.counts[f]) - links + ttl] = EXPIRES
        if spraying is None or self.method.spraying != "least queue":
            return choices
        for f in np.flatnonzero(spraying.count > 0).tolist():
            flows = [spraying.way_of(f, k) for k in range(int(spraying.count[f]))]
            paths = [self.forward[flow] for flow in flows]
            onwards: dict[tuple[int, ...], dict[int, list[int]]] = {}
            for flow, path in zip(flows, paths, strict=True):
                for d in range(1, len(path)):
                    rows = onwards.setdefault(path[:d], {}).setdefault(path[d], [])
                    rows.append(int(starts[flow]) + d)
            for k, (flow, path) in enumerate(zip(flows, paths, strict=True)):
                for d in range(1, len(path)):
                    ports = onwards[path[:d]]
                    if len(ports) > 1:
                        others = (rows[k % len(rows)] for port, rows in ports.items() if port != path[d])
                        choices[int(starts[flow]) + d] = tuple(others)
        return choices

    @shared
    def routing(self) -> dict[int, tuple[int, ...]]:
        """By port with choices or ends of times to live: the ports that are processed together with it.

        Raises
        ------
        ValueError
            For a port with DFC, whose rates belong to paths.
        """
        if not self.choices:
            return {}
        port_of = dict(zip(self.hops.row.tolist(), self.hops.port.tolist(), strict=True))
        alone: set[int] = set()
        together: set[int] = set()
        for row, others in self.choices.items():
            if others is EXPIRES:
                alone.add(port_of[row])
            else:
                together.update(port_of[other] for other in (row, *others))
        for p in sorted(alone | together):
            if self.ports[p].discipline.diffuses:
                msg = "must not be DFC, whose rates are those of paths, where packets are routed"
                raise ValueError(f"discipline of link {self.ports[p].name}: {msg}")
        by_node: dict[object, set[int]] = {}
        for p in sorted(together):
            by_node.setdefault(self.ports[p].source, set()).update((p, *self.counting[p]))
        groups = {p: tuple(sorted(self.counting[p])) for p in alone}
        for ports in by_node.values():
            groups |= dict.fromkeys(sorted(ports), tuple(sorted(ports)))
        return groups

    # Elements of paths.

    @shared
    def path(self) -> PathPlan:
        """The elements of the scenario at the ports.

        Raises
        ------
        ValueError
            Where there are more elements at all hops, or more ports, than the keys of events distinguish.
        """
        scenario, hops = self.scenario, self.hops
        if EVENT_CLASSES * len(self.ports) + 2 * len(scenario.flows) >= RELEASED:
            msg = f"must not be used with {count_of(len(self.ports), 'port')}: keys of events are used up"
            raise ValueError(f"elements of {scenario.name!r}: {msg}")
        names, index = scenario.link_table.names, {flow.name: n for n, flow in enumerate(scenario.flows)}
        rates = np.full(len(self.ports), -1, dtype=np.int64)
        at_hop: dict[int, list[int]] = {}
        for k, element in enumerate(scenario.all_elements):
            n = names.index(element.link)
            if isinstance(element, RateTrace):
                rates[n] = k
                continue
            chosen = ~hops.is_ack & (hops.port == n)
            if element.acks:
                over = np.unique(hops.flow[chosen])
                chosen = hops.is_ack & (hops.port == self._port_of_acks(n)) & np.isin(hops.flow, over)
            if element.flows is not None:
                chosen &= np.isin(hops.flow, [index[name] for name in element.flows])
            for h in np.flatnonzero(chosen).tolist():
                at_hop.setdefault(h, []).append(k)
        first = np.full(len(hops.port), -1, dtype=np.int64)
        begins: dict[tuple[int, ...], int] = {}
        chains: list[int] = []
        for h, elements in at_hop.items():
            chain = tuple(elements)
            if chain not in begins:
                begins[chain] = len(chains)
                chains += [*chain, -1]
            first[h] = begins[chain]
        if len(chains) >= MAX_CHAINS:
            msg = f"must have fewer than {MAX_CHAINS} places at the hops of all flows"
            raise ValueError(f"elements of {scenario.name!r}: {msg}")
        return PathPlan(scenario.all_elements, tuple(chains), first, rates)

    def _port_of_acks(self, n: int) -> int:
        """Return the port over which ACKs of packets on link n return; -1: none."""
        nodes = self.ports[n].target, self.ports[n].source
        for p, port in enumerate(self.ports):
            if (port.source, port.target) == nodes and (self.method.ack_transmission or port.mirror):
                return p
        return -1

    # Clocks of rates, and faults.

    @cached_property
    def clocks(self) -> list[Clock]:
        """The clocks of all ports with DFC, with the phases of their nodes."""
        diffusive = self.ports_under(DFC)
        if not diffusive:
            return []
        nodes = self.scenario.nodes
        drawn = np.random.default_rng([self.method.seed or 0, CLOCK_PHASES]).random(len(nodes))
        phases = dict(zip(nodes, drawn.tolist(), strict=True))
        clocks = []
        for p in diffusive:
            port: Any = self.ports[p]
            first = phases[port.target] * port.delay if port.discipline.phases == "random" else 0.0
            fed: dict[int, list[tuple[int, bool]]] = {}
            for f, is_ack in self.flows_at[p]:
                route = (self.backward if is_ack else self.forward)[f]
                after = route[route.index(p) + 1 :][:1]
                if after and self.ports[after[0]].discipline.diffuses:
                    fed.setdefault(after[0], []).append((f, is_ack))
            clocks += [Clock(q, p, first, port.delay, tuple(fed.get(q, ()))) for q in sorted(fed) or [-1]]
        return clocks

    @property
    def initial_events(self) -> int:
        """Number of pause messages by faults and polls of watchdogs scheduled before the run."""
        return len(self.fault_messages()) + len(self.watchdogs)

    def fault_messages(self) -> list[tuple[int, int, int, float, bool]]:
        """Return messages of faults: asking port, paused port, class, time of effect, s, is a pause."""
        if not self.pauses[0].size:  # nor do faulty ports pause others
            return []
        return [
            (p, q, c, time, pause)
            for p, q, c, begin, end in self.fault_pauses()
            for time, pause in ((begin, True), (end, False))
            if time < math.inf
        ]

    def fault_pauses(self) -> list[tuple[int, int, int, float, float]]:
        """Return pauses by faults: asking port, paused port, class, begin and end of the effect, s; inf: endless."""
        faults = []
        if any(getattr(rule, "storm", None) is not None for rule in self.ports.disciplines):
            begins = self.by_discipline(lambda rule: getattr(rule, "storm", None)).tolist()
            faults = [Fault(p, begin, math.inf) for p, begin in enumerate(begins) if begin is not None]
        return [
            (fault.port, q, c, fault.begin + delay, fault.end + delay)
            for fault in (*faults, *self.faults)
            for q, c, delay in self.faulty_pauses(fault.port)
        ]

    def faulty_pauses(self, p: int) -> list[tuple[int, int, float]]:
        """Return the pauses of port p by a fault: paused port, class, delay until the effect, s."""
        rule: Any = self.ports[p].discipline
        if not any(rule.thresholds):
            return []
        if rule.pauses == "class":
            paused = [key for key in self.ingress(p) if key[0] >= 0]
        else:
            paused = [(q, ALL) for q in self.pausable(p)]
        return [(q, c, self.ports[q].delay + rule.signalling) for q, c in paused]


def _sets_pace(source: Any) -> bool:
    """Return whether the state of a rule has a pacing rate."""
    names: tuple[str, ...] = source.State._fields if isinstance(source, DeliveryRule) else ()
    return names[2:3] == ("pacing_rate",)


def first_states(seed: int, count: int) -> NDArray[np.uint64]:
    """Return the first states of ``count`` random streams, odd numbers by NumPy's `SeedSequence`, (count,).

    Its own function takes a thousand instructions for each.

    >>> states = np.random.SeedSequence(7).generate_state(5, np.uint64) | np.uint64(1)
    >>> np.array_equal(first_states(7, 5), states)
    True
    """
    pool = np.random.SeedSequence(seed).pool
    factors = np.full(2 * count + 1, MULTIPLIER, dtype=np.uint32)
    factors[:1] = HASH
    hashes = np.multiply.accumulate(factors, dtype=np.uint32)
    words = np.resize(pool, 2 * count) ^ hashes[:-1]
    words *= hashes[1:]
    words ^= words >> np.uint32(16)
    states = words[::2].astype(np.uint64)
    states |= words[1::2].astype(np.uint64) << np.uint64(32)
    states |= np.uint64(1)
    return states

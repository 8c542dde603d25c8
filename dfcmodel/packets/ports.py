"""Ports of the packet level: links of a scenario, access links of hosts, and mirrors of links for ACKs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dfcmodel.network.columns import Routes, distinct, places_of, present
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.class_pauses import ByClass
from dfcmodel.network.queueing.coupled import DualPI2
from dfcmodel.network.queueing.disciplines import (
    DFC,
    FIFO,
    Discipline,
    Fair,
    Pause,
    Priority,
    manager_of,
)
from dfcmodel.network.queueing.managers import RED
from dfcmodel.network.queueing.programs import SwitchProgram
from hopflow.checks import number
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

    from dfcmodel.network.links import Link, Links
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

__all__ = ["UNBOUNDED", "Interface", "Port", "PortTable", "Ports", "bits_of", "has_lanes"]

UNBOUNDED = 2**40
"""Packets, or bytes, in a queue without bound."""


@dataclass(frozen=True)
class Interface(Discipline):
    """The queues of a host's network interface, in place of the discipline of its link: see ``host`` of `Flow`.

    ``acks`` is that of `PFC`.
    """

    acks: str = "control"


KINDS = (DFC, Pause, ByClass, BFC, Fair, Priority, DualPI2, SwitchProgram, Interface)


def has_lanes(discipline: Discipline) -> bool:
    """Return whether the packets queued under a discipline must be known at the start of each transmission."""
    manager = manager_of(discipline)
    managed = manager is not None and type(manager).on_step is not RED.on_step
    return managed or isinstance(discipline, KINDS)


class Port(NamedTuple):
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
        Packets, or bytes, that can be queued in addition to the packet in transmission.
    discipline
        Queueing discipline.
    link
        Index in the scenario's links; -1 for mirrors and access links.
    mirror
        Whether it is the reverse direction of a link, used by ACKs only.
    cell
        Bytes of a cell of its buffer, 1 where it counts bytes; 0: it counts packets.
    """

    source: Hashable
    target: Hashable
    bits: float
    delay: float
    room: int
    discipline: Discipline
    link: int
    mirror: bool = False
    cell: int = 0

    @property
    def name(self) -> str:
        """``source->target``, as of a link."""
        return f"{self.source}->{self.target}"

    @property
    def has_lanes(self) -> bool:
        """Whether the queued packets must be known at the start of each transmission."""
        return has_lanes(self.discipline)

    def taken(self, size: float) -> float:
        """Return the bytes that a packet of ``size`` bytes takes in the queue: whole cells of a buffer in bytes."""
        return ByteBuffer(self.cell, self.cell).taken(size) if self.cell else size


def _interface(discipline: Discipline) -> Interface:
    """Return the interface of a host whose first link has a discipline."""
    rule: Any = discipline
    return Interface(rule.acks if rule.queue_per == "class" else "control")


def bits_of(rate: float, size: float) -> float:
    """Return a rate in bit/s, rounded to a whole number if it differs by rounding errors only."""
    bits = rate * 8.0 * size
    return float(round(bits)) if abs(bits - round(bits)) <= 1e-9 * bits else bits


class PortTable(Sequence[Port]):
    """The ports of a plan: those of links, which are made when they are asked for, then others.

    Parameters
    ----------
    links
        The links of the scenario, the first L ports.
    kinds
        A port of each kind; those of one kind differ only in their ends and their link.
    kind_of
        The kind of the port of each link, shape (L,).
    """

    def __init__(self, links: Links, kinds: Sequence[Port], kind_of: NDArray[np.int64]) -> None:
        self.links, self.kinds, self.kind_of = links, kinds, kind_of
        self.others: list[Port] = []
        self._made: list[Port | None] = [None] * len(links)
        self._columns: tuple[int, Integers, Integers] | None = None

    def __len__(self) -> int:
        return len(self._made) + len(self.others)

    @overload
    def __getitem__(self, p: int) -> Port: ...

    @overload
    def __getitem__(self, p: slice) -> tuple[Port, ...]: ...

    def __getitem__(self, p: Any) -> Any:
        """Return a port, or several."""
        if isinstance(p, slice):
            return tuple(map(self.__getitem__, range(*p.indices(len(self)))))
        n = range(len(self))[p]
        if n >= len(self._made):
            return self.others[n - len(self._made)]
        port = self._made[n]
        if port is None:
            nodes = self.links.nodes
            source, target = nodes[self.links.source[n]], nodes[self.links.target[n]]
            kind = self.kinds[self.kind_of[n]]
            port = self._made[n] = kind._replace(source=source, target=target, link=n)
        return port

    def append(self, port: Port) -> int:
        """Add a port that is no link's, and return its place."""
        self.others.append(port)
        return len(self) - 1

    def each(self, value: Callable[[Port], Any]) -> NDArray[Any]:
        """Return what follows from each port without its ends and its link, computed once for each kind, shape (P,)."""
        return self.of_kinds([value(port) for port in self.examples])

    @property
    def examples(self) -> tuple[Port, ...]:
        """A port of each kind, and the others."""
        return (*self.kinds, *self.others)

    def of_kinds(self, values: Sequence[Any]) -> NDArray[Any]:
        """Return the value of each port from those of ``examples``, shape (P,)."""
        return np.asarray(values).take(self.kind, axis=0)

    @property
    def kind(self) -> Integers:
        """The place in ``examples`` of the kind of each port, shape (P,)."""
        return self._places_and_links()[0]

    @property
    def link(self) -> Integers:
        """The link of each port; -1: it is no link's, shape (P,); read-only."""
        return self._places_and_links()[1]

    def _places_and_links(self) -> tuple[Integers, Integers]:
        """Return the place of the kind of each port in ``examples``, and its link, (P,) each, kept until a port is added."""
        count = len(self.others)
        if self._columns is None or self._columns[0] != count:
            places = np.append(self.kind_of, len(self.kinds) + np.arange(count))
            links = np.append(np.arange(len(self._made)), [port.link for port in self.others])
            links = links.astype(np.int64)
            links.flags.writeable = False
            self._columns = count, places, links
        return self._columns[1:]


class Ports:
    """The ports of a scenario: its links, then access links and mirrors, added on demand."""

    def __init__(self, scenario: Scenario, method: Packets) -> None:
        self.scenario, self.method = scenario, method
        table, kind_of = scenario.link_table, scenario.link_table.kind_of.copy()
        kinds = [self._port(link, is_host) for is_host in (False, True) for link in table.kinds]
        kind_of += len(table.kinds) * scenario.is_interface
        self.all = PortTable(table, kinds, kind_of)
        self.for_acks: dict[int, int] = {}
        self.interfaces: dict[int, int] = {}
        """Access links of hosts that share a node, by first link."""

    @cached_property
    def at(self) -> dict[tuple[Hashable, Hashable], int]:
        """The first port from one node to another."""
        found = dict(self.scenario.link_table.places)
        for p, port in enumerate(self.all.others, len(found)):
            found.setdefault((port.source, port.target), p)
        return found

    @cached_property
    def opposite(self) -> Integers:
        """The link over which the ACKs of each link return, shape (L,); -1: they need a port of their own."""
        links = self.scenario.link_table
        if not self.method.ack_transmission:
            return np.full(len(links), -1)
        there = links.source * len(links.nodes) + links.target
        back = links.target * len(links.nodes) + links.source
        return places_of(there, back)

    def _port(self, link: Link, is_host: bool) -> Port:
        """Return the port of a link, in a host or not."""
        room, cell = self._room(link, link.discipline)
        rule = link.discipline
        if is_host:
            room, rule, cell = UNBOUNDED, _interface(rule), 0
        bits = bits_of(link.rate, self.scenario.packet_size)
        return Port(link.source, link.target, bits, link.delay, room, rule, -1, False, cell)

    def _room(self, link: Link, discipline: Discipline) -> tuple[int, int]:
        """Return the packets or bytes that can be queued at a link, and the bytes of its cells, 0 for packets.

        Drop-tail queues of ns-2 drop what would fill them.
        """
        buffer, cell = link.buffer, 0
        if isinstance(buffer, ByteBuffer):
            places, cell = buffer.room, int(buffer.cell)
            if self.method.is_ns2 and self.scenario.packet_size >= places:
                msg = f"must be above a packet of {self.scenario.packet_size:g} B, as ns-2's queues"
                raise ValueError(f"buffer of link {link.name} = {buffer!r}: {msg}")
        else:
            places = int(buffer)
        return places - 1 if self.method.is_ns2 and type(discipline) is FIFO else places, cell

    def _add(self, port: Port) -> int:
        if port.room < 1:
            number(f"buffer of {port.name}", float(port.room), at_least=1.0)
        p = self.all.append(port)
        if "at" in self.__dict__:
            self.at.setdefault((port.source, port.target), p)
        return p

    def access(self, f: int, n: int) -> int:
        """Return the access link of a flow's host, equal to link n, its first one; interfaces serve all flows over it."""
        first = self.all[n]
        flow = self.scenario.flows[f]
        if self.scenario.host_of(flow) == "nic":
            if n not in self.interfaces:
                source: Any = ("host", first.source, first.target)
                own = _interface(first.discipline)
                self.interfaces[n] = self._add(Port(source, first.source, first.bits, first.delay, UNBOUNDED, own, -1))
            return self.interfaces[n]
        host: Any = ("host", flow.name)
        shaped = flow.host == "shaped"
        rule = first.discipline if shaped else FIFO()
        return self._add(Port(host, first.source, first.bits, first.delay, UNBOUNDED, rule, -1))

    def routes(self, receives_feedback: NDArray[np.bool_]) -> tuple[Routes, Routes]:
        """Return the ports on the way of each flow's packets and of its ACKs, adding those that are needed.

        Parameters
        ----------
        receives_feedback
            Whether a flow has ACKs, shape (F,).
        """
        links, at_once = self.scenario.routes, self.scenario.at_once
        is_nic = self.scenario.host_is("nic")
        shares_interface = ~at_once & is_nic
        access = np.full(len(links), -1, dtype=np.int64)
        adds = ~at_once
        if receives_feedback.any() and (self.opposite < 0).any():
            one_way = np.bincount(links.flow, self.opposite[links.places] < 0, len(links)) > 0
            adds |= receives_feedback & one_way
        chosen = np.empty(0, dtype=np.int64)
        if adds.any():
            chosen = self._first_users(receives_feedback, at_once, shares_interface)
        for f in chosen[adds[chosen]].tolist():
            out = list(links[f])
            if not at_once[f]:
                access[f] = self.access(f, out[0])
                out.insert(0, int(access[f]))
            for p in reversed(out) if receives_feedback[f] else ():
                self.reverse(p)
        of_link = np.full(len(self.all), -1, dtype=np.int64)
        of_link[list(self.interfaces)] = list(self.interfaces.values())
        access[shares_interface] = of_link[links.first[shares_interface]]
        forward = _with_access(links, access)
        return forward, self._reversed(forward, receives_feedback)

    def _first_users(
        self,
        receives_feedback: NDArray[np.bool_],
        at_once: NDArray[np.bool_],
        shares_interface: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Return the flows that may need new ports, in their order: no other flow does.

        These are the flows with an access link of their own, the first flow of each interface and its first with ACKs, and
        the first flow with ACKs over each link.
        """
        links, count = self.scenario.routes, len(self.scenario.links)
        chosen = [np.flatnonzero(~at_once & ~shares_interface)]
        for users in (shares_interface, shares_interface & receives_feedback):
            flows = np.flatnonzero(users)
            chosen.append(flows[distinct(links.first[flows], count)[1]])
        hops = np.flatnonzero(receives_feedback[links.flow])
        chosen.append(links.flow[hops[distinct(links.places[hops], count)[1]]])
        return present(np.concatenate(chosen), len(links))

    def _reversed(self, forward: Routes, receives_feedback: NDArray[np.bool_]) -> Routes:
        """Return the ports on the way of ACKs, none of flows without."""
        if not receives_feedback.any():
            return Routes(np.empty(0, dtype=np.int64), np.zeros(len(forward), dtype=np.int64))
        counts = np.where(receives_feedback, forward.counts, 0)
        back = Routes(np.empty(0, dtype=np.int64), counts)
        flow = back.flow
        place = np.arange(len(flow)) - back.begin[flow]
        there = forward.places[forward.begin[flow] + counts[flow] - 1 - place]
        mirror = np.full(len(self.all), -1, dtype=np.int64)
        mirror[: len(self.opposite)] = self.opposite
        used = present(there, len(self.all))
        for p in used[mirror[used] < 0].tolist():
            mirror[p] = self.reverse(p)
        return Routes(mirror[there], counts)

    def reverse(self, p: int) -> int:
        """Return the port from the target of port p to its source, adding a mirror if needed.

        ACKs that take no time have mirrors to themselves, in which nothing waits.
        """
        if p < len(self.opposite) and self.opposite[p] >= 0:
            return int(self.opposite[p])
        port = self.all[p]
        if not self.method.ack_transmission:
            if p not in self.for_acks:
                self.for_acks[p] = self._mirror(port)
            return self.for_acks[p]
        found = self.at.get((port.target, port.source))
        return self._mirror(port) if found is None else found

    def _mirror(self, port: Port) -> int:
        room, cell = port.room, port.cell
        if port.link >= 0:
            room, cell = self._room(self.scenario.links[port.link], FIFO())
        ends = (port.target, port.source)
        return self._add(Port(*ends, port.bits, port.delay, room, FIFO(), -1, True, cell))


def _with_access(links: Routes, access: NDArray[np.int64]) -> Routes:
    """Return routes that begin with an access link, where it is not -1."""
    if (access < 0).all():
        return links
    has = (access >= 0).astype(np.int64)
    counts = links.counts + has
    found = Routes(np.empty(int(counts.sum()), dtype=np.int64), counts)
    inner = np.ones(len(found.places), dtype=np.bool_)
    inner[found.begin[has == 1]] = False
    found.places[inner], found.places[~inner] = links.places, access[has == 1]
    return found

"""Ports of the packet level: links of a scenario, access links of hosts, and mirrors of links for ACKs."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from dfcmodel.network.links import Routes, buffer_text, distinct, places_of, present, queue_room
from dfcmodel.network.queueing.backpressure import BFC
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

__all__ = ["UNBOUNDED", "Interface", "Port", "Ports", "bits_of", "has_lanes"]

UNBOUNDED = 2**40
"""Packets, or bytes, in a queue without bound."""
MAX_SHARED_HOPS = 1 << 16
"""Hops of all packets up to which values that follow from them stay with a scenario for its further runs.

A bound of memory: without it the all-to-all of 512 hosts in `benchmarks.fabrics` peaks 10 MB higher, and its scenario
keeps the values.
"""


@dataclass(frozen=True)
class Interface(Discipline):
    """Discipline of a host's network interface, with a queue per class and flow, for ``host="nic"``.

    ``acks`` is that of `PFC`.
    """

    acks: str = "control"


KINDS = (DFC, Pause, ByClass, BFC, Fair, Priority, DualPI2, SwitchProgram, Interface)


def has_lanes(discipline: Discipline) -> bool:
    """Return whether ports with a discipline have lanes: one of `KINDS`, or with a queue manager other than RED."""
    manager = manager_of(discipline)
    managed = manager is not None and type(manager).on_step is not RED.on_step
    return managed or isinstance(discipline, KINDS)


class Port(NamedTuple):
    """A directed link at packet level and the queue in front of it.

    Attributes
    ----------
    source, target
        Nodes at the ends of the link.
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
        Whether the port is the reverse direction of a link, used by ACKs only.
    cell
        Bytes of a cell of its buffer, 1 where it counts bytes; 0: it counts packets.
    """

    source: Hashable
    target: Hashable
    bits: float
    delay: float
    room: int
    discipline: Discipline
    link: int = -1
    mirror: bool = False
    cell: int = 0

    @property
    def name(self) -> str:
        """``source->target``, as of a link."""
        return f"{self.source}->{self.target}"


def _interface(discipline: Discipline) -> Interface:
    """Return the interface, as a discipline, of a host whose first link has this discipline."""
    rule: Any = discipline
    return Interface(rule.acks if rule.queue_per == "class" else "control")


def bits_of(rate: float, size: float) -> float:
    """Return ``rate``, packets/s of ``size`` bytes, in bit/s, rounded if rounding errors alone make it a fraction."""
    bits = rate * 8.0 * size
    return float(round(bits)) if abs(bits - round(bits)) <= 1e-9 * bits else bits


class Ports(Sequence[Port]):
    """The ports of a scenario and the routes over them: its links, then access links and mirrors that flows need.

    Links that differ only in their ends have ports of one kind. What follows from a port without its ends is computed
    once for each kind, and the port of a link is made when it is read.

    Parameters
    ----------
    scenario, method
        Scenario, and method of the runs.
    receives_acks
        Whether the sender of each flow receives ACKs, shape (F,).

    Attributes
    ----------
    forward, backward
        Ports on the path of each flow's packets and of its ACKs, in order; without ACKs the latter is empty.
    examples
        A port of each kind of link, then each port that is not a link.
    kind
        Index in ``examples`` for each port, shape (P,).
    disciplines, discipline_of
        The distinct disciplines, and the index among them of each port's discipline, shape (P,).
    link
        Index of the link of each port, -1 for mirrors and access links, shape (P,); read-only.
    derived
        Values of `PacketPlan` that follow from the scenario and its ports, by name, for further runs. None: the flows
        have so many hops that the memory matters.

    Raises
    ------
    ValueError
        For a buffer that holds no packet in the convention of ns-2.
    """

    def __init__(self, scenario: Scenario, method: Packets, receives_acks: NDArray[np.bool_]) -> None:
        links = scenario.link_table
        self._links, self._packet_size = links, scenario.packet_size
        self._is_ns2, self._ack_transmission = method.is_ns2, method.ack_transmission
        kinds: list[Port] = []
        for is_host in (False, True) if scenario.is_interface.any() else (False,):
            for link in links.kinds:
                room, cell = self._room(link, link.discipline)
                bits, rule = bits_of(link.rate, self._packet_size), link.discipline
                if is_host:
                    room, rule, cell = UNBOUNDED, _interface(rule), 0
                kinds.append(Port(link.source, link.target, bits, link.delay, room, rule, cell=cell))
        self._kinds, self._kind_of = kinds, links.kind_of + len(links.kinds) * scenario.is_interface
        self._made: list[Port | None] = [None] * len(links)
        self._added: list[Port] = []
        self._added_at: dict[tuple[Hashable, Hashable], int] = {}
        # The link in the opposite direction of each link, for ACKs, (L,); -1: none, or ACKs take no time.
        self._opposite: Integers = np.full(len(links), -1)
        if self._ack_transmission:
            pairs = links.source * len(links.nodes) + links.target
            self._opposite = places_of(pairs, links.target * len(links.nodes) + links.source)
        self.forward = self._forward_routes(scenario, receives_acks)
        self.backward = self._backward_routes(receives_acks)
        count = len(self._added)
        self.examples = (*kinds, *self._added)
        self.kind = np.append(self._kind_of, len(kinds) + np.arange(count))
        index: dict[Any, int] = {}
        self.disciplines: list[Discipline] = []
        by_example = []
        for rule in map(operator.attrgetter("discipline"), self.examples):
            key = rule if type(rule) is FIFO else id(rule)  # each access link has a FIFO of its own
            if key not in index:
                index[key] = len(self.disciplines)
                self.disciplines.append(rule)
            by_example.append(index[key])
        self.discipline_of: Integers = np.array(by_example).take(self.kind)
        self.link = np.append(np.arange(len(links)), np.full(count, -1))
        self.link.flags.writeable = False
        is_small = len(self.forward.places) <= MAX_SHARED_HOPS
        self.derived: dict[str, Any] | None = {} if is_small else None

    def __len__(self) -> int:
        return len(self._made) + len(self._added)

    @overload
    def __getitem__(self, p: int) -> Port: ...

    @overload
    def __getitem__(self, p: slice) -> tuple[Port, ...]: ...

    def __getitem__(self, p: Any) -> Any:
        """Return port p, or several for a slice."""
        if isinstance(p, slice):
            return tuple(map(self.__getitem__, range(*p.indices(len(self)))))
        n = range(len(self))[p]
        if n >= len(self._made):
            return self._added[n - len(self._made)]
        port = self._made[n]
        if port is None:
            nodes = self._links.nodes
            source, target = nodes[self._links.source[n]], nodes[self._links.target[n]]
            port = self._made[n] = self._kinds[self._kind_of[n]]._replace(source=source, target=target, link=n)
        return port

    def column(self, name: str) -> NDArray[Any]:
        """Return a number of each port by the name of its attribute in `Port`, (P,)."""
        return np.array(list(map(operator.attrgetter(name), self.examples))).take(self.kind)

    def _room(self, link: Link, discipline: Discipline) -> tuple[int, int]:
        """Return a queue's capacity at a link and the bytes of a cell: packets and 0, or bytes and at least 1.

        Drop-tail queues of ns-2 drop the packet that would fill them.
        """
        room, cell = queue_room(link)
        if cell and self._is_ns2 and self._packet_size >= room:
            msg = f"must be above a packet of {self._packet_size:g} B, as ns-2's queues"
            raise ValueError(f"buffer of link {link.name} = {buffer_text(link)}: {msg}")
        return room - 1 if self._is_ns2 and type(discipline) is FIFO else room, cell

    def _add(self, port: Port) -> int:
        """Add a port that is no link, and return its index; ValueError if it has no room for a packet."""
        if port.room < 1:
            number(f"buffer of {port.name}", float(port.room), at_least=1.0)
        p = len(self)
        self._added.append(port)
        self._added_at.setdefault((port.source, port.target), p)
        return p

    def _add_access(self, source: Any, n: int, discipline: Discipline) -> int:
        """Add the access link of a host, like link n, the first link of its flows, but unbounded; return its index."""
        first = self[n]
        return self._add(Port(source, first.source, first.bits, first.delay, UNBOUNDED, discipline))

    def _forward_routes(self, scenario: Scenario, receives_acks: NDArray[np.bool_]) -> Routes:
        """Return the ports on each flow's path, and add access links and mirrors for ACKs in place.

        Ports are added in the order of flows, of each flow its access link and then the mirrors from the end of its
        path. An interface serves all flows of its host over one link.
        """
        routes, at_once = scenario.routes, scenario.at_once
        shares_interface = ~at_once & scenario.host_is("nic")
        access = np.full(len(routes), -1, dtype=np.int64)
        interface = np.full(len(self._links), -1, dtype=np.int64)  # by first link
        adds_ports = ~at_once
        if receives_acks.any() and (self._opposite < 0).any():
            one_way = np.bincount(routes.flow, self._opposite[routes.places] < 0, len(routes)) > 0
            adds_ports |= receives_acks & one_way
        flows = np.empty(0, dtype=np.int64)
        if adds_ports.any():
            flows = self._first_users(routes, receives_acks, at_once, shares_interface)
        for f in flows[adds_ports[flows]].tolist():
            path = list(routes[f])
            n = path[0]
            if shares_interface[f]:
                if interface[n] < 0:
                    first = self[n]
                    name = "host", first.source, first.target
                    interface[n] = self._add_access(name, n, _interface(first.discipline))
                access[f] = interface[n]
            elif not at_once[f]:
                flow = scenario.flows[f]
                rule = self[n].discipline if flow.host == "shaped" else FIFO()
                access[f] = self._add_access(("host", flow.name), n, rule)
            if access[f] >= 0:
                path.insert(0, int(access[f]))
            for p in reversed(path) if receives_acks[f] else ():
                self._reverse(p)
        access[shares_interface] = interface[routes.first[shares_interface]]
        has_access = (access >= 0).astype(np.int64)
        if not has_access.any():
            return routes
        counts = routes.counts + has_access
        extended = Routes(np.empty(int(counts.sum()), dtype=np.int64), counts)
        is_link = np.ones(len(extended.places), dtype=np.bool_)
        is_link[extended.begin[has_access == 1]] = False
        extended.places[is_link], extended.places[~is_link] = routes.places, access[has_access == 1]
        return extended

    def _first_users(
        self,
        routes: Routes,
        receives_acks: NDArray[np.bool_],
        at_once: NDArray[np.bool_],
        shares_interface: NDArray[np.bool_],
    ) -> Integers:
        """Return the indices of the flows, ascending, that may need a port that no earlier flow has needed.

        These are the flows with an access link of their own, the first flow of each interface and its first with ACKs,
        and the first flow with ACKs over each link.
        """
        count = len(self._links)
        chosen = [np.flatnonzero(~at_once & ~shares_interface)]
        for users in (shares_interface, shares_interface & receives_acks):
            flows = np.flatnonzero(users)
            chosen.append(flows[distinct(routes.first[flows], count)[1]])
        hops = np.flatnonzero(receives_acks[routes.flow])
        chosen.append(routes.flow[hops[distinct(routes.places[hops], count)[1]]])
        return present(np.concatenate(chosen), len(routes))

    def _backward_routes(self, receives_acks: NDArray[np.bool_]) -> Routes:
        """Return the ports on the path of each flow's ACKs; empty for flows without ACKs."""
        forward = self.forward
        counts = np.where(receives_acks, forward.counts, 0)
        backward = Routes(np.empty(0, dtype=np.int64), counts)
        if not receives_acks.any():
            return backward
        flow = backward.flow
        hop = np.arange(len(flow)) - backward.begin[flow]
        ports = forward.places[forward.begin[flow] + counts[flow] - 1 - hop]
        mirror = np.full(len(self), -1, dtype=np.int64)
        mirror[: len(self._opposite)] = self._opposite
        used = present(ports, len(self))
        for p in used[mirror[used] < 0].tolist():
            mirror[p] = self._reverse(p)
        return Routes(mirror[ports], counts)

    def _reverse(self, p: int) -> int:
        """Return the port that ACKs of packets at port p take; a mirror is added if there is none.

        ACKs that take no time do not use links: they have mirrors, in which nothing waits.
        """
        if p < len(self._opposite) and self._opposite[p] >= 0:
            return int(self._opposite[p])
        port = self[p]
        nodes = port.target, port.source
        existing = self._links.places.get(nodes) if self._ack_transmission else None
        if existing is None:
            existing = self._added_at.get(nodes)
        if existing is not None:
            return existing
        room, cell = port.room, port.cell
        if port.link >= 0:
            room, cell = self._room(self._links[port.link], FIFO())
        return self._add(Port(*nodes, port.bits, port.delay, room, FIFO(), mirror=True, cell=cell))

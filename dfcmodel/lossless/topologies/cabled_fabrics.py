"""Fabrics with rates, cables and buffers: one object for simulations, headroom and deadlock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.audits.switch_chips import Chip, chip, chips
from dfcmodel.lossless.datasheets import HEADROOM_UNITS, PauseDatasheet
from dfcmodel.lossless.paused.headrooms import headroom
from dfcmodel.lossless.quantities import FIBRE, bit_rate, metres, size_in_bytes
from dfcmodel.lossless.topologies.fabrics import SERVERS, complete_host_counts, with_hosts
from dfcmodel.lossless.topologies.routes import check_digraph
from dfcmodel.network.links import MAX_BUFFER, MIN_BUFFER, Links, encode, links_from
from dfcmodel.network.networks import Scenario, check_attributes
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.disciplines import FIFO, Discipline
from hopflow.checks import format_value, instance, integer, one_number
from hopflow.deprecations import takes_options
from hopflow.fork_safety import cached_property
from hopflow.keywords import ELSEWHERE
from hopflow.results import table_text
from hopflow.units import PacketUnits, WithUnit, declares, quantities, readable_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import networkx as nx

    from dfcmodel.lossless.paused.headrooms import Headroom
    from dfcmodel.lossless.quantities import Given
    from dfcmodel.network.flows import Flow

__all__ = ["Cable", "Fabric"]

CABLE = "cable"
"""Attribute of an edge of the graph of switches: the cable of this edge."""


@dataclass(frozen=True)
class Cable:
    """A cable: its rate in each direction, and its length.

    Parameters
    ----------
    speed
        Line rate, a string such as ``"400Gbps"``.
    length
        A string such as ``"30m"``, above 0; the delay is 5 ns/m.

    Examples
    --------
    >>> from dfcmodel import Cable
    >>> cable = Cable("400Gbps", "30m")
    >>> cable.bits, cable.delay
    (400000000000, 1.5e-07)
    """

    speed: str = "100Gbps"
    length: str = "5m"

    def __post_init__(self) -> None:
        bit_rate("speed", self.speed)
        if not metres("length", self.length):
            raise ValueError(f"length = {self.length!r}: must be above 0 m")

    @property
    def bits(self) -> int:
        """Line rate in b/s."""
        return bit_rate("speed", self.speed)

    @property
    def delay(self) -> float:
        """Propagation delay in s."""
        return metres("length", self.length) / FIBRE


@quantities(packet_size="size")
@dataclass(frozen=True, eq=False, repr=False)
class Fabric:
    """A fabric of switches and hosts with rates, cables and buffers.

    ``links`` are the links of a scenario, ``graph`` is the argument of `deadlock`, and `headroom` returns the headroom
    of each kind of port. The forwarding delay of a switch is not modelled: a packet is forwarded when it is complete.

    Parameters
    ----------
    switches
        A graph of `leaf_spine`, `fat_tree`, `rail_optimized`, `dragonfly` or `torus`, or another graph with the
        attribute ``hosts`` at each switch. The attribute ``cable`` of an edge, a `Cable`, replaces the trunk; the edge
        of the other direction must have the same.
    access
        The cable from a host to its switch.
    trunk
        The cable between two switches; None: as ``access``.
    buffer
        Buffer of each port of a switch: a size such as ``"2 MB"``, or the name of a chip of `chips` with a known
        buffer, which its ports share in proportion to their rates. It is counted in full packets, and the packets in
        full cells of the chip.
    packet_size
        Bytes per packet.
    discipline
        Discipline of all links, such as ``PFC(counts="switch")``.
    seed
        Seed of the hash by which switches choose among shortest paths, from 0 to 2^32 - 1. The hash covers source and
        target of a flow, its number among the flows between them, and the seed.

    Raises
    ------
    ValueError
        For a buffer that no chip or size describes, a cable of another kind, a packet size that is not positive, and
        for attributes of edges, switches and the graph that are not read, as of `from_networkx`: ``rate``,
        ``bandwidth_gbps`` or ``Cable`` in place of ``cable``.

    Examples
    --------
    >>> from dfcmodel import PFC, Cable, Fabric, Packets, incast, simulate
    >>> from dfcmodel.lossless import deadlock, leaf_spine
    >>> from responsefn import FixedRate
    >>> switches, access, trunk = leaf_spine(4, 2, hosts=4), Cable("100Gbps", "3m"), Cable("400Gbps", "50m")
    >>> fabric = Fabric(switches, access, trunk, discipline=PFC(counts="switch"))
    >>> fabric.headroom(Cable("400Gbps", "50m")).bytes
    94920
    >>> deadlock(fabric.graph).is_free
    True
    >>> flows = incast(fabric.hosts, fabric.hosts[0], sizes=100, source=FixedRate(), links=fabric.links)
    >>> run = simulate(fabric.scenario("incast", flows, duration=1e-3), Packets(seed=1))
    >>> run.status.label, float(run.lost.sum())
    ('completed', 0.0)
    """

    switches: nx.DiGraph[Any]
    access: Cable = field(default_factory=Cable)
    trunk: Cable | None = None
    buffer: str | float = "tomahawk6"
    packet_size: WithUnit = 1500.0
    discipline: Discipline = field(default_factory=FIFO)
    seed: int = 0

    def __post_init__(self) -> None:
        check_digraph(self.switches, "switches")
        complete_host_counts(self.switches)
        instance("access", self.access, Cable, "a Cable")
        if self.trunk is not None:
            instance("trunk", self.trunk, Cable, "a Cable, or None")
        one_number("packet_size", self.packet_size, above=0.0, hint="in bytes")
        instance("discipline", self.discipline, Discipline, "a queueing discipline, such as PFC()")
        integer("seed", self.seed, 0, 2**32 - 1)
        self._port_chip()
        check_attributes(self.switches, (CABLE,), "give the edge a cable=Cable(...), and Fabric buffer and discipline")
        for a, b, data in self.switches.edges(data=True):
            if CABLE in data:
                instance(f"cable of {a}->{b}", data[CABLE], Cable, "a Cable")
                if self.switches.has_edge(b, a) and self.switches.edges[b, a].get(CABLE) != data[CABLE]:
                    back = self.switches.edges[b, a].get(CABLE, "the trunk")
                    msg = f"{b}->{a} has {back}: a cable is a link in each direction, give both edges the same one"
                    raise ValueError(f"cable of {a}->{b} = {data[CABLE]}: {msg}")

    @cached_property
    def graph(self) -> nx.DiGraph[Any]:
        """The graph with a node ``("host", n)`` for each host; each edge has its `Cable` as ``cable``."""
        graph = with_hosts(self.switches)
        trunk = self.access if self.trunk is None else self.trunk
        for a, b, data in graph.edges(data=True):
            default = trunk if {a, b} <= self.switches.nodes else self.access
            data[CABLE] = data.get(CABLE, default)
        return graph

    @cached_property
    def hosts(self) -> tuple[Hashable, ...]:
        """The nodes of the hosts, in the order of their numbers."""
        return tuple(node for node in self.graph if node not in self.switches)

    @cached_property
    def links(self) -> Links:
        """The links, in packets/s and packets of ``packet_size`` bytes; readers of demands take the size from them."""
        size, bits = self.packet_size, 8.0 * self.packet_size
        buffers = {cable: PacketUnits(self.port_buffer(cable), size) for cable in self.cables}
        sources, targets = zip(*(pair for pair, _ in self._link_cables), strict=True)
        cables = encode([cable for _, cable in self._link_cables])
        links = links_from(
            sources,
            targets,
            rate=cables.map(lambda cable: PacketUnits(cable.bits / bits, size, cable.bits / 8.0)),
            delay=cables.map(lambda cable: cable.delay),
            buffer=cables.map(buffers.__getitem__),
            discipline=self.discipline,
        )
        links.seed = self.seed
        links.servers = dict(zip(self.hosts, self.switches.graph.get(SERVERS, ()), strict=False))
        return links

    @cached_property
    def _link_cables(self) -> list[tuple[tuple[Any, Any], Cable]]:
        """Pairs of the two nodes and the cable of each link."""
        return [((a, b), data[CABLE]) for a, b, data in self.graph.edges(data=True)]

    @cached_property
    def cables(self) -> tuple[Cable, ...]:
        """The distinct cables of the links, in the order of their first link."""
        return tuple(dict.fromkeys(cable for _, cable in self._link_cables))

    def port_buffer(self, cable: Cable) -> int:
        """Return the buffer, packets, of a port with this cable, or the port's part of the chip's buffer.

        Raises
        ------
        ValueError
            For a buffer outside the range of links.
        """
        chip_data = self._port_chip()
        if chip_data is None:
            packets = size_in_bytes("buffer", self.buffer) / self.packet_size
        else:
            assert chip_data.buffer is not None
            assert chip_data.capacity is not None
            size = int(chip_data.buffer * cable.bits / chip_data.capacity)
            packets = ByteBuffer(size, chip_data.cell).packets(self.packet_size)
        if not MIN_BUFFER <= packets <= MAX_BUFFER:
            subject = f"{packets:.3g} packets of {self.packet_size:g} B at {cable.speed}"
            msg = f"must be from {MIN_BUFFER:g} to {MAX_BUFFER:g}"
            raise ValueError(f"buffer = {format_value(self.buffer)}: {subject}, {msg}")
        return int(packets)

    def _port_chip(self) -> Chip | None:
        """Return the chip of the switches, None for a size; ValueError for neither."""
        if not isinstance(self.buffer, str) or self.buffer[:1].isdigit():
            size = size_in_bytes("buffer", self.buffer)
            one_number("buffer", size, at_least=1.0, at_most=1e15, hint="in bytes per port")
            return None
        names = [model.name for model in chips() if model.buffer is not None]
        if self.buffer not in names:
            msg = f"must be a size such as '2 MB', or one of {', '.join(names)}"
            raise ValueError(f"buffer = {self.buffer!r}: {msg}")
        return chip(self.buffer)

    @takes_options(PauseDatasheet, "datasheet")
    @declares(**HEADROOM_UNITS)
    def headroom(
        self,
        cable: Cable | None = None,
        *,
        mtu: Given | Any = ELSEWHERE,
        lossless_mtu: Given | None = None,
        cell: Given | Any = ELSEWHERE,
        small_packets: float | tuple[float, float] = 0.0,
        classes: int = 1,
        datasheet: PauseDatasheet | None = None,
    ) -> Headroom:
        """Return the headroom of a port with a cable (None: the largest), by the fabric's packets and its chip's cells.

        Parameters
        ----------
        cable
            A member of ``cables``; None: the cable with the largest headroom.
        mtu, cell, lossless_mtu, small_packets, classes, datasheet
            As for `headroom`, except that ``mtu`` is ``packet_size`` and ``cell`` that of the chip by default.
        """
        parameters: dict[str, Any] = {
            "mtu": self.packet_size if mtu is ELSEWHERE else mtu,
            "lossless_mtu": lossless_mtu,
            "cell": cell,
            "small_packets": small_packets,
            "classes": classes,
            "datasheet": datasheet,
        }
        if cable is None:
            headrooms = [self.headroom(item, **parameters) for item in self.cables]
            return max(headrooms, key=lambda result: result.bursts[1].cells)
        if instance("cable", cable, Cable, "a Cable") not in self.cables:
            raise ValueError(f"cable = {cable!r}: must be one of {self.cables}")
        chip_data = self._port_chip()
        if cell is ELSEWHERE:
            parameters["cell"] = None if chip_data is None else chip_data.cell
        return headroom(cable.speed, cable.length, **parameters)

    @quantities(duration="time")
    def scenario(self, name: str, flows: Sequence[Flow], duration: WithUnit, **options: Any) -> Scenario:
        """Return a scenario of flows in the fabric, with its links and its size of packets.

        Parameters
        ----------
        name, flows, duration, **options
            Parameters of `Scenario`.
        """
        return Scenario(name, self.links, flows, duration, packet_size=self.packet_size, **options)

    def __repr__(self) -> str:
        """Return a text table: numbers of switches, hosts, links, and cables by kind, buffers of ports, packet size."""
        rows: dict[str, object] = {
            "switches and hosts": f"{len(self.switches)}, {len(self.hosts)}",
            "links": len(self.links),
        }
        for cable in self.cables:
            count = sum(other == cable for _, other in self._link_cables)
            size = self.port_buffer(cable) * self.packet_size
            rows[f"{cable.speed}, {cable.length}"] = f"{count}, {readable_text(size, 'bytes')} per port"
        rows["packets"] = f"{self.packet_size:g} B"
        return table_text("Fabric", rows)

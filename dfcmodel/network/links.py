"""A link, and links as columns, in which links that differ only in their nodes share one object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dfcmodel.network.columns import column_for, distinct, encode, encode_integers, nodes_of, present
from dfcmodel.network.queueing.buffers import ByteBuffer, buffer_of
from dfcmodel.network.queueing.disciplines import FIFO, Discipline
from hopflow.checks import count_of, flag, format_value, one_number, plain_number
from hopflow.fork_safety import cached_property
from hopflow.results import Described
from hopflow.units import PacketUnits, WithUnit, declares, distinction, quantities

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dfcmodel.network.elements.base import PathElement

    Integers = NDArray[np.int64]

__all__ = [
    "MAX_BUFFER",
    "MIN_BUFFER",
    "Link",
    "Links",
    "Node",
    "buffer_in_packets",
    "can_pause",
    "links_from",
    "queue_room",
]

Node = Hashable
DROP_TAIL = FIFO()

MAX_RATE, MAX_DELAY = 1e12, 10.0
"""Upper bounds of the rate, packets/s, and the delay, s."""
MIN_BUFFER, MAX_BUFFER = 1.0, 1e9
"""Bounds of the buffer, packets."""


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
@dataclass(frozen=True)
class Link(Described):
    """A directed link and the queue in front of it.

    Parameters
    ----------
    source, target
        The nodes that it connects; its queue is at ``source``.
    rate
        Packets/s, > 0. A bit rate, ``"100Mbps"``, is converted to packets by a `Scenario`.
    delay
        Propagation delay in s, > 0.
    buffer
        Buffer size in packets, 1 to 1e9, or a `ByteBuffer` in bytes or cells; use a size that is never reached for an
        unlimited buffer.
    discipline
        Queueing discipline: scheduling and drop policy.
    shared
        Whether all flows share the buffer; otherwise each flow has one of this size.

    Raises
    ------
    ValueError
        For a rate, delay or buffer outside its range, an unknown discipline, and a link from a node to itself.

    Examples
    --------
    >>> from dfcmodel import Link
    >>> from hopflow import mbps, ms
    >>> link = Link("a", "b", rate=mbps(12), delay=ms(40), buffer=100)
    >>> link.name, link.capacity
    ('a->b', 40.0)
    """

    SWEPT_BY = "dfcmodel.sweeps"

    source: Node
    target: Node
    rate: WithUnit
    delay: WithUnit
    buffer: WithUnit | ByteBuffer
    discipline: Discipline = field(default_factory=FIFO)
    shared: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.buffer, str):
            object.__setattr__(self, "buffer", buffer_of("buffer", self.buffer))
        of = f"of link {self.name}"
        for end in ("source", "target"):
            try:
                hash(getattr(self, end))
                bool(getattr(self, end) == getattr(self, end))
            except TypeError:
                value = format_value(getattr(self, end))
                raise TypeError(f"{end} = {value}: a node must be hashable") from None
        object.__setattr__(self, "shared", flag(f"shared {of}", self.shared))
        if self.source == self.target:
            raise ValueError(f"target {of}: must differ from its source")
        one_number(f"rate {of}", self.rate, above=0.0, at_most=MAX_RATE, hint="in packets/s: mbps(370)")
        one_number(f"delay {of}", self.delay, above=0.0, at_most=MAX_DELAY, hint="in s: ms(0.1)")
        if not isinstance(self.buffer, ByteBuffer):
            hint = "in packets, or ByteBuffer('150 kB')"
            one_number(f"buffer {of}", self.buffer, at_least=MIN_BUFFER, at_most=MAX_BUFFER, hint=hint)
        number: Any
        for name in ("rate", "delay", "buffer"):
            number = getattr(self, name)
            if not isinstance(number, ByteBuffer):
                object.__setattr__(self, name, plain_number(number))
        discipline: object = self.discipline
        if not isinstance(discipline, Discipline):
            kinds = "FIFO(), DFC(), Pause(), PFC(), RED(), Fair() or Priority()"
            raise ValueError(f"discipline {of} = {discipline!r}: must be {kinds}")  # noqa: TRY004
        if self.shared:
            if not isinstance(self.buffer, ByteBuffer):  # the scenario has the size of its packets
                can_pause(self, self.buffer)
        elif self.discipline.queue_per == "class":
            msg = "its classes divide one buffer: must be True"
            raise ValueError(f"shared {of} = False: {msg}")

    @property
    def name(self) -> str:
        """``source->target``."""
        return f"{self.source}->{self.target}"

    @property
    def elements(self) -> tuple[PathElement, ...]:
        """Elements for which fields of the link stand, none at present; they precede the scenario's elements."""
        return ()

    @property
    def capacity(self) -> float:
        """Bandwidth-delay product: packets in transit on the busy link."""
        return self.rate * self.delay


KIND_FIELDS = tuple(column.name for column in fields(Link) if column.name not in ("source", "target"))
"""Fields in which links of one kind are equal: all except the two nodes."""


def buffer_in_packets(link: Link, packet_size: float) -> float:
    """Return the buffer of a link in packets of ``packet_size`` bytes.

    >>> links = [Link(1, 2, rate=1e3, delay=0.01, buffer=size) for size in (100.0, ByteBuffer("150 kB"))]
    >>> [buffer_in_packets(link, 1500.0) for link in links]
    [100.0, 100.0]
    """
    buffer = link.buffer
    return buffer.packets(packet_size) if isinstance(buffer, ByteBuffer) else buffer


def queue_room(link: Link) -> tuple[int, int]:
    """Return a queue's capacity at packet level and its unit: packets with 0, or bytes with the bytes per cell.

    >>> links = [Link(1, 2, rate=1e3, delay=0.01, buffer=size) for size in (100.0, ByteBuffer("150 kB", cell=80))]
    >>> [queue_room(link) for link in links]
    [(100, 0), (150000, 80)]
    """
    buffer = link.buffer
    return (buffer.room, int(buffer.cell)) if isinstance(buffer, ByteBuffer) else (int(buffer), 0)


def can_pause(link: Link, room: float) -> None:
    """Raise ValueError for a pause threshold that a queue of at most ``room`` packets never exceeds.

    The scenario checks reservations of PFC, which depend on the flows.
    """
    if link.discipline.pauses == "link":
        levels = f"high = {room / 2:g} and low = {room / 4:g}"
        hint = f"no more fits into its buffer, so it never pauses; set, say, {levels}, or use FIFO"
        one_number(f"high of link {link.name!r}", link.discipline.thresholds[0], below=room, hint=hint)


class Links(Sequence[Link]):
    """Links as columns, a sequence that builds each `Link` on access.

    `links_from` and `Fabric` return such a table, and `Scenario` takes it as its ``links``. In most networks links are
    of a few kinds: a quantity that does not depend on the nodes is computed once per kind.

    Parameters
    ----------
    nodes
        Distinct nodes of the links, in the order in which the links name them.
    source, target
        Indices in ``nodes`` of each link's nodes, shape (L,).
    kinds
        A valid link of each kind; links of one kind differ only in their nodes.
    kind_of
        Index in ``kinds`` of each link's kind, shape (L,).
    seed
        Seed of the hash by which switches choose among shortest paths.
    servers
        Server of each node that is an interface of a server.

    Examples
    --------
    >>> from dfcmodel import links_from
    >>> links = links_from(["a", "b", "b"], ["b", "a", "c"], rate=[10.0, 10.0, 20.0], delay=0.01, buffer=5)
    >>> len(links), links[2].name, links.kind_of.tolist()
    (3, 'b->c', [0, 0, 1])
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        source: Integers,
        target: Integers,
        kinds: Sequence[Link],
        kind_of: Integers,
        seed: int = 0,
        servers: Mapping[Node, int] | None = None,
    ) -> None:
        self.nodes, self.kinds = tuple(nodes), tuple(kinds)
        self.source, self.target, self.kind_of = source, target, kind_of
        self.seed, self.servers = seed, dict(servers or {})
        self._made: list[Link | None] = [None] * len(source)

    @classmethod
    def of(cls, links: Iterable[Link]) -> Links:
        """Return links as columns; columns are returned unchanged."""
        if isinstance(links, Links):
            return links
        links = tuple(links)
        index_of: dict[Node, int] = {}
        kinds: dict[Any, int] = {}
        endpoints, kind_of, examples = list[int](), list[int](), list[Link]()
        for link in links:
            endpoints.append(index_of.setdefault(link.source, len(index_of)))
            endpoints.append(index_of.setdefault(link.target, len(index_of)))
            values = [getattr(link, name) for name in KIND_FIELDS]
            key = tuple([id(value) if isinstance(value, Discipline) else distinction(value) for value in values])
            kind_of.append(kinds.setdefault(key, len(kinds)))
            if len(kinds) > len(examples):
                examples.append(link)
        source, target = np.array(endpoints, dtype=np.int64).reshape(-1, 2).T
        table = cls(tuple(index_of), source, target, examples, np.array(kind_of, dtype=np.int64))
        table._made = list(links)
        return table

    def __len__(self) -> int:
        return len(self.source)

    @overload
    def __getitem__(self, n: int) -> Link: ...

    @overload
    def __getitem__(self, n: slice) -> tuple[Link, ...]: ...

    def __getitem__(self, n: Any) -> Any:
        """Return a link, or a tuple of links for a slice."""
        if isinstance(n, slice):
            return tuple(map(self.__getitem__, range(*n.indices(len(self)))))
        link = self._made[n]
        if link is None:
            link = self._made[n] = _between(
                self.kinds[self.kind_of[n]],
                self.nodes[self.source[n]],
                self.nodes[self.target[n]],
            )
        return link

    def __iter__(self) -> Iterator[Link]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, (Links, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        kinds = ", ".join(dict.fromkeys(type(kind.discipline).__name__ for kind in self.kinds))
        return f"Links({count_of(len(self), 'link')} between {count_of(len(self.nodes), 'node')}: {kinds})"

    def __reduce__(self) -> tuple[Any, ...]:
        columns = self.source, self.target, self.kinds, self.kind_of
        return Links, (self.nodes, *columns, self.seed, self.servers)

    @property
    def packet_size(self) -> float | None:
        """Bytes per packet of rates in bits (of a `Fabric`, otherwise 1500); None: rates are in packets/s."""
        sizes = (kind.rate.packet_size for kind in self.kinds if isinstance(kind.rate, PacketUnits))
        return next(sizes, None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the links, ``source->target``."""
        texts = [f"{node}" for node in self.nodes]
        pairs = zip(self.source.tolist(), self.target.tolist(), strict=True)
        return tuple(f"{texts[a]}->{texts[b]}" for a, b in pairs)

    @cached_property
    def place_of(self) -> dict[Node, int]:
        """Index of each node in ``nodes``."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @cached_property
    def places(self) -> dict[tuple[Node, Node], int]:
        """Index of the link from one node to another."""
        pairs = zip(self.source.tolist(), self.target.tolist(), strict=True)
        return {(self.nodes[a], self.nodes[b]): n for n, (a, b) in enumerate(pairs)}

    @cached_property
    def have_distinct_names(self) -> bool:
        """Whether no two links have the same name."""
        texts = {f"{node}" for node in self.nodes}
        if len(texts) < len(self.nodes) or "->" in "\n".join(texts):
            return len(set(self.names)) == len(self)
        span = len(self.nodes)
        return len(present(self.source * span + self.target, span * span)) == len(self)

    def each(self, value: Callable[[Link], Any]) -> NDArray[Any]:
        """Return a function of links that does not depend on their nodes, computed once per kind, shape (L,)."""
        return np.array([value(link) for link in self.kinds]).take(self.kind_of, axis=0)


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
def links_from(
    sources: Iterable[Node],
    targets: Iterable[Node],
    *,
    rate: Any,
    delay: Any,
    buffer: Any,
    discipline: Discipline | Sequence[Discipline] = DROP_TAIL,
    shared: bool | Sequence[bool] = True,
) -> Links:
    """Return links between pairs of nodes as columns, with less time and memory than an object per link.

    Parameters
    ----------
    sources, targets
        The nodes of each link, L of each.
    rate, delay
        Rates in packets/s and delays in s: one for all links, or L of each.
    buffer, discipline, shared
        As for `Link`: one for all links, or a list of L.

    Raises
    ------
    ValueError
        Naming the link and the parameter, as `Link` does.

    Examples
    --------
    >>> from dfcmodel import PFC, links_from
    >>> hosts, leaves = [f"h{n}" for n in range(4)], ["left", "left", "right", "right"]
    >>> sources, targets = [*hosts, *leaves], [*leaves, *hosts]
    >>> links_from(sources, targets, rate="100Gbps", delay="1us", buffer=1e4, discipline=PFC())
    Links(8 links between 6 nodes: PFC)
    """
    endpoints = nodes_of("sources", sources), nodes_of("targets", targets)
    count = len(endpoints[0])
    if len(endpoints[1]) != count or not count:
        counts = f"{count_of(count, 'source')} and {len(endpoints[1])} targets"
        raise ValueError(f"targets: {counts}, must be as many, at least one")
    both: list[Node] = [*endpoints[0], *endpoints[1]]
    both[::2], both[1::2] = endpoints
    nodes = encode(both)
    source, target = nodes.whole().reshape(-1, 2).T
    values = {"rate": rate, "delay": delay, "buffer": buffer, "discipline": discipline}
    columns = {name: column_for(name, value, count, "links") for name, value in {**values, "shared": shared}.items()}
    keys = np.zeros(count, dtype=np.int64)
    for column in columns.values():
        if column.which is not None:
            _, keys = encode_integers(keys * len(column.values) + column.which)
    _, first = distinct(keys, count)
    order = np.argsort(first)  # kinds in the order of their first links
    kind_of, first = np.argsort(order)[keys], first[order]
    examples = {
        n: Link(endpoints[0][n], endpoints[1][n], **{name: column[n] for name, column in columns.items()})
        for n in sorted({*first.tolist(), *np.flatnonzero(source == target)[:1].tolist()})
    }
    kinds = [examples[n] for n in first.tolist()]
    return Links(nodes.values, source, target, kinds, kind_of)


def _between(kind: Link, source: Node, target: Node) -> Link:
    """Return a link of a kind between two nodes, without validation: the columns are valid."""
    link = object.__new__(Link)
    link.__dict__.update(kind.__dict__, source=source, target=target)
    return link

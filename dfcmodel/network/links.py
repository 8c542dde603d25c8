"""Links: one, and many as columns, in which links that differ only in their ends share one object."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dfcmodel.network.columns import coded, column_for, distinct, encoded, nodes_of, present
from dfcmodel.network.queueing.buffers import ByteBuffer, buffer_of
from dfcmodel.network.queueing.disciplines import FIFO, Discipline
from hopflow.checks import count_of, flag, format_value, one_number, plain_number
from hopflow.fork_safety import cached_property
from hopflow.results import Described
from hopflow.units import PacketUnits, WithUnit, declares, distinction, quantities

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

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
"""Of a link, packets/s and s."""
MIN_BUFFER, MAX_BUFFER = 1.0, 1e9
"""Of a link, packets."""


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
@dataclass(frozen=True)
class Link(Described):
    """A directed link and the queue in front of it.

    Parameters
    ----------
    source, target
        The nodes at its ends; its queue is at ``source``.
    rate
        Packets/s, > 0. A bit rate, ``"100Mbps"``, stays one until a `Scenario` converts it to its packets.
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
    def capacity(self) -> float:
        """Bandwidth-delay product: packets in transit on the busy link."""
        return self.rate * self.delay


KIND_FIELDS = tuple(column.name for column in fields(Link) if column.name not in ("source", "target"))
"""Fields in which links of one kind are equal: all but the ends."""


def buffer_in_packets(link: Link, packet_size: float) -> float:
    """Return the buffer of a link in packets of ``packet_size`` bytes.

    >>> links = [Link(1, 2, rate=1e3, delay=0.01, buffer=each) for each in (100.0, ByteBuffer("150 kB"))]
    >>> [buffer_in_packets(link, 1500.0) for link in links]
    [100.0, 100.0]
    """
    buffer = link.buffer
    return buffer.packets(packet_size) if isinstance(buffer, ByteBuffer) else buffer


def queue_room(link: Link) -> tuple[int, int]:
    """Return the room of a link's queue at packet level, in packets or bytes, and the bytes of a cell, 0 for packets.

    >>> links = [Link(1, 2, rate=1e3, delay=0.01, buffer=each) for each in (100.0, ByteBuffer("150 kB", cell=80))]
    >>> [queue_room(link) for link in links]
    [(100, 0), (150000, 80)]
    """
    buffer = link.buffer
    return (buffer.room, int(buffer.cell)) if isinstance(buffer, ByteBuffer) else (int(buffer), 0)


def can_pause(link: Link, room: float) -> None:
    """Refuse a pause threshold that is never exceeded: the queue has ``room`` packets at most.

    What PFC reserves is checked by the scenario, which has the flows.
    """
    if link.discipline.pauses == "link":
        levels = f"high = {room / 2:g} and low = {room / 4:g}"
        hint = f"no more fits into its buffer, so it never pauses; set, say, {levels}, or use FIFO"
        one_number(f"high of link {link.name!r}", link.discipline.thresholds[0], below=room, hint=hint)


class Links(Sequence[Link]):
    """Links as columns, in place of a tuple of `Link`, which is made when it is asked for.

    `links_from` and `Fabric` return one, `Scenario` takes it as its ``links``. In most networks links are of a few kinds:
    what is derived from a link without its ends is computed once for each kind.

    Parameters
    ----------
    nodes
        The nodes at the ends of the links, each once, in the order in which the links name them.
    source, target
        Places in ``nodes`` of the ends of each link, shape (L,).
    kinds
        A link of each kind, which were checked; links of one kind differ only in their ends.
    kind_of
        The kind of each link, shape (L,).
    seed
        Of the hash by which its switches choose among shortest paths.
    servers
        The server of which each node is an interface, by node; nodes that are not in it are none.

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
        """Return the columns of some links; of columns themselves."""
        if isinstance(links, Links):
            return links
        links = tuple(links)
        place: dict[Node, int] = {}
        kinds: dict[Any, int] = {}
        ends, own, examples = list[int](), list[int](), list[Link]()
        for link in links:
            ends.append(place.setdefault(link.source, len(place)))
            ends.append(place.setdefault(link.target, len(place)))
            values = [getattr(link, name) for name in KIND_FIELDS]
            key = tuple([id(value) if isinstance(value, Discipline) else distinction(value) for value in values])
            own.append(kinds.setdefault(key, len(kinds)))
            if len(kinds) > len(examples):
                examples.append(link)
        source, target = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        found = cls(tuple(place), source, target, examples, np.array(own, dtype=np.int64))
        found._made = list(links)
        return found

    def __len__(self) -> int:
        return len(self.source)

    @overload
    def __getitem__(self, n: int) -> Link: ...

    @overload
    def __getitem__(self, n: slice) -> tuple[Link, ...]: ...

    def __getitem__(self, n: Any) -> Any:
        """Return a link, or several."""
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
        kinds = ", ".join(dict.fromkeys(type(each.discipline).__name__ for each in self.kinds))
        return f"Links({count_of(len(self), 'link')} between {count_of(len(self.nodes), 'node')}: {kinds})"

    def __reduce__(self) -> tuple[Any, ...]:
        columns = self.source, self.target, self.kinds, self.kind_of
        return Links, (self.nodes, *columns, self.seed, self.servers)

    @property
    def packet_size(self) -> float | None:
        """Bytes per packet for which the rates were made, those of a `Fabric`; of bit rates 1500; None: rates are numbers of packets/s."""
        sizes = (kind.rate.packet_size for kind in self.kinds if isinstance(kind.rate, PacketUnits))
        return next(sizes, None)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the links, ``source->target``."""
        texts = [f"{node}" for node in self.nodes]
        ends = zip(self.source.tolist(), self.target.tolist(), strict=True)
        return tuple(f"{texts[a]}->{texts[b]}" for a, b in ends)

    @cached_property
    def place_of(self) -> dict[Node, int]:
        """The place of each node in ``nodes``."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @cached_property
    def places(self) -> dict[tuple[Node, Node], int]:
        """The place of the link from one node to another."""
        ends = zip(self.source.tolist(), self.target.tolist(), strict=True)
        return {(self.nodes[a], self.nodes[b]): n for n, (a, b) in enumerate(ends)}

    @cached_property
    def have_own_names(self) -> bool:
        """Whether no two links have the same name."""
        texts = {f"{node}" for node in self.nodes}
        if len(texts) < len(self.nodes) or "->" in "\n".join(texts):
            return len(set(self.names)) == len(self)
        span = len(self.nodes)
        return len(present(self.source * span + self.target, span * span)) == len(self)

    def each(self, value: Callable[[Link], Any]) -> NDArray[Any]:
        """Return what follows from each link without its ends, computed once for each kind, shape (L,)."""
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
    """Return the links between pairs of nodes as columns, which cost less time and memory than an object for each.

    Parameters
    ----------
    sources, targets
        The nodes at the ends of each link, L of each.
    rate, delay
        Of each link, packets/s and s: one for all, or L of them.
    buffer, discipline, shared
        Of each link, as of `Link`: one for all, or a list of L.

    Raises
    ------
    ValueError
        Naming the link and the parameter, as `Link` does.

    Examples
    --------
    >>> from dfcmodel import PFC, links_from
    >>> hosts, leaves = [f"h{n}" for n in range(4)], ["left", "left", "right", "right"]
    >>> ends = [*hosts, *leaves], [*leaves, *hosts]
    >>> links_from(*ends, rate="100Gbps", delay="1us", buffer=1e4, discipline=PFC())
    Links(8 links between 6 nodes: PFC)
    """
    ends = nodes_of("sources", sources), nodes_of("targets", targets)
    count = len(ends[0])
    if len(ends[1]) != count or not count:
        counts = f"{count_of(count, 'source')} and {len(ends[1])} targets"
        raise ValueError(f"targets: {counts}, must be as many, at least one")
    both: list[Node] = [*ends[0], *ends[1]]
    both[::2], both[1::2] = ends
    nodes = encoded(both)
    source, target = nodes.whole().reshape(-1, 2).T
    given = {"rate": rate, "delay": delay, "buffer": buffer, "discipline": discipline}
    columns = {name: column_for(name, value, count, "links") for name, value in {**given, "shared": shared}.items()}
    keys = np.zeros(count, dtype=np.int64)
    for column in columns.values():
        if column.which is not None:
            _, keys = coded(keys * len(column.values) + column.which)
    _, first = distinct(keys, count)
    order = np.argsort(first)  # kinds in the order of their first links
    kind_of, first = np.argsort(order)[keys], first[order]
    examples = {
        n: Link(ends[0][n], ends[1][n], **{name: column[n] for name, column in columns.items()})
        for n in sorted({*first.tolist(), *np.flatnonzero(source == target)[:1].tolist()})
    }
    kinds = [examples[n] for n in first.tolist()]
    return Links(nodes.values, source, target, kinds, kind_of)


def _between(kind: Link, source: Node, target: Node) -> Link:
    """Return a link of a kind between two nodes, which was checked with its columns."""
    link = object.__new__(Link)
    link.__dict__.update(kind.__dict__, source=source, target=target)
    return link

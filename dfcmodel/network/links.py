"""Links, and the columns in which scenarios hold links, options of flows and routes, with their index arithmetic.

Links that differ only in their nodes share one object.
"""

from __future__ import annotations

import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from dfcmodel.network.queueing.buffers import ByteBuffer, buffer_of
from dfcmodel.network.queueing.disciplines import FIFO, Discipline
from hopflow.checks import count_of, flag, format_value, one_number, plain_number, refuse_unordered
from hopflow.fork_safety import cached_property
from hopflow.results import Described
from hopflow.units import PacketUnits, WithUnit, check_rate, declares, distinction, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.elements.base import PathElement

    Integers = NDArray[np.int64]

__all__ = [
    "KIND_FIELDS",
    "MAX_BUFFER",
    "MIN_BUFFER",
    "Column",
    "Link",
    "Links",
    "Node",
    "Routes",
    "among",
    "buffer_in_packets",
    "buffer_text",
    "check_count",
    "check_pause_threshold",
    "column_for",
    "column_of",
    "constant",
    "distinct",
    "distinct_rows",
    "encode",
    "encode_integers",
    "links_from",
    "nodes_of",
    "place_table",
    "places_of",
    "present",
    "queue_room",
]

Node = Hashable
DROP_TAIL = FIFO()

MAX_DELAY = 10.0
"""Upper bound of the delay, s."""
MIN_BUFFER, MAX_BUFFER = 1.0, 1e9
"""Bounds of the buffer, packets."""
IN_ALL_KERNELS = {"in_all_kernels": True}
"""Metadata of a field of `Link` with which all kernels of the packet level run, or that has no effect on packets. Where
any other field differs from its default, the fabric kernel does not run."""


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
@dataclass(frozen=True)
class Link(Described):
    """A directed link and the queue in front of it: packets/s, s and packets.

    Parameters
    ----------
    source, target
        The nodes that it connects; its queue is at ``source``.
    rate
        Packets/s, > 0, as a number at most 5e9. A bit rate, ``"100Mbps"``, is converted to packets by a `Scenario`.
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
    discipline: Discipline = field(default_factory=FIFO, metadata=IN_ALL_KERNELS)
    shared: bool = field(default=True, metadata=IN_ALL_KERNELS)

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
        check_rate(f"rate {of}", self.rate)
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
                check_pause_threshold(self, self.buffer)
        elif self.discipline.queue_per == "class":
            msg = "its classes divide one buffer: must be True"
            raise ValueError(f"shared {of} = False: {msg}")

    @property
    def name(self) -> str:
        """Name of the link: ``source->target``."""
        return f"{self.source}->{self.target}"

    @property
    def elements(self) -> tuple[PathElement, ...]:
        """Path elements that fields of the link stand for, before the scenario's elements; none at present."""
        return ()

    @property
    def capacity(self) -> float:
        """Bandwidth-delay product of the link, packets."""
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


def buffer_text(link: Link) -> str:
    """Return the buffer of a link as a string for messages.

    >>> buffers = 95.0, ByteBuffer("150 kB"), ByteBuffer("150 kB", cell=80)
    >>> [buffer_text(Link(1, 2, rate=1e3, delay=0.01, buffer=size)) for size in buffers]
    ['95 packets', '150000 B', '150000 B in cells of 80 B']
    """
    buffer = link.buffer
    if not isinstance(buffer, ByteBuffer):
        return f"{buffer:g} packets"
    return f"{buffer.size} B" + (f" in cells of {buffer.cell} B" if int(buffer.cell) > 1 else "")


def queue_room(link: Link) -> tuple[int, int]:
    """Return a queue's capacity at packet level and its unit: (packets, 0), or (bytes, bytes per cell).

    >>> links = [Link(1, 2, rate=1e3, delay=0.01, buffer=size) for size in (100.0, ByteBuffer("150 kB", cell=80))]
    >>> [queue_room(link) for link in links]
    [(100, 0), (150000, 80)]
    """
    buffer = link.buffer
    return (buffer.room, int(buffer.cell)) if isinstance(buffer, ByteBuffer) else (int(buffer), 0)


def check_pause_threshold(link: Link, room: float) -> None:
    """Raise ValueError unless a queue of at most ``room`` packets can exceed the link's pause threshold.

    The scenario checks reservations of PFC, which depend on the flows.
    """
    if link.discipline.pauses == "link":
        levels = f"high = {room / 2:g} and low = {room / 4:g}"
        buffers = (
            f"its buffer, {buffer_text(link)}" if link.shared else f"its buffers, {buffer_text(link)} for each flow"
        )
        hint = f"no more fits into {buffers}, so it never pauses; set, say, {levels}, or use FIFO"
        threshold = getattr(link.discipline, "high", link.discipline.thresholds[0])  # Pause: as it was written
        one_number(f"high of link {link.name!r}", threshold, below=room, hint=hint)


class Links(Sequence[Link]):
    """A table of links as columns; as a sequence it builds each `Link` when it is read.

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
        """Return link n, or a tuple of links for a slice."""
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
        """Index in ``nodes`` of each node, by node."""
        return dict(zip(self.nodes, range(len(self.nodes)), strict=True))

    @cached_property
    def places(self) -> dict[tuple[Node, Node], int]:
        """Index of each link by its pair of nodes, (source, target)."""
        pairs = zip(self.source.tolist(), self.target.tolist(), strict=True)
        return {(self.nodes[a], self.nodes[b]): n for n, (a, b) in enumerate(pairs)}

    @cached_property
    def have_distinct_names(self) -> bool:
        """Whether no two links have the same name."""
        texts = set(map(format, self.nodes))
        if len(texts) < len(self.nodes) or "->" in "\n".join(texts):
            return len(set(self.names)) == len(self)
        span = len(self.nodes)
        return len(present(self.source * span + self.target, span * span)) == len(self)

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """Rate of each link, packets/s, (L,), read-only."""
        rates = self.each(operator.attrgetter("rate"))
        rates.flags.writeable = False
        return rates

    @cached_property
    def delays(self) -> NDArray[np.float64]:
        """Propagation delay of each link, s, (L,), read-only."""
        delays = self.each(operator.attrgetter("delay"))
        delays.flags.writeable = False
        return delays

    def each(self, value: Callable[[Link], Any]) -> NDArray[Any]:
        """Return ``value(link)`` of each link, (L,), with one call per kind; it must not depend on the nodes."""
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
    """Return a copy of the link ``kind`` between two other nodes, without validation."""
    link = object.__new__(Link)
    link.__dict__.update(kind.__dict__, source=source, target=target)
    return link


# Columns of option values, routes as arrays, and their index arithmetic.

DENSE = 4
"""Largest ratio of possible keys to keys for which a lookup table is faster than a sort.

Without tables the all-to-all of 512 hosts in `benchmarks.fabrics` takes 1.25 times as long.
"""
QUICKLY_HASHED = frozenset((str, int, float, bool, type(None)))
"""Types whose hashes cost less than a lookup by object identity."""


class Column(Sequence[Any]):
    """The values of an option of F flows: ``values[which[f]]`` of flow f.

    This is `pandas.Categorical`, with ``values`` for its categories and ``which`` for its codes. pandas is not used:
    its import takes 0.2 s of CPU time, more than many runs, categories must not compare equal, as sizes in different
    units may, and a value of all flows has a code for each of them.

    Parameters
    ----------
    values
        The distinct values; a single one applies to all flows.
    which
        Index in ``values`` of each flow's value, shape (F,); None: all flows have the first value.
    length
        Number F of flows.

    Examples
    --------
    >>> column = Column(("x", "y"), np.array([1, 0, 1]), 3)
    >>> list(column), column[0]
    (['y', 'x', 'y'], 'y')
    """

    __slots__ = ("length", "values", "which")

    def __init__(self, values: Sequence[Any], which: Integers | None, length: int) -> None:
        self.values, self.which, self.length = values, which, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, f: Any) -> Any:
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(self.length)))
        return self.values[0 if self.which is None else int(self.which[f])]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Column, tuple)):
            return NotImplemented
        return tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __iter__(self) -> Iterator[Any]:
        if self.which is None:
            return iter([self.values[0]] * self.length)
        return map(self.values.__getitem__, self.which.tolist())

    def whole(self) -> Integers:
        """Return the index in ``values`` of each flow's value, shape (F,); read-only if all have one value."""
        return np.broadcast_to(np.int64(0), self.length) if self.which is None else self.which

    def map(self, value: Callable[[Any], Any]) -> Column:
        """Return a column of ``value(x)``, with one call per distinct value x."""
        return Column(tuple(map(value, self.values)), self.which, self.length)

    def array(self) -> NDArray[Any]:
        """Return the values as an array, shape (F, ...); read-only for a constant column."""
        values = np.array(self.values)
        if self.which is not None:
            return values.take(self.which, axis=0)
        if values.ndim > 1 or values.dtype.hasobject:
            return np.broadcast_to(values[0], (self.length, *values.shape[1:]))
        return constant(values, (self.length,))


def constant(value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a read-only array filled with one number, four times as fast as `numpy.broadcast_to`.

    >>> constant(np.int32(7), (2, 2)).tolist()
    [[7, 7], [7, 7]]
    """
    scalar = np.asarray(value)
    array: NDArray[Any] = np.ndarray(shape, scalar.dtype, scalar, 0, (0,) * len(shape))
    array.flags.writeable = False
    return array


def encode(values: Sequence[Any]) -> Column:
    """Return values as a column; its distinct values are in the order of their first occurrence.

    >>> column = encode(["b", "a", "b"])
    >>> column.values, column.which.tolist()
    (('b', 'a'), [0, 1, 0])
    """
    items = list(values)  # a temporary value would free its identity for the next one
    keys: list[Any] = items
    if items and isinstance(items[0], (float, int)) and PacketUnits in set(map(type, items)):
        keys = list(map(distinction, items))
        first = dict(zip(reversed(keys), reversed(items), strict=True))
        column = encode(keys)
        return Column(tuple(map(first.__getitem__, column.values)), column.which, column.length)
    codes: dict[Any, int] = defaultdict(itertools.count().__next__)  # a new key gets the next code
    code_of = codes
    end_types = map(type, (*items[:1], *items[-1:]))  # a check of all types takes as long as all hashes
    if not QUICKLY_HASHED.issuperset(end_types):
        keys = list(map(id, items))
        objects = dict(zip(keys, items, strict=True))  # many items are identical objects
        code_of = {key: codes[value] for key, value in objects.items()}
    which = np.fromiter(map(code_of.__getitem__, keys), np.int64, len(items))
    return Column(tuple(codes), which if len(codes) > 1 else None, len(items))


def column_of(values: Sequence[Any]) -> Column:
    """Return a sequence as a column; a column is returned unchanged."""
    return values if isinstance(values, Column) else encode(values)


def among(sequence: Sequence[Any]) -> Sequence[Any]:
    """Return the distinct values of a column; a sequence that is no column is returned unchanged.

    >>> among(Column(("x",), None, 3)), among(("x", "x"))
    (('x',), ('x', 'x'))
    """
    return sequence.values if isinstance(sequence, Column) else sequence


def nodes_of(name: str, nodes: Any) -> list[Hashable]:
    """Return nodes as a list; TypeError, about ``name``, for a set, or the first entry that is not hashable."""
    if getattr(nodes, "ndim", 0):  # of NumPy, JAX and others
        nodes = np.asarray(nodes).tolist()
    if isinstance(nodes, str) or not isinstance(nodes, Iterable):
        raise TypeError(f"{name} = {format_value(nodes)}: must be a list of nodes")
    refuse_unordered(name, nodes, "nodes")
    items = list(nodes)
    try:
        set(items)
    except TypeError:
        n = next(n for n, node in enumerate(items) if not isinstance(node, Hashable))
        msg = f"{name}[{n}] = {format_value(items[n])}: a node must be hashable"
        raise TypeError(msg) from None
    return items


def check_count(name: str, values: Any, count: int, of: str = "flows") -> None:
    """Raise ValueError unless there are ``count`` values, one for each flow or link as ``of`` says."""
    if len(values) != count:
        raise ValueError(f"{name}: {count_of(len(values), 'value')}, must be one, or one for each of {count} {of}")


def as_sequence(option: Any) -> Any:
    """Return a column of pandas, xarray or JAX as an array and a range as a list; other values unchanged."""
    if isinstance(option, range):
        return [*option]
    if hasattr(option, "__array__") and not isinstance(option, (np.ndarray, np.generic)) and np.ndim(option):
        return np.asarray(option)
    return option


def column_for(name: str, option: Any, count: int, of: str = "flows") -> Column:
    """Return the column of an option from one value for all, or from a sequence of ``count`` values."""
    option = as_sequence(option)
    if isinstance(option, Column):
        check_count(name, option, count, of)
        return option
    if isinstance(option, np.ndarray) and option.ndim:
        check_count(name, option, count, of)
        if option.ndim == 1 and option.dtype.kind in "iufb":
            values, which = np.unique(option, return_inverse=True)
            return Column(values.tolist(), which.reshape(-1) if len(values) > 1 else None, count)
        option = option.tolist()
    if isinstance(option, (list, tuple)):
        check_count(name, option, count, of)
        try:
            return encode(option)
        except TypeError:  # `Flow` or `Link` reports the invalid value
            return Column(tuple(option), np.arange(count), count)
    return Column((option,), None, count)


class Routes(Sequence[tuple[int, ...]]):
    """A sequence of F routes, tuples of whole numbers, stored as one flat array.

    Parameters
    ----------
    places
        The entries of all routes, concatenated, shape (H,).
    counts
        Length of each route, shape (F,).

    Examples
    --------
    >>> routes = Routes.of([(4, 7), (), (7,)])
    >>> routes[0], len(routes), routes.places.tolist()
    ((4, 7), 3, [4, 7, 7])
    """

    __slots__ = ("__dict__", "counts", "places")

    def __init__(self, places: NDArray[Any], counts: NDArray[Any]) -> None:
        self.places, self.counts = places, counts

    @classmethod
    def of(cls, routes: Iterable[Sequence[int]]) -> Routes:
        """Return routes from sequences of whole numbers; `Routes` are returned unchanged."""
        if isinstance(routes, Routes):
            return routes
        routes = list(routes)
        entries = np.fromiter(itertools.chain.from_iterable(routes), dtype=np.int64)
        return cls(entries, np.fromiter(map(len, routes), dtype=np.int64))

    @cached_property
    def begin(self) -> Integers:
        """Index in ``places`` of each route's first entry, shape (F,)."""
        return np.asarray(np.cumsum(self.counts) - self.counts)

    @cached_property
    def first(self) -> NDArray[Any]:
        """First entry of each route, shape (F,); no route may be empty."""
        return self.places[self.begin]

    @property
    def flow(self) -> Integers:
        """Index of the flow to which each entry belongs, shape (H,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def link_of_minimum(self, values: NDArray[Any]) -> Integers:
        """Return the link on each route at which ``values``, one per link, is least, the first of equals, shape (F,).

        ``values`` has a value for each possible entry, such as the rates of all links.

        >>> Routes.of([(2, 0), (1,)]).link_of_minimum(np.array([3.0, 4.0, 5.0])).tolist()
        [0, 1]
        """
        entry_values = values[self.places]
        minimum = np.minimum.reduceat(entry_values, self.begin)[self.flow]
        matches = np.flatnonzero(entry_values == minimum)
        first = np.unique(self.flow[matches], return_index=True)[1]
        return np.asarray(self.places[matches[first]])

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, f: Any) -> Any:
        if isinstance(f, slice):
            return tuple(self[n] for n in range(*f.indices(len(self))))
        begin = self.begin[f]
        return tuple(self.places[begin : begin + self.counts[f]].tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Routes):
            same = np.array_equal(self.counts, other.counts)
            return same and np.array_equal(self.places, other.places)
        return tuple(self) == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash((len(self.counts), self.places.tobytes()))

    def __repr__(self) -> str:
        return f"Routes of {count_of(len(self), 'flow')}, {count_of(len(self.places), 'hop')}"


def encode_integers(values: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return the distinct whole numbers in ascending order, and the index among them of each value, (N,).

    >>> unique, inverse = encode_integers(np.array([7, -2, 7]))
    >>> unique.tolist(), inverse.tolist()
    ([-2, 7], [1, 0, 1])
    """
    minimum = int(values.min()) if len(values) else 0
    span = int(values.max()) - minimum + 1 if len(values) else 0
    if span > DENSE * len(values) + 2**16:
        unique, inverse = np.unique(values, return_inverse=True)
        return unique, inverse.reshape(-1)
    keys = values - minimum
    unique, index = present(keys, span), np.empty(span, dtype=np.int64)
    index[unique] = np.arange(len(unique))
    return unique + minimum, index[keys]


def distinct(keys: NDArray[Any], span: int) -> tuple[Integers, Integers]:
    """Return the distinct keys, 0 to ``span`` - 1, ascending, and the index of the first occurrence of each, (K,) both.

    Parameters
    ----------
    keys
        Whole numbers from 0 to ``span`` - 1, shape (N,).

    Examples
    --------
    >>> keys, first = distinct(np.array([5, 2, 5, 2, 9]), 10)
    >>> keys.tolist(), first.tolist()
    ([2, 5, 9], [1, 0, 4])
    """
    if span > DENSE * len(keys) + 2**16:
        unique, first = np.unique(keys, return_index=True)
        return unique, first
    unique, at = present(keys, span), np.empty(span, dtype=np.int32)
    at[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the first of equal keys is written last
    return unique, at[unique].astype(np.int64)


def present(keys: NDArray[Any], span: int) -> Integers:
    """Return the distinct values of ``keys``, ascending, shape (distinct,); keys are whole numbers below ``span``.

    >>> present(np.array([5, 2, 5, 2, 9]), 10).tolist()
    [2, 5, 9]
    """
    if span <= DENSE * len(keys) + 2**12:
        used = np.zeros(span, dtype=np.bool_)
        used[keys] = True
        return np.flatnonzero(used)
    ordered = np.sort(keys)  # NumPy's unique, by hashes, takes 8 times as long
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return np.asarray(ordered[first])


def places_of(keys: NDArray[Any], queries: NDArray[Any]) -> Integers:
    """Return the index in ``keys`` of each query, shape of ``queries``; -1 where it is absent.

    Keys are distinct whole numbers from 0.

    >>> places_of(np.array([5, 2, 9]), np.array([9, 3, 5])).tolist()
    [2, -1, 0]
    """
    span = int(keys.max(initial=-1)) + 1
    if span <= DENSE * len(queries) + 2**16:
        return np.asarray(place_table(keys, span + 1)[np.minimum(queries, span)], dtype=np.int64)
    if (keys[1:] > keys[:-1]).all():
        rows = np.minimum(keys.searchsorted(queries), len(keys) - 1)
    else:
        order = np.argsort(keys)
        rows = order[np.minimum(keys.searchsorted(queries, sorter=order), len(keys) - 1)]
    return np.where(keys[rows] == queries, rows, -1)


def place_table(keys: NDArray[Any], span: int) -> NDArray[np.int32]:
    """Return the index in ``keys`` of each number from 0 to ``span`` - 1, shape (span,); -1 where it is absent.

    >>> place_table(np.array([3, 1]), 5).tolist()
    [-1, 1, -1, 0, -1]
    """
    table = np.full(span, -1, dtype=np.int32)
    table[keys] = np.arange(len(keys))
    return table


def distinct_rows(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return flags, (N,), of rows of the integer columns that no earlier row equals.

    >>> distinct_rows(np.array([1, 1, 2, 1]), np.array([5, 6, 5, 5])).tolist()
    [True, True, True, False]
    """
    is_first = np.zeros(len(columns[0]), dtype=np.bool_)
    is_first[np.unique(np.transpose(columns), axis=0, return_index=True)[1]] = True
    return is_first

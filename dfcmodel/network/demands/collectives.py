"""Tables of many flows: between listed pairs of nodes, all-to-all, incast, and permutations."""

from __future__ import annotations

import contextlib
import itertools
import math
import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dfcmodel.network.flows import (
    LARGEST_WINDOW,
    OPTIONS,
    Choices,
    Flow,
    Flows,
    as_references,
    check_after,
    check_delays,
    check_option,
    unroll_loop,
)
from dfcmodel.network.links import (
    Column,
    Link,
    Links,
    Routes,
    as_sequence,
    check_count,
    column_for,
    column_of,
    distinct,
    encode,
    nodes_of,
    present,
)
from dfcmodel.network.next_hops import NextHops
from dfcmodel.network.shortest_routes import (
    CHOICES,
    SPRAY,
    ShortestRoutes,
    flow_keys,
    numbers_between,
)
from hopflow.callers import warn_caller
from hopflow.checks import (
    choice,
    count_of,
    dimensions,
    format_value,
    instance,
    instances,
    random_generator,
    unwrap_scalar,
)
from hopflow.deprecations import accept_old_names, takes_options
from hopflow.keywords import ELSEWHERE
from hopflow.parameters import Options
from hopflow.units import PACKET_SIZE, PacketUnits, declares, in_units, quantities_of, whole_packets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.endpoints.sources import Source

__all__ = [
    "PAIR",
    "FlowOptions",
    "all_to_all",
    "build_flows",
    "collective_hosts",
    "flows_from",
    "in_one_server",
    "incast",
    "options_of",
    "permutation",
]

Routing: TypeAlias = (
    str | Iterable[Sequence[Hashable]] | Mapping[Any, Mapping[Any, Sequence[Hashable] | Mapping[Any, int]]]
)
"""Choice of paths: its name, the paths, or tables of next hops."""

CHECKED_AT_ONCE = ("max_window", "start", "size", "priority", "stop")
UNHASHED = ("even", "first")
"""Choices of routes that do not hash the entropy of flows."""
PAIR = "pair"
"""Value of ``entropy``: all flows between two nodes are one connection."""
NUMBERS = (*CHECKED_AT_ONCE, "after", "delays")
"""Options that may differ from flow to flow, and are checked for all at once."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FlowOptions(Options):
    """Further options of the flows of `flows_from`, `all_to_all`, `incast`, `permutation` and connection matrices.

    A parameter is one value for all flows, or a list or an array with one per flow. Those without a description here
    are of `Flow`, which has their units and defaults. Each value is checked here; whether it fits to the source, the
    path and the number of flows is checked when the flows are made.

    Parameters
    ----------
    names
        F names; otherwise a flow is called ``"source->target"``, with its number before it where this is not unique.
    max_window, host, priority, delayed_acks, pacing, idle, random_idle, stop, handshake, arrivals, weight
        As for `Flow`.
    after
        Indices of the flows for which a flow waits, -1: none, shape (F,) or (F, K); or for each flow names or indices
        as in `Flow`, one or a tuple of them. Collectives and files have their own.
    delays
        Times from the completion of these flows to the start, an array of the same shape.
    initial_window, ssthresh, quick_acks, ttl, segments, receiver
        As for `Flow`.
    entropy
        F whole numbers that ``"ecmp"``, ``"spray"`` and tables of next hops hash with the node, and nothing else. Flows
        between the same nodes with equal entropy take the same path, as flows of one connection do. ``"pair"``: all
        flows between two nodes are one connection.

    Examples
    --------
    >>> from dfcmodel import FlowOptions
    >>> FlowOptions(host="nic", priority=[0, 1])
    FlowOptions(host='nic', priority=[0, 1])
    """

    names: Any = ELSEWHERE
    max_window: Any = ELSEWHERE
    host: Any = ELSEWHERE
    priority: Any = ELSEWHERE
    delayed_acks: Any = ELSEWHERE
    pacing: Any = ELSEWHERE
    idle: Any = ELSEWHERE
    random_idle: Any = ELSEWHERE
    stop: Any = ELSEWHERE
    handshake: Any = ELSEWHERE
    arrivals: Any = ELSEWHERE
    weight: Any = ELSEWHERE
    after: Any = ELSEWHERE
    delays: Any = ELSEWHERE
    initial_window: Any = ELSEWHERE
    ssthresh: Any = ELSEWHERE
    quick_acks: Any = ELSEWHERE
    ttl: Any = ELSEWHERE
    segments: Any = ELSEWHERE
    entropy: Any = ELSEWHERE
    receiver: Any = ELSEWHERE

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not ELSEWHERE and name in OF_FLOWS:
                _check_values(name, as_sequence(value))


OF_FLOWS = frozenset(field.name for field in fields(FlowOptions))
"""Options of flows, which classes of operations have beside their own."""


def _check_values(name: str, value: Any) -> None:
    """Raise TypeError or ValueError for values of a field of `FlowOptions` that no flow can have.

    All ranges of numbers are intervals: of an array the extremes are checked, and the first number that is not whole.
    """
    if name == "names":
        if value is not None:
            instances("names", value, str)
    elif name == "entropy":
        if isinstance(value, str):
            choice("entropy", value, (PAIR,))
        else:
            _entropy(value)
    elif name == "after":
        rows = _as_rows(value, "iu")
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu":
            if rows.size and rows.min() < -1:
                f = int(np.argmax((rows < -1).reshape(len(rows), -1).any(axis=1)))
                msg = "must be places of flows, or -1: none"
                raise ValueError(f"after[{f}] = {format_value(rows[f].tolist())}: {msg}")
        else:
            for label, row in _label_values(name, rows):
                check_after(label, row)
    elif name == "delays":
        rows = _as_rows(value, "iuf")
        for label, row in [] if isinstance(rows, np.ndarray) else _label_values(name, rows):
            check_delays(label, row)
    else:
        units = quantities_of(Flow)
        converted = as_sequence(in_units(name, value, units[name]) if name in units else value)
        if isinstance(converted, np.ndarray) and converted.ndim and converted.dtype.kind in "iufb" and converted.size:
            chosen = {
                int(converted.argmin()),
                int(converted.argmax()),
                int(np.argmax(np.floor(converted) != converted)),
            }
            for n in sorted(chosen):
                check_option(name, f"{name}[{n}]", converted.item(n))
        else:
            for label, entry in _label_values(name, converted):
                check_option(name, label, entry)


def _label_values(name: str, values: Any) -> Iterable[tuple[str, Any]]:
    """Yield the distinct values of an option, each with its label in messages: ``name``, or ``name[flow]``."""
    if not isinstance(values, (list, tuple, np.ndarray, Column)):
        yield name, values
        return
    column = column_for(name, values, len(values))
    first = [0] if column.which is None else distinct(column.which, len(column.values))[1].tolist()
    for n in first if len(values) else ():
        yield f"{name}[{n}]", column[n]


def options_of(options: FlowOptions | None, kind: type[FlowOptions] = FlowOptions) -> dict[str, Any]:
    """Return the fields that ``options`` states, by name; TypeError for a field that ``kind`` does not have."""
    stated = {} if options is None else instance("options", options, FlowOptions, f"{kind.__name__}(...)").changed
    allowed = [field.name for field in fields(kind)]
    for name, value in stated.items():
        if name not in allowed:
            raise TypeError(f"{name} = {format_value(value)}: has no effect here, must be one of {kind.__name__}(...)")
    return stated


@takes_options(FlowOptions)
@declares(sizes="amount", starts="time")
def flows_from(
    sources: Iterable[Hashable],
    targets: Iterable[Hashable],
    sizes: Any = math.inf,
    starts: Any = 0.0,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return a table of flows between pairs of nodes, without an object per flow.

    Results are equal to the results of a tuple of `Flow`; many flows need less time and memory (`python -m benchmarks
    fabrics`).

    Parameters
    ----------
    sources, targets
        The first node and the last node of each flow, F of each.
    sizes, starts
        Packets to transfer and times of the first packets in s, one for all or F of them. Sizes in bytes are converted
        to packets of `Links.packet_size` bytes, otherwise of 1500 bytes, until a `Scenario` converts them to its
        packets.
    source
        The source of all flows, or F of them.
    links
        The links of the network.
    routes
        How paths are chosen among the shortest ones, those of the fewest links, whatever their rates. ``"ecmp"``: at
        each node by a hash of the node, the source and the target of the flow, its number among the flows between these
        two, and the ``seed`` of the `Fabric`. Warnings name flows whose source has links of different rates among
        them, and flows over hosts.
        ``"even"``: at each node flows to the same destination (for hosts with one link: to the same switch) take the
        links of shortest paths in turn, in the order of the flows. Flows to the next destination continue with the next
        link, and each node begins one link later than the previous node. ``"first"``: by the first such link at each
        node. ``"spray"``: each packet takes one of all shortest paths with the same first and last link (``paths`` of
        `Flow`), ACKs the path of ``"ecmp"``. A warning names flows with further shortest paths over other first or last
        links. Or the paths, F tuples of nodes. Or tables of next hops, a mapping from nodes to mappings from
        destinations to lists of next nodes: at each node a flow takes one of them by a hash, as with ``"ecmp"``. In
        place of a list, a mapping from next nodes to whole numbers has their weights (WCMP). A node
        without an entry for a destination sends over its link to it, or over its only link. With ``ttl`` explicit paths
        may return to a node, and next hops may lead back to one: the packets of such a flow go round until they are
        dropped.
    options
        Further options of the flows, such as windows, priorities and names, see `FlowOptions`.

    Raises
    ------
    ValueError
        Naming the flow and the parameter, as `Flow` does, or a pair of nodes without a path; for two interfaces of one
        server of a `rail_optimized` fabric, between which no path of the fabric is taken.

    Examples
    --------
    >>> from dfcmodel import CBR, PFC, Packets, Scenario, flows_from, from_networkx, simulate
    >>> from dfcmodel.lossless import leaf_spine, with_hosts
    >>> fabric = with_hosts(leaf_spine(4, 2, hosts=4))
    >>> links = from_networkx(fabric, rate=3e6, delay=1e-6, buffer=1000, discipline=PFC(xoff=20, xon=10))
    >>> pairs = [(("host", n), ("host", n + 8)) for n in range(8)]
    >>> flows = flows_from(*zip(*pairs), sizes=100, source=CBR(3e6), links=links, routes="even")
    >>> flows[0].path
    (('host', 0), ('leaf', 0), ('spine', 0), ('leaf', 2), ('host', 8))
    >>> run = simulate(Scenario("pairs", links, flows, duration=1e-3), Packets(seed=1))
    >>> bool((run.finished > 0).all())
    True
    """
    return build_flows(
        sources, targets, sizes, starts, source=source, links=links, routes=routes, **options_of(options)
    )


def build_flows(
    sources: Iterable[Hashable],
    targets: Iterable[Hashable],
    sizes: Any,
    starts: Any,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing,
    **options: Any,
) -> Flows:
    """Return the table of `flows_from`, from fields of `FlowOptions` as keywords; ValueError for other keywords."""
    endpoints = _as_nodes("sources", sources), _as_nodes("targets", targets)
    if len(endpoints[0]) != len(endpoints[1]) or not len(endpoints[0]):
        counts = f"{count_of(len(endpoints[0]), 'source')} and {len(endpoints[1])} targets"
        raise ValueError(f"targets: {counts}, must be as many, at least one")
    count = len(endpoints[0])
    names: Any = options.pop("names", None)
    if names is not None:
        names = instances("names", names, str)
        check_count("names", names, count)
    entropy = options.pop("entropy", None)
    if entropy is not None and not isinstance(entropy, str):
        entropy = _entropy(entropy)
        check_count("entropy", entropy, count)
    elif entropy is not None:
        choice("entropy", entropy, (PAIR,))
    hashes = routes not in UNHASHED if isinstance(routes, str) else isinstance(routes, Mapping)
    if isinstance(entropy, np.ndarray) and not hashes:
        subject = f"routes = {routes!r}" if isinstance(routes, str) else "given paths"
        raise ValueError(f"entropy: must not be numbers with {subject}, for which nothing is hashed")
    values: dict[str, Any] = {"size": sizes, "start": starts, "source": source, **options}
    values = {name: as_sequence(value) for name, value in values.items()}
    if "after" in values:
        values["after"] = _as_rows(values["after"], "iu")
        if "delays" in values and isinstance(values["after"], np.ndarray):
            values["delays"] = _as_rows(values["delays"], "iuf")
    links = _link_table(links)
    packet_size = links.packet_size or PACKET_SIZE
    allowed = tuple(option.name for option in OPTIONS)
    columns = {
        choice("option", name, allowed): _after_column(name, value, count)
        if name == "after"
        else column_for(name, _convert_units(name, value, packet_size), count)
        for name, value in values.items()
    }
    if isinstance(delays := values.get("delays"), np.ndarray) and delays.dtype.kind in "iuf":
        columns["delays"] = _delay_column(delays, values.get("after"), count)
    choices: Choices | None = None
    nodes: Sequence[Hashable]
    if isinstance(routes, str):
        choice("routes", routes, CHOICES)
        source_index, target_index = _check_endpoints(links, *endpoints)
        number, keys = _hash_keys(links, source_index, target_index, entropy)
        nodes = links.nodes
        choices = Choices(links, routes, number)
        paths = _shortest_paths(choices, endpoints, (source_index, target_index), keys)
        _warn_of_forwarding_hosts(choices, paths)
        if routes == SPRAY:
            columns["paths"] = _other_shortest_paths(links, nodes, paths)
        else:
            _warn_of_first_links(choices, (source_index, target_index), of_connections=isinstance(entropy, str))
    else:
        if isinstance(routes, Mapping):
            may_loop = [ttl is not None for ttl in columns.get("ttl", [None] * count)]
            source_index, target_index = (_node_indices(links, nodes) for nodes in endpoints)
            number, keys = _hash_keys(links, source_index, target_index, entropy)
            hops = NextHops(links, routes)
            routes = hops.paths(*endpoints, keys, may_loop)
            if not any(may_loop):
                choices = Choices(links, hops, number)
            elif any(len(set(path)) < len(path) for path in routes):
                names = names or _default_names(*endpoints)
                endpoints = endpoints[0], [path[-1] for path in routes]  # a loop ends at the node that closes it
        nodes, paths = _explicit_paths(routes, *endpoints, links)
    flows = Flows(nodes, paths, columns, names, choices)
    _check_flows(flows, tests_loops=not isinstance(routes, str))
    return _unroll_loops(flows)


@takes_options(FlowOptions)
@declares(sizes="amount", starts="time")
def all_to_all(
    hosts: Iterable[Hashable],
    *,
    sizes: Any = math.inf,
    starts: Any = 0.0,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return a flow from each host to each other host, ordered by source, then by target.

    Parameters
    ----------
    hosts
        At least two nodes.
    sizes, starts, source, links, routes, options
        As for `flows_from`. Of a matrix of sizes, sources by rows, ``matrix[~np.eye(N, dtype=bool)]`` has those of the
        flows in their order.

    Examples
    --------
    >>> from dfcmodel import CBR, all_to_all, from_networkx
    >>> from dfcmodel.lossless import leaf_spine, with_hosts
    >>> links = from_networkx(with_hosts(leaf_spine(2, 2, hosts=8)), rate=3e6, delay=1e-6, buffer=100)
    >>> all_to_all([("host", n) for n in range(16)], sizes=1, source=CBR(3e6), links=links)
    Flows(240 flows between 20 nodes: CBR)
    """
    common = {"source": source, "links": links, "routes": routes, **options_of(options)}
    nodes, arguments = collective_hosts(hosts, common)
    count = len(nodes)
    if len(shape := dimensions(sizes) or ()) > 1:
        rows = (
            f"must be one, or one for each of {count * (count - 1)} flows: write matrix[~np.eye({count}, dtype=bool)]"
        )
        raise ValueError(f"sizes: an array of shape {shape}, {rows}")
    first = np.repeat(np.arange(count), count - 1)
    last = np.tile(np.arange(count - 1), count)
    last += last >= first  # skip the pair of a host with itself
    sources, targets = (Column(nodes, indices, len(indices)) for indices in (first, last))
    return build_flows(sources, targets, sizes, starts, **arguments)


@takes_options(FlowOptions)
@declares(sizes="amount", starts="time")
def incast(
    senders: Iterable[Hashable],
    receiver: Hashable,
    *,
    sizes: Any = math.inf,
    starts: Any = 0.0,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return a flow from each sender to one receiver, which is left out if it is among the senders.

    Parameters
    ----------
    senders, receiver
        Nodes; a receiver among the senders is not a sender.
    sizes, starts, source, links, routes, options
        As for `flows_from`.

    Examples
    --------
    >>> from dfcmodel import from_networkx, incast
    >>> from dfcmodel.lossless import leaf_spine, with_hosts
    >>> from responsefn import DCQCN
    >>> links = from_networkx(with_hosts(leaf_spine(2, 2, hosts=8)), rate=3e6, delay=1e-6, buffer=100)
    >>> hosts = [("host", n) for n in range(16)]
    >>> len(incast(hosts, hosts[0], sizes=500, source=DCQCN(), links=links))
    15
    """
    common = {"source": source, "links": links, "routes": routes, **options_of(options)}
    nodes, arguments = _check_nodes("senders", nodes_of("senders", senders), common)
    receiver = unwrap_scalar(receiver)
    _check_nodes("receiver", [receiver], arguments)
    sources = [node for node in nodes if node != receiver]
    if not sources:
        raise ValueError(f"senders = {format_value(nodes)}: must have a node beside the receiver")
    return build_flows(sources, [receiver] * len(sources), sizes, starts, **arguments)


@accept_old_names(rng="seed")
@takes_options(FlowOptions)
@declares(sizes="amount", starts="time")
def permutation(
    hosts: Iterable[Hashable],
    seed: int | np.random.Generator | None = 0,
    *,
    sizes: Any = math.inf,
    starts: Any = 0.0,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    options: FlowOptions | None = None,
) -> Flows:
    """Return flows of a random permutation of hosts: each host sends and receives at most one flow, none to itself.

    Parameters
    ----------
    hosts
        At least two nodes.
    seed
        Seed or generator of the permutation. A host that it maps to itself (in the mean one of all hosts), or to
        another interface of its server in a `rail_optimized` fabric, has no flow.
    sizes, starts, source, links, routes, options
        As for `flows_from`.

    Examples
    --------
    >>> from dfcmodel import CBR, from_networkx, permutation
    >>> from dfcmodel.lossless import leaf_spine, with_hosts
    >>> links = from_networkx(with_hosts(leaf_spine(2, 2, hosts=8)), rate=3e6, delay=1e-6, buffer=100)
    >>> hosts = [("host", n) for n in range(16)]
    >>> flows = permutation(hosts, seed=1, sizes=500, source=CBR(3e6), links=links)
    >>> len({flow.path[-1] for flow in flows}) == len(flows)
    True
    """
    common = {"source": source, "links": links, "routes": routes, **options_of(options)}
    nodes, arguments = collective_hosts(hosts, common)
    order = random_generator("seed", seed).permutation(len(nodes)).tolist()
    if all(a == b for a, b in enumerate(order)):
        order = order[1:] + order[:1]
    servers = getattr(arguments.get("links"), "servers", {})
    server_of = [servers.get(node, node) for node in nodes]
    pairs = [(nodes[a], nodes[b]) for a, b in enumerate(order) if a != b and server_of[a] != server_of[b]]
    if not pairs:
        raise ValueError(f"hosts = {format_value(nodes)}: must be of at least two servers")
    sources, targets = zip(*pairs, strict=True)
    return build_flows(sources, targets, sizes, starts, **arguments)


def collective_hosts(hosts: Iterable[Hashable], arguments: dict[str, Any]) -> tuple[list[Hashable], dict[str, Any]]:
    """Return hosts as a list, at least two distinct nodes, and a copy of ``arguments`` with `Links` as ``links``.

    Ranks are indices of hosts, so that no host may occur twice.
    """
    nodes = nodes_of("hosts", hosts)
    first = {node: n for n, node in reversed([*enumerate(nodes)])}
    if len(first) < len(nodes):
        n = next(n for n, node in enumerate(nodes) if first[node] < n)
        msg = f"is hosts[{first[nodes[n]]}], each must be another node"
        raise ValueError(f"hosts[{n}] = {format_value(nodes[n])}: {msg}")
    if len(nodes) < 2:
        raise ValueError(f"hosts = {format_value(nodes)}: must be at least two nodes")
    return _check_nodes("hosts", nodes, arguments)


def _check_nodes(name: str, nodes: list[Any], arguments: dict[str, Any]) -> tuple[list[Hashable], dict[str, Any]]:
    """Return nodes, and a copy of arguments with `Links`; ValueError, about ``name``, for a node without links."""
    links = _link_table(arguments["links"])
    link_nodes = set(links.nodes)
    for n, node in enumerate(nodes):
        if not isinstance(node, Hashable) or node not in link_nodes:
            at = "" if name == "receiver" else f"[{n}]"
            raise ValueError(f"{name}{at} = {format_value(node)}: must be a node of the links")
    return nodes, {**arguments, "links": links}


def _link_table(links: Any) -> Links:
    """Return links as `Links`; ValueError for an empty sequence."""
    table = links if isinstance(links, Links) else Links.of(instances("links", links, Link))
    if not len(table):
        raise ValueError("links = (): at least one link is needed")
    return table


def _as_nodes(name: str, nodes: Any) -> Sequence[Hashable]:
    """Return nodes as a list; a `Column` is returned unchanged."""
    return nodes if isinstance(nodes, Column) else nodes_of(name, nodes)


def _convert_units(name: str, value: Any, packet_size: float) -> Any:
    """Return the option ``name`` with strings converted to s and packets; sizes are rounded up to whole packets."""
    units = quantities_of(Flow)
    converted = in_units(name, value, units[name], packet_size) if name in units else value
    if name != "size":
        return converted
    if isinstance(converted, PacketUnits):
        return whole_packets(converted)
    if type(converted) in (list, tuple):
        return [whole_packets(n) if isinstance(n, PacketUnits) else n for n in converted]
    return converted


def _entropy(value: Any) -> NDArray[np.int64] | None:
    """Return the explicit numbers that ECMP hashes, (F,); None for None; an error outside 0..2^39 - 1."""
    if value is None:
        return None
    entropy = np.asarray(value)
    are_whole = entropy.dtype.kind in "iu" or all(type(number) is int for number in entropy.ravel())  # beyond 64 bits
    if not are_whole or entropy.ndim != 1:
        raise TypeError(f"entropy = {format_value(value)}: must be a list of whole numbers, one per flow")
    if (entropy < 0).any() or (entropy >= 2**39).any():
        n = int(np.argmax((entropy < 0) | (entropy >= 2**39)))
        raise ValueError(f"entropy[{n}] = {entropy[n]}: must be a whole number in 0..2^39 - 1")
    return entropy.astype(np.int64)


def _as_rows(value: Any, kinds: str) -> Any:
    """Return a sequence of numbers of NumPy's ``kinds``, or of lists of equal length, as an array; others unchanged."""
    if type(value) in (list, tuple) and all(isinstance(entry, (numbers.Real, list)) for entry in value):
        with contextlib.suppress(ValueError):  # lists of different lengths
            array = np.asarray(value)
            return array if array.size and array.dtype.kind in kinds else value
    return value


def _after_column(name: str, value: Any, count: int) -> Column:
    """Return each flow's predecessors as a column, from indices (-1: none) or from references as in `Flow`."""
    indices = np.asarray(value) if isinstance(value, np.ndarray) else None
    if indices is None or indices.dtype.kind not in "iu":
        return column_for(name, value, count).map(as_references)
    check_count(name, indices, count)
    indices = indices.reshape(count, -1).astype(np.int64)
    if (indices < -1).any() or (indices >= count).any():
        f = int(np.argmax(((indices < -1) | (indices >= count)).any(axis=1)))
        msg = f"must be places of flows, 0 to {count - 1}, or -1: none"
        raise ValueError(f"after[{f}] = {format_value(indices[f].tolist())}: {msg}")
    is_flow = indices >= 0
    return Column(Routes(indices[is_flow], is_flow.sum(axis=1)), np.arange(count), count)


def _delay_column(delays: NDArray[Any], after: Any, count: int) -> Column:
    """Return each flow's delays after its predecessors as a column, from an array of the shape of ``after``."""
    if not isinstance(after, np.ndarray) or after.shape != delays.shape:
        shape = getattr(after, "shape", None)
        raise ValueError(f"delays: an array of shape {delays.shape}, must have that of after, {shape}")
    rows, masks = delays.reshape(count, -1).tolist(), (after >= 0).reshape(count, -1).tolist()
    by_flow = [tuple(itertools.compress(row, mask)) for row, mask in zip(rows, masks, strict=True)]
    return Column(tuple(by_flow), np.arange(count), count)


def _node_indices(links: Links, nodes: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return the index of each node in ``links.nodes``, shape (F,); -1 where no link has it."""
    return np.asarray(column_of(nodes).map(lambda node: links.place_of.get(node, -1)).array())


def _check_endpoints(
    links: Links, sources: Sequence[Hashable], targets: Sequence[Hashable]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return node indices of sources and targets, (F,) each; ValueError if unknown, equal, or of one server."""
    indices = _node_indices(links, sources), _node_indices(links, targets)
    for name, nodes, index in zip(("sources", "targets"), (sources, targets), indices, strict=True):
        if (index < 0).any():
            n = int(np.argmax(index < 0))
            raise ValueError(f"{name}[{n}] = {nodes[n]!r}: must be a node of the links")
    same = np.flatnonzero(indices[0] == indices[1])
    if len(same):
        n = int(same[0])
        raise ValueError(f"targets[{n}] = {targets[n]!r}: must differ from its source")
    within = np.flatnonzero(in_one_server(links, *indices))
    if len(within):
        n = int(within[0])
        rails = max(Counter(links.servers.values()).values())
        raise ValueError(
            f"targets[{n}] = {targets[n]!r}: is in the server of {sources[n]!r}, in which traffic does not take the "
            f"fabric: reduce within the servers, and write one collective per rail, of fabric.hosts[k::{rails}] for k "
            f"in range({rails}), added with +"
        )
    return indices


def in_one_server(links: Links, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return flags, (F,), of pairs of nodes, by index in ``links.nodes``, that are interfaces of one server."""
    if not links.servers:
        return np.zeros(len(source), dtype=np.bool_)
    server = np.array([links.servers.get(node, -1) for node in links.nodes])
    return np.asarray((server[source] == server[target]) & (server[source] >= 0))


def _hash_keys(
    links: Links,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    entropy: NDArray[np.int64] | str | None,
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """Return each flow's index among its pair's flows, None with explicit entropy, and its key for ECMP, (F,) each."""
    if isinstance(entropy, np.ndarray):
        return None, entropy
    number = np.zeros_like(source) if entropy == PAIR else numbers_between(source, target)
    return number, flow_keys(source, target, number, links.seed)


def _shortest_paths(
    choices: Choices,
    endpoints: tuple[Sequence[Hashable], Sequence[Hashable]],
    indices: tuple[NDArray[np.int64], NDArray[np.int64]],
    keys: NDArray[np.int64],
) -> Routes:
    """Return a shortest path per pair of nodes, by ``keys`` among equals; ValueError for a pair without one."""
    try:
        return choices.paths(*indices, keys)
    except LookupError as error:
        n = error.args[0]
        msg = f"there is no path from {endpoints[0][n]!r} over the links"
        raise ValueError(f"targets[{n}] = {endpoints[1][n]!r}: {msg}") from None


def _other_shortest_paths(links: Sequence[Link], nodes: Sequence[Hashable], paths: Routes) -> Column:
    """Return each flow's other shortest paths with equal first and last links; warn of excluded paths.

    Warns of flows with shortest paths over other first or last links, which their packets do not take.
    """
    last = paths.places[paths.begin + paths.counts - 1]
    all_paths = ShortestRoutes(links).all_paths(paths.first.astype(np.int64), last.astype(np.int64))
    further, partial = [], list[int]()
    for f, of_flow in enumerate(all_paths):
        chosen = paths[f]
        end_links = chosen[:2], chosen[-2:]
        among = [path for path in of_flow if (path[:2], path[-2:]) == end_links]
        further.append(tuple(tuple(nodes[n] for n in path) for path in among if path != chosen))
        if len(among) < len(of_flow):
            partial.append(f)
    if partial:
        f = partial[0]
        a, b = (nodes[n] for n in (paths[f][0], paths[f][-1]))
        several = f"{len(further[f]) + 1} of its {len(all_paths[f])} shortest paths"
        message = (
            f"routes = {SPRAY!r}: packets of a flow leave over one link of its source and arrive over one link of its "
            f"target: {a!r} to {b!r} takes {several}; so do {len(partial)} of {count_of(len(all_paths), 'flow')}"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    return encode(further)


def _warn_of_forwarding_hosts(choices: Choices, paths: Routes) -> None:
    """Warn of shortest paths over hosts: nodes at which flows begin or end, and all of whose links lead to switches.

    Servers of two networks forward no traffic between them. In a network without switches, such as a torus of hosts,
    and at routers that are linked to each other, all nodes may forward.
    """
    links, places = choices.links, paths.places
    ends = paths.begin, paths.begin + paths.counts - 1
    is_end, has_end_beside = (np.zeros(len(links.nodes), dtype=np.bool_) for _ in range(2))
    is_inner = np.ones(len(places), dtype=np.bool_)
    for at in ends:
        is_end[places[at]], is_inner[at] = True, False
    has_end_beside[links.source[is_end[links.target]]] = has_end_beside[links.target[is_end[links.source]]] = True
    crossed = np.flatnonzero(is_inner & (is_end & ~has_end_beside)[places])
    if not len(crossed):
        return
    flows = np.unique(np.searchsorted(paths.begin, crossed, side="right") - 1)
    a, b, host = (links.nodes[places[n]] for n in (ends[0][flows[0]], ends[1][flows[0]], crossed[0]))
    message = (
        f"routes = {choices.routes!r}: {a!r} to {b!r} goes over {host!r}, at which flows begin or end; {len(flows)} of "
        f"{count_of(len(paths), 'flow')} go over such nodes: if these are hosts that forward nothing, give paths or "
        "tables of next hops, or leave these flows out"
    )
    warn_caller(UserWarning(message), "dfcmodel")


def _warn_of_first_links(
    choices: Choices, indices: tuple[NDArray[np.int64], NDArray[np.int64]], of_connections: bool
) -> None:
    """Warn of flows that may leave over links of different rates, and of connections that leave over one of several.

    Hosts do not choose among their interfaces as switches do: traffic within a server takes its fast links, and the
    planes of a network are used together. Only links to nodes at which no flow begins or ends count. A network without
    switches, such as a torus of hosts, has none.
    """
    links, (source, target) = choices.links, indices
    is_end = np.zeros(len(links.nodes), dtype=np.bool_)
    is_end[source] = is_end[target] = True
    tail, rate = links.source, links.rates
    to_switch = ~is_end[links.target]
    slowest, fastest = np.full(len(links.nodes), np.inf), np.zeros(len(links.nodes))
    np.minimum.at(slowest, tail[to_switch], rate[to_switch])
    np.maximum.at(fastest, tail[to_switch], rate[to_switch])
    several = np.bincount(tail[to_switch], minlength=len(links.nodes)) > 1
    among = np.flatnonzero((several & (of_connections | (slowest < fastest)))[source])
    if not len(among):
        return
    pairs, pair_of = np.unique(source[among] * len(links.nodes) + target[among], return_inverse=True)
    begins, ends = np.divmod(pairs, len(links.nodes))
    pair, link = ShortestRoutes(links).first_links(begins, ends)
    first = np.searchsorted(pair, np.arange(len(pairs)))
    counts = np.diff([*first, len(pair)])
    is_unequal = np.minimum.reduceat(rate[link], first) < np.maximum.reduceat(rate[link], first)
    is_named = is_unequal if is_unequal.any() else of_connections & (counts > 1)
    if not is_named.any():
        return
    k = int(np.argmax(is_named))
    a, b = (links.nodes[nodes[k]] for nodes in (begins, ends))
    others = f"so do {is_named[pair_of.reshape(-1)].sum()} of {count_of(len(source), 'flow')}"
    if is_unequal.any():
        of_pair = link[first[k] : first[k] + counts[k]]
        slow, fast = of_pair[np.argmin(rate[of_pair])], of_pair[np.argmax(rate[of_pair])]
        message = (
            f"shortest paths are those of the fewest links, whatever their rates: {a!r} to {b!r} leaves over "
            f"{links.nodes[links.target[fast]]!r}, or over {links.nodes[links.target[slow]]!r} at "
            f"{rate[slow] / rate[fast]:.2g} of its rate; {others}: give paths or tables of next hops, or a node to "
            "each interface of the slower links"
        )
    else:
        message = (
            f"a connection leaves over one link of its source: {a!r} to {b!r} takes 1 of {counts[k]}; {others}: for "
            "planes that are used together add tables of flows, one for each plane, with the links of this plane alone"
        )
    warn_caller(UserWarning(f"routes = {choices.routes!r}: {message}"), "dfcmodel")


def _explicit_paths(
    routes: Any, sources: Sequence[Hashable], targets: Sequence[Hashable], links: Links
) -> tuple[Sequence[Hashable], Routes]:
    """Return the nodes of the network, and explicit paths as indices of these nodes."""
    if not isinstance(routes, Iterable):
        raise TypeError(f"routes = {format_value(routes)}: must be one of {CHOICES}, paths, or tables of next hops")
    paths = [path if type(path) is tuple else tuple(nodes_of(f"routes[{n}]", path)) for n, path in enumerate(routes)]
    check_count("routes", paths, len(sources))
    counts = np.fromiter(map(len, paths), np.int64, len(paths))
    visited = [*itertools.chain.from_iterable(paths)]
    try:
        try:
            nodes, index_of = links.nodes, links.place_of
            indices = np.fromiter(map(index_of.__getitem__, visited), np.int64, len(visited))
        except KeyError:  # `Scenario` reports a path that is not over the links
            column = encode(visited)
            nodes, indices = tuple(column.values), column.whole()
    except TypeError:
        for n, path in enumerate(paths):
            nodes_of(f"routes[{n}]", path)
        raise
    if not (
        (counts > 1).all() and [path[0] for path in paths] == [*sources] and [path[-1] for path in paths] == [*targets]
    ):
        for n, (path, a, b) in enumerate(zip(paths, sources, targets, strict=True)):
            if len(path) < 2 or path[0] != a or path[-1] != b:
                raise ValueError(f"routes[{n}] = {format_value(path)}: must begin with {a!r} and end with {b!r}")
    return nodes, Routes(indices, counts)


def _default_names(sources: Sequence[Hashable], targets: Sequence[Hashable]) -> list[str]:
    """Return the names ``source->target`` of the flows, with their numbers in front unless all are unique."""
    names = [f"{a}->{b}" for a, b in zip(sources, targets, strict=True)]
    return names if len(set(names)) == len(names) else [f"{f}: {name}" for f, name in enumerate(names)]


def _unroll_loops(flows: Flows) -> Flows:
    """Return the flows with looping paths extended to the time to live, as in `Flow`."""
    limited = flows.given("ttl")
    if not limited.any():
        return flows
    paths: list[tuple[int, ...]] = list(flows.paths)
    for f in np.flatnonzero(limited).tolist():
        paths[f] = unroll_loop(paths[f], int(flows.columns["ttl"][f]))
    names = tuple(flows.names) if flows.are_named else None
    return Flows(flows.nodes, Routes.of(paths), flows.columns, names)


def _check_flows(flows: Flows, tests_loops: bool) -> None:
    """Raise TypeError or ValueError for the first flow that `Flow` would refuse; loops only if ``tests_loops``.

    Numbers that differ between flows are checked for all flows at once, and other options once for each combination of
    values. With ``tests_loops`` paths that return to a node are checked for a time to live.
    """
    is_valid = np.ones(len(flows), dtype=np.bool_)
    size, start, stop = (flows.numbers_or_nan(name) for name in ("size", "start", "stop"))
    if any(flows.columns[name].which is not None for name in CHECKED_AT_ONCE):
        window, rank = (flows.numbers_or_nan(name) for name in ("max_window", "priority"))
        is_valid &= (size >= 1.0) & ((size == np.floor(size)) | (size == np.inf))
        is_valid &= (start >= 0.0) & (start < np.inf) & (stop > start)
        is_valid &= (window >= 1.0) & (window <= LARGEST_WINDOW)
        is_valid &= (np.abs(rank) <= 1e6) & (rank == np.floor(rank))
    if tests_loops:
        flow, span = flows.paths.flow, len(flows) * len(flows.nodes)
        visits = flow * len(flows.nodes) + flows.paths.places
        if len(present(visits, span)) < len(visits):
            is_repeated = np.ones(len(visits), dtype=np.bool_)
            is_repeated[distinct(visits, span)[1]] = False
            is_valid[np.setdiff1d(flow[is_repeated], np.flatnonzero(flows.given("ttl")))] = False
    if any(flows.columns["delays"].values):
        delays_of = zip(flows.columns["delays"], map(len, flows.columns["after"]), strict=True)
        is_valid &= [
            not times or (len(times) == n and 0.0 <= min(times) <= max(times) < np.inf) for times, n in delays_of
        ]
    others = [option.name for option in OPTIONS if option.name not in NUMBERS]
    kinds, _ = flows.alike(*others, np.isfinite(size), np.isfinite(stop), flows.waits)
    for f in sorted({*np.flatnonzero(~is_valid)[:1].tolist(), *kinds.tolist()}):
        options = {name: column[f] for name, column in flows.columns.items()}
        try:
            Flow("", flows.path(f), **options)
        except (TypeError, ValueError):
            Flow(flows.name(f), flows.path(f), **options)

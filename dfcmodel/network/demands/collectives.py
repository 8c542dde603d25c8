"""Tables of many flows: between given ends, all to all, many to one, and permutations."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Required, TypeAlias, TypedDict, Unpack

import numpy as np

from dfcmodel.network.columns import (
    Column,
    Routes,
    check_count,
    column_for,
    column_of,
    distinct,
    encoded,
    nodes_of,
    present,
)
from dfcmodel.network.flow_tables import OPTIONS, Choices, Flows
from dfcmodel.network.flows import LARGEST_WINDOW, Flow, around_loop
from dfcmodel.network.links import Link, Links
from dfcmodel.network.next_hops import NextHops
from dfcmodel.network.shortest_routes import (
    CHOICES,
    SPRAY,
    ShortestRoutes,
    flow_keys,
    numbers_between,
)
from hopflow.callers import warn_caller
from hopflow.checks import choice, count_of, format_value, instances, random_generator, unwrap_scalar
from hopflow.deprecations import accept_old_names
from hopflow.keywords import takes_keywords
from hopflow.units import PACKET_SIZE, PacketUnits, declares, in_units, quantities_of, whole_packets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.endpoints.sources import Source

__all__ = [
    "PAIR",
    "all_to_all",
    "collective_hosts",
    "flows_from",
    "in_one_server",
    "incast",
    "permutation",
]

Routing: TypeAlias = str | Iterable[Sequence[Hashable]] | Mapping[Any, Mapping[Any, Sequence[Hashable]]]
"""How paths are chosen: a name, the paths, or tables of next hops."""

CHECKED_AT_ONCE = ("max_window", "start", "size", "priority", "stop")
UNHASHED = ("even", "first")
"""Choices of routes that do not hash the entropy of flows."""
PAIR = "pair"
"""As ``entropy``: all flows between two nodes are one connection."""
NUMBERS = (*CHECKED_AT_ONCE, "after", "delays")
"""Options that may differ from flow to flow, and are checked for all at once."""


class CommonOptions(TypedDict, total=False):
    """Further options of `Flow`: one value for all flows, or a list or an array of one for each."""

    names: Any
    max_window: Any
    host: Any
    priority: Any
    delayed_acks: Any
    pacing: Any
    idle: Any
    random_idle: Any
    stop: Any
    handshake: Any
    arrivals: Any
    weight: Any
    after: Any
    delays: Any
    initial_window: Any
    ssthresh: Any
    quick_acks: Any
    ttl: Any
    segments: Any
    entropy: Any


class FlowOptions(CommonOptions, total=False):
    """Those of flows whose receivers may be agents."""

    receiver: Any


class FlowsOfSizes(FlowOptions, total=False):
    """Parameters of `flows_from` beside the ends of the flows, their sizes and their starts."""

    source: Required[Source | Sequence[Source]]
    links: Required[Iterable[Link]]
    routes: Routing


class FlowsToOne(CommonOptions, total=False):
    """Parameters of `flows_from` beside the ends of the flows, which have one receiver."""

    sizes: Any
    starts: Any
    source: Required[Source | Sequence[Source]]
    links: Required[Iterable[Link]]
    routes: Routing


class FlowsGiven(FlowsToOne, total=False):
    """Parameters of `flows_from` beside the ends of the flows."""

    receiver: Any


@declares(sizes="amount", starts="time")
@takes_keywords(FlowOptions)
def flows_from(
    sources: Iterable[Hashable],
    targets: Iterable[Hashable],
    sizes: Any = math.inf,
    starts: Any = 0.0,
    *,
    source: Source | Sequence[Source],
    links: Iterable[Link],
    routes: Routing = "ecmp",
    **options: Unpack[FlowOptions],
) -> Flows:
    """Return a table of flows between pairs of nodes, without an object per flow.

    Results are those of a tuple of `Flow`; making and running many flows costs less time and memory (`python -m
    benchmarks fabrics`).

    Parameters
    ----------
    sources, targets
        The first node and the last node of each flow, F of each.
    sizes, starts
        Packets to transfer and times of the first packets in s, one for all or F of them. Sizes in bytes are packets as
        those of ``links`` (`Links.packet_size`), otherwise of 1500 bytes, until a `Scenario` converts them to its own.
    source
        The source of all flows, or F of them.
    links
        The links of the network.
    routes
        How paths are chosen. ``"ecmp"``: one of the shortest paths, at each node by a hash of the node, the two ends of the flow,
        its number among the flows between these two, and the ``seed`` of the `Fabric`. ``"even"``: at each node flows to the same destination (of hosts with one link: to the same switch) take
        the links of shortest paths in turn, in the order of the flows; those to the next destination go on where
        they ended, and each node begins one link later than the one before. ``"first"``: by the first such link at each
        node. ``"spray"``: each packet takes one of all shortest paths with one first and last link (``paths`` of `Flow`), ACKs that of ``"ecmp"``. A warning names flows with
        further shortest paths, over other links of their ends.
        Or the paths, F tuples of nodes. Or tables of next hops, a mapping from nodes to mappings from destinations to lists of next
        nodes: at each node a flow takes one of them by a hash, as with ``"ecmp"``. A node without an entry for a destination sends
        over its link to it, or over its only link. With ``ttl`` given paths may return to a node, and next hops may lead back to one:
        the packets of such a flow go round until they are dropped.
    **options
        Further options of `Flow`, ``max_window``, ``priority``, ``host`` and so on: one value for all, or a list or an
        array of F values. ``after``: an array of the places of flows, -1: none, shape (F,) or (F, K); ``delays``: an array of
        the same shape. ``names``: F names; otherwise a flow is called ``"source->target"``, with its number before
        it where this is not unique.
        ``entropy``: F whole numbers that ``"ecmp"``, ``"spray"`` and tables of next hops hash with the node, and nothing else. Flows between the same nodes
        with equal ones take the same path, as those of one connection do. ``"pair"``: all flows between two nodes are one connection.

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
    ends = _ends("sources", sources), _ends("targets", targets)
    if len(ends[0]) != len(ends[1]) or not len(ends[0]):
        counts = f"{count_of(len(ends[0]), 'source')} and {len(ends[1])} targets"
        raise ValueError(f"targets: {counts}, must be as many, at least one")
    count = len(ends[0])
    names: Any = options.pop("names", None)
    if names is not None:
        names = instances("names", names, str)
        check_count("names", names, count)
    entropy = options.pop("entropy", None)
    if entropy is not None and not isinstance(entropy, str):
        entropy = _entropy(entropy, count)
    elif entropy is not None:
        choice("entropy", entropy, (PAIR,))
    hashes = routes not in UNHASHED if isinstance(routes, str) else isinstance(routes, Mapping)
    if isinstance(entropy, np.ndarray) and not hashes:
        how = f"routes = {routes!r}" if isinstance(routes, str) else "given paths"
        raise ValueError(f"entropy: must not be numbers with {how}, for which nothing is hashed")
    given: dict[str, Any] = {"size": sizes, "start": starts, "source": source, **options}
    links = _table_of(links)
    packet_size = links.packet_size or PACKET_SIZE
    allowed = tuple(each.name for each in OPTIONS)
    columns = {
        choice("option", name, allowed): _after(name, value, count)
        if name == "after"
        else column_for(name, _in_packets(name, value, packet_size), count)
        for name, value in given.items()
    }
    if isinstance(delays := given.get("delays"), np.ndarray) and delays.dtype.kind in "iuf":
        columns["delays"] = _delays(delays, given.get("after"), count)
    choices: Choices | None = None
    nodes: Sequence[Hashable]
    if isinstance(routes, str):
        choice("routes", routes, CHOICES)
        source_place, target_place = _check_ends(links, *ends)
        number, keys = _keys(links, source_place, target_place, entropy)
        nodes = links.nodes
        choices = Choices(links, routes, number)
        paths = _shortest(choices, ends, (source_place, target_place), keys)
        if routes == SPRAY:
            columns["paths"] = _further(links, nodes, paths)
    else:
        if isinstance(routes, Mapping):
            may_loop = [ttl is not None for ttl in columns.get("ttl", [None] * count)]
            number, keys = _keys(links, _places(links, ends[0]), _places(links, ends[1]), entropy)
            hops = NextHops(links, routes)
            routes = hops.paths(*ends, keys, may_loop)
            if not any(may_loop):
                choices = Choices(links, hops, number)
            elif any(len(set(path)) < len(path) for path in routes):
                names = names or _names_of(*ends)
                ends = ends[0], [path[-1] for path in routes]  # of loops where they close
        nodes, paths = _given(routes, *ends, links)
    flows = Flows(nodes, paths, columns, names, choices)
    _check(flows, may_return=not isinstance(routes, str))
    return _around_loops(flows)


@takes_keywords(FlowsGiven)
def all_to_all(hosts: Iterable[Hashable], **given: Unpack[FlowsGiven]) -> Flows:
    """Return a flow from each host to each other one, by their sources and then by their targets.

    Parameters
    ----------
    hosts
        At least two nodes.
    **given
        ``sizes``, ``starts``, ``source``, ``links``, ``routes`` and options, as of `flows_from`.

    Examples
    --------
    >>> from dfcmodel import CBR, all_to_all, from_networkx
    >>> from dfcmodel.lossless import leaf_spine, with_hosts
    >>> links = from_networkx(with_hosts(leaf_spine(2, 2, hosts=8)), rate=3e6, delay=1e-6, buffer=100)
    >>> all_to_all([("host", n) for n in range(16)], sizes=1, source=CBR(3e6), links=links)
    Flows(240 flows between 20 nodes: CBR)
    """
    ends, arguments = collective_hosts(hosts, {**given})
    count = len(ends)
    source = np.repeat(np.arange(count), count - 1)
    target = np.tile(np.arange(count - 1), count)
    target += target >= source  # but to itself
    pairs = (Column(ends, each, len(each)) for each in (source, target))
    return flows_from(*pairs, **arguments)


@takes_keywords(FlowsToOne)
def incast(senders: Iterable[Hashable], receiver: Hashable, **given: Unpack[FlowsToOne]) -> Flows:
    """Return a flow from each sender to one receiver.

    Parameters
    ----------
    senders, receiver
        Nodes; the receiver is left out where it is among the senders.
    **given
        ``sizes``, ``starts``, ``source``, ``links``, ``routes`` and options, as of `flows_from`.

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
    nodes, arguments = _among_links("senders", nodes_of("senders", senders), {**given})
    receiver = unwrap_scalar(receiver)
    _among_links("receiver", [receiver], arguments)
    ends = [node for node in nodes if node != receiver]
    if not ends:
        raise ValueError(f"senders = {format_value(nodes)}: must have a node beside the receiver")
    return flows_from(ends, [receiver] * len(ends), **arguments)


@accept_old_names(rng="seed")
@takes_keywords(FlowsGiven)
def permutation(
    hosts: Iterable[Hashable],
    seed: int | np.random.Generator | None = 0,
    **given: Unpack[FlowsGiven],
) -> Flows:
    """Return a flow from each host to another one, such that each receives at most one.

    Parameters
    ----------
    hosts
        At least two nodes.
    seed
        Seed or generator of the random permutation. A host that it maps to itself, or to another interface of its
        server in a `rail_optimized` fabric, has no flow.
    **given
        ``sizes``, ``starts``, ``source``, ``links``, ``routes`` and options, as of `flows_from`.

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
    ends, arguments = collective_hosts(hosts, {**given})
    order = random_generator("seed", seed).permutation(len(ends)).tolist()
    if all(a == b for a, b in enumerate(order)):
        order = order[1:] + order[:1]
    servers = getattr(arguments.get("links"), "servers", {})
    own = [servers.get(node, node) for node in ends]
    pairs = [(ends[a], ends[b]) for a, b in enumerate(order) if a != b and own[a] != own[b]]
    if not pairs:
        raise ValueError(f"hosts = {format_value(ends)}: must be of at least two servers")
    sources, targets = zip(*pairs, strict=True)
    return flows_from(sources, targets, **arguments)


def collective_hosts(hosts: Iterable[Hashable], given: dict[str, Any]) -> tuple[list[Hashable], dict[str, Any]]:
    """Return the hosts of a collective, of which there must be two, and the arguments with ``links`` as columns.

    Their places are ranks, so that none may occur twice.
    """
    ends = nodes_of("hosts", hosts)
    first = {node: n for n, node in reversed([*enumerate(ends)])}
    if len(first) < len(ends):
        n = next(n for n, node in enumerate(ends) if first[node] < n)
        raise ValueError(f"hosts[{n}] = {format_value(ends[n])}: is hosts[{first[ends[n]]}], each must be another node")
    if len(ends) < 2:
        raise ValueError(f"hosts = {format_value(ends)}: must be at least two nodes")
    return _among_links("hosts", ends, given)


def _among_links(name: str, nodes: list[Any], given: dict[str, Any]) -> tuple[list[Hashable], dict[str, Any]]:
    """Return some nodes and the arguments, after checking that these are nodes of the links."""
    if "links" not in given:
        return nodes, given  # `flows_from` says that it is missing
    links = _table_of(given["links"])
    known = set(links.nodes)
    for n, node in enumerate(nodes):
        if not isinstance(node, Hashable) or node not in known:
            at = "" if name == "receiver" else f"[{n}]"
            raise ValueError(f"{name}{at} = {format_value(node)}: must be a node of the links")
    return nodes, {**given, "links": links}


def _table_of(links: Any) -> Links:
    """Return links as columns, after checking them; ValueError without one."""
    found = links if isinstance(links, Links) else Links.of(instances("links", links, Link))
    if not len(found):
        raise ValueError("links = (): at least one link is needed")
    return found


def _ends(name: str, given: Any) -> Sequence[Hashable]:
    """Return nodes as a list, a column as it is."""
    return given if isinstance(given, Column) else nodes_of(name, given)


def _in_packets(name: str, given: Any, packet_size: float) -> Any:
    """Return an option with strings in s and packets of so many bytes, transfers in whole packets."""
    units = quantities_of(Flow)
    found = in_units(name, given, units[name], packet_size) if name in units else given
    if name != "size":
        return found
    if isinstance(found, PacketUnits):
        return whole_packets(found)
    if type(found) in (list, tuple):
        return [whole_packets(n) if isinstance(n, PacketUnits) else n for n in found]
    return found


def _entropy(given: Any, count: int) -> NDArray[np.int64] | None:
    """Return the numbers that ECMP hashes, after checking them."""
    if given is None:
        return None
    found = np.asarray(given)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise TypeError(f"entropy = {format_value(given)}: must be a list of whole numbers, one per flow")
    check_count("entropy", found, count)
    if (found < 0).any() or (found >= 2**39).any():
        n = int(np.argmax((found < 0) | (found >= 2**39)))
        raise ValueError(f"entropy[{n}] = {found[n]}: must be a whole number in 0..2^39 - 1")
    return found.astype(np.int64)


def _after(name: str, given: Any, count: int) -> Column:
    """Return the column of the flows for which each one waits, given as an array of their places, or as `Flow` has them."""
    places = np.asarray(given) if isinstance(given, np.ndarray) else None
    if places is None or places.dtype.kind not in "iu":
        return column_for(name, given, count)
    check_count(name, places, count)
    places = places.reshape(count, -1).astype(np.int64)
    if (places < -1).any() or (places >= count).any():
        f = int(np.argmax(((places < -1) | (places >= count)).any(axis=1)))
        msg = f"must be places of flows, 0 to {count - 1}, or -1: none"
        raise ValueError(f"after[{f}] = {format_value(places[f].tolist())}: {msg}")
    kept = places >= 0
    return Column(Routes(places[kept], kept.sum(axis=1)), np.arange(count), count)


def _delays(given: NDArray[Any], after: Any, count: int) -> Column:
    """Return the column of the delays, given as an array in the places of the flows for which each one waits."""
    if not isinstance(after, np.ndarray) or after.shape != given.shape:
        shape = getattr(after, "shape", None)
        raise ValueError(f"delays: an array of shape {given.shape}, must have that of after, {shape}")
    rows, kept = given.reshape(count, -1).tolist(), (after >= 0).reshape(count, -1).tolist()
    pairs = [tuple(itertools.compress(own, which)) for own, which in zip(rows, kept, strict=True)]
    return Column(tuple(pairs), np.arange(count), count)


def _places(links: Links, nodes: Sequence[Hashable]) -> NDArray[np.int64]:
    """Return the places of nodes among those of the links, shape (F,); -1: it is none of them."""
    return np.asarray(column_of(nodes).map(lambda node: links.place_of.get(node, -1)).array())


def _check_ends(
    links: Links, sources: Sequence[Hashable], targets: Sequence[Hashable]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the ends of flows, (F,) each; ValueError for nodes between which no path is sought."""
    places = _places(links, sources), _places(links, targets)
    for name, nodes, place in zip(("sources", "targets"), (sources, targets), places, strict=True):
        if (place < 0).any():
            n = int(np.argmax(place < 0))
            raise ValueError(f"{name}[{n}] = {nodes[n]!r}: must be a node of the links")
    same = np.flatnonzero(places[0] == places[1])
    if len(same):
        n = int(same[0])
        raise ValueError(f"targets[{n}] = {targets[n]!r}: must differ from its source")
    within = np.flatnonzero(in_one_server(links, *places))
    if len(within):
        n = int(within[0])
        rails = max(Counter(links.servers.values()).values())
        raise ValueError(
            f"targets[{n}] = {targets[n]!r}: is in the server of {sources[n]!r}, in which traffic does not take the fabric: reduce within the "
            f"servers, and write one collective per rail, of fabric.hosts[k::{rails}] for k in range({rails}), added with +"
        )
    return places


def in_one_server(links: Links, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether nodes, given by their places in the links, are interfaces of one server, shape (F,)."""
    if not links.servers:
        return np.zeros(len(source), dtype=np.bool_)
    server = np.array([links.servers.get(node, -1) for node in links.nodes])
    return np.asarray((server[source] == server[target]) & (server[source] >= 0))


def _keys(
    links: Links,
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    entropy: NDArray[np.int64] | str | None,
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64]]:
    """Return the number of each flow among those between its ends, None where entropy is given, and what ECMP hashes, (F,)."""
    if isinstance(entropy, np.ndarray):
        return None, entropy
    number = np.zeros_like(source) if entropy == PAIR else numbers_between(source, target)
    return number, flow_keys(source, target, number, links.seed)


def _shortest(
    choices: Choices,
    ends: tuple[Sequence[Hashable], Sequence[Hashable]],
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    keys: NDArray[np.int64],
) -> Routes:
    """Return shortest paths between pairs of nodes; ValueError where there is none."""
    try:
        return choices.paths(*places, keys)
    except LookupError as error:
        n = error.args[0]
        msg = f"there is no path from {ends[0][n]!r} over the links"
        raise ValueError(f"targets[{n}] = {ends[1][n]!r}: {msg}") from None


def _further(links: Sequence[Link], nodes: Sequence[Hashable], paths: Routes) -> Column:
    """Return the shortest paths of each flow beside its own one, with the same first and last link.

    Warns of flows that have others: their packets leave by one link of the source and arrive by one link of the target.
    """
    last = paths.places[paths.begin + paths.counts - 1]
    every = ShortestRoutes(links).all_paths(paths.first.astype(np.int64), last.astype(np.int64))
    found, partial = [], list[int]()
    for f, of_flow in enumerate(every):
        own = paths[f]
        ends = own[:2], own[-2:]
        among = [path for path in of_flow if (path[:2], path[-2:]) == ends]
        found.append(tuple(tuple(nodes[n] for n in path) for path in among if path != own))
        if len(among) < len(of_flow):
            partial.append(f)
    if partial:
        f = partial[0]
        a, b = (nodes[n] for n in (paths[f][0], paths[f][-1]))
        several = f"{len(found[f]) + 1} of its {len(every[f])} shortest paths"
        message = (
            f"routes = {SPRAY!r}: packets of a flow leave over one link of its source and arrive over one link of its target: "
            f"{a!r} to {b!r} takes {several}; so do {len(partial)} of {count_of(len(every), 'flow')}"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    return encoded(found)


def _given(
    routes: Any, sources: Sequence[Hashable], targets: Sequence[Hashable], links: Links
) -> tuple[Sequence[Hashable], Routes]:
    """Return nodes among which those of given paths are, and the paths."""
    if not isinstance(routes, Iterable):
        raise TypeError(f"routes = {format_value(routes)}: must be one of {CHOICES}, paths, or tables of next hops")
    paths = [path if type(path) is tuple else tuple(nodes_of(f"routes[{n}]", path)) for n, path in enumerate(routes)]
    check_count("routes", paths, len(sources))
    counts = np.fromiter(map(len, paths), np.int64, len(paths))
    visited = [*itertools.chain.from_iterable(paths)]
    try:
        try:
            nodes, place = links.nodes, links.place_of
            places = np.fromiter(map(place.__getitem__, visited), np.int64, len(visited))
        except KeyError:  # `Scenario` says that a path is not over the links
            column = encoded(visited)
            nodes, places = tuple(column.values), column.whole()
    except TypeError:
        for n, path in enumerate(paths):
            nodes_of(f"routes[{n}]", path)
        raise
    if not (counts > 1).all() or not _have_ends(paths, sources, targets):
        for n, (path, a, b) in enumerate(zip(paths, sources, targets, strict=True)):
            if len(path) < 2 or path[0] != a or path[-1] != b:
                raise ValueError(f"routes[{n}] = {format_value(path)}: must begin with {a!r} and end with {b!r}")
    return nodes, Routes(places, counts)


def _have_ends(paths: list[tuple[Hashable, ...]], sources: Sequence[Hashable], targets: Sequence[Hashable]) -> bool:
    """Return whether all paths, of which none is empty, begin at their sources and end at their targets."""
    return all([path[n] for path in paths] == [*ends] for n, ends in ((0, sources), (-1, targets)))


def _names_of(sources: Sequence[Hashable], targets: Sequence[Hashable]) -> list[str]:
    """Return names of flows by their ends, with their numbers where these are not unique."""
    found = [f"{a}->{b}" for a, b in zip(sources, targets, strict=True)]
    return found if len(set(found)) == len(found) else [f"{f}: {name}" for f, name in enumerate(found)]


def _around_loops(flows: Flows) -> Flows:
    """Return the flows with the paths of loops as long as their packets live, as `Flow` has them."""
    limited = flows.given("ttl")
    if not limited.any():
        return flows
    paths: list[tuple[int, ...]] = list(flows.paths)
    for f in np.flatnonzero(limited).tolist():
        paths[f] = around_loop(paths[f], int(flows.columns["ttl"][f]))
    names = tuple(flows.names) if flows.are_named else None
    return Flows(flows.nodes, Routes.of(paths), flows.columns, names)


def _check(flows: Flows, may_return: bool) -> None:
    """Raise ValueError for the first flow that `Flow` refuses.

    Numbers that differ between flows are checked for all flows at once, other options once for each combination of values, and paths where they
    ``may_return`` to a node without a time to live.
    """
    good = np.ones(len(flows), dtype=np.bool_)
    size, start, stop = (flows.numbers_or_nan(name) for name in ("size", "start", "stop"))
    if any(flows.columns[name].which is not None for name in CHECKED_AT_ONCE):
        window, rank = (flows.numbers_or_nan(name) for name in ("max_window", "priority"))
        good &= (size >= 1.0) & ((size == np.floor(size)) | (size == np.inf))
        good &= (start >= 0.0) & (start < np.inf) & (stop > start)
        good &= (window >= 1.0) & (window <= LARGEST_WINDOW)
        good &= (np.abs(rank) <= 1e6) & (rank == np.floor(rank))
    if may_return:
        flow, span = flows.paths.flow, len(flows) * len(flows.nodes)
        visits = flow * len(flows.nodes) + flows.paths.places
        if len(present(visits, span)) < len(visits):
            again = np.ones(len(visits), dtype=np.bool_)
            again[distinct(visits, span)[1]] = False
            good[np.setdiff1d(flow[again], np.flatnonzero(flows.given("ttl")))] = False
    if any(flows.columns["delays"].values):
        counts = [len(own) for own in flows.columns["after"]]
        own = zip(flows.columns["delays"], counts, strict=True)
        good &= [not times or (len(times) == n and 0.0 <= min(times) <= max(times) < np.inf) for times, n in own]
    others = [each.name for each in OPTIONS if each.name not in NUMBERS]
    kinds, _ = flows.alike(*others, np.isfinite(size), np.isfinite(stop), flows.waits)
    for f in sorted({*np.flatnonzero(~good)[:1].tolist(), *kinds.tolist()}):
        options = {name: column[f] for name, column in flows.columns.items()}
        try:
            Flow("", flows.path(f), **options)
        except (TypeError, ValueError):
            Flow(flows.name(f), flows.path(f), **options)

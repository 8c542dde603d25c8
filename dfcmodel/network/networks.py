"""Networks: directed links between named nodes, scenarios of flows across them, and the ingresses of PFC at links.

An ingress of a link is a feeding link with the packets of one class. PFC reserves room for ingresses of lossless
classes.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.drop_causes import CAUSES
from dfcmodel.network.elements.base import PathElement, check_elements
from dfcmodel.network.flows import WINDOWS, Flow, Flows, check_window, choose_together, renumber_references
from dfcmodel.network.followers import Followers, followers_of
from dfcmodel.network.frame_sizes import HEADER
from dfcmodel.network.links import (
    KIND_FIELDS,
    Column,
    Link,
    Links,
    Node,
    Routes,
    buffer_in_packets,
    buffer_text,
    check_pause_threshold,
    distinct,
    distinct_rows,
    encode_integers,
    places_of,
    present,
)
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.class_pauses import ByClass
from dfcmodel.network.queueing.disciplines import Discipline
from hopflow.callers import warn_caller
from hopflow.checks import format_value, instance, instances, one_number, plain_number
from hopflow.fork_safety import cached_property
from hopflow.parameters import in_packets_of
from hopflow.results import Described, table_text
from hopflow.tcp_constants import MIN_RTO
from hopflow.units import (
    PACKET_SIZE,
    PacketUnits,
    WithUnit,
    declares,
    in_units,
    quantities,
    readable_text,
    whole_packets,
)
from responsefn import RateRule
from responsefn.rules.rates.rate_rule import needs_base_rtt, with_base_rtt

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx
    from numpy.typing import NDArray

__all__ = [
    "EDGE_ATTRIBUTES",
    "PARALLEL",
    "Ingresses",
    "RoutedFlows",
    "Scenario",
    "check_attributes",
    "check_states",
    "from_networkx",
    "is_fabric_host",
    "warn_of_metrics",
]

EDGE_ATTRIBUTES = KIND_FIELDS
"""Attributes of the edges of a graph that `from_networkx` reads, all fields of links; the first three must be given."""
LABEL_WORDS = frozenset(
    (
        "id", "uid", "uuid", "guid", "key", "name", "hostname", "fqdn", "label", "xlabel", "index", "title", "alias",
        "comment", "description", "desc", "note", "tag", "url", "href", "node", "edge", "link", "type", "kind", "role",
        "class", "group", "vendor", "manufacturer", "model", "platform", "os", "image", "version", "serial", "cpu",
        "function", "source", "target", "src", "dst", "from", "to", "local", "remote", "peer", "neighbor", "neighbour",
        "interface", "intf", "iface", "if", "ifname", "port", "slot", "ip", "ipv", "address", "addr", "mac", "mgmt",
        "management", "loopback", "asn", "network", "owner", "operator", "provider", "organization", "isp", "internal",
        "latitude", "longitude", "lon", "lng", "long", "geo", "geocode", "country", "city", "region", "location",
        "site", "building", "floor", "room", "rack", "row", "pod", "tier", "level", "layer", "plane", "zone", "area",
        "dc", "datacenter", "cluster", "x", "y", "z", "pos", "position", "coord", "coords", "coordinates", "color",
        "colour", "fillcolor", "fontcolor", "font", "fontname", "fontsize", "style", "shape", "penwidth", "linewidth",
        "icon", "arrowhead", "arrowtail", "tooltip", "labelangle", "labeldistance", "labelfloat", "headlabel",
        "taillabel", "subset", "bipartite", "block", "community", "code", "graph",
    )
)  # fmt: skip
"""Words of names of attributes that label, place or draw a node or an edge, such as ``src_port`` and ``LinkLabel``."""
NODE_NAMES = frozenset(("hosts", "size", "width", "height", "r", "g", "b", "alpha", "margin"))
"""Further such names for nodes alone: the width of an edge may be its number of lanes."""
DEFAULTS = ("edge_default", "node_default", "edge", "node")
"""Attributes of graphs for what a file in GraphML or DOT gives all edges, or nodes; networkx does not apply them."""
UP = ("up", "isup", "linkup", "enabled", "active", "alive", "online")
DOWN = ("down", "isdown", "linkdown", "disabled", "inactive", "failed", "isfailed", "broken", "faulty", "offline")
STATES = ("state", "status", "adminstate", "adminstatus", "operstate", "operstatus", "linkstate", "linkstatus")
"""Attributes, as `_plain_name` writes them, by which other programs say that a node or a link is up, or down."""
NO = ("", "0", "no", "off", "false", "none", "nan")
DOWN_VALUES = (*DOWN, *NO[1:], "admindown", "administrativelydown", "failure", "fault", "errdisabled", "notconnect")
"""Values of ``STATES`` that say so, as `_plain_name` writes them."""
ROUTING_METRICS = frozenset(("weight", "cost", "metric"))
"""Words of names of attributes of edges by which other programs find shortest paths."""
PARALLEL = "parallel links are one link with the sum of their rates, or go over a node of their own each"
UNREAD = f"or leave it out; losses and jitter are elements of a Scenario, and {PARALLEL}"
"""End of the message for an attribute that is not read."""
COORDINATES = ("lon", "lng", "long")
"""Names, as `_plain_name` writes them, beside which ``lat`` is the latitude of a node."""
LONGEST_RUN = 1e5
"""Largest simulated time, s."""
WITHOUT_UNITS = frozenset((float, int, bool, str, tuple, type(None)))
"""Types of values without units; values in bits or bytes are or contain a `PacketUnits`."""
OBJECTS = ("source", "arrivals", "receiver")
"""Options of flows that are objects with parameters."""


def is_fabric_host(node: Node) -> bool:
    """Return whether a node is a host of a fabric: a tuple ("host", n), as `with_hosts` makes it.

    >>> is_fabric_host(("host", 3)), is_fabric_host(("leaf", 3)), is_fabric_host("host")
    (True, False, False)
    """
    return isinstance(node, tuple) and len(node) == 2 and node[0] == "host"


class RoutedFlows(Described):
    """Base of `Scenario`: quantities that follow from its links, flows and packet size.

    Attributes
    ----------
    links, flows, packet_size
        As for `dfcmodel.Scenario`.
    """

    if TYPE_CHECKING:

        @property
        def links(self) -> Sequence[Link]:
            """Links of the network."""

        @property
        def flows(self) -> Sequence[Flow]:
            """Flows across it."""

        @property
        def packet_size(self) -> WithUnit:
            """Bytes of a packet."""

    @cached_property
    def table(self) -> Flows:
        """The flows as columns."""
        return Flows.of(self.flows)

    @cached_property
    def link_table(self) -> Links:
        """The links as columns."""
        return Links.of(self.links)

    def by_link(self, value: Callable[[Link], Any]) -> NDArray[Any]:
        """Return ``value(link)`` of each link, (L,), with one call per kind; it must not depend on the nodes."""
        return self.link_table.each(value)

    @cached_property
    def routes(self) -> Routes:
        """Links of each flow's path, in order, as indices in ``links``."""
        table, N = self.table, len(self.table.nodes)
        links = self.link_table
        source, target = links.source, links.target
        if table.nodes is not links.nodes:
            index_of = dict(zip(table.nodes, range(N), strict=True))
            to_path_nodes = np.array([index_of.get(node, N) for node in links.nodes], dtype=np.int64)
            source, target = to_path_nodes[source], to_path_nodes[target]
        entries, last = table.paths.places, table.paths.begin + table.paths.counts - 1
        inner = np.ones(len(entries), dtype=np.bool_)
        inner[last] = False
        at = np.flatnonzero(inner)
        hops = places_of(source * (N + 1) + target, entries[at] * (N + 1) + entries[at + 1])
        if (hops < 0).any():
            at = at[hops < 0][0]
            self._refuse_path(int(np.searchsorted(table.paths.begin, at, side="right")) - 1, int(at))
        return Routes(hops, table.paths.counts - 1)

    def _refuse_path(self, f: int, at: int) -> None:
        """Raise ValueError for flow f: no link leads from node ``at`` of the concatenated paths to the next."""
        pair = (self.table.nodes[n] for n in self.table.paths.places[at : at + 2])
        names = ", ".join(link.name for link in self.links[:12])
        msg = f"there is no link {'->'.join(map(str, pair))}, must go over {names}"
        raise ValueError(f"path of flow {self.table.name(f)!r}: {msg}")

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in the order in which the links name them."""
        return self.link_table.nodes

    @cached_property
    def senders(self) -> tuple[Node, ...]:
        """The nodes with an outgoing link, in the order of the links: nodes of results."""
        table = self.link_table
        sources, first = distinct(table.source, len(table.nodes))
        return tuple(map(table.nodes.__getitem__, sources[np.argsort(first)].tolist()))

    def link(self, source: Node, target: Node) -> Link:
        """Return the link from one node to another; KeyError if there is none."""
        return self.links[self.link_table.places[source, target]]

    def path(self, flow: Flow) -> tuple[Link, ...]:
        """Return the links that a flow crosses, in order."""
        return tuple(self.links[n] for n in self.path_index(flow))

    def path_index(self, flow: Flow) -> tuple[int, ...]:
        """Return the indices in `links` of the links that a flow crosses, in order."""
        indices = self._paths.get(flow.path)
        if indices is None:
            indices = self._paths[flow.path] = tuple(self.link_table.places[hop] for hop in flow.hops)
        return indices

    @cached_property
    def _paths(self) -> dict[tuple[Node, ...], tuple[int, ...]]:
        """Cache of `path_index`, by path."""
        return {}

    def on_path(self, values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of ``values``, one per link, over the links of each flow's path, shape (F,)."""
        hop_values = np.asarray(values, dtype=np.float64)[self.routes.places]
        sums = np.bincount(self.routes.flow, hop_values, minlength=len(self.flows))
        return sums.astype(np.float64)

    def base_rtt(self, flow: Flow) -> float:
        """Return a flow's round-trip propagation delay, s; an access link, if it has one, is as long as its first link.

        A flow that enters at once (`enters_at_once`) has no access link.
        """
        links = self.path(flow)
        access = 0.0 if self.enters_at_once(flow) else links[0].delay
        return 2.0 * (access + sum(link.delay for link in links))

    def base_rtts(self) -> NDArray[np.float64]:
        """Return `base_rtt` of all flows, s, shape (F,)."""
        delays = self.link_table.delays
        access = np.where(self.at_once, 0.0, delays[self.routes.first])
        return 2.0 * (access + self.on_path(delays))

    def packet_rtts(self) -> NDArray[np.float64]:
        """Return each flow's round-trip time without queues, with a packet's transmission times, s, (F,).

        The sum of propagation delays, the transmission of the packet over each link of the path, and of an ACK of 40
        bytes over each link of the way back, which has the same rates and delays.

        Examples
        --------
        >>> from dfcmodel import CBR, Flow, Scenario, chain
        >>> links = chain(3, rate=1e3, delay=1e-3, buffer=50)
        >>> Scenario("two links", links, [Flow("a", (1, 2, 3), CBR(100.0))]).packet_rtts().round(6)
        array([0.006053])
        """
        spans = 1.0 / self.link_table.rates
        access = np.where(self.at_once, 0.0, spans[self.routes.first])
        both = 1.0 + HEADER / self.packet_size
        return np.asarray(self.base_rtts() + both * (access + self.on_path(spans)))

    def handshake_times(self) -> NDArray[np.float64]:
        """Return the time from each flow's start to its first data, without queues, s, (F,); 0 without a handshake.

        The round trip of a SYN and a SYN-ACK: propagation and transmission times, with the same rates and delays in
        both directions. 0 for flows without a handshake. The levels without packets start flows that much later.

        Examples
        --------
        >>> from dfcmodel import Flow, Scenario, chain
        >>> from responsefn import NewReno
        >>> links = chain(2, rate=1000.0, delay=0.01, buffer=20)
        >>> one = Scenario("one", links, [Flow("one", (1, 2), NewReno(), handshake=True)], duration=1.0)
        >>> one.handshake_times().round(5).tolist()  # 1500 bytes take 1 ms
        [0.02005]
        """
        return np.array([self._handshake(flow) if flow.handshake else 0.0 for flow in self.flows])

    def _handshake(self, flow: Flow) -> float:
        """Return the round-trip time of a SYN and a SYN-ACK of a flow without queues, s."""
        links = list(self.path(flow))
        if not self.enters_at_once(flow):
            links.append(links[0])  # the access link equals the first link
        transmission = HEADER / self.packet_size * sum(1.0 / link.rate for link in links)
        return self.base_rtt(flow) + 2.0 * transmission

    def host_of(self, flow: Flow) -> str:
        """Return how a flow's packets enter the network, one of `HOSTS`; for ``host=None`` "nic" or "direct".

        Flows that begin at a host of a fabric, a node ``("host", n)`` of `with_hosts`, have ``"nic"``, and so have
        flows whose first link pauses; others have ``"direct"``. A first link with `DFC`, which reports a rate to its
        host, has ``"direct"``.

        Examples
        --------
        >>> from dfcmodel import CBR, FIFO, Flow, PFC, Scenario, chain
        >>> for rule in (FIFO(), PFC()):
        ...     links = chain(3, rate=1e4, delay=1e-3, buffer=500, discipline=rule)
        ...     scenario = Scenario("default", links, [Flow("a", (1, 2, 3), CBR(4e3))])
        ...     print(scenario.host_of(scenario.flows[0]))
        direct
        nic
        """
        if flow.host is not None:
            return flow.host
        return "nic" if self._asks_for_nic[self.path_index(flow)[0]] else "direct"

    @cached_property
    def _asks_for_nic(self) -> NDArray[np.bool_]:
        """Whether flows over each link as first link have ``host="nic"`` by default, (L,)."""
        table = self.link_table
        hosts = [n for n, node in enumerate(table.nodes) if isinstance(node, tuple) and is_fabric_host(node)]
        pauses = self.by_link(lambda link: bool(link.discipline.pauses))
        if not hosts:
            return pauses
        of_hosts = np.zeros(len(table.nodes), dtype=np.bool_)
        of_hosts[hosts] = True
        reports = self.by_link(lambda link: link.discipline.diffuses)
        return np.asarray(pauses | (of_hosts[table.source] & ~reports))

    def host_is(self, kind: str) -> NDArray[np.bool_]:
        """Return flags, (F,), of flows whose `host_of` is ``kind``; read-only."""
        matches: NDArray[np.bool_] | None = self._hosts.get(kind)
        if matches is None:
            by_nic = self._asks_for_nic
            default = {"nic": by_nic, "direct": ~by_nic}.get(kind, np.zeros_like(by_nic))
            matches = default[self.routes.first]
            if set(self.table.columns["host"].values) != {None}:
                is_kind = self.table.each("host", lambda host: host == kind)
                matches = np.where(self.table.given("host"), is_kind, matches)
            matches.flags.writeable = False
            self._hosts[kind] = matches
        return matches

    @cached_property
    def _hosts(self) -> dict[str, NDArray[np.bool_]]:
        """Cache of `host_is`, by kind."""
        return {}

    @property
    def shortest_delay(self) -> float:
        """The smallest propagation delay of a link, s."""
        return float(self.link_table.delays.min())

    @cached_property
    def slowest_rates(self) -> NDArray[np.float64]:
        """The rate of the slowest link of each flow's path, packets/s, (F,)."""
        rates = self.link_table.rates[self.routes.places]
        return np.asarray(np.minimum.reduceat(rates, self.routes.begin))

    @cached_property
    def is_interface(self) -> NDArray[np.bool_]:
        """Whether each link is the interface of a host, (L,): flows only start at its source, all by ``"nic"``."""
        first, is_nic, count = self.routes.first, self.host_is("nic"), len(self.links)
        if not is_nic.any():
            return np.zeros(count, dtype=np.bool_)
        source, begins = self.link_table.source, np.bincount(first, minlength=count)
        is_other = np.zeros(len(self.link_table.nodes), dtype=np.bool_)
        is_other[source[np.bincount(self.routes.places, minlength=count) > begins]] = True
        is_other[source[first[~is_nic]]] = True
        return np.asarray((begins > 0) & ~is_other[source])

    @cached_property
    def interfaces(self) -> frozenset[int]:
        """The indices of the links that are interfaces of hosts."""
        return frozenset(np.flatnonzero(self.is_interface).tolist())

    @cached_property
    def at_once(self) -> NDArray[np.bool_]:
        """Whether each flow enters the first queue without an access link (`enters_at_once`), shape (F,)."""
        by_nic = self.host_is("nic") & self.is_interface[self.routes.first]
        return np.asarray(self.host_is("direct") | by_nic)

    def enters_at_once(self, flow: Flow) -> bool:
        """Return whether a flow has no access link: packets enter the first link's queue at once."""
        host = self.host_of(flow)
        return host == "direct" or (host == "nic" and self.path_index(flow)[0] in self.interfaces)

    def access_of(self, feeders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ``feeders`` (links, or -1 - flow) with -1 - first flow for all flows of an access link; maybe no copy.

        Flows with ``host="nic"`` whose first link is no interface share an access link, numbered by their first flow.
        """
        hosts = feeders < 0
        if not hosts.any():
            return feeders
        names = feeders.copy()
        names[hosts] = -1 - self._access[-1 - feeders[hosts]]
        return names

    @cached_property
    def _access(self) -> NDArray[np.int64]:
        """Index of the first flow with the same access link, by flow, (F,); the flow itself if it shares none."""
        shared_with = np.arange(len(self.flows))
        rows = np.flatnonzero(self.host_is("nic") & ~self.at_once)
        if rows.size:
            _, first, group = np.unique(self.routes.first[rows], return_index=True, return_inverse=True)
            shared_with[rows] = rows[first][group.reshape(-1)]
        return shared_with

    def feeders(self, n: int) -> dict[int, tuple[int, ...]]:
        """Return the flows that come to link n, by the link before it; -1 - f for the host of flow f."""
        return self._feeders.get(n, {})

    def feeding(self, u: int) -> Link:
        """Return the link of feeder u; for a host, -1 - flow, the flow's first link, to which access is equal."""
        return self.links[u if u >= 0 else int(self.routes.first[-1 - u])]

    @cached_property
    def _feeders(self) -> dict[int, dict[int, tuple[int, ...]]]:
        """`feeders` of each link, by index."""
        by_link: dict[int, dict[int, list[int]]] = {}
        for f, route in enumerate(self.routes):
            for before, n in itertools.pairwise((-1 - f, *route)):
                by_link.setdefault(n, {}).setdefault(before, []).append(f)
        return {n: {u: tuple(flows) for u, flows in by_feeder.items()} for n, by_feeder in by_link.items()}

    @cached_property
    def continuations(self) -> dict[int, dict[int, set[int]]]:
        """Links over which packets continue, with their classes, by a link or -1 - f, the host of flow f.

        Flows with several paths take each of them; a flow of a host with a shared interface counts as its first flow.
        """
        links, priorities = self.link_table.places, self.table.numbers("priority").astype(np.int64).tolist()
        access = self._access.tolist()
        following: dict[int, dict[int, set[int]]] = {}
        for f, (route, paths) in enumerate(zip(self.routes, self.table.columns["paths"], strict=True)):
            for path in (route, *([links[pair] for pair in itertools.pairwise(path)] for path in paths)):
                for link, after in itertools.pairwise((-1 - access[f], *path)):
                    following.setdefault(link, {}).setdefault(after, set()).add(priorities[f])
        return following

    def room_of(self, n: int) -> float:
        """Return the packets that link n can hold: its buffer, or inf at an interface of a host."""
        return math.inf if n in self.interfaces else self.buffer_of(n)

    def buffer_of(self, n: int) -> float:
        """Return the buffer of link n, packets, also if it is given in bytes.

        Examples
        --------
        >>> from dfcmodel import ByteBuffer, CBR, Flow, Scenario, chain
        >>> links = chain(2, rate=1e4, delay=1e-3, buffer=ByteBuffer("60 kB"))
        >>> Scenario("bytes", links, [Flow("a", (1, 2), CBR(1e3))]).buffer_of(0)
        40.0
        """
        return buffer_in_packets(self.links[n], self.packet_size)

    @cached_property
    def _buffers(self) -> NDArray[np.float64]:
        """Buffers of the links in packets, (L,)."""
        return self.by_link(lambda link: buffer_in_packets(link, self.packet_size))

    @cached_property
    def followers(self) -> Followers:
        """Dependencies of the flows on each other."""
        return followers_of(self.table)

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """Cache of quantities that runs derive from the scenario alone, by key."""
        return {}


class Ingresses(RoutedFlows):
    """Reserved buffers ("rooms") of lossless classes at links with flow control by class, and their validation."""

    def count_group(self, n: int) -> tuple[int, ...]:
        """Return the links, link n among them, whose packets from one feeder count against one reservation."""
        return self.count_groups.get(n, (n,))

    @cached_property
    def count_groups(self) -> dict[int, tuple[int, ...]]:
        """Links that count packets from one feeder together, by each of them; other links have no entry.

        These are the links with PFC of a node that counts packets of all its links. Interfaces of hosts do not count
        packets.
        """
        table = self.link_table
        rules: list[Any] = [link.discipline for link in table.kinds]
        if all(getattr(rule, "counts", "output") == "output" for rule in rules):
            return {}
        links_at: dict[int, list[int]] = {}
        together = set()
        for n, (kind, node) in enumerate(zip(table.kind_of.tolist(), table.source.tolist(), strict=True)):
            if rules[kind].queue_per == "class" and n not in self.interfaces:
                links_at.setdefault(node, []).append(n)
                if rules[kind].counts != "output":
                    together.add(node)
        groups = (tuple(links_at[node]) for node in together)
        return {n: group for group in groups for n in group}

    def ingress(self, n: int) -> list[tuple[int, int, float]]:
        """Return the ingresses of link n with PFC: feeder (a host: -1 - flow), lossless class, reserved packets.

        Links are numbered as by `feeders`; the access link of a host equals the first link of the path.
        """
        return self._ingress.get(n, [])

    @cached_property
    def _ingress(self) -> dict[int, list[tuple[int, int, float]]]:
        """Ingresses of each link with PFC: feeders in the order of the flows, classes in ascending order."""
        by_link: dict[int, dict[int, list[tuple[int, float]]]] = {}
        columns = (*self._room_columns, self._feed_columns[2])
        for n, u, is_lossless, room, priority in zip(*(c.tolist() for c in columns), strict=True):
            counted = by_link.setdefault(n, {}).setdefault(u, [])
            if is_lossless:
                counted.append((priority, room))
        return {
            n: [(u, *ingress) for u, counted in feeders.items() for ingress in sorted(counted)]
            for n, feeders in by_link.items()
        }

    def rooms(self, n: int) -> dict[tuple[int, int], float]:
        """Return the reserved packets by feeder (a host: -1 - flow) and class of link n and links counted with it.

        It covers all links that are counted together with link n and share their rooms. Flows that share an access link
        share its room; in the fluid each has a separate access link.
        """
        together = self.count_group(n)
        return {(u, priority): room for m in together for u, priority, room in self.ingress(m)}

    def rooms_once(self, n: int) -> dict[tuple[int, int], float]:
        """Return `rooms` of link n with one entry per access link, under its first flow."""
        rooms = self.rooms(n)
        access = self.access_of(np.array([u for u, _ in rooms], dtype=np.int64)).tolist()
        return {(u, c): room for u, (_, c), room in zip(access, rooms, rooms.values(), strict=True)}

    def reserved(self, n: int) -> float:
        """Return the packets of the buffer of link n that PFC reserves for lossless classes.

        An access link that flows of a host share (``host="nic"``) has a room for each of its classes. Links that are
        counted together share the reservation in proportion to their buffers.
        """
        if self.count_group(n) == (n,):
            return float(self._reservations[n])
        if n not in self._group_reservations:
            self._group_reservations[n] = self.part_of_rooms(n, sum(self.rooms_once(n).values()))
        return self._group_reservations[n]

    @cached_property
    def _group_reservations(self) -> dict[int, float]:
        """Cache of `reserved`, by link, for links that are counted together."""
        return {}

    @cached_property
    def _reservations(self) -> NDArray[np.float64]:
        """Packets that PFC reserves in the buffer of each link, without links that count together, (L,)."""
        n, u, is_lossless, room = self._room_columns
        access = self.access_of(u)
        if (access != u).any():  # count flows that share an access link once
            is_lossless = is_lossless.copy()
            priority = self._feed_columns[2]
            is_lossless[is_lossless] = distinct_rows(n[is_lossless], access[is_lossless], priority[is_lossless])
        sums = np.bincount(n[is_lossless], room[is_lossless], len(self.links)).astype(np.float64)
        if not self.count_groups:
            return sums * self._buffers / self._buffers
        used = np.flatnonzero(sums)
        sums[used] = [self.part_of_rooms(m, sums[m]) for m in used.tolist()]
        return sums

    def part_of_rooms(self, n: int, rooms: float) -> float:
        """Return link n's part, by its buffer, of packets (``rooms``) reserved at the links counted together with n."""
        return rooms * self.buffer_of(n) / self._buffer_together(n)

    def spare_of_rooms(self, n: int) -> float:
        """Return the buffers of the links counted together with link n less their reservations, packets (< 0 too)."""
        return self._buffer_together(n) - sum(self.rooms(n).values())

    def _buffer_together(self, n: int) -> float:
        """Return the total buffer of the links that are counted together with link n, packets."""
        return sum(self.buffer_of(m) for m in self.count_group(n))

    @cached_property
    def _room_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[Any]]:
        """Rows of classes at links with PFC as columns: link, feeder, is lossless, reserved packets, (N,) each."""
        n, u, priority = self._feed_columns
        examples, kind_of = self.link_table.kinds, self.link_table.kind_of
        over = u
        if (u < 0).any():
            over = np.where(u >= 0, u, self.routes.first[np.maximum(-1 - u, 0)])
        classes = self._class_indices[0]
        class_index = classes.searchsorted(priority)
        span = len(examples) * len(classes)
        keys = (kind_of[n] * len(examples) + kind_of[over]) * len(classes) + class_index
        unique, inverse = encode_integers(keys)
        rooms, are_lossless = np.empty(len(unique)), np.empty(len(unique), dtype=np.bool_)
        for k, key in enumerate(unique.tolist()):
            link = examples[key // span]
            feeder = examples[key % span // len(classes)]
            rule: Any = link.discipline
            are_lossless[k] = int(classes[key % len(classes)]) in rule.classes
            rooms[k] = rule.room(feeder.rate, feeder.delay, self.packet_size, link.buffer)
        return n, u, are_lossless[inverse], rooms[inverse]

    @cached_property
    def lossless_ingresses(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Columns of the ingresses of lossless classes: link, feeder, class, reserved packets, (N,) each.

        Feeders are numbered as by `feeders`, and come in the order of the flows.
        """
        n, u, is_lossless, room = self._room_columns
        rows = np.flatnonzero(is_lossless)
        return n[rows], u[rows], self._feed_columns[2][rows], room[rows]

    @cached_property
    def _class_indices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Classes of the flows in ascending order, (C,), and the index of each flow's class among them, (F,)."""
        column = self.table.columns["priority"]
        values = list(map(int, column.values))
        classes = sorted(set(values))
        index = {value: n for n, value in enumerate(classes)}
        indices = np.array([index[value] for value in values])
        return np.array(classes, dtype=np.int64), indices.take(column.whole())

    @cached_property
    def _feed_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Distinct (link, feeder, class) at links with PFC, three columns, (N,) each; feeder: a link, or -1 - flow."""
        routes, count = self.routes, len(self.links)
        counts = self.by_link(lambda link: link.discipline.queue_per == "class")
        counts[self.is_interface] = False
        classes, class_index = self._class_indices
        link_of_hop, flow = routes.places.astype(np.int64), routes.flow
        at = np.flatnonzero(counts[link_of_hop])
        begins = np.zeros(len(link_of_hop), dtype=np.bool_)
        begins[routes.begin] = True
        from_host = begins[at]
        hops = []  # first hop of each combination of link, feeder and class
        inner, outer = at[~from_host], at[from_host]
        for rows, feeder, span in ((inner, link_of_hop[inner - 1], count), (outer, flow[outer], len(class_index))):
            if len(rows):
                keys = (link_of_hop[rows] * span + feeder) * len(classes) + class_index[flow[rows]]
                hops.append(rows[distinct(keys, count * span * len(classes))[1]])
        first = np.sort(np.concatenate(hops)) if hops else at
        feeders = np.where(begins[first], -1 - flow[first], link_of_hop[first - 1])
        return link_of_hop[first], feeders, classes[class_index[flow[first]]]

    @cached_property
    def _feed_classes(self) -> dict[int, dict[int, set[int]]]:
        """Classes at each link with PFC by feeder, by index of the link; without interfaces of hosts."""
        classes: dict[int, dict[int, set[int]]] = {}
        for n, u, priority in zip(*(column.tolist() for column in self._feed_columns), strict=True):
            classes.setdefault(n, {}).setdefault(u, set()).add(priority)
        return classes

    @cached_property
    def _classes_over(self) -> dict[int, set[int]]:
        """Classes of the flows over each link, by index of the link."""
        classes, class_index = self._class_indices
        keys = self.routes.places * len(classes) + class_index[self.routes.flow]
        classes_of: dict[int, set[int]] = {}
        for key in present(keys, len(self.links) * len(classes)).tolist():
            n, number = divmod(key, len(classes))
            classes_of.setdefault(n, set()).add(int(classes[number]))
        return classes_of

    @cached_property
    def _has_to_be_checked(self) -> NDArray[np.bool_]:
        """Whether `_check_classes` has to check each link, (L,): all others pass."""
        n, u, is_lossless, _ = self._room_columns
        is_pfc = self.by_link(lambda link: link.discipline.queue_per == "class")
        is_suspect = np.zeros(len(self.links), dtype=np.bool_)
        is_suspect[n[is_lossless & (u >= 0) & ~is_pfc[np.maximum(u, 0)]]] = True
        is_suspect |= self._reservations > self._buffers
        is_suspect[list(self.count_groups)] = True
        is_suspect[self.is_interface] = False
        return is_suspect

    def _check_classes(self, n: int, rule: ByClass) -> None:
        """Raise ValueError at link n for feeders that cannot pause a class, unlike grouped rules or too large rooms."""
        link = self.links[n]
        for u, feeder_classes in self._feed_classes.get(n, {}).items():
            lossless = feeder_classes & set(rule.classes)
            if u < 0 or not lossless or self.links[u].discipline.queue_per == "class":
                continue
            others = self._classes_over[u]
            if len(others) > 1:
                kind = type(self.links[u].discipline).__name__
                msg = f"{link.name} pauses class {min(lossless)} alone, which {kind} cannot among"
                class_list = ", ".join(map(str, sorted(others)))
                raise ValueError(f"discipline of link {self.links[u].name!r}: {msg} classes {class_list}; use PFC")
        together = self.count_group(n)
        for m in together:
            other_rule: Any = self.links[m].discipline
            if other_rule is rule:
                continue
            if other_rule.queue_per != "class" or other_rule.common_part() != rule.common_part():
                msg = f"{self.links[m].name} has {other_rule!r}, must be equal except for manager and storm"
                raise ValueError(f"discipline of link {link.name!r} = {rule!r}: {msg}")
        reserved = self.reserved(n)
        if reserved > self.buffer_of(n):
            rooms = len(self.rooms_once(n))
            msg = f"{type(rule).__name__} reserves {reserved:g} packets of its buffer for {rooms} ingress queues"
            needed = math.ceil(reserved)
            size = readable_text(needed * self.packet_size, "bytes")
            hint = f"increase it to {needed} packets ({size}), or reduce {rule.room_options}"
            if getattr(rule, "counts", "switch") != "switch":
                hint += "; with counts='switch', as switches count, the links of a switch share what is reserved"
            raise ValueError(f"buffer of link {link.name!r} = {buffer_text(link)}: {msg}; {hint}")


@quantities(duration="time", min_rto="time", packet_size="size")
@dataclass(frozen=True)
class Scenario(Ingresses):
    """A network with its flows, the simulated time, s, and bytes per packet.

    Parameters
    ----------
    name
        Label of the scenario in results.
    links
        Directed links, at most one per ordered pair of nodes, as objects or as columns (`links_from`).
    flows
        The flows, as objects or as a table of columns (`flows_from`). In the fluid, acknowledgements return after the
        propagation delay of the path, without queueing.
    duration
        Simulated time in s.
    min_rto
        Minimum retransmission timeout in s, of the sum SRTT + 4 RTTVAR (RFC 6298, 2.4). Linux bounds 4 RTTVAR alone, so
        that its timer is later by up to a round trip.
    packet_size
        Bytes per packet, for quantities in bits or bytes: pause quanta, buffers and RED in bytes, the headroom of PFC,
        and the parameters of rules in bits or bytes, such as the defaults of `responsefn.DCQCN`. Values in bits or
        bytes are converted to packets of this size: strings such as ``rate="10Gbps"``, ``mbps(24)``, sizes in bytes of
        flows from files, the links of a `Fabric`. Numbers remain packets and packets/s.
    elements
        Effects of paths on packets other than queueing (`PathElement`), such as `Jitter`, `Reordering` and `Policer`.
        Each belongs to a link. The elements of one link act in the order of the list, before its queue. At packet
        level; the fluid has `RateTrace` and `DelayTrace`.

    Raises
    ------
    ValueError
        For no links or flows, paths over unknown links, and disciplines, hosts or classes that do not fit together. For
        values that hold only for packets of another size, such as the sum of a bit rate and a number.

    Warns
    -----
    UserWarning
        Of sizes of flows in packets with the default of ``packet_size``, if the links have packets of another size, as
        those of a `Fabric`.

    Examples
    --------
    >>> from dfcmodel import Flow, Scenario, chain
    >>> from hopflow import mbps, ms
    >>> from responsefn import Reno
    >>> links = chain(3, rate=mbps(12), delay=ms(10), buffer=50)
    >>> scenario = Scenario("two hops", links, [Flow("one", (1, 2, 3), Reno())], duration=10.0)
    >>> round(scenario.base_rtt(scenario.flows[0]), 6)
    0.04
    """

    SWEPT_BY = "dfcmodel.sweeps"

    name: str
    links: Sequence[Link]
    flows: Sequence[Flow]
    duration: WithUnit = 3.0
    min_rto: WithUnit = MIN_RTO
    packet_size: WithUnit = 1500.0
    elements: Sequence[PathElement] = ()

    def __post_init__(self) -> None:
        instance("name", self.name, str, "a text")
        if not isinstance(self.links, Links):
            object.__setattr__(self, "links", instances("links", self.links, Link))
        if not isinstance(self.flows, Flows):
            flows = renumber_references(instances("flows", self.flows, Flow))
            object.__setattr__(self, "flows", choose_together(flows))
        run_end(self)
        one_number("min_rto", self.min_rto, above=0.0, at_most=100.0, hint="in s")
        one_number("packet_size", self.packet_size, above=0.0, hint="in bytes")
        for name in ("duration", "min_rto", "packet_size"):
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        table = self.link_table
        self._warn_of_packet_sizes()
        kinds = [_in_packets(f"of link {kind.name}", kind, self.packet_size) for kind in table.kinds]
        if not all(map(is_, kinds, table.kinds)):  # links with bits and bytes
            table = Links(table.nodes, table.source, table.target, kinds, table.kind_of)
            self.__dict__["link_table"] = table
            object.__setattr__(self, "links", table if isinstance(self.links, Links) else tuple(table))
        for name, column in self.table.columns.items():
            if not (isinstance(column.values, Routes) or WITHOUT_UNITS.issuperset(map(type, column.values))):
                self._convert_flows(name, column)
        if not self.links:
            raise ValueError("links = (): at least one link is needed")
        if not len(self.flows):
            raise ValueError("flows = (): at least one flow is needed")
        if not self.link_table.have_distinct_names:
            pairs = set(zip(self.link_table.source.tolist(), self.link_table.target.tolist(), strict=True))
            _distinct("links", self.link_table.names, PARALLEL if len(pairs) < len(self.link_table) else "")
        if self.table.are_named:
            _distinct("flows", list(self.table.names))
        if self.table.waits.any():
            _ = self.followers
        queues: dict[str, str] = {}  # of links with DFC
        in_bytes, by_class, are_shared = False, False, True
        for link in kinds:
            if link.discipline.diffuses:
                queues[link.discipline.queue_per] = link.name
            in_bytes |= isinstance(link.buffer, ByteBuffer)
            by_class |= link.discipline.queue_per == "class"
            are_shared &= link.shared
        self._check_hosts(bool(queues))
        if self.table.of_kind(RateRule).any():
            self._set_base_rtts()
        if not isinstance(self.elements, tuple) or self.elements:
            elements = instances("elements", self.elements, PathElement)
            size = self.packet_size
            converted = (_in_packets(f"of link {element.link}", element, size) for element in elements)
            object.__setattr__(self, "elements", tuple(converted))
        if self.all_elements:
            check_elements(self)
        if len(queues) > 1:
            msg = f"must be that of all links with DFC, but is 'flow' on {queues['flow']}"
            raise ValueError(f"per of link {queues['input']!r} = 'input': {msg}")
        if in_bytes:
            self._check_byte_buffers()
        if by_class or not are_shared:
            suspect = ~self.by_link(lambda link: link.shared)
            if by_class:
                suspect |= self._has_to_be_checked
            if suspect.any():
                self._check_buffers(suspect)

    def _warn_of_packet_sizes(self) -> None:
        """Warn of sizes of flows in packets where the links have packets of another size and ``packet_size`` none."""
        of_links = self.link_table.packet_size
        if self.packet_size != PACKET_SIZE or of_links in (None, PACKET_SIZE):
            return
        sizes = self.table.columns["size"].values
        if any(not isinstance(size, PacketUnits) and size < math.inf for size in sizes):
            message = (
                f"packet_size = {PACKET_SIZE:g} is the default, and the links are made for packets of {of_links:g} "
                f"bytes: sizes of flows in packets are of {PACKET_SIZE:g} bytes each; write packet_size={of_links:g}, "
                "or scenario() of the Fabric"
            )
            warn_caller(UserWarning(message), "dfcmodel")

    @cached_property
    def all_elements(self) -> tuple[PathElement, ...]:
        """Elements that fields of links stand for, then ``elements``."""
        links = np.flatnonzero(self.by_link(lambda link: bool(link.elements)))
        elements_of_links = (element for n in links.tolist() for element in self.links[n].elements)
        return (*elements_of_links, *self.elements)

    @cached_property
    def data_links(self) -> frozenset[tuple[Hashable, Hashable]]:
        """Ends of the links that packets of data cross, over any path of a flow; other links have ACKs, or nothing."""
        links, used = self.link_table, present(self.routes.places, len(self.link_table))
        ends = ([links.nodes[n] for n in at[used].tolist()] for at in (links.source, links.target))
        sprayed = itertools.chain.from_iterable(self.table.columns["paths"].values)
        return frozenset(itertools.chain(zip(*ends, strict=True), *map(itertools.pairwise, sprayed)))

    @cached_property
    def drop_causes(self) -> dict[str, str]:
        """Words for the causes of drops, built-in and of elements, by name, in the order of their numbers."""
        words = dict(CAUSES)
        for element in self.all_elements:
            for name, text in element.causes.items():
                words.setdefault(name, text)
        return words

    def _check_buffers(self, suspect: NDArray[np.bool_]) -> None:
        """Raise ValueError for unreachable pause thresholds or impossible rooms of PFC at ``suspect`` links, (L,)."""
        flows = np.bincount(self.routes.places, minlength=len(self.links))
        used, first = distinct(self.routes.places, len(self.links))
        used = used[np.argsort(first)]
        for n in used[suspect[used]].tolist():
            if not self.links[n].shared:
                check_pause_threshold(self.links[n], int(flows[n]) * self.buffer_of(n))
            if self._has_to_be_checked[n]:
                rule: Any = self.links[n].discipline
                self._check_classes(n, rule)

    def _convert_flows(self, name: str, column: Column) -> None:
        """Convert bits and bytes in the option ``name`` of the flows to packets of this scenario, in place."""
        where, size = f"of a {name}" if name in OBJECTS else "of a flow", self.packet_size

        def convert(value: Any) -> Any:
            if type(value) in WITHOUT_UNITS:
                return value
            if isinstance(value, PacketUnits) and name == "size":
                value = _in_packets(f"{name} {where}", value, size)
                return whole_packets(value)
            label = f"{name} {where}" if isinstance(value, float) else where
            value = _in_packets(label, value, size)
            if name in WINDOWS:
                check_window(name, label, value)
            return value

        self._set_column(name, column.map(convert))

    def _set_column(self, name: str, replacement: Column) -> None:
        """Replace the values of an option of the flows without validation; they must be valid."""
        column = self.table.columns[name]
        if all(map(is_, column.values, replacement.values)):
            return
        if isinstance(self.flows, Flows):
            changed: Any = self.flows.with_column(name, replacement)
            self.__dict__.pop("table")
        else:
            pairs = zip(self.flows, replacement, strict=True)
            changed = tuple(_with_option(flow, name, value) for flow, value in pairs)
            self.__dict__["table"] = self.table.with_column(name, replacement)
        object.__setattr__(self, "flows", changed)

    def _set_base_rtts(self) -> None:
        """Set the longest round-trip time of their flows without queues, s, in rate rules that need it, in place."""
        column = self.table.columns["source"]
        if not any(map(needs_base_rtt, column.values)):
            return
        longest = float(self.packet_rtts()[self.table.each("source", needs_base_rtt)].max())
        self._set_column(
            "source",
            column.map(lambda rule: with_base_rtt(rule, longest) if isinstance(rule, RateRule) else rule),
        )

    @property
    def has_efficiency(self) -> bool:
        """Whether the name begins with ``takano2006/``: only then do summaries and pictures show the efficiency."""
        return self.name.startswith("takano2006/")

    def summary(self) -> dict[str, object]:
        """Return texts (of nodes the number) by name: kinds of links, rates, sources of flows and the duration."""
        kinds = Counter(type(link.discipline).__name__ for link in self.links)
        rates = sorted({link.rate for link in self.links})
        sources = Counter(type(flow.source).__name__ for flow in self.flows)
        return {
            "name": self.name,
            "nodes": len({node for link in self.links for node in (link.source, link.target)}),
            "links": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
            "rates": " to ".join(f"{rate:.4g}" for rate in dict.fromkeys((rates[0], rates[-1]))) + " packets/s",
            "flows": ", ".join(f"{count} {kind}" for kind, count in sources.items()),
            "duration": f"{self.duration:g} s",
        }

    def __str__(self) -> str:
        return table_text(type(self).__name__, self.summary())

    def _check_hosts(self, has_any_dfc: bool) -> None:
        """Raise ValueError for hosts or weights that a first link cannot serve, and for DFC in front of pauses."""
        if max(self.table.columns["weight"].values) > 1:
            is_possible = self.host_is("nic") | (self.table.numbers("weight") <= 1)
            if not is_possible.all():
                flow = self.flows[int(np.argmin(is_possible))]
                msg = "only network interfaces have weights; use host='nic', or weight=1"
                raise ValueError(f"weight of flow {flow.name!r} = {flow.weight}: {msg}")
        routes, hosts = self.routes, set(self.table.columns["host"].values)
        for f, flow in enumerate(self.flows if has_any_dfc or "shaped" in hosts else ()):
            path = list(map(self.links.__getitem__, routes[f]))
            has_dfc = path[0].discipline.diffuses
            if flow.host == "shaped" and not has_dfc:
                kind = type(path[0].discipline).__name__
                msg = f"{kind} reports no rate to shape to: use host='unshaped' or 'direct'"
                raise ValueError(f"host of flow {flow.name!r} = 'shaped': {msg}")
            if flow.host == "nic" and has_dfc:
                msg = "DFC reports a rate to shape to: use host='shaped', 'unshaped' or 'direct'"
                raise ValueError(f"host of flow {flow.name!r} = 'nic': {msg}")
            for before, link in itertools.pairwise(path if has_any_dfc else ()):
                pausing = link.discipline.pauses_links
                if pausing and before.discipline.diffuses:
                    msg = f"DFC cannot feed {link.name}: that link pauses its feeders"
                    raise ValueError(f"discipline of link {before.name!r}: {msg}")

    def _check_byte_buffers(self) -> None:
        """Raise ValueError for byte buffers without room for a packet, or below a pause threshold."""
        in_bytes = self.by_link(lambda link: isinstance(link.buffer, ByteBuffer))
        for n in np.flatnonzero(in_bytes).tolist():
            link: Any = self.links[n]
            if self.buffer_of(n) < 1.0:
                limit = f"must hold a packet, {link.buffer.taken(self.packet_size):g} B"
                raise ValueError(f"buffer of link {link.name!r} = {buffer_text(link)}: {limit}")
            if link.shared:
                check_pause_threshold(link, self.buffer_of(n))

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return the directed graph of the links, whose edges have rate, delay, buffer, discipline and shared."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph(name=self.name)
        for link in self.links:
            graph.add_edge(link.source, link.target, **{name: getattr(link, name) for name in EDGE_ATTRIBUTES})
        return graph


@quantities(rate="rate", delay="time")
@declares(buffer="amount")
def from_networkx(
    graph: nx.DiGraph[Any],
    *,
    rate: WithUnit | None = None,
    delay: WithUnit | None = None,
    buffer: WithUnit | ByteBuffer | None = None,
    discipline: Discipline | None = None,
    shared: bool | None = None,
) -> tuple[Link, ...]:
    """Return a link per edge of a directed graph, two of an undirected one, with defaults for missing attributes.

    Parameters
    ----------
    graph
        Edges may carry ``rate`` (packets/s), ``delay`` (s), ``buffer`` (packets, or a `ByteBuffer`), ``discipline``
        and ``shared``. Each edge of an undirected graph becomes two links.
    rate, delay, buffer, discipline, shared
        Values for edges without that attribute; None: no default.

    Raises
    ------
    ValueError
        Naming the edge and the missing attribute; for an attribute of an edge or a node that is not read, such as
        ``bandwidth`` or ``lanes``, unless its name is that of a label, a position or a drawing; for units, and for
        defaults of a file, which networkx keeps as attributes of the graph (``edge_default`` of GraphML, ``edge`` of
        DOT); for parallel edges; for nodes and edges whose ``up``, ``status`` or other attribute says that they are
        down.

    Warns
    -----
    UserWarning
        Of edges that differ in a ``weight``, ``cost`` or ``metric``, by which no path is chosen.

    Examples
    --------
    >>> import networkx as nx
    >>> links = from_networkx(nx.path_graph(3), rate=1000.0, delay=0.01, buffer=50)
    >>> [link.name for link in links]
    ['0->1', '1->0', '1->2', '2->1']
    """
    defaults = {"rate": rate, "delay": delay, "buffer": buffer, "discipline": discipline, "shared": shared}
    import networkx as nx

    instance("graph", graph, nx.Graph, "a graph of networkx")
    check_states(graph)
    check_attributes(
        graph,
        EDGE_ATTRIBUTES,
        "use an edge's rate, delay (one way), buffer, discipline or shared",
    )
    links = []
    for source, target, data in graph.to_directed().edges(data=True):
        if graph.is_multigraph() and graph.number_of_edges(source, target) > 1:
            count = graph.number_of_edges(source, target)
            raise ValueError(f"graph: has {count} edges from {source!r} to {target!r}, must be one; {PARALLEL}")
        attributes = {key: data.get(key, defaults.get(key)) for key in EDGE_ATTRIBUTES}
        for key in EDGE_ATTRIBUTES[:3]:
            if attributes[key] is None:
                raise ValueError(f"{key} of edge {source}->{target} is missing: must be given")
        links.append(Link(source, target, **{k: v for k, v in attributes.items() if v is not None}))
    return tuple(links)


def check_attributes(graph: nx.Graph[Any], edge_attributes: Collection[str], hint: str) -> None:
    """Raise ValueError for an attribute that is not read and may describe a link; warn of routing metrics.

    Names in ``edge_attributes``, of states (`check_states`), and those that label, place or draw are allowed. Of the
    attributes of the graph itself, units, properties of links, and defaults of a file are refused. Edges that differ
    in a ``weight``, ``cost`` or ``metric`` give a UserWarning: `flows_from` counts the links of a path alone.

    >>> import networkx as nx
    >>> check_attributes(nx.Graph([("a", "b", {"rate": 1.0, "src_port": 3})]), ["rate"], "write rate")
    >>> check_attributes(nx.Graph([("a", "b", {"LinkCap": 1.0})]), ["rate"], "write rate")
    Traceback (most recent call last):
      ...
    ValueError: LinkCap of edge a->b: is not read; write rate, or leave it out; ...
    """
    nodes = ((f"node {format_value(node)}", data, NODE_NAMES) for node, data in graph.nodes(data=True))
    edges = ((f"edge {a}->{b}", data, edge_attributes) for a, b, data in graph.edges(data=True))
    for subject, data, read in itertools.chain(nodes, edges):
        for name in data:
            if name in read or _is_label(name) or _plain_name(name) in (*UP, *DOWN, *STATES):
                continue
            if _plain_name(name) == "lat" and any(_plain_name(other) in COORDINATES for other in data):
                continue
            if read is edge_attributes and _words(name) & ROUTING_METRICS:
                continue
            raise ValueError(f"{name} of {subject}: is not read; {hint}, {UNREAD}")
    warn_of_metrics(graph, edge_attributes, "routes= of flows takes paths or tables of next hops")
    for name, value in graph.graph.items():
        defaults = value if name in DEFAULTS and isinstance(value, Mapping) else {}
        for default in defaults:
            if not _is_label(default) and default not in NODE_NAMES:
                raise ValueError(
                    f"{default} of {name} of the graph: defaults are not read; give it to each that has it"
                )
        if _words(name) & {"unit", "units"}:
            raise ValueError(
                f"{name} of the graph: is not read; give values their own units, such as '5ms', and leave it out"
            )
        if name in (*EDGE_ATTRIBUTES, *edge_attributes):
            raise ValueError(f"{name} of the graph: is not read; give it to each edge, or to the call")


def warn_of_metrics(graph: nx.Graph[Any], edge_attributes: Collection[str], hint: str) -> None:
    """Warn of routing metrics in which edges differ, by which no path is chosen; ``hint`` says how to give paths."""
    names = dict.fromkeys(name for *_, data in graph.edges(data=True) for name in data)
    for name in names:
        if name in edge_attributes or _is_label(name) or not _words(name) & ROUTING_METRICS:
            continue
        values = [data.get(name) for *_, data in graph.edges(data=True)]
        if any(value != values[0] for value in values):
            message = f"{name} of edges is not read: shortest paths are those of the fewest links; {hint}"
            warn_caller(UserWarning(message), "dfcmodel")


def _words(name: object) -> set[str]:
    """Return the words of a name such as ``src_port`` or ``LinkLabel``, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\x00-\x7f]+", str(name))}


@functools.cache
def _is_label(name: object) -> bool:
    """Return whether a name of an attribute has words of `LABEL_WORDS` alone."""
    words = _words(name)
    return bool(words) and words <= LABEL_WORDS


def check_states(graph: nx.Graph[Any]) -> None:
    """Raise ValueError for a node or an edge that is down by one of its attributes: states are not read.

    >>> import networkx as nx
    >>> check_states(nx.Graph([("a", "b", {"status": "active"}), ("b", "c", {"up": False})]))
    Traceback (most recent call last):
      ...
    ValueError: up of edge b->c = False: must be up, or absent: remove the edge, or let the link fail by ...
    """
    nodes = ((f"node {format_value(node)}", data) for node, data in graph.nodes(data=True))
    edges = ((f"edge {source}->{target}", data) for source, target, data in graph.edges(data=True))
    for subject, data in itertools.chain(nodes, edges):
        for name, value in data.items():
            plain_name, plain_value = _plain_name(name), _plain_name(value)
            is_down = (
                (plain_name in UP and plain_value in NO) or (plain_name in DOWN and plain_value not in NO)
                or (plain_name in STATES and plain_value in DOWN_VALUES)
            )  # fmt: skip
            if is_down:
                kind = subject.partition(" ")[0]
                hint = f"remove the {kind}{', or let the link fail by Packets(failures=)' if kind == 'edge' else ''}"
                raise ValueError(f"{name} of {subject} = {format_value(value)}: must be up, or absent: {hint}")


def _plain_name(name: object) -> str:
    """Return a name in lower case, without underscores and other signs."""
    return re.sub("[^a-z0-9]", "", str(name).lower())


def run_end(scenario: Scenario, duration: Any = None) -> float:
    """Return the validated simulated time of a run, s; None: the scenario's duration."""
    requested = scenario.duration if duration is None else in_units("duration", duration, "time")
    return one_number("duration", requested, above=0.0, at_most=LONGEST_RUN, hint="in s")


def _with_option(flow: Flow, name: str, value: Any) -> Flow:
    """Return a copy of a flow with another value, not validated, of an option."""
    if getattr(flow, name) is value:
        return flow
    changed = copy.copy(flow)
    object.__setattr__(changed, name, value)
    return changed


def _in_packets(where: str, part: Any, size: float) -> Any:
    """Return a part of a scenario with bits and bytes converted to packets of ``size`` bytes; errors name ``where``."""
    try:
        return in_packets_of(part, size)
    except ValueError as error:
        hint = ": give a number of these, or bits or bytes alone" if "are part of it" in str(error) else ""
        raise ValueError(f"{where}: {error}; the scenario has packets of {size:g} bytes{hint}") from None


def _distinct(kind: str, names: Collection[str], hint: str = "") -> None:
    """Raise ValueError for the first duplicate of the names of a ``kind``."""
    if len(set(names)) == len(names):
        return
    visited: set[str] = set()
    for name in names:
        if name in visited:
            raise ValueError(f"{kind}: {name!r} occurs twice, names must differ{hint and '; '}{hint}")
        visited.add(name)

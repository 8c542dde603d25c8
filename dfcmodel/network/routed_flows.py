"""Flows over the links of a network: paths, access links, and the feeders of each link."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import Routes, distinct, places_of
from dfcmodel.network.flow_tables import Flows
from dfcmodel.network.flows import Flow
from dfcmodel.network.followers import Followers, followers_of
from dfcmodel.network.frame_sizes import HEADER
from dfcmodel.network.links import Link, Links, Node, buffer_in_packets
from hopflow.fork_safety import cached_property
from hopflow.results import Described
from hopflow.units import WithUnit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["RoutedFlows", "is_fabric_host"]


def is_fabric_host(node: Node) -> bool:
    """Return whether a node is a host of a fabric, as `dfcmodel.lossless.with_hosts` names them.

    >>> is_fabric_host(("host", 3)), is_fabric_host(("leaf", 3)), is_fabric_host("host")
    (True, False, False)
    """
    return isinstance(node, tuple) and len(node) == 2 and node[0] == "host"


class RoutedFlows(Described):
    """Quantities that depend only on the links and flows of a scenario.

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
        """Return a function of links that does not depend on their nodes, computed once per kind, (L,)."""
        return self.link_table.each(value)

    @cached_property
    def routes(self) -> Routes:
        """The links on the path of each flow, as indices in ``links``."""
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
        """Raise ValueError for flow f, which has no link between two nodes of its path."""
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
        """The nodes with an outgoing link, in the order of the links."""
        table = self.link_table
        sources, first = distinct(table.source, len(table.nodes))
        return tuple(table.nodes[n] for n in sources[np.argsort(first)].tolist())

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
        """Return the sum over each flow's path of values of the links, shape (F,)."""
        hop_values = np.asarray(values, dtype=np.float64)[self.routes.places]
        sums = np.bincount(self.routes.flow, hop_values, minlength=len(self.flows))
        return sums.astype(np.float64)

    def base_rtt(self, flow: Flow) -> float:
        """Return the round-trip propagation delay of a flow in s, including its access link."""
        links = self.path(flow)
        access = 0.0 if self.enters_at_once(flow) else links[0].delay
        return 2.0 * (access + sum(link.delay for link in links))

    def base_rtts(self) -> NDArray[np.float64]:
        """Return `base_rtt` of all flows, s, shape (F,)."""
        delays = self.by_link(lambda link: link.delay)
        access = np.where(self.at_once, 0.0, delays[self.routes.first])
        return 2.0 * (access + self.on_path(delays))

    def packet_rtts(self) -> NDArray[np.float64]:
        """Return the round-trip time of a packet of each flow in the empty network, s, shape (F,).

        The sum of propagation delays, the transmission of the packet over each link of the path, and of an ACK of 40
        bytes over each link of the way back, which has the same rates and delays.

        Examples
        --------
        >>> from dfcmodel import CBR, Flow, Scenario, chain
        >>> links = chain(3, rate=1e3, delay=1e-3, buffer=50)
        >>> Scenario("two links", links, [Flow("a", (1, 2, 3), CBR(100.0))]).packet_rtts().round(6)
        array([0.006053])
        """
        spans = self.by_link(lambda link: 1.0 / link.rate)
        access = np.where(self.at_once, 0.0, spans[self.routes.first])
        both = 1.0 + HEADER / self.packet_size
        return np.asarray(self.base_rtts() + both * (access + self.on_path(spans)))

    def handshake_times(self) -> NDArray[np.float64]:
        """Return the time from each flow's start to its first data without queues, s, shape (F,).

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
        """Return the round trip of a SYN and a SYN-ACK of a flow, s."""
        links = list(self.path(flow))
        if not self.enters_at_once(flow):
            links.append(links[0])  # the access link equals the first link
        transmission = HEADER / self.packet_size * sum(1.0 / link.rate for link in links)
        return self.base_rtt(flow) + 2.0 * transmission

    def host_of(self, flow: Flow) -> str:
        """Return how a flow's packets enter the network: its ``host``, or the default where this is None.

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
        """Whether flows that begin with each link have a network interface by default, (L,)."""
        table = self.link_table
        of_hosts = np.array([is_fabric_host(node) for node in table.nodes], dtype=np.bool_)
        pauses = self.by_link(lambda link: bool(link.discipline.pauses))
        reports = self.by_link(lambda link: link.discipline.diffuses)
        return np.asarray(pauses | (of_hosts[table.source] & ~reports))

    def host_is(self, kind: str) -> NDArray[np.bool_]:
        """Return whether `host_of` of each flow is ``kind``, shape (F,); read-only."""
        matches: NDArray[np.bool_] | None = self._hosts.get(kind)
        if matches is None:
            matches = self._hosts[kind] = self._find_hosts(kind)
            matches.flags.writeable = False
        return matches

    @cached_property
    def _hosts(self) -> dict[str, NDArray[np.bool_]]:
        """Cache of `host_is`, by kind."""
        return {}

    def _find_hosts(self, kind: str) -> NDArray[np.bool_]:
        """Return whether `host_of` of each flow is ``kind``, shape (F,)."""
        by_nic = self._asks_for_nic
        default = {"nic": by_nic, "direct": ~by_nic}.get(kind, np.zeros_like(by_nic))
        if set(self.table.columns["host"].values) == {None}:
            return np.asarray(default[self.routes.first])
        is_kind = self.table.each("host", lambda host: host == kind)
        is_set = self.table.each("host", lambda host: host is not None)
        return np.asarray(np.where(is_set, is_kind, default[self.routes.first]))

    @property
    def shortest_delay(self) -> float:
        """The delay of the shortest link, s."""
        return min(link.delay for link in self.link_table.kinds)

    @cached_property
    def slowest_rates(self) -> NDArray[np.float64]:
        """The rate of the slowest link of each flow's path, packets/s, (F,)."""
        rates = self.by_link(lambda link: link.rate)[self.routes.places]
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
        """The links that are interfaces of hosts."""
        return frozenset(np.flatnonzero(self.is_interface).tolist())

    @cached_property
    def at_once(self) -> NDArray[np.bool_]:
        """`enters_at_once` of each flow, shape (F,)."""
        by_nic = self.host_is("nic") & self.is_interface[self.routes.first]
        return np.asarray(self.host_is("direct") | by_nic)

    def enters_at_once(self, flow: Flow) -> bool:
        """Return whether a flow's packets enter the queue of its first link without an access link before it."""
        host = self.host_of(flow)
        return host == "direct" or (host == "nic" and self.path_index(flow)[0] in self.interfaces)

    def access_of(self, feeders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the feeders of links, numbered as by `feeders`, with one number per access link.

        Flows with ``host="nic"`` whose first link is no interface share an access link, numbered by their first flow.
        """
        hosts = feeders < 0
        names = feeders.copy()
        names[hosts] = -1 - self._access[-1 - feeders[hosts]]
        return names

    @cached_property
    def _access(self) -> NDArray[np.int64]:
        """First flow that shares the access link of each flow, (F,); the flow itself if it shares none."""
        shared_with = np.arange(len(self.flows))
        rows = np.flatnonzero(self.host_is("nic") & ~self.at_once)
        if rows.size:
            _, first, group = np.unique(self.routes.first[rows], return_index=True, return_inverse=True)
            shared_with[rows] = rows[first][group.reshape(-1)]
        return shared_with

    def feeders(self, n: int) -> dict[int, tuple[int, ...]]:
        """Return the links over which flows come to link n, with the flows; a host is -1 - flow."""
        return self._feeders.get(n, {})

    def feeding(self, u: int) -> Link:
        """Return the link of a feeder; for a host, the first link of its flow's path, which equals its access link."""
        return self.links[u if u >= 0 else int(self.routes.first[-1 - u])]

    @cached_property
    def _feeders(self) -> dict[int, dict[int, tuple[int, ...]]]:
        by_link: dict[int, dict[int, list[int]]] = {}
        for f, route in enumerate(self.routes):
            for before, n in itertools.pairwise((-1 - f, *route)):
                by_link.setdefault(n, {}).setdefault(before, []).append(f)
        return {n: {u: tuple(flows) for u, flows in by_feeder.items()} for n, by_feeder in by_link.items()}

    def room_of(self, n: int) -> float:
        """Return the packets for which a link has room: its buffer, or inf at an interface of a host."""
        return math.inf if n in self.interfaces else self.buffer_of(n)

    def buffer_of(self, n: int) -> float:
        """Return the buffer of link n in packets of ``packet_size`` bytes, also for a buffer in bytes.

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
        """Predecessors and successors of the flows."""
        return followers_of(self.table)

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """Cache of quantities that runs derive from the scenario alone, by key."""
        return {}

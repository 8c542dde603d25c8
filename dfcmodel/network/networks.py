"""Networks: directed links between named nodes, and scenarios of flows across them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.backpressure import BFC
from dfcmodel.network.buffers import ByteBuffer, buffer_in_packets
from dfcmodel.network.class_pauses import ByClass
from dfcmodel.network.disciplines import DFC, Discipline, Pause, manager_of
from dfcmodel.network.flow_tables import Flows
from dfcmodel.network.flows import Flow
from dfcmodel.network.followers import Followers, followers_of
from dfcmodel.network.links import Link, Links, Node, can_pause
from dfcmodel.network.path_elements import PathElement, check_elements
from dfcmodel.network.routes import Routes, coded, distinct, distinct_rows, places_of, present
from hopflow.checks import instance, listed, one_number
from hopflow.parameters import Parametrized
from hopflow.results import Described, table_text
from hopflow.tcp_constants import MIN_RTO
from hopflow.units import PacketUnits, WithUnit, declares, quantities

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx
    from numpy.typing import NDArray

__all__ = ["Scenario", "from_networkx"]

FEW_KINDS = 4
"""Kinds of links up to which the room that PFC may reserve at one is found from all pairs of them."""
WITHOUT_UNITS = frozenset((float, int, bool, str, tuple, type(None)))
"""Types of values that were not converted from bits or bytes: what was is a `PacketUnits`."""


@quantities(duration="time", min_rto="time", packet_size="size")
@dataclass(frozen=True)
class Scenario(Described):
    """A network with its flows and the simulated time.

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
        Minimum retransmission timeout in s.
    packet_size
        Bytes per packet, for quantities in bits or bytes: pause quanta, buffers and RED in bytes, the headroom of PFC.
        Strings such as ``rate="10Gbps"`` mean packets of 1500 bytes and raise an error with another size: give rates in packets/s,
        ``mbps(10_000, packet_size=1518)``.
    elements
        Effects of paths on packets other than queueing: `Jitter`, `DelayTrace`, `Reordering`, `Aggregation`, `Policer`,
        `BurstLoss`, `PeriodicLoss` and `RateTrace`. Each belongs to a link. The elements of one link act in the order of the list, before its queue.
        At packet level; the fluid has `RateTrace` and `DelayTrace`.

    Raises
    ------
    ValueError
        For no links or flows, paths over unknown links, and disciplines, hosts or classes that do not fit together.

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
            object.__setattr__(self, "links", listed("links", self.links, Link))
        if not isinstance(self.flows, Flows):
            object.__setattr__(self, "flows", listed("flows", self.flows, Flow))
        one_number("duration", self.duration, above=0.0, at_most=1e5, hint="in s")
        one_number("min_rto", self.min_rto, above=0.0, at_most=100.0, hint="in s")
        one_number("packet_size", self.packet_size, above=0.0, hint="in bytes")
        self._check_packet_units()
        if not self.links:
            raise ValueError("links = (): at least one link is needed")
        if not len(self.flows):
            raise ValueError("flows = (): at least one flow is needed")
        if not self.link_table.have_own_names:
            _distinct("links", self.link_table.names)
        if self.table.are_named:
            _distinct("flows", list(self.table.names))
        if self.table.waits.any():
            _ = self.followers
        self._check_hosts()
        if self.elements != ():
            object.__setattr__(self, "elements", listed("elements", self.elements, PathElement))
            check_elements(self)
        alike = self.link_table.kinds
        queues = {n.discipline.per: n.name for n in alike if isinstance(n.discipline, DFC)}
        if len(queues) > 1:
            msg = f"must be that of all links with DFC, but is 'flow' on {queues['flow']}"
            raise ValueError(f"per of link {queues['input']!r} = 'input': {msg}")
        self._check_byte_buffers()
        suspect = ~self.by_link(lambda link: link.shared)
        if not self._has_room_by_far:
            suspect |= self._has_to_be_checked
        if suspect.any():
            self._check_buffers(suspect)

    def _check_buffers(self, suspect: NDArray[np.bool_]) -> None:
        """Refuse pause thresholds that are never exceeded, and what PFC cannot pause or reserve, at some links."""
        flows = np.bincount(self.routes.places, minlength=len(self.links))
        used, first = distinct(self.routes.places, len(self.links))
        used = used[np.argsort(first)]
        for n in used[suspect[used]].tolist():
            if not self.links[n].shared:
                can_pause(self.links[n], int(flows[n]) * self.buffer_of(n))
            if self._has_to_be_checked[n]:
                rule: Any = self.links[n].discipline
                self._check_classes(n, rule)

    def summary(self) -> dict[str, object]:
        """Return the nodes, links and flows in words, by name."""
        kinds = Counter(type(link.discipline).__name__ for link in self.links)
        rates = sorted({link.rate for link in self.links})
        sources = Counter(type(flow.source).__name__ for flow in self.flows)
        return {
            "name": self.name,
            "nodes": len({node for link in self.links for node in (link.source, link.target)}),
            "links": ", ".join(f"{count} {kind}" for kind, count in kinds.items()),
            "rates": " to ".join(f"{rate:.4g}" for rate in dict.fromkeys((rates[0], rates[-1])))
            + " packets/s",
            "flows": ", ".join(f"{count} {kind}" for kind, count in sources.items()),
            "duration": f"{self.duration:g} s",
        }

    def __str__(self) -> str:
        return table_text(type(self).__name__, self.summary())

    def _check_packet_units(self) -> None:
        """Raise ValueError where a rate or an amount was converted for packets of another size."""
        for link in self.link_table.kinds:
            for part in (link, link.discipline, manager_of(link.discipline)):
                _check_packet_units(f"of link {link.name}", part, self.packet_size)
        for name, column in self.table.columns.items():
            if isinstance(column.values, Routes):  # numbers of flows, of which there may be many
                continue
            for value in column.values:
                if type(value) in WITHOUT_UNITS:
                    continue
                where = f"{name} of a flow" if isinstance(value, float) else f"of a {name}"
                _check_packet_units(where, value, self.packet_size)

    @cached_property
    def table(self) -> Flows:
        """The flows as columns."""
        return Flows.of(self.flows)

    @cached_property
    def link_table(self) -> Links:
        """The links as columns."""
        return Links.of(self.links)

    def by_link(self, value: Callable[[Link], Any]) -> NDArray[Any]:
        """Return what follows from each link without its ends, computed once for each kind, (L,)."""
        return self.link_table.each(value)

    @cached_property
    def routes(self) -> Routes:
        """The links on the path of each flow, by their places in ``links``."""
        table, N = self.table, len(self.table.nodes)
        links = self.link_table
        source, target = links.source, links.target
        if table.nodes is not links.nodes:
            place = dict(zip(table.nodes, range(N), strict=True))
            known_as = np.array([place.get(node, N) for node in links.nodes], dtype=np.int64)
            source, target = known_as[source], known_as[target]
        places, ends_here = table.paths.places, table.paths.begin + table.paths.counts - 1
        inner = np.ones(len(places), dtype=np.bool_)
        inner[ends_here] = False
        at = np.flatnonzero(inner)
        found = places_of(source * (N + 1) + target, places[at] * (N + 1) + places[at + 1])
        if (found < 0).any():
            at = at[found < 0][0]
            self._refuse_path(
                int(np.searchsorted(table.paths.begin, at, side="right")) - 1, int(at)
            )
        return Routes(found, table.paths.counts - 1)

    def _refuse_path(self, f: int, at: int) -> None:
        """Raise ValueError for a flow without a link from a node of its path to the next one."""
        ends = (self.table.nodes[n] for n in self.table.paths.places[at : at + 2])
        names = ", ".join(link.name for link in self.links[:12])
        msg = f"there is no link {'->'.join(map(str, ends))}, must go over {names}"
        raise ValueError(f"path of flow {self.table.name(f)!r}: {msg}")

    def _check_hosts(self) -> None:
        """Raise ValueError for hosts that the first link of a flow cannot serve, weights without an interface, DFC in front of pauses."""
        weighted: Any = False
        if any(weight > 1 for weight in self.table.columns["weight"].values):
            weighted = self.table.numbers("weight") > 1
        if np.any(weighted) and not (given := self.host_is("nic") | ~weighted).all():
            flow = self.flows[int(np.argmin(given))]
            msg = "only network interfaces have weights; use host='nic', or weight=1"
            raise ValueError(f"weight of flow {flow.name!r} = {flow.weight}: {msg}")
        has_any_dfc = any(isinstance(link.discipline, DFC) for link in self.link_table.kinds)
        asks = set(self.table.columns["host"].values) & {"shaped", "nic"}
        for flow in self.flows if self.routes and (has_any_dfc or "shaped" in asks) else ():
            has_dfc = has_any_dfc and isinstance(self.path(flow)[0].discipline, DFC)
            if flow.host == "shaped" and not has_dfc:
                kind = type(self.path(flow)[0].discipline).__name__
                msg = f"{kind} reports no rate to shape to: use host='unshaped' or 'direct'"
                raise ValueError(f"host of flow {flow.name!r} = 'shaped': {msg}")
            if flow.host == "nic" and has_dfc:
                msg = "DFC reports a rate to shape to: use host='shaped', 'unshaped' or 'direct'"
                raise ValueError(f"host of flow {flow.name!r} = 'nic': {msg}")
            for before, link in itertools.pairwise(self.path(flow) if has_any_dfc else ()):
                pausing = isinstance(link.discipline, (Pause, ByClass))
                if pausing and isinstance(before.discipline, DFC):
                    msg = f"DFC cannot feed {link.name}: that link pauses its feeders"
                    raise ValueError(f"discipline of link {before.name!r}: {msg}")

    def _check_byte_buffers(self) -> None:
        """Refuse buffers in bytes that do not hold a packet, or that a pause threshold exceeds."""
        in_bytes = self.by_link(lambda link: isinstance(link.buffer, ByteBuffer))
        for n in np.flatnonzero(in_bytes).tolist():
            link: Any = self.links[n]
            if self.buffer_of(n) < 1.0:
                least = f"must hold a packet, {link.buffer.taken(self.packet_size):g} B"
                raise ValueError(f"buffer of link {link.name!r} = {link.buffer!r}: {least}")
            if link.shared:
                can_pause(link, self.buffer_of(n))

    @property
    def _has_room_by_far(self) -> bool:
        """Whether all links have PFC that counts outputs apart, and buffers for more ingresses than any of them can have."""
        kinds = self.link_table.kinds
        rules: list[Any] = [link.discipline for link in kinds]
        if len(kinds) > FEW_KINDS or not all(isinstance(rule, ByClass) for rule in rules):
            return False
        if any(rule.counts != "output" for rule in rules):
            return False
        hosts = 1 if self.host_is("nic").all() else len(self.flows)
        feeders = int(np.bincount(self.link_table.target).max()) + hosts
        ingresses = feeders * len(set(self.table.columns["priority"].values))
        size = self.packet_size
        most = max(
            rule.room(feeder.rate, feeder.delay, size, link.buffer)
            for rule, link in zip(rules, kinds, strict=True)
            for feeder in kinds
        )
        return bool(
            2.0 * ingresses * most <= min(buffer_in_packets(link.buffer, size) for link in kinds)
        )

    @cached_property
    def _has_to_be_checked(self) -> NDArray[np.bool_]:
        """Whether `_check_classes` may refuse each link; it says why, (L,)."""
        n, u, is_lossless, _ = self._rooms_fed
        is_pfc = self.by_link(lambda link: isinstance(link.discipline, ByClass))
        found = np.zeros(len(self.links), dtype=np.bool_)
        found[n[is_lossless & (u >= 0) & ~is_pfc[np.maximum(u, 0)]]] = True
        found |= self._reserved_alone > self._buffers
        if self._counted_together:
            found |= is_pfc & [link.source in self._counted_together for link in self.links]
        found[self.is_interface] = False
        return found

    @cached_property
    def _rooms_fed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[Any]]:
        """Of each class at each link with PFC, by the link before: both links, whether it is lossless, the room, (N,)."""
        n, u, priority = self._fed
        examples, own = self.link_table.kinds, self.link_table.kind_of
        over = np.where(u >= 0, u, self.routes.first[np.maximum(-1 - u, 0)])
        classes, rank = coded(priority)
        span = len(examples) * len(classes)
        keys = (own[n] * len(examples) + own[over]) * len(classes) + rank
        known, place = coded(keys)
        rooms, are_lossless = np.empty(len(known)), np.empty(len(known), dtype=np.bool_)
        for k, key in enumerate(known.tolist()):
            link = examples[key // span]
            feeder = examples[key % span // len(classes)]
            rule: Any = link.discipline
            are_lossless[k] = int(classes[key % len(classes)]) in rule.classes
            rooms[k] = rule.room(feeder.rate, feeder.delay, self.packet_size, link.buffer)
        return n, u, are_lossless[place], rooms[place]

    @cached_property
    def _reserved_alone(self) -> NDArray[np.float64]:
        """What PFC reserves of the buffer of each link whose packets no other one counts, (L,)."""
        n, u, kept, room = self._rooms_fed
        access = self.access_of(u)
        if (access != u).any():  # of flows that share an access link once
            kept = kept.copy()
            kept[kept] = distinct_rows(n[kept], access[kept], self._fed[2][kept])
        sums = np.bincount(n[kept], room[kept], len(self.links)).astype(np.float64)
        if not self._counted_together:
            return sums * self._buffers / self._buffers
        used = np.flatnonzero(sums)
        sums[used] = [self.part_of_rooms(m, sums[m]) for m in used.tolist()]
        return sums

    @cached_property
    def _buffers(self) -> NDArray[np.float64]:
        """Buffers of the links in packets, (L,)."""
        return self.by_link(lambda link: buffer_in_packets(link.buffer, self.packet_size))

    def _check_classes(self, n: int, rule: ByClass) -> None:
        """Refuse links that cannot stop one class, and buffers too small for what PFC reserves."""
        link = self.links[n]
        for u, ranks in self._classes_fed.get(n, {}).items():
            lossless = ranks & set(rule.classes)
            if u < 0 or not lossless or isinstance(self.links[u].discipline, ByClass):
                continue
            others = self._classes_over[u]
            if len(others) > 1:
                kind = type(self.links[u].discipline).__name__
                msg = f"{link.name} pauses class {min(lossless)} alone, which {kind} cannot among"
                all_ranks = ", ".join(map(str, sorted(others)))
                raise ValueError(
                    f"discipline of link {self.links[u].name!r}: {msg} classes {all_ranks}; use PFC"
                )
        together = self.counted_together(n)
        for m in together:
            own = self.links[m].discipline
            if own is rule:
                continue
            if not isinstance(own, ByClass) or own.shared_part() != rule.shared_part():
                msg = (
                    f"{self.links[m].name} has {own!r}, must be equal except for manager and storm"
                )
                raise ValueError(f"discipline of link {link.name!r} = {rule!r}: {msg}")
        reserved = self.reserved(n)
        if reserved > self.buffer_of(n):
            rooms = len(self.rooms_once(n))
            msg = f"PFC reserves {reserved:g} packets of its buffer for {rooms} ingress queues"
            hint = "increase it, or reduce xoff or headroom"
            has = link.buffer if isinstance(link.buffer, ByteBuffer) else f"{link.buffer:g}"
            raise ValueError(f"buffer of link {link.name!r} = {has}: {msg}; {hint}")

    def counted_together(self, n: int) -> tuple[int, ...]:
        """Return the links whose packets of an ingress PFC counts together, link n among them."""
        if not isinstance(self.links[n].discipline, ByClass) or n in self.interfaces:
            return (n,)
        return self._counted_together.get(self.links[n].source, (n,))

    @cached_property
    def _counted_together(self) -> dict[Node, tuple[int, ...]]:
        """The links with PFC of each node that does not count the packets of each of them apart.

        Interfaces of hosts count nothing.
        """
        found: dict[Node, list[int]] = {}
        together = set()
        rules = [link.discipline for link in self.link_table.kinds]
        if all(getattr(rule, "counts", "output") == "output" for rule in rules):
            return {}
        for n, link in enumerate(self.links):
            if isinstance(link.discipline, ByClass) and n not in self.interfaces:
                found.setdefault(link.source, []).append(n)
                if link.discipline.counts != "output":
                    together.add(link.source)
        return {node: tuple(found[node]) for node in together}

    def reserved(self, n: int) -> float:
        """Return the packets of a link's buffer that PFC reserves for the ingress of lossless classes.

        An access link that flows of a host share (``host="nic"``) has a room for each of its classes. Where several links are counted together each has a part in proportion to its buffer.
        """
        if self.counted_together(n) == (n,):
            return float(self._reserved_alone[n])
        if n not in self._reserved:
            self._reserved[n] = self.part_of_rooms(n, sum(self.rooms_once(n).values()))
        return self._reserved[n]

    @cached_property
    def _reserved(self) -> dict[int, float]:
        return {}

    def rooms(self, n: int) -> dict[tuple[int, int], float]:
        """Return for how many packets there is room, by link that feeds and lossless class, of hosts by flow.

        Of all links that are counted together with link n, whose rooms are one. Flows that share an access link share
        its room; in the fluid each has an access link of its own.
        """
        together = self.counted_together(n)
        return {(u, priority): room for m in together for u, priority, room in self.ingress(m)}

    def rooms_once(self, n: int) -> dict[tuple[int, int], float]:
        """Return what `rooms` does, of flows that share an access link once."""
        rooms = self.rooms(n)
        access = self.access_of(np.array([u for u, _ in rooms], dtype=np.int64)).tolist()
        return {(u, c): room for u, (_, c), room in zip(access, rooms, rooms.values(), strict=True)}

    def access_of(self, feeders: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the names of links that feed others, as of `feeders`, with one for each access link.

        Flows with ``host="nic"`` whose first link is no interface share one, which has the name of the first of them.
        """
        hosts = feeders < 0
        found = feeders.copy()
        found[hosts] = -1 - self._access[-1 - feeders[hosts]]
        return found

    @cached_property
    def _access(self) -> NDArray[np.int64]:
        """The first of the flows that share an access link with each flow, itself among them, (F,)."""
        found = np.arange(len(self.flows))
        rows = np.flatnonzero(self.host_is("nic") & ~self.at_once)
        if rows.size:
            _, first, place = np.unique(
                self.routes.first[rows], return_index=True, return_inverse=True
            )
            found[rows] = rows[first][place.reshape(-1)]
        return found

    def part_of_rooms(self, n: int, rooms: float) -> float:
        """Return how much of the rooms of links that are counted together the buffer of link n holds."""
        return rooms * self.buffer_of(n) / self._buffer_together(n)

    def spare_of_rooms(self, n: int) -> float:
        """Return the packets that the buffers of links that are counted together hold beside their rooms."""
        return self._buffer_together(n) - sum(self.rooms(n).values())

    def _buffer_together(self, n: int) -> float:
        """Return the buffers of the links that are counted together with link n, in all."""
        return sum(self.buffer_of(m) for m in self.counted_together(n))

    def feeders(self, n: int) -> dict[int, tuple[int, ...]]:
        """Return the links over which flows come to link n, and their flows; -1 - flow for its host."""
        return self._feeders.get(n, {})

    def feeding(self, u: int) -> Link:
        """Return the link of a feeder; of a host, whose access link is like it, the first of its flow's path."""
        return self.links[u if u >= 0 else int(self.routes.first[-1 - u])]

    @cached_property
    def _feeders(self) -> dict[int, dict[int, tuple[int, ...]]]:
        found: dict[int, dict[int, list[int]]] = {}
        for f, route in enumerate(self.routes):
            for before, n in itertools.pairwise((-1 - f, *route)):
                found.setdefault(n, {}).setdefault(before, []).append(f)
        return {n: {u: tuple(flows) for u, flows in own.items()} for n, own in found.items()}

    @cached_property
    def _classes_fed(self) -> dict[int, dict[int, set[int]]]:
        """Classes of the flows at each link with PFC, interfaces of hosts apart, by the link before as in `feeders`."""
        found: dict[int, dict[int, set[int]]] = {}
        for n, u, priority in zip(*(column.tolist() for column in self._fed), strict=True):
            found.setdefault(n, {}).setdefault(u, set()).add(priority)
        return found

    @cached_property
    def _fed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Columns of `_classes_fed`: link, the one before, and class, in the order of the flows, (N,)."""
        routes, count, F = self.routes, len(self.links), len(self.flows)
        counts = self.by_link(lambda link: isinstance(link.discipline, ByClass))
        counts[self.is_interface] = False
        before = np.concatenate([[0], routes.places[:-1]]) + F
        before[routes.begin] = F - 1 - np.arange(F)
        classes, rank = coded(self.table.numbers("priority").astype(np.int64))
        flow = routes.flow
        examples = []  # hops that differ in links and class, each the first of its kind
        for at, low, span in (
            (np.flatnonzero(counts[routes.places] & (before >= F)), F, count),
            (np.flatnonzero(counts[routes.places] & (before < F)), 0, F),
        ):
            keys = (routes.places[at] * span + before[at] - low) * len(classes)
            keys += rank[flow[at]]
            examples.append(at[distinct(keys, count * span * len(classes))[1]])
        own = np.sort(np.concatenate(examples))
        priority = classes[rank[flow[own]]]
        return routes.places[own].astype(np.int64), before[own] - F, priority

    @cached_property
    def _classes_over(self) -> dict[int, set[int]]:
        """Classes of the flows over each link."""
        classes, rank = coded(self.table.numbers("priority").astype(np.int64))
        keys = self.routes.places * len(classes) + rank[self.routes.flow]
        found: dict[int, set[int]] = {}
        for key in present(keys, len(self.links) * len(classes)).tolist():
            n, number = divmod(key, len(classes))
            found.setdefault(n, set()).add(int(classes[number]))
        return found

    def ingress(self, n: int) -> list[tuple[int, int, float]]:
        """Return what a link with PFC counts: links that feed it, lossless classes, and packets that fit.

        Links as from `feeders`; of a host it is its access link, like the first link of the path.
        """
        return self._ingress.get(n, [])

    @cached_property
    def _ingress(self) -> dict[int, list[tuple[int, int, float]]]:
        """Ingresses of each link with PFC: the links before in the order of the flows, of each the classes in order."""
        found: dict[int, dict[int, list[tuple[int, float]]]] = {}
        columns = (*self._rooms_fed, self._fed[2])
        for n, u, is_lossless, room, priority in zip(*(c.tolist() for c in columns), strict=True):
            own = found.setdefault(n, {}).setdefault(u, [])
            if is_lossless:
                own.append((priority, room))
        return {
            n: [(u, *each) for u, own in feeders.items() for each in sorted(own)]
            for n, feeders in found.items()
        }

    def host_of(self, flow: Flow) -> str:
        """Return how a flow's packets enter the network: its ``host``; where that is None what its first link asks for.

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
        first = self.links[self.path_index(flow)[0]]
        return "nic" if isinstance(first.discipline, (Pause, ByClass, BFC)) else "direct"

    @cached_property
    def is_interface(self) -> NDArray[np.bool_]:
        """Whether each link is the interface of a host: it begins at a node from which flows only start, all by ``"nic"``, (L,)."""
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
    def followers(self) -> Followers:
        """Which flows wait for which."""
        return followers_of(self.table)

    @cached_property
    def derived(self) -> dict[Hashable, Any]:
        """What runs have derived from the scenario alone and keep for its further runs, by their keys."""
        return {}

    def host_is(self, kind: str) -> NDArray[np.bool_]:
        """Return for which flows `host_of` is of some kind, shape (F,); read-only."""
        found: NDArray[np.bool_] | None = self._hosts.get(kind)
        if found is None:
            found = self._hosts[kind] = self._find_hosts(kind)
            found.flags.writeable = False
        return found

    @cached_property
    def _hosts(self) -> dict[str, NDArray[np.bool_]]:
        """What `host_is` has found."""
        return {}

    def _find_hosts(self, kind: str) -> NDArray[np.bool_]:
        """Return for which flows `host_of` is of some kind, shape (F,)."""
        pauses = self.by_link(lambda link: isinstance(link.discipline, (Pause, ByClass, BFC)))
        asked = {"nic": pauses, "direct": ~pauses}.get(kind, np.zeros_like(pauses))
        if set(self.table.columns["host"].values) == {None}:
            return np.asarray(asked[self.routes.first])
        own = self.table.each("host", lambda host: host == kind)
        given = self.table.each("host", lambda host: host is not None)
        return np.asarray(np.where(given, own, asked[self.routes.first]))

    @cached_property
    def at_once(self) -> NDArray[np.bool_]:
        """Whether `enters_at_once` is true of each flow, shape (F,)."""
        by_nic = self.host_is("nic") & self.is_interface[self.routes.first]
        return np.asarray(self.host_is("direct") | by_nic)

    def enters_at_once(self, flow: Flow) -> bool:
        """Return whether a flow's packets enter the queue of its first link without an access link before it."""
        host = self.host_of(flow)
        return host == "direct" or (host == "nic" and self.path_index(flow)[0] in self.interfaces)

    def room_of(self, n: int) -> float:
        """Return for how many packets a link has room: its buffer, or as many as come at an interface of a host."""
        return math.inf if n in self.interfaces else self.buffer_of(n)

    def buffer_of(self, n: int) -> float:
        """Return the buffer of a link in packets of ``packet_size`` bytes, also where it counts bytes.

        Examples
        --------
        >>> from dfcmodel import ByteBuffer, CBR, Flow, Scenario, chain
        >>> links = chain(2, rate=1e4, delay=1e-3, buffer=ByteBuffer("60 kB"))
        >>> Scenario("bytes", links, [Flow("a", (1, 2), CBR(1e3))]).buffer_of(0)
        40.0
        """
        return buffer_in_packets(self.links[n].buffer, self.packet_size)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes, in the order in which the links name them."""
        return self.link_table.nodes

    @cached_property
    def senders(self) -> tuple[Node, ...]:
        """The nodes that have a link to send over, in the order of the links."""
        table = self.link_table
        known, first = distinct(table.source, len(table.nodes))
        return tuple(table.nodes[n] for n in known[np.argsort(first)].tolist())

    def link(self, source: Node, target: Node) -> Link:
        """Return the link from one node to another; KeyError where there is none."""
        return self.links[self.link_table.places[source, target]]

    def path(self, flow: Flow) -> tuple[Link, ...]:
        """Return the links that a flow crosses, in order."""
        return tuple(self.links[n] for n in self.path_index(flow))

    def path_index(self, flow: Flow) -> tuple[int, ...]:
        """Return the indices in `links` of the links that a flow crosses, in order."""
        found = self._paths.get(flow.path)
        if found is None:
            found = self._paths[flow.path] = tuple(self.link_table.places[hop] for hop in flow.hops)
        return found

    @cached_property
    def _paths(self) -> dict[tuple[Node, ...], tuple[int, ...]]:
        """The indices of links by path, as far as they have been asked for."""
        return {}

    def on_path(self, values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of some values of the links over the path of each flow, shape (F,)."""
        given = np.asarray(values, dtype=np.float64)[self.routes.places]
        sums = np.bincount(self.routes.flow, given, minlength=len(self.flows))
        return sums.astype(np.float64)

    def base_rtt(self, flow: Flow) -> float:
        """Return the round-trip propagation delay of a flow in s, its access link included."""
        links = self.path(flow)
        access = 0.0 if self.enters_at_once(flow) else links[0].delay
        return 2.0 * (access + sum(link.delay for link in links))

    def base_rtts(self) -> NDArray[np.float64]:
        """Return `base_rtt` of all flows, s, shape (F,)."""
        delays = self.by_link(lambda link: link.delay)
        access = np.where(self.at_once, 0.0, delays[self.routes.first])
        return 2.0 * (access + self.on_path(delays))

    def like_links(self) -> Link:
        """Return the first link if all links are equal except for their ends; else ValueError."""
        first = self.links[0]
        for link in self.links:
            for key in ("rate", "delay", "buffer", "discipline", "shared"):
                if getattr(link, key) != getattr(first, key):
                    msg = f"{link.name} has {getattr(link, key)!r}, {first.name} has"
                    raise ValueError(f"{key}: links must be equal, {msg} {getattr(first, key)!r}")
        return first

    def to_networkx(self) -> nx.DiGraph[Any]:
        """Return the graph; edges carry rate, delay, buffer, discipline and shared."""
        import networkx as nx

        graph: nx.DiGraph[Any] = nx.DiGraph(name=self.name)
        for link in self.links:
            graph.add_edge(
                link.source, link.target, rate=link.rate, delay=link.delay, buffer=link.buffer,
                discipline=link.discipline, shared=link.shared,
            )  # fmt: skip
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
    """Return the links of a directed graph.

    Parameters
    ----------
    graph
        Edges may carry ``rate`` (packets/s), ``delay`` (s), ``buffer`` (packets, or a `ByteBuffer`), ``discipline``
        and ``shared``. Each edge of an undirected graph becomes two links.
    rate, delay, buffer, discipline, shared
        Values for edges without that attribute; None: there is no other value.

    Raises
    ------
    ValueError
        Naming the edge and the missing attribute.

    Examples
    --------
    >>> import networkx as nx
    >>> links = from_networkx(nx.path_graph(3), rate=1000.0, delay=0.01, buffer=50)
    >>> [link.name for link in links]
    ['0->1', '1->0', '1->2', '2->1']
    """
    keys = ("rate", "delay", "buffer", "discipline", "shared")
    defaults = dict(zip(keys, (rate, delay, buffer, discipline, shared), strict=True))
    import networkx as nx

    instance("graph", graph, nx.Graph, "a graph of networkx")
    links = []
    for source, target, data in graph.to_directed().edges(data=True):
        given = {key: data.get(key, defaults.get(key)) for key in keys}
        for key in keys[:3]:
            if given[key] is None:
                raise ValueError(f"{key} of edge {source}->{target} is missing: must be given")
        links.append(Link(source, target, **{k: v for k, v in given.items() if v is not None}))
    return tuple(links)


def _check_packet_units(where: str, part: object, packet_size: float) -> None:
    """Raise ValueError for a number, or a field of an object, that holds for packets of another size."""
    named: dict[str, object] = {"": part} if isinstance(part, float) else {}
    if isinstance(part, Parametrized):
        named = part.params._asdict()
    elif dataclasses.is_dataclass(part):
        named = {each.name: getattr(part, each.name) for each in dataclasses.fields(part)}
    for name, value in named.items():
        if isinstance(value, PacketUnits) and value.packet_size != packet_size:
            given = f"{name} {where} = {value:g}".strip()
            said = (
                f"was given in bits or bytes, for packets of {value.packet_size:g} bytes, and the scenario has "
                f"packet_size = {packet_size:g}: write a number, such as mbps(24, packet_size={packet_size:g})"
            )
            raise ValueError(f"{given}: {said}")


def _distinct(what: str, names: Collection[str]) -> None:
    """Raise ValueError for the first name that occurs a second time."""
    if len(set(names)) == len(names):
        return
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{what}: {name!r} occurs twice, names must differ")
        seen.add(name)

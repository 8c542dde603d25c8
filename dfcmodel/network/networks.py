"""Networks: directed links between named nodes, and scenarios of flows across them."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import Column, Routes, distinct
from dfcmodel.network.flow_tables import Flows, choose_together
from dfcmodel.network.flows import Flow
from dfcmodel.network.ingresses import Ingresses
from dfcmodel.network.links import Link, Links, can_pause
from dfcmodel.network.path_elements import PathElement, check_elements
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.disciplines import Discipline
from hopflow.checks import instance, instances, one_number, plain_number
from hopflow.parameters import in_packets_of
from hopflow.results import table_text
from hopflow.tcp_constants import MIN_RTO
from hopflow.units import PacketUnits, WithUnit, declares, in_units, quantities, whole_packets
from responsefn import RateRule
from responsefn.rules.rates.rate_rule import needs_base_rtt, with_base_rtt

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import NDArray

__all__ = ["EDGE_ATTRIBUTES", "Scenario", "from_networkx"]

EDGE_ATTRIBUTES = ("rate", "delay", "buffer", "discipline", "shared")
"""Attributes of the edges of a graph that `from_networkx` reads; the first three must be given."""
LONGEST_RUN = 1e5
"""Largest simulated time, s."""
WITHOUT_UNITS = frozenset((float, int, bool, str, tuple, type(None)))
"""Types of values without units; values in bits or bytes are or contain a `PacketUnits`."""
OBJECTS = ("source", "arrivals", "receiver")
"""Options of flows that are objects with parameters."""


@quantities(duration="time", min_rto="time", packet_size="size")
@dataclass(frozen=True)
class Scenario(Ingresses):
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
        Bytes per packet, for quantities in bits or bytes: pause quanta, buffers and RED in bytes, the headroom of PFC,
        and the parameters of rules in bits or bytes, such as the defaults of `responsefn.DCQCN`. Values in bits or
        bytes are converted to packets of this size: strings such as ``rate="10Gbps"``, ``mbps(24)``, sizes in bytes of
        flows from files, the links of a `Fabric`. Numbers remain packets and packets/s.
    elements
        Effects of paths on packets other than queueing: `Jitter`, `DelayTrace`, `Reordering`, `Aggregation`, `Policer`,
        `BurstLoss`, `PeriodicLoss` and `RateTrace`. Each belongs to a link. The elements of one link act in the order
        of the list, before its queue. At packet level; the fluid has `RateTrace` and `DelayTrace`.

    Raises
    ------
    ValueError
        For no links or flows, paths over unknown links, and disciplines, hosts or classes that do not fit together. For
        values that hold only for packets of another size, such as the sum of a bit rate and a number.

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
            object.__setattr__(self, "flows", choose_together(instances("flows", self.flows, Flow)))
        run_end(self)
        one_number("min_rto", self.min_rto, above=0.0, at_most=100.0, hint="in s")
        one_number("packet_size", self.packet_size, above=0.0, hint="in bytes")
        for name in ("duration", "min_rto", "packet_size"):
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        self._convert_links()
        for name, column in self.table.columns.items():
            self._convert_flows(name, column)
        by_rate = any(isinstance(source, RateRule) for source in self.table.columns["source"].values)
        if not self.links:
            raise ValueError("links = (): at least one link is needed")
        if not len(self.flows):
            raise ValueError("flows = (): at least one flow is needed")
        if not self.link_table.have_distinct_names:
            _distinct("links", self.link_table.names)
        if self.table.are_named:
            _distinct("flows", list(self.table.names))
        if self.table.waits.any():
            _ = self.followers
        self._check_hosts()
        if by_rate:
            self._set_base_rtts()
        if not isinstance(self.elements, tuple) or self.elements:
            elements = instances("elements", self.elements, PathElement)
            size = self.packet_size
            converted = (_in_packets(f"of link {element.link}", element, size) for element in elements)
            object.__setattr__(self, "elements", tuple(converted))
            check_elements(self)
        kinds = self.link_table.kinds
        queues = {n.discipline.queue_per: n.name for n in kinds if n.discipline.diffuses}
        if len(queues) > 1:
            msg = f"must be that of all links with DFC, but is 'flow' on {queues['flow']}"
            raise ValueError(f"per of link {queues['input']!r} = 'input': {msg}")
        self._check_byte_buffers()
        suspect = ~self.by_link(lambda link: link.shared)
        by_class = any(link.discipline.queue_per == "class" for link in kinds)
        if by_class and not self._has_room_by_far:
            suspect |= self._has_to_be_checked
        if suspect.any():
            self._check_buffers(suspect)

    def _check_buffers(self, suspect: NDArray[np.bool_]) -> None:
        """Raise ValueError for unreachable pause thresholds and impossible pauses or reservations of PFC."""
        flows = np.bincount(self.routes.places, minlength=len(self.links))
        used, first = distinct(self.routes.places, len(self.links))
        used = used[np.argsort(first)]
        for n in used[suspect[used]].tolist():
            if not self.links[n].shared:
                can_pause(self.links[n], int(flows[n]) * self.buffer_of(n))
            if self._has_to_be_checked[n]:
                rule: Any = self.links[n].discipline
                self._check_classes(n, rule)

    def _convert_links(self) -> None:
        """Convert values of links in bits or bytes to packets of this scenario."""
        table = self.link_table
        kinds = [_in_packets(f"of link {kind.name}", kind, self.packet_size) for kind in table.kinds]
        if all(a is b for a, b in zip(kinds, table.kinds, strict=True)):
            return
        table = Links(table.nodes, table.source, table.target, kinds, table.kind_of)
        self.__dict__["link_table"] = table
        object.__setattr__(self, "links", table if isinstance(self.links, Links) else tuple(table))

    def _convert_flows(self, name: str, column: Column) -> None:
        """Convert an option of the flows from bits or bytes to packets of this scenario."""
        if isinstance(column.values, Routes) or WITHOUT_UNITS.issuperset(map(type, column.values)):
            return
        where, size = f"of a {name}" if name in OBJECTS else "of a flow", self.packet_size

        def convert(value: Any) -> Any:
            if type(value) in WITHOUT_UNITS:
                return value
            if isinstance(value, PacketUnits) and name == "size":
                value = _in_packets(f"{name} {where}", value, size)
                return whole_packets(value)
            label = f"{name} {where}" if isinstance(value, float) else where
            return _in_packets(label, value, size)

        self._set_column(name, column.map(convert))

    def _set_column(self, name: str, replacement: Column) -> None:
        """Replace an option of the flows by values that are valid."""
        column = self.table.columns[name]
        if all(a is b for a, b in zip(column.values, replacement.values, strict=True)):
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
        """Set the longest round-trip time without queues in rate rules that need it."""
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
        """Whether summaries and pictures show the efficiency of takano2006, the criterion of its scenarios."""
        return self.name.startswith("takano2006/")

    def summary(self) -> dict[str, object]:
        """Return a text description of nodes, links and flows."""
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

    def _check_hosts(self) -> None:
        """Raise ValueError for hosts or weights that a first link cannot serve, and for DFC in front of pauses."""
        weighted: Any = False
        if any(weight > 1 for weight in self.table.columns["weight"].values):
            weighted = self.table.numbers("weight") > 1
        if np.any(weighted) and not (is_possible := self.host_is("nic") | ~weighted).all():
            flow = self.flows[int(np.argmin(is_possible))]
            msg = "only network interfaces have weights; use host='nic', or weight=1"
            raise ValueError(f"weight of flow {flow.name!r} = {flow.weight}: {msg}")
        has_any_dfc = any(link.discipline.diffuses for link in self.link_table.kinds)
        asks = set(self.table.columns["host"].values) & {"shaped", "nic"}
        for flow in self.flows if self.routes and (has_any_dfc or "shaped" in asks) else ():
            has_dfc = has_any_dfc and self.path(flow)[0].discipline.diffuses
            if flow.host == "shaped" and not has_dfc:
                kind = type(self.path(flow)[0].discipline).__name__
                msg = f"{kind} reports no rate to shape to: use host='unshaped' or 'direct'"
                raise ValueError(f"host of flow {flow.name!r} = 'shaped': {msg}")
            if flow.host == "nic" and has_dfc:
                msg = "DFC reports a rate to shape to: use host='shaped', 'unshaped' or 'direct'"
                raise ValueError(f"host of flow {flow.name!r} = 'nic': {msg}")
            for before, link in itertools.pairwise(self.path(flow) if has_any_dfc else ()):
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
                raise ValueError(f"buffer of link {link.name!r} = {link.buffer!r}: {limit}")
            if link.shared:
                can_pause(link, self.buffer_of(n))

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
        Values for edges without that attribute; None: no default.

    Raises
    ------
    ValueError
        Naming the edge and the missing attribute, or a ``cable``, which a `Fabric` reads.

    Examples
    --------
    >>> import networkx as nx
    >>> links = from_networkx(nx.path_graph(3), rate=1000.0, delay=0.01, buffer=50)
    >>> [link.name for link in links]
    ['0->1', '1->0', '1->2', '2->1']
    """
    defaults = dict(zip(EDGE_ATTRIBUTES, (rate, delay, buffer, discipline, shared), strict=True))
    import networkx as nx

    instance("graph", graph, nx.Graph, "a graph of networkx")
    links = []
    for source, target, data in graph.to_directed().edges(data=True):
        attributes = {key: data.get(key, defaults.get(key)) for key in EDGE_ATTRIBUTES}
        if "cable" in data:
            raise ValueError(
                f"cable of edge {source}->{target}: is read by Fabric alone; give the edge a rate and a delay"
            )
        for key in EDGE_ATTRIBUTES[:3]:
            if attributes[key] is None:
                raise ValueError(f"{key} of edge {source}->{target} is missing: must be given")
        links.append(Link(source, target, **{k: v for k, v in attributes.items() if v is not None}))
    return tuple(links)


def run_end(scenario: Scenario, duration: Any = None) -> float:
    """Return the validated simulated time of a run, s; None: the scenario's duration."""
    requested = scenario.duration if duration is None else in_units("duration", duration, "time")
    return one_number("duration", requested, above=0.0, at_most=LONGEST_RUN, hint="in s")


def _with_option(flow: Flow, name: str, value: Any) -> Flow:
    """Return a flow with another valid value of an option."""
    if getattr(flow, name) is value:
        return flow
    changed = copy.copy(flow)
    object.__setattr__(changed, name, value)
    return changed


def _in_packets(where: str, part: Any, size: float) -> Any:
    """Return a part of a scenario in packets of its size; ValueError names the part."""
    try:
        return in_packets_of(part, size)
    except ValueError as error:
        hint = f"packets of {size:g} bytes: give a number of these, or bits or bytes alone"
        raise ValueError(f"{where}: {error}; the scenario has {hint}") from None


def _distinct(kind: str, names: Collection[str]) -> None:
    """Raise ValueError for the first duplicate name."""
    if len(set(names)) == len(names):
        return
    visited: set[str] = set()
    for name in names:
        if name in visited:
            raise ValueError(f"{kind}: {name!r} occurs twice, names must differ")
        visited.add(name)

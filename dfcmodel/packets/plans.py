"""Plan of a packet-level run, common to the engine and its oracle: pauses, lossless buffers, rate reports and faults of ports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.columns import present
from dfcmodel.network.queueing.backpressure import BFC
from dfcmodel.network.queueing.class_pauses import ALL, CLASSES, PFC, ByClass
from dfcmodel.network.queueing.disciplines import DFC, Pause
from dfcmodel.packets.hops import Ingresses, arrivals_of
from dfcmodel.packets.paths import PathPlan, path_of
from dfcmodel.packets.ports import has_lanes
from dfcmodel.packets.routed_plans import RoutedPlan, kept
from dfcmodel.packets.routing import choices_of, routing_ports
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Clock", "Plan"]

PHASES = 2006
"""What tells the random phases of clocks from all other random numbers."""
QUANTUM = 512.0
"""Bits of the paused link in a pause quantum (IEEE 802.3, 31B.2)."""


class Clock(NamedTuple):
    """A clock of diffusion-type flow control: the node after port ``to`` reports about port ``of``, which it feeds.

    It reports first at time ``first`` and then once per ``period``, s, for which the report is under way;
    ``keys`` are the flows that go over both ports, each with whether it is its ACKs. Without a
    port that reports, ``of`` is -1, and port ``to`` merely adjusts its rates at these times.
    """

    of: int
    to: int
    first: float
    period: float
    keys: tuple[tuple[int, bool], ...]


class Plan(RoutedPlan):
    """Numerical form of a scenario: `RoutedPlan`, and its pauses, lossless buffers, clocks of rates, and faults."""

    def pausable(self, p: int) -> tuple[int, ...]:
        """Return the ports that port p may pause, with all that they carry or by class.

        They are the links and access links over which its flows arrive.
        """
        return self._pausable.get(p, ())

    @cached_property
    def _pausable(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for p, q in zip(*(each.tolist() for each in self.pauses), strict=True):
            found.setdefault(p, []).append(q)
        return {p: tuple(paused) for p, paused in found.items()}

    @kept
    def pauses(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ports that pause others, and which ones, each pair once and in order, (N,) each."""
        if not self.has(Pause, ByClass, BFC):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        P, hops, table = len(self.ports), self.hops, self.ingresses
        counted = table.before >= 0
        pairs = table.port[counted] * P + table.before[counted]
        if self.under(Pause):
            whole = self.by_discipline(lambda each: each.pauses == "link")[hops.port]
            rows = np.flatnonzero(whole & ~hops.is_ack & ~hops.begins)
            pairs = np.append(pairs, hops.port[rows] * P + hops.before[rows])
        if self.under(BFC):
            stops = self.by_discipline(lambda each: each.pauses == "flow")[hops.port]
            rows = np.flatnonzero(stops & ~hops.is_ack & ~hops.begins)
            pairs = np.append(pairs, hops.port[rows] * P + hops.before[rows])
        asks, paused = np.divmod(present(pairs, P * P), P)
        return asks, paused

    @kept
    def signalling(self) -> Floats:
        """Delay of the pause messages of each port besides propagation, s, (P,)."""
        return self.by_discipline(lambda each: float(getattr(each, "signalling", 0.0)))

    @kept
    def thresholds(self) -> Floats:
        """Above which and down to which ports pause others, (P, 2).

        They are in bytes under PFC and where buffers count bytes, in packets elsewhere.
        """
        if not self.has(Pause, PFC):
            return np.zeros((len(self.ports), 2))
        limits = self.by_discipline(lambda each: each.thresholds)
        unit = self.by_discipline(lambda each: self.sizes[0] if each.pauses == "class" else 1.0)
        found: Floats = limits * np.where(self.cells > 0, self.units, unit)[:, np.newaxis]
        return found

    @kept
    def with_lanes(self) -> NDArray[np.bool_]:
        """Whether each port has lanes: of its own, or because it can be paused, (P,)."""
        found = self.by_discipline(has_lanes)
        found[self.pauses[1]] = True
        found[self.errors > 0.0] = True
        if self.scenario.elements:
            found |= self.path.at_ports(self.hops.port)
        found[[p for p, times in enumerate(self.down_times) if times]] = True
        found[list(self.routing)] = True
        return found

    @cached_property
    def down_times(self) -> list[tuple[tuple[float, float], ...]]:
        """When the link of each port is down, from and until in s, (P,)."""
        given, P = self.method.failures or {}, len(self.ports)
        names = self.scenario.link_table.names if given else []
        found = [tuple(given.get(name, ())) for name in names]
        return [*found, *[()] * (P - len(found))]

    @kept
    def choices(self) -> dict[int, tuple[int, ...]]:
        """Rows of the hops among which a switch chooses, besides the one of the key; none at that where a time to live is over."""
        limited = self.scenario.table.given("ttl").any()
        return choices_of(self) if limited or self.spraying is not None else {}

    @kept
    def routing(self) -> dict[int, tuple[int, ...]]:
        """Ports at which switches route packets, each with all those that are processed with it as one, in order."""
        return routing_ports(self) if self.choices else {}

    @kept
    def path(self) -> PathPlan:
        """Return what stands in front of the queues of ports."""
        return path_of(self)

    @property
    def retry_loops(self) -> Floats:
        """Time from the end of a frame until its link acts on a request that it causes, s, (P,)."""
        return 2.0 * self.delays + self.method.retry_delay

    @cached_property
    def clocks(self) -> list[Clock]:
        """The clocks of all ports with diffusion-type flow control; phases are those of nodes."""
        rated = self.under(DFC)
        if not rated:
            return []
        nodes = self.scenario.nodes
        drawn = np.random.default_rng([self.method.seed or 0, PHASES]).random(len(nodes))
        phases = dict(zip(nodes, drawn.tolist(), strict=True))
        found = []
        for p in rated:
            port: Any = self.ports[p]
            first = phases[port.target] * port.delay if port.discipline.phases == "random" else 0.0
            fed: dict[int, list[tuple[int, bool]]] = {}
            for f, is_ack in self.users(p):
                route = (self.backward if is_ack else self.forward)[f]
                after = route[route.index(p) + 1 :][:1]
                if after and self.ports[after[0]].discipline.diffuses:
                    fed.setdefault(after[0], []).append((f, is_ack))
            found += [Clock(q, p, first, port.delay, tuple(fed.get(q, ()))) for q in sorted(fed) or [-1]]
        return found

    def pause_time(self, p: int, q: int) -> float:
        """Return for how long a message of port p pauses port q, s; 0: until the next message."""
        quanta = getattr(self.ports[p].discipline, "quanta", None)
        return (quanta or 0) * QUANTUM / self.ports[q].bits

    @property
    def scheduled(self) -> int:
        """Number of pause messages by faults and of polls of watchdogs that are scheduled before a run."""
        return len(self.storms()) + len(self.fault_messages()) + len(self.watchdogs)

    def fault_messages(self) -> list[tuple[int, int, int, float, bool]]:
        """Return messages of faults that end: asking port, port, class, time of effect in s, and whether to pause."""
        return [
            (fault.port, q, c, time + way, pause)
            for fault in self.faults
            for q, c, way in self.faulty_pauses(fault.port)
            for time, pause in ((fault.begin, True), (fault.end, False))
        ]

    def storms(self) -> list[tuple[int, int, int, float]]:
        """Return pauses for ever of ports with a fault: asking port, paused one, class, and when they take effect, s."""
        found: list[tuple[int, int, int, float]] = []
        if all(getattr(each, "storm", None) is None for each in self.disciplines):
            return found
        begins = self.by_discipline(lambda each: getattr(each, "storm", None))
        for p, begin in enumerate(begins.tolist()):
            if begin is not None:
                found += [(p, q, c, begin + way) for q, c, way in self.faulty_pauses(p)]
        return found

    def faulty_pauses(self, p: int) -> list[tuple[int, int, float]]:
        """Return what port p pauses by a fault: port, class, and the time until it takes effect, s."""
        rule: Any = self.ports[p].discipline
        if not any(rule.thresholds):
            return []
        if rule.pauses == "class":
            paused = [key for key in self.ingress(p) if key[0] >= 0]
        else:
            paused = [(q, ALL) for q in self.pausable(p)]
        return [(q, c, self.ports[q].delay + rule.signalling) for q, c in paused]

    def ingress(self, p: int) -> dict[tuple[int, int], float]:
        """Return for how many packets port p has room, by the port over which they come and class.

        Of a host without access link it is -1 - flow.
        """
        return self._ingress.get(p, {})

    @cached_property
    def _ingress(self) -> dict[int, dict[tuple[int, int], float]]:
        found: dict[int, dict[tuple[int, int], float]] = {}
        for p, before, priority, room in zip(*map(np.ndarray.tolist, self.ingresses), strict=True):
            found.setdefault(p, {})[before, priority] = room
        return found

    @kept
    def counted(self) -> NDArray[np.bool_]:
        """Whether the port at each hop counts the packets that take it, those of a lossless class, (H,)."""
        rules: list[Any] = self.disciplines
        lossless = [rule.classes if rule.queue_per == "class" else () for rule in rules]
        hops, own = self.hops, self._disciplines[1]
        if not any(lossless):
            return np.zeros(len(hops.port), dtype=np.bool_)
        table = np.zeros((len(rules), CLASSES + 1), dtype=np.bool_)  # the last of no class
        for row, classes in zip(table, lossless, strict=True):
            row[list(classes)] = True
        ranks, rows = self._lossless_ranks, own[hops.port]
        of_class = ranks[0] if (ranks == ranks[0]).all() else ranks[hops.flow]
        is_link = hops.port < len(self.scenario.links)
        return np.asarray(table[rows, of_class] & is_link & ~hops.is_ack)

    @property
    def _lossless_ranks(self) -> NDArray[np.int64]:
        """Class of each flow among those that can be lossless; `CLASSES`: it is none of them, (F,)."""
        ranks = self.priorities
        return np.where((ranks >= 0) & (ranks < CLASSES), ranks, CLASSES)

    @kept
    def ingresses(self) -> Ingresses:
        """Return what ports with lossless classes count, each ingress and class once."""
        rules: list[Any] = self.disciplines
        if not any(rule.queue_per == "class" for rule in rules):
            none = np.empty(0, dtype=np.int64)
            return Ingresses(none, none, none, np.empty(0))
        links, own = self.scenario.link_table, self._disciplines[1]
        port, before, priority = arrivals_of(self.hops, self.counted, self._lossless_ranks)
        over = np.where((before < 0) | (before >= len(links)), port, before)  # access like first
        by_link, size = self.scenario.by_link, self.scenario.packet_size
        rate, delay = by_link(lambda link: link.rate)[over], by_link(lambda link: link.delay)[over]
        room = np.empty(len(port))
        buffers = list(dict.fromkeys(link.buffer for link in links.kinds))
        place = {buffer: k for k, buffer in enumerate(buffers)}
        kind = own[port] * len(buffers) + by_link(lambda link: place[link.buffer])[port]
        for key in present(kind, len(rules) * len(buffers)).tolist():
            rows, (n, k) = kind == key, divmod(key, len(buffers))
            room[rows] = rules[n].room(rate[rows], delay[rows], size, buffers[k])
        return Ingresses(port, before, priority, room)

    @kept
    def counting(self) -> tuple[tuple[int, ...], ...]:
        """Ports whose packets of an ingress each port counts, itself among them, (P,)."""
        if self._counts_apart:
            return tuple((p,) for p in range(len(self.ports)))
        place = {port.link: p for p, port in enumerate(self.ports) if port.link >= 0}
        return tuple(
            tuple(place[n] for n in self.scenario.counted_together(port.link)) if port.link >= 0 else (p,)
            for p, port in enumerate(self.ports)
        )

    @kept
    def counters(self) -> NDArray[np.int64]:
        """Port that counts the packets of an ingress for each port: the first of those of `counting`, (P,)."""
        if self._counts_apart:
            return np.arange(len(self.ports))
        return np.array([ports[0] for ports in self.counting])

    @kept
    def counts_together(self) -> NDArray[np.bool_]:
        """Whether several ports count the packets of an ingress together with each port, (P,)."""
        if self._counts_apart:
            return np.zeros(len(self.ports), dtype=np.bool_)
        return np.array([len(ports) > 1 for ports in self.counting])

    @property
    def _counts_apart(self) -> bool:
        """Whether each port counts its own packets."""
        return all(getattr(each, "counts", "output") == "output" for each in self.disciplines)

    def pool(self, p: int) -> float:
        """Return for how many packets of classes that are never paused port p has room."""
        port = self.ports[p]
        room = port.room / self.units[p] if port.cell else float(port.room)
        return room - (self.scenario.reserved(port.link) if port.link >= 0 else 0.0)

"""What links with priority flow control count of the links that feed them, and reserve of their buffers.

An ingress of a link is a link before it with the packets of one class. PFC reserves room for those of lossless classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import coded, distinct, distinct_rows, present
from dfcmodel.network.links import Node, buffer_in_packets
from dfcmodel.network.queueing.buffers import ByteBuffer
from dfcmodel.network.queueing.class_pauses import ByClass
from dfcmodel.network.routed_flows import RoutedFlows
from hopflow.fork_safety import cached_property
from hopflow.units import readable_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Ingresses"]

FEW_KINDS = 4
"""Kinds of links up to which the room that PFC may reserve at one is found from all pairs of them."""


class Ingresses(RoutedFlows):
    """Rooms and checks of priority flow control in a network."""

    def counted_together(self, n: int) -> tuple[int, ...]:
        """Return the links whose packets of an ingress PFC counts together, link n among them."""
        if self.links[n].discipline.queue_per != "class" or n in self.interfaces:
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
            rule: Any = link.discipline
            if rule.queue_per == "class" and n not in self.interfaces:
                found.setdefault(link.source, []).append(n)
                if rule.counts != "output":
                    together.add(link.source)
        return {node: tuple(found[node]) for node in together}

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
        return {n: [(u, *each) for u, own in feeders.items() for each in sorted(own)] for n, feeders in found.items()}

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

    def part_of_rooms(self, n: int, rooms: float) -> float:
        """Return how much of the rooms of links that are counted together the buffer of link n holds."""
        return rooms * self.buffer_of(n) / self._buffer_together(n)

    def spare_of_rooms(self, n: int) -> float:
        """Return the packets that the buffers of links that are counted together hold beside their rooms."""
        return self._buffer_together(n) - sum(self.rooms(n).values())

    def _buffer_together(self, n: int) -> float:
        """Return the buffers of the links that are counted together with link n, in all."""
        return sum(self.buffer_of(m) for m in self.counted_together(n))

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
    def _fed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Columns of `_classes_fed`: link, the one before, and class, in the order of the flows, (N,)."""
        routes, count, F = self.routes, len(self.links), len(self.flows)
        counts = self.by_link(lambda link: link.discipline.queue_per == "class")
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
    def _classes_fed(self) -> dict[int, dict[int, set[int]]]:
        """Classes of the flows at each link with PFC, interfaces of hosts apart, by the link before as in `feeders`."""
        found: dict[int, dict[int, set[int]]] = {}
        for n, u, priority in zip(*(column.tolist() for column in self._fed), strict=True):
            found.setdefault(n, {}).setdefault(u, set()).add(priority)
        return found

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

    @property
    def _has_room_by_far(self) -> bool:
        """Whether all links have PFC that counts outputs apart, and buffers for more ingresses than any of them can have."""
        kinds = self.link_table.kinds
        rules: list[Any] = [link.discipline for link in kinds]
        if len(kinds) > FEW_KINDS or not all(rule.queue_per == "class" for rule in rules):
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
        return bool(2.0 * ingresses * most <= min(buffer_in_packets(link, size) for link in kinds))

    @cached_property
    def _has_to_be_checked(self) -> NDArray[np.bool_]:
        """Whether `_check_classes` may refuse each link; it says why, (L,)."""
        n, u, is_lossless, _ = self._rooms_fed
        is_pfc = self.by_link(lambda link: link.discipline.queue_per == "class")
        found = np.zeros(len(self.links), dtype=np.bool_)
        found[n[is_lossless & (u >= 0) & ~is_pfc[np.maximum(u, 0)]]] = True
        found |= self._reserved_alone > self._buffers
        if self._counted_together:
            found |= is_pfc & [link.source in self._counted_together for link in self.links]
        found[self.is_interface] = False
        return found

    def _check_classes(self, n: int, rule: ByClass) -> None:
        """Refuse links that cannot stop one class, and buffers too small for what PFC reserves."""
        link = self.links[n]
        for u, ranks in self._classes_fed.get(n, {}).items():
            lossless = ranks & set(rule.classes)
            if u < 0 or not lossless or self.links[u].discipline.queue_per == "class":
                continue
            others = self._classes_over[u]
            if len(others) > 1:
                kind = type(self.links[u].discipline).__name__
                msg = f"{link.name} pauses class {min(lossless)} alone, which {kind} cannot among"
                all_ranks = ", ".join(map(str, sorted(others)))
                raise ValueError(f"discipline of link {self.links[u].name!r}: {msg} classes {all_ranks}; use PFC")
        together = self.counted_together(n)
        for m in together:
            own: Any = self.links[m].discipline
            if own is rule:
                continue
            if own.queue_per != "class" or own.shared_part() != rule.shared_part():
                msg = f"{self.links[m].name} has {own!r}, must be equal except for manager and storm"
                raise ValueError(f"discipline of link {link.name!r} = {rule!r}: {msg}")
        reserved = self.reserved(n)
        if reserved > self.buffer_of(n):
            rooms = len(self.rooms_once(n))
            msg = f"PFC reserves {reserved:g} packets of its buffer for {rooms} ingress queues"
            least = math.ceil(reserved)
            size = readable_text(least * self.packet_size, "bytes")
            hint = f"increase it to {least} packets ({size}), or reduce xoff or headroom"
            if getattr(rule, "counts", "switch") != "switch":
                hint += "; with counts='switch', as switches count, the links of a switch share what is reserved"
            has = link.buffer if isinstance(link.buffer, ByteBuffer) else f"{link.buffer:g}"
            raise ValueError(f"buffer of link {link.name!r} = {has}: {msg}; {hint}")

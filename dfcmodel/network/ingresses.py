"""Ingress counters and buffer reservations of links with priority flow control.

An ingress of a link is a feeding link with the packets of one class. PFC reserves room for ingresses of lossless
classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import distinct, distinct_rows, encode_integers, present
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
"""Maximum number of kinds of links for which PFC's largest room is computed over all pairs."""


class Ingresses(RoutedFlows):
    """Rooms and validation of priority flow control in a network."""

    def counted_together(self, n: int) -> tuple[int, ...]:
        """Return the links, including link n, whose packets of an ingress PFC counts together."""
        if self.links[n].discipline.queue_per != "class" or n in self.interfaces:
            return (n,)
        return self._count_groups.get(self.links[n].source, (n,))

    @cached_property
    def _count_groups(self) -> dict[Node, tuple[int, ...]]:
        """Links with PFC by node, for nodes that count packets of all their links together.

        Interfaces of hosts do not count packets.
        """
        links_at: dict[Node, list[int]] = {}
        together = set()
        rules = [link.discipline for link in self.link_table.kinds]
        if all(getattr(rule, "counts", "output") == "output" for rule in rules):
            return {}
        for n, link in enumerate(self.links):
            rule: Any = link.discipline
            if rule.queue_per == "class" and n not in self.interfaces:
                links_at.setdefault(link.source, []).append(n)
                if rule.counts != "output":
                    together.add(link.source)
        return {node: tuple(links_at[node]) for node in together}

    def ingress(self, n: int) -> list[tuple[int, int, float]]:
        """Return the ingresses of a link with PFC: feeding link, lossless class, and room in packets.

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
        """Return the room in packets by feeding link (a flow for hosts) and lossless class.

        It covers all links that are counted together with link n and share their rooms. Flows that share an access link
        share its room; in the fluid each has a separate access link.
        """
        together = self.counted_together(n)
        return {(u, priority): room for m in together for u, priority, room in self.ingress(m)}

    def rooms_once(self, n: int) -> dict[tuple[int, int], float]:
        """Return `rooms` with one entry for flows that share an access link."""
        rooms = self.rooms(n)
        access = self.access_of(np.array([u for u, _ in rooms], dtype=np.int64)).tolist()
        return {(u, c): room for u, (_, c), room in zip(access, rooms, rooms.values(), strict=True)}

    def reserved(self, n: int) -> float:
        """Return the packets of a link's buffer that PFC reserves for the ingress of lossless classes.

        An access link that flows of a host share (``host="nic"``) has a room for each of its classes. Links that are
        counted together share the reservation in proportion to their buffers.
        """
        if self.counted_together(n) == (n,):
            return float(self._reservations[n])
        if n not in self._group_reservations:
            self._group_reservations[n] = self.part_of_rooms(n, sum(self.rooms_once(n).values()))
        return self._group_reservations[n]

    @cached_property
    def _group_reservations(self) -> dict[int, float]:
        return {}

    @cached_property
    def _reservations(self) -> NDArray[np.float64]:
        """Packets that PFC reserves in the buffer of each link, for links that are not counted together, (L,)."""
        n, u, is_lossless, room = self._room_columns
        access = self.access_of(u)
        if (access != u).any():  # count flows that share an access link once
            is_lossless = is_lossless.copy()
            priority = self._feed_columns[2]
            is_lossless[is_lossless] = distinct_rows(n[is_lossless], access[is_lossless], priority[is_lossless])
        sums = np.bincount(n[is_lossless], room[is_lossless], len(self.links)).astype(np.float64)
        if not self._count_groups:
            return sums * self._buffers / self._buffers
        used = np.flatnonzero(sums)
        sums[used] = [self.part_of_rooms(m, sums[m]) for m in used.tolist()]
        return sums

    def part_of_rooms(self, n: int, rooms: float) -> float:
        """Return link n's part of the rooms of links that are counted together, packets."""
        return rooms * self.buffer_of(n) / self._buffer_together(n)

    def spare_of_rooms(self, n: int) -> float:
        """Return the packets beyond the rooms in the buffers of links that are counted together."""
        return self._buffer_together(n) - sum(self.rooms(n).values())

    def _buffer_together(self, n: int) -> float:
        """Return the total buffer of the links that are counted together with link n, packets."""
        return sum(self.buffer_of(m) for m in self.counted_together(n))

    @cached_property
    def _room_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any], NDArray[Any]]:
        """Columns of classes at links with PFC: link, feeder, whether the class is lossless, room, (N,) each."""
        n, u, priority = self._feed_columns
        examples, kind_of = self.link_table.kinds, self.link_table.kind_of
        over = np.where(u >= 0, u, self.routes.first[np.maximum(-1 - u, 0)])
        classes, rank = encode_integers(priority)
        span = len(examples) * len(classes)
        keys = (kind_of[n] * len(examples) + kind_of[over]) * len(classes) + rank
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
    def _feed_columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Columns of `_feed_classes`: link, feeder and class, in the order of the flows, (N,) each."""
        routes, count, F = self.routes, len(self.links), len(self.flows)
        counts = self.by_link(lambda link: link.discipline.queue_per == "class")
        counts[self.is_interface] = False
        before = np.concatenate([[0], routes.places[:-1]]) + F
        before[routes.begin] = F - 1 - np.arange(F)
        classes, rank = encode_integers(self.table.numbers("priority").astype(np.int64))
        flow = routes.flow
        examples = []  # first hop of each combination of links and class
        for at, low, span in (
            (np.flatnonzero(counts[routes.places] & (before >= F)), F, count),
            (np.flatnonzero(counts[routes.places] & (before < F)), 0, F),
        ):
            keys = (routes.places[at] * span + before[at] - low) * len(classes)
            keys += rank[flow[at]]
            examples.append(at[distinct(keys, count * span * len(classes))[1]])
        hops = np.sort(np.concatenate(examples))
        priority = classes[rank[flow[hops]]]
        return routes.places[hops].astype(np.int64), before[hops] - F, priority

    @cached_property
    def _feed_classes(self) -> dict[int, dict[int, set[int]]]:
        """Classes of the flows at each link with PFC by feeder, except interfaces of hosts."""
        classes: dict[int, dict[int, set[int]]] = {}
        for n, u, priority in zip(*(column.tolist() for column in self._feed_columns), strict=True):
            classes.setdefault(n, {}).setdefault(u, set()).add(priority)
        return classes

    @cached_property
    def _classes_over(self) -> dict[int, set[int]]:
        """Classes of the flows over each link."""
        classes, rank = encode_integers(self.table.numbers("priority").astype(np.int64))
        keys = self.routes.places * len(classes) + rank[self.routes.flow]
        classes_of: dict[int, set[int]] = {}
        for key in present(keys, len(self.links) * len(classes)).tolist():
            n, number = divmod(key, len(classes))
            classes_of.setdefault(n, set()).add(int(classes[number]))
        return classes_of

    @property
    def _has_room_by_far(self) -> bool:
        """Whether all links have PFC with separate counters, and buffers for more ingresses than they can have."""
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
        largest_room = max(
            rule.room(feeder.rate, feeder.delay, size, link.buffer)
            for rule, link in zip(rules, kinds, strict=True)
            for feeder in kinds
        )
        return bool(2.0 * ingresses * largest_room <= min(buffer_in_packets(link, size) for link in kinds))

    @cached_property
    def _has_to_be_checked(self) -> NDArray[np.bool_]:
        """Whether `_check_classes` may refuse each link, (L,)."""
        n, u, is_lossless, _ = self._room_columns
        is_pfc = self.by_link(lambda link: link.discipline.queue_per == "class")
        is_suspect = np.zeros(len(self.links), dtype=np.bool_)
        is_suspect[n[is_lossless & (u >= 0) & ~is_pfc[np.maximum(u, 0)]]] = True
        is_suspect |= self._reservations > self._buffers
        if self._count_groups:
            is_suspect |= is_pfc & [link.source in self._count_groups for link in self.links]
        is_suspect[self.is_interface] = False
        return is_suspect

    def _check_classes(self, n: int, rule: ByClass) -> None:
        """Raise ValueError for feeders that cannot pause one class, and buffers too small for PFC's reservations."""
        link = self.links[n]
        for u, ranks in self._feed_classes.get(n, {}).items():
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
            other_rule: Any = self.links[m].discipline
            if other_rule is rule:
                continue
            if other_rule.queue_per != "class" or other_rule.common_part() != rule.common_part():
                msg = f"{self.links[m].name} has {other_rule!r}, must be equal except for manager and storm"
                raise ValueError(f"discipline of link {link.name!r} = {rule!r}: {msg}")
        reserved = self.reserved(n)
        if reserved > self.buffer_of(n):
            rooms = len(self.rooms_once(n))
            msg = f"PFC reserves {reserved:g} packets of its buffer for {rooms} ingress queues"
            needed = math.ceil(reserved)
            size = readable_text(needed * self.packet_size, "bytes")
            hint = f"increase it to {needed} packets ({size}), or reduce xoff or headroom"
            if getattr(rule, "counts", "switch") != "switch":
                hint += "; with counts='switch', as switches count, the links of a switch share what is reserved"
            has = link.buffer if isinstance(link.buffer, ByteBuffer) else f"{link.buffer:g}"
            raise ValueError(f"buffer of link {link.name!r} = {has}: {msg}; {hint}")

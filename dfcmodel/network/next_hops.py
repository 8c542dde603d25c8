"""Paths of flows from tables of next hops, as the switches of a network have them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.shortest_routes import hashed
from hopflow.checks import format_value, instance, unwrap_scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.links import Links

__all__ = ["NextHops"]


class NextHops:
    """Tables of next hops: at each node one of the next nodes towards a flow's destination, by a hash of the flow and the node.

    A node without an entry for a destination sends over its link to it, or over its only link.

    Parameters
    ----------
    links
        The links of the network.
    tables
        For each node a mapping from destinations to next nodes, at least one.

    Raises
    ------
    TypeError
        For what are no mappings of nodes.
    ValueError
        For a next node to which there is no link, and a destination that is no node of the links.
    """

    def __init__(self, links: Links, tables: Mapping[Any, Any]) -> None:
        self.place = links.place_of
        self.onwards: dict[Any, dict[Any, None]] = {node: {} for node in links.nodes}
        for a, b in zip(links.source.tolist(), links.target.tolist(), strict=True):
            self.onwards[links.nodes[a]][links.nodes[b]] = None
        self.tables: dict[Any, dict[Any, tuple[Any, ...]]] = {}
        for node, table in tables.items():
            name = f"routes[{node!r}]"
            instance(name, table, Mapping, "a mapping from destinations to next nodes")
            own = self.tables[unwrap_scalar(node)] = {}
            for end, given in table.items():
                if unwrap_scalar(end) not in self.place:
                    raise ValueError(f"{name}[{end!r}]: {end!r} must be a node of the links, no flow can end elsewhere")
                own[unwrap_scalar(end)] = self._checked(f"{name}[{end!r}]", node, given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NextHops) and (self.tables, self.onwards) == (other.tables, other.onwards)

    def _checked(self, name: str, node: Any, given: Any) -> tuple[Any, ...]:
        """Return next nodes, to all of which there must be links."""
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(f"{name} = {format_value(given)}: must be a list of nodes")
        found = tuple(map(unwrap_scalar, given))
        linked = self.onwards.get(unwrap_scalar(node), {})
        if not found or not all(isinstance(each, Hashable) and each in linked for each in found):
            msg = f"must be nodes to which {node!r} has links, at least one"
            raise ValueError(f"{name} = {format_value(given)}: {msg}")
        return found

    def paths(
        self,
        sources: Sequence[Any],
        targets: Sequence[Any],
        entropy: NDArray[np.int64],
        may_loop: Sequence[bool],
    ) -> list[tuple[Any, ...]]:
        """Return the path of each flow, F of them. Of one that ``may_loop`` it ends where it is back at a node.

        Raises
        ------
        ValueError
            Naming the flow, where a node has no way on, or next hops lead back to a node.
        """
        flows = zip(sources, targets, entropy.tolist(), may_loop, strict=True)
        return [self._path(n, *each) for n, each in enumerate(flows)]

    def _path(self, n: int, source: Any, target: Any, number: int, may_loop: bool) -> tuple[Any, ...]:
        path = {source: None}
        node = source
        while node != target:
            ways = self.tables.get(node, {}).get(target) or self._default(node, target)
            if not ways:
                msg = f"{node!r} has several links and no next hops towards it"
                raise ValueError(f"targets[{n}] = {target!r}: {msg}")
            node = ways[self._hash(number, node) % len(ways)] if len(ways) > 1 else ways[0]
            if node in path:
                if may_loop:
                    return (*path, node)
                visited = " -> ".join(map(repr, (*path, node)))
                msg = "lead back; a loop needs ttl, such as ttl=64"
                raise ValueError(f"targets[{n}] = {target!r}: next hops {visited} {msg}")
            path[node] = None
        return tuple(path)

    def _default(self, node: Any, target: Any) -> tuple[Any, ...]:
        """Return the next node where the table of a node has none."""
        onwards = self.onwards.get(node, {})
        if target in onwards:
            return (target,)
        return tuple(onwards) if len(onwards) == 1 else ()

    def _hash(self, number: int, node: Any) -> int:
        return int(hashed(np.array([number]), np.array([self.place[node]]))[0])

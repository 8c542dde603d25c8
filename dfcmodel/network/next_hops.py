"""Paths of flows from the tables of next hops of switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import nodes_of
from dfcmodel.network.shortest_routes import hash_pair
from hopflow.checks import format_value, instance, integer, unwrap_scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.network.links import Links

__all__ = ["NextHops"]

MAX_WEIGHT = 1024
"""Largest weight of a next node."""


class NextHops:
    """Tables of next hops: each node hashes a flow to one of its next nodes towards the flow's destination.

    A node without an entry for a destination sends over its link to it, or over its only link.

    Parameters
    ----------
    links
        The links of the network.
    tables
        For each node a mapping from destinations to next nodes, at least one, or to a mapping from next nodes to their
        weights, whole numbers: of 3 and 1 the first next node gets three quarters of the flows (WCMP).

    Raises
    ------
    TypeError
        For tables that are not mappings of nodes, and next nodes in a set, which has no order.
    ValueError
        For a next node to which there is no link, a destination that the links do not have, and a weight that is not a
        whole number from 1 to 1024.
    """

    def __init__(self, links: Links, tables: Mapping[Any, Any]) -> None:
        self.index_of = links.place_of
        self.onwards: dict[Any, dict[Any, None]] = {node: {} for node in links.nodes}
        for a, b in zip(links.source.tolist(), links.target.tolist(), strict=True):
            self.onwards[links.nodes[a]][links.nodes[b]] = None
        self.tables: dict[Any, dict[Any, tuple[Any, ...]]] = {}
        for node, table in tables.items():
            name = f"routes[{node!r}]"
            instance(name, table, Mapping, "a mapping from destinations to next nodes")
            hops = self.tables[unwrap_scalar(node)] = {}
            for end, nodes in table.items():
                if unwrap_scalar(end) not in self.index_of:
                    raise ValueError(f"{name}[{end!r}]: {end!r} must be a node of the links, no flow can end elsewhere")
                hops[unwrap_scalar(end)] = self._check_hops(f"{name}[{end!r}]", node, nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NextHops) and (self.tables, self.onwards) == (other.tables, other.onwards)

    def _check_hops(self, name: str, node: Any, nodes: Any) -> tuple[Any, ...]:
        """Return next nodes as a tuple, each as often as its weight; ValueError for none, or one without a link."""
        weights = nodes if isinstance(nodes, Mapping) else {}
        counts = {hop: integer(f"{name}[{hop!r}]", weight, 1, MAX_WEIGHT) for hop, weight in weights.items()}
        hops = tuple(unwrap_scalar(hop) for hop in nodes_of(name, nodes) for _ in range(counts.get(hop, 1)))
        linked = self.onwards.get(unwrap_scalar(node), {})
        if not hops or not all(hop in linked for hop in hops):
            msg = f"must be nodes to which {node!r} has links, at least one"
            raise ValueError(f"{name} = {format_value(nodes)}: {msg}")
        return hops

    def paths(
        self,
        sources: Sequence[Any],
        targets: Sequence[Any],
        entropy: NDArray[np.int64],
        may_loop: Sequence[bool],
    ) -> list[tuple[Any, ...]]:
        """Return the nodes of F paths; a path that repeats a node ends there where ``may_loop``, otherwise ValueError.

        Raises
        ------
        ValueError
            Naming the flow, for a node without next hops, or next hops that lead back to a node.
        """
        flows = zip(sources, targets, entropy.tolist(), may_loop, strict=True)
        return [self._path(n, *flow) for n, flow in enumerate(flows)]

    def _path(self, n: int, source: Any, target: Any, entropy: int, may_loop: bool) -> tuple[Any, ...]:
        """Return the nodes of flow n's path; if it repeats a node, it ends there with ``may_loop``, else ValueError."""
        path = {source: None}
        node = source
        while node != target:
            candidates = self.tables.get(node, {}).get(target) or self._default(node, target)
            if not candidates:
                msg = f"{node!r} has several links and no next hops towards it"
                raise ValueError(f"targets[{n}] = {target!r}: {msg}")
            node = candidates[self._hash(entropy, node) % len(candidates)] if len(candidates) > 1 else candidates[0]
            if node in path:
                if may_loop:
                    return (*path, node)
                visited = " -> ".join(map(repr, (*path, node)))
                msg = "lead back; a loop needs ttl, such as ttl=64"
                raise ValueError(f"targets[{n}] = {target!r}: next hops {visited} {msg}")
            path[node] = None
        return tuple(path)

    def _default(self, node: Any, target: Any) -> tuple[Any, ...]:
        """Return the next node for a target without a table entry, as a tuple: a neighbour or an only link; or ()."""
        onwards = self.onwards.get(node, {})
        if target in onwards:
            return (target,)
        return tuple(onwards) if len(onwards) == 1 else ()

    def _hash(self, entropy: int, node: Any) -> int:
        """Return a hash of a flow's entropy and a node."""
        return int(hash_pair(np.array([entropy]), np.array([self.index_of[node]]))[0])

"""Shortest paths of many flows at once, with a choice among equal-cost links at each node (ECMP)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.network.links import Links, Routes, present

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dfcmodel.network.links import Link

    Integers = NDArray[np.int64]

__all__ = ["CHOICES", "SPRAY", "ShortestRoutes", "flow_keys", "numbers_between"]

SPRAY = "spray"
CHOICES = ("ecmp", "even", "first", SPRAY)
"""Choices among links of shortest paths: by a hash of flow and node, in turn, the first link, or per packet."""
MAX_PATHS = 256
"""Maximum number of shortest paths between two nodes over which packets are sprayed."""
MULTIPLIERS = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of SplitMix64 (Steele, Lea and Flood 2014), the hash of ECMP."""


class ShortestRoutes:
    """Shortest paths over directed links, by hops.

    1. One breadth-first search on the reversed links computes the distances to each exit of the network. A target with
       a single incoming link, such as a host, shares the search of the node before it.
    2. All flows take a step at a time: flows at one node with one destination have the same candidate links, which are
       computed once.

    Parameters
    ----------
    links
        The links of the network.
    """

    def __init__(self, links: Sequence[Link]) -> None:
        table = Links.of(links)
        self.nodes, tail, head = table.nodes, table.source, table.target
        self.index_of = table.place_of
        self.order = np.argsort(tail, kind="stable")
        self.tail, self.head = tail[self.order], head[self.order]
        self.begin = np.searchsorted(self.tail, np.arange(len(self.nodes) + 1))

    def paths(self, source: Integers, target: Integers, choice: str, entropy: Integers) -> Routes:
        """Return the nodes of one shortest path per flow, by ``choice`` among equals; LookupError, with the flow: none.

        Parameters
        ----------
        source, target
            Indices in ``nodes``, shape (F,).
        choice
            One of `CHOICES`.
        entropy
            Nonnegative number of each flow, which ``"ecmp"`` hashes, shape (F,).

        Raises
        ------
        LookupError
            With the number of the first flow without a path.
        """
        exit_of, number, distance = self._exits(source, target)
        remaining = distance[number, source]
        unreachable = np.flatnonzero(remaining < 0)
        if len(unreachable):
            raise LookupError(int(unreachable[0]))
        counts = remaining + 1 + (exit_of != target)
        routes = Routes(np.empty(int(counts.sum()), dtype=np.int64), counts)
        routes.places[routes.begin] = at = source.copy()
        routes.places[routes.begin + counts - 1] = target
        moving = np.flatnonzero(remaining > 0)
        for step in range(1, int(remaining.max(initial=0)) + 1):
            at[moving] = self._next(at[moving], number[moving], entropy[moving], (distance, choice))
            routes.places[routes.begin[moving] + step] = at[moving]
            moving = moving[remaining[moving] > step]
        return routes

    def _exits(self, source: Integers, target: Integers) -> tuple[Integers, Integers, NDArray[np.int32]]:
        """Return each flow's exit node and the exit's row, (F,) each, and distances (exits, nodes), -1: no path.

        The exit is the target, or the node before it if a single link leads to the target.
        """
        into = np.bincount(self.head, minlength=len(self.nodes))
        feeder = np.zeros(len(self.nodes), dtype=np.int64)
        feeder[self.head] = self.tail
        exit_of = np.where((into == 1)[target] & (feeder[target] != source), feeder[target], target)
        roots, number = np.unique(exit_of, return_inverse=True)
        return exit_of, number.reshape(-1), self._distances(roots)

    def all_paths(self, source: Integers, target: Integers) -> list[list[tuple[int, ...]]]:
        """Return, by flow, the nodes of all its shortest paths, in the order of the links; ValueError for too many.

        Raises
        ------
        ValueError
            For more than 256 paths of a flow.
        """
        onward_paths: dict[tuple[int, int], list[tuple[int, ...]]] = {}

        def onwards(node: int, root: int, distance: NDArray[np.int32]) -> list[tuple[int, ...]]:
            if node == root:
                return [(node,)]
            if (node, root) not in onward_paths:
                heads = dict.fromkeys(self.head[self.begin[node] : self.begin[node + 1]].tolist())
                nearer = [head for head in heads if distance[head] == distance[node] - 1]
                onward_paths[node, root] = [(node, *path) for head in nearer for path in onwards(head, root, distance)]
                if len(onward_paths[node, root]) > MAX_PATHS:
                    raise ValueError(f"{len(onward_paths[node, root])} shortest paths, must be at most {MAX_PATHS}")
            return onward_paths[node, root]

        exit_of, number, distance = self._exits(source, target)
        rows = zip(*(column.tolist() for column in (source, target, exit_of, number)), strict=True)
        return [
            [path if root == end else (*path, end) for path in onwards(node, root, distance[n])]
            for node, end, root, n in rows
        ]

    def first_links(self, source: Integers, target: Integers) -> tuple[Integers, Integers]:
        """Return a flow and a link for each link over which its shortest paths leave its source, flow by flow, (E,)."""
        _, number, distance = self._exits(source, target)
        flow, out = self._onwards(source, number, distance)
        return flow, self.order[out]

    def _onwards(self, node: Integers, root: Integers, distance: NDArray[np.int32]) -> tuple[Integers, Integers]:
        """Return the links from nodes, (K,), that lead nearer to exits, with the index of their node, (E,) each.

        ``root``: rows of the exits in ``distance``.
        """
        counts = self.begin[node + 1] - self.begin[node]
        owner = np.repeat(np.arange(len(node)), counts)
        out = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner] + self.begin[node[owner]]
        nearer = distance[root[owner], self.head[out]] == distance[root, node][owner] - 1
        return owner[nearer], out[nearer]

    def _distances(self, roots: Integers) -> NDArray[np.int32]:
        """Return the number of links from each node to each root, shape (roots, nodes); -1: no path."""
        # `scipy.sparse.csgraph.shortest_path` returns the same, in 2 ms instead of 5 for 32 roots and 1,088 nodes. Its
        # import takes 0.15 s, and no run needs it for anything else.
        N = len(self.nodes)
        into: list[list[int]] = [[] for _ in range(N)]
        for tail, head in zip(self.tail.tolist(), self.head.tolist(), strict=True):
            into[head].append(tail)
        distances = np.empty((len(roots), N), dtype=np.int32)
        for row, root in zip(distances, roots.tolist(), strict=True):
            distance = [-1] * N
            distance[root], level, edge = 0, 0, [root]
            while edge:
                level += 1
                after = []
                for node in edge:
                    for before in into[node]:
                        if distance[before] < 0:
                            distance[before] = level
                            after.append(before)
                edge = after
            row[:] = distance
        return distances

    def _next(self, at: Integers, number: Integers, entropy: Integers, by: tuple[NDArray[np.int32], str]) -> Integers:
        """Return the next nodes, (F,), of flows at ``at``; ``number``: rows of exits; ``by``: (distances, choice)."""
        distance, choice = by
        R = len(distance)
        pairs = at * R + number
        unique = present(pairs, len(self.nodes) * R)
        group = np.searchsorted(unique, pairs)
        node, root = np.divmod(unique, R)
        owner, out = self._onwards(node, root, distance)
        several = np.bincount(owner, minlength=len(unique))
        first = np.cumsum(several) - several
        turn = np.zeros(len(at), dtype=np.int64)
        if choice == "even":
            order = np.argsort(group, kind="stable")
            group_sizes = np.bincount(group, minlength=len(unique))
            before = np.cumsum(group_sizes) - group_sizes
            # turns continue from one destination to the next, and begin one link later at each node: otherwise single
            # flows to each destination would take the first link of all nodes
            first_of_node = np.searchsorted(node, node)
            begin = np.unique(node, return_inverse=True)[1].reshape(-1) - before[first_of_node]
            turn[order] = np.arange(len(at)) + np.repeat(begin, group_sizes)
        elif choice == "ecmp" and several.max() > 1:
            turn = hash_pair(entropy, at)
        return np.asarray(self.head[out[first[group] + turn % several[group]]])


def numbers_between(source: Integers, target: Integers) -> Integers:
    """Return, by flow, how many earlier flows have the same two nodes, shape (F,).

    >>> numbers_between(np.array([0, 0, 1, 0]), np.array([5, 5, 5, 6])).tolist()
    [0, 1, 0, 0]
    """
    order = np.lexsort((target, source))
    pairs = np.stack([source[order], target[order]])
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    begin = np.flatnonzero(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order)) - np.repeat(begin, np.diff([*begin, len(order)]))
    return number


def flow_keys(source: Integers, target: Integers, number: Integers, seed: int) -> Integers:
    """Return each flow's key for ``"ecmp"``, (F,), from its nodes, its number and a seed; below 2^39.

    Parameters
    ----------
    source, target
        Indices of the flow's nodes among the nodes of the links, shape (F,).
    number
        Number of the flow among the flows between the same nodes, shape (F,).
    seed
        Seed of the switches' hash.
    """
    key = hash_pair(source, target) >> 23
    for value in (number, np.full(len(number), seed)):
        key = hash_pair(key, value) >> 23
    return key


def hash_pair(flow: Integers, node: Integers) -> Integers:
    """Return a hash, 0 to 2^62, for each pair of a flow's key and a node, (F,).

    >>> hash_pair(np.array([0, 1]), np.array([3, 3])) % 16
    array([11, 14])
    """
    add, first, second = (np.uint64(m) for m in MULTIPLIERS)
    with np.errstate(over="ignore"):
        x = (flow.astype(np.uint64) << np.uint64(24)) + node.astype(np.uint64)
        x = (x + np.uint64(1)) * add
        x = (x ^ (x >> np.uint64(30))) * first
        x = (x ^ (x >> np.uint64(27))) * second
        x = x ^ (x >> np.uint64(31))
    return np.asarray((x >> np.uint64(2)).astype(np.int64))

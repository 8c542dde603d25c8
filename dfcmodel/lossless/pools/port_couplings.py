"""Independent ports of a packet run: they share no flow, no acknowledgements, no pauses and no counters.

Packets cross the ports of their flow, and acknowledgements the ports of the return path. A port with Pause or PFC
pauses the ports that feed it. PFC may count the packets of an ingress at several ports together. Ports in different
components of this graph are independent: each has a stream of random numbers.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["independent_parts"]


def independent_parts(plan: PacketPlan, ports: list[int]) -> list[list[int]]:
    """Return ``ports`` in groups; ports of different groups share no flows, pauses or PFC counters."""
    import networkx as nx

    graph = _couplings(plan)
    groups: dict[int, list[int]] = {}
    part_of = {p: n for n, part in enumerate(nx.connected_components(graph)) for p in part}
    for p in ports:
        groups.setdefault(part_of[p], []).append(p)
    return list(groups.values())


def _couplings(plan: PacketPlan) -> nx.Graph[int]:
    """Return the graph of coupled ports of a plan: edges are shared flows, pauses, and shared counters of PFC."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(plan.ports)))
    for paths in zip(plan.forward, plan.backward, strict=True):
        graph.add_edges_from(itertools.pairwise(p for path in paths for p in path))
    for p in range(len(plan.ports)):
        graph.add_edges_from((p, q) for q in (*plan.pausable(p), *plan.counting[p]))
    return graph

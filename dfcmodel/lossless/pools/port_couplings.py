"""Which ports of a packet run share nothing: no flow, no acknowledgements, no pauses, no counters.

Packets go over the ports of their flow, and their acknowledgements over those of the way back; a port with Pause or PFC
pauses the ports that feed it; PFC may count the packets of an ingress at several ports together. Ports between
which no chain of these leads are independent: their random numbers are streams of their own.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx

    from dfcmodel.packets.plan import PacketPlan

__all__ = ["independent_parts"]


def independent_parts(plan: PacketPlan, ports: list[int]) -> list[list[int]]:
    """Return ports in groups of those that are coupled, in their order."""
    import networkx as nx

    graph = _couplings(plan)
    found: dict[int, list[int]] = {}
    of = {p: n for n, part in enumerate(nx.connected_components(graph)) for p in part}
    for p in ports:
        found.setdefault(of[p], []).append(p)
    return list(found.values())


def _couplings(plan: PacketPlan) -> nx.Graph[int]:
    """Return the graph of the ports of a plan: they share a flow, pauses, or what PFC counts together."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(plan.ports)))
    for ways in zip(plan.forward, plan.backward, strict=True):
        graph.add_edges_from(itertools.pairwise(p for way in ways for p in way))
    for p in range(len(plan.ports)):
        graph.add_edges_from((p, q) for q in (*plan.pausable(p), *plan.counting[p]))
    return graph

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

    from dfcmodel.packets.plans import Plan

__all__ = ["independent_parts", "what_couples"]


def independent_parts(plan: Plan, ports: list[int]) -> list[list[int]]:
    """Return ports in groups of those that are coupled, in their order."""
    import networkx as nx

    graph = _couplings(plan)
    found: dict[int, list[int]] = {}
    of = {p: n for n, part in enumerate(nx.connected_components(graph)) for p in part}
    for p in ports:
        found.setdefault(of[p], []).append(p)
    return list(found.values())


def what_couples(plan: Plan, one: int, other: int) -> str:
    """Return what leads from a port to another of its group, in words."""
    import networkx as nx

    graph = _couplings(plan)
    steps = itertools.pairwise(nx.shortest_path(graph, one, other))
    return ", ".join(dict.fromkeys(graph.edges[step]["by"] for step in steps))


def _couplings(plan: Plan) -> nx.Graph[int]:
    """Return the graph of the ports of a plan, with what each edge stands for."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(plan.ports)))
    edges = [
        (*pair, f"flow {flow.name!r}")
        for flow, *ways in zip(plan.scenario.flows, plan.forward, plan.backward, strict=True)
        for pair in itertools.pairwise(p for way in ways for p in way)
    ]
    for p, port in enumerate(plan.ports):
        name = f"{port.source}->{port.target}"
        edges += [(p, q, f"pauses of {name}") for q in plan.pausable(p)]
        edges += [(p, q, f"what PFC counts at {port.source} together") for q in plan.counting[p]]
    for p, q, by in edges:
        if p != q and not graph.has_edge(p, q):
            graph.add_edge(p, q, by=by)
    return graph

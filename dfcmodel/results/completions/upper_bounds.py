"""An upper bound on the completion time of a job: no link is idle while packets wait for it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["busy_time_bound"]

ACK_SIZE = 64.0
"""Largest size of an ACK, bytes."""


def busy_time_bound(scenario: Scenario) -> float:
    """Return an upper bound, s, on the last completion of transfers from time 0 on busy links; nan: none.

    No link is idle while packets wait for it. It is busy from the last arrival on, and sends at most all of its
    packets. In a topological order of the links, its last packet therefore leaves no later than the last arrival plus
    the transmission time of all of its packets. ACKs in the other direction count as well. nan: the paths form a circle
    of links.

    Examples
    --------
    Two flows of ten packets that share their second link, which is as fast as their first links:

    >>> from dfcmodel import Flow, Link, Scenario
    >>> from responsefn import FixedRate
    >>> links = [Link(*nodes, 10.0, 0.5, 100) for nodes in ("as", "bs", "sd")]
    >>> flows = [Flow(name, (name, "s", "d"), FixedRate(), size=10, host="nic") for name in "ab"]
    >>> busy_time_bound(Scenario("two", links, flows))  # 1 s, 0.5 s, 2 s and 0.5 s
    4.0
    """
    import networkx as nx

    links, routes, table = scenario.links, scenario.routes, scenario.table
    index_of, sizes, count = scenario.link_table.places, table.numbers("size"), len(links)
    entries, flow = routes.places.astype(np.int64), routes.flow
    work = np.bincount(entries, sizes[flow], minlength=count).astype(np.float64)
    goes_on = flow[1:] == flow[:-1]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(np.flatnonzero(work).tolist())
    keys = np.unique((entries[:-1] * count + entries[1:])[goes_on])
    graph.add_edges_from(zip(*(nodes.tolist() for nodes in np.divmod(keys, count)), strict=True))
    for f in np.flatnonzero(table.each("paths", bool)).tolist():
        for path in table.columns["paths"][f]:
            hops = [index_of[hop] for hop in itertools.pairwise(path)]
            nx.add_path(graph, hops)
            work[hops] += sizes[f]
    back = np.array([index_of.get(hop[::-1], -1) for hop in index_of])
    acks = np.bincount(back[back >= 0], work[back >= 0], minlength=count)
    work = work + acks * ACK_SIZE / scenario.packet_size
    departure: dict[int, float] = {}
    try:
        for n in nx.topological_sort(graph):
            arrival = max((departure[before] for before in graph.predecessors(n)), default=0.0)
            departure[n] = arrival + work[n] / links[n].rate + links[n].delay
    except nx.NetworkXUnfeasible:
        return np.nan
    return float(max(departure.values()))

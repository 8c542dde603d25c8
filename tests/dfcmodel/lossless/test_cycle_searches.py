"""Minimal cycles beside networkx's, by the compiled search and by plain Python."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from dfcmodel.lossless import cycle_searches, dragonfly
from dfcmodel.lossless.buffer_dependencies import dependencies_of_shortest_paths


def strong(nodes: int, p: float, seed: int) -> sp.csr_matrix:
    """Return a random graph of which every vertex lies on a cycle."""
    graph = nx.gnp_random_graph(nodes, p, seed=seed, directed=True)
    part = max(nx.strongly_connected_components(graph), key=len)
    return sp.csr_matrix(nx.to_scipy_sparse_array(graph.subgraph(part)))


@pytest.mark.parametrize("seed", range(5))
def test_each_vertex_is_tried_and_no_cycle_has_a_chord(seed: int) -> None:
    waits = strong(40, 0.06, seed)
    graph = nx.DiGraph(waits)
    found = list(cycle_searches.minimal_cycles(waits))
    assert len({frozenset(cycle) for cycle in found}) == len(found) <= waits.shape[0]
    for cycle in found:
        assert nx.DiGraph(graph.subgraph(cycle)).number_of_edges() == len(cycle)
        assert all(graph.has_edge(a, b) for a, b in itertools.pairwise([*cycle, cycle[0]]))


def test_the_compiled_search_gives_the_same_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = strong(60, 0.08, 1)
    plain = list(cycle_searches.minimal_cycles(waits))
    monkeypatch.setattr(cycle_searches, "INTERPRETED", 0)
    assert list(cycle_searches.minimal_cycles(waits)) == plain


def test_a_shortest_cycle_is_as_long_as_the_distances_say() -> None:
    waits = strong(40, 0.06, 2)
    graph = nx.DiGraph(waits)
    before, queue, cycle = np.full(waits.shape[0], -1), *np.empty((2, waits.shape[0]), dtype=int)
    for vertex in graph:
        length = cycle_searches.close_cycle(
            waits.indptr, waits.indices, vertex, before, queue, cycle
        )
        back = nx.single_source_shortest_path_length(graph.reverse(copy=False), vertex)
        assert length == 1 + min(dict(back)[v] for v in graph.successors(vertex))
        assert (before == -1).all()


def test_all_cycles_of_a_dragonfly_are_listed() -> None:
    """As many closed walks of four and five buffers as matrix powers count; a cycle for each buffer at most."""
    found = dependencies_of_shortest_paths(dragonfly(8, 2))
    cyclic = found.cyclic()
    waits = sp.csr_matrix(found.waits[cyclic][:, cyclic])
    cycles = list(found.cycles())
    assert 0 < len(cycles) <= len(cyclic)
    assert {v for cycle in cycles for v in cycle} <= set(cyclic.tolist())
    power, walks = waits, {}
    for length in range(2, 8):
        power = sp.csr_matrix(power @ waits)
        walks[length] = int(power.diagonal().sum())
    shortest = min(map(len, cycles))
    assert walks[shortest] > 0
    assert all(walks[length] == 0 for length in range(2, shortest))

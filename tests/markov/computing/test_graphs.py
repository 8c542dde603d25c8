"""Searches in graphs by plain Python return those of SciPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from markov.computing import matrices

CHAIN = "from markov import PauseTandem, stationary; stationary(PauseTandem())"
ASKED = "import sys; print([m for m in ('scipy.linalg', 'scipy.sparse.csgraph') if m in sys.modules])"


def random_graph(seed: int) -> sp.csr_matrix:
    """Return a graph of some parts, with loops and entries that are zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    edges = int(rng.integers(0, 4 * n))
    pairs = rng.integers(0, n, (2, edges))
    return sp.csr_matrix((rng.integers(0, 3, edges).astype(float), pairs), shape=(n, n))


@pytest.mark.parametrize("seed", range(40))
def test_plain_python_finds_what_scipy_finds(seed, monkeypatch) -> None:
    graph, found = random_graph(seed), []
    start = seed % graph.shape[0]
    for plain in (True, False):
        monkeypatch.setattr(matrices, "_fits_plain_python", lambda _, plain=plain: plain)
        count, labels = matrices.strong_components(graph)
        orders = [
            matrices.breadth_first_order(graph, start),
            matrices.breadth_first_order(graph, start, directed=False),
            matrices.cuthill_mckee_order(graph),
        ]
        assert all(each.dtype == np.int64 for each in orders)
        found.append([count, labels.tolist(), *(each.tolist() for each in orders)])
    assert found[0] == found[1]


def test_the_components_of_an_irreducible_chain_are_one(monkeypatch) -> None:
    monkeypatch.setattr(matrices, "_fits_plain_python", lambda _: True)
    ring = sp.csr_matrix(np.roll(np.eye(5), 1, axis=1))
    count, labels = matrices.strong_components(ring)
    assert count == 1
    assert labels.tolist() == [0] * 5


def test_many_searches_load_what_scipy_has(monkeypatch) -> None:
    """Small graphs, until they have had as many entries as a sweep over many chains."""
    monkeypatch.delitem(sys.modules, "scipy.sparse.csgraph", raising=False)
    monkeypatch.setitem(matrices._searched, "entries", 0)
    ring = sp.csr_matrix(np.roll(np.eye(100), 1, axis=1))
    plain = [matrices._fits_plain_python(ring) for _ in range(matrices.MAX_PLAIN_ENTRIES // 100 + 5)]
    assert plain == [True] * (matrices.MAX_PLAIN_ENTRIES // 100) + [False] * 5
    large = sp.csr_matrix((matrices.PLAIN_ENTRIES + 1, matrices.PLAIN_ENTRIES + 1))
    large.setdiag(1.0)
    monkeypatch.setitem(matrices._searched, "entries", 0)
    assert not matrices._fits_plain_python(large)


def test_a_first_small_chain_loads_neither_searches_nor_linear_algebra_of_scipy() -> None:
    command = [sys.executable, "-c", f"{CHAIN}; {ASKED}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

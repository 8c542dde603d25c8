"""The compiled law on rings against the law itself."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import bare_law
from dfcmodel.theory.ring_arrays import TILE, advance_rings


@pytest.mark.parametrize(("nodes", "threads"), [(20, 1), (20, 3), (TILE + 6, 1), (3 * TILE, 2)])
def test_rings_follow_the_law(nodes: int, threads: int) -> None:
    """In one tile and in several, whose last one is short or whole; 18 periods are two turns."""
    n = np.random.default_rng(3).uniform(0, 10, (5, nodes))
    expected = [bare_law(row, 0.1, 30, base_rate=5.0)[-1] for row in n]
    J = np.full_like(n, 5.0)
    w = J - 0.1 * n
    advance_rings(n, J, w, 0.1, 12, threads=threads)
    advance_rings(n, J, w, 0.1, 18, threads=threads)
    np.testing.assert_allclose(n, expected, rtol=1e-12)


def test_rings_refuse_what_is_not_alike() -> None:
    n = np.ones((2, 5))
    with pytest.raises(ValueError, match="sent of shape"):
        advance_rings(n, n[:1], n.copy(), 0.1, 1)
    with pytest.raises(ValueError, match="told of shape"):
        advance_rings(n, n.copy(), np.ones((5, 2)).T, 0.1, 1)
    with pytest.raises(ValueError, match="diffusion"):
        advance_rings(n, n.copy(), n.copy(), 0.0, 1)

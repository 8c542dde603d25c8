"""The worst case against brute force over sizes and orders."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import PausedLink
from dfcmodel.lossless.worst_cases import largest_burst, largest_drain


@pytest.mark.parametrize("seed", range(12))
def test_worst_case_is_the_best_of_all_orders_of_all_sizes(seed, best_by_enumeration) -> None:
    rng = np.random.default_rng(seed)
    lossless = int(rng.integers(64, 300))
    cell = 1 if seed % 3 == 0 else int(rng.integers(64, lossless + 1))
    link = PausedLink(10**10, 300, lossless, cell, 1.0, response=int(rng.integers(0, 4000)))
    assert largest_burst(link).cells == best_by_enumeration(link, link.window // 8 - 12)
    for window in (8, 1000, 5000):
        budget = (window - 1) // 8
        assert largest_drain(link, window) == best_by_enumeration(link, budget, head=False)


def test_a_share_of_small_frames_takes_the_best_numbers_of_both() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        lossless, share = int(rng.integers(200, 1500)), float(rng.random())
        link = PausedLink(
            10**10,
            1500,
            lossless,
            int(rng.integers(64, 193)),
            share,
            response=int(rng.integers(40_000)),
        )
        found = largest_burst(link)
        small = found.runs[0][0] if len(found.runs) > 1 else lossless
        budget, best = link.window // 8 - 12 - 1, 0
        for large in range(budget // (lossless + 20) + 1):
            left = budget - large * (lossless + 20)
            count = min(left // (small + 20), int(share / (1 - share) * (large + 1) + 1e-9))
            heads = 1 + (left - count * (small + 20)) // link.cell
            heads = min(heads, link.cells_of(lossless))
            cells = heads + count * link.cells_of(small) + (large + 1) * link.cells_of(lossless)
            best = max(best, cells)
        assert found.cells >= best
        assert found.cells <= max(
            best, largest_burst(PausedLink(**{**vars(link), "small_packets": 0.0})).cells
        )

"""Frames that fill a headroom to its last cell, and a search that finds no more."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import PausedLink, search_worst
from dfcmodel.lossless import witness
from dfcmodel.lossless.worst_cases import largest_burst


def test_a_thousand_headrooms_are_filled_to_the_last_cell_and_one_less_loses(random_link) -> None:
    rng = np.random.default_rng(24)
    for _ in range(1000):
        link = random_link(rng)
        found = witness(link)
        assert found.headroom == largest_burst(link).cells
        assert found.holds, link


def test_a_witness_would_notice_a_headroom_that_is_too_large() -> None:
    link = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    fills = witness(link).fills
    more = type(fills)(**{**vars(fills), "capacity": fills.capacity + 1}).run()
    assert more.peak == fills.capacity
    assert more.lost == 0


@pytest.mark.parametrize("small", [0.0, 1.0])
def test_no_search_over_sizes_and_phases_finds_more(small, random_link) -> None:
    rng = np.random.default_rng(7)
    gaps = []
    for seed in range(10):
        link = random_link(rng, small=small, top=1500)
        link = PausedLink(**{**vars(link), "cable": link.cable % 20_000, "rate": 10**10})
        gaps.append(largest_burst(link).cells - search_worst(link, 400, rng=seed))
    assert min(gaps) >= 0

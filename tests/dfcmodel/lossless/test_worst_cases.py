"""The worst case against brute force over sizes and orders, and against the packet level."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, Flow, Link, Packets, Pause, PausedLink, Scenario, simulate
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
        assert largest_drain(link, window).cells == best_by_enumeration(link, budget, head=False)


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


def frames_above_in_packets(link: PausedLink) -> float:
    """Return the packets above a threshold at the packet level: a queue, a saturated link and a message."""
    rate, delay = link.rate / (8 * (link.lossless_mtu + 20)), link.cable / link.rate
    wait = (link.window - 2 * link.cable) / link.rate
    links = (
        Link("a", "b", rate, delay, 1e7, FIFO()),
        Link("b", "c", 1e-6 * rate, delay, 1e7, Pause(high=100, low=50, signalling=wait)),
    )
    flow = Flow("one", ("a", "b", "c"), CBR(rate), host="direct")
    run = simulate(
        Scenario("pause", links, (flow,), 110 / rate + 3 * (2 * delay + wait)), Packets(seed=1)
    )
    return float(run.peak_queue[1]) - 100


def test_the_packet_level_has_as_many_frames_above_the_threshold() -> None:
    """One more where the window ends in the last byte of a complete packet or in the gap after it."""
    rng = np.random.default_rng(24)
    edges = 0
    for n in range(60):
        rate, size = int(1e9 * 800 ** rng.random()), int(rng.integers(512, 9601))
        cable = math.ceil(rate * 80_000 ** rng.random() * 5e-9)
        link = PausedLink(
            rate, 9600, size, cable=cable, response=int(rng.integers(10_000, 500_000))
        )
        if n % 4 == 0:  # move the end of the window into these 13 bytes
            late = (link.window // 8 - int(rng.integers(1, 12))) % (size + 20)
            link = PausedLink(
                rate, 9600, size, cable=cable, response=link.response + 8 * (size + 20 - late)
            )
        edge = link.window / 8 % (size + 20) < 13
        edges += edge
        assert frames_above_in_packets(link) == math.ceil(largest_burst(link).cells / size) + edge
    assert 15 <= edges < 20

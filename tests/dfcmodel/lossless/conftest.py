"""Random links, the worst case by enumeration, and a chain that a watchdog looks after."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, Flow, PausedLink, Scenario, chain
from dfcmodel.lossless import Watchdog

DOG = Watchdog(0.05, 0.1, 0.2)


def short_chain(discipline: Any, *flows: Flow, duration: float = 1.0) -> Scenario:
    """Return two links with a flow of constant rate, or with given flows."""
    links = chain(3, rate=1e3, delay=1e-3, buffer=2000, discipline=discipline)
    given = flows or (Flow("flow", (1, 2, 3), CBR(100.0), host="direct"),)
    return Scenario("chain", links, given, duration=duration)


def _random_link(rng, *, small=None, top=9600):
    """Return a link of 1 to 800 Gb/s and 1 m to 80 km with any sizes, cells and delays."""
    rate = int(1e9 * 800 ** rng.random())
    lossless = int(rng.integers(64, top + 1))
    cell = 1 if rng.random() < 0.2 else int(rng.integers(64, min(lossless, 400) + 1))
    share = float(rng.choice([0.0, 1.0, rng.random()])) if small is None else small
    cable = 80_000 ** rng.random() * 5e-9
    delays = [cable, *(rng.random(4) * [3e-6, 1e-6, 1e-7, 1e-6])]
    return PausedLink(
        rate, int(rng.integers(lossless, top + 1)), lossless, cell, share, int(rng.integers(1, 9)),
        *(math.ceil(rate * delay) for delay in delays),
    )  # fmt: skip


def _best_by_enumeration(link, budget, *, head=True):
    """Return the most cells by dynamic programming over all sizes: any order of any frames."""
    sizes = np.arange(link.smallest, link.lossless_mtu + 1)
    cells = -(-sizes // link.cell)
    last = int(cells.max())
    best = [0] * (budget + 1)
    for b in range(1, budget + 1):
        fits = sizes + 20 <= b
        weights = b - sizes[fits] - 20
        values = cells[fits] + [best[w] for w in weights]
        best[b] = max(best[b - 1], int(values.max()) if len(values) else 0)
    if not head:
        return best[budget] + last
    found = 0
    for size in sizes:  # the frame that crosses, from each of its cells on
        for first in range(0, int(size), link.cell):
            if (left := int(size) - first) <= budget:
                found = max(found, -(-left // link.cell) + best[budget - left] + last)
    return found


@pytest.fixture
def random_link():
    """Return a function that draws a link."""
    return _random_link


@pytest.fixture
def best_by_enumeration():
    """Return a function for the most cells of all orders of all sizes."""
    return _best_by_enumeration

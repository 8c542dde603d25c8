"""Random rules, state by state: every way to a chain gives what plain Python gives, or refuses the rules."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.markov.random_rules import HELPERS, rate_of
from tests.markov.test_ways_to_write import GRIDS, agree, each_way_alone, grid_of, outcome

QUICK, SLOW, COMPILED = 12, 2000, 100  # rules


def compare(rates: list[str], folder: Path, ways: list[str], sizes: list[tuple[int, ...]]) -> int:
    """Compare random rules with plain Python; return how many were not refused."""
    answered = 0
    for number, rate in enumerate(rates):
        grid = grid_of(rate, folder, 5000 + number, HELPERS)
        for width, height, x, y in sizes:
            model = grid(width=width, height=height, x=x, y=y)
            expected = outcome(model, "python")
            for way in ways:
                found = outcome(model, way)
                refused = "cannot be run by" in str(found)
                assert refused or agree(found, expected), (rate, way, found, expected)
                answered += not refused
    return answered


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    each_way_alone(monkeypatch)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_regions_and_sets(tmp_path):
    rng = random.Random(1)
    rates = [rate_of(rng) for _ in range(QUICK)]
    assert compare(rates, tmp_path, ["arrays", "regions", "sets"], GRIDS[1:]) >= QUICK // 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(10))
def test_many_regions_and_sets(seed, tmp_path):
    rng = random.Random(100 + seed)
    rates = [rate_of(rng) for _ in range(SLOW // 10)]
    assert compare(rates, tmp_path, ["arrays", "regions", "sets"], GRIDS) > SLOW // 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(5))
def test_compiled(seed, tmp_path):
    rng = random.Random(200 + seed)
    rates = [rate_of(rng) for _ in range(COMPILED // 5)]
    assert compare(rates, tmp_path, ["compiled"], GRIDS) > COMPILED // 40

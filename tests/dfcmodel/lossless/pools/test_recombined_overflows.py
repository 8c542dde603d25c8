"""Overflows of a shared pool in packet runs: plans and recombination."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, FIFO, Flow, Link, OnOff, Packets, Pause, Scenario
from dfcmodel.lossless import PacketRuns, Recombination, overflow
from dfcmodel.lossless.pools.pool_plans import plan_pool
from dfcmodel.lossless.pools.recombination import Histories
from dfcmodel.lossless.results import RecombinedEstimate

# The ports that count, and the times at which a pool is looked at.

RULES = {"x": Pause(high=5.0, low=2.0), "y": FIFO(), "z": Pause(high=6.0, low=2.0)}
LINKS = [Link("s", name, 1e4, 1e-3, 500.0, rule) for name, rule in RULES.items()]
FABRIC = Scenario("three", LINKS, [Flow("f", ("s", "x"), CBR(100.0))], duration=0.1)


def test_ports_are_all_that_pause_or_those_that_are_named() -> None:
    asked = plan_pool(20, PacketRuns(FABRIC, within=0.1))
    assert (asked.ports, asked.size, asked.plan.samples) == ([0, 2], 20.0, 100)
    assert plan_pool(20, PacketRuns(FABRIC, 0.1, 0.02, ["s->z", "s->z"])).ports == [2]
    with pytest.raises(ValueError, match="links = 's->y'"):
        plan_pool(20, PacketRuns(FABRIC, 0.1, links="s->y"))


# Recombined packet runs: against a probability that is known, and plain runs; ports that are coupled.

WITHIN, RATE = 1e-4, 2.4e6
SENT = math.floor(WITHIN * RATE)
"""Packets after the first that a sender sends in time if its burst does not end before."""


def ports_of_bursts(alone: float = 0.1, paths: list[tuple[str, ...]] | None = None) -> Scenario:
    """Return ports whose senders' first bursts last to the end with probability ``alone``; pauses come too late."""
    rule = Pause(high=5.0, low=2.0, signalling=1e-2)
    ways = [("s", f"h{p}") for p in range(4)] if paths is None else paths
    hops = dict.fromkeys(hop for way in ways for hop in itertools.pairwise(way))
    links = [Link(*hop, 1e6, 1e-6, 2000.0, rule) for hop in hops]
    bursts = OnOff(RATE, SENT / RATE / math.log(1.0 / alone), 1.0, random=True)
    flows = [Flow(str(n), way, bursts) for n, way in enumerate(ways)]
    return Scenario("ports", tuple(links), tuple(flows), duration=WITHIN)


@pytest.fixture(scope="module")
def found() -> RecombinedEstimate:
    """Return an estimate for ports that are all full with probability 1e-4."""
    traffic = PacketRuns(ports_of_bursts(), within=WITHIN, sample=2e-5)
    return overflow(100.0, traffic, Recombination(runs=400), seed=1)


def test_a_known_probability_is_found(found: RecombinedEstimate) -> None:
    """One packet less than four full ports hold is exceeded if no burst ends early: exp(-t / on) of each of them."""
    full = float(found.histories.held.max())
    rare = found.at(4.0 * full - 1.0)
    each = [(found.histories.held[-1, k] == full).mean() for k in range(4)]
    assert rare.probability == pytest.approx(math.prod(each), rel=1e-9)  # of these runs: rounding
    assert rare.interval[0] < 1e-4 < rare.interval[1]
    assert rare.is_narrow
    assert rare.histories.plain() == 0
    assert rare.interval[1] < rare.plain_interval[1] / 10.0
    assert 4.0 * full - 8.0 <= found.least_size(0.9e-4) <= 4.0 * full
    assert found.at(4.0 * full).probability == 0.0


def test_it_agrees_with_the_runs_where_overflows_are_not_rare(found: RecombinedEstimate) -> None:
    low, high = found.plain_interval
    assert 0.1 < found.probability < 0.9
    assert low < found.probability < high
    assert found.parts == (("s->h0",), ("s->h1",), ("s->h2",), ("s->h3",))
    assert "independent parts" in repr(found)


def test_with_few_runs_behind_it_the_interval_is_that_of_the_runs() -> None:
    """Each port is full in about 2 of 100 runs: the bootstrap cannot know how much rarer or more frequent that is."""
    traffic = PacketRuns(ports_of_bursts(0.02), within=WITHIN, sample=5e-5)
    few = overflow(100.0, traffic, Recombination(runs=100), seed=1)
    few = few.at(4.0 * float(few.histories.held.max()) - 1.0)
    assert not few.is_narrow
    assert few.interval[0] <= 1.6e-7 < few.interval[1] == few.plain_interval[1]
    assert "give more runs" in repr(few)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packets": Packets(convention="ns2")}, "packets = .*standard"),
        ({"size": 0.0}, "size = 0"),
        ({"runs": 5}, "runs = 5"),
        ({"runs": 10**6, "sample": 1e-6}, "runs = 1000000: 4 parts at 101 times"),
        ({"sample": 3e-5}, "sample = 3e-05: within = 0.0001 s must be a multiple"),
        ({"scenario": "ports"}, "scenario = 'ports'"),
        ({"within": -1.0}, "within = -1"),
        ({"links": ["s9->h9"]}, "links = 's9->h9'"),
        ({"links": []}, r"links = \[\]: must name at least one of"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    given = {"scenario": ports_of_bursts(), "size": 20.0, "within": WITHIN, "runs": 2000} | changes
    size, runs = given.pop("size"), given.pop("runs")
    with pytest.raises((TypeError, ValueError), match=message):
        overflow(size, PacketRuns(**given), Recombination(runs))


@pytest.mark.parametrize(
    ("paths", "links"),
    [(None, "s->h1"), ([("a", "s", "x"), ("a", "s", "x"), ("a", "s", "y")], None)],
)
def test_a_single_part_has_the_interval_of_its_runs(paths: Any, links: Any) -> None:
    """One port, or ports that a sender couples: nothing is recombined."""
    traffic = PacketRuns(ports_of_bursts(paths=paths), within=WITHIN, sample=2e-5, links=links)
    found = overflow(40.0, traffic, Recombination(runs=300), seed=1)
    assert len(found.parts) == 1
    peaks = found.histories.held.sum(axis=1).max(axis=0)
    found = found.at(float(peaks.mean()))
    plain = found.histories.plain() / 300
    assert 0.0 < plain < 1.0
    assert found.probability == pytest.approx(plain, rel=1e-9)
    assert found.interval == found.plain_interval


# Recombined histories against all combinations, one by one.


def of_all_combinations(held: np.ndarray, size: float, weights: np.ndarray) -> float:
    """Return the fraction of all combinations of runs that exceed the size at some time."""
    _, parts, runs = held.shape
    found = 0.0
    for chosen in itertools.product(range(runs), repeat=parts):
        if (held[:, range(parts), chosen].sum(axis=1, dtype=float) > size).any():
            found += np.prod(weights[range(parts), chosen] / runs)
    return float(found)


@pytest.mark.parametrize(("size", "whole"), [(9.0, True), (12.5, True), (12.5, False)])
def test_the_estimate_is_that_of_all_combinations(size: float, whole: bool) -> None:
    """In whole packets sums are exact, in others draws leave out what exceeds the size only when rounded up."""
    draw = np.random.default_rng(2)
    held = draw.integers(0, 6, (5, 3, 7)).astype(np.float32)
    held += 0.0 if whole else draw.random(held.shape, dtype=np.float32)
    weights = draw.multinomial(7, np.full(7, 1 / 7), 3)
    histories = Histories(held, size)
    assert (histories.step == 1.0) == whole
    found = [histories.recombine(weights, 1000, draw).probability for _ in range(9)]
    error = np.std(found, ddof=1) / 3.0
    right = of_all_combinations(held, size, weights)
    assert 0.05 < right < 0.95
    assert abs(np.mean(found) - right) < 4.0 * error + 1e-12  # 4 standard errors of the draws


def test_rare_sums_are_exact_and_runs_behind_them_counted() -> None:
    """Ten of 1000 runs of each of twelve parts hold 5 packets: all twelve exceed 59 with 0.01 to the power 12."""
    held = np.zeros((2, 12, 1000), dtype=np.float32)
    held[:, :, :10] = 5.0
    ones = np.ones((12, 1000), dtype=np.int64)
    found = Histories(held, 59.0).recombine(ones, 2000, np.random.default_rng(1))
    np.testing.assert_allclose(found.probability, 1e-24, rtol=1e-12)  # rounding alone
    assert (found.effective > 9.5).all()
    assert (found.effective <= 10.0 + 1e-9).all()
    never = Histories(held, 60.0).recombine(ones, 2000, np.random.default_rng(1))
    assert never.probability == 0.0
    assert not never.effective.any()


def test_runs_that_exceed_the_size_as_they_are() -> None:
    held = np.zeros((3, 2, 4), dtype=np.float32)
    held[1, :, 2] = 3.0
    held[:, 0, 3] = 5.0
    assert Histories(held, 5.5).plain() == 1
    assert Histories(held, 4.5).plain() == 2

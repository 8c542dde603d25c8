"""Recombined packet runs: against a probability that is known, and plain runs; ports that are coupled."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from dfcmodel import Flow, Link, OnOff, Packets, Pause, Scenario
from dfcmodel.lossless import RecombinedEstimate, recombine_packets

WITHIN, RATE = 1e-4, 2.4e6
SENT = math.floor(WITHIN * RATE)
"""Packets after the first that a sender sends in time if its burst does not end before."""


def ports(alone: float = 0.1, paths: list[tuple[str, ...]] | None = None) -> Scenario:
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
    return recombine_packets(ports(), 100.0, within=WITHIN, sample=2e-5, runs=400, rng=1)


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
    few = recombine_packets(ports(0.02), 100.0, within=WITHIN, sample=5e-5, runs=100, rng=1)
    few = few.at(4.0 * float(few.histories.held.max()) - 1.0)
    assert not few.is_narrow
    assert few.interval[0] <= 1.6e-7 < few.interval[1] == few.plain_interval[1]
    assert "give more runs" in repr(few)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": Packets(convention="ns2")}, "method = .*standard"),
        ({"size": 0.0}, "size = 0"),
        ({"runs": 5}, "runs = 5"),
        ({"runs": 10**6, "sample": 1e-6}, "runs = 1000000: 4 parts at 101 times"),
        ({"sample": 3e-5}, "sample = 3e-05: within = 0.0001 s must be a multiple"),
        (
            {"links": "s->h1"},
            r"two independent parts at least \(there is only one\); use split_packets",
        ),
        (
            {
                "scenario": ports(paths=[("a", "s", "x"), ("a", "s", "y")]),
                "links": ["s->x", "s->y"],
            },
            r"the ports s->x, s->y must be .* \(flow '0', flow '1'\); use split_packets\(scenario, 20, within=0.0001\)",
        ),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    given = {"scenario": ports(), "size": 20.0, "within": WITHIN} | changes
    with pytest.raises(ValueError, match=message):
        recombine_packets(given.pop("scenario"), given.pop("size"), **given)

"""Overflows of a shared headroom pool: couplings, worst cases, recombined ports."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy.stats import binom

from dfcmodel import CBR, FIFO, PFC, Flow, Link, OnOff, Packets, Pause, Scenario, simulate
from dfcmodel.lossless import (
    Episodes,
    OverflowChain,
    PacketRuns,
    PausedGroups,
    Recombination,
    Splitting,
    headroom_pool,
    overflow,
)
from dfcmodel.lossless.pools.paused_packets import PausedPackets
from dfcmodel.lossless.pools.pool_plans import plan_pool
from dfcmodel.lossless.pools.port_couplings import independent_parts
from dfcmodel.lossless.pools.recombination import Histories
from dfcmodel.lossless.results import RecombinedEstimate
from dfcmodel.packets.plan import PacketPlan
from markov import PhaseType
from responsefn import Reno
from tests.oracles.engines import begin_run, plan_scenario

# The time until a pool overflows: a closed form, and splitting against the chain.

GIVEN = {"shared": "9 MB", "alpha": 1.0, "rate": "100Gbps"}


def test_the_mean_time_is_that_of_a_birth_death_process() -> None:
    """Karlin and Taylor 1975, Ch. 4: sum over k of P(count <= k) / (up rate of k times P(count = k))."""
    pool = headroom_pool(1e5, 10, 2, size=6e5, **GIVEN)
    up, held = 50.0, 1e-3
    p = up * held / (1.0 + up * held)
    k = np.arange(7)
    exact = (binom.cdf(k, 20, p) / (up * (20 - k) * binom.pmf(k, 20, p))).sum()
    assert overflow(pool, Episodes(up, held, within=1.0)).empty.mean == pytest.approx(exact, rel=1e-10)


def by_chain(n, most, up, held, within) -> float:
    """Return the probability that the count passes ``most`` in time, from equilibrium, by expm."""
    p = up * held / (1.0 + up * held)
    k = np.arange(most + 1)
    Q = np.diag(up * (n - k[:-1]), 1) + np.diag(k[1:] / held, -1)
    Q -= np.diag(up * (n - k) + k / held)
    stays = binom.pmf(k, n, p) @ scipy.linalg.expm(Q * within)
    # 1 - stays.sum() has an absolute error of 1e-15
    return float(1.0 - stays.sum())


@pytest.mark.slow
def test_splitting_agrees_with_the_chain_where_overflows_are_rare() -> None:
    pool = headroom_pool(1e5, 10, 4, size=1.4e6, **GIVEN)
    exact = by_chain(40, 14, 50.0, 1e-3, 0.01)
    assert 1e-9 < exact < 1e-6
    episodes = Episodes(50.0, 1e-3, within=0.01)
    chain = overflow(pool, episodes)
    assert chain.probability == pytest.approx(exact, rel=1e-4)  # the difference of 1 and a sum: 1e-15
    assert chain.interval[0] <= chain.probability <= chain.interval[1]
    assert "mean time from equilibrium" in repr(chain)
    assert chain.plot().get_ylabel() == "P(overflow)"
    found = overflow(pool, episodes, Splitting(paths=200), seed=1)
    error = found.replications.std(ddof=1) / 20**0.5
    assert abs(found.probability - exact) < 4.0 * error
    assert error < 0.3 * exact
    low, high = found.interval
    assert low < found.probability < high
    assert "interval" in repr(found)
    assert found.plot().get_xlabel() == "replication"


def test_at_time_zero_only_the_equilibrium_counts() -> None:
    """Whatever the distribution of the durations, unequal headrooms too."""
    pool = headroom_pool([[1e5, 2e5]], 10, 2, size=4e5, **GIVEN)
    episodes = Episodes(50.0, PhaseType.erlang(3, mean=1e-3), within=1e-9)
    found = overflow(pool, episodes, Splitting(paths=2000), seed=2)
    p = 0.05 / 1.05
    small, large = np.meshgrid(np.arange(11), np.arange(11), indexing="ij")
    joint = binom.pmf(small, 10, p) * binom.pmf(large, 10, p)
    exact = joint[small + 2 * large > 4].sum()
    error = found.replications.std(ddof=1) / 20**0.5
    assert abs(found.probability - exact) < 4.0 * error


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"size": 5e6}, "cannot overflow"),
        ({"headroom": [[1e5, 2e5]]}, "all headrooms must be equal"),
        ({"starts": 0.0}, "starts = 0"),
        ({"held": -1.0}, "held = -1"),
    ],
)
def test_a_chain_that_cannot_be_made_is_refused(changed, message) -> None:
    given = {"headroom": 1e5, "size": 6e5, "starts": 50.0, "held": 1e-3, **changed}
    starts, held = given.pop("starts"), given.pop("held")
    pool = headroom_pool(given.pop("headroom"), 10, 2, **given, **GIVEN)
    with pytest.raises(ValueError, match=message):
        overflow(pool, Episodes(starts, held, 1.0), OverflowChain())


def test_the_method_follows_from_the_traffic_and_another_one_is_refused() -> None:
    pool = headroom_pool(1e5, 10, 2, size=6e5, **GIVEN)
    unequal = headroom_pool([[1e5, 2e5]], 10, 2, size=6e5, **GIVEN)
    episodes = Episodes(50.0, 1e-3, within=1e-9)
    assert type(overflow(pool, episodes)).__name__ == "OverflowTime"
    assert type(overflow(unequal, episodes, seed=1)).__name__ == "OverflowEstimate"
    with pytest.raises(TypeError, match=r"method = .*must be OverflowChain or Splitting for Episodes"):
        overflow(pool, episodes, Recombination())
    with pytest.raises(TypeError, match=r"traffic = 0\.01: must be PausedGroups, Episodes or PacketRuns"):
        overflow(pool, 0.01)
    with pytest.raises(TypeError, match="what headroom_pool returns"):
        overflow(20.0, PausedGroups(0.1))
    with pytest.raises(TypeError, match="scenario"):
        overflow(20.0, PacketRuns("ports", within=0.1))
    with pytest.raises(ValueError, match=r"held = .*must be a mean"):
        overflow(pool, Episodes(50.0, PhaseType.erlang(2, mean=1e-3), 1.0), OverflowChain())


@pytest.mark.parametrize("name", ["within", "paths", "replications"])
def test_bad_options_of_splitting_are_named(name) -> None:
    pool = headroom_pool(1e5, 10, 2, size=6e5, **GIVEN)
    within = 0 if name == "within" else 0.01
    effort = {} if name == "within" else {name: 0}
    with pytest.raises(ValueError, match=f"{name} = 0"):
        overflow(pool, Episodes(50.0, 1e-3, within), Splitting(**effort))


# Which ports share something.

RULE = Pause(high=5.0, low=2.0)
TOGETHER = PFC(xoff=5.0, xon=2.0, classes=(0,), counts="switch")


def plan_of(paths: dict[str, Any], rule: Any = RULE, source: Any = None) -> PacketPlan:
    """Return a plan of flows along paths; every link has the discipline."""
    hops = dict.fromkeys(hop for path in paths.values() for hop in itertools.pairwise(path))
    links = [Link(*hop, 1e4, 1e-3, 500.0, rule) for hop in hops]
    sender = CBR(100.0) if source is None else source
    flows = [Flow(name, tuple(path), sender) for name, path in paths.items()]
    scenario = Scenario("parts", tuple(links), tuple(flows), duration=0.1)
    return plan_scenario(scenario, Packets(), duration=0.1, sample=0.01)


def test_ports_of_a_switch_share_nothing() -> None:
    plan = plan_of({"a": "sx", "b": "sy", "c": "sz"})
    assert independent_parts(plan, [0, 1, 2]) == [[0], [1], [2]]
    assert independent_parts(plan, [2, 0]) == [[2], [0]]


@pytest.mark.parametrize(
    ("paths", "ends", "rule", "source"),
    [
        ({"long": "xsy", "b": "sz"}, ("xs", "sy"), RULE, None),
        ({"one": "asx", "two": "asy"}, ("sx", "sy"), RULE, None),
        ({"a": "sx", "b": "xs"}, ("sx", "xs"), RULE, Reno()),  # its acknowledgements
        ({"a": "asx", "b": "bsy"}, ("sx", "sy"), TOGETHER, None),
    ],
)
def test_ports_that_share_something_are_one_part(paths: Any, ends: Any, rule: Any, source: Any) -> None:
    plan = plan_of(paths, rule, source)
    names = [f"{port.source}{port.target}" for port in plan.ports]
    ports = [names.index(end) for end in ends]
    assert len(independent_parts(plan, ports)) == 1


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


@pytest.mark.slow
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
        ({"size": 0.0}, "pool = 0"),
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


# What is counted above thresholds.


PAUSED_FOR, SAMPLE = 5e-4, 2e-5
BY_CLASS = PFC(classes=(0,), xoff=3.0, xon=1.0)


def ports(rule: Any, source: Any = None, delay: float = 1e-5, links: int = 4) -> Scenario:
    """Return ports with two senders each, at a node of their own."""
    sender = OnOff(1e6, 3e-5, 6e-4, random=True) if source is None else source
    given = [Link(f"s{p}", f"h{p}", 1e6, delay, 2000.0, rule) for p in range(links)]
    flows = [
        Flow(f"{p}.{k}", (f"s{p}", f"h{p}"), sender, start=1e-4 * k, host="unshaped")
        for p in range(links)
        for k in range(2)
    ]
    return Scenario("ports", tuple(given), tuple(flows), duration=PAUSED_FOR)


def test_the_packets_above_are_those_of_the_queues() -> None:
    """Of ports with Pause by the records of a run; with PFC one threshold per ingress."""
    scenario = ports(Pause(high=5.0, low=2.0))
    plan = plan_scenario(scenario, Packets(seed=3), duration=PAUSED_FOR, sample=SAMPLE)
    queued = simulate(scenario, Packets(seed=3), duration=PAUSED_FOR, sample=SAMPLE).queued
    run = begin_run(plan)
    counted, some = PausedPackets(run, [0, 1, 2, 3]), PausedPackets(run, [1])
    seen = []
    for n in range(plan.samples):
        assert run.advance(n + 1)
        above = counted.above(run)
        assert above == pytest.approx(np.maximum(0.0, queued[:, n] - 5.0), abs=0.0)
        assert some.above(run) == [max(0.0, queued[1, n] - 5.0)]
        seen.append(above.sum())
    assert max(seen) > 5.0
    run = begin_run(plan_scenario(ports(BY_CLASS), Packets(seed=3), duration=PAUSED_FOR, sample=SAMPLE))
    counted = PausedPackets(run, [0, 1, 2, 3])
    assert len(counted.rows) == 8  # two ingresses of each port
    assert set(counted.high) == {3.0}

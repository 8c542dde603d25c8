"""How probable it is that a pool overflows; coupled ports."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy.stats import binom

from dfcmodel import CBR, PFC, Flow, Link, Packets, Pause, Scenario
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
from dfcmodel.lossless.pools.port_couplings import independent_parts
from dfcmodel.packets.plans import Plan
from markov import PhaseType
from responsefn import Reno
from tests.oracles.engines import plan_scenario

# The time until a pool overflows: a closed form, and splitting against the chain.

GIVEN = {"shared": "9 MB", "alpha": 1.0, "rate": "100Gbps"}


def test_the_mean_time_is_that_of_a_birth_death_process() -> None:
    """Karlin and Taylor 1975, Ch. 4: sum over k of P(count <= k) / (up rate of k times P(count = k))."""
    pool = headroom_pool(1e5, 10, 2, size=6e5, **GIVEN)
    up, held = 50.0, 1e-3
    p = up * held / (1.0 + up * held)
    k = np.arange(7)
    exact = (binom.cdf(k, 20, p) / (up * (20 - k) * binom.pmf(k, 20, p))).sum()
    assert overflow(pool, Episodes(up, held, within=1.0)).empty.mean == pytest.approx(
        exact, rel=1e-10
    )


def by_chain(n, most, up, held, within) -> float:
    """Return the probability that the count passes ``most`` in time, from equilibrium, by expm."""
    p = up * held / (1.0 + up * held)
    k = np.arange(most + 1)
    Q = np.diag(up * (n - k[:-1]), 1) + np.diag(k[1:] / held, -1)
    Q -= np.diag(up * (n - k) + k / held)
    stays = binom.pmf(k, n, p) @ scipy.linalg.expm(Q * within)
    # 1 - stays.sum() has an absolute error of 1e-15
    return float(1.0 - stays.sum())


def test_splitting_agrees_with_the_chain_where_overflows_are_rare() -> None:
    pool = headroom_pool(1e5, 10, 4, size=1.4e6, **GIVEN)
    exact = by_chain(40, 14, 50.0, 1e-3, 0.01)
    assert 1e-9 < exact < 1e-6
    episodes = Episodes(50.0, 1e-3, within=0.01)
    chain = overflow(pool, episodes)
    assert chain.probability == pytest.approx(
        exact, rel=1e-4
    )  # the difference of 1 and a sum: 1e-15
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
    with pytest.raises(
        TypeError, match=r"method = .*must be OverflowChain or Splitting for Episodes"
    ):
        overflow(pool, episodes, Recombination())
    with pytest.raises(
        TypeError, match=r"traffic = 0\.01: must be PausedGroups, Episodes or PacketRuns"
    ):
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


def plan_of(paths: dict[str, Any], rule: Any = RULE, source: Any = None) -> Plan:
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
def test_ports_that_share_something_are_one_part(
    paths: Any, ends: Any, rule: Any, source: Any
) -> None:
    plan = plan_of(paths, rule, source)
    names = [f"{port.source}{port.target}" for port in plan.ports]
    ports = [names.index(end) for end in ends]
    assert len(independent_parts(plan, ports)) == 1

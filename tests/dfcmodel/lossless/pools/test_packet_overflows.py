"""Splitting of packet runs: against plain runs, frequent and rare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from dfcmodel import CBR, FIFO, Flow, Link, OnOff, Packets, Pause, Scenario, simulate
from dfcmodel.lossless import split_packets

WITHIN, SAMPLE = 5e-4, 2e-5


def ports(count: int = 4, senders: int = 2, rule: Any = None) -> Scenario:
    """Return ports with bursts, each at a node of its own."""
    rule = Pause(high=5.0, low=2.0) if rule is None else rule
    links = [Link(f"s{p}", f"h{p}", 1e6, 1e-5, 2000.0, rule) for p in range(count)]
    bursts = OnOff(1e6, 3e-5, 6e-4, random=True)
    flows = [
        Flow(f"{p}.{k}", (f"s{p}", f"h{p}"), bursts, start=1e-4 * k, host="unshaped")
        for p in range(count)
        for k in range(senders)
    ]
    return Scenario("ports", tuple(links), tuple(flows), duration=WITHIN)


def test_splitting_agrees_with_plain_runs_where_overflows_are_not_rare() -> None:
    """Runs by `simulate`, which have queues at the ends of samples: the same packets above 5."""
    scenario, size, runs = ports(), 15.0, 200
    over = 0
    for seed in range(runs):
        run = simulate(scenario, Packets(seed=seed), duration=WITHIN, sample=SAMPLE)
        over += (np.maximum(0.0, run.queued - 5.0).sum(axis=0) > size).any()
    plain = binomtest(int(over), runs).proportion_ci(0.95)
    assert 0.01 < over / runs < 0.2
    given = {"within": WITHIN, "sample": SAMPLE, "paths": 40, "replications": 8}
    found = split_packets(scenario, size, rng=1, **given)
    assert len(found.levels) > 0
    low, high = found.interval
    assert plain.low < found.probability < plain.high
    assert low < over / runs < high
    assert found.replications.std() > 0.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 0.0}, "size = 0"),
        ({"within": -1.0}, "within = -1"),
        ({"sample": 3e-4}, "sample = 0.0003: within = 0.0005 s must be a multiple"),
        ({"links": ["s9->h9"]}, "links = 's9->h9'"),
        ({"links": []}, r"links = \[\]: must name at least one of"),
        ({"levels": [4.0, 2.0]}, r"levels = \[4.0, 2.0\]: must be ascending"),
        ({"levels": 0}, "levels = 0"),
        ({"paths": 5}, "paths = 5"),
        ({"replications": 2}, "replications = 2"),
        ({"method": Packets(convention="ns2")}, "method = .*standard"),
        ({"scenario": ports(rule=FIFO())}, "must have a link with Pause or PFC"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    given = {"scenario": ports(), "size": 20.0, "within": WITHIN} | changes
    with pytest.raises(ValueError, match=message):
        split_packets(given.pop("scenario"), given.pop("size"), **given)


def test_without_chance_the_estimate_is_certain() -> None:
    """Two constant senders at line rate: above its threshold by 12 packets and more, in any run."""
    link = Link("s", "h", 1e6, 1e-5, 2000.0, Pause(high=5.0, low=2.0))
    flows = [Flow(str(k), ("s", "h"), CBR(1e6), host="unshaped") for k in range(2)]
    scenario = Scenario("certain", (link,), tuple(flows), duration=WITHIN)
    given = {"within": WITHIN, "paths": 10, "replications": 5}
    assert split_packets(scenario, 8.0, **given).probability == 1.0
    never = split_packets(scenario, 100.0, **given)
    assert (never.probability, never.interval) == (0.0, (0.0, 1.0))

"""Phase effects: which flows may have them, and that random times remove them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, RED, Fair, Flow, Link, Packets, Scenario, simulate
from dfcmodel.network.phase_effects import phased_flows, random_time
from responsefn import CUBIC, NewReno

ALL = np.ones(2, dtype=np.bool_)
ALIKE = (NewReno(), NewReno())


def pair(near: float = 2e-3, far: float = 9e-3, rules=ALIKE, **shared) -> Scenario:
    """Return two flows that share a link of 1000 packets/s behind links of their own."""
    links = (
        Link("a", "c", 1e4, near, 1e4), Link("b", "c", 1e4, far, 1e4),
        replace(Link("c", "d", 1e3, 0.01, 20.0), **shared),
    )  # fmt: skip
    flows = tuple(
        Flow(name, (name, "c", "d"), rule, max_window=200.0)
        for name, rule in zip("ab", rules, strict=True)
    )
    return Scenario("pair", links, flows, duration=20.0)


@pytest.mark.parametrize(
    "scenario", [pair(), pair(far=2e-3, rules=(NewReno(), CUBIC()))], ids=["trips", "rules"]
)
def test_flows_that_differ_at_one_queue_are_found(scenario: Scenario) -> None:
    flows, links = phased_flows(scenario, ALL)
    assert flows.tolist() == [0, 1]
    assert [scenario.links[n].name for n in links.tolist()] == ["c->d", "c->d"]
    assert random_time(scenario, ALL) == 1e-3


@pytest.mark.parametrize(
    "scenario",
    [
        pair(far=2e-3),  # alike
        pair(discipline=Fair()),  # a queue of their own
        pair(discipline=RED(5.0, 15.0, 0.1)),  # drops at random
        pair(rules=(NewReno(), CBR(300.0))),  # one window
        pair(rate=1e6),  # a bottleneck each
    ],
)
def test_no_others_are(scenario: Scenario) -> None:
    assert not len(phased_flows(scenario, ALL)[0])
    assert random_time(scenario, ALL) == 0.0
    assert not len(phased_flows(pair(), np.array([True, False]))[0])  # one that loses


def test_a_packet_run_names_them_unless_it_has_random_times() -> None:
    """Random times of one packet move the share by more than their runs differ."""
    scenario = pair(far=2.5e-3)  # 0.18 where random times have 0.42 +- 0.02
    plain = simulate(scenario, Packets(seed=1))
    (limit,) = plain.limits
    assert limit.startswith("phase effects: flows a, b")
    assert "limit, phase effects" in plain.summary()
    runs = [simulate(scenario, Packets(seed=n), packet_jitter=1e-3) for n in range(1, 7)]
    assert all(run.limits == () for run in runs)
    lost = simulate(scenario, Packets(seed=1, loss={"c->d": 1e-3}))
    assert lost.limits == ()  # random losses break the phases

    def share(run) -> float:
        first, second = run.delivered[:, -1] - run.delivered[:, 5000]
        return float(first / (first + second))

    spread = np.array([share(run) for run in runs])
    assert abs(share(plain) - spread.mean()) > 3.0 * spread.std(ddof=1)

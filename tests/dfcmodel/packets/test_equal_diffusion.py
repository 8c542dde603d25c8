"""Diffusion-type flow control at packet level: both engines, the law, and takano2006's runs in ns-3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dfcmodel import CBR, DFC, Flow, Packets, Scenario, chain, simulate, takano2006
from hopflow import mbps
from tests.dfcmodel.packets.conftest import plan_of, random_diffusive, random_method
from tests.oracles.engines import (
    ENGINES,
    NAMES,
    equal_records,
)
from validation import evidence

SEEDS = range(1, 6)


@pytest.mark.parametrize("seed", [*range(1, 11), 13, 29, 31, 46, 81])
def test_random_networks_with_dfc_run_bit_equal_in_both_engines(seed: int) -> None:
    """With hosts of all kinds, feedback clocks in phase and not, FIFO links between, ACKs on the same links.

    The law reads whole packets, and of every second network averages over 3 ms.
    """
    scenario = replace(random_diffusive(seed), duration=0.8)
    method = random_method(seed, count_smoothing=3e-3 * (seed % 2))
    plan = plan_of(scenario, method, jitter=0.0 if seed % 3 else 2e-4)
    run = equal_records(plan)
    assert run.total.sum() > 50.0
    assert (run.imbalance == 0.0).all()


def test_feedback_arrives_in_time_where_windows_could_be_longer() -> None:
    """Only one way has ACKs, and it is long: a window is no longer than the shortest period of feedback."""
    links = [*chain(5, rate=2e3, delay=1e-3, buffer=30.0, discipline=DFC(0.3))]
    links[3] = replace(links[3], delay=40e-3, rate=900.0)
    flows = (Flow("one", (1, 2, 3, 4, 5), CBR(1e3), host="shaped"), Flow("two", (3, 4), CBR(500.0)))
    plan = plan_of(Scenario("long", links, flows, duration=0.5), Packets(seed=2))
    run = equal_records(plan)
    assert run.total[0] > 200.0


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_hosts_that_are_shaped_lose_nothing_and_share_the_link(simulate: Any) -> None:
    """Two constant rates of 0.8 of the link each: halves of it (eq. 13), and what is too much stays in the hosts."""
    links = chain(4, rate=1e3, delay=2e-3, buffer=50.0, discipline=DFC(0.05))
    flows = (
        Flow("long", (1, 2, 3, 4), CBR(800.0), host="shaped"),
        Flow("short", (3, 4), CBR(800.0), host="shaped"),
    )
    scenario = Scenario("shared", links, flows, duration=2.0)
    run = simulate(scenario, method=Packets(seed=3), sample=0.05)
    assert run.lost.sum() == 0.0
    late = run.delivered[:, -1] - run.delivered[:, 20]
    np.testing.assert_allclose(late, 500.0 * (run.time[-1] - run.time[20]), rtol=0.03)
    assert run.peak_queue.max() < 10  # packets of a buffer of 50
    np.testing.assert_allclose(run.backlog[:, -1], 300.0 * 2.0, rtol=0.05)


def test_with_smoothed_counts_more_gets_through_where_a_packet_weighs_much() -> None:
    """At 37 Mb/s and D = 0.1 a packet more takes a third of the link, which carries 3083 in the second that counts."""
    scenario = takano2006("1", host="shaped")
    links = [replace(link, rate=mbps(37), discipline=DFC(0.1)) for link in scenario.links]
    scenario = replace(scenario, links=links)
    for seed in (1, 2, 3):
        levels = (Packets(seed=seed, count_smoothing=tau) for tau in (0.0, 1.0 / mbps(37)))
        whole, smoothed = (simulate(scenario, level, duration=1.5, sample=0.5, jitter=20e-6) for level in levels)
        late = [np.ptp(run.delivered[:, run.time > 0.49], axis=1).sum() for run in (whole, smoothed)]
        assert late[0] + 5.0 < late[1] <= mbps(37) + 1.0


def test_active_flows_alone_share_a_link() -> None:
    """Until the second flow starts the first has the link, and again the whole link after its end."""
    links = chain(3, rate=1e3, delay=2e-3, buffer=50.0, discipline=DFC(0.05))
    flows = (
        Flow("first", (1, 2, 3), CBR(1e3), host="shaped"),
        Flow("second", (2, 3), CBR(1e3), start=1.0, host="shaped"),
    )
    run = simulate(Scenario("two", links, flows, duration=2.0), method=Packets(), sample=0.1)
    rates = np.diff(run.delivered[0])[[5, 8, 15, 18]] / 0.1
    np.testing.assert_allclose(rates, [1e3, 1e3, 500.0, 500.0], rtol=0.06)


CASES = [
    ("scenario-1-with-dfc-shaped", {}, {}),
    pytest.param("scenario-1-with-dfc-shaped", {"diffusion": 0.01}, {}, marks=pytest.mark.slow),
    pytest.param(
        "scenario-1-with-dfc-shaped", {"phases": "synchronous"}, {}, marks=pytest.mark.slow
    ),
    ("scenario-1-with-dfc-direct", {}, {"host": "direct"}),
    ("scenario-1-with-dfc-direct", {"target_source": "newreno"}, {"host": "direct"}),
    ("dfc-integer-counts", {"link_rate": 37_000_000}, {}),
    ("dfc-integer-counts", {"link_rate": 37_000_000, "diffusion": 0.01}, {}),
    pytest.param("dfc-integer-counts", {"link_rate": 123_000_000}, {}, marks=pytest.mark.slow),
    pytest.param(
        "dfc-integer-counts",
        {"link_rate": 123_000_000, "diffusion": 0.01}, {}, marks=pytest.mark.slow,
    ),
]  # fmt: skip
"""A bundled case, its rows, the host."""


def in_ns3(case: str, chosen: dict[str, object]) -> np.ndarray:
    """Return delivered packets and efficiencies of both flows, and all drops, for each seed."""
    flows = evidence.table(f"takano2006/{case}", "flows")
    default = {"target_source": "tahoe", "phases": "random", "buffers": "shared",
               "diffusion": 0.1, "counted": "waiting"}  # fmt: skip
    for name, value in {**default, **chosen}.items():
        flows = flows[flows[name] == value] if name in flows else flows
    wide = flows.pivot_table(index="seed", columns="flow", values=["unique", "mean_efficiency", "dropped"])
    columns = [(name, flow) for name in ("unique", "mean_efficiency") for flow in ("target", "background")]
    return np.column_stack([*(wide[column] for column in columns), wide["dropped"].sum(axis=1)])


def in_hopflow(chosen: dict[str, object], host: str = "shaped") -> np.ndarray:
    """Return the same, with the senders of ns-2 that the bundled runs have, and starts in 20 microseconds."""
    rate = float(str(chosen.get("link_rate", 370e6)))
    rule = DFC(float(str(chosen.get("diffusion", 0.1))), phases=str(chosen.get("phases", "random")))
    scenario = takano2006("1", host=host, tcp=str(chosen.get("target_source", "tahoe")))
    links = tuple(replace(link, rate=mbps(rate / 1e6), discipline=rule) for link in scenario.links)
    found = []
    for seed in SEEDS:
        method = Packets(seed=seed, convention="ns2")
        run = simulate(replace(scenario, links=links), method, duration=1.5, sample=0.01, jitter=20e-6)
        late = run.time > 0.1 + 1e-9
        means = run.efficiency.to_numpy()[:, late].mean(axis=1)
        found.append([*run.delivered[:, -1], *means, run.lost.sum()])
    return np.array(found)


@pytest.mark.parametrize(("case", "chosen", "host"), CASES)
def test_takano2006_with_dfc_is_as_in_ns3(case, chosen, host) -> None:
    """Means over five seeds of each, to the 99 % interval of their difference (Welch's t).

    Nothing is fitted: the feedback clocks have random phases in both, drawn from different generators.
    """
    theirs, ours = in_ns3(case, chosen), in_hopflow(chosen, **host)
    assert len(theirs) == len(ours) == len(SEEDS)
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    variances = np.array([ours.var(axis=0, ddof=1), theirs.var(axis=0, ddof=1)]) / len(SEEDS)
    error = np.sqrt(variances.sum(axis=0))
    freedom = error**4 / np.maximum((variances**2).sum(axis=0) / (len(SEEDS) - 1), 1e-300)
    bound = stats.t.ppf(0.995, np.maximum(freedom, 1.0)) * error
    table = pd.DataFrame({"difference": difference, "bound": bound})
    assert (abs(difference) <= bound + 1e-12).all(), table
    assert theirs[:, 0].min() > 2000

"""Layouts of further runs of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Packets, Scenario, chain, simulate
from dfcmodel.network.phase_effects import random_starts
from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.packets.engine import begin_run
from dfcmodel.packets.layouts.copies import CONSTANT, WITHOUT_VALUES
from dfcmodel.packets.watchdogs import PortWatchdog
from responsefn import NewReno
from tests.dfcmodel.packets.conftest import plan_of, random_classes, random_scenario
from tests.oracles.engines import check_records, plan_scenario, run_engine


def both(scenario: Scenario, method: Packets, **options: Any) -> tuple[Any, Any]:
    """Return the plan of a run, and that of the same run of a scenario that has had none before."""
    given = {"duration": scenario.duration, "sample": scenario.duration / 4, **options}
    fresh = replace(scenario)
    assert not fresh.derived
    return plan_scenario(scenario, method, **given), plan_scenario(fresh, method, **given)


@pytest.mark.parametrize(
    "name", ["fifo", "red", "pause", "pause quanta", "fair codel", "dualpi2", "classes"]
)
def test_further_runs_are_those_of_a_scenario_without_runs_before(name: str) -> None:
    scenario = random_classes(3) if name == "classes" else random_scenario(name, 3)
    scenario = replace(scenario, duration=0.2)
    runs = [(n, jitter) for n in range(1, 4) for jitter in (0.0, 0.01)]
    for seed, jitter in [*runs, (2, 0.0)]:
        starts = random_starts(scenario, jitter, np.random.default_rng(seed)) if jitter else None
        one, other = both(scenario, Packets(seed=seed), starts=starts)
        check_records(run_engine(one), run_engine(other))


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"recovery": "sack"}, {}), ({"loss": {"1->2": 0.1}}, {}), ({"ack_delay": 0.3}, {}), ({}, {"packet_jitter": 1e-3}),
        ({}, {"duration": 0.3}), ({"convention": "ns2"}, {}),
    ],
)  # fmt: skip
def test_runs_with_other_options_are_no_further_runs(change: Any, options: Any) -> None:
    flows = [Flow("f", (1, 2, 3), NewReno(), delayed_acks=True), Flow("g", (1, 2, 3), CBR(900.0))]
    scenario = Scenario("two", chain(3, rate=1e3, delay=1e-3, buffer=9), flows, duration=0.5)
    for _ in range(3):
        run_engine(both(scenario, Packets(seed=1))[0])
    for seed in (1, 2, 3):
        one, other = both(scenario, Packets(seed=seed, **change), **options)
        check_records(run_engine(one), run_engine(other))


def test_runs_share_only_what_they_do_not_change() -> None:
    scenario = replace(random_scenario("fifo", 3), duration=0.3)
    first, second, third = (begin_run(plan_of(scenario, Packets(seed=n))) for n in (1, 2, 3))
    alike = {name for name in first.arrays if first.arrays[name] is second.arrays[name]}
    assert alike <= set(CONSTANT), "these two are no copies"
    fourth = begin_run(plan_of(scenario, Packets(seed=3)))
    before = {name: array.tobytes() for name, array in fourth.arrays.items()}
    assert third.advance(third.plan.samples)
    third.finish()
    for name, array in fourth.arrays.items():
        shared = np.may_share_memory(array, third.arrays[name])
        assert shared == (name in CONSTANT and array.size > 0), name
        if name not in WITHOUT_VALUES:
            assert array.tobytes() == before[name], name


def test_a_run_with_a_watchdog_is_no_further_run_of_one_without() -> None:
    scenario = replace(random_scenario("pause", 3), duration=0.3)
    plans = [plan_of(scenario, Packets(seed=n)) for n in (1, 2, 3)]
    assert [int(begin_run(plan).arrays["port"]["plain"].min()) for plan in plans] == [0, 0, 0]
    dog = PortWatchdog(1, ALL, 0.01, 0.01, 0.005, 2, 2)
    watched = begin_run(replace(plans[2], watchdogs=(dog,))).arrays
    assert (watched["port"]["plain"][1], watched["watchdog"]["port"].tolist()) == (-1, [1])


# Flows that start after the end have no state.


def with_idle(count: int, source: Any, **options: Any) -> Scenario:
    """Return two flows of one link, the second of which has ``count`` others before it that do not start."""
    given = {"max_window": 20.0, **options}
    flows = [Flow("first", (1, 2, 3), NewReno(), **given)]
    flows += [Flow(f"{n}", (1, 2, 3), source, start=0.5 + n, **given) for n in range(count)]
    flows += [Flow("last", (1, 2, 3), NewReno(), start=0.01, **given)]
    return Scenario("idle", chain(3, rate=1e3, delay=1e-3, buffer=9), flows, duration=0.5)


@pytest.mark.parametrize("source", [NewReno(), CBR(5.0)])
@pytest.mark.parametrize("recovery", ["newreno", "sack"])
def test_idle_flows_change_nothing_and_have_no_rows(source: Any, recovery: str) -> None:
    scenario = with_idle(7, source)
    method = Packets(seed=1, recovery=recovery)
    run = begin_run(plan_of(scenario, method))
    rows = run.arrays["flow"]
    assert run.arrays["begun"].tolist() == [0, 1, 8]  # one that starts at the end has its row
    assert not rows[2:8].tobytes().strip(b"\0")
    assert len(run.arrays["rule"]) == 3 - isinstance(source, CBR)
    found = simulate(scenario, method, sample=0.1)
    expected = simulate(with_idle(0, source), method, sample=0.1)
    for name in (
        "delivered",
        "lost",
        "finished",
        "timeouts",
        "emitted",
        "inside",
        "imbalance",
        "first_loss",
    ):
        of_all = np.asarray(getattr(found, name))
        np.testing.assert_array_equal(
            of_all[[0, 8]], np.asarray(getattr(expected, name)), err_msg=name
        )
        of_idle = of_all[1:8].astype(float)
        assert (
            np.isnan(of_idle).all()
            if name in ("finished", "first_loss")
            else (of_idle == 0.0).all()
        )
    first = 0.0 if isinstance(source, CBR) else NewReno().start(0.1).cwnd
    np.testing.assert_array_equal(found.window[1:8], first)
    np.testing.assert_array_equal(found.window[[0, 8]], expected.window)
    assert str(found.status) == str(expected.status)


def test_flows_that_wait_for_others_are_not_idle() -> None:
    chained = [
        Flow("a", (1, 2, 3), NewReno(), size=5),
        Flow("b", (1, 2, 3), NewReno(), size=5, after="a"),
        Flow("c", (1, 2, 3), NewReno(), start=9.0),
    ]
    scenario = Scenario("chained", chain(3, rate=1e3, delay=1e-3, buffer=9), chained, duration=0.5)
    run = simulate(scenario, Packets(seed=1))
    assert (run.finished[:2] < 0.5).all()
    assert np.isnan(run.finished[2])

"""Watchdogs in packet runs: alarms, restoration, drops, and how often storms are missed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import CBR, PFC, DualPI2, Flow, Packets, Pause, simulate
from dfcmodel.lossless import Watchdog, watch_packets, watchdog_risk
from markov import PhaseType
from tests.dfcmodel.lossless.conftest import DOG, short_chain

# Watchdogs in packet runs, beside the formulas of `Watchdog.miss` and `watchdog_risk`.


def test_a_watchdog_that_sees_no_storm_changes_nothing() -> None:
    flows = (
        Flow("a", (1, 2, 3), CBR(900.0), host="direct"),
        Flow("b", (2, 3), CBR(800.0), host="direct"),
    )
    scenario = short_chain(Pause(high=20, low=10), *flows)
    plain = simulate(scenario, Packets(seed=1), sample=0.01)
    seen = watch_packets(scenario, Watchdog(0.5, 0.9, 1.0), method=Packets(seed=1))
    assert not seen.alarms
    assert plain.paused is not None
    np.testing.assert_array_equal(seen.run.delivered, plain.delivered)
    np.testing.assert_array_equal(seen.run.queued, plain.queued)


@pytest.mark.parametrize("length", [0.09, 0.115, 0.135, 0.16])
def test_storms_are_missed_as_often_as_the_formula_says(length: float) -> None:
    """40 runs with polls of random phases: 3.5 standard errors of a binomial."""
    scenario = short_chain(Pause(high=50, low=25), duration=0.5)
    runs, storms = 40, {"2->3": [(0.2, 0.2 + length)]}
    missed = sum(
        len(watch_packets(scenario, DOG, storms=storms, method=Packets(seed=seed)).missed)
        for seed in range(1, runs + 1)
    )
    p = DOG.miss(length)
    assert abs(missed / runs - p) <= 3.5 * np.sqrt(p * (1.0 - p) / runs)


def test_alarms_are_as_frequent_as_the_chain_says() -> None:
    """Pauses and gaps drawn from phase-type times; 3.5 standard errors of a Poisson number, which alarms are nearly."""
    pauses = PhaseType.hyperexponential([0.9, 0.1], [500.0, 1 / 30e-3])
    gaps, dog, end = PhaseType.exponential(5.0), Watchdog(0.02, 0.06, 1.0, 0.8), 250.0
    draw = np.random.default_rng(2)
    pairs = [gaps.sample(4000, seed=draw), pauses.sample(4000, seed=draw)]
    times = np.cumsum(np.column_stack(pairs).ravel()).reshape(-1, 2)
    scenario = short_chain(
        Pause(high=50, low=25), Flow("few", (1, 2, 3), CBR(1.0), host="direct"), duration=end
    )
    seen = watch_packets(scenario, dog, storms={"2->3": times[times[:, 1] < end].tolist()})
    expected = watchdog_risk(dog, pauses, gaps).alarms
    assert expected is not None
    assert abs(len(seen.alarms) - expected * end) <= 3.5 * np.sqrt(expected * end)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"storms": {"2->3": [(0.3, 0.2)]}}, "each must begin before its end"),
        ({"storms": {"2->3": [(0.1, 0.3), (0.2, 0.4)]}}, "each must begin before its end"),
        ({"storms": {"2->3": [0.1, 0.3]}}, "pairs of begin and end"),
        ({"storms": {"3->4": [(0.1, 0.2)]}}, "storms: link"),
        ({"links": "2->3"}, "links = '2->3'"),
        ({"duration": -1.0}, "duration"),
        ({"watchdog": 0.1}, "watchdog"),
    ],
)
def test_what_cannot_be_run_is_refused(changed: dict[str, Any], message: str) -> None:
    given = {"watchdog": DOG, **changed}
    with pytest.raises((ValueError, TypeError), match=message):
        watch_packets(short_chain(Pause(high=50, low=25)), given.pop("watchdog"), **given)


def test_networks_without_pauses_and_other_queues_are_refused() -> None:
    with pytest.raises(ValueError, match="no link from a switch is paused"):
        watch_packets(short_chain(DualPI2()), DOG)
    mixed = short_chain(Pause(high=50, low=25))
    links = (replace(mixed.links[0], discipline=DualPI2()), *mixed.links[1:])
    with pytest.raises(ValueError, match="must be FIFO, Pause or PFC"):
        watch_packets(replace(mixed, links=links), DOG)
    with pytest.raises(ValueError, match="must have Pause or PFC"):
        watch_packets(replace(mixed, links=links), DOG, storms={"1->2": [(0.1, 0.2)]})


# Watchdogs at single ports: when they declare a storm, what they drop, when they are restored.


def test_a_storm_is_declared_and_restored_and_packets_are_dropped_in_between() -> None:
    scenario = short_chain(Pause(high=50, low=25), duration=1.5)
    seen = watch_packets(scenario, DOG, storms={"2->3": [(0.2, 0.7)]})
    (alarm,) = seen.alarms
    low, high = DOG.delay
    assert low <= alarm.declared - 0.201 <= high  # the message takes 1 ms
    assert (
        0.15 <= alarm.restored - 0.701 <= 0.2
    )  # four good intervals, of which the storm ends in the first
    assert alarm.link == "1->2"
    assert not alarm.false
    # what waits since the pause, and what comes until the end
    assert abs(alarm.dropped - 100.0 * (alarm.restored - 0.201)) <= 2
    assert alarm.dropped == seen.run.lost.sum()
    assert seen.run.imbalance.max() == 0.0
    assert "1, 0 of them false" in repr(seen)
    assert seen.to_xarray().declared.attrs["units"] == "s"
    assert seen.plot().get_xlim() == (0.0, 1.5)


def test_only_the_class_that_is_paused_is_dropped() -> None:
    flows = [Flow(f"class {c}", (1, 2, 3), CBR(100.0), priority=c, host="direct") for c in (0, 3)]
    scenario = short_chain(PFC((3,), xoff=50, xon=25), *flows)
    seen = watch_packets(scenario, DOG, storms={"2->3": [(0.2, 0.7)]})
    assert [(alarm.link, alarm.priority) for alarm in seen.alarms] == [("1->2", 3)]
    lost = seen.run.lost.sum(axis=(1, 2))
    assert lost[0] == 0.0
    assert lost[1] == seen.alarms[0].dropped > 20
    assert seen.run.imbalance.max() == 0.0


def test_pauses_of_a_full_queue_are_false_alarms() -> None:
    flows = (
        Flow("a", (1, 2, 3), CBR(600.0), host="direct"),
        Flow("b", (2, 3), CBR(900.0), host="direct"),
    )
    scenario = short_chain(Pause(high=20, low=10), *flows)
    seen = watch_packets(scenario, Watchdog(0.01, 0.02, 0.05, fraction=0.8))
    assert len(seen.alarms) > 3
    assert all(alarm.false for alarm in seen.alarms)
    assert not seen.missed


def test_an_endless_storm_is_never_restored() -> None:
    scenario = short_chain(Pause(high=50, low=25))
    links = list(scenario.links)
    links[1] = replace(links[1], discipline=Pause(high=50, low=25, storm=0.2))
    (alarm,) = watch_packets(replace(scenario, links=tuple(links)), DOG).alarms
    assert np.isnan(alarm.restored)
    assert not alarm.false

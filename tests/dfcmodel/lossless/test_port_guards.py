"""Watchdogs at single ports: when they declare a storm, what they drop, when they are restored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfcmodel import CBR, PFC, Flow, Pause
from dfcmodel.lossless import Watchdog, watch_packets
from tests.dfcmodel.lossless.conftest import DOG, short_chain


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

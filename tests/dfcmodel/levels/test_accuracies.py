"""Goodput shares with intervals that contain the measured error of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, RED, Flow, Fluid, Link, Packets, Scenario, ensemble, share_intervals
from dfcmodel.levels.accuracies import measured_accuracies
from dfcmodel.results import Ensemble
from responsefn import NewReno
from tests.dfcmodel.intervals import student_interval

RATE = 1000.0
LINKS = (
    Link("near", "router", 10 * RATE, 2e-3, 1000.0),
    Link("far", "router", 10 * RATE, 9e-3, 1000.0),
    Link("router", "end", RATE, 8e-3, 30.0),
)
SCENARIO = Scenario(
    "two round-trip times",
    LINKS,
    tuple(Flow(n, (n, "router", "end"), NewReno(), max_window=200.0) for n in ("near", "far")),
    duration=4.0,
)


def runs(scenario: Scenario = SCENARIO, method: Fluid | Packets | None = None, **given) -> Ensemble:
    settings = {"runs": 3, "packet_jitter": 1 / RATE, "duration": 2.0} | given
    return ensemble(scenario, method=method or Fluid(), **settings)


@pytest.fixture(scope="module")
def packets() -> Ensemble:
    return runs(method=Packets(), duration=4.0)


def test_the_table_has_all_levels_and_the_error_exceeds_chance() -> None:
    table = measured_accuracies()
    assert list(table) == ["fluid", "packet level"]
    for accuracy in table.values():
        assert accuracy.shares >= 60
        assert 0.0 < accuracy.half_width < 0.25
        assert accuracy.chance < 0.03
        assert accuracy.mean_error > accuracy.chance
    assert table["fluid"].half_width > table["packet level"].half_width


def test_shares_are_goodput_over_the_rate_since_a_time(packets: Ensemble) -> None:
    found = share_intervals(packets, {"both": ["near", "far"], "far": ["far"]}, since=1.0)
    assert found.attrs["level"] == "packet level"
    goodput = [
        (run.delivered[:, -1] - [np.interp(1.0, run.time, flow) for flow in run.delivered]) / 3.0
        for run in packets.runs
    ]
    of_runs = np.array([[sum(each) / RATE, each[1] / RATE] for each in goodput])
    np.testing.assert_allclose(found["share"], of_runs.mean(axis=0), rtol=1e-9)
    low, high = student_interval(of_runs)
    np.testing.assert_allclose(found["by_chance"], (high - low) / 2)
    assert found["high"].sel(group="both") <= 1.0


def test_a_measurement_begins_after_a_quarter_of_the_run(packets: Ensemble) -> None:
    assert share_intervals(packets).identical(share_intervals(packets, since=1.0))


def test_chance_and_the_error_of_the_model_add_in_quadrature(packets: Ensemble) -> None:
    found = share_intervals(packets, since=1.0)
    model = measured_accuracies()["packet level"].half_width
    half = np.hypot(found["by_chance"], model)
    inside = (found["low"] > 0.0) & (found["high"] < 1.0)
    assert inside.any()
    np.testing.assert_allclose((found["high"] - found["share"])[inside], half[inside])
    np.testing.assert_allclose((found["share"] - found["low"])[inside], half[inside])


def test_each_level_has_its_own_error(packets: Ensemble) -> None:
    for many, level in ((runs(), "fluid"), (packets, "packet level")):
        found = share_intervals(many)
        assert found.attrs["level"] == level
        assert found["model_error"] == measured_accuracies()[level].half_width


def other_links(**changes) -> Scenario:
    return replace(SCENARIO, links=(*LINKS[:2], replace(LINKS[2], **changes)))


@pytest.mark.parametrize(
    ("many", "message"),
    [
        (lambda: runs(packet_jitter=0.0), "packet_jitter = 0"),
        (lambda: runs(method=Fluid(whole_losses=False)), "whole_losses = False"),
        (lambda: runs(other_links(discipline=RED(5.0, 15.0, 0.1))), "link router->end: RED"),
        (
            lambda: runs(replace(SCENARIO, flows=(replace(SCENARIO.flows[0], source=CBR(500.0)),))),
            "flow near: CBR",
        ),
    ],
)
def test_what_was_not_measured_is_refused(many, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        share_intervals(many())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": {"both": ["near", "middle"]}}, r"groups\['both'\] = 'middle'"),
        ({"groups": {"both": "near"}}, r"groups\['both'\] = 'near': must be a list of names"),
        ({"groups": {"none": []}}, r"groups\['none'\] = \[\]: must be a list of names"),
        ({"groups": {}}, "groups = {}: must have at least one group"),
        ({"since": 4.0}, "since = 4"),
        ({"since": -1.0}, "since = -1"),
        ({"since": 0.5}, "since = 0.5: must be at least 1 s, a quarter of the run"),
    ],
)
def test_bad_input_is_named(packets: Ensemble, given, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        share_intervals(packets, **given)

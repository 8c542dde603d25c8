"""D05 to D08 could have come out otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation.claims.takano2006 import speeds
from validation.statistics import Swing
from validation.verdicts import Sides, Verdict

R, C, N = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.NOT_REPRODUCED


@pytest.fixture
def found() -> speeds.Speed:
    return speeds.measure("2")


def steady(mean: float, std: float) -> Sides[Swing]:
    runs = Swing(np.full(4, mean), np.full(4, std))
    return Sides(runs, runs)


def test_an_unsettled_share_contradicts(found) -> None:
    assert speeds.judge(dataclasses.replace(found, with_dfc=steady(0.47, 0.0)))["settles"] == (C, C)
    assert speeds.judge(dataclasses.replace(found, with_dfc=steady(0.5, 0.02)))["settles"] == (C, C)


def test_swings_and_their_absence_decide(found) -> None:
    assert speeds.judge(found)["unstable"] == (N, N)
    assert speeds.judge(dataclasses.replace(found, without=steady(0.2, 0.2)))["unstable"] == (R, R)
    assert speeds.judge(dataclasses.replace(found, without=steady(0.2, 1e-3)))["unstable"] == (C, C)


def test_a_share_above_that_with_dfc_contradicts_low(found) -> None:
    assert speeds.judge(dataclasses.replace(found, without=steady(0.7, 0.1)))["low"] == (C, C)
    near = dataclasses.replace(found, without=steady(0.497, 0.1))
    assert speeds.judge(near)["low"].model is N  # the bias of the fluid leaves it open


@pytest.mark.parametrize(("id", "name"), [("D05", "2"), ("D06", "3"), ("D07", "4"), ("D08", "5")])
def test_every_scenario_notices_swings_without_dfc(doctor, judged, id: str, name: str) -> None:
    def swing(frame):
        return frame.assign(efficiency=0.3 * (1 + np.sign(np.sin(40 * frame["time"]))))

    doctor(f"takano2006/scenario-{name}-without-dfc", swing)
    assert judged(id)["unstable"].packets is R

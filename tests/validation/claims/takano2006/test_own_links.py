"""The bundled runs of hosts with a link of their own, and what the claims make of them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation.claims.takano2006.hosts import CLOCKS, OWN_LINK, READINGS
from validation.claims.takano2006.matrices import Cell, Matrix, Own, in_own_links, of_sources
from validation.claims.takano2006.own_links import first_losses, runs_with_dfc, runs_without_dfc
from validation.own_links import KINDS, SCENARIOS
from validation.statistics import Swing
from validation.verdicts import Sides, Verdict

R, C, N, A = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_eight_runs_of_each_kind_and_three_with_dfc(name: str) -> None:
    for kind in KINDS:
        assert len(runs_without_dfc(name, kind)[0].flows["target"]) == 8
        runs, lost = runs_with_dfc(name, kind)
        assert len(runs.flows["target"]) == 3
        assert not lost.any()


def test_with_equal_clocks_one_flow_has_all_of_the_first_losses() -> None:
    """Scenario 1: whichever of two simultaneous events is first decides, in every run; real clocks do not agree."""
    found = first_losses("1")
    assert set(found["departures first"]) == {0.0}
    assert set(found["as in ns-2"]) == {1.0}
    assert np.ptp(found["clocks"]) > 0.9


def cell(mean: float) -> Cell:
    swing = Swing(np.full(8, mean), np.full(8, 0.1))
    return Cell(swing, swing, np.zeros(8))


def matrix_of(fluid: float, packets: float) -> Matrix:
    both = Sides(cell(fluid), cell(fluid))
    own = {kind: Own(cell(0.5), cell(packets)) for kind in KINDS}
    return Matrix({"shaped": both}, both, Sides(cell(fluid), None), 0.5, 0.0, own)


def test_a_fluid_that_is_wrong_decides_nothing_without_dfc() -> None:
    """0.88 against 0.06, as in scenario 1; 0.5 against 0.3 is within a factor of two, not within 1.5."""
    judgement = {"settles": Sides(R, R), "low": Sides(C, A)}
    hosts = READINGS[OWN_LINK]
    wrong, right = matrix_of(0.88, 0.06), matrix_of(0.5, 0.3)
    assert of_sources(judgement, (wrong,), hosts, 2.0)["low"].model is N
    assert of_sources(judgement, (wrong,), hosts, 2.0)["settles"].model is R
    assert of_sources(judgement, (right,), hosts, 2.0)["low"].model is C
    assert of_sources(judgement, (right,), hosts, 1.5)["low"].model is N
    assert of_sources(judgement, (right, wrong), hosts, 2.0)["low"].model is N


def test_simulators_have_no_clocks() -> None:
    judgement = {"settles": Sides(R, R)}
    found = of_sources(judgement, (matrix_of(0.5, 0.5),), READINGS[CLOCKS], 2.0)
    assert found["settles"] == (R, A)


def test_orders_of_events_that_disagree_decide_nothing() -> None:
    verdicts = {"departures first": C, "as in ns-2": R, "clocks": C}
    found = in_own_links(lambda kind, _: {"low": Sides(A, verdicts[kind])})
    assert found == {OWN_LINK: {"low": N}, CLOCKS: {"low": C}}


def test_runs_of_the_level_take_the_place_of_packets() -> None:
    found = matrix_of(0.88, 0.06).at_level("clocks")
    without = found.without(READINGS[CLOCKS])
    assert without.packets is not None
    assert without.packets.target.mean.mean() == pytest.approx(0.06)
    assert found.with_dfc["shaped"].packets.target.mean.mean() == pytest.approx(0.5)
    assert dataclasses.replace(found).direct.packets.target.mean.mean() == pytest.approx(0.88)

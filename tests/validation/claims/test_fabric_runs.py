"""What claims on fabrics share: rates and queues of a run, statistics of few runs, decisions."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import FIFO
from responsefn import FixedRate
from validation import Verdict
from validation.claims import fabric_runs as shared
from validation.claims.effect_statements import Effects, Statement
from validation.statistics import Estimate


def test_rates_and_queues_of_a_run_are_those_after_its_beginning() -> None:
    """Two senders at line rate share the link; the queue grows by the rate of the second."""
    scenario = shared.star(2, FixedRate(), FIFO(), 4e-4)
    run = shared.packets(scenario, 1, 1e-4, 1e-5, recovery="none")
    assert run.rates.sum() == pytest.approx(shared.line(40), rel=0.02)
    queue = run.queue("switch->receiver")
    assert len(queue) == len(run.records.time) - run.first
    assert np.diff(queue).mean() == pytest.approx(shared.line(40) * 1e-5, rel=0.05)
    assert run.queue("h1->switch").max() <= 1.0


def test_starts_are_drawn_by_the_seed() -> None:
    one, other = shared.starts(4, 1), shared.starts(4, 2)
    assert one == shared.starts(4, 1) != other
    assert 0.0 <= min(one) <= max(one) <= shared.SPREAD


def test_statistics_of_runs() -> None:
    assert shared.gain([2.0, 4.0], [1.0, 2.0]).value == 1.0
    (up, down) = shared.steps([[1.0, 3.0, 2.0], [2.0, 4.0, 3.0]])
    assert (up.value, down.value) == (2.0, -1.0)
    (exact,) = shared.deviations([1.1], 1.0)
    assert exact.error == 0.0
    assert [e.value for e in shared.deviations([[1.0, 2.0], [1.0, 2.0]], 1.0)] == [0.0, 1.0]


def test_decisions_are_made_at_the_threshold() -> None:
    at = {"least": 0.1}
    assert shared.over(Estimate(0.3, 0.0))(at)[0].value == pytest.approx(0.2)
    assert shared.over(Estimate(0.3, 0.0), sign=-1.0)(at)[0].value == pytest.approx(0.4)
    assert shared.under(Estimate(0.3, 0.0))(at)[0].value == pytest.approx(-0.2)


def test_pfc_has_room_between_its_thresholds() -> None:
    assert (shared.pfc().xoff, shared.pfc().xon) == (300.0, 280.0)
    assert shared.pfc(20.0).xon == 10.0
    assert shared.pfc(20.0, xon=5.0).xon == 5.0


def test_the_packet_level_is_judged_in_other_readings_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validation.checks._SUBJECTS", {})

    def measure() -> Effects:
        low, high = (Statement(level=shared.over(Estimate(x, 0.0))) for x in (0.05, 0.3))
        return Effects({"it": low}, {}, ("x", "y"), readings={"other": {"it": high}})

    measure.__annotations__["return"] = "Effects"
    check = shared.on_fabrics("Q01", least=0.1)(measure)
    found = check.in_all_readings(check(), {})
    assert found.parts[0].level is Verdict.CONTRADICTED
    assert found.readings[0].parts[0].level is Verdict.HOLDS
    assert found.level is Verdict.DEPENDS
    assert check.in_all_readings(check(), {"least": 0.4}).level is Verdict.CONTRADICTED

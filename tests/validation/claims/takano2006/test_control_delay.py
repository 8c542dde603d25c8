"""D01 notices counts that no packet size makes, and another delay."""

from __future__ import annotations

from validation.claims.takano2006 import control_delay
from validation.verdicts import Verdict


def test_counts_that_no_packet_size_makes_are_noticed(monkeypatch) -> None:
    monkeypatch.setattr(control_delay, "SEVERAL_MILLION", (2e7, 9e7))
    found = control_delay.judge(control_delay.measure.measure())
    assert found["counts"].model is Verdict.CONTRADICTED


def test_another_delay_is_noticed(monkeypatch) -> None:
    monkeypatch.setattr(control_delay, "LIGHT_IN_FIBRE", 3e8)
    found = control_delay.judge(control_delay.measure.measure())
    assert found["factor"].model is Verdict.CONTRADICTED

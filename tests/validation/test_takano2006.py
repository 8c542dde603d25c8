"""The findings on takano2006, and that they could have come out otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from validation import Verdict, evidence, verdicts
from validation.claims import takano2006

REAL = evidence.table


@pytest.mark.parametrize("id", ["D02", "D04", "D05", "D06", "D07", "D10", "D12", "D14", "D15"])
def test_verdicts_are_as_recorded(id: str) -> None:
    finding = verdicts.find(id).check()
    assert (finding.model, finding.simulation) == verdicts.expected()[id]
    for picture in finding.pictures:
        figure = picture.draw()
        assert all(axes.get_xlabel() for axes in figure.axes)
        assert picture.alt


def test_student_interval() -> None:
    """Four runs: half-width 3.182 standard errors."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    bottom, top = takano2006.interval(values)
    assert (bottom + top) / 2 == pytest.approx(2.5)
    assert (top - bottom) / 2 == pytest.approx(3.182 * values.std(ddof=1) / 2, rel=1e-3)


def test_d04_would_be_low_if_packets_said_so(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if case == takano2006.TAHOE and name is None:
            frame["efficiency"] *= 0.4
        return frame

    monkeypatch.setattr(takano2006, "table", fake)
    parts = verdicts.find("D04").check().parts
    assert parts[2].simulation is Verdict.REPRODUCED


def test_d04_notices_an_unsettled_chain(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if case == takano2006.DFC and name is None:
            frame["efficiency"] += 0.05 * np.sin(40 * frame["time_s"])
        return frame

    monkeypatch.setattr(takano2006, "table", fake)
    assert verdicts.find("D04").check().parts[0].simulation is Verdict.CONTRADICTED


def test_d10_notices_a_queue_elsewhere(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if name == "queues":
            frame.loc[frame["node"] == 1, "queued"] = 900
        return frame

    monkeypatch.setattr(takano2006, "table", fake)
    assert verdicts.find("D10").check().parts[0].simulation is Verdict.CONTRADICTED


def test_d02_fails_where_the_limit_is_another(monkeypatch) -> None:
    monkeypatch.setattr(
        takano2006,
        "_exact",
        lambda x, kappa, time: 1 + 0.3 * np.cos(2 * np.pi * x) + 0 * kappa * time,
    )
    assert verdicts.find("D02").check().model is Verdict.CONTRADICTED

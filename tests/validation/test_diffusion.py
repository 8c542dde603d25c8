"""The findings on the DFC law itself, and that they could have come out otherwise."""

from __future__ import annotations

import pytest

from validation import Verdict, evidence, verdicts
from validation.claims import diffusion

REAL = evidence.table


@pytest.mark.parametrize("id", ["D01", "D03", "D18", "D20"])
def test_verdicts_are_as_recorded(id: str) -> None:
    finding = verdicts.find(id).check()
    assert (finding.model, finding.simulation) == verdicts.expected()[id]
    for picture in finding.pictures:
        figure = picture.draw()
        assert all(axes.get_xlabel() for axes in figure.axes)
        assert picture.alt


def test_d01_notices_counts_that_no_packet_size_makes(monkeypatch) -> None:
    monkeypatch.setattr(diffusion, "SEVERAL_MILLION", (2e7, 9e7))
    assert verdicts.find("D01").check().parts[0].model is Verdict.CONTRADICTED


def test_d01_notices_another_delay(monkeypatch) -> None:
    monkeypatch.setattr(diffusion, "LIGHT_IN_FIBRE", 3e8)
    assert verdicts.find("D01").check().parts[1].model is Verdict.CONTRADICTED


def test_d03_notices_a_spread_that_is_not_normal(monkeypatch) -> None:
    spread = diffusion._spread

    def skewed(fed_back: bool):
        x, history = spread(fed_back)
        return x, history * (x >= 0)

    monkeypatch.setattr(diffusion, "_spread", skewed)
    assert verdicts.find("D03").check().parts[0].model is Verdict.CONTRADICTED


def test_d18_would_keep_its_efficiency_if_packets_said_so(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if name == "flows":
            frame.loc[frame["flow"] == "target", "mean_efficiency"] = 0.5
        return frame

    monkeypatch.setattr(diffusion, "table", fake)
    assert verdicts.find("D18").check().simulation is Verdict.REPRODUCED


def test_d20_notices_a_link_for_the_shorter_queue(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if name == "occupancy":
            swapped = {"queued_target": "queued_background", "queued_background": "queued_target"}
            frame = frame.rename(columns=swapped)
        return frame

    monkeypatch.setattr(diffusion, "table", fake)
    assert verdicts.find("D20").check().parts[0].simulation is Verdict.CONTRADICTED

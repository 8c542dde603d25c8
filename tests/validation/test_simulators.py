"""Cross-checks between simulators."""

from __future__ import annotations

from validation import Verdict, evidence, verdicts
from validation.claims import simulators

REAL = evidence.table


def test_verdict_is_as_recorded() -> None:
    finding = verdicts.find("S03").check()
    assert (finding.model, finding.simulation) == verdicts.expected()["S03"]
    assert finding.pictures[0].draw().axes


def test_a_simulator_that_is_far_off_is_noticed(monkeypatch) -> None:
    def fake(case: str, name: str | None = None):
        frame = REAL(case, name)
        if case == simulators.NS3:
            frame["goodput"] *= 0.6
        return frame

    monkeypatch.setattr(simulators, "table", fake)
    parts = verdicts.find("S03").check().parts
    assert [part.simulation for part in parts][1] is Verdict.CONTRADICTED

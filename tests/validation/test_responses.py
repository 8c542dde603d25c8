"""S06: the window model against packets, and that it could have come out otherwise."""

from __future__ import annotations

import pytest

from validation import Verdict, evidence, verdicts
from validation.claims import responses

REAL = evidence.table


def test_verdict_is_as_recorded() -> None:
    finding = verdicts.find("S06").check()
    assert (finding.model, finding.simulation) == verdicts.expected()["S06"]
    assert len(finding.pictures[0].draw().axes) == 2
    assert all(part.simulation in Verdict for part in finding.parts)


def test_a_rule_that_is_far_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = responses.ratios()
    highspeed = found[found["rule"] == "highspeed"]
    assert responses._agree(highspeed) is Verdict.REPRODUCED
    assert responses._agree(highspeed.assign(ratio=highspeed["ratio"] * 0.7)) is (
        Verdict.CONTRADICTED
    )

    def fake(case: str, name: str | None = None):
        return REAL(case, name).assign(goodput=lambda d: d["goodput"] * 1.3)

    monkeypatch.setattr(responses, "table", fake)
    assert responses._agree(responses.ratios().query("rule == 'highspeed'")) is Verdict.CONTRADICTED

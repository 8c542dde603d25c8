"""Tallies: which columns and rows, and what is counted."""

from __future__ import annotations

from validation import Claim, Finding, Verdict, tally
from validation.verdicts import Part

R, C, O = Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.OPEN


def found(id: str, paper: str, model: Verdict, packets: Verdict) -> tuple[Claim, Finding]:
    finding = Finding((Part("", model, packets),), "found")
    return Claim(id, paper, "", "", "", lambda: finding), finding


FINDINGS = dict(
    [
        found("M01", "malhotra2005", R, R),
        found("M02", "malhotra2005", C, R),
        found("K01", "kaneko2007", O, C),
        found("S01", "hopflow", C, C),
    ]
)


def test_papers_are_counted_apart_from_own_comparisons() -> None:
    models = tally.tables(FINDINGS)["Models"]
    assert models.columns == ("claims", "reproduced", "contradicted", "no model yet", "not judged")
    assert models.rows["malhotra2005"] == (17, 1, 1, 0, 15)
    assert models.rows["all papers"] == (29, 1, 1, 1, 26)
    assert list(models.rows)[-1] == "hopflow"


def test_the_sentence_counts_what_is_decided() -> None:
    said = tally.headline(FINDINGS)
    assert said.startswith("3 of the papers' 86 claims judged")
    assert "models: 1 reproduced, 1 contradicted; packets: 2 reproduced, 1 contradicted" in said
    assert "hopflow's own: 1" in said

"""Tallies: which columns and rows, and what is counted."""

from __future__ import annotations

from validation import Verdict
from validation.report import tally

R, C, O, A = (
    str(verdict)
    for verdict in (
        Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.OPEN, Verdict.NOT_APPLICABLE,
    )
)  # fmt: skip
ROWS = [
    {"id": id, "paper": paper, "model": model, "simulation": packets}
    for id, paper, model, packets in (
        ("M01", "malhotra2005", R, R),
        ("M02", "malhotra2005", C, R),
        ("K01", "kaneko2007", O, C),
        ("S01", "hopflow", C, C),
    )
]


def test_papers_are_counted_apart_from_own_comparisons() -> None:
    models = tally.tables(ROWS)["Models"]
    assert models.columns == ("claims", "reproduced", "contradicted", "no model yet", "not judged")
    assert models.rows["malhotra2005"] == (17, 1, 1, 0, 15)
    assert models.rows["all papers"] == (29, 1, 1, 1, 26)
    assert list(models.rows)[-1] == "hopflow"


def test_counts_in_words_leave_out_what_does_not_apply() -> None:
    rows = [*ROWS, ROWS[0] | {"model": A}]
    said = [(count.claims, count.words) for count in tally.in_words(rows, "model")]
    assert said == [(1, "holds"), (1, "is contradicted"), (1, "has no model yet")]

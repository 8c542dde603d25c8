"""Tallies: which columns and rows, and what is counted."""

from __future__ import annotations

from validation import Verdict
from validation.report import tally

R, C, N, A, D = (
    str(verdict)
    for verdict in (
        Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE,
        Verdict.DEPENDS,
    )
)  # fmt: skip
ROWS = [
    {"id": id, "paper": paper, "model": model, "simulation": packets, "simulators": judged}
    for id, paper, model, packets, judged in (
        ("M01", "malhotra2005", R, R, {}),
        ("M02", "malhotra2005", C, R, {}),
        ("K01", "kaneko2007", N, C, {"ns-2": C}),
        ("S01", "hopflow", C, A, {}),
        ("S02", "hopflow", R, A, {}),
        ("S03", "hopflow", A, C, {"ns-3": C}),
    )
]


def test_papers_are_counted_apart_from_own_comparisons() -> None:
    models = tally.tables(ROWS)["Models"]
    assert models.columns == (
        "claims", "holds", "contradicted", "inconclusive", "not applicable", "not judged"
    )  # fmt: skip
    assert models.rows["malhotra2005"] == (17, 1, 1, 0, 0, 15)
    assert models.rows["all papers"] == (29, 1, 1, 1, 0, 26)
    assert list(models.rows)[-1] == "hopflow"


def test_counts_in_words_leave_out_what_does_not_apply() -> None:
    rows = [*ROWS, ROWS[0] | {"model": A}]
    said = [(count.claims, count.words) for count in tally.in_words(rows, "model")]
    assert said == [(1, "holds"), (1, "is contradicted"), (1, "is inconclusive")]


def test_claims_that_depend_are_counted_by_their_direction() -> None:
    rows = [ROWS[0] | {"model": D, "default": {"model": each, "packets": R}} for each in (R, R, C)]
    said = {count.words: count.claims for count in tally.in_words(rows, "model")}
    assert said == {
        "hold by default, contradicted in another reading": 2,
        "is contradicted by default, holding in another reading": 1,
    }


def test_own_comparisons_are_counted_in_a_sentence() -> None:
    said = tally.own_models(ROWS)
    assert said.startswith("Of 2 comparisons of hopflow's own models")
    assert "1 misses the limit" in said
    assert said.endswith("; of 1 of simulators with one another, 1.")
    assert tally.own_models(ROWS[:3]) == ""


def test_comparisons_of_linux_are_counted_by_themselves() -> None:
    linux = ROWS[-1] | {"simulation": R, "simulators": {"Linux": R}}
    said = tally.own_models([*ROWS, linux])
    assert said.endswith("; of 1 of Linux with the papers and RFCs of its rules, 0.")


def test_columns_are_of_simulators_that_judge_a_claim() -> None:
    assert tally.judging(ROWS) == ["ns-2", "ns-3"]
    assert list(tally.fields(ROWS[:3])) == ["model", "packets", "ns-2", "level"]

"""Rows of claims.json."""

from __future__ import annotations

import json
from pathlib import Path

from validation import Verdict
from validation.recording import Recorded
from validation.report.rows import as_csv, as_json, load, row_of, verdicts
from validation.verdicts import Sides, Threshold

R, C, A = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE


def test_a_row_survives_json(tmp_path: Path, toy) -> None:
    known = Recorded(
        Sides(R, C),
        turning=Sides((), ()),
        thresholds={"near": Threshold("near", "", 0.01, Sides(R, A), Sides(C, A))},
        statements={("", 1): (R, A, A, A, A, A)},
    )
    row = row_of(*toy(), {"Z01": known})
    place = tmp_path / "claims.json"
    place.write_text(as_json([row]))
    assert load(place) == {"Z01": row}
    assert verdicts(row) == Sides(R, C)
    assert row["as_recorded"]
    assert row_of(*toy(), {})["changed"][0] == "model and packets"


def test_a_row_has_the_claim_the_verdicts_and_what_they_stand_on(toy) -> None:
    wanted = (
        "id paper where claim model simulation as_recorded summary cases robustness experiments"
    )
    row = row_of(*toy(), {})
    assert set(wanted.split()) <= set(row)
    assert {"threshold", "value", "half", "twice"} <= set(row["robustness"][0])


def test_files_that_are_no_rows_count_as_none(tmp_path: Path) -> None:
    place = tmp_path / "claims.json"
    assert load(place) == {}
    for text in ("", "[", "{}", "[1]", json.dumps([{"id": "Z01"}])):
        place.write_text(text)
        assert load(place) == {}


def test_pictures_have_files_and_sizes(toy) -> None:
    """6.4 in by 3.6 in, at 96 CSS pixels an inch."""
    pictures = row_of(*toy(), {})["pictures"]
    assert [each["file"] for each in pictures] == ["figures/Z01-1.svg", "figures/Z01-2.svg"]
    assert (pictures[0]["width"], pictures[0]["height"]) == (614, 346)


def test_csv_has_a_line_for_each_row(toy) -> None:
    lines = as_csv([row_of(*toy(), {})]).splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("zheng2002/periodic-loss,not applicable,not applicable")

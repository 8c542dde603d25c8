"""The folder of the report: claim by claim, in one step each, beside what earlier calls found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from validation import Finding
from validation.finding_rows import Picture
from validation.report import folders
from validation.report.folders import Report, write


def ids(folder: Path) -> list[str]:
    return [row["id"] for row in json.loads((folder / "claims.json").read_text())]


def test_the_same_verdicts_are_json_and_csv(tmp_path: Path, toy) -> None:
    write(dict([toy("Z02"), toy("Z01")]), tmp_path, 1.0)
    assert ids(tmp_path) == ["Z01", "Z02"]
    assert (tmp_path / "claims.csv").read_text().startswith("id,paper,")


def test_nothing_of_a_claim_is_written_when_a_picture_fails(tmp_path: Path, toy) -> None:
    claim, finding = toy()

    def fail():
        raise RuntimeError("no picture")

    broken = Finding(finding.parts, "found", pictures=(Picture(fail, "", ""),))
    with pytest.raises(RuntimeError):
        write({claim: broken}, tmp_path, 1.0)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_what_an_earlier_call_found_stays(tmp_path: Path, toy) -> None:
    write(dict([toy("Z01"), toy("Z02")]), tmp_path, 1.0)
    again = Report(tmp_path, ["Z01", "Z02"])
    again.add(*toy("Z02"))
    text = again.write().read_text()
    assert ids(tmp_path) == ["Z01", "Z02"]
    assert "1 of 2 claims checked so far" in text
    assert "as an earlier call found them" in text


def test_findings_of_other_sources_are_named(tmp_path: Path, toy) -> None:
    write(dict([toy("Z01")]), tmp_path, 1.0)
    rows = json.loads((tmp_path / "claims.json").read_text())
    current = Report(tmp_path, []).write().read_text()
    (tmp_path / "claims.json").write_text(json.dumps([rows[0] | {"made_from": "other"}]))
    outdated = Report(tmp_path, []).write().read_text()
    assert "with other sources of hopflow" not in current
    assert "with other sources of hopflow or other data: Z01." in outdated


def test_the_start_page_follows_while_claims_are_checked(
    tmp_path: Path, toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "PAUSE", -1.0)
    report = Report(tmp_path, ["Z01", "Z02"])
    report.add(*toy("Z01"))
    assert "1 of 2 claims checked so far" in (tmp_path / "index.html").read_text()
    assert "not been checked yet" in (tmp_path / "claims/Z02.html").read_text()
    assert not list(tmp_path.rglob(".*")), "no temporary file is left"


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"report = '.*file/report': Not a directory"):
        Report(tmp_path / "file" / "report", ["Z01"])


def test_runs_computed_again_stand_on_the_start_page_of_this_call_and_the_next(
    tmp_path: Path, toy
) -> None:
    run = {"case": "packets/dumbbells-ns2", "recovery": "sack", "size": 2, "seed": 1}
    equal, off = run | {"differences": []}, run | {"seed": 2, "differences": ["drops"]}
    about = {"parts": [3], "of_parts": 16, "runs": [equal, off], "of_runs": 224, "packets": 99}
    report = Report(tmp_path, ["Z01"])
    report.add(*toy("Z01"))
    report.write(1.0)
    report.recomputed(about)
    for page in (tmp_path / "index.html", Report(tmp_path, []).write()):
        text = page.read_text()
        assert "computed 2 of 224 bundled runs" in text
        assert "1 run differs" in text
        assert "seed 2: drops" in text
    (tmp_path / "recomputed.json").write_text("broken")
    assert "bundled runs of ns-2 again" not in Report(tmp_path, []).write().read_text()


def test_the_page_of_a_family_keeps_the_sections_of_earlier_calls(tmp_path: Path, toy) -> None:
    claim, finding = toy("Z11")
    write({claim: finding}, tmp_path, 1.0)
    write(dict([toy("Z12")]), tmp_path, 1.0)
    text = (tmp_path / "claims/Z11-Z13.html").read_text()
    assert [f"{id} has not been checked yet" in text for id in ("Z11", "Z12", "Z13")] == [
        False,
        False,
        True,
    ]
    assert ids(tmp_path) == ["Z11", "Z12"]
    write({claim: replace(finding, explanation="Because anew.")}, tmp_path, 1.0)
    text = (tmp_path / "claims/Z11-Z13.html").read_text()
    assert text.count("Because anew.") == 1
    assert text.count('<section class="member"') == 3


def test_rows_of_other_versions_are_checked_again(tmp_path: Path, toy) -> None:
    write(dict([toy("Z01")]), tmp_path, 1.0)
    rows = json.loads((tmp_path / "claims.json").read_text())
    del rows[0]["simulators"]
    (tmp_path / "claims.json").write_text(json.dumps(rows))
    assert Report(tmp_path, []).rows == {}

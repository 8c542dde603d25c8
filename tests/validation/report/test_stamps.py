"""When a report is printed again, and when its claims are checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hopflow.commands import app
from validation.report import stamps


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A report of packages of one module each, with its stamp."""
    for name in stamps.PACKAGES:
        (tmp_path / "root" / name / "__pycache__").mkdir(parents=True)
        (tmp_path / "root" / name / "module.py").write_text("x = 1\n")
    monkeypatch.setattr(stamps, "ROOT", tmp_path / "root")
    folder = tmp_path / "report"
    (folder / "claims").mkdir(parents=True)
    (folder / "claims" / "M01.html").write_text("<p>holds</p>")
    stamps.write_stamp(folder, stamps.hash_of_sources())
    return folder


def test_a_report_is_current_until_a_source_or_a_page_changes(report: Path) -> None:
    root = stamps.ROOT
    (root / "markov" / "__pycache__" / "module.pyc").write_bytes(b"compiled")
    assert stamps.is_current(report, stamps.hash_of_sources())
    for changed in (root / "markov" / "module.py", report / "claims" / "M01.html"):
        before = changed.read_text()
        changed.write_text(before + " ")
        assert not stamps.is_current(report, stamps.hash_of_sources())
        changed.write_text(before)
        assert stamps.is_current(report, stamps.hash_of_sources())
    (root / "markov" / "module.py").rename(root / "markov" / "other.py")
    assert not stamps.is_current(report, stamps.hash_of_sources())


def test_a_source_that_changes_while_claims_are_checked_makes_the_report_outdated(
    report: Path,
) -> None:
    sources = stamps.hash_of_sources()
    (stamps.ROOT / "markov" / "module.py").write_text("x = 2\n")
    stamps.write_stamp(report, sources)
    assert not stamps.is_current(report, stamps.hash_of_sources())


def test_a_folder_without_a_stamp_is_not_current(tmp_path: Path) -> None:
    assert not stamps.is_current(tmp_path, stamps.hash_of_sources())


def test_an_unchanged_report_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    first = runner.invoke(app, ["validate", "--claim", "Z01"])
    stamps.write_stamp(tmp_path / "report", stamps.hash_of_sources())
    pages = {path: path.read_bytes() for path in (tmp_path / "report").rglob("*.*")}
    again = runner.invoke(app, ["validate", "--recompute", "none"])
    assert again.exit_code == first.exit_code == 0
    assert "1 claim as before, nothing has changed" in again.output
    line = next(line for line in first.output.splitlines() if line.startswith("Z01"))
    assert line in again.output.splitlines()
    assert pages == {path: path.read_bytes() for path in (tmp_path / "report").rglob("*.*")}

"""The ``hopflow`` command: claims, reports and data."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hopflow.commands import app
from hopflow.shell import main
from validation import recomputing
from validation.claims import find, ledger
from validation.commands import explained_claims
from validation.recording import recorded
from validation.report import folders
from validation.verdicts import Sides, Verdict
from validation.waterfalls import ABOUT

CONTRADICTED, NOT_APPLICABLE = Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE


def test_unknown_claim() -> None:
    with pytest.raises(ValueError, match=r"claim = 'Q99': must be one of"):
        find("Q99")
    assert find("m06") is find("M06")
    assert {"D02", "M06", "Z01", "K11", "S04"} <= set(ledger())


def hopflow(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "validation", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_command_checks_one_claim_and_writes_the_report(tmp_path: Path) -> None:
    """With --json standard output has the rows of the report, and nothing else."""
    done = hopflow("validate", "--claim", "Z01", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "report" / "index.html").exists()
    rows = json.loads((tmp_path / "report/claims.json").read_text())
    assert [row["id"] for row in rows] == ["Z01"]
    assert json.loads(done.stdout) == rows
    assert "Models: of 1 claim of a paper 1 holds." in done.stderr


def test_help_has_the_parts_that_there_are() -> None:
    done = CliRunner().invoke(app, ["validate", "--help"], env={"COLUMNS": "400"})
    assert f"from 0 to {recomputing.PARTS - 1}," in done.output


def test_command_refuses_an_unknown_claim_before_any_work(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["hopflow", "validate", "--claim", "Q99"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert "Q99" in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_command_exits_with_1_when_a_verdict_differs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = replace(recorded()["Z01"], verdicts=Sides(CONTRADICTED, NOT_APPLICABLE))
    monkeypatch.setattr(folders, "recorded", lambda: {"Z01": known})
    done = CliRunner().invoke(app, ["validate", "--claim", "Z01"])
    assert done.exit_code == 1
    assert "not as recorded: Z01 (model and packets)" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["claims"],
        ["data", "list"],
        ["data", "verify"],
        ["data", "show", "zheng2002/periodic-loss", "--plot", "loss.png"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_lists(tmp_path: Path, monkeypatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output


def test_explain_takes_the_claims_that_it_can_explain() -> None:
    assert set(explained_claims.explained) == set(ABOUT)
    assert "nothing" not in explained_claims.explained
    done = CliRunner().invoke(app, ["explain", "nothing"])
    assert done.exit_code != 0


def test_what_a_figures_csv_has_is_said() -> None:
    done = CliRunner().invoke(app, ["figure", "--help"], env={"COLUMNS": "400"})
    assert "Write the claim's table as CSV, too" in done.stdout

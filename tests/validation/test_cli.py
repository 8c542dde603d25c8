"""The ``hopflow`` command: claims, reports and data."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from hopflow.commands import app
from hopflow.shell import main
from markov import PauseTandem, stationary
from validation import Verdict, ledger, recomputing
from validation.claims import find
from validation.commands import explained_claims
from validation.picture_points import COLUMNS
from validation.recording import recorded
from validation.report import folders
from validation.verdicts import Sides
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


def test_the_points_of_a_figure_are_a_table_beside_it(tmp_path) -> None:
    done = CliRunner().invoke(app, ["figure", "M03", "--csv", "--json", "--folder", str(tmp_path)])
    assert done.exit_code == 0, done.output
    (about,) = json.loads(done.stdout)
    assert about["points"] == str(tmp_path / "M03-1.csv")
    found = pd.read_csv(about["points"])
    assert list(found) == list(COLUMNS)
    assert found[["x_quantity", "x_unit", "y_unit"]].drop_duplicates().to_numpy().tolist() == [
        ["RTT", "s", "%"]
    ]
    model = found.query(
        "kind == 'line' and curve == 'T1 = T2 = 15' and panel == 'lambda1 = 25 packets/s'"
    )
    rtt = float(model["x"].iloc[3])
    chains = [PauseTandem(arrival_rates=(25.0, 1.0), rtt=rtt, high_threshold=t) for t in (15, 20)]
    gain = [stationary(chain).throughput for chain in chains]
    assert model["y"].iloc[3] == pytest.approx(100 * (gain[0] / gain[1] - 1), abs=1e-6)
    assert (tmp_path / "M03-numbers.csv").exists()
    done = CliRunner().invoke(app, ["figure", "--help"], env={"COLUMNS": "400"})
    assert "one row per point" in done.stdout

"""``hopflow data`` in JSON, and its names."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hopflow.commands import app
from validation import cases


def test_the_list_has_every_case_and_a_paper_its_own() -> None:
    every = json.loads(CliRunner().invoke(app, ["data", "list", "--json"]).stdout)
    assert [each["case"] for each in every] == list(cases())
    some = json.loads(CliRunner().invoke(app, ["data", "list", "yang2001", "--json"]).stdout)
    assert some == [each for each in every if each["paper"] == "yang2001"] != []


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    """Before any simulator is looked for."""
    done = CliRunner().invoke(app, ["data", "regenerate", "zheng2002/periodic-los", "--json"])
    with pytest.raises(
        ValueError, match=r"case = 'zheng2002/periodic-los': must be .*periodic-loss'"
    ):
        raise done.exception
    assert not done.stdout
    done = CliRunner().invoke(app, ["data", "list", "yang2002"])
    with pytest.raises(ValueError, match=r"did you mean 'yang2001'\?"):
        raise done.exception


def test_a_case_is_shown_by_the_name_that_the_list_prints() -> None:
    def shown(name):
        return CliRunner().invoke(app, ["data", "show", name, "--json"])

    whole, alone = shown("linux/cubic-and-reno"), shown("cubic-and-reno")
    assert alone.exit_code == 0
    assert alone.stdout == whole.stdout
    with pytest.raises(ValueError, match=r"'linux/periodic-loss', 'zheng2002/periodic-loss'"):
        raise shown("periodic-loss").exception


def test_a_case_without_a_picture_is_described(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["data", "show", "roce"], env={"COLUMNS": "400"})
    assert done.exit_code == 0
    assert "flows.csv.xz" in done.stdout
    assert "no picture of this table: no column is a result in one unit" in done.stdout
    assert "figure:" not in done.stdout
    done = CliRunner().invoke(app, ["data", "show", "htsim/roce", "--plot", "roce.png"])
    with pytest.raises(
        ValueError, match=r"^plot = 'roce.png': no picture .*name a column \(--value\)"
    ):
        raise done.exception
    assert not list(tmp_path.iterdir())


def test_that_titles_are_left_out_is_said() -> None:
    for columns, said in (("80", True), ("140", False)):
        done = CliRunner().invoke(app, ["data", "list", "yang2001"], env={"COLUMNS": columns})
        assert ("Titles are shown from 100 columns on" in done.stdout) == said

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


def test_that_titles_are_left_out_is_said() -> None:
    for columns, said in (("80", True), ("140", False)):
        done = CliRunner().invoke(app, ["data", "list", "yang2001"], env={"COLUMNS": columns})
        assert ("Titles are shown from 100 columns on" in done.stdout) == said

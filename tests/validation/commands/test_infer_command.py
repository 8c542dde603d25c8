"""``hopflow infer``: tables, JSON, refusals."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hopflow.commands import app

RUN = CliRunner()


def test_tables_and_json_say_the_same() -> None:
    shown = RUN.invoke(app, ["infer", "zheng2002"])
    assert shown.exit_code == 0, shown.output
    assert "162 settings run" in shown.output
    told = RUN.invoke(app, ["infer", "zheng2002", "--json"])
    (found,) = json.loads(told.stdout)
    assert found["paper"] == "zheng2002"
    assert [each["name"] for each in found["parameters"]] == [
        "decrease",
        "size",
        "low",
        "rto",
        "window",
    ]
    assert all(each["claim"] in shown.output for each in found["claims"])


def test_other_papers_are_refused() -> None:
    result = RUN.invoke(app, ["infer", "malhotra2005"])
    assert isinstance(result.exception, ValueError)
    with pytest.raises(ValueError, match="paper = 'malhotra2005'"):
        raise result.exception

"""``hopflow judge``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from hopflow.commands import app


def judge(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["judge", *arguments], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.output


def test_it_shows_what_turns_and_where() -> None:
    said = judge("Z02", "--threshold", "tolerance=0.035")
    assert "holds -> contradicted" in said
    assert "tolerance = 0.035 (as judged here: 0.5)" in said
    assert "tolerance = 0.0442: model " in said


def test_it_shows_the_readings_and_takes_one() -> None:
    about = json.loads(judge("Z09", "--reading", "decrease setting", "--json"))
    assert about["before"]["model"] == "depends"
    assert about["after"]["model"] != "depends"
    assert about["reading"] in about["readings"]
    assert {each["statement"] for each in about["statements"]}


def test_it_says_where_nothing_turns() -> None:
    """Z16 is contradicted by statements that no one threshold changes."""
    said = judge("Z16")
    assert "level from 9.8e-06 to 0.45: the verdicts stay" in said
    assert "least from 9.8e-07 to 1: the verdicts stay" in said


def test_it_leaves_out_seeds() -> None:
    assert "without seed 3: model holds" in judge("Z02", "--seeds")


@pytest.mark.parametrize("text", ["tolerance", "tolerance=", "tolerance=high"])
def test_a_threshold_is_a_name_and_a_number(text: str) -> None:
    done = CliRunner().invoke(app, ["judge", "Z02", "--threshold", text])
    assert isinstance(done.exception, ValueError)
    assert "NAME=VALUE" in str(done.exception)

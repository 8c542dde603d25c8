"""The ``hopflow`` command: claims, reports and data."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from validation import cli, recomputing
from validation.claims import find, ledger
from validation.recording import recorded
from validation.report import folders
from validation.verdicts import Sides, Verdict

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
    (option,) = (
        each for each in typer.main.get_command(cli.app).commands["validate"].params  # type: ignore[attr-defined]
        if each.name == "recompute"
    )  # fmt: skip
    assert f"from 0 to {recomputing.PARTS - 1}," in option.help


def test_command_refuses_an_unknown_claim_before_any_work(tmp_path: Path) -> None:
    done = hopflow("validate", "--claim", "Q99", cwd=tmp_path)
    assert done.returncode == 2
    assert "Q99" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_command_exits_with_1_when_a_verdict_differs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = replace(recorded()["Z01"], verdicts=Sides(CONTRADICTED, NOT_APPLICABLE))
    monkeypatch.setattr(folders, "recorded", lambda: {"Z01": known})
    done = CliRunner().invoke(cli.app, ["validate", "--claim", "Z01"])
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
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("error", "words", "said"),
    [
        (
            ValueError("high_threshold = 30: too many"),
            ["--high-threshold=30"],
            "--high-threshold 30: too many",
        ),
        (ValueError("high_threshold = 30: too many"), [], "high_threshold = 30: too many"),
        (ValueError("x; unit_check=False allows it"), [], "x; --no-unit-check allows it"),
        (ValueError("path = a.toml: cannot be read"), ["a.toml"], "a.toml: cannot be read"),
        (FileNotFoundError(2, "No such file", "a.toml"), ["a.toml"], "a.toml: No such file"),
    ],
    ids=["option", "default", "switch", "path", "file"],
)
def test_messages_speak_of_options(error, words: list[str], said: str) -> None:
    assert cli.in_the_shell(error, words) == said


ROOT = Path(__file__).parents[2]


def commands_of(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands below one, with the words that call them."""
    yield names, command
    for name, each in getattr(command, "commands", {}).items():
        yield from commands_of(each, *names, name)


COMMANDS = dict(commands_of(typer.main.get_command(cli.app)))


def plain_words(text: str) -> str:
    """Return text without the frames, code marks and line breaks of a help page."""
    return " ".join(re.sub("[│╭╮╰╯─\n]", " ", text.replace("`", "")).split())


@pytest.mark.parametrize("names", COMMANDS, ids=lambda names: " ".join(names) or "hopflow")
def test_help_prints_all_that_was_written(names: tuple[str, ...]) -> None:
    """Markup in square brackets, ``hopflow[explore]``, was removed, and the advice was another one."""
    command = COMMANDS[names]
    done = CliRunner().invoke(cli.app, [*names, "--help"], env={"COLUMNS": "400"})
    printed = plain_words(done.output)
    assert done.exit_code == 0
    for text in (
        command.help,
        command.epilog,
        *(each.help for each in command.params if each.help),
    ):
        for paragraph in (text or "").split("\n\n"):
            assert plain_words(paragraph) in printed
    for line in re.findall(r"pip install (\S+)", printed):
        assert line in {f"'hopflow[{extra}]'" for extra in extras()}


def extras() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return set(project["optional-dependencies"])


def test_every_extra_that_a_text_names_is_one_of_the_project() -> None:
    """In error messages, docstrings and docs."""
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    for package in ("hopflow", "markov", "responsefn", "dfcmodel", "validation"):
        texts += (ROOT / package).rglob("*.py")
    named = {
        (extra.strip(), path.name)
        for path in texts
        for found in re.findall(r"hopflow\[([a-z, ]+)\]", path.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert {extra for extra, _ in named} >= {"explore", "scale", "capture", "test"}
    assert {pair for pair in named if pair[0] not in extras()} == set()

"""``hopflow validate`` interrupted: what was found so far, and nothing where there is nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from hopflow.commands import app
from validation import running
from validation.commands.checking import checked_under_a_bar


def test_the_bar_leaves_nothing_in_a_file() -> None:
    file = io.StringIO()
    assert not list(checked_under_a_bar([], Console(file=file), fresh=False))
    assert not file.getvalue()


@pytest.mark.parametrize("done", [0, 1])
def test_ctrl_c_leaves_what_was_found_so_far(tmp_path: Path, monkeypatch, done: int) -> None:
    def interrupted(claims, *, fresh, executor, recompute):
        yield from ((claim, claim.check()) for claim in claims[:done])
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "checked", interrupted)
    ended = CliRunner().invoke(app, ["validate", "--claim", "Y11", "--claim", "Y12"])
    assert ended.exit_code == 130
    assert f"interrupted: {done} of 2 claims" in ended.output
    assert ("of 1 claim of a paper" in ended.output) is (done > 0)  # the counts
    assert f"{done} of 2 claims checked so far" in (tmp_path / "report/index.html").read_text()

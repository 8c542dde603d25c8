"""The command line."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
import xarray as xr
from typer.testing import CliRunner

from hopflow import Status, warming
from hopflow.command_line import (
    as_json,
    check_folder,
    check_output,
    examples,
    plain,
    takes_records,
)
from hopflow.commands import app
from hopflow.kernels import build, loading
from hopflow.kernels.cache import kernel_cache

# Every command: examples in its help that parse, JSON, and files checked before any work.


def commands(group, *path: str):
    """Yield every command with the words that call it."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_command_has_examples_that_parse(path: tuple[str, ...]) -> None:
    lines = [line for line in ALL[path].epilog.splitlines() if line.startswith("$ ")]
    assert lines
    for line in lines:
        words = shlex.split(line)[1:]
        assert words[0] == "hopflow"
        rest = words[1 + len(path) :]
        if words[1 : 1 + len(path)] != list(path):  # hopflow solve FILE is hopflow solve file FILE
            assert path in (("solve", "file"), ("solve", "chain"))
            rest = words[2:]
        context = ALL[path].make_context(path[-1], rest, resilient_parsing=False)
        assert context.params


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_a_command_prints_json(path: tuple[str, ...]) -> None:
    assert "--json" in {option for each in ALL[path].params for option in each.opts}


def test_completion_is_offered() -> None:
    options = {option for each in typer.main.get_command(app).params for option in each.opts}
    assert {"--install-completion", "--show-completion"} <= options


@pytest.mark.parametrize(
    ("path", "name", "begun", "found"),
    [
        (("figure",), "name", "malhotra2005/", "malhotra2005/4"),
        (("figure",), "name", "M0", "M03"),
        (("simulate",), "tcp", "new", "newreno"),
        (("explain",), "tcp", "v", "vegas"),
        (("explain",), "scenario", "d0", "d05"),
        (("compare",), "rules", "CU", "CUbic"),
        (("simulate",), "level", "p", "packets"),
        (("simulate",), "host", "u", "unshaped"),
        (("data", "list"), "paper", "z", "zheng2002"),
        (("response",), "rules", "cu", "cubic"),
        (("validate",), "claim", "D0", "D05"),
        (("judge",), "claim", "m0", "m06"),
        (("data", "show"), "case", "zheng2002/p", "zheng2002/periodic-loss"),
        (("explore",), "view", "t", "threshold"),
    ],
)
def test_names_are_completed(path: tuple[str, ...], name: str, begun: str, found: str) -> None:
    command = ALL[path]
    parameter = next(each for each in command.params if each.name == name)
    context = command.make_context(path[-1], [], resilient_parsing=True)
    offered = [each.value for each in parameter.shell_complete(context, begun)]
    assert found in offered
    assert all(each.startswith(begun) for each in offered)


def test_values_become_json() -> None:
    data = xr.Dataset(
        {"rate": (("flow", "node"), [[1.0, np.nan], [3.0, 4.0]]), "total": 8.0},
        coords={"flow": ["a", "b"]},
    )
    assert plain(data) == {
        "rate": {"a": {"0": 1.0, "1": None}, "b": {"0": 3.0, "1": 4.0}},
        "total": 8.0,
    }
    given = {"status": Status.CONVERGED, "p": np.arange(2), "at": Path("x"), "inf": -np.inf}
    assert json.loads(as_json(given)) == {
        "status": "converged",
        "p": [0, 1],
        "at": "x",
        "inf": None,
    }


def test_files_are_checked_before_any_work(tmp_path: Path) -> None:
    check_output("plot", None)
    check_output("plot", tmp_path / "new" / "out.svg")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.svg").mkdir()
    for path, said in (
        (tmp_path / "x.xyz", r"plot = '.*x\.xyz': must end in \.png, \.svg, \.pdf"),
        (tmp_path / "file" / "x.svg", "cannot be written"),
        (tmp_path / "folder.svg", "is a folder"),
    ):
        with pytest.raises(ValueError, match=said):
            check_output("plot", path)
    check_folder("report", tmp_path / "new")
    for path, said in (("file", "is a file, must be a folder"), ("file/x", "cannot be written")):
        with pytest.raises(ValueError, match=f"report = '.*{path}': {said}"):
            check_folder("report", tmp_path / path)


def test_examples_are_paragraphs() -> None:
    assert examples("hopflow claims").endswith("\n\n$ hopflow claims")


# ``hopflow cache``: location and size of the compiled kernels, and their removal.


def double(x):
    """Template."""
    return 2.0 * x


def test_the_command_shows_and_clears(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    loading.folder.cache_clear()
    try:
        assert build(double)(1.5) == 3.0
        shown = CliRunner().invoke(app, ["cache"])
        assert shown.exit_code == 0
        assert shown.output.startswith("1 kernels, 0.0 MB kept in ")
        cleared = CliRunner().invoke(app, ["cache", "--clear"])
        assert cleared.output.startswith("1 kernels, 0.0 MB removed in ")
        assert list((tmp_path / "cache").rglob("kernel_*")) == []
    finally:
        loading.folder.cache_clear()


FIRST_USES = {
    f"{package}: {name}": use
    for package in warming.USERS
    for name, use in importlib.import_module(f"{package}.first_uses").short_calls().items()
}


@pytest.mark.parametrize(
    "name",
    ["dfcmodel: credits in a fabric", "markov: of a chain of one's own", "responsefn: rates of Reno()"],
)  # fmt: skip
def test_what_is_used_first_compiles_once(name):
    """Each is called with an empty cache by the slow test below."""
    assert len(FIRST_USES) > 60
    FIRST_USES[name]()
    before = kernel_cache().kernels
    FIRST_USES[name]()
    assert kernel_cache().kernels == before


def test_the_cache_is_either_filled_or_emptied():
    refused = CliRunner().invoke(app, ["cache", "--clear", "--warm"])
    assert refused.exit_code == 2
    assert "--clear and --warm: must be one of them" in refused.output


README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
ANSWERS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
def test_after_warming_the_readme_compiles_nothing(tmp_path):
    environment = {**os.environ, "HOPFLOW_CACHE_DIR": str(tmp_path / "cache"), "MPLBACKEND": "agg"}

    def hopflow(*words):
        command = [sys.executable, "-W", "error::UserWarning", *words]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return done.stdout

    compiled, kept = hopflow("-m", "hopflow", "cache", "--warm").splitlines()
    assert int(compiled.split()[0]) == int(kept.split()[0]) > 60
    for code in ANSWERS:
        (tmp_path / "answer.py").write_text(code)
        hopflow("answer.py")
    assert hopflow("-m", "hopflow", "cache") == kept + "\n"


@dataclass(frozen=True)
class Line:
    rate: Annotated[float, typer.Option(help="b/s")]
    delay: Annotated[float, typer.Option(help="s")] = 0.5


def test_the_fields_of_a_record_are_options_of_a_command() -> None:
    app = typer.Typer()

    @app.command()
    @takes_records
    def product(name: str, line: Line, *, double: bool = False) -> None:
        """Print a product."""
        typer.echo(f"{name} {line.rate * line.delay * (1 + double)}")

    call = CliRunner().invoke
    assert call(app, ["bits", "--rate", "3", "--double"]).stdout == "bits 3.0\n"
    assert call(app, ["bits", "--rate", "3", "--delay", "2"]).stdout == "bits 6.0\n"
    assert "Missing option '--rate'" in call(app, ["bits"]).stderr
    assert "Print a product." in call(app, ["--help"]).stdout

"""The ``hopflow`` command: its messages, its help, and what it loads."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import hopflow
from hopflow import commands
from hopflow.commands import COMMANDS, app, in_the_shell


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
    assert in_the_shell(error, words) == said


ROOT = Path(__file__).parents[2]


def commands_of(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield all commands below one, with the words that call them."""
    yield names, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from commands_of(command.get_command(None, name), *names, name)


GROUP: Any = typer.main.get_command(app)
ALL = dict(commands_of(GROUP))


def plain_words(text: str) -> str:
    """Return text without the frames, code marks and line breaks of a help page."""
    return " ".join(re.sub("[│╭╮╰╯─\n]", " ", text.replace("`", "")).split())


@pytest.mark.parametrize("names", ALL, ids=lambda names: " ".join(names) or "hopflow")
def test_help_prints_all_that_was_written(names: tuple[str, ...]) -> None:
    """Markup in square brackets, ``hopflow[explore]``, was removed, and the advice was another one."""
    command = ALL[names]
    done = CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": "400"})
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


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_own_help_does(name: str) -> None:
    own = (ALL[name,].help or "").split("\n\n")[0].removesuffix(".")
    assert plain_words(own).startswith(plain_words(COMMANDS[name].help.removesuffix(".")))


LOADED = """
import runpy, sys
sys.argv = ["hopflow", *{words!r}]
try:
    runpy.run_module("hopflow", run_name="__main__")
except SystemExit:
    pass
print(sorted({{"numpy", "scipy", "numba", "jax", "pandas", "markov.driver", "pydantic", "typer"}} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "environment", "loaded"),
    [
        (["--version"], {}, []),
        (["--help"], {}, ["typer"]),
        (
            [],
            {"_HOPFLOW_COMPLETE": "complete_bash", "COMP_WORDS": "hopflow s", "COMP_CWORD": "1"},
            ["typer"],
        ),
    ],
    ids=["version", "help", "completion"],
)
def test_what_needs_no_model_loads_none(
    words: list[str], environment: dict[str, str], loaded: list[str]
) -> None:
    code = LOADED.format(words=words)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == str(loaded)
    wanted = {
        "version": f"hopflow {hopflow.__version__}",
        "help": "headroom",
        "completion": "simulate",
    }
    key = "completion" if environment else words[0].removeprefix("--")
    assert wanted[key] in done.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which hopflow's packages stand, and a distribution that has a package ``markov``, too."""
    root = Path(hopflow.__file__).parents[1]
    for name in ("dfcmodel", "responsefn", "validation"):
        (tmp_path / name).symlink_to(root / name)
    shutil.copytree(root / "hopflow", tmp_path / "hopflow")
    (tmp_path / "markov").mkdir()
    (tmp_path / "markov/__init__.py").write_text("x = 1\n", encoding="utf-8")
    about = tmp_path / "othermarkov-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: othermarkov\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "RECORD").write_text(
        "markov/__init__.py,,\nothermarkov-1.0.dist-info/METADATA,,\n", encoding="utf-8"
    )
    return tmp_path


def run_at(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the packages of a folder before all others."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); " + words[0]
    return subprocess.run(
        [sys.executable, "-c", code, *words[1:]], capture_output=True, text=True, check=False
    )


SAID = "the distribution 'othermarkov' has a package markov, too, and has overwritten hopflow's: repair it by"


def test_the_distribution_that_has_overwritten_a_package_is_named(installed: Path) -> None:
    """By a warning of the import, by the error of what needs the package, and by the command, which tells how to repair it."""
    done = run_at(installed, "import hopflow; hopflow.PauseTandem")
    assert done.returncode == 1
    warning, error = (line for line in done.stderr.splitlines() if SAID in line)
    assert "UserWarning" in warning
    assert error.startswith("ImportError")
    assert "`pip uninstall othermarkov`" in error
    assert "`pip install --force-reinstall --no-deps hopflow`" in error
    done = run_at(installed, "from hopflow.shell import main; main()", "claims")
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"damaged installation: {SAID}" in said
    assert "Traceback" not in said


def test_a_module_that_a_file_of_the_user_lacks_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import a_module_that_nobody_has\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hopflow", "solve", "mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "No module named 'a_module_that_nobody_has'" in done.stderr
    assert "damaged installation" not in done.stderr


def test_warnings_of_hopflow_have_no_path_of_its_code(monkeypatch, capsys) -> None:
    """A warning of a file of the user still says where it is."""

    def warned() -> None:
        warnings.warn_explicit("a limit", UserWarning, commands.__file__, 7)
        warnings.warn_explicit("of mine", UserWarning, "mine.py", 7)

    monkeypatch.setattr(commands, "app", warned)
    with pytest.warns(UserWarning, match="^of mine$") as usual:
        commands.run()
    assert capsys.readouterr().err == "warning: a limit\n"
    assert [(str(each.message), each.filename) for each in usual] == [("of mine", "mine.py")]


def test_a_package_that_another_distribution_took_away_is_named(installed: Path) -> None:
    shutil.rmtree(installed / "markov")
    shutil.rmtree(installed / "othermarkov-1.0.dist-info")
    done = run_at(installed, "import hopflow; hopflow.gbps")
    assert done.returncode == 0
    assert "markov/__init__.py is missing: repair it by `pip install" in done.stderr


def test_nothing_is_said_of_an_installation_that_is_whole() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import hopflow"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert importlib.metadata.version("hopflow") == hopflow.__version__

"""README: its snippets run as scripts and print something; its links and commands exist."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from tests.surface import invoke

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_a_snippet_prints_something_as_a_script(number, tmp_path, monkeypatch, capsys):
    script = tmp_path / "script.py"
    script.write_text(SNIPPETS[number], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_seven_snippets():
    assert len(SNIPPETS) == 7


def test_one_call_sweeps_scenarios_at_both_levels() -> None:
    (snippet,) = [each for each in SNIPPETS if "sweep(" in each]  # it is run above
    for words in ("takano2006,", "dfc=[True, False]", 'levels=["fluid", "packets"]'):
        assert words in snippet


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_to_files(target):
    assert (ROOT / target).is_file()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("hopflow")])
def test_commands_exist_with_their_options(command):
    words = shlex.split(command)[1:]
    shown = _help(words[:2]) or _help(words[:1])
    assert shown is not None
    assert all(word in shown for word in words if word.startswith("--"))


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_has_the_targets(command):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE)


def _help(words):
    done = invoke([*words, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return done.output if done.exit_code == 0 else None

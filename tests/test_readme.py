"""README: its first screen is short and true; its snippets run as scripts; its links and commands exist."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from tests.surface import invoke

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
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
    output = capsys.readouterr().out
    assert output.strip()
    after = TEXT[TEXT.index(SNIPPETS[number]) + len(SNIPPETS[number]) :]
    if shown := re.match(r"```\n\n```\n(.*?)```", after, re.DOTALL):
        assert output.split() == shown[1].split()


def test_there_are_eight_snippets():
    assert len(SNIPPETS) == 8


def test_the_first_example_stands_below_at_most_80_words():
    """Of prose, without the code that installs hopflow, the addresses of links, and comments."""
    above = TEXT[: TEXT.index("```python")]
    prose = re.sub(r"```.*?```|<!--.*?-->|\]\([^)]*\)|^# ", "", above, flags=re.DOTALL | re.MULTILINE)
    assert len(prose.split()) <= 80
    assert "pip install ." in above


def test_the_first_example_has_at_most_ten_lines():
    assert sum(bool(line.strip()) for line in SNIPPETS[0].splitlines()) <= 10


def test_the_first_example_prints_and_draws_what_stands_below_it(tmp_path, capsys):
    """``python docs/figures/incast.py`` draws the figure again if the example changes."""
    after = TEXT[TEXT.index(SNIPPETS[0]) + len(SNIPPETS[0]) :]
    output = re.search(r"```\n(?!```)(\s*drop-tail.*?)```", after, re.DOTALL)
    assert output is not None
    drawn = runpy.run_path(str(FIGURES / "incast.py"))["draw"](tmp_path)
    assert capsys.readouterr().out == output[1]
    assert 'src="docs/figures/incast.svg"' in after[: after.index("\n## ")]
    assert _markers(drawn) == pytest.approx(_markers(FIGURES / "incast.svg"), abs=0.01)


def test_installation_comes_before_the_checks():
    assert TEXT.index("pip install .") < TEXT.index("make wheel") < TEXT.index("make run")


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


def _markers(figure):
    """Return the coordinates of the markers of an SVG figure."""
    points = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', figure.read_text(encoding="utf-8"))
    assert len(points) > 32
    return [float(number) for point in points for number in point]


def _help(words):
    done = invoke([*words, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"})
    return done.output if done.exit_code == 0 else None

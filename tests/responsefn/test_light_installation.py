"""Responses without SymPy, JAX and networkx: the same numbers, from code that was printed beforehand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from responsefn import AIMD, Reno
from responsefn.closed_forms.printed import FILE, PrintedFormula
from responsefn.print_formulas import generate_json
from tests.surface import printed_by, python

ROOT = Path(__file__).parents[2]
WITHOUT = """
import sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {"sympy", "mpmath", "jax", "jaxlib", "networkx"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)
"""
ANSWERS = """
import warnings

import numpy as np

from responsefn import HTCP, catalogue, curve, fused, invert

warnings.simplefilter("ignore")


def show(*values):
    print(*(float(x).hex() for value in values for x in np.ravel(value)))


for kind in ("rule", "law"):
    for rule in catalogue(kind).entries:
        capacity = {"bandwidth": 2000.0} if rule.capacity == "needed" else {}
        p = np.array([0.01])
        if rule.uses_closed_form():
            p = np.geomspace(1e-7, 0.3, 129)
            p = p[rule.closed_form_holds(p, 0.1)]
            rates = rule.rate(p, 0.1)
            show(rule.elasticity(p, 0.1), rule.rate(p[5], np.array([0.1, 0.101])))
            show(invert(rule, rates[5:-5], 0.1, unit_check=False), fused(rule, 0.1)(p))
        elif not ALL:
            continue
        print(repr(rule))
        show(rule.rate(p, 0.1, **capacity), curve(rule, p, 0.1, **capacity).rate)
        show(rule.mean_window(p, 0.1, **capacity))
if ALL:
    show(invert(HTCP(), 400.0, 0.1))
"""
COMMANDS = "from hopflow.shell import main; sys.argv = ['hopflow', {words}]; main()"


@pytest.mark.parametrize(
    "everything",
    [
        pytest.param(False, id="closed forms"),
        pytest.param(True, id="catalogue", marks=pytest.mark.slow),
    ],
)
def test_answers_are_the_same_without_sympy(everything: bool) -> None:
    """To the last bit."""
    answers = f"ALL = {everything}\n{ANSWERS}"
    with_sympy, without = (printed_by("-c", start + answers) for start in ("", WITHOUT))
    assert len(with_sympy.splitlines()) > 100
    assert without == with_sympy


@pytest.mark.parametrize(
    "words",
    [
        "'response', 'cubic', 'tfrc', '--rtt', '40ms'",
        "'compare', 'reno', '--bandwidth', '8Mbps', '--rtt', '40ms', '--buffer', '20pkt', '--duration', '2'",
    ],
)
def test_commands_print_the_same_without_sympy(words: str) -> None:
    command = COMMANDS.format(words=words)
    with_sympy, without = (printed_by("-c", f"import sys{start}\n{command}") for start in ("", WITHOUT))
    assert with_sympy
    assert without == with_sympy


@pytest.mark.slow
def test_printed_code_is_what_the_formulas_give() -> None:
    text = FILE.read_text(encoding="utf-8")
    if json.loads(text)["sympy"] != sp.__version__:
        pytest.skip(f"the code was printed by SymPy {json.loads(text)['sympy']}")
    hint = "run python -m responsefn.print_formulas"
    assert generate_json() == text, hint


def test_a_printed_formula_has_the_expressions_of_sympy() -> None:
    formula = AIMD().formula()
    assert isinstance(formula, PrintedFormula)
    assert formula.rate == AIMD().expression
    assert not formula.everywhere
    array = AIMD().value_of(formula.code("rate"), p=0.01, R=0.1, a=np.array([1.0, 2.0]))
    assert array[0] == Reno().rate(0.01, 0.1)


@pytest.mark.slow
def test_snippets_of_the_readme_run_in_a_light_installation(tmp_path: Path) -> None:
    """As the README installs it: all snippets except that of the fabric, which needs networkx and says so."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    own = folder / "bin" / "python"
    pip = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    light = ROOT / "requirements-light.txt"
    got = subprocess.run([*pip, "-r", light], capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(f"pip cannot download the requirements: {got.stderr.strip()[-300:]}")
    source = tmp_path / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    subprocess.run([*pip, "--no-deps", source], check=True)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert snippets
    script = tmp_path / "script.py"
    for snippet in snippets:
        script.write_text(snippet, encoding="utf-8")
        done = subprocess.run([own, script], cwd=tmp_path, capture_output=True, text=True, check=False)
        if "leaf_spine" in snippet or "explain" in snippet:
            assert "networkx" in done.stderr.splitlines()[-1], done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert done.stdout.strip()


def test_what_needs_sympy_says_so() -> None:
    done = python("-c", WITHOUT + "from responsefn import Reno; Reno().expression")
    said = "symbolic closed forms of responses need SymPy, which the light installation leaves out: `pip install sympy` adds it"
    assert done.stderr.strip().splitlines()[-1] == f"ImportError: {said}"

"""Responses without SymPy, JAX and networkx: the same numbers, from code that was printed beforehand."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from responsefn import AIMD, Reno, catalogue
from responsefn.closed_forms.functions import lambert_w, solve_plateau
from responsefn.closed_forms.printed import DERIVATIONS, FILE, PrintedFormula, evaluate
from responsefn.print_formulas import generate_json
from tests.surface import printed_by, python

ROOT = Path(__file__).parents[2]
for kind in ("rule", "law"):
    catalogue(kind)  # imports the modules that fill DERIVATIONS
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


VALUES: dict[str, tuple[float, ...]] = {
    "R": (0.01, 0.1, 0.5), "T": (30.0, 900.0), "a": (0.01, 0.5, 1.0, 2.0), "b": (0.125, 0.3, 0.5), "beta": (0.6, 0.7, 0.8),
    "C": (0.1, 0.4, 2.0), "S_max": (16.0, 32.0), "S_min": (0.01, 0.05), "W_low": (4.0, 14.0), "alpha": (0.125, 1.5),
    "k": (0.5, 0.75), "legacy": (8.0, 16.0), "t_RTO": (0.2, 1.0),
}  # fmt: skip
"""Values of the symbols of closed forms."""
FUNCTIONS = {"PlateauRatio": np.vectorize(solve_plateau), "LambertW": np.vectorize(lambert_w)}


def ends_of(condition, values) -> list[float]:
    """Return the p at which a condition changes, to 1e-9, by bisection between the points of a grid."""
    if condition is None:
        return []

    def holds(p):
        return np.broadcast_to(evaluate(condition, {**values, "p": p}), p.shape)

    grid = np.geomspace(1e-8, 0.99, 400)
    changes = np.flatnonzero(np.diff(holds(grid).astype(int)))
    low, high = grid[changes], grid[changes + 1]
    at_low = holds(low)
    for _ in range(40):
        middle = np.sqrt(low * high)
        same = holds(middle) == at_low
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return [float(end) for end in high]


@pytest.mark.parametrize("key", sorted(DERIVATIONS))
def test_stored_code_has_the_values_of_its_formula(key: str) -> None:
    """At loss rates of seven decades and within 0.1 % of both sides of each end of its range."""
    derived, stored = DERIVATIONS[key](), PrintedFormula(key)
    draw = random.Random(key)
    for attribute in ("rate", "peak_window", "inverse", "condition"):
        expression, code = getattr(derived, attribute), stored.code(attribute)
        assert (expression in (None, sp.true)) == (code is None), attribute
        if code is None:
            continue
        names = sorted(map(str, expression.free_symbols))
        function = sp.lambdify(names, expression, [FUNCTIONS, "numpy"])
        for _ in range(12):
            values = {name: draw.choice(choices) for name, choices in VALUES.items()}
            ends = [end * part for end in ends_of(stored.code("condition"), values) for part in (0.999, 1.001)]
            p = np.array([*np.geomspace(1e-8, 0.99, 30), *(end for end in ends if 0.0 < end < 1.0)])
            arguments = {name: np.full_like(p, values.get(name, p)) for name in names}
            with np.errstate(all="ignore"):
                expected = function(**arguments)
                values_of_code = np.broadcast_to(evaluate(code, {**values, "p": p}), p.shape)
            np.testing.assert_allclose(values_of_code, expected, rtol=1e-9, err_msg=attribute)


def test_roots_of_closed_forms_solve_their_equations() -> None:
    """Lambert's W, and the K of `cubic_region`'s cycle that ends in the Reno-friendly region."""
    draw = random.Random(1)
    for _ in range(300):
        x = 10 ** draw.uniform(-6.0, 6.0)
        w = lambert_w(x)
        assert w * math.exp(w) == pytest.approx(x, rel=4e-15 * (1.0 + w))
        beta, x = draw.uniform(0.3, 0.9), draw.uniform(0.5774, 1.0)
        t = (3.0 * x - math.sqrt(4.0 - 3.0 * x**2)) / 2.0
        mixed = (
            ((t - x) ** 4 - x**4) / 4
            + t * x**3 / (1 - beta)
            + beta * x**3 * (x**3 - t) / (1 - beta)
            + (x**6 - t**2) / 2
        )
        assert solve_plateau(mixed, beta) == pytest.approx(x, rel=1e-13)


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

"""In a process of its own: what importing loads, and what runs without optional packages."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

import markov
from markov import PauseTandem, stationary
from tests.surface import HANG

HEAVY = ("jax", "matplotlib", "sympy", "numba", "xarray", "pandas", "networkx")
ROOT = Path(markov.__file__).parents[1]


LIGHT = (
    "",
    "model = markov.PauseTandem(); model.states(); model.transitions((0, 0, 1, 1))",
    "markov.MarkovChain([[-1, 1], [1, -1]]).recurrent_classes",
    "markov.stationary([[-1, 1], [1, -1]]).smallest",
    "markov.generator(markov.PauseTandem(), compiled=False)",
)
"""What runs one after the other in a process, and loads nothing heavy."""


def test_import_loads_nothing_heavy():
    loaded = f"print([m for m in {HEAVY} if m in sys.modules])"
    code = "\n".join(["import sys, markov", *(f"{then}\n{loaded}" for then in LIGHT)])
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert out.stdout.split() == ["[]"] * len(LIGHT)


WITHOUT_NUMBA = """
import sys
sys.path[:0] = [sys.argv[1]]
for name in {absent}:
    sys.modules[name] = None
import numpy
from markov import PauseTandem, SparseLU, stationary
answer = stationary(PauseTandem())
other = stationary(PauseTandem(), SparseLU())
assert answer.error_bound < 1e-11
assert abs(other.pi - answer.pi).max() < 1e-12
print(numpy.__version__, repr(answer.throughput))
"""


def test_without_numba():
    code = WITHOUT_NUMBA.format(absent=[*HEAVY, "llvmlite"])
    out = subprocess.run(
        [sys.executable, "-c", code, str(ROOT)], capture_output=True, text=True, check=True
    )
    expected = stationary(PauseTandem()).throughput
    assert float(out.stdout.split()[1]) == pytest.approx(expected, rel=1e-13)


@pytest.mark.network
@pytest.mark.slow
def test_with_the_oldest_numpy(tmp_path):
    """Rules and chains run with NumPy 1.24 and SciPy alone, as on clusters."""
    folder = tmp_path / "old"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "numpy==1.24.4", "scipy==1.15.*"], check=True, timeout=HANG)
    out = subprocess.run(
        [python, "-W", "error", "-c", WITHOUT_NUMBA.format(absent=[]), str(ROOT)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    version, throughput = out.stdout.split()
    assert version == "1.24.4"
    assert float(throughput) == pytest.approx(stationary(PauseTandem()).throughput, rel=1e-13)


FIRST = """
import sys, time
from typing import NamedTuple
import markov
begin = time.perf_counter()
answer = markov.stationary(markov.PauseTandem())
print(answer.throughput, [m for m in ("numba", "jax", "xarray", "matplotlib") if m in sys.modules])
"""


def test_no_warning_and_no_compiler_on_the_way_to_a_small_chain():
    root = Path(markov.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST], capture_output=True, text=True, cwd=root, check=True
    )  # fmt: skip
    assert run.stdout.split()[0].startswith("13.74")

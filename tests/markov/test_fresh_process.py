"""In a process of its own: what importing loads, and what runs without optional packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import markov
from markov import PauseTandem, stationary

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
    markov.stationary([[-1, 1], [1, -1]])  # its kernels are in the cache then
    loaded = f"print([m for m in {HEAVY} if m in sys.modules])"
    code = "\n".join(["import sys, markov", *(f"{then}\n{loaded}" for then in LIGHT)])
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert out.stdout.split() == ["[]"] * len(LIGHT)


FIRST = """
import sys, time
from typing import NamedTuple
import markov
begin = time.perf_counter()
answer = markov.stationary(markov.PauseTandem())
print(answer.throughput, [m for m in ("numba", "jax", "xarray", "matplotlib") if m in sys.modules])
"""


def test_no_warning_and_no_compiler_on_the_way_to_a_small_chain():
    stationary(PauseTandem())  # its kernels are in the cache then
    root = Path(markov.__file__).parents[1]
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIRST], capture_output=True, text=True, cwd=root, check=True
    )  # fmt: skip
    assert run.stdout.split()[0].startswith("13.74")

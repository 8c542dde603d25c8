"""Iteration on the jump chain: residuals on the way, and sweeps without Numba."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import markov
from markov import GaussSeidel, Krylov, Multilevel, PauseTandem, Power, stationary


@pytest.mark.parametrize(
    "method", [GaussSeidel(), Krylov(), Multilevel(), Power()], ids=lambda m: type(m).__name__
)
def test_methods_report_their_residuals(method):
    answer = stationary(PauseTandem(), method)
    iterations, residuals = zip(*answer.history, strict=True)
    assert list(iterations) == sorted(iterations)
    assert residuals[-1] <= method.tolerance
    # the residual of the answer, up to the rounding of its normalization
    assert residuals[-1] == pytest.approx(answer.residual, rel=1e-2, abs=1e-15)
    assert answer.plot_convergence().lines


def test_the_sweeps_without_numba():
    code = """
import sys
sys.path[:0] = [sys.argv[1]]
sys.modules["numba"] = None
from markov import Courtois, GaussSeidel, MM1K, Kanban, explore, stationary
model = MM1K(capacity=5)
assert abs(stationary(model, GaussSeidel()).pi - model.exact()).max() < 1e-11
assert explore(Kanban()).chain.size == 160
"""
    root = Path(markov.__file__).parents[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code, str(root)], check=True, env=environment)

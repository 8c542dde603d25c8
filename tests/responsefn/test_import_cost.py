"""`import responsefn` stays light, and its public names are complete."""

from __future__ import annotations

import subprocess
import sys

import pytest

import responsefn

HEAVY = ("sympy", "numba", "jax", "matplotlib", "xarray", "pandas", "scipy")


@pytest.mark.parametrize("then", ["", "responsefn.AIMD(0.2, 0.125).on_ack"])
def test_import_loads_nothing_heavy(then):
    code = f"import sys, responsefn\n{then}\nprint([m for m in {HEAVY} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]", out.stdout


def test_public_names():
    assert set(responsefn.__all__) <= set(dir(responsefn))
    for name in ("AIMD", "Reno", "NewReno", "Tahoe", "TFRC", "PFTK", "invert", "curve"):
        assert name in responsefn.__all__
        assert getattr(responsefn, name).__doc__

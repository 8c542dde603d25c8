"""The package as a whole: light imports, names of the packages above."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hopflow

LAZY = """
import sys
import hopflow
loaded = [m for m in ("dfcmodel", "markov", "responsefn", "numba", "jax", "scipy") if m in sys.modules]
print(loaded)
"""


def test_import_is_light_and_names_are_offered():
    out = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    import markov
    import responsefn

    assert hopflow.PauseTandem is markov.PauseTandem
    assert hopflow.Reno is responsefn.Reno
    assert {*hopflow.__all__, "PauseTandem", "Reno", "takano2006"} <= set(dir(hopflow))
    with pytest.raises(AttributeError, match="module 'hopflow' has no attribute 'nonsense'"):
        hopflow.nonsense  # noqa: B018


def test_the_packages_are_offered_too():
    import markov

    assert hopflow.markov is markov
    assert {"dfcmodel", "markov", "responsefn"} <= set(dir(hopflow))

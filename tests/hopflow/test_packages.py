"""Optional packages and lazy imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hopflow

# Files of a user that hide hopflow's packages.


@pytest.mark.parametrize(
    "wanted", ["hopflow; hopflow.PauseTandem", "hopflow; hopflow.markov", "validation"]
)
def test_a_file_that_hides_a_package_is_named(tmp_path, wanted):
    """A user's script or module called markov.py comes before ours."""
    (tmp_path / "markov.py").write_text("x = 1\n", encoding="utf-8")
    root = Path(hopflow.__file__).parents[1]
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]; import {wanted}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    said = run.stderr.strip().splitlines()[-1]
    expected = "which hides hopflow's package of that name: rename it"
    assert said == f"ImportError: markov is {tmp_path / 'markov.py'}, {expected}"


# The package as a whole: light imports, names of the packages above.

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

"""Files of a user that hide hopflow's packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hopflow


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

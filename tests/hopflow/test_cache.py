"""Compiled kernels on disk: types that move, an index that cannot be read, the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hopflow.kernels import loading
from hopflow.kernels.cache import clear_cache, kernel_cache
from validation.cli import app

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import sys
sys.path[:0] = [{root!r}, {here!r}]
from {module} import Step
from hopflow.kernels import build, shape_of


def grow(step, n):
    total = 0.0
    for k in range(n):
        total += step.by
    return total


arguments = Step(0.5), 4
print(build(grow, salt=shape_of(arguments))(*arguments))
"""
STEP = "from typing import NamedTuple\nclass Step(NamedTuple):\n    by: float\n"


def run(folder: Path, module: str) -> str:
    """Run a kernel whose argument's type is in a module, in a process of its own."""
    script = folder / "script.py"
    script.write_text(RUN.format(root=str(ROOT), here=str(folder), module=module), encoding="utf-8")
    environment = {**os.environ, "HOPFLOW_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_type_that_moves_between_modules(tmp_path):
    """Numba's index of a kernel names the modules of its arguments' types, as after an upgrade."""
    (tmp_path / "before.py").write_text(STEP, encoding="utf-8")
    assert run(tmp_path, "before") == "2.0"
    (tmp_path / "before.py").rename(tmp_path / "after.py")
    assert run(tmp_path, "after") == "2.0"


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_what_cannot_be_read_is_compiled_anew(tmp_path, suffix):
    (tmp_path / "before.py").write_text(STEP, encoding="utf-8")
    assert run(tmp_path, "before") == "2.0"
    kept = list((tmp_path / "cache" / "__pycache__").glob(f"kernel_*{suffix}"))
    assert kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:20] + b"nothing that can be read")
    assert run(tmp_path, "before") == "2.0"
    assert run(tmp_path, "before") == "2.0"


def test_the_command_shows_and_clears(tmp_path, monkeypatch):
    (tmp_path / "before.py").write_text(STEP, encoding="utf-8")
    run(tmp_path, "before")
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    loading.folder.cache_clear()
    try:
        found = kernel_cache()
        assert found.kernels == 1
        assert found.size > 1000
        assert found.folder == tmp_path / "cache"
        runner = CliRunner()
        shown = runner.invoke(app, ["cache"])
        assert shown.exit_code == 0
        assert shown.output.startswith("1 kernels, 0.0 MB kept in ")
        assert runner.invoke(app, ["cache", "--clear"]).output.startswith("1 kernels")
        assert kernel_cache()[1:] == (0, 0)
        assert clear_cache().kernels == 0
    finally:
        loading.folder.cache_clear()

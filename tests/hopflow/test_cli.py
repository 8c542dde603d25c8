"""``hopflow cache``: location and size of the compiled kernels, and their removal."""

from __future__ import annotations

from typer.testing import CliRunner

from hopflow.kernels import build, loading
from validation.cli import app


def double(x):
    """Template."""
    return 2.0 * x


def test_the_command_shows_and_clears(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path / "cache"))
    loading.folder.cache_clear()
    try:
        assert build(double)(1.5) == 3.0
        shown = CliRunner().invoke(app, ["cache"])
        assert shown.exit_code == 0
        assert shown.output.startswith("1 kernels, 0.0 MB kept in ")
        cleared = CliRunner().invoke(app, ["cache", "--clear"])
        assert cleared.output.startswith("1 kernels, 0.0 MB removed in ")
        assert list((tmp_path / "cache").rglob("kernel_*")) == []
    finally:
        loading.folder.cache_clear()

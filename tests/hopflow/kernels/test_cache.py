"""Size and removal of the compiled kernels on disk."""

from __future__ import annotations

from hopflow.kernels import build, loading
from hopflow.kernels.cache import clear_cache, kernel_cache


def triple(x):
    """Template."""
    return 3.0 * x


def test_kernels_are_counted_and_removed_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))
    loading.folder.cache_clear()
    try:
        assert kernel_cache() == (tmp_path, 0, 0)
        assert build(triple)(1.5) == 4.5
        (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
        found = kernel_cache()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert found.kernels == 1
        assert found.size == sum(path.stat().st_size for path in files) - len("mine") > 1000
        assert clear_cache() == found
        assert kernel_cache() == (tmp_path, 0, 0)
        assert (tmp_path / "notes.txt").is_file()
    finally:
        loading.folder.cache_clear()

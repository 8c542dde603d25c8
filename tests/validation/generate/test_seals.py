"""The seals: what differs from the manifests is listed, and taken only by ``--seal``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from validation import manifest
from validation.generate import seals


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, tables and texts of which a test may change files, with their source; the folder."""
    shutil.copytree(manifest.DATA / "zheng2002", tmp_path / "data" / "zheng2002")
    shutil.copytree(manifest.PUBLISHED, tmp_path / "published")
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "toy.md").write_text("A claim.\n")
    shutil.copy(manifest.__file__, tmp_path / "manifest.py")
    monkeypatch.setattr(manifest, "DATA", tmp_path / "data")
    monkeypatch.setattr(manifest, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(manifest, "TEXTS", tmp_path / "claims")
    return tmp_path


def test_the_bundled_files_are_as_sealed() -> None:
    assert seals.changes() == []


def test_a_seal_takes_the_files_as_they_are_and_writes_their_sums(copies: Path) -> None:
    source = copies / "manifest.py"
    sums = seals.seal(source)
    assert seals.changes() == []
    for folder, constant in (("data", "MANIFEST_SHA256"), ("published", "PUBLISHED_SHA256")):
        content = (copies / folder / manifest.MANIFEST).read_bytes()
        assert sums[constant] == manifest.sha256_of(content)
        assert source.read_text().count(f'{constant} = "{sums[constant]}"') == 1
    assert source.read_text() != Path(manifest.__file__).read_text()


def test_what_differs_is_named(copies: Path) -> None:
    seals.seal(copies / "manifest.py")
    (copies / "claims" / "toy.md").write_text("Another claim.\n")
    (copies / "published" / "new.csv").write_text("a\n")
    next((copies / "data").rglob("*.csv")).unlink()
    changed = seals.changes()
    assert [line.split()[0] for line in changed] == ["removed", "changed", "added"]
    assert changed[1:] == ["changed  claims/toy.md", "added    new.csv"]


def test_a_source_without_the_constants_is_refused(copies: Path) -> None:
    (copies / "manifest.py").write_text("MANIFEST = 'manifest.txt'\n")
    with pytest.raises(ValueError, match="MANIFEST_SHA256 is set in 0 places"):
        seals.seal(copies / "manifest.py")

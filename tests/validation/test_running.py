"""Findings are kept by what they are made from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from validation import running
from validation.claims import find


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "cache_folder", lambda: tmp_path)
    return tmp_path / "findings"


def test_a_finding_is_used_again_with_its_figures(kept: Path) -> None:
    claim = find("Y11")
    ((_, first),) = running.checked([claim])
    ((_, again),) = running.checked([claim])
    assert (again.model, again.simulation) == (first.model, first.simulation)
    assert again.pictures[0].svg.startswith("<svg")
    assert len(list(kept.iterdir())) == 1


def test_what_is_incomplete_is_checked_again(kept: Path) -> None:
    claim = find("Y11")
    list(running.checked([claim]))
    (file,) = kept.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert running._load(claim) is None


def test_the_key_follows_the_sources_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = find("Y11")
    before = running.key_of(claim)
    assert running.key_of(find("Y12")) != before
    monkeypatch.setattr(running.keeping, "sources", lambda folder: [])
    running._common.cache_clear()
    assert running.key_of(claim) != before
    running._common.cache_clear()


@pytest.mark.slow
def test_claims_are_checked_on_an_executor(kept: Path) -> None:
    claim = find("Y11")
    with ThreadPoolExecutor(1) as pool:
        ((checked, found),) = running.checked([claim], executor=pool)
    assert checked is claim
    assert found.pictures[0].svg.startswith("<svg")
    assert len(list(kept.iterdir())) == 1

"""Findings are kept by what they are made from."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest

from validation import running
from validation.claims import find
from validation.code_hashes import PACKAGES, ROOT, _file, modules_used
from validation.records import recorded_verdicts
from validation.svg import drawn
from validation.verdicts import Sides


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


def test_a_worker_repeats_runs_of_ns2_beside_the_claims(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads stand for processes; the parts come first, and every claim is checked all the same."""
    repeated: list[int] = []
    monkeypatch.setattr(running, "begin_imports", lambda *, fresh: None)
    monkeypatch.setattr(running, "processes", lambda jobs, *_: ThreadPoolExecutor(jobs))
    monkeypatch.setattr(running.recomputing, "recompute", lambda parts: map(repeated.append, parts))
    monkeypatch.setattr(running, "_check", lambda id: (id, list(repeated)))
    claims = [find("Y11"), find("Y12")]
    found = dict(running.checked(claims, jobs=2, recompute=range(3, 5)))
    assert {claim.id: checked[0] for claim, checked in found.items()} == {
        "Y11": "Y11",
        "Y12": "Y12",
    }
    assert repeated == [3, 4]
    assert not kept.exists()


def test_workers_import_every_module_of_the_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    context = running._context()
    if context.get_start_method() != "forkserver":
        pytest.skip("workers are spawned here")
    asked: list[str] = []
    monkeypatch.setattr(context, "set_forkserver_preload", asked.extend, raising=False)
    monkeypatch.setattr(running.multiprocessing, "get_context", lambda _: context)
    running._context()
    assert {subject.check.measure.__module__ for subject in running.subjects().values()} <= set(
        asked
    )
    assert all(importlib.util.find_spec(name) for name in asked)


def test_what_is_incomplete_is_checked_again(kept: Path) -> None:
    claim = find("Y11")
    list(running.checked([claim]))
    (file,) = kept.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert running._load(claim) is None


@pytest.mark.parametrize("part", ["hash_of_code", "_common", "keeping.hash_of"])
def test_the_key_follows_code_data_and_texts(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = find("Y11")
    before = running.key_of(claim)
    assert running.key_of(find("Y12")) != before
    monkeypatch.setattr(f"validation.running.{part}", lambda *_: "another")
    assert running.key_of(claim) != before


def test_a_claim_does_not_depend_on_models_that_it_does_not_use() -> None:
    def used(id: str) -> set[str]:
        return {name for each in running._modules_of(find(id)) for name in modules_used(each)}

    assert "markov.driver" in used("M04")
    assert "dfcmodel.sharing.coexistence" in used("K05")
    assert not {name for name in used("Y11") if name.startswith(("markov", "dfcmodel"))}
    assert "validation.claims.takano2006.vegas" not in used("D05")


@pytest.mark.parametrize("id", ["D03", "Y11"])
def test_what_a_claim_runs_is_what_its_key_is_made_from(id: str) -> None:
    claim = find(id)
    modules = [*running.MAKING, *running._modules_of(claim)]
    files = {str(_file(name)) for each in modules for name in modules_used(each)}
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:  # no module or class
            ran.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        for picture in claim.check().pictures:
            drawn(picture)
    finally:
        sys.setprofile(None)
    folders = [ROOT / name for name in PACKAGES]  # not .venv, which a checkout has beside them
    own = {name for name in ran if any(Path(name).is_relative_to(each) for each in folders)}
    assert {name for name in own if name.endswith(".py")} <= files
    assert any(str(_file(name)) in own for name in running._modules_of(claim))


@pytest.mark.slow
def test_claims_are_checked_on_an_executor(kept: Path) -> None:
    claim = find("Y11")
    with ThreadPoolExecutor(1) as pool:
        ((checked, found),) = running.checked([claim], executor=pool)
    assert checked is claim
    assert found.pictures[0].svg.startswith("<svg")
    assert len(list(kept.iterdir())) == 1


@pytest.mark.slow
def test_claims_are_checked_side_by_side_in_forked_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOPFLOW_CACHE_DIR", str(tmp_path))  # of the workers
    monkeypatch.setattr(running, "_load", lambda _: None)
    claims = [find("Y11"), find("Y12")]
    found = dict(running.checked(claims, jobs=2))
    assert set(found) == set(claims)
    for claim in claims:
        sides = Sides(found[claim].model, found[claim].simulation)
        assert sides == recorded_verdicts()[claim.id]

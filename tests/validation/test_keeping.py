"""Results of models are computed once, whatever process asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation import keeping


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(keeping, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(keeping, "_memory", {})
    return tmp_path / "computed"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, folder: Path):
    calls: list[float] = []

    def square(x: float, power: int = 2) -> float:
        calls.append(x)
        return x**power

    square.__module__ = "validation.keeping"
    return calls, keeping.kept(square)


def another_process() -> None:
    keeping._memory.clear()


def test_one_computation_serves_all_ways_to_ask_and_all_processes(asked) -> None:
    calls, square = asked
    assert square(3.0) == square(x=3.0) == square(3.0, 2) == 9.0
    another_process()
    assert square(3.0) == 9.0
    assert calls == [3.0]
    assert square(3.0, 3) == 27.0
    assert calls == [3.0, 3.0]


def test_what_is_incomplete_is_computed_again(asked, folder: Path) -> None:
    calls, square = asked
    square(3.0)
    (file,) = folder.glob("*.pickle")
    file.write_bytes(file.read_bytes()[:5])
    another_process()
    assert square(3.0) == 9.0
    assert calls == [3.0, 3.0]


def test_other_code_gives_another_result_in_the_place_of_the_old(
    asked, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, square = asked
    square(3.0)
    square(4.0)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(keeping, "_made_from", lambda module: "0" * 64)
    another_process()
    square(3.0)
    assert calls == [3.0, 4.0, 3.0]
    after = {path: path.read_bytes() for path in folder.iterdir()}
    assert set(after) == set(before)
    assert sum(after[path] != before[path] for path in after) == 1


def test_a_result_is_made_from_the_code_that_its_module_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(keeping, "hash_of_code", lambda modules: f"{seen.append(modules)}")
    keeping._made_from.__wrapped__("validation.claims.malhotra2005.chain")
    assert seen == [["validation.claims.malhotra2005.chain"]]


def test_functions_of_other_packages_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="must be one of hopflow, dfcmodel"):
        keeping.kept(another_process)()


def test_forgetting_computes_anew(asked, folder: Path) -> None:
    calls, square = asked
    square(3.0)
    keeping.forget()
    assert not folder.exists()
    square(3.0)
    assert calls == [3.0, 3.0]


def test_arguments_that_look_alike_are_refused(asked) -> None:
    _, square = asked
    with pytest.raises(TypeError, match="no repr that tells it apart"):
        square(object())


def test_rules_are_told_apart_by_their_parameters() -> None:
    """What `validation.claims.simulators.window_model` asks for."""
    from validation.claims.simulators import window_model

    rules = [*window_model.BY_LOSS.values(), *window_model.BY_DELAY.values()]
    rules += window_model.IN_NS3.values()
    assert len({repr(rule) for rule in rules}) == len(rules)

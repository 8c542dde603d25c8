"""The rule of the most surprising findings."""

from __future__ import annotations

from validation import Verdict
from validation.report.surprises import most_surprising

R, C = str(Verdict.HOLDS), str(Verdict.CONTRADICTED)


def row(id: str, paper: str, statements: str, model: str = C, half: str = C) -> dict:
    """Return a row whose statements are contradicted (x) or reproduced (o) on both sides."""
    both = {"x": {"model": C, "simulation": C}, "o": {"model": R, "simulation": R}}
    sides = {"model": C, "packets": C}
    return {
        "id": id,
        "paper": paper,
        "model": model,
        "simulation": C,
        "statements": [both[letter] for letter in statements],
        "robustness": [{"half": sides | {"packets": half}, "twice": sides}],
    }


def found(*rows: dict) -> list[str]:
    return [each["id"] for each in most_surprising(rows)]


def test_both_sides_contradict_at_all_thresholds() -> None:
    assert found(
        row("A1", "a", "x", model=R), row("A2", "a", "x", half=R), row("A3", "a", "x")
    ) == ["A3"]


def test_papers_take_turns_and_those_with_more_contradicted_come_first() -> None:
    rows = [row("A1", "a", "xo"), row("A2", "a", "x"), row("A3", "a", "x"), row("B1", "b", "xoo")]
    assert found(*rows) == ["A2", "B1", "A3", "A1"]


def test_own_comparisons_are_no_surprise_and_five_are_enough() -> None:
    assert found(row("S1", "hopflow", "x")) == []
    assert len(found(*(row(f"A{n}", "a", "x") for n in range(9)))) == 5

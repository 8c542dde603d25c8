"""The rule of the most surprising findings."""

from __future__ import annotations

from validation import Verdict
from validation.report.surprises import contradicted_by_all, most_surprising

R, C, N, A = map(
    str,
    (Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE),
)


def row(id: str, paper: str, statements: str, half: str = C, **sources: str) -> dict:
    """Return a row whose statements are contradicted (x) or hold (o) by model and packets."""
    both = {"x": {"model": C, "simulation": C}, "o": {"model": R, "simulation": R}}
    by = {"model": C, "ns2": C, "ns3": C, "packet_level": A} | sources
    sides = {"model": C, "packets": C}
    return {
        "id": id,
        "paper": paper,
        "model": by["model"],
        "simulation": C,
        "simulators": {"ns-2": by["ns2"], "ns-3": by["ns3"]},
        "packet_level": by["packet_level"],
        "statements": [both[letter] for letter in statements],
        "robustness": [{"half": sides | {"packets": half}, "twice": sides}],
    }


def found(*rows: dict) -> list[str]:
    return [each["id"] for each in most_surprising(rows)]


def test_every_source_contradicts_at_all_thresholds() -> None:
    assert (
        found(
            row("A1", "a", "x", model=R),
            row("A2", "a", "x", half=N),
            row("A3", "a", "x", ns3=N),
            row("A4", "a", "x", packet_level=N),
            row("A5", "a", "x", model=A, ns3=A),
        )
        == []
    )
    assert found(row("A6", "a", "x"), row("B1", "b", "x", model=A)) == ["A6", "B1"]


def test_each_paper_has_one_and_those_with_more_contradicted_come_first() -> None:
    rows = [row("B1", "b", "xoo"), row("A1", "a", "xo"), row("A2", "a", "x"), row("A3", "a", "xx")]
    assert found(*rows) == ["A3", "B1"]
    assert [each["id"] for each in contradicted_by_all(rows)] == ["A3", "A2", "A1", "B1"]


def test_own_comparisons_are_no_surprise() -> None:
    assert found(row("S1", "hopflow", "x")) == []

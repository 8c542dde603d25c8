"""A check: what it measures, judges, draws and says, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from hopflow.results import figure
from validation import Verdict, checks
from validation.checks import Check, claim
from validation.judges import Basis
from validation.verdicts import Judgement, Sides

R, C = Verdict.HOLDS, Verdict.CONTRADICTED
LEVEL = 3.0
TEXT = """## Statements

- `large` the value exceeds {{ LIMIT }}

## Summary

It is {{ value | num(".1f") }}, the double {{ double | num(".1f") }}.

## Thresholds

- `level` what counts as large

## Pictures

### line

A line.

> from left to right
"""


@dataclass(frozen=True)
class Toy:
    value: float

    @property
    def double(self) -> float:
        return 2 * self.value


def measure(value: float = 5.0) -> Toy:
    return Toy(value)


def judge(found: Toy, *, level: float = LEVEL) -> Judgement:
    return {"large": Sides(Verdict.of(found.value > level), Verdict.of(found.double > level))}


def line(found: Toy):
    fig, ax = figure()
    ax.plot([0, found.value])
    return fig


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check[Toy]:
    """Return a check whose text is TEXT, in a registry of its own."""
    monkeypatch.setattr(checks, "_SUBJECTS", {})
    check = claim("T01", cases=("zheng2002/periodic-loss",))(claim("T02", 1.0)(measure))
    check.text = tmp_path / "toy.md"
    check.text.write_text(TEXT)
    limits = ModuleType("limits")
    limits.LIMIT = 3
    check.constants_of(limits)
    check.judge(judge)
    check.draw(line)
    return check


def test_a_finding_has_verdicts_text_pictures_and_cases(toy) -> None:
    finding = checks.subjects()["T01"].finding()
    assert (finding.model, finding.simulation) == (R, R)
    assert finding.parts[0].statement == "the value exceeds 3"
    assert finding.summary == "It is 5.0, the double 10.0."
    assert finding.cases == ("zheng2002/periodic-loss",)
    assert finding.pictures[0].draw().axes[0].lines[0].get_ydata()[1] == 5.0


def test_claims_alike_differ_in_their_arguments(toy) -> None:
    finding = checks.subjects()["T02"].finding()
    assert (finding.model, finding.simulation) == (C, C)
    assert "It is 1.0" in finding.summary


def test_thresholds_tell_the_verdicts_at_half_and_at_twice(toy) -> None:
    (threshold,) = toy.finding(Toy(2.0)).thresholds
    assert (threshold.name, threshold.value) == ("level", 3.0)
    assert threshold.meaning == "what counts as large"
    assert threshold.half == (R, R)
    assert threshold.twice == (C, C)
    assert toy.judged(Toy(2.0)) == {"large": (C, R)}


def test_what_was_measured_is_kept(toy) -> None:
    assert toy(7.0) is toy(7.0)
    assert toy.measure(7.0) is not toy(7.0)


def test_names_are_known_without_measuring(toy) -> None:
    assert {"value", "double", "LIMIT", "LEVEL"} <= toy.names()


def test_two_checks_of_one_claim_are_refused(toy) -> None:
    with pytest.raises(ValueError, match=r"id = 'T01': .* already"):
        claim("T01")(measure)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("- `large`", "- `small`", "statements are \\['small'\\], not \\['large'\\]"),
        ("- `level`", "- `limit`", "thresholds are"),
        ("### line", "### curve", "pictures are"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(toy, old: str, new: str, message: str) -> None:
    toy.text.write_text(TEXT.replace(old, new))
    with pytest.raises(ValueError, match=message):
        toy.finding(Toy(1.0))


def test_a_check_without_a_judge_is_refused() -> None:
    with pytest.raises(TypeError, match="no function that judges"):
        Check(measure).judged(Toy(1.0))


def test_simulators_are_judged_apart(toy) -> None:
    """Without a function of its own, a statement belongs to all simulators of the cases."""
    basis = Basis(("ns-2", "ns-3"), {"large": "a detail"})
    found = toy.in_all_readings(Toy(5.0), {}, basis)
    assert dict(found.parts[0].simulators) == {"ns-2": R, "ns-3": R}
    assert found.parts[0].minor == "a detail"
    assert found.model is Verdict.NOT_APPLICABLE  # of minor statements alone
    toy.simulators(lambda found: {"": {"large": {"ns-2": R, "ns-3": C}}})
    found = toy.in_all_readings(Toy(5.0), {}, Basis(("ns-2", "ns-3")))
    assert found.simulation is Verdict.DISAGREE
    assert [found.verdict(name) for name in ("ns-2", "ns-3")] == [R, C]


def test_what_a_reading_does_not_judge_has_no_verdict_in_it(toy) -> None:
    toy.judge(lambda found, *, level=LEVEL: {"large": Sides(R, R), "small": Sides(R, R)})
    toy.readings(lambda found: {"other": {"large": Sides(C, Verdict.NOT_APPLICABLE)}})
    (reading,) = toy.in_all_readings(Toy(5.0), {}).readings
    none = Verdict.NOT_APPLICABLE
    assert [(part.model, part.simulation) for part in reading.parts] == [(C, none), (none, none)]


def test_statements_that_are_not_those_of_the_ledger_are_refused(toy) -> None:
    toy.in_all_readings(Toy(2.0), {}, Basis(statements=frozenset({"large"})))
    with pytest.raises(ValueError, match=r"toy.md: not judged as in statements.csv: \['other'\]"):
        toy.in_all_readings(Toy(2.0), {}, Basis(statements=frozenset({"large", "other"})))


@pytest.mark.parametrize("what", ["minor", "simulators", "readings"])
def test_verdicts_on_unknown_statements_are_refused(toy, what: str) -> None:
    basis = Basis(minor={"nothing": "?"}) if what == "minor" else Basis()
    if what == "simulators":
        toy.simulators(lambda found: {"": {"nothing": {"ns-2": R}}})
    if what == "readings":
        toy.readings(lambda found: {"other": {"nothing": Sides(R, R)}})
    with pytest.raises(ValueError, match="judge \\{'nothing'\\}"):
        toy.in_all_readings(Toy(5.0), {}, basis)


def test_a_statement_that_no_data_decide_is_worded_by_the_ledger_and_never_decides(toy) -> None:
    basis = Basis(("ns-2",), {"open": "no run has it"}, undecidable={"open": "It is so."})
    finding = toy.finding(Toy(5.0), basis=basis)
    judged, beside = finding.parts
    assert (judged.statement, beside.statement) == ("the value exceeds 3", "It is so.")
    assert beside.by("ns-2") is beside.simulation is Verdict.UNDECIDABLE
    assert (finding.model, finding.simulation) == (R, R)
    assert beside.minor == "no run has it"

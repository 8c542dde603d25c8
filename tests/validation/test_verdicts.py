"""The data model: what a conjunction, an opposite and two sides are."""

from __future__ import annotations

import pytest

from validation import Finding, Verdict
from validation.verdicts import Part, Reading, Sides, model_only, packets_only

R, C, N, A, U = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
    Verdict.UNDECIDABLE,
)


def test_a_finding_has_the_label_of_its_statements() -> None:
    finding = Finding((Part("", R, A), Part("", C, A, minor="a detail")), "found")
    assert (finding.model, finding.simulation) == (R, A)
    assert finding.held("model") == (1, 2)


def test_simulators_are_told_apart() -> None:
    """Each has the conjunction of its own statements; a disagreement is one of a statement."""
    first = Part("", A, Verdict.DISAGREE, simulators={"ns-2": C, "ns-3": R})
    second = Part("", A, R, simulators={"ns-3": R})
    finding = Finding((first, second), "found")
    assert finding.simulators == ("ns-2", "ns-3")
    assert [finding.verdict(name) for name in finding.simulators] == [C, R]
    assert finding.simulation is Verdict.DISAGREE
    assert finding.held("simulation") == (1, 2)


@pytest.mark.parametrize(
    ("default", "reading", "whole"),
    [
        ([R, R], [C, A], Verdict.DEPENDS),  # one statement suffices to contradict
        ([C, R], [R, A], C),  # the second one was not judged: the reading does not uphold the claim
        ([C, R], [R, R], Verdict.DEPENDS),
        ([C, R], [N, R], C),  # no reading in which it holds
        ([R, N], [C, A], N),  # nothing was decided that could turn
    ],
)
def test_a_reading_turns_a_claim_only_by_what_was_judged_in_it(default, reading, whole) -> None:
    def parts(verdicts) -> tuple[Part, ...]:
        return tuple(Part("", verdict, A) for verdict in verdicts)

    finding = Finding(parts(default), "", readings=(Reading("other", parts(reading)),))
    assert finding.model is whole
    assert bool(finding.turned("model")) is (whole is Verdict.DEPENDS)


def test_verdict_of_statement_and_opposite() -> None:
    assert Verdict.of(True) is R
    assert Verdict.of(False) is C
    assert Verdict.of(False, opposite=False) is N
    assert Verdict.of(False, opposite=True) is C


def test_opposites() -> None:
    assert [verdict.opposite for verdict in (R, C, N, A, U)] == [C, R, N, A, U]


def test_sides() -> None:
    sides = Sides(1.0, 2.0)
    assert sides.each(lambda value: 2 * value) == (2.0, 4.0)
    assert dict(sides.items()) == {"model": 1.0, "packets": 2.0}
    assert (model_only(R), packets_only(C)) == ((R, A), (A, C))

"""The data model: what a conjunction, an opposite and two sides are."""

from __future__ import annotations

import pytest

from validation import Finding, Verdict
from validation.verdicts import Part, Sides, model_only, packets_only

R, C, N, A, U = (
    Verdict.REPRODUCED,
    Verdict.CONTRADICTED,
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_APPLICABLE,
    Verdict.UNDECIDABLE,
)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([R, R], R),
        ([R, A], R),
        ([R, C, N], C),
        ([R, N], N),
        ([R, U], U),
        ([U, N], N),
        ([A], A),
        ([], A),
    ],
)
def test_a_conjunction_is_as_good_as_its_worst_part(parts, whole) -> None:
    assert Verdict.all_of(parts) is whole
    finding = Finding(tuple(Part("", verdict, A) for verdict in parts), "found")
    assert (finding.model, finding.simulation) == (whole, A)


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

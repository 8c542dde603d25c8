"""The rules by which statements, simulators and readings give a label."""

from __future__ import annotations

import itertools

import pytest

from validation.labels import SIMULATORS, Verdict, agreed, held, in_words, label

H, C, D, N, A, U = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.DISAGREE,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
    Verdict.UNDECIDABLE,
)


def test_the_words_are_those_of_the_documentation() -> None:
    assert {str(verdict) for verdict in Verdict} == {
        "holds", "contradicted", "depends", "simulators disagree", "inconclusive", "undecidable",
        "not applicable",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        ([H, H], H), ([H, A], H), ([H, C, N], C), ([H, N], N), ([H, U], U), ([U, N], N),
        ([D, N, H], D), ([D, C], C), ([A], A), ([], A),
    ],
)  # fmt: skip
def test_a_conjunction_is_as_good_as_its_worst_part(parts, whole) -> None:
    assert Verdict.all_of(parts) is whole


@pytest.mark.parametrize(
    ("simulators", "together"),
    [([H, H], H), ([H, N], H), ([N, C], C), ([H, C, N], D), ([N, U], N), ([A, H], H), ([A], A)],
)
def test_one_simulator_cannot_hide_another(simulators, together) -> None:
    for order in itertools.permutations(simulators):
        assert agreed(order) is together


def test_a_minor_statement_is_counted_but_does_not_decide() -> None:
    statements = [(H, False), (C, True)]
    assert label(statements) is H
    assert label([(A, False), (C, True)]) is A
    assert label([(N, False), (H, True)]) is N
    assert held(verdict for verdict, _ in statements) == (1, 2)


@pytest.mark.parametrize(
    ("default", "other", "turned"),
    [(H, C, True), (C, H, True), (H, N, False), (C, N, False), (N, H, False), (N, N, False)],
)
def test_only_the_opposite_turns_a_verdict(default, other, turned) -> None:
    assert default.turned_by(other) is turned


def test_the_direction_of_what_depends_is_said() -> None:
    assert in_words(C, {"a": H, "b": H}) == "contradicted; holds if a or b"


def test_every_simulator_of_the_bundled_runs_has_a_column() -> None:
    from validation import cases, provenance

    judged = {provenance(case)["tool"] for case in cases()} - {
        "hopflow",
        "htsim",
        "ns-3 RDMA",
        "uet-htsim",
    }
    assert judged == set(SIMULATORS), "no claim is judged by runs of the others"

"""Verdicts and labels, and claims that are judged again."""

from __future__ import annotations

import itertools

import pytest

from validation import Finding, Verdict, evidence, rejudge
from validation.labels import SIMULATORS, agreed, held, in_words, label
from validation.verdicts import Part, Reading, Sides, model_only, packets_only

# The data model: what a conjunction, an opposite and two sides are.

R, C_VERDICTS, N_VERDICTS, A_VERDICTS, U_VERDICTS = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
    Verdict.UNDECIDABLE,
)


def test_a_finding_has_the_label_of_its_statements() -> None:
    finding = Finding(
        (Part("", R, A_VERDICTS), Part("", C_VERDICTS, A_VERDICTS, minor="a detail")), "found"
    )
    assert (finding.model, finding.simulation) == (R, A_VERDICTS)
    assert finding.held("model") == (1, 2)


def test_simulators_are_told_apart() -> None:
    """Each has the conjunction of its own statements; a disagreement is one of a statement."""
    first = Part("", A_VERDICTS, Verdict.DISAGREE, simulators={"ns-2": C_VERDICTS, "ns-3": R})
    second = Part("", A_VERDICTS, R, simulators={"ns-3": R})
    finding = Finding((first, second), "found")
    assert finding.simulators == ("ns-2", "ns-3")
    assert [finding.verdict(name) for name in finding.simulators] == [C_VERDICTS, R]
    assert finding.simulation is Verdict.DISAGREE
    assert finding.held("simulation") == (1, 2)


@pytest.mark.parametrize(
    ("default", "reading", "whole"),
    [
        ([R, R], [C_VERDICTS, A_VERDICTS], Verdict.DEPENDS),  # one statement suffices to contradict
        (
            [C_VERDICTS, R],
            [R, A_VERDICTS],
            C_VERDICTS,
        ),  # the second one was not judged: the reading does not uphold the claim
        ([C_VERDICTS, R], [R, R], Verdict.DEPENDS),
        ([C_VERDICTS, R], [N_VERDICTS, R], C_VERDICTS),  # no reading in which it holds
        (
            [R, N_VERDICTS],
            [C_VERDICTS, A_VERDICTS],
            N_VERDICTS,
        ),  # nothing was decided that could turn
    ],
)
def test_a_reading_turns_a_claim_only_by_what_was_judged_in_it(default, reading, whole) -> None:
    def parts(verdicts) -> tuple[Part, ...]:
        return tuple(Part("", verdict, A_VERDICTS) for verdict in verdicts)

    finding = Finding(parts(default), "", readings=(Reading("other", parts(reading)),))
    assert finding.model is whole
    assert bool(finding.turned("model")) is (whole is Verdict.DEPENDS)


def test_verdict_of_statement_and_opposite() -> None:
    assert Verdict.of(True) is R
    assert Verdict.of(False) is C_VERDICTS
    assert Verdict.of(False, opposite=False) is N_VERDICTS
    assert Verdict.of(False, opposite=True) is C_VERDICTS


def test_opposites() -> None:
    assert [
        verdict.opposite for verdict in (R, C_VERDICTS, N_VERDICTS, A_VERDICTS, U_VERDICTS)
    ] == [C_VERDICTS, R, N_VERDICTS, A_VERDICTS, U_VERDICTS]


def test_sides() -> None:
    sides = Sides(1.0, 2.0)
    assert sides.each(lambda value: 2 * value) == (2.0, 4.0)
    assert dict(sides.items()) == {"model": 1.0, "packets": 2.0}
    assert (model_only(R), packets_only(C_VERDICTS)) == ((R, A_VERDICTS), (A_VERDICTS, C_VERDICTS))


# The rules by which statements, simulators and readings give a label.

H, C_LABELS, D, N_LABELS, A_LABELS, U_LABELS = (
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
        ([H, H], H), ([H, A_LABELS], H), ([H, C_LABELS, N_LABELS], C_LABELS), ([H, N_LABELS], N_LABELS), ([H, U_LABELS], U_LABELS), ([U_LABELS, N_LABELS], N_LABELS),
        ([D, N_LABELS, H], D), ([D, C_LABELS], C_LABELS), ([A_LABELS], A_LABELS), ([], A_LABELS),
    ],
)  # fmt: skip
def test_a_conjunction_is_as_good_as_its_worst_part(parts, whole) -> None:
    assert Verdict.all_of(parts) is whole


@pytest.mark.parametrize(
    ("simulators", "together"),
    [
        ([H, H], H),
        ([H, N_LABELS], H),
        ([N_LABELS, C_LABELS], C_LABELS),
        ([H, C_LABELS, N_LABELS], D),
        ([N_LABELS, U_LABELS], N_LABELS),
        ([A_LABELS, H], H),
        ([A_LABELS], A_LABELS),
    ],
)
def test_one_simulator_cannot_hide_another(simulators, together) -> None:
    for order in itertools.permutations(simulators):
        assert agreed(order) is together


def test_a_minor_statement_is_counted_but_does_not_decide() -> None:
    statements = [(H, False), (C_LABELS, True)]
    assert label(statements) is H
    assert label([(A_LABELS, False), (C_LABELS, True)]) is A_LABELS
    assert label([(N_LABELS, False), (H, True)]) is N_LABELS
    assert held(verdict for verdict, _ in statements) == (1, 2)


@pytest.mark.parametrize(
    ("default", "other", "turned"),
    [
        (H, C_LABELS, True),
        (C_LABELS, H, True),
        (H, N_LABELS, False),
        (C_LABELS, N_LABELS, False),
        (N_LABELS, H, False),
        (N_LABELS, N_LABELS, False),
    ],
)
def test_only_the_opposite_turns_a_verdict(default, other, turned) -> None:
    assert default.turned_by(other) is turned


def test_the_direction_of_what_depends_is_said() -> None:
    assert in_words(C_LABELS, {"a": H, "b": H}) == "contradicted; holds if a or b"


def test_every_simulator_of_the_bundled_runs_has_a_column() -> None:
    from validation import cases, provenance

    judged = {provenance(case)["tool"] for case in cases()} - {
        "hopflow",
        "htsim",
        "ns-3 RDMA",
        "uet-htsim",
    }
    assert judged == set(SIMULATORS), "no claim is judged by runs of the others"


# Claims judged again: other thresholds, other readings, a seed less.

HOLDS, CONTRADICTED, NEITHER = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
)


@pytest.mark.parametrize(
    ("id", "thresholds", "after"),
    [
        ("Z10", {"margin": 0.2}, (HOLDS, HOLDS)),
        ("Z02", {"tolerance": 0.035}, (CONTRADICTED, CONTRADICTED)),
        ("M14", {"level": 1e-12}, (HOLDS, NEITHER)),
    ],
)
def test_another_threshold_turns_a_verdict(id, thresholds, after) -> None:
    again = rejudge(id, thresholds)
    assert again.verdicts[1] == after != again.verdicts[0]
    assert again.thresholds.items() >= thresholds.items()
    assert [p.statement for p in again.before.parts] == [p.statement for p in again.after.parts]


def test_a_reading_takes_the_place_of_the_default_one() -> None:
    again = rejudge("Z09", reading="decrease setting")
    assert again.before.model is Verdict.DEPENDS
    assert again.reading == "ns-2's decrease setting is b"
    assert again.after.model is not again.before.default.model
    assert again.after.model is not Verdict.DEPENDS


def test_nothing_changed_is_nothing_turned() -> None:
    again = rejudge("Z02")
    assert again.verdicts[0] == again.verdicts[1]
    assert again.thresholds == {"tolerance": 0.5}


def test_turns_are_the_nearest_of_the_values_tried() -> None:
    (turn,) = rejudge("Z02").turns()
    assert turn.value == pytest.approx(0.5 / 2**3.5)
    assert turn.verdicts != (HOLDS, HOLDS)
    assert all(turn.value < 0.5 for turn in rejudge("M14").turns() if turn.threshold == "level")


def test_a_seed_less_is_measured_anew_and_leaves_no_trace() -> None:
    again = rejudge("Z02")
    found = dict(again.without_a_seed())
    assert sorted(found) == [1, 2, 3, 4, 5]
    assert all(verdicts.model is again.before.model for verdicts in found.values())
    assert evidence.table("zheng2002/periodic-loss")["seed"].nunique() == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": {"margn": 0.1}}, "threshold = 'margn': must be one of"),
        ({"thresholds": {"tolerance": 0.0}}, "threshold tolerance = 0.*> 0"),
        ({"reading": "nobody's"}, "reading = .*: the claim has no reading but the default one"),
    ],
)
def test_what_is_not_there_is_refused(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        rejudge("Z02", **change)


def test_a_level_stays_below_one_half() -> None:
    with pytest.raises(ValueError, match=r"threshold level = 0.7.*< 0.5"):
        rejudge("M14", {"level": 0.7})

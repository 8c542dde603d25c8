"""Checks of claims: statements, verdicts and the rules by which they are joined; differences and ratios, how they are judged and drawn."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from hopflow.results import figure
from tests.surface import for_each, invoke
from validation import Finding, Verdict, checks, evidence, rejudge
from validation.checks import Check, claim
from validation.claims import find
from validation.claims.effect_claims import by, deviation, judging
from validation.claims.effect_pictures import MOST_TOGETHER, curves
from validation.claims.effect_statements import EQUAL, Curve, Effects, Statement, beyond
from validation.claims.fabric_runs import over
from validation.judgements.judges import Basis
from validation.judgements.labels import SIMULATORS, agreed, held, in_words, label, over_readings
from validation.judgements.verdicts import Judgement, Part, Reading, Sides, Threshold, halved, model_only, packets_only
from validation.statistics import Estimate

# A check: what it measures, judges, draws and says, and what it refuses.


R, C, N, A, U, D = (
    Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE, Verdict.UNDECIDABLE,
    Verdict.DISAGREE,
)  # fmt: skip
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
    assert threshold.half == {"model": R, "simulation": R}
    assert threshold.twice == {"model": C, "simulation": C}
    assert toy.judged(Toy(2.0)) == {"large": (C, R)}


def test_a_function_gets_the_changed_thresholds_that_it_has_parameters_for(toy) -> None:
    seen = []
    toy.packet_level(lambda found, **asked: seen.append(asked) or {})
    toy.same_process(lambda found: seen.append({}) or {})
    toy.in_all_readings(Toy(2.0), {"level": 1.0})
    toy.in_all_readings(Toy(2.0), {})
    assert seen == [{}, {"level": 1.0}, {}, {}]


def test_every_source_is_judged_at_half_and_at_twice_of_each_threshold(toy) -> None:
    """Thresholds of one source alone, such as the level of its test, are thresholds of the claim."""
    toy.packet_level(lambda found, *, level=LEVEL: {"large": Verdict.of(found.value > 2 * level)})
    toy.same_process(lambda found, *, limit=1.5: {"large": Verdict.of(found.value > limit)})
    assert toy.thresholds() == {"level": 3.0, "limit": 1.5}
    meanings = {"level": "", "limit": ""}
    level, limit = toy.robustness(Toy(4.0), meanings, Basis())
    assert (level.half["level"], level.twice["level"]) == (R, C)
    assert (level.half["process"], level.twice["process"]) == (R, R)
    assert (limit.half["process"], limit.half["level"]) == (R, C)
    (*_, limit) = toy.robustness(Toy(2.0), meanings, Basis())
    assert (limit.half["process"], limit.twice["process"]) == (R, C)


def test_functions_that_disagree_about_a_threshold_are_refused(toy) -> None:
    toy.packet_level(lambda found, *, level=2.0: {})
    with pytest.raises(TypeError, match="level = 2, not 3"):
        toy.thresholds()


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


# The data model: what a conjunction, an opposite and two sides are.


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
        ([C, R], [R, R], Verdict.DEPENDS),
        ([C, R], [R, A], C),  # to uphold all statements have to be judged
        ([C, R], [N, R], C),
        ([C, R], [A, A], C),
        ([C, R], [C, A], C),
        ([R, R], [N, A], R),
        ([R, N], [C, A], N),  # nothing was decided that could turn
    ],
)
def test_a_claim_depends_if_one_reading_holds_and_one_is_contradicted(default, reading, whole) -> None:
    def parts(verdicts) -> tuple[Part, ...]:
        return tuple(Part("", verdict, A) for verdict in verdicts)

    finding = Finding(parts(default), "", readings=(Reading("other", parts(reading)),))
    assert finding.model is whole
    assert bool(finding.turned("model")) is (whole is Verdict.DEPENDS)


def test_all_simulators_together_depend_where_one_does() -> None:
    one = Part("", A, R, simulators={"ns-2": R, "ns-3": R})
    other = Part("", A, R, simulators={"ns-2": R, "ns-3": C})
    finding = Finding((one,), "", readings=(Reading("other", (other,)),))
    assert [finding.verdict(name) for name in ("ns-2", "ns-3", "simulation")] == [R, Verdict.DEPENDS, Verdict.DEPENDS]


@pytest.mark.parametrize(
    ("name", "place", "half", "twice", "label"),
    [
        ("margin", "", R, R, R),
        ("margin", "", N, R, Verdict.MARGIN),
        ("margin", "", R, C, Verdict.MARGIN),
        ("margin", "slide 7", N, R, R),  # the paper states it
        ("level", "", N, R, R),  # a probability of error is no margin
    ],
)
def test_a_label_stands_at_half_and_twice_of_a_margin_of_ours(name, place, half, twice, label) -> None:
    threshold = Threshold(name, "", 0.1, {"model": half}, {"model": twice}, place=place)
    assert Finding((Part("", R, A),), "", thresholds=(threshold,)).model is label
    assert Finding((Part("", N, A),), "", thresholds=(threshold,)).model is N


def test_readings_come_before_margins() -> None:
    other = Reading("other", (Part("", C, A),))
    threshold = Threshold("margin", "", 0.1, {"model": N}, {"model": N})
    assert Finding((Part("", R, A),), "", readings=(other,), thresholds=(threshold,)).model is Verdict.DEPENDS


@for_each([
    (0.1, (0.05, 0.2)), (0.9, (0.95, 0.8)), (1.3, (1.15, 1.6)), (0.5, (0.25, 1.0)), (2.0, (1.0, 4.0)), (1.0, (0.5, 2.0)),
])  # fmt: skip
def test_the_margin_of_a_part_near_one_is_its_distance_from_one(threshold, ends) -> None:
    assert halved(threshold) == pytest.approx(ends)


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


# The rules by which statements, simulators and readings give a label.


def test_the_words_are_those_of_the_documentation() -> None:
    assert {str(verdict) for verdict in Verdict} == {
        "holds", "contradicted", "depends", "depends on our margin", "simulators disagree", "inconclusive",
        "undecidable", "not applicable",
    }  # fmt: skip


@for_each([
    ([R, R], R), ([R, A], R), ([R, C, N], C), ([R, N], N), ([R, U], U), ([U, N], N),
    ([D, N, R], D), ([D, C], C), ([A], A), ([], A),
])  # fmt: skip
def test_a_conjunction_is_as_good_as_its_worst_part(parts, whole) -> None:
    assert Verdict.all_of(parts) is whole


@for_each(
    [
        ([R, R], R),
        ([R, N], R),
        ([N, C], C),
        ([R, C, N], D),
        ([N, U], N),
        ([A, R], R),
        ([A], A),
    ]
)
def test_one_simulator_cannot_hide_another(simulators, together) -> None:
    for order in itertools.permutations(simulators):
        assert agreed(order) is together


def test_a_minor_statement_is_counted_but_does_not_decide() -> None:
    statements = [(R, False), (C, True)]
    assert label(statements) is R
    assert label([(A, False), (C, True)]) is A
    assert label([(N, False), (R, True)]) is N
    assert held(verdict for verdict, _ in statements) == (1, 2)


@for_each([
    (R, [C], Verdict.DEPENDS), (C, [R], Verdict.DEPENDS), (N, [R, C], Verdict.DEPENDS),
    (R, [N], R), (C, [N], C), (C, [A], C), (C, [C], C), (N, [R], N), (N, [C], N), (N, [N], N), (R, [], R),
])  # fmt: skip
def test_readings_that_were_not_judged_change_nothing(default, others, whole) -> None:
    assert over_readings(default, others) is whole


def test_a_verdict_says_which_readings_are_against_it_and_how_many_were_judged() -> None:
    assert in_words(C, {"a": R, "b": R}) == "contradicted; holds if a or b"
    assert in_words(C, dict.fromkeys("abcde", A)) == "contradicted; 0 of 5 other readings judged"
    assert in_words(C, {"a": R, "b": N}) == "contradicted; holds if a; 1 of 2 other readings judged"
    assert in_words(C, dict.fromkeys("abcde", R)) == "contradicted; holds in 5 other readings"
    assert in_words(N, {"a": R, "b": C, "c": A}) == "inconclusive; holds if a; contradicted if b"
    assert in_words(N, {"a": A}) == "inconclusive"


def test_every_simulator_of_the_bundled_runs_has_a_column() -> None:
    from validation import cases, provenance

    judged = {provenance(case)["tool"] for case in cases()} - {
        "hopflow", "htsim", "ns-3 RDMA", "uet-htsim",
    }  # fmt: skip
    assert judged == set(SIMULATORS), "no claim is judged by runs of the others"


# Claims judged again: other thresholds, other readings, a seed less.


@pytest.mark.parametrize(
    ("id", "thresholds", "after"),
    [
        ("Z10", {"margin": 0.2}, (R, R)),
        ("Z02", {"tolerance": 0.035}, (C, C)),
        ("M14", {"level": 1e-12}, (R, N)),
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
    assert again.thresholds == {"tolerance": 0.5, "factor": 2.0, "level": 0.01}


def test_where_a_verdict_turns_is_where_it_is_another_one_when_judged_there() -> None:
    """By direct evaluation on both sides, of every source."""
    again = rejudge("Z02")
    turns = list(again.turns())
    assert {turn.source for turn in turns} == {"model", "simulation", "ns-2"}
    for turn in turns:
        stays, other = (rejudge("Z02", {turn.threshold: v}) for v in (turn.stays, turn.value))
        assert stays.after.verdict(turn.source) is again.before.verdict(turn.source)
        assert other.after.verdict(turn.source) is turn.verdict is not R
        assert turn.stays == pytest.approx(turn.value, rel=1e-6)
    assert all(turn.value < 0.5 for turn in rejudge("M14").turns() if turn.threshold == "level")


@pytest.fixture
def reactions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let H02 have measured 3618 packets where a reaction to each ACK has 1923, and a queue twice as long, exactly."""

    def exactly(*values: float) -> list[Estimate]:
        return [Estimate(value, 0.0) for value in values]

    found = Effects(
        {
            "throughput": Statement(level=over(Estimate(3618 / 1923 - 1, 0.0))),
            "queue": Statement(level=over(Estimate(1.0, 0.0))),
        },
        {
            "packets delivered": Curve("abc", level=exactly(3618, 1923, 3550)),
            "mean queue": Curve("abc", level=exactly(400, 390, 800)),
        },
        ("reaction to", "packets"),
    )
    find("H02")
    monkeypatch.setattr(checks.Subject, "measured", lambda _: found)


def test_a_verdict_of_the_packet_level_alone_turns_at_its_number(reactions) -> None:
    """Packets per cent more than the fewer of the two: the paper's order holds up to 88 % of it."""
    (turn,) = rejudge("H02").turns()
    assert (turn.threshold, turn.source, turn.verdict) == ("least", "level", C)
    assert turn.value == pytest.approx((3618 - 1923) / 1923, rel=1e-5)
    for value, verdict in ((turn.value * 0.999, R), (turn.value * 1.001, C)):
        assert rejudge("H02", {"least": value}).after.level is verdict
    (threshold,) = (each for each in find("H02").check().thresholds if each.name == "least")
    assert threshold.twice == {"level": R}


def test_the_command_says_where_the_packet_level_turns(reactions) -> None:
    said = invoke(["judge", "H02"], env={"COLUMNS": "160"}).output
    assert "from 0.8814: packet level holds -> contradicted" in said
    assert "from 9.8e-06 to 0.45 the verdict stays: packet level" in said
    assert "from 4.9e-05 to 51" not in said


@pytest.mark.slow
def test_h02_turns_where_it_is_judged_otherwise() -> None:
    before = rejudge("H02")
    for turn in before.turns():
        for value, verdict in ((turn.stays, before.before.level), (turn.value, turn.verdict)):
            assert rejudge("H02", {turn.threshold: value}).after.level is verdict


def test_a_seed_less_is_measured_anew_and_leaves_no_trace() -> None:
    again = rejudge("Z02")
    found = dict(again.without_a_seed())
    assert sorted(found) == list(range(1, 26))
    assert all(verdicts["model"] is again.before.model for verdicts in found.values())
    assert evidence.table("zheng2002/periodic-loss")["seed"].nunique() == 5


# Statements of differences: the smallest one that counts, and the weakest estimate.


SEEN = Estimate(0.05, 0.001, 9)


def test_another_smallest_difference_moves_all_sides() -> None:
    seen = beyond(SEEN, 0.1)
    moved = Statement((seen,), (seen,), level=(seen,), least=0.1).counting_from(0.02)
    for side in (moved.packets, moved.model, moved.level):
        assert isinstance(side, tuple)
        assert side[0].value == pytest.approx(0.03)
        assert side[0].error == pytest.approx(SEEN.error)
    assert moved.least == 0.02


def test_statements_without_one_and_verdicts_stay() -> None:
    signs = Statement((SEEN,))
    assert signs.counting_from(0.02) is signs
    limited = Statement(Verdict.INCONCLUSIVE, least=0.1)
    assert limited.counting_from(None) is limited
    assert limited.counting_from(0.02).packets is Verdict.INCONCLUSIVE


def test_the_weakest_estimate_is_the_least_certain() -> None:
    assert Statement((SEEN, Estimate(0.05, 0.1, 9))).weakest.error == 0.1


def test_simulators_are_judged_by_themselves_and_none_is_dropped() -> None:
    more, less = Estimate(0.3, 0.01, 9), Estimate(-0.3, 0.01, 9)
    statement = Statement({"ns-2": (more,), "ns-3": (less,)}, (more,))
    assert statement.judged_simulators(0.01, 0.1) == {
        "ns-2": Verdict.HOLDS,
        "ns-3": Verdict.CONTRADICTED,
    }
    assert statement.judged(0.01, 0.1) == (Verdict.HOLDS, Verdict.DISAGREE)
    assert statement.quantities == {"ns-2": (more,), "ns-3": (less,)}
    assert Statement((more,)).judged_simulators(0.01, 0.1) is None


def test_a_negative_least_is_what_is_allowed() -> None:
    """A fall by 0.001 counts at half of the slack, and not at the slack."""
    allowed = Statement((beyond(Estimate(-0.001, 0.0), -0.0015),), least=-0.0015)
    assert allowed.judged(0.01, 0.1).packets is Verdict.HOLDS
    assert allowed.counting_from(0.00075).judged(0.01, 0.1).packets is Verdict.CONTRADICTED


# Differences and ratios: how they are judged and drawn.


SIGNS, EQUALITY = judging({"level": 0.01}), judging({"level": 0.01, "margin": EQUAL})
COUNTING = judging({"level": 0.01, "least": 0.1})
SURE, UNSURE = Estimate(1.0, 0.1, 9), Estimate(1.0, 1.0, 9)


def of(statement: Statement, **others: Statement) -> Effects:
    return Effects({"it": statement}, {}, ("x", "y"), readings={"other": others})


@pytest.mark.parametrize(
    ("packets", "verdict"),
    [((SURE, SURE), R), ((SURE, UNSURE), N), ((SURE, -SURE), C), (C, C), (None, A)],
)
def test_signs_decide(packets, verdict: Verdict) -> None:
    assert SIGNS.judge(of(Statement(packets)))["it"] == (A, verdict)


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [(0.02, 0.01, R), (0.02, 0.1, N), (0.3, 0.01, C), (-0.3, 0.01, C)],
)
def test_equality_needs_both_sides_within_the_margin(value, error, verdict: Verdict) -> None:
    found = of(Statement((Estimate(value, error),), equal=True))
    assert EQUALITY.judge(found)["it"].packets is verdict
    assert EQUALITY.judge(found, margin=1.0)["it"].packets is R


@pytest.mark.parametrize(("least", "verdict"), [(0.1, C), (0.05, N), (0.01, R)])
def test_the_smallest_difference_that_counts_is_a_threshold(least, verdict: Verdict) -> None:
    seen = beyond(Estimate(0.05, 0.001, 9), 0.1)
    found = of(Statement((seen,), (seen,), level=(seen,), least=0.1), it=Statement((seen,)))
    assert COUNTING.judge(found, least=least)["it"] == (verdict, verdict)
    assert COUNTING.packet_level(found, least=least)["it"] is verdict
    assert COUNTING.readings(found, least=least)["other"]["it"].packets is C


def test_quantities_may_be_functions_of_further_thresholds() -> None:
    judges = judging({"level": 0.01, "times": 2.0})
    found = of(Statement(lambda given: (Estimate(3.0 - given["times"], 0.1),)))
    assert judges.judge(found)["it"].packets is R
    assert judges.judge(found, times=4.0)["it"].packets is C


def test_a_reading_leaves_the_model_as_it_is() -> None:
    found = of(Statement((SURE,), (SURE,)), it=Statement((-SURE,)))
    assert SIGNS.readings(found) == {"other": {"it": (A, C)}}


def test_means_over_seeds_average_the_flows_of_a_run_first() -> None:
    frame = pd.DataFrame({"kind": "a", "seed": [1, 1, 2, 2], "rate": [1.0, 3.0, 4.0, 6.0]})
    found = by(frame, "kind", "rate")["a"]
    assert (found.value, found.dof) == (3.5, 1)
    assert found.error == pytest.approx(np.std([2.0, 5.0], ddof=1) / np.sqrt(2))


def test_deviation_from_a_number() -> None:
    assert deviation(Estimate(1.2, 0.1, 4), 1.0).value == pytest.approx(0.2)


# The picture of effects: lines over numbers, rows over names, panels, the margin.


def picture_of(found: dict[str, Curve], log: str = "", expected: tuple[float, float] | None = None):
    """Return the visible axes of the picture, and the entries of its legend."""
    fig = curves(Effects({}, found, ("x", "y"), log, expected=expected))
    said = [text.get_text() for legend in fig.legends for text in legend.get_texts()]
    return [ax for ax in fig.axes if ax.get_visible()], said


def test_numbers_are_on_the_axis_across_and_names_are_rows() -> None:
    (ax,), said = picture_of({"c": Curve((1.0, 2.0), (SURE, UNSURE), (1.0, 2.0))})
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "y")
    assert said == ["model", "c"]
    (ax,), _ = picture_of({"c": Curve(("one", "two"), (SURE, UNSURE), (1.0, 2.0))})
    assert ax.get_xlabel() == "y"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one", "two"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first name is on top"


def test_levels_are_connected() -> None:
    (ax,), _ = picture_of({"c": Curve((1.0, 2.0), (SURE, UNSURE))})
    (bars,) = ax.containers
    assert bars.lines[0].get_linestyle() == ":"
    assert bars.has_yerr


def test_hopflows_packet_level_is_drawn_with_its_intervals() -> None:
    (ax,), said = picture_of({"c": Curve((1.0, 2.0), (SURE, SURE), level=(SURE, UNSURE))})
    assert said == ["c", "c, hopflow's packets"]
    _, level = ax.containers
    assert level.has_yerr
    assert level.lines[0].get_markerfacecolor() == "none"


def test_a_logarithmic_axis_has_the_values_that_were_run() -> None:
    (ax,), _ = picture_of({"c": Curve((0.25, 4.0), (SURE, UNSURE))}, "x")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.25", "4"]


@pytest.mark.parametrize("x", [(1.0, 2.0), ("one", "two")])
def test_the_margin_is_a_band_around_its_middle(x) -> None:
    (ax,), said = picture_of({"c": Curve(x, (SURE, UNSURE))}, expected=(0.9, 1.1))
    assert said == ["equal within the margin", "c"]
    (band,) = ax.patches
    box = band.get_extents().transformed(ax.transData.inverted())
    edges = (box.y0, box.y1) if x[0] == 1.0 else (box.x0, box.x1)
    assert edges == pytest.approx((0.9, 1.1))


def test_many_curves_are_panels_by_the_first_part_of_their_names() -> None:
    rules = "ABCD"
    many = {f"{rule}, {tool}": Curve((1.0, 2.0), (SURE, SURE), (1.0, 1.0)) for rule in rules for tool in ("ns-2", "ns-3")}  # fmt: skip
    assert len(many) > MOST_TOGETHER
    axes, said = picture_of(many)
    assert [ax.get_title() for ax in axes] == list(rules)
    assert said == ["ns-2, model", "ns-2", "ns-3, model", "ns-3"]


def test_differences_that_nobody_sees_do_not_fill_the_axis() -> None:
    tight = Estimate(1.0, 1e-6, 9)
    (ax,), _ = picture_of({"c": Curve(("one", "two"), (tight, tight))})
    low, high = ax.get_xlim()
    assert high - low == pytest.approx(0.04)

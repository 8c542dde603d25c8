"""Claims judged again: other thresholds, other readings, a seed less."""

from __future__ import annotations

import pytest

from validation import evidence
from validation.judging import rejudge
from validation.verdicts import Verdict

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

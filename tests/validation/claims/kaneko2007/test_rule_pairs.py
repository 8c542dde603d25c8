"""The table of pairs."""

from __future__ import annotations

from validation.claims.kaneko2007.runs import FRIENDLY, GREEDY, NAMES
from validation.records import rows


def test_the_slide_has_all_pairs_of_seven_rules() -> None:
    cells = rows("kaneko2007_pairs.csv")
    assert len(cells) == 49
    names = {NAMES[rule] for rule in (*FRIENDLY, *GREEDY)}
    assert len(names) == 7

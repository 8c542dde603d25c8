"""Lists of numbers become tables only where the values fit."""

from __future__ import annotations

import pytest

from validation.finding_rows import Number
from validation.report.series import arranged


def test_curves_over_the_same_values_share_a_table() -> None:
    numbers = [
        Number(
            "rate, Reno; flows: 1, 2, 4", model="9, 5, 2", simulation="8, 5, 3", tolerance="5 %"
        ),
        Number("rate, BIC; flows: 1, 2, 4", simulation="7, 6, 5"),
    ]
    rest, (table,) = arranged(numbers)
    assert rest == []
    assert (table.x, table.values) == ("flows", ["1", "2", "4"])
    assert table.curves[0].sides == {"Model": ["9", "5", "2"], "Packets": ["8", "5", "3"]}
    assert table.curves[0].note == "5 %"
    assert table.curves[1].sides == {"Packets": ["7", "6", "5"]}


def test_words_of_the_paper_on_all_values_are_a_note() -> None:
    _, (table,) = arranged([Number("gain by RTT = 1, 2, 5 s", "9, 5, 2", paper="it falls")])
    assert table.x == "RTT"
    assert table.curves[0].note == "paper: it falls"


@pytest.mark.parametrize(
    "number",
    [
        Number("gain at three loads", "1, 2, 3"),
        Number("gain; load: 1, 2, 3", "1, 2"),
        Number("gain; load: 1, 2", "1, 2"),
        Number("gain; load: 1, 2, 3", paper="1, 2, 3"),
    ],
    ids=["no values", "fewer numbers", "two", "paper alone"],
)
def test_other_numbers_stay_as_they_are(number: Number) -> None:
    assert arranged([number]) == ([number], [])

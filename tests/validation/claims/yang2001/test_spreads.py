"""Spread of the transfer times."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.yang2001.spreads import FEW_SLOTS, _last_step, _spread_at
from validation.records import rows


def test_short_turns_leave_no_class_a_spread_of_its_own() -> None:
    usual, few = _spread_at(1.0), _spread_at(FEW_SLOTS)
    assert usual[0] < -10.0 < usual[1].value + 15.0
    assert abs(few[0]) < 0.5
    assert abs(few[1].value) < 0.1


def test_the_last_class_scatters_more_where_acknowledgements_are_lost() -> None:
    step = ("TCP4", "TCP3")
    assert _last_step("lost", step).value > _last_step(None, step).value


def test_the_table_has_the_deviation_over_the_ratios() -> None:
    """Best-effort UDP beside a regulated source takes 8 s for each of its k flows of a hundred, k = 1 to 19.

    The paper prints 43.79 s (cc/be, FCFS, UDP3 of source 2); flows within a class of a run differ by seconds.
    """
    means = 8.0 * np.arange(1, 20)
    printed = next(
        float(row["standard_deviation_s"])
        for row in rows("yang2001_table6.csv")
        if (row["environment"], row["discipline"], row["traffic_source"], row["flow_class"])
        == ("cc/be", "FCFS", "2", "UDP3")
    )
    assert printed == pytest.approx(means.std(), rel=0.01)

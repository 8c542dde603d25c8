"""Spread of the transfer times."""

from __future__ import annotations

from validation.claims.yang2001.spreads import FEW_SLOTS, _last_step, _spread_at


def test_short_turns_leave_no_class_a_spread_of_its_own() -> None:
    usual, few = _spread_at(1.0), _spread_at(FEW_SLOTS)
    assert usual[0] < -10.0 < usual[1].value + 15.0
    assert abs(few[0]) < 0.5
    assert abs(few[1].value) < 0.1


def test_the_last_class_scatters_more_where_acknowledgements_are_lost() -> None:
    step = ("TCP4", "TCP3")
    assert _last_step("lost", step).value > _last_step(None, step).value

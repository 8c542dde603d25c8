"""K02: shares beside Reno under random loss, over the seeds that two rules have in common."""

from __future__ import annotations

import math
from functools import cache

import pandas as pd
import pytest

from validation.claims.effect_statements import Effects
from validation.claims.kaneko2007.runs import relative, uneven
from validation.claims.kaneko2007.under_loss import (
    LARGE_LOSS_RATES,
    OTHERS,
    SMALL_LOSS_RATES,
    shares_under_loss,
)


@cache
def found() -> Effects:
    """Return the estimates of all statements: measured when a test needs them, not when tests are collected."""
    measured: Effects = shares_under_loss.measure()
    return measured


@pytest.mark.slow
def test_every_quantity_is_a_number() -> None:
    """Seeds of one rule without a partner once made them NaN, and their statements inconclusive."""
    for key, statement in found().statements.items():
        for tool, estimates in statement.quantities.items():
            assert all(math.isfinite(e.value + e.error) for e in estimates), (key, tool)


def test_small_and_larger_loss_rates_are_judged_apart() -> None:
    fair, leaves = (found().statements[key].quantities["ns-3"] for key in ("fair", "leaves"))
    assert (len(fair), len(leaves)) == (len(SMALL_LOSS_RATES), len(LARGE_LOSS_RATES))
    assert set(OTHERS) <= {"fusion", "areno", "compound"}


def test_runs_without_a_partner_are_left_out() -> None:
    one, other = pd.Series({1: 2.0, 2: 2.2, 3: 9.0}), pd.Series({1: 1.0, 2: 1.0})
    assert relative(one, other).value == pytest.approx(1.1)
    assert uneven(one, other).value == pytest.approx((1 / 3 + 1.2 / 3.2) / 2)

"""K02: shares beside Reno under random loss, over the seeds that two rules have in common."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from validation.claims.kaneko2007.runs import relative, uneven
from validation.claims.kaneko2007.under_loss import (
    LARGE_LOSS_RATES,
    OTHERS,
    SMALL_LOSS_RATES,
    shares_under_loss,
)

FOUND = shares_under_loss.measure()
"""The estimates of all statements."""


def test_every_quantity_is_a_number() -> None:
    """Seeds of one rule without a partner once made them NaN, and their statements inconclusive."""
    for key, statement in FOUND.statements.items():
        for tool, estimates in statement.quantities.items():
            assert all(math.isfinite(e.value + e.error) for e in estimates), (key, tool)


def test_small_and_larger_loss_rates_are_judged_apart() -> None:
    fair, leaves = (FOUND.statements[key].quantities["ns-3"] for key in ("fair", "leaves"))
    assert (len(fair), len(leaves)) == (len(SMALL_LOSS_RATES), len(LARGE_LOSS_RATES))
    assert set(OTHERS) <= {"fusion", "areno", "compound"}


def test_runs_without_a_partner_are_left_out() -> None:
    one, other = pd.Series({1: 2.0, 2: 2.2, 3: 9.0}), pd.Series({1: 1.0, 2: 1.0})
    assert relative(one, other).value == pytest.approx(1.1)
    assert uneven(one, other).value == pytest.approx((1 / 3 + 1.2 / 3.2) / 2)

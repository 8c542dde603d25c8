"""The scenarios of claims at both levels, and the bundled results, which are computed again."""

from __future__ import annotations

import pandas as pd
import pytest

from dfcmodel import explain
from validation import evidence
from validation.claims.explained import SCENARIOS, arguments
from validation.waterfalls import ABOUT, CASE


def test_every_scenario_is_bundled() -> None:
    assert set(SCENARIOS) == set(ABOUT) == set(evidence.table(CASE)["claim"])


def test_claims_without_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"claim = 'M01': must be one of 'D04', "):
        arguments("M01")


@pytest.mark.slow
def test_the_bundled_rows_are_computed_again() -> None:
    """Of the shortest one; any machine gives the same to the digits that are bundled."""
    rows = evidence.table(CASE).query("claim == 'D18'")
    again = explain(**arguments("D18"), runs=int(rows["runs"].iloc[0]), seed=0).table()
    names = ["mean", "low", "high"]
    pd.testing.assert_frame_equal(
        rows[names].reset_index(drop=True), again[names], rtol=1e-8, atol=1e-12
    )

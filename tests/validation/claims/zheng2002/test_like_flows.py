"""What timeouts explain of the differences of like flows."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.effect_claims import where
from validation.claims.zheng2002.like_flows import without_timeouts
from validation.claims.zheng2002.pairs import CASE, GENTLE, TFRC, pair
from validation.statistics import of_runs


def test_what_timeouts_explain_is_taken_from_the_deviation_only() -> None:
    """A regression within runs cannot add to the deviation; the cost is that of NumPy's polyfit."""
    found = without_timeouts(GENTLE, TFRC)
    before = of_runs(pair(GENTLE, TFRC)["apart"][GENTLE])
    assert found.apart.value < before.value
    frame = where(CASE, pair=f"{GENTLE} with {TFRC}", background=0, reading="1-b", kind=GENTLE)
    runs = frame.groupby("seed")
    x, y = (frame[c] - runs[c].transform("mean") for c in ("timeouts", "rate"))
    slope = np.polyfit(x, y, 1)[0]
    assert found.cost == pytest.approx(-slope / frame["rate"].mean())

"""K11: equal shares at a buffer of one BDP, and only there."""

from __future__ import annotations

import dataclasses

import pytest

from validation.claims.kaneko2007 import westwood_decrease
from validation.verdicts import Verdict


def test_equal_shares_at_the_bdp_alone_reproduce() -> None:
    found = westwood_decrease.measure()
    alone = {x: 1.0 if x == 1.0 else 1.5 for x in found.measured}
    judged = westwood_decrease.judge(dataclasses.replace(found, measured=alone))
    assert judged["equal"].packets is Verdict.REPRODUCED
    both = {**alone, 2.0: 1.0}
    judged = westwood_decrease.judge(dataclasses.replace(found, measured=both))
    assert judged["equal"].packets is Verdict.CONTRADICTED


@pytest.mark.parametrize("size", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_ratio_is_that_of_two_sawtooths(size: float) -> None:
    """Peaks W and V that lose together: b W = V/2; means (1 - b/2) W and 3 V/4."""
    b = westwood_decrease.decrease_at(size)
    W, V = 1.0, 2.0 * b
    assert westwood_decrease.share_ratio(size) == pytest.approx((1 - b / 2) * W / (0.75 * V))

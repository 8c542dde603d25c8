"""TCP behind bridges that pause, read from the bundled tables."""

from __future__ import annotations

import pytest

from validation import evidence
from validation.claims.malhotra2005 import protocol


def test_gains_are_those_of_the_table() -> None:
    means = evidence.table(protocol.THINK).groupby(["rtt", "pause"])["goodput"].mean().unstack()
    gains = protocol.gains(protocol.THINK)
    for rtt, row in means.iterrows():
        assert gains[rtt].value == pytest.approx(100 * (row["on"] / row["off"] - 1))


def test_more_seeds_agree_with_fewer() -> None:
    found, few = protocol.over_rtt().default, protocol.gains(protocol.THINK)
    for rtt in (10.0, 20.0):
        assert abs(found[rtt].value - few[rtt].value) < found[rtt].half_width + few[rtt].half_width
        assert found[rtt].error < few[rtt].error


def test_thresholds_end_without_pausing() -> None:
    for found in (protocol.by_threshold("think", 5.0), protocol.by_low_threshold(5.0)):
        assert max(found) == 20
        assert found[15].value > found[20].value

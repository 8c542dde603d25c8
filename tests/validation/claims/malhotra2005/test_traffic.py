"""TCP's own gains by the round-trip time."""

from __future__ import annotations

from validation.claims import find


def test_a_general_trend_holds_in_the_mean_and_not_at_every_rate() -> None:
    assert set(find("M10").check().turning.packets) == {
        "every rate of link A",
        "RTT from 0.1 to 1 s",
        "window 10 packets",
    }

"""What mu2 stands for, and messages by the threshold."""

from __future__ import annotations

import pytest

from validation.claims.malhotra2005 import bundled
from validation.claims.malhotra2005.chain import LIGHT, Setting
from validation.claims.malhotra2005.signalling import FITTED, _instant, fitted, pauses


def test_a_tandem_with_mu2_is_mimicked_by_that_mu2() -> None:
    assert fitted({high: _instant(10.0, high) for high in FITTED}) == 10.0


def test_pauses_per_second_are_those_of_the_runs() -> None:
    """The chain's own events in ns-3, within 5 % at a low threshold of 5."""
    runs = bundled.runs(bundled.LOW_THRESHOLD)
    seen = runs[Setting(LIGHT, 15, 5)].estimates["pause_rate"].value
    assert pauses(5) == pytest.approx(seen, rel=0.05)

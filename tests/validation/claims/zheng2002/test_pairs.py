"""Shares of two kinds by derivation, and what timeouts explain of like flows."""

from __future__ import annotations

import numpy as np
import pytest

from validation.claims.effect_claims import where
from validation.claims.zheng2002.like_flows import without_timeouts
from validation.claims.zheng2002.pairs import (
    CASE,
    GENTLE,
    QUARTER,
    TCP,
    TFRC,
    at_packet_level,
    derived,
    pair,
    ratio,
    smoother,
)
from validation.statistics import difference, of_runs

# Shares of two kinds by derivation.


def test_a_of_b_gives_the_response_of_tcp() -> None:
    """a = 3b/(2 - b), zheng2002, Sect. 3.2."""
    assert [derived(kind) for kind in (GENTLE, QUARTER, TFRC)] == pytest.approx([1, 1, 1])


def test_a_window_that_keeps_b_gets_about_half() -> None:
    assert derived(QUARTER, "b") == pytest.approx(0.488, abs=1e-3)


def test_the_packet_level_has_pairs_of_windows_only() -> None:
    """Its ratio and ns-2's differ by less than their errors together; three and five seeds."""
    assert at_packet_level(TFRC, TCP) is None
    own, seen = at_packet_level(GENTLE, TCP), pair(GENTLE, TCP)
    assert own is not None
    for measure in (ratio, smoother):
        apart = difference(measure(own, GENTLE, TCP), measure(seen, GENTLE, TCP))
        assert abs(apart.value) < apart.half_width


# What timeouts explain of the differences of like flows.


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

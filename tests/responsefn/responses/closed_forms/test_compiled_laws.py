"""Compiled closed forms give the numbers of the checked functions."""

from __future__ import annotations

import numpy as np
import pytest

from responsefn import (
    AIMD,
    CUBIC,
    HTCP,
    TFRC,
    catalogue,
    fused,
    invert,
)

CLOSED = [entry for entry in catalogue().entries if entry.uses_closed_form()]


CLOSED = [entry for entry in CLOSED if getattr(entry, "capacity", "ignored") != "needed"]


SMOOTH = [*CLOSED, AIMD(0.2, 0.125), CUBIC(friendly=0), TFRC(2, 0.3)]
"""Every entry of the catalogue with a closed form: each has a twin, and nothing else has."""


P = np.geomspace(1e-10, 0.9, 301)


RTT = 0.07


FIRST = {type(rule): rule for rule in reversed(SMOOTH)}.values()
"""One of each class; the others are variants of its formula."""


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, id=repr(rule), marks=[] if rule in FIRST else pytest.mark.slow)
        for rule in SMOOTH
    ],
)
def test_fused(rule):
    law = fused(rule, RTT)
    holds = rule.closed_form_holds(P, RTT)
    np.testing.assert_allclose(law(P)[holds], rule.rate(P[holds], RTT), rtol=2e-13)
    assert np.isnan(law(P)[~holds]).all()
    out = np.empty_like(P)
    assert law(P, out) is out
    first = np.argmax(holds)
    range_ = slice(first, first + np.argmax(np.append(~holds[first:], True)))  # the lowest one
    rate = rule.rate(P[range_], RTT)
    p = law.invert(rate)
    np.testing.assert_allclose(law(p), rate, rtol=1e-12)
    np.testing.assert_allclose(p, invert(rule, rate, RTT, unit_check=False), rtol=1e-12)


def test_fused_inverse_says_where_there_is_none():
    lowest, highest = TFRC().rate([1.0, 1e-12], RTT)
    outside = np.array([0.999 * lowest, 1.001 * highest, 1e-9, 0.0, -1.0, np.nan, np.inf])
    assert np.isnan(fused(TFRC(), RTT).invert(outside)).all()
    inside = fused(TFRC(), RTT).invert(np.array([lowest, highest]))
    np.testing.assert_allclose(inside, [1.0, 1e-12], rtol=1e-12)
    with pytest.raises(TypeError, match="no closed form"):
        fused(HTCP(), RTT)
    with pytest.raises(ValueError, match=r"^rtt = 70"):
        fused(TFRC(), 70.0)

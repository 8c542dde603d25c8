"""The decrease RTTmin/RTT."""

from __future__ import annotations

import pytest

from validation.claims.kaneko2007.decreases import BUFFERS, share_ratio
from validation.verdicts import Verdict


@pytest.mark.parametrize(("buffer", "ratio"), [(1.0, 1.0), (0.5, 5 / 3), (2.0, 2 / 3)])
def test_the_share_is_that_of_the_decrease_at_a_full_queue(buffer: float, ratio: float) -> None:
    """(2 - b)/(3 b) with b = x/(1 + x): one at a bandwidth-delay product, as the slide has it."""
    assert share_ratio(buffer) == pytest.approx(ratio)


@pytest.mark.parametrize(("buffer", "key"), [(0.5, "below"), (1.0, "equal"), (2.0, "above")])
def test_another_share_in_packets_is_noticed(doctor, judged, buffer: float, key: str) -> None:
    """The flow at the slide's rule gets what Reno gets only at a bandwidth-delay product."""
    factor = {"below": 0.3, "equal": 3.0, "above": 3.0}[key]

    def scaled(frame) -> None:
        chosen = (frame["buffer_bdp"] == buffer) & (frame["rule"] == "rate_estimate")
        frame.loc[chosen & (frame["flow"] == 1), "goodput_bits"] *= factor

    doctor(BUFFERS, scaled)
    assert judged("K11")[key].packets is Verdict.CONTRADICTED

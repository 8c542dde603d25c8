"""Endless TCP over pause at hopflow's packet level."""

from __future__ import annotations

import pytest

from validation.claims.malhotra2005 import level, protocol


def test_goodput_and_losses_are_those_of_ns3() -> None:
    """Without pausing at an RTT of 1 s, within a hundredth and a tenth: two programs of one TCP."""
    found = level.endless(1.0, False)
    frame = protocol.evidence.table(protocol.ENDLESS).query("rtt == 1 and pause == 'off'")
    lost = (frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"]
    assert found.goodput.mean() == pytest.approx(frame["goodput"].mean(), rel=0.01)
    assert found.lost.mean() == pytest.approx(lost.mean(), rel=0.1)


def test_pausing_spares_losses_at_a_second() -> None:
    on, off = (level.endless(1.0, pause) for pause in (True, False))
    assert on.lost.max() < off.lost.min()
    assert level.gain(1.0).value == pytest.approx(0.4, abs=0.3)  # ns-3: 0.39 +- 0.14

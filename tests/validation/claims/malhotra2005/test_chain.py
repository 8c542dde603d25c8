"""The chain at the settings of the claims."""

from __future__ import annotations

import pytest

from validation.claims.malhotra2005 import chain
from validation.claims.malhotra2005.chain import Setting


@pytest.mark.parametrize(("paused_rate", "start"), [(2.0, 5), (2.0, 19), (14.0, 19), (0.1, 12)])
def test_best_threshold_is_that_of_a_full_scan(paused_rate: float, start: int) -> None:
    setting = Setting(high=start, paused_rate=paused_rate)
    scan = {high: chain.solve(setting._replace(high=high)).throughput for high in range(2, 20)}
    assert chain.best_threshold(setting) == max(scan, key=lambda high: scan[high])


def test_switching_off_leaves_tcp_alone() -> None:
    setting = Setting(high=11, low=5, rtt=5.0)
    assert setting.off == Setting(high=chain.B2, rtt=5.0)
    assert chain.gain(setting.off) == 0.0
    assert setting.read(chain.AS_PRINTED).pause_at_threshold == "both"

"""Gains with idle times and with endless files."""

from __future__ import annotations

import pytest

from validation.claims.malhotra2005 import protocol
from validation.claims.malhotra2005.chain import THREE, Setting
from validation.claims.malhotra2005.endless_files import FAR, IDLE, _far, lost_part
from validation.statistics import Estimate


def test_far_greater_is_twice_and_not_more_than_that() -> None:
    gains = {rtt: Estimate(2.0, 0.1, 9) for rtt in IDLE}
    (mean,) = _far(gains, gains)({"far": FAR})
    assert mean.value == pytest.approx(2.0 - FAR * 2.0)


def test_the_chain_loses_more_with_a_smaller_buffer() -> None:
    less = Setting(THREE, buffers=(10, 16)).off
    assert lost_part(less) > lost_part(Setting(THREE).off) > 0.0


def test_idle_times_gain_more_than_endless_files_at_five_seconds() -> None:
    think, endless = protocol.gains(protocol.THINK), protocol.gains(protocol.ENDLESS)
    assert think[5.0].value > FAR * endless[5.0].value

"""The module of Linux against the integer arithmetic of its file, written here once more."""

from __future__ import annotations

import pytest

from responsefn import BIC, LinuxBIC, LinuxScalable


@pytest.mark.parametrize("cwnd", [5, 20, 49, 50, 51, 100, 1000])
def test_scalable_counts_beyond_fifty(cwnd):
    """cnt++, and a packet more once cnt > min(cwnd, 50)."""
    count, acks = 0, 0
    while count <= min(cwnd, 50):
        count, acks = count + 1, acks + 1
    rule = LinuxScalable()
    grown = rule.on_ack(rule.State(float(cwnd), 2.0), rule.params, None).cwnd - cwnd
    assert 1 / grown == pytest.approx(acks, rel=1e-9)


def test_the_modules_keep_other_parts_than_the_papers():
    state = LinuxScalable.State(100.0, 2.0)
    assert LinuxScalable().on_loss(state, LinuxScalable().params, None).cwnd == 87.5
    assert 1 - LinuxBIC().b == pytest.approx(819 / 1024)
    assert 1 - BIC().b == 0.875
